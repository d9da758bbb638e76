/** Events are checked before they leave, and go through any Redis client; the real one is in bus.test.ts. */

import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { InvalidInput, MemorySkill, type Redis, TimedOut, Unreachable, validateEvent } from "../src/index.js";
import { canonical } from "../src/canonical.js";
import { hmac } from "../src/random.js";

const EVENT = {
  event_type: "conversation.message" as const,
  content: "I moved to Lisbon",
  user_id: "ann",
  metadata: { source: "chat", timestamp: "2026-11-16T09:30:00Z" },
};
const SIGNING = { tenant: "acme", key: "backend", secret: "0123456789abcdef0123456789abcdef" };

/** The event with another value in one place; undefined takes it away. */
function changed(path: string, value: unknown): object {
  const event = structuredClone(EVENT) as Record<string, any>;
  const [first = "", second] = path.split(".");
  const [holder, name] = second === undefined ? [event, first] : [event[first], second];
  if (value === undefined) delete holder[name];
  else holder[name] = value;
  return event;
}

function fact(path: string, value: unknown): object {
  return { ...changed(path, value), event_type: "memory.fact" };
}

test.each<[string, object]>([
  ["as it is in the docs", EVENT],
  ["with an id", changed("id", "e-1")],
  ["with a session", changed("metadata.session_id", "chat:1")],
  ["with a role", changed("metadata.role", "assistant")],
  ["with a project", changed("metadata.context_id", "shop")],
  ["a fact with tags", fact("metadata.tags", ["home", "cat"])],
  ["a time with an offset and fractions", changed("metadata.timestamp", "2026-11-16T09:30:00.123456+05:30")],
  ["nothing for what may be left out", changed("metadata.session_id", null)],
  ["the last day of a leap year's February", changed("metadata.timestamp", "2024-02-29T23:59:59-11:00")],
  ["metadata of one's own", changed("metadata.channel", "#general")],
  ["a fact of 10,000 characters, also beyond the first plane", fact("content", "😀".repeat(10_000))],
  ["a message of 200,000 characters", changed("content", "x".repeat(200_000))],
])("an event that can be published: %s", (_name, event) => {
  expect(validateEvent(event)).toBe(event);
});

test.each<[string, unknown, string]>([
  ["no object", "text", "event"],
  ["null", null, "event"],
  ["a list", [EVENT], "event"],
  ["no type", changed("event_type", undefined), "event_type"],
  ["an unknown type", changed("event_type", "conversation.deleted"), "event_type"],
  ["no content", changed("content", undefined), "content"],
  ["empty content", changed("content", " \n"), "content"],
  ["content that is no text", changed("content", { text: "x" }), "content"],
  ["a fact of 10,001 characters", fact("content", "x".repeat(10_001)), "content"],
  ["a message of more than a MiB", changed("content", "x".repeat(2 ** 20)), "event"],
  ["no user", changed("user_id", undefined), "user_id"],
  ["an empty user", changed("user_id", ""), "user_id"],
  ["a user with a new line", changed("user_id", "a\nb"), "user_id"],
  ["a user of 256 characters", changed("user_id", "u".repeat(256)), "user_id"],
  ["a user that is a number", changed("user_id", 7), "user_id"],
  ["no metadata", changed("metadata", undefined), "metadata"],
  ["metadata that is a list", changed("metadata", []), "metadata"],
  ["metadata of six levels", changed("metadata.a", { b: { c: { d: { e: {} } } } }), "metadata"],
  ["metadata of more than 50 KB", changed("metadata.a", "x".repeat(60_000)), "metadata"],
  ["no source", changed("metadata.source", undefined), "metadata.source"],
  ["no time", changed("metadata.timestamp", undefined), "metadata.timestamp"],
  ["a time in milliseconds", changed("metadata.timestamp", 1_700_000_000_000), "metadata.timestamp"],
  ["a day", changed("metadata.timestamp", "2026-11-16"), "metadata.timestamp"],
  ["a time without a zone", changed("metadata.timestamp", "2026-11-16T09:30:00"), "metadata.timestamp"],
  ["a month that is not", changed("metadata.timestamp", "2026-13-16T09:30:00Z"), "metadata.timestamp"],
  ["an hour that is not", changed("metadata.timestamp", "2026-11-16T24:00:00Z"), "metadata.timestamp"],
  ["no role, said so", changed("metadata.role", null), "metadata.role"],
  ["a day that is not", changed("metadata.timestamp", "2026-02-30T09:30:00Z"), "metadata.timestamp"],
  ["white space that only others know", changed("content", "\u0085\u001f"), "content"],
  ["a time to come", changed("metadata.timestamp", "2999-01-01T00:00:00Z"), "metadata.timestamp"],
  ["an unknown role", changed("metadata.role", "robot"), "metadata.role"],
  ["a session that is a number", changed("metadata.session_id", 5), "metadata.session_id"],
  ["an empty project", changed("metadata.context_id", ""), "metadata.context_id"],
  ["tags that are one text", changed("metadata.tags", "home"), "metadata.tags"],
  ["a tag of 51 characters", changed("metadata.tags", ["t".repeat(51)]), "metadata.tags"],
  ["too important", changed("metadata.importance", 1.5), "metadata.importance"],
  ["an empty why", changed("metadata.why", ""), "metadata.why"],
  ["an unknown field", changed("userId", "ann"), "userId"],
  ["a tenant of one's own choice", changed("tenant", "other"), "tenant"],
])("an event that is refused: %s", (_name, event, field) => {
  const error = caught(() => validateEvent(event));
  expect(error).toBeInstanceOf(InvalidInput);
  expect(error).toMatchObject({ code: "invalid_event", fields: [{ field }] });
});

test("every field in the way is named", () => {
  const error = caught(() => validateEvent({ event_type: "x", metadata: {} })) as InvalidInput;
  const named = ["event_type", "content", "user_id", "metadata.source", "metadata.timestamp"];
  expect(error.fields.map((each) => each.field)).toEqual(named);
});

test("what is refused is not published", async () => {
  const { redis, calls } = client("publish", "xadd");
  const bad = changed("content", "") as never;
  await expect(new MemorySkill({ redis }).publishMemoryEvent(bad)).rejects.toBeInstanceOf(InvalidInput);
  const half = changed("content", "a\ud800") as never;
  await expect(new MemorySkill({ redis }).publishMemoryEvent(half)).rejects.toBeInstanceOf(InvalidInput);
  expect(calls).toHaveLength(0);
});

test("a skill fills in its user, its project, the time and an id", async () => {
  const { redis, calls } = client("publish");
  const skill = new MemorySkill({ redis, userId: "ann", contextId: "shop" });
  const sent = await skill.publishMemoryEvent({
    event_type: "conversation.message",
    content: "Hello",
    metadata: { source: "chat" },
  });
  const message = JSON.parse(calls[0]?.[2] as string);
  expect(message).toMatchObject({ user_id: "ann", id: sent.id, metadata: { source: "chat", context_id: "shop" } });
  expect(Math.abs(Date.parse(message.metadata.timestamp) - Date.now())).toBeLessThan(5_000);
  await skill.publishMemoryEvent({ ...EVENT, user_id: "bob", id: "mine" });
  expect(JSON.parse(calls[1]?.[2] as string)).toMatchObject({ user_id: "bob", id: "mine" });
});

test.each<[string, string[], number, "channel" | "stream", unknown[], object]>([
  ["somebody listens", ["publish", "xAdd"], 1, "channel", ["publish"], { way: "channel", receivers: 1 }],
  ["nobody listens: the stream keeps it", ["publish", "xAdd"], 0, "channel", ["publish", "xAdd"], { way: "stream" }],
  ["the same with ioredis", ["publish", "xadd"], 0, "channel", ["publish", "xadd"], { way: "stream", entry: "1-0" }],
  ["nobody listens, and there is no stream", ["publish"], 0, "channel", ["publish"], { way: "channel", receivers: 0 }],
  ["only a stream", ["xadd"], 1, "channel", ["xadd"], { way: "stream", entry: "1-0" }],
  ["the stream, as asked", ["publish", "xAdd"], 1, "stream", ["xAdd"], { way: "stream", entry: "1-0" }],
])("%s", async (_name, methods, receivers, way, called, result) => {
  const { redis, calls } = client(...methods);
  calls.receivers = receivers;
  expect(await new MemorySkill({ redis }).publishMemoryEvent({ ...EVENT, id: "e" }, { way })).toMatchObject({
    id: "e",
    ...result,
  });
  expect(calls.map((each) => each[0])).toEqual(called);
  const event = canonical({ ...EVENT, id: "e" });
  for (const [method, ...args] of calls) {
    if (method === "publish") expect(args).toEqual(["memory.ingest", event]);
    if (method === "xAdd") expect(args).toEqual(["recollect:ingest", "*", { event }]);
    if (method === "xadd") expect(args).toEqual(["recollect:ingest", "*", "event", event]);
  }
});

test("channel and stream can be others", async () => {
  const { redis, calls } = client("publish", "xadd");
  const skill = new MemorySkill({ redis, channel: "c", stream: "s" });
  await skill.publishMemoryEvent(EVENT);
  await skill.publishMemoryEvent(EVENT, { way: "stream" });
  expect(calls.map((each) => each[1])).toEqual(["c", "s"]);
});

test("a signed event carries a signature over all the rest", async () => {
  const { redis, calls } = client("publish");
  await new MemorySkill({ redis, signing: SIGNING }).publishMemoryEvent({ ...EVENT, content: "Grüße 😀\n" });
  const { signature, ...rest } = JSON.parse(calls[0]?.[2] as string);
  expect(rest).toMatchObject({ tenant: "acme", key: "backend" });
  expect(rest.nonce).toMatch(/^[0-9a-f]{32}$/);
  expect(Math.abs(Date.parse(rest.sent_at) - Date.now())).toBeLessThan(5_000);
  expect(signature).toBe(createHmac("sha256", SIGNING.secret).update(canonical(rest)).digest("hex"));
});

test("the signature of the example in the server's docs", async () => {
  const docs = readFileSync(join(import.meta.dirname, "../../../docs/redis.md"), "utf-8");
  const at = "2026-11-16T09:30:00Z";
  const event = { event_type: "conversation.message", content: "Grüße", user_id: "ann", tenant: "acme", key: "main" };
  const sent = {
    sent_at: "2026-11-16T09:30:00.000000Z",
    nonce: "n".repeat(16),
    metadata: { source: "chat", timestamp: at, n: 1.0 },
  };
  const signature = await hmac(SIGNING.secret, canonical({ ...event, ...sent }));
  expect(docs).toContain(`a message's signature is \`${signature}\``);
});

test.each<[unknown, string]>([
  [{ b: 1, a: [true, null, "x"], "": {} }, '{"":{},"a":[true,null,"x"],"b":1}'],
  [
    { "\u20ac": 1, "\r": 2, "1": 3, "\u{1f600}": 4, "\u00f6": 5, "\ufb33": 6 },
    '{"\\r":2,"1":3,"ö":5,"€":1,"😀":4,"\ufb33":6}',
  ],
  [[1e21, 1e-7, 0.1, -0, 100, 4.5], "[1e+21,1e-7,0.1,0,100,4.5]"],
  [{ a: undefined, b: '\u2028\u007f"\\/' }, '{"b":"\u2028\u007f\\"\\\\/"}'],
])("JSON in one form only: %j", (value, expected) => {
  expect(canonical(value)).toBe(expected);
});

test("without a client it says so", async () => {
  await expect(new MemorySkill().publishMemoryEvent(EVENT)).rejects.toThrow("there is no Redis to publish to");
  const redis = {} as Redis;
  await expect(new MemorySkill({ redis }).publishMemoryEvent(EVENT)).rejects.toBeInstanceOf(InvalidInput);
});

test("a client that waits for its connection is not waited for without end", async () => {
  const redis = { publish: () => new Promise<number>(() => undefined) };
  const skill = new MemorySkill({ redis });
  await expect(skill.publishMemoryEvent(EVENT, { timeoutMs: 50 })).rejects.toBeInstanceOf(TimedOut);
});

test("a client that fails is a typed error with its cause", async () => {
  const redis = { publish: () => Promise.reject(new Error("READONLY")) };
  const error = await new MemorySkill({ redis }).publishMemoryEvent(EVENT).catch((each: unknown) => each);
  expect(error).toBeInstanceOf(Unreachable);
  expect((error as Error).cause).toMatchObject({ message: "READONLY" });
});

type Calls = unknown[][] & { receivers: number };

function client(...methods: string[]): { redis: Redis; calls: Calls } {
  const calls = Object.assign([] as unknown[][], { receivers: 1 });
  const entries = methods.map((method) => [
    method,
    async (...args: unknown[]) => {
      calls.push([method, ...args]);
      return method === "publish" ? calls.receivers : "1-0";
    },
  ]);
  return { redis: Object.fromEntries(entries) as Redis, calls };
}

function caught(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}
