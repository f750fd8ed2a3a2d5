/**
 * Verify webhooks.
 *
 * Pass the body as it came, as bytes or text. A framework that has parsed it has thrown it away: `JSON.stringify` of what
 * it parsed is another text, and its signature is wrong. In Express use `express.raw({ type: "application/json" })` for
 * this route; with Fetch requests (workers, Deno, Next.js) `await request.text()`.
 */
import { WebhookVerificationError } from "./errors.js";
import type { Event, EventRecords } from "./generated/types.js";

/** An event of one type, with its record. */
export type EventOf<K extends keyof EventRecords> = Omit<Event, "eventType" | "eventData"> & {
  eventType: K;
  eventData: EventRecords[K];
};

type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/**
 * The event of a delivery that was signed with the secret of your subscription (`whsec_...`); several while you rotate.
 * Its `sequence` is that of the header `Service-Sequence`, which is not signed.
 */
export async function verify(
  body: string | Uint8Array | ArrayBuffer,
  headers: HeadersLike,
  secret: string | string[] | null | undefined,
  { toleranceSeconds = 300 }: { toleranceSeconds?: number } = {},
): Promise<Event> {
  if (typeof body !== "string" && !(body instanceof ArrayBuffer) && !ArrayBuffer.isView(body)) {
    throw new TypeError("body must be the bytes or the text that came; parsed JSON has another signature");
  }
  if (!secret?.length) {
    throw new WebhookVerificationError("The secret is missing: get the subscription by its ID, lists do not show it");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const [id, sent, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => header(headers, name));
  if (!id || !sent || !signatures || !/^\d+$/.test(sent)) {
    throw new WebhookVerificationError("webhook-id, webhook-timestamp or webhook-signature is missing");
  }
  if (Math.abs(Date.now() / 1000 - Number(sent)) > toleranceSeconds) {
    throw new WebhookVerificationError(`It was signed more than ${toleranceSeconds} seconds ago, or your clock is off`);
  }
  const start = new TextEncoder().encode(`${id}.${sent}.`);
  const signed = new Uint8Array(start.length + bytes.length);
  signed.set(start);
  signed.set(bytes, start.length);
  for (const one of Array.isArray(secret) ? secret : [secret]) {
    const key = await crypto.subtle.importKey("raw", keyOf(one), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const shown of signatures.split(" ")) {
      const signature = shown.startsWith("v1,") ? decode(shown.slice(3)) : null;
      if (signature !== null && (await crypto.subtle.verify("HMAC", key, signature, signed))) {
        const event = (JSON.parse(new TextDecoder().decode(bytes)) as { data: Event }).data;
        const sequence = header(headers, "service-sequence") ?? "";
        return /^\d+$/.test(sequence) ? { ...event, sequence: Number(sequence) } : event;
      }
    }
  }
  throw new WebhookVerificationError("No signature fits: is it the secret of this subscription, and the raw body?");
}

/** Whether an event is of a type; its `eventData` is that record then. */
export function isEvent<K extends keyof EventRecords>(event: Event, type: K): event is Event & EventOf<K> {
  return event.eventType === type;
}

function header(headers: HeadersLike, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = decode(secret.replace(/^whsec_/, ""));
  if (key === null || key.length === 0) {
    throw new WebhookVerificationError("The secret is not Base64; it begins with whsec_");
  }
  return key;
}

function decode(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return null;
  }
}
