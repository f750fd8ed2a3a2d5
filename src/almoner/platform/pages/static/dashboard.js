// Keys of the dashboard, hits of the search as one types, and buttons that copy identifiers. Everything works without it.
(() => {
  "use strict";
  const body = document.body;
  const home = body.querySelector("[data-home]").dataset.home;
  const dialog = document.getElementById("keys");
  const toggle = document.getElementById("keys-on");
  const OFF = "almoner-keys-off";
  const places = Object.fromEntries(
    [...dialog.querySelectorAll("[data-go]")].map((entry) => [entry.dataset.go, entry.dataset.path]),
  );
  let going = false;

  toggle.checked = localStorage.getItem(OFF) === null;
  toggle.addEventListener("change", () => {
    if (toggle.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  });
  body.querySelector("[data-keys]").addEventListener("click", () => dialog.showModal());
  body.querySelector("[data-keys]").hidden = false;

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
    const key = event.key;
    if (going) {
      going = false;
      if (places[key]) {
        event.preventDefault();
        location.assign(home + places[key]);
      }
    } else if (key === "g") going = true;
    else if (key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
    } else if (key === "?") dialog.showModal();
    else if (key === "j") move(1);
    else if (key === "k") move(-1);
  });

  const search = document.getElementById("search");
  const hits = document.createElement("div");
  const status = document.createElement("p");
  hits.className = "search-hits";
  hits.hidden = true;
  status.className = "unseen";
  status.setAttribute("role", "status");
  search.form.append(hits, status);
  let waiting = 0;
  let asking = null;
  const close = () => {
    asking?.abort();
    hits.hidden = true;
    hits.replaceChildren();
    status.textContent = "";
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
      status.textContent = hits.querySelector("[data-found]")?.dataset.found ?? "";
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
})();
