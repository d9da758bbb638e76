/** Events on their way to Redis, through whatever client the application has. In: JSON. Out: who took it. */

import { InvalidInput, TimedOut, Unreachable } from "./errors.js";

/** Publishing, as in `redis` and `ioredis`. */
export interface Publishes {
  publish(channel: string, message: string): unknown;
}

/** Adding to a stream, as in `redis`. */
export interface AddsFields {
  xAdd(key: string, id: string, fields: Record<string, string>): unknown;
}

/** Adding to a stream, as in `ioredis`. */
export interface AddsWords {
  xadd(key: string, id: string, ...fields: string[]): unknown;
}

/** A connected client that can do at least one of these. */
export type Redis = Publishes | AddsFields | AddsWords;

/** How an event went. `receivers` is how many listened on the channel. */
export type Published =
  { id: string; way: "channel"; receivers: number } | { id: string; way: "stream"; entry: string };

export interface Route {
  channel: string;
  stream: string;
  /** `channel`: publish, and add to the stream when nobody listens. `stream`: only add, which lasts. */
  way: "channel" | "stream";
  timeoutMs: number;
}

/** Send one event. A client without a connection may keep it waiting, but not longer than the time limit. */
export async function send(redis: Redis, route: Route, id: string, message: string): Promise<Published> {
  const adds = adder(redis);
  if (route.way === "channel" && canPublish(redis)) {
    const answer = await inTime(route.timeoutMs, async () => redis.publish(route.channel, message));
    const receivers = typeof answer === "number" ? answer : Number(answer ?? 0);
    if (receivers > 0 || adds === null) return { id, way: "channel", receivers };
  }
  if (adds === null) {
    throw new InvalidInput("this Redis client can neither publish nor add to a stream as asked", {
      code: "invalid_option",
      hint: "Give a connected client of `redis` or `ioredis`.",
    });
  }
  const entry = await inTime(route.timeoutMs, async () => adds(route.stream, message));
  return { id, way: "stream", entry: String(entry) };
}

function canPublish(redis: Redis): redis is Publishes {
  return typeof (redis as Partial<Publishes>).publish === "function";
}

function adder(redis: Redis): ((stream: string, message: string) => unknown) | null {
  const client = redis as Partial<AddsFields & AddsWords>;
  if (typeof client.xAdd === "function") return (stream, event) => client.xAdd?.(stream, "*", { event });
  if (typeof client.xadd === "function") return (stream, event) => client.xadd?.(stream, "*", "event", event);
  return null;
}

async function inTime<T>(limit: number, ask: () => Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TimedOut(`Redis did not answer within ${limit} ms`, { code: "timed_out", hint: "Is it running?" }));
    }, limit);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    if (error instanceof TimedOut) throw error;
    throw new Unreachable("Redis did not take the event", {
      code: "unreachable",
      hint: "Is it running?",
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}
