import { Core, type ClientOptions } from "./core.js";
import { Resources } from "./generated/resources.js";

/** Calls the API. Keep one for the whole program. Every method has the name of its call. */
export class Almoner extends Resources {
  readonly #given: ClientOptions;

  constructor(options: ClientOptions) {
    super(new Core(options));
    this.#given = options;
  }

  /** A client with other time-outs, retries or another transport. */
  withOptions(options: Partial<ClientOptions>): Almoner {
    return new Almoner({ ...this.#given, ...options });
  }
}

export { Page, PagePromise, VERSION, requestIdOf, type ClientOptions, type Options, type Upload } from "./core.js";
export * from "./errors.js";
export { ERROR_CODES, type ErrorCode } from "./generated/codes.js";
export type * from "./generated/types.js";
export * as webhooks from "./webhooks.js";
