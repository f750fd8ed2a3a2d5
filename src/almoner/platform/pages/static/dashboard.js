// Keys of the dashboard, and buttons that copy identifiers. Everything works without it.
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
