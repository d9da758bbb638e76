/** What a skill is told: options, else the environment, else what `recollect serve` does on this machine. */

import { InvalidInput, type RecollectError } from "./errors.js";
import type { Redis } from "./publisher.js";

export const LOCAL_URL = "http://127.0.0.1:8010";

export interface MemorySkillOptions {
  /** One address for both services. */
  url?: string;
  /** Where writes go; else `MEMORY_INGESTION_URL`. */
  ingestionUrl?: string;
  /** Where reads go; else `MEMORY_RETRIEVAL_URL`. */
  retrievalUrl?: string;
  /** Else `MEMORY_API_KEY`. */
  apiKey?: string;
  /** Whose memory, where a call does not say; without it the key's own user. */
  userId?: string;
  /** Which project, where a call does not say. */
  contextId?: string;
  /** How long one attempt may take, in milliseconds; 10,000. */
  timeoutMs?: number;
  /** How often it is tried again; 2. */
  retries?: number;
  /** The first wait between attempts, in milliseconds; 200. It doubles, and part of it is chance. */
  backoffMs?: number;
  /** The longest wait between attempts, in milliseconds; 5,000. A server that asks for more is not waited for. */
  maxWaitMs?: number;
  /** How long `enrichContext` may take, all attempts together, before the chat goes on without memory; 5,000. */
  patienceMs?: number;
  /** Tokens of recalled text in a prompt; 2,000. */
  maxTokens?: number;
  /**
   * Whether recalled text is left out when it cannot be had, instead of an error. Unset: `enrichContext` leaves it out,
   * because a chat must go on, and `getContext` throws.
   */
  degrade?: boolean;
  /** Told of each error that was not thrown; without it the first of each code is written to `console.warn`. */
  onDegrade?: (error: RecollectError) => void;
  /** A connected client of `redis` or `ioredis`, for `publishMemoryEvent`. */
  redis?: Redis;
  /** Where events are published; `memory.ingest`. */
  channel?: string;
  /** The stream that events are added to when asked, or when nobody listens on the channel; `recollect:ingest`. */
  stream?: string;
  /** Signs events, so that the server knows which tenant they are of. */
  signing?: Signing;
  /** Another `fetch`, such as one that goes through a proxy. */
  fetch?: typeof globalThis.fetch;
}

/** What events are signed with: a tenant's key and its secret, as in the server's `redis_keys_file`. */
export interface Signing {
  tenant: string;
  key: string;
  /** At least 32 characters. */
  secret: string;
}

export interface Settings {
  ingestionUrl: string;
  retrievalUrl: string;
  apiKey: string | null;
  timeoutMs: number;
  retries: number;
  backoffMs: number;
  maxWaitMs: number;
  patienceMs: number;
  fetch: typeof globalThis.fetch;
}

type Environment = Record<string, string | undefined>;

/** The options with everything filled in. */
export function resolved(options: MemorySkillOptions, env: Environment = environment()): Settings {
  if (options.signing) checkSigning(options.signing);
  const ingestion = options.ingestionUrl ?? options.url ?? set(env["MEMORY_INGESTION_URL"]);
  const retrieval = options.retrievalUrl ?? options.url ?? set(env["MEMORY_RETRIEVAL_URL"]);
  return {
    ingestionUrl: address(ingestion ?? retrieval ?? LOCAL_URL, "ingestionUrl"),
    retrievalUrl: address(retrieval ?? ingestion ?? LOCAL_URL, "retrievalUrl"),
    apiKey: key(options.apiKey ?? set(env["MEMORY_API_KEY"])),
    timeoutMs: number(options.timeoutMs, 10_000, 1, "timeoutMs"),
    retries: number(options.retries, 2, 0, "retries"),
    backoffMs: number(options.backoffMs, 200, 0, "backoffMs"),
    maxWaitMs: number(options.maxWaitMs, 5_000, 0, "maxWaitMs"),
    patienceMs: number(options.patienceMs, 5_000, 1, "patienceMs"),
    fetch: options.fetch ?? ((...asked) => globalThis.fetch(...asked)),
  };
}

/** The variables of this process; none where there is no process, as in a browser. */
function environment(): Environment {
  const process = (globalThis as { process?: { env?: Environment } }).process;
  return process?.env ?? {};
}

function set(value: string | undefined): string | undefined {
  return value?.trim() || undefined;
}

function address(value: string, what: string): string {
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw new InvalidInput(`${what} is not an address`, { code: "invalid_option", hint: `Such as ${LOCAL_URL}` });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new InvalidInput(`${what} must begin with http:// or https://`, { code: "invalid_option" });
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new InvalidInput(`${what} must hold no password, question or fragment`, {
      code: "invalid_option",
      hint: "Give the key as apiKey or MEMORY_API_KEY; it is never part of an address.",
    });
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

function key(value: string | undefined): string | null {
  if (value === undefined) return null;
  const trimmed = value.trim(); // a file that it was read from may end with a new line
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw new InvalidInput("apiKey must be visible ASCII characters without spaces", { code: "invalid_option" });
  }
  return trimmed;
}

function checkSigning({ tenant, key, secret }: Signing): void {
  if (!tenant || !key || typeof secret !== "string" || secret.length < 32) {
    throw new InvalidInput("signing needs a tenant, the name of its key, and a secret of at least 32 characters", {
      code: "invalid_option",
    });
  }
}

/** A whole number that was given, or another. */
export function number(value: number | undefined, otherwise: number, lowest: number, what: string): number {
  if (value === undefined) return otherwise;
  if (!Number.isInteger(value) || value < lowest || value > 2 ** 31 - 1) {
    throw new InvalidInput(`${what} must be a whole number from ${lowest}`, { code: "invalid_option" });
  }
  return value;
}
