/* The giving button: <almoner-give href="https://give.example/give?token=...">Give now</almoner-give>
   href: a session's url; or put <a href="..."> inside, which is a link without this script, too.
   target="_blank": opens a new tab. label: the accessible name. lang: the words where there are none inside.
   open="dialog": a giving link's form opens in a dialog, on sites that the link allows; elsewhere the link leads to it.
   It loads nothing before it is pressed, and keeps nothing. */
(() => {
  const words = {};
  const button = `display:inline-flex;align-items:center;justify-content:center;box-sizing:border-box;min-height:2.75rem;
    max-width:100%;padding:.5rem 1.25rem;border:2px solid transparent;border-radius:.75rem;font:600 1rem/1.3 system-ui,sans-serif;
    text-align:center;overflow-wrap:anywhere;cursor:pointer;`;
  const paint = (back, ink) => `background:${back}!important;color:${ink}!important;text-decoration:none!important`;
  const both = (when, rules) => `a${when},::slotted(a${when}){${rules}}`;
  const style = new CSSStyleSheet();
  style.replaceSync(`:host{display:inline-block;max-width:100%}:host([hidden]){display:none}
    ${both("", button + paint("#0d5c4a", "#fff"))}
    ${both(":hover", paint("#084436", "#fff"))}
    ${both(":focus-visible", "outline:3px solid #1558c0!important;outline-offset:2px;box-shadow:0 0 0 2px #fff")}
    ${both(":not([href])", paint("#5b655f", "#fff") + ";cursor:not-allowed")}
    @media (prefers-color-scheme:dark){
      ${both("[href]", paint("#74d6b7", "#04241b"))}
      ${both("[href]:hover", paint("#9be6cd", "#04241b"))}
      ${both(":focus-visible", "outline-color:#9cc4ff!important;box-shadow:0 0 0 2px #0d1311")}
    }
    @media (forced-colors:active){${both("", "border-color:currentColor!important;forced-color-adjust:auto")}}
    dialog{box-sizing:border-box;width:min(100%,34rem);max-width:100%;height:min(100%,52rem);max-height:100%;padding:0;border:0;
      border-radius:1rem;overflow:hidden;background:Canvas;color:CanvasText}
    dialog[open]{display:flex;flex-direction:column}
    dialog::backdrop{background:rgb(0 0 0/.6)}
    button{align-self:flex-end;min-width:2.75rem;min-height:2.75rem;padding:0 1rem;border:0;background:none;color:inherit;
      font:600 1rem/1.3 system-ui,sans-serif;cursor:pointer}
    button:focus-visible{outline:3px solid currentColor;outline-offset:-3px}
    iframe{flex:1;width:100%;border:0}`);

  const web = (text) => {
    try {
      const url = new URL(text, document.baseURI);
      return text && /^https?:$/.test(url.protocol) ? url.href : null;
    } catch {
      return null;
    }
  };
  const said = (tag) => {
    const primary = tag.toLowerCase().split("-")[0];
    const found = Object.keys(words).find((known) => known.toLowerCase().split("-")[0] === primary);
    return words[found || "en"];
  };
  const set = (element, name, value) =>
    value ? element.setAttribute(name, value) : element.removeAttribute(name);

  // The form that a giving link shows to frames: https://give.example/g/otters is at /g/otters/dialog.
  const framed = (address) => {
    const url = new URL(address);
    if (!/^\/g\/[^/]+$/.test(url.pathname)) return null;
    url.pathname += "/dialog";
    return url;
  };

  class AlmonerGive extends HTMLElement {
    static observedAttributes = ["href", "target", "label", "lang"];
    #slot = document.createElement("slot");
    #link = document.createElement("a");
    #form;
    #open;

    connectedCallback() {
      if (!this.shadowRoot) {
        this.attachShadow({ mode: "open", delegatesFocus: true }).adoptedStyleSheets = [style];
        this.#link.part = "button";
        this.#slot.addEventListener("slotchange", () => this.draw());
        this.addEventListener("click", (event) => this.pressed(event));
      }
      this.draw();
    }

    attributeChangedCallback() {
      if (this.shadowRoot) this.draw();
    }

    pressed(event) {
      const link = this.querySelector(":scope > a") || this.#link;
      const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
      if (this.getAttribute("open") !== "dialog" || link.target || !plain || event.defaultPrevented) return;
      const form = event.composedPath().includes(link) && link.href && framed(link.href);
      if (!form) return;
      event.preventDefault();
      this.show(form, link.href);
    }

    // A dialog that was closed is only hidden: what was entered is still there when it opens again.
    show(form, address) {
      if (this.#form !== form.href) {
        this.#form = form.href;
        this.#open = this.dialog(form, address);
      }
      this.#open();
    }

    // The form says when it is there. Where it may not be shown, or does not come, the link leads on as without a dialog.
    dialog(form, address) {
      const [give, , close] = this.words();
      const dialog = document.createElement("dialog"), button = document.createElement("button"), frame = document.createElement("iframe");
      let here = false, late = false;
      const hear = ({ origin, source, data }) => {
        if (origin !== form.origin || source !== frame.contentWindow) return;
        if (data === "almoner-give:close") dialog.close();
        if (data !== "almoner-give:ready" || here) return;
        here = true;
        frame.focus();
      };
      const lead = () => {
        late = true;
        if (!here && dialog.open) location.assign(address);
      };
      addEventListener("message", hear);
      frame.addEventListener("load", () => setTimeout(lead, 500));
      setTimeout(lead, 10000);
      button.type = "button";
      button.textContent = close;
      button.addEventListener("click", () => dialog.close());
      dialog.setAttribute("aria-label", this.getAttribute("label") || this.textContent.trim() || give);
      frame.title = give;
      frame.allow = "payment 'none'";
      frame.src = form.href;
      dialog.append(button, frame);
      this.shadowRoot.querySelector("dialog")?.remove();
      this.shadowRoot.append(dialog);
      return () => {
        dialog.showModal();
        if (here) frame.focus();
        else if (late) lead();
      };
    }

    words() {
      return said((this.closest("[lang]") || document.documentElement).lang || "en");
    }

    draw() {
      const own = this.querySelector(":scope > a");
      const link = own || this.#link;
      const [give, newTab] = this.words();
      // Changing the slot calls us again: only when something changes.
      if (this.#slot.textContent !== give) this.#slot.textContent = give;
      if (!own && this.#slot.parentNode !== link) link.append(this.#slot);
      const shown = own ? this.#slot : link;
      if (shown.parentNode !== this.shadowRoot) {
        for (const one of [this.#link, this.#slot]) if (one.parentNode === this.shadowRoot) one.remove();
        this.shadowRoot.prepend(shown);
      }
      const address = web(this.getAttribute("href") || own?.getAttribute("href"));
      const opens = this.getAttribute("target") === "_blank";
      set(link, "href", address);
      set(link, "role", address ? null : "link");
      set(link, "aria-disabled", address ? null : "true");
      set(link, "target", opens ? "_blank" : null);
      set(link, "rel", opens ? "noopener" : null);
      set(link, "title", opens ? newTab : null);
      set(link, "aria-label", this.getAttribute("label"));
    }
  }
  if (!customElements.get("almoner-give")) customElements.define("almoner-give", AlmonerGive);
})();
