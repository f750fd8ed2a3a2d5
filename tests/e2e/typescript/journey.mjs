// A partner's program: makes the calls of a plan, and then what no plan can say. Prints what came of it as JSON.
import { createReadStream, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder, planFile] = process.argv.slice(2);
const load = (name) => import(join(folder, name));
const { Almoner, ApiConnectionError, ApiError, BadRequestError, requestIdOf } = await load("index.js");
const { isEvent, verify } = await load("webhooks.js");
const { fromPath, fromStream } = await load("node.js");
const plan = JSON.parse(readFileSync(planFile, "utf8"));
const client = new Almoner({ apiKey: plan.key, baseUrl: plan.url });

async function failing(work) {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

const known = { ...plan.known }; // an identifier of each type, as answers bring them
const typeOf = (id) => id.replace(/^sandbox_/, "").replace(/_[0-9a-z]{26}$/, "");
const filled = (value) =>
  JSON.parse(JSON.stringify(value), (_, one) => (typeof one === "string" && known[typeOf(one)]) || one);
const calls = {};
for (const { id, resource, method, args } of plan.calls) {
  try {
    const answer = await client[resource][method](...filled(args));
    const record = Array.isArray(answer?.data) ? answer.data[0] : answer;
    if (typeof record?.id === "string") known[typeOf(record.id)] ??= record.id;
    calls[id] = { ok: true, list: Array.isArray(answer?.data), requestId: answer ? (requestIdOf(answer) ?? "") : "" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw new Error(`${id}: ${error.stack}`);
    calls[id] = { ok: false, code: error.code, requestId: error.requestId, name: error.name };
  }
}

const seen = new Set();
for await (const organisation of client.organisations.search({ pageSize: 100, countryCode: "USA" })) seen.add(organisation.id);

let refusal;
try {
  await client.validationSubmissions.list({ organisationIds: [] });
} catch (error) {
  refusal = error;
}
if (refusal?.code !== "bad_request") throw new Error("an empty list is a filter that nothing passes");

let sent = 0;
const keys = [];
const lossy = client.withOptions({
  maxRetries: 3,
  fetch: async (address, init) => {
    sent += 1;
    if (init.method === "POST") keys.push(init.headers.get("idempotency-key"));
    if (sent % 4 === 2) throw new TypeError("no connection");
    const answer = await fetch(address, init);
    if (sent % 4 === 0) throw new TypeError("the connection ended before the answer");
    return answer;
  },
});
const [organisation] = (await client.organisations.search({ countryCode: "USA" })).data;
const gifts = [];
for (const amount of [100, 101, 102, 103]) {
  gifts.push(await lossy.donations.create({ organisationId: organisation.id, amount, currencyCode: "USD" }));
}
const listed = [];
for await (const one of lossy.donations.list({ pageSize: 1, organisationId: organisation.id })) listed.push(one.id);

const dead = new Almoner({ apiKey: "key", baseUrl: "http://127.0.0.1:9", maxRetries: 0 });
const lost = await failing(() => dead.donations.cancel("donation_1"));
const never = (_, { signal }) =>
  new Promise((_, failed) => {
    const open = setInterval(() => {}, 1000); // as a connection would, it keeps the program waiting
    signal.addEventListener("abort", () => (clearInterval(open), failed(signal.reason)));
  });
const late = client.withOptions({ maxRetries: 0, fetch: never });
const timedOut = await failing(() => late.donations.get("donation_1", { timeoutMs: 20 }));
const wrong = await failing(() => client.donations.create({ amount: 0, currencyCode: "USD" }));
const empty = await failing(() => client.donations.get(""));

const { body, headers, secret } = plan.delivery;
const event = await verify(new TextEncoder().encode(body), headers, ["whsec_AAAA", secret]);
const changed = await failing(() => verify(JSON.stringify(JSON.parse(body)), headers, secret));
const unknown = await failing(() => verify(body, headers, null));
const parsed = await failing(() => verify(JSON.parse(body), headers, secret));

const request = await client.validationRequests.create(plan.request);
await client.validationRequests.addDocument(request.id, { file: await fromPath(plan.pdf) });
const shown = await client.validationRequests.addDocument(request.id, { file: await fromStream(createReadStream(plan.pdf), "b.pdf") });
const dossier = await client.validationRequests.getDossierPdf(request.id);

console.log(
  JSON.stringify({
    calls,
    organisations: seen.size,
    gifts: new Set(gifts.map((gift) => gift.id)).size,
    listed: listed.length,
    keys: [keys.length, new Set(keys).size],
    lost: [lost instanceof ApiConnectionError, typeof lost.idempotencyKey],
    timedOut: timedOut.name,
    wrong: [wrong instanceof BadRequestError, wrong.is("bad_request"), wrong.reasons, wrong.requestId],
    empty: empty.name,
    event: [event.eventType, isEvent(event, "donation.created"), event.eventData.amount, event.sequence],
    changed: changed.name,
    unknown: unknown.message,
    parsed: parsed.name,
    documents: shown.documents.length,
    dossier: (await dossier.text()).slice(0, 5),
  }),
);
