/**
 * A shop that takes donations: find a nonprofit, give on the hosted page, see the webhooks arrive, refund.
 *
 * Run it beside a sandbox, with `npm start` in this folder, and open http://localhost:9000.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Almoner, WebhookVerificationError, type Event } from "almoner-client";
import { isEvent, verify } from "almoner-client/webhooks";

const port = Number(process.env.SHOP_PORT ?? 9000);
const address = `http://localhost:${port}`;
const client = connect();
const events = new Map<string, Event>();
const subscription = await client.webhookSubscriptions.create({ events: ["*"], url: `${address}/webhooks` });

/** A client with the key of the environment, or of the sandbox of this clone. */
function connect(): Almoner {
  const { ALMONER_API_KEY: apiKey, ALMONER_BASE_URL: baseUrl } = process.env;
  if (apiKey && baseUrl) return new Almoner({ apiKey, baseUrl });
  const keys = JSON.parse(readFileSync("../../../var/sandbox.json", "utf8"));
  return new Almoner({ apiKey: keys.secretKey, baseUrl: keys.baseUrl });
}

const escape = (text: string) => text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

const button = (action: string, value: string, text: string) =>
  `<form method=post action=/${action} style=display:inline><button name=id value=${escape(value)}>${text}</button></form>`;

async function page(words: string): Promise<string> {
  const found = words ? (await client.organisations.search({ query: words, acceptsDonations: true, pageSize: 5 })).data : [];
  const offered = found.map((one) => `<li>${escape(one.displayName ?? one.name)} ${button("give", one.id, "Donate")}</li>`);
  const received = [...events.values()];
  const refunded = new Set(received.map((event) => isEvent(event, "donation.refunded") && event.eventData.id));
  const shown = received.reverse().map((event) => {
    const refundable = isEvent(event, "donation.payment_successful") && !refunded.has(event.eventData.id);
    const refund = refundable ? button("refund", event.eventData.id, "Refund") : "";
    return `<li>${escape(event.eventType)} ${refund}</li>`;
  });
  return (
    `<!doctype html><html lang=en><title>Shop</title><h1>Donate at the checkout</h1>` +
    `<form><label>Nonprofit <input name=words value='${escape(words)}'></label> <button>Find</button></form>` +
    `<ul>${offered.join("")}</ul><h2>Webhooks, newest first</h2><ul>${shown.join("") || "<li>None yet.</li>"}</ul></html>`
  );
}

async function read(request: IncomingMessage): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts); // the bytes as they came: their signature is checked
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? "/", address);
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(await page((url.searchParams.get("words") ?? "").trim()));
    return;
  }
  const body = await read(request);
  if (url.pathname === "/webhooks") {
    const event = await verify(body, request.headers, subscription.secret);
    if (!events.has(event.id)) events.set(event.id, event); // the same event may come twice
    response.writeHead(204).end();
    return;
  }
  const id = new URLSearchParams(new TextDecoder().decode(body)).get("id") ?? "";
  if (url.pathname === "/give") {
    const session = await client.donationSessions.create({ organisationId: id, successUrl: `${address}/` });
    response.writeHead(303, { location: session.url }).end();
  } else {
    await client.donations.refund(id);
    response.writeHead(303, { location: "/" }).end();
  }
}

const server = createServer((request, response) => {
  handle(request, response).catch((error: unknown) => {
    response.writeHead(error instanceof WebhookVerificationError ? 400 : 502).end(escape(String(error)));
  });
});
server.listen(port, "127.0.0.1", () => console.log(`The shop is open at ${address} (press Ctrl-C to stop).`));
process.on("SIGINT", () => {
  void client.webhookSubscriptions.delete(subscription.id).finally(() => process.exit(0));
});
