/** One request to a service: the key, a time limit, attempts, and an answer or a typed error. */

import { BadAnswer, fromAnswer, InvalidInput, isRecord, RecollectError, TimedOut, Unreachable } from "./errors.js";
import { number, type Settings } from "./options.js";
import { randomId } from "./random.js";

export interface CallOptions {
  /** Ends the call; its reason is thrown. */
  signal?: AbortSignal;
  /** How long one attempt may take, in milliseconds. */
  timeoutMs?: number;
}

export interface Deadline {
  /** How long all attempts together may take, in milliseconds. */
  patienceMs?: number;
}

export interface WriteOptions extends CallOptions {
  /** Makes this write happen once however often it is sent, for 24 hours; made for each call when not given. */
  idempotencyKey?: string;
}

export interface Request {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  service: "ingestion" | "retrieval";
  path: string;
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  /** Writes bear an Idempotency-Key, so that trying again does nothing twice. */
  writes?: boolean;
  headers?: Record<string, string>;
  /** Statuses that are answers although they are not 2xx. */
  accepts?: number[];
}

export interface Answer<T> {
  status: number;
  body: T;
  headers: Headers;
}

const TRIED_AGAIN = new Set([429, 500, 502, 503, 504]);
const LONGEST_WORDS = 200; // characters of an error that the platform gives

/** Sends requests to the two services. */
export class Http {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** The answer's JSON; an error when there is none after the last attempt. */
  async ask<T>(request: Request, options: WriteOptions & Deadline = {}): Promise<Answer<T>> {
    const init = this.#init(request, options);
    const url = this.#url(request);
    const limit = number(options.timeoutMs, this.#settings.timeoutMs, 1, "timeoutMs");
    const end = Date.now() + (options.patienceMs ?? Infinity);
    for (let attempt = 1; ; attempt++) {
      options.signal?.throwIfAborted();
      try {
        const left = Math.max(1, Math.min(limit, end - Date.now()));
        return await this.#attempt<T>(url, init, request, options.signal, left, attempt);
      } catch (error) {
        const wait = this.#wait(error, attempt, request);
        if (wait === null || Date.now() + wait >= end) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  async #attempt<T>(
    url: string,
    init: RequestInit,
    request: Request,
    signal: AbortSignal | undefined,
    limit: number,
    attempts: number,
  ): Promise<Answer<T>> {
    const controller = new AbortController();
    const end = () => controller.abort(signal?.reason);
    signal?.addEventListener("abort", end, { once: true });
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      controller.abort();
    }, limit);
    try {
      const response = await this.#settings.fetch(url, { ...init, signal: controller.signal });
      return read<T>(response, await response.text(), request, attempts);
    } catch (error) {
      if (error instanceof RecollectError) throw error;
      signal?.throwIfAborted();
      const where = new URL(url).origin;
      if (late) {
        throw new TimedOut(`no answer from ${where} within ${limit} ms`, {
          code: "timed_out",
          hint: "Is the service busy? Give it longer with timeoutMs.",
          attempts,
        });
      }
      throw new Unreachable(`${where} cannot be reached: ${words(error)}`, {
        code: "unreachable",
        hint: "Is `recollect serve` running, and are MEMORY_INGESTION_URL and MEMORY_RETRIEVAL_URL right?",
        attempts,
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    }
  }

  /** Milliseconds until it is worth trying again; null when it is not. */
  #wait(error: unknown, attempt: number, request: Request): number | null {
    if (!(error instanceof RecollectError) || attempt > this.#settings.retries) return null;
    const { backoffMs, maxWaitMs } = this.#settings;
    const broken = error instanceof Unreachable || error instanceof TimedOut;
    // An attempt that timed out here may still be running there, and the next one is told so.
    const running = request.writes === true && error.status === 409 && error.code === "in_progress";
    if (!broken && !running && !TRIED_AGAIN.has(error.status ?? 0)) return null;
    if (error.status === 429 && error.retryAfter === null) return null;
    if (error.retryAfter !== null) {
      const asked = error.retryAfter * 1000;
      return asked <= maxWaitMs ? asked + Math.random() * backoffMs : null;
    }
    const most = Math.min(backoffMs * 2 ** (attempt - 1), maxWaitMs);
    return most / 2 + (Math.random() * most) / 2; // never all at once, never at the same moment as others
  }

  #url(request: Request): string {
    const base = request.service === "ingestion" ? this.#settings.ingestionUrl : this.#settings.retrievalUrl;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    const asked = query.toString();
    return base + request.path + (asked ? `?${asked}` : "");
  }

  #init(request: Request, options: WriteOptions): RequestInit {
    const headers: Record<string, string> = { Accept: "application/json", ...request.headers };
    if (this.#settings.apiKey !== null) headers["X-API-Key"] = this.#settings.apiKey;
    if (request.writes) headers["Idempotency-Key"] = options.idempotencyKey ?? randomId();
    // A redirect would carry the key to whoever it names.
    const init: RequestInit = { method: request.method, headers, redirect: "manual" };
    if (request.body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(request.body);
    }
    return init;
  }
}

/** An id as a part of a path. One that would lead elsewhere is refused: addresses know no way to write it. */
export function segment(id: string): string {
  if (typeof id !== "string" || /^\.{0,2}$/.test(id)) {
    throw new InvalidInput("this is not an id", { code: "invalid_input" });
  }
  return encodeURIComponent(id);
}

function read<T>(response: Response, text: string, request: Request, attempts: number): Answer<T> {
  const { status, headers } = response;
  const requestId = headers.get("x-request-id");
  const facts = { status, requestId, retryAfter: seconds(headers.get("retry-after")), attempts };
  if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
    throw new BadAnswer("the service redirects to another address", {
      ...facts,
      code: "redirected",
      hint: "Give the address it redirects to; the key is not sent on.",
    });
  }
  const good = response.ok || request.accepts?.includes(status);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    if (!good) throw fromAnswer(status, null, facts);
    throw new BadAnswer("the answer is not whole JSON", {
      ...facts,
      code: "bad_answer",
      hint: "Is this the address of Recollect, and not of something before it?",
      cause,
    });
  }
  if (!good) throw fromAnswer(status, body, facts);
  if (!isRecord(body)) throw new BadAnswer("the answer is not an object", { ...facts, code: "bad_answer" });
  return { status, body: body as T, headers };
}

/** What `Retry-After` says, as seconds: a number, or a date. */
function seconds(value: string | null): number | null {
  if (value === null || value.trim() === "") return null;
  const number = Number(value);
  const asked = Number.isFinite(number) ? number : (Date.parse(value) - Date.now()) / 1000;
  return Number.isFinite(asked) ? Math.max(0, asked) : null;
}

function words(error: unknown): string {
  const inner = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (inner as { code?: unknown } | null)?.code;
  const said = typeof code === "string" ? code : inner instanceof Error ? inner.message : String(inner);
  return said.slice(0, LONGEST_WORDS);
}

function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
  });
}
