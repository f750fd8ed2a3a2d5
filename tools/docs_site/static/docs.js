// Samples of one call as tabs, requests that run in the sandbox, and the old addresses of the reference. The pages say all
// that they have to say without it.

const LANGUAGES = { sh: "curl", python: "Python", typescript: "TypeScript" };
const CHOSEN = "almoner-language";
const KEY = "almoner-key";

const made = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const languageOf = (block) => Object.keys(LANGUAGES).find((one) => block?.classList.contains(`highlight-${one}`));
const root = new URL(document.documentElement.dataset.content_root, location.href);
const nextId = ((count) => () => `sample-${++count}`)(0);

// Neighbouring samples in different languages are tabs; the choice holds for all pages.
const groups = [];
const select = (language, focus) => {
  for (const group of groups) {
    const shown = group.some((one) => one.language === language) ? language : group[0].language;
    for (const { tab, panel, language: own } of group) {
      tab.setAttribute("aria-selected", String(own === shown));
      tab.tabIndex = own === shown ? 0 : -1;
      panel.hidden = own !== shown;
      if (own === shown && group === focus) tab.focus();
    }
  }
  localStorage.setItem(CHOSEN, language);
};
const tabsOf = (blocks) => {
  const group = blocks.map((panel) => {
    const language = languageOf(panel);
    const tab = made("button", { type: "button", id: nextId(), textContent: LANGUAGES[language] });
    panel.id = nextId();
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", tab.id);
    return { language, tab, panel };
  });
  const list = made("div", { className: "sample-tabs" }, ...group.map((one) => one.tab));
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Language");
  group.forEach(({ tab, language }, at) => {
    tab.addEventListener("click", () => select(language, group));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) select(group[(at + step + group.length) % group.length].language, group);
    });
  });
  blocks[0].before(list);
  groups.push(group);
};
for (const block of document.querySelectorAll("article div[class*='highlight-']")) {
  if (!languageOf(block) || languageOf(block.previousElementSibling)) continue;
  const run = [];
  for (let one = block; languageOf(one) && !run.some((earlier) => languageOf(earlier) === languageOf(one)); one = one.nextElementSibling) run.push(one);
  if (run.length > 1) tabsOf(run);
}
if (groups.length) select(localStorage.getItem(CHOSEN) || "sh");
for (const pre of document.querySelectorAll("article pre")) {
  pre.tabIndex = 0; // long lines scroll by keyboard, too
  if (!navigator.clipboard) continue; // a page that came without encryption
  const copy = made("button", { type: "button", className: "copy", textContent: "Copy" });
  copy.setAttribute("aria-live", "polite");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 2000);
  });
  pre.after(copy);
}

// Of two results with one title, the section of the site tells which is which.
const SECTIONS = { api: "API reference", clients: "Clients", concepts: "Concepts", guides: "Guides", reference: "Reference", runbooks: "Runbooks" };
new MutationObserver((changes) => {
  for (const item of changes.flatMap((one) => [...one.addedNodes])) {
    const link = item.tagName === "LI" && item.querySelector("a");
    const section = link && SECTIONS[new URL(link.href).pathname.slice(root.pathname.length).split("/")[0]];
    if (section) link.after(made("span", { className: "section", textContent: section }));
  }
}).observe(document.getElementById("search-results") ?? made("div"), { childList: true, subtree: true });

// What the reference shows as HTTP can be sent in a sandbox, with the reader's own key where they have signed in.
const send = async (text, key, lists) => {
  const filled = await fillIds(text, key, lists);
  const [head, ...rest] = filled.split("\n\n");
  const [line, ...fields] = head.split("\n");
  const [method, path] = line.trim().split(/\s+/);
  if (!path?.startsWith("/v1/")) throw new Error("The first line is a method and a path, such as GET /v1/donations.");
  const headers = Object.fromEntries(fields.filter((one) => one.includes(":")).map((one) => [one.slice(0, one.indexOf(":")).trim(), one.slice(one.indexOf(":") + 1).trim()]));
  if (key) headers.Authorization = key;
  const body = rest.join("\n\n").trim();
  const response = await fetch(path, { method, headers, body: body || undefined, credentials: "omit" });
  return { sent: `${method} ${path}`, status: response.status, id: response.headers.get("Request-Id"), text: await response.text() };
};
// $donation stands for the newest donation.
const fillIds = async (text, key, lists) => {
  let filled = text.replaceAll("$(date -u +%F)", new Date().toISOString().slice(0, 10));
  for (const type of new Set([...text.matchAll(/\$([a-z]+)/g)].map((one) => one[1]))) {
    const name = `$${type}`;
    if (!lists[type]) throw new Error(`Put an identifier in place of ${name}: there is no list to take one from.`);
    const answer = await (await fetch(`${lists[type]}?pageSize=1`, { headers: { Authorization: key }, credentials: "omit" })).json();
    if (answer.error) throw new Error(answer.error.message);
    if (!answer.data[0]) throw new Error(`You have no record to put in place of ${name}: make one first.`);
    filled = filled.replaceAll(name, answer.data[0].id);
  }
  return filled;
};
const readable = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};
const formOf = (block, account, lists) => {
  const [keyId, textId] = [nextId(), nextId()];
  const key = made("input", { id: keyId, type: "password", autocomplete: "off", spellcheck: false, value: sessionStorage.getItem(KEY) || account.key || "" });
  const text = made("textarea", { id: textId, rows: 4, spellcheck: false, value: block.querySelector("pre").textContent.trim() });
  text.rows = Math.min(20, text.value.split("\n").length + 1);
  const answer = made("output");
  const form = made(
    "form",
    { className: "request" },
    made("label", { htmlFor: keyId, textContent: account.key ? `Key of ${account.partner}` : "Key of your sandbox" }),
    key,
    made("label", { htmlFor: textId, textContent: "Request" }),
    text,
    made("div", { className: "actions" }, made("button", { type: "submit", className: "send", textContent: "Send" })),
    answer,
  );
  if (!account.key && account.signIn) {
    const hint = made("a", { href: account.signIn, textContent: "Sign in" });
    key.after(made("p", {}, hint, " as a developer to have your key filled in."));
  }
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, key.value);
    try {
      const got = await send(text.value, key.value, lists);
      const shown = made("pre", { tabIndex: 0, textContent: readable(got.text) });
      answer.replaceChildren(made("p", {}, `${got.sent}: ${got.status}, Request-Id ${got.id}`), shown);
    } catch (error) {
      answer.replaceChildren(made("p", { textContent: error.message }));
    }
  });
  return form;
};
const addForms = async (blocks, account) => {
  const lists = await (await fetch(new URL("_static/lists.json", root))).json();
  for (const block of blocks) {
    const open = made("button", { type: "button", textContent: "Try it in the sandbox" });
    const place = made("div", { className: "request" }, made("div", { className: "actions" }, open));
    open.addEventListener("click", () => {
      const form = formOf(block, account, lists);
      place.replaceWith(form);
      form.querySelector("textarea").focus();
    });
    block.after(place);
  }
};

// Samples that read the address and the key from the sandbox's file have those of the reader in place of it.
const fillSamples = (samples, account) => {
  const settings = JSON.stringify({ baseUrl: location.origin, secretKey: account.key });
  const read = [
    [/\$\(sed [^\n]*"baseUrl"[^\n]*sandbox\.json\)/, location.origin],
    [/\$\(sed [^\n]*"secretKey"[^\n]*sandbox\.json\)/, account.key],
    [/json\.loads\(Path\("var\/sandbox\.json"\)\.read_text\(\)\)/, settings],
    [/JSON\.parse\(readFileSync\("var\/sandbox\.json", "utf8"\)\)/, settings],
  ];
  for (const sample of samples) {
    for (const [pattern, value] of read) {
      const found = sample.textContent.match(pattern);
      if (found) replaceText(sample, found.index, found[0].length, value);
    }
  }
};
const replaceText = (element, start, length, text) => {
  const range = document.createRange();
  const nodes = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let at = 0; nodes.nextNode(); at += nodes.currentNode.length) {
    const end = at + nodes.currentNode.length;
    if (at <= start && start < end) range.setStart(nodes.currentNode, start - at);
    if (at < start + length && start + length <= end) range.setEnd(nodes.currentNode, start + length - at);
  }
  range.deleteContents();
  range.insertNode(new Text(text));
};
const requests = [...document.querySelectorAll("article div.highlight-http")].filter((one) => /^\s*[A-Z]+ \/v1\//.test(one.textContent));
const samples = [...document.querySelectorAll("article pre")].filter((one) => one.textContent.includes("var/sandbox.json"));
if (requests.length || samples.length) {
  const response = await fetch("/sandbox/documentation-key", { headers: { Accept: "application/json" } }).catch(() => null);
  if (response?.ok) { // a sandbox, neither a production server nor the files alone
    const account = await response.json();
    if (account.key) fillSamples(samples, account);
    if (requests.length) addForms(requests, account);
  }
}

// The reference was one page: /docs#createDonation.
if (/^#[A-Za-z]+$/.test(location.hash) && new URL(".", location.href).href === root.href) {
  fetch(new URL("_static/operations.json", root))
    .then((response) => response.json())
    .then((places) => {
      const place = places[location.hash.slice(1)];
      if (place) location.replace(new URL(place, root));
    });
}
