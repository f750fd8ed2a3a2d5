// A partner's server: it finds a nonprofit, takes a gift, verifies the delivery, refunds, and invites a nonprofit.
import { createServer } from "node:http";
import { join } from "node:path";
import { inspect } from "node:util";

const [folder, apiKey, baseUrl] = process.argv.slice(2);
const { Almoner } = await import(join(folder, "index.js"));
const { isEvent, verify } = await import(join(folder, "webhooks.js"));
const client = new Almoner({ apiKey, baseUrl });

let refund;
const refunded = new Promise((done) => (refund = done));
const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const event = await verify(Buffer.concat(parts), request.headers, subscription.secret);
  response.writeHead(204).end();
  if (isEvent(event, "donation.refunded")) refund(event.eventData);
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const url = `http://127.0.0.1:${server.address().port}/hooks`;
const subscription = await client.webhookSubscriptions.create({ events: ["donation.refunded"], url });

const page = await client.organisations.search({ query: "marthas table", countryCode: "USA" });
const session = await client.donationSessions.create({ organisationId: page.data[0].id });
await client.sandbox.simulate({
  id: session.id, action: "donate", amount: 2500, currencyCode: "USD",
  firstName: "Ada", lastName: "Example", email: "ada@example.org",
});
const [donation] = (await client.donations.list({ sessionId: session.id })).data;
await client.donations.refund(donation.id, { amount: 1000 });
const { id, refundedAmount } = await refunded;
const invite = await client.validationInvites.create({ language: "en" });
await client.webhookSubscriptions.delete(subscription.id);
server.close();
server.closeAllConnections();

const failures = [
  () => new Almoner({ apiKey, baseUrl: baseUrl.replace("http://", "") }),
  () => new Almoner({ apiKey, baseUrl: `${baseUrl}/v1/` }),
  () => new Almoner({ apiKey, baseUrl: "http://127.0.0.1:9", maxRetries: 0 }).donations.list(),
  () => client.donations.get(""),
];
const messages = [];
for (const fail of failures) {
  try {
    await fail();
  } catch (error) {
    messages.push(error.message);
  }
}
const logged = [client, client.donations, page].map((one) => inspect(one, { depth: 9, showHidden: true }) + JSON.stringify(one));
console.log(JSON.stringify({
  refunded: [id === donation.id, refundedAmount],
  invite: invite.url,
  messages,
  keyIsLogged: logged.some((text) => text.includes(apiKey)),
  secretIsLogged: inspect([subscription], { depth: 9 }).includes(subscription.secret.slice(6)),
}));
