import type { ErrorCode } from "./generated/codes.js";

/** All errors of this package. */
export class AlmonerError extends Error {
  override readonly name: string = "AlmonerError";
}

/** No whole answer came. Whether the call had its effect is not known: the same idempotency key tells. */
export class ApiConnectionError extends AlmonerError {
  override readonly name: string = "ApiConnectionError";
  constructor(message: string, readonly idempotencyKey: string | undefined, cause?: unknown) {
    super(message, { cause });
  }
}

/** No answer came in time. */
export class ApiTimeoutError extends ApiConnectionError {
  override readonly name = "ApiTimeoutError";
}

/** A delivery that was not signed with the secret, is too old, or was changed on its way. */
export class WebhookVerificationError extends AlmonerError {
  override readonly name = "WebhookVerificationError";
}

/** An answer that is an error. `code` is for programs, `reasons` are for people, `requestId` is for support. */
export class ApiError extends AlmonerError {
  override readonly name: string = "ApiError";
  readonly code: ErrorCode;
  readonly title: string;
  readonly reasons: string[];
  readonly requestId: string | null;

  constructor(readonly status: number, readonly headers: Headers, body: unknown) {
    const told = isObject(body) && isObject(body["error"]) ? body["error"] : {};
    const reasons = Array.isArray(told["reasons"]) ? told["reasons"].map(String) : [];
    const code = String(told["code"] ?? "");
    const requestId = headers.get("request-id");
    const message = String(told["message"] ?? `The answer was ${status}`);
    const all = reasons.length === 0 ? message : `${message}: ${reasons.join("; ")}`;
    super(`${all} [${code}, ${requestId ?? "no Request-Id"}]`);
    this.code = code;
    this.title = String(told["title"] ?? "");
    this.reasons = reasons;
    this.requestId = requestId;
  }

  /** Seconds to wait before another try, where the answer says so. */
  get retryAfter(): number | null {
    return secondsToWait(this.headers);
  }

  /** Whether it is the error of this code: `error.is("donation/invalid_state")`. */
  is(code: ErrorCode): boolean {
    return this.code === code;
  }
}

/** 400: something in the call is wrong; `reasons` name it. */
export class BadRequestError extends ApiError {
  override readonly name = "BadRequestError";
}
/** 401: the key is missing or wrong. */
export class AuthenticationError extends ApiError {
  override readonly name = "AuthenticationError";
}
/** 403: the key may not do this. */
export class PermissionDeniedError extends ApiError {
  override readonly name = "PermissionDeniedError";
}
/** 404: there is no such record. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}
/** 409. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}
/** 429: too many calls; `retryAfter` says for how long. */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}
/** 5xx: nothing is half done; the call may be repeated with the same idempotency key. */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

const BY_STATUS: Record<number, typeof ApiError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  429: RateLimitError,
};

/** The error of an answer, of the class of its status. */
export function errorOfAnswer(status: number, headers: Headers, body: unknown): ApiError {
  const made = status >= 500 ? ServerError : (BY_STATUS[status] ?? ApiError);
  return new made(status, headers, body);
}

/** What `Retry-After` says, in seconds. */
export function secondsToWait(headers: Headers): number | null {
  const told = headers.get("retry-after");
  const seconds = told === null || told.trim() === "" ? NaN : Number(told);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
