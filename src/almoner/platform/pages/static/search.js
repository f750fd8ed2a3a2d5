// Completes a search as one types: the page's own results, fetched and put in their place. Without it a button searches.
"use strict";
const form = document.querySelector("[data-search]");
const results = document.getElementById("results");
const status = document.getElementById("found");
if (form && results && status) {
  const input = form.querySelector("input[name=q]");
  let waiting = 0;
  let asking = null;
  let shown = input.defaultValue.trim();
  const ask = async () => {
    const query = input.value.trim();
    if (query === shown || query.length === 1) return;
    asking?.abort();
    asking = new AbortController();
    try {
      const answer = await fetch(`${form.dataset.search}?q=${encodeURIComponent(query)}`, { signal: asking.signal });
      if (answer.redirected || answer.status === 404 || answer.status === 410) {
        location.assign(form.action); // the form is sent or its link has ended: the page itself says so
        return;
      }
      if (!answer.ok) return;
      results.innerHTML = await answer.text();
      shown = query;
      status.textContent = results.firstElementChild?.dataset.found ?? "";
    } catch (error) {
      if (error.name !== "AbortError") shown = null;
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(ask, 200);
  });
  ask(); // what was typed before this script came
}
