// Keys and parts of the dashboard, hits of the search as one types, and buttons that copy identifiers. Everything works without it.
(() => {
  "use strict";
  const body = document.body;
  const home = body.querySelector("[data-home]").dataset.home;
  const dialog = document.getElementById("keys");
  const toggle = document.getElementById("keys-on");
  const OFF = "almoner-keys-off";
  const CHANGED = "almoner-keys";
  const fields = [...dialog.querySelectorAll("[data-key]")];
  const own = JSON.parse(localStorage.getItem(CHANGED) ?? "{}");
  let going = false;

  toggle.checked = localStorage.getItem(OFF) === null;
  toggle.addEventListener("change", () => {
    if (toggle.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  });
  body.querySelector("[data-keys]").addEventListener("click", () => dialog.showModal());
  body.querySelector("[data-keys]").hidden = false;

  // Keys are a person's own in this browser. Two of one list with the same key get back those that they had at first.
  for (const field of fields) field.value = own[field.dataset.key] ?? field.dataset.own;
  const keep = () => {
    for (const field of fields) {
      const list = field.closest("[data-keys-of]");
      const same = fields.filter((other) => other.closest("[data-keys-of]") === list && other.value === field.value);
      if (!field.value.trim() || same.length > 1) for (const other of same) other.value = other.dataset.own;
    }
    const changed = fields.filter((field) => field.value !== field.dataset.own);
    const stored = Object.fromEntries(changed.map((field) => [field.dataset.key, field.value]));
    localStorage.setItem(CHANGED, JSON.stringify(stored));
  };
  for (const field of fields) {
    field.addEventListener("focus", () => field.select());
    field.addEventListener("change", () => {
      field.value = field.value.toLowerCase();
      keep();
    });
  }
  dialog.querySelector("[data-keys-reset]").addEventListener("click", () => {
    for (const field of fields) field.value = field.dataset.own;
    keep();
  });
  const named = (list, key) =>
    fields.find((field) => field.value === key && field.closest("[data-keys-of]").dataset.keysOf === list)?.dataset.key;
  // The letter on the key where a keyboard of another script has none.
  const pressed = (event) =>
    event.code.startsWith("Key") && event.key.codePointAt(0) > 127 ? event.code[3].toLowerCase() : event.key;

  // Letters of this page open what is linked; they never decide anything.
  const openByKey = (key) => {
    const name = named("page", key);
    const link = name && document.querySelector(`[data-key="${name.slice(5)}"]:is(a, button, summary)`);
    if (link) link.click();
    return Boolean(link);
  };

  const rows = () => [...document.querySelectorAll("main .sheet tbody th a, main .rows a:first-of-type")];
  const move = (step) => {
    const links = rows();
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
    if (next) next.focus();
  };

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open) return;
    if (!toggle.checked) return;
    const key = pressed(event);
    if (going) {
      going = false;
      const path = named("pages", key);
      if (path) {
        event.preventDefault();
        location.assign(home + path);
      }
      return;
    }
    if (openByKey(key)) {
      event.preventDefault();
      return;
    }
    switch (named("actions", key)) {
      case "go":
        going = true;
        break;
      case "search":
        event.preventDefault();
        document.getElementById("search")?.focus();
        break;
      case "list":
        event.preventDefault();
        dialog.showModal();
        break;
      case "next":
        move(1);
        break;
      case "previous":
        move(-1);
        break;
    }
  });

  const announced = document.getElementById("announced");
  const completeSearch = (search) => {
    const hits = document.createElement("div");
    hits.className = "search-hits";
    hits.hidden = true;
    search.form.append(hits);
    let waiting = 0;
    let asking = null;
    const close = () => {
      asking?.abort();
      hits.hidden = true;
      hits.replaceChildren();
      announced.textContent = "";
    };
    const complete = async () => {
      const typed = search.value.trim();
      if (typed.length < 2) return close();
      asking?.abort();
      asking = new AbortController();
      try {
        const answer = await fetch(`${home}/search/hits?q=${encodeURIComponent(typed)}`, { signal: asking.signal });
        if (!answer.ok || answer.redirected) return close();
        hits.innerHTML = await answer.text();
        hits.hidden = false;
        announced.textContent = hits.querySelector("[data-found]")?.dataset.found ?? "";
      } catch (error) {
        if (error.name !== "AbortError") close();
      }
    };
    search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(complete, 200);
    });
    search.form.addEventListener("submit", () => {
      clearTimeout(waiting);
      close();
    });
    search.form.addEventListener("keydown", (event) => {
      const links = [...hits.querySelectorAll("a")];
      if (event.key === "Escape" && !hits.hidden) {
        event.preventDefault();
        close();
        search.focus();
      } else if (["ArrowDown", "ArrowUp"].includes(event.key) && links.length) {
        event.preventDefault();
        const at = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
        (links[at] ?? search).focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (!search.form.contains(event.target)) close();
    });
  };
  const search = document.getElementById("search");
  if (search) completeSearch(search);

  for (const shown of document.querySelectorAll("[data-copy]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = dialog.dataset.copyText;
    button.setAttribute("aria-label", shown.dataset.copyName);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(shown.dataset.copy);
      button.textContent = dialog.dataset.copiedText;
    });
    shown.after(button);
  }

  // A click on a row opens its record, as its link does. Text in it can still be selected, and its other links work.
  document.addEventListener("click", (event) => {
    const link = event.target.closest(".sheet tbody tr")?.querySelector("th a");
    if (!link || event.target.closest("a, button, input, label, summary") || String(getSelection())) return;
    const { ctrlKey, metaKey, shiftKey } = event;
    link.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
  });

  // How long a claim lasts: announced when five minutes are left, and one. The server's clock counts.
  for (const shown of document.querySelectorAll("[data-until]")) {
    const end = Date.now() + (Date.parse(shown.dataset.until) - Date.parse(shown.dataset.now));
    const clock = document.createElement("span");
    let announcedStep = Infinity;
    shown.append(" ", clock);
    const tick = () => {
      const left = Math.max(0, Math.ceil((end - Date.now()) / 60000));
      clock.textContent = left ? `(${left} min)` : "(expired: claim it again before you decide)";
      const step = left <= 1 ? 1 : left <= 5 ? 5 : Infinity;
      if (step < announcedStep) announced.textContent = shown.textContent;
      announcedStep = step;
      if (left) setTimeout(tick, 15000);
    };
    tick();
  }

  // A part of the page: after a link, focus goes to its caption; after a form it stays, and the caption is announced.
  let led = false;
  let open = false;
  let focused = "";
  document.addEventListener("htmx:before:request", (event) => {
    led = event.detail.ctx.sourceElement instanceof HTMLAnchorElement;
    open = document.querySelector("#part .filters")?.open ?? false;
    focused = document.activeElement?.id ?? "";
    announced.textContent = "";
  });
  // Whatever is not that part (the sign-in has ended, an error) is opened as the page that it is.
  document.addEventListener("htmx:before:response", (event) => {
    const { ctx } = event.detail;
    const { raw } = ctx.response;
    const elsewhere = new URL(raw.url).pathname !== new URL(ctx.request.action, location.href).pathname;
    if (!elsewhere && (raw.ok || raw.status === 422)) return;
    event.preventDefault();
    location.assign(ctx.request.action);
  });
  document.addEventListener("htmx:error", (event) => location.assign(event.detail.ctx.request.action));
  document.addEventListener("htmx:after:swap", () => {
    const problems = document.querySelector("#part .summary");
    const caption = document.getElementById("caption");
    const filters = document.querySelector("#part .filters");
    if (filters && open) filters.open = true;
    if (problems) problems.focus();
    else if (led) caption?.focus();
    else {
      if (focused) document.getElementById(focused)?.focus();
      announced.textContent = (document.querySelector("#part .notice") ?? caption)?.textContent ?? "";
    }
  });

  // What a form makes is shown while it is filled in. Only the page in the frame changes: "back" still leaves the form.
  const preview = document.querySelector("iframe[name=preview]");
  for (const button of document.querySelectorAll("button[formtarget=preview]")) {
    let waiting = 0;
    let asking = null;
    const show = async () => {
      asking?.abort();
      asking = new AbortController();
      const body = new URLSearchParams(new FormData(button.form));
      try {
        const answer = await fetch(button.formAction, { method: "POST", body, signal: asking.signal });
        if (!answer.ok || answer.redirected) return;
        const rules = [];
        const text = (await answer.text()).replace(/<style[^>]*>([^]*?)<\/style>/g, (_whole, css) => {
          rules.push(css);
          return "";
        });
        const shown = preview.contentDocument;
        if (shown.readyState !== "complete" || shown.URL === "about:blank") {
          preview.addEventListener("load", show, { once: true });
          return;
        }
        // A style element would need the nonce of the page in the frame; a style sheet that a script makes needs none.
        const sheet = new shown.defaultView.CSSStyleSheet();
        sheet.replaceSync(rules.join("\n"));
        shown.adoptedStyleSheets = [sheet];
        const made = new DOMParser().parseFromString(text, "text/html");
        const top = shown.defaultView.scrollY;
        shown.documentElement.replaceWith(made.documentElement);
        shown.defaultView.scrollTo(0, top);
      } catch (error) {
        if (error.name !== "AbortError") throw error;
      }
    };
    button.form.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(show, 300);
    });
    button.addEventListener("click", () => {
      clearTimeout(waiting);
      asking?.abort();
    });
  }
})();
