/** Everything that can go wrong, as one tree. In: what the server or the network said. Out: an error with a hint. */

/** What one field of a request was refused for. */
export interface FieldProblem {
  field: string;
  problem: string;
}

export interface ErrorFacts {
  /** HTTP status; null when no answer came or nothing was asked. */
  status?: number | null;
  /** A stable word for programs, such as `not_found`. */
  code?: string;
  /** What to do about it. */
  hint?: string | null;
  /** What the server's log calls this request. */
  requestId?: string | null;
  fields?: FieldProblem[];
  /** Seconds the server asked to wait. */
  retryAfter?: number | null;
  /** How often it was tried. */
  attempts?: number;
  cause?: unknown;
}

/** Recollect could not do that. */
export class RecollectError extends Error {
  readonly status: number | null;
  readonly code: string;
  readonly hint: string | null;
  readonly requestId: string | null;
  readonly fields: FieldProblem[];
  readonly retryAfter: number | null;
  readonly attempts: number;

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.status = facts.status ?? null;
    this.code = facts.code ?? "error";
    this.hint = facts.hint ?? null;
    this.requestId = facts.requestId ?? null;
    this.fields = facts.fields ?? [];
    this.retryAfter = facts.retryAfter ?? null;
    this.attempts = facts.attempts ?? 0;
  }
}

/** The request, an event or an option cannot be used as it is (422, or seen before anything was sent). */
export class InvalidInput extends RecollectError {}
/** The key opens nothing (401). */
export class InvalidKey extends RecollectError {}
/** The key is not for that (403). */
export class NotAllowed extends RecollectError {}
/** There is no such thing for this user (404). */
export class NotFound extends RecollectError {}
/** It changed since it was read, or the same write is still running (409). */
export class Conflict extends RecollectError {}
/** The request is larger than the server takes (413). */
export class TooLarge extends RecollectError {}
/** Too many requests, or as much is kept as may be (429). */
export class RateLimited extends RecollectError {}
/** The server failed, or says that it cannot answer now (5xx). */
export class Unavailable extends RecollectError {}
/** No connection, or it broke off. */
export class Unreachable extends RecollectError {}
/** No whole answer in time. */
export class TimedOut extends RecollectError {}
/** Something answered that does not speak like Recollect: a proxy's page, cut JSON, a redirect. */
export class BadAnswer extends RecollectError {}

const BY_STATUS: Record<number, typeof RecollectError> = {
  401: InvalidKey,
  403: NotAllowed,
  404: NotFound,
  409: Conflict,
  413: TooLarge,
  422: InvalidInput,
  429: RateLimited,
};

/** The error that an answer stands for: its words where it has them, else what its status means. */
export function fromAnswer(status: number, body: unknown, facts: ErrorFacts): RecollectError {
  const told = isRecord(body) && isRecord(body["error"]) ? body["error"] : {};
  const Kind = BY_STATUS[status] ?? (status >= 500 ? Unavailable : RecollectError);
  return new Kind(text(told["message"]) ?? `the server answered with status ${status}`, {
    ...facts,
    status,
    code: text(told["code"]) ?? `http_${status}`,
    hint: text(told["hint"]) ?? facts.hint ?? null,
    fields: Array.isArray(told["fields"]) ? told["fields"].filter(isFieldProblem) : [],
  });
}

/** Whether a value is an object with names, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function isFieldProblem(value: unknown): value is FieldProblem {
  return isRecord(value) && typeof value["field"] === "string" && typeof value["problem"] === "string";
}
