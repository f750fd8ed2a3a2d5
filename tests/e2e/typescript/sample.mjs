// Runs a compiled sample: node sample.mjs <file> <JSON: key, url, identifiers>.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [file, given] = process.argv.slice(2);
const { key, url, ids } = JSON.parse(given);
const { Almoner } = await import(pathToFileURL(createRequire(file).resolve("almoner-client")));
Object.assign(globalThis, ids, { client: new Almoner({ apiKey: key, baseUrl: url }) });
try {
  await import(pathToFileURL(file));
} catch (error) {
  console.error(error.code, error.reasons, error);
  process.exitCode = 1;
}
