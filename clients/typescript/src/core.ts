import { ApiConnectionError, ApiTimeoutError, AlmonerError, errorOfAnswer, secondsToWait } from "./errors.js";

export const VERSION = "0.1.0";
const TRIED_AGAIN = new Set([408, 429, 500, 502, 503, 504]);
const IN_PROGRESS = "idempotency/original_call_in_progress";
const LONGEST_WAIT = 60;
const INSPECTED = Symbol.for("nodejs.util.inspect.custom");

/** A file: a Blob or File, or its bytes with a name. `almoner-client/node` has `fromPath` and `fromStream`. */
export type Upload = Blob | { data: Blob | Uint8Array<ArrayBuffer> | ArrayBuffer; name: string; type?: string };

/** How one call differs from the others. */
export interface Options {
  /** Repeats a call safely, also from another process. Every POST has one of its own unless you give it. */
  idempotencyKey?: string;
  /** Milliseconds for one attempt. */
  timeoutMs?: number;
  /** How often the call is tried again. */
  maxRetries?: number;
  /** Ends the call. */
  signal?: AbortSignal;
}

/** How a client calls. */
export interface ClientOptions {
  apiKey: string;
  /** Where the service is: `https://give.example.org`. */
  baseUrl: string;
  /** Milliseconds for one attempt; 30,000 unless given. */
  timeoutMs?: number;
  /** How often a call is tried again after a lost connection, a 429 or a 5xx; 2 unless given. */
  maxRetries?: number;
  /** A transport of your own, such as one with a proxy. */
  fetch?: typeof fetch;
}

export interface Call {
  method: string;
  path: string;
  parameters?: Record<string, unknown>;
  /** The name on the wire of each parameter that is part of the query. */
  query?: Record<string, string>;
  /** The parameters that are headers. */
  headers?: string[];
  body?: Record<string, unknown>;
  upload?: string;
  keyed?: boolean;
  accept?: string;
  /** The whole query of a link, which comes in the place of the parameters. */
  search?: string;
}

/** A path with its parts put in. An empty part would call something else, so it is refused. */
export function path(texts: TemplateStringsArray, ...parts: string[]): string {
  return texts.reduce((made, text, at) => {
    const part = parts[at - 1];
    if (part === undefined || part === "") throw new TypeError(`The identifier after ${texts[0]} is empty`);
    return made + encodeURIComponent(part) + text;
  });
}

const requestIds = new WeakMap<object, string>();

/** The Request-Id of the answer that a record or page came with: quote it when you ask for help. */
export function requestIdOf(answer: object): string | undefined {
  return requestIds.get(answer);
}

interface ListAnswer<T> {
  data: T[];
  totalResults: number;
  pageSize: number;
  _links: { current: string; next: string | null; prev: string | null };
  [beside: string]: unknown;
}

/** A page of a list. `for await` goes on to the pages that follow, and asks for each when it is needed. */
export class Page<T extends object> implements AsyncIterable<T> {
  readonly data: T[];
  readonly totalResults: number;
  readonly pageSize: number;
  readonly #core: Core;
  readonly #call: Call;
  readonly #options: Options | undefined;

  constructor(
    core: Core,
    call: Call,
    options: Options | undefined,
    /** The whole answer, with what it says beside the records. */
    readonly answer: ListAnswer<T>,
  ) {
    this.#core = core;
    this.#call = call;
    this.#options = options;
    this.data = answer.data;
    this.totalResults = answer.totalResults;
    this.pageSize = answer.pageSize;
  }

  /** The page that follows; null after the last one. */
  nextPage(): Promise<Page<T> | null> {
    return this.beside(this.answer._links?.next);
  }

  /** The page before this one; null before the first one. */
  previousPage(): Promise<Page<T> | null> {
    return this.beside(this.answer._links?.prev);
  }

  private async beside(link: string | null | undefined): Promise<Page<T> | null> {
    if (!link) return null;
    // Only the query of a link is taken: the key goes to one address alone.
    return this.#core.page<T>({ ...this.#call, search: new URL(link).search }, this.#options);
  }

  /** This page and all that follow. */
  async *pages(): AsyncGenerator<Page<T>> {
    for (let page: Page<T> | null = this; page !== null; page = await page.nextPage()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for await (const page of this.pages()) yield* page.data;
  }
}

/** A list: `await` it for its first page, or go through all records with `for await`. */
export class PagePromise<T extends object> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  private asked: Promise<Page<T>> | undefined;

  constructor(private readonly ask: () => Promise<Page<T>>) {}

  then<A = Page<T>, B = never>(
    done?: ((page: Page<T>) => A | PromiseLike<A>) | null,
    failed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.asked ??= this.ask();
    return this.asked.then(done, failed);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    yield* await this;
  }
}

/** Sends calls. */
export class Core {
  // A field that is private to the runtime, too: who logs a page or a client does not log the key.
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    if (!options.apiKey) throw new AlmonerError("Pass apiKey: a secret key (sk_...) or a publishable key (pk_...)");
    const baseUrl = options.baseUrl?.replace(/\/+$/, "");
    if (!/^https?:\/\//.test(baseUrl ?? "") || baseUrl.endsWith("/v1")) {
      throw new AlmonerError(
        `Pass baseUrl like https://give.example.org, with http or https and without /v1, not ${baseUrl}`,
      );
    }
    this.#options = { ...options, baseUrl };
  }

  /** The record of an answer. */
  async record<T extends object>(call: Call, options?: Options): Promise<T> {
    const [answer, requestId] = await this.json(call, options);
    return remember(dataOf(answer), requestId) as T;
  }

  /** The JSON of a record whose type the call alone does not tell. */
  raw(call: Call, options?: Options): Promise<Record<string, unknown>> {
    return this.record(call, options);
  }

  /** Nothing, if all went well. */
  async empty(call: Call, options?: Options): Promise<void> {
    await this.json(call, options);
  }

  /** The bytes of an answer that is no JSON. */
  async content(call: Call, options?: Options): Promise<Blob> {
    return (await this.send(call, options, (response) => response.blob()))[0];
  }

  /** A list, which is asked for when it is awaited or gone through. */
  page<T extends object>(call: Call, options?: Options): PagePromise<T> {
    return new PagePromise(async () => {
      const [answer, requestId] = await this.json(call, options);
      const list = answer as ListAnswer<T>;
      for (const record of list.data) remember(record, requestId);
      return remember(new Page<T>(this, call, options, list), requestId);
    });
  }

  private async json(call: Call, options?: Options): Promise<[unknown, string | null]> {
    const [text, requestId] = await this.send(call, options, (response) => response.text());
    try {
      return [text === "" ? null : JSON.parse(text), requestId];
    } catch {
      throw new ApiConnectionError("The answer is not JSON", undefined);
    }
  }

  /** What is read of the answer of the last attempt, and its Request-Id. */
  private async send<B>(
    call: Call,
    options: Options = {},
    read: (response: Response) => Promise<B>,
  ): Promise<[B, string | null]> {
    const key = call.keyed ? (options.idempotencyKey ?? randomKey()) : undefined;
    const retries = options.maxRetries ?? this.#options.maxRetries ?? 2;
    for (let attempt = 0; ; attempt += 1) {
      const last = attempt >= retries;
      let wait = Math.min(8, 0.5 * 2 ** attempt) * (0.5 + Math.random() / 2);
      try {
        const response = await this.fetch(call, options, key);
        if (response.ok) return [await read(response), response.headers.get("request-id")];
        const error = errorOfAnswer(response.status, response.headers, await readJson(response));
        const told = secondsToWait(response.headers);
        const again = TRIED_AGAIN.has(response.status) || error.is(IN_PROGRESS);
        if (last || !again || (told ?? 0) > LONGEST_WAIT) throw error;
        if (told !== null) wait = told + Math.random() / 10;
      } catch (error) {
        if (error instanceof AlmonerError || options.signal?.aborted) throw error;
        if (last) throw failure(error, key, this.#options.baseUrl);
      }
      await sleep(wait * 1000, options.signal);
    }
  }

  private fetch(call: Call, options: Options, key: string | undefined): Promise<Response> {
    const headers = new Headers({ Authorization: `Bearer ${this.#options.apiKey}`, Accept: call.accept ?? "application/json" });
    if (key !== undefined) headers.set("Idempotency-Key", key);
    for (const name of call.headers ?? []) {
      const value = call.parameters?.[name];
      if (value !== undefined && value !== null) headers.set(name, String(value));
    }
    let body: BodyInit | null = null;
    if (call.upload !== undefined) {
      body = form(call.body ?? {}, call.upload);
    } else if (call.body !== undefined) {
      headers.set("Content-Type", "application/json");
      body = JSON.stringify(call.body);
    }
    const late = AbortSignal.timeout(options.timeoutMs ?? this.#options.timeoutMs ?? 30_000);
    const signal = options.signal ? AbortSignal.any([options.signal, late]) : late;
    const address = this.#options.baseUrl + call.path + (call.search ?? search(call));
    return (this.#options.fetch ?? fetch)(address, { method: call.method, headers, body, signal });
  }
}

function search(call: Call): string {
  const pairs = new URLSearchParams();
  for (const [name, wire] of Object.entries(call.query ?? {})) {
    const value = call.parameters?.[name];
    if (value === undefined || value === null) continue;
    // An empty list is sent, too: without it, the API would return everything.
    const values = Array.isArray(value) ? (value.length > 0 ? value : [""]) : [value];
    for (const one of values) pairs.append(wire, String(one));
  }
  const text = pairs.toString();
  return text === "" ? "" : `?${text}`;
}

function form(body: Record<string, unknown>, field: string): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (name !== field && value !== undefined && value !== null) made.append(name, String(value));
  }
  const given = body[field] as Upload;
  if (given instanceof Blob) {
    made.append(field, given, "name" in given ? String(given.name) : "file");
  } else {
    const type = given.type ?? (given.data instanceof Blob ? given.data.type : "application/octet-stream");
    made.append(field, new Blob([given.data], { type }), given.name);
  }
  return made;
}

async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

function dataOf(answer: unknown): object {
  const data = (answer as { data?: unknown } | null)?.data;
  if (typeof data !== "object" || data === null) throw new ApiConnectionError("The answer holds no record", undefined);
  return data;
}

function remember<T extends object>(answer: T, requestId: string | null): T {
  if (requestId !== null) requestIds.set(answer, requestId);
  if ("secret" in answer && typeof answer.secret === "string") {
    Object.defineProperty(answer, INSPECTED, { value: withoutSecret, enumerable: false });
  }
  return answer;
}

/** What `console.log` of Node, Bun and Deno shows of a record: who logs it does not log its secret. */
function withoutSecret(this: object, _depth: number, options: object, inspect: (value: object, options: object) => string) {
  return inspect({ ...this, secret: "***" }, options);
}

function failure(error: unknown, key: string | undefined, baseUrl: string): ApiConnectionError {
  const late = error instanceof DOMException && error.name === "TimeoutError";
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  const told = `No answer from ${baseUrl}: ${error instanceof Error ? error.message : String(error)}${cause}`;
  return late ? new ApiTimeoutError(told, key, error) : new ApiConnectionError(told, key, error);
}

function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", ended);
      done();
    }, milliseconds);
    const ended = (): void => {
      clearTimeout(timer);
      failed(signal?.reason);
    };
    signal?.addEventListener("abort", ended, { once: true });
  });
}
