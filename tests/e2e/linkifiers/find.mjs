// Reads a JSON array of texts; writes what each program would make a link of, in all texts together.
import { readFileSync } from "node:fs";
import Autolinker from "autolinker";
import LinkifyIt from "linkify-it";
import { find } from "linkifyjs";

const texts = JSON.parse(readFileSync(0, "utf-8"));
const options = { urls: { schemeMatches: true, tldMatches: true, ipV4Matches: true }, email: true, phone: true };
const programs = {
  autolinker: (text) => Autolinker.parse(text, options).map((match) => match.getMatchedText()),
  "linkify-it": (text) => (new LinkifyIt().match(text) ?? []).map((match) => match.raw),
  linkifyjs: (text) => find(text).map((match) => match.value),
};
const found = {};
for (const [name, program] of Object.entries(programs)) {
  found[name] = texts.flatMap((text, place) => program(text).map((link) => [place, link]));
}
console.log(JSON.stringify(found));
