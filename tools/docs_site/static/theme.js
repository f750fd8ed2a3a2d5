// The colour scheme that the reader chose, else the system's; set as soon as there is a body, before it is drawn.
new MutationObserver((_, observer) => {
  if (document.body) {
    document.body.dataset.theme = localStorage.getItem("theme") || "auto";
    observer.disconnect();
  }
}).observe(document.documentElement, { childList: true });
