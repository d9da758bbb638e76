/** The real Redis and the real server: what is published is recalled. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MemorySkill } from "../src/index.js";
import { randomId } from "../src/random.js";
import { folderOf, redisUrl, type Service, serve, until } from "./service.js";

// A server from outside is used by others too, and channels know no databases.
const OWN = randomId();
const NAMES = { channel: `memory.ingest:${OWN}`, stream: `recollect:ingest:${OWN}` };
const SECRET = "a secret that is long enough for all of us";

let redis: ReturnType<typeof createClient>;
let service: Service;
let skill: MemorySkill;

beforeAll(async () => {
  const url = await redisUrl();
  const keys = join(folderOf("recollect-ts-keys-"), "keys.json");
  writeFileSync(keys, JSON.stringify({ local: { backend: SECRET } }), { mode: 0o600 });
  redis = createClient({ url });
  await redis.connect();
  service = await serve({
    RECOLLECT_REDIS_URL: url,
    RECOLLECT_REDIS_CHANNEL: NAMES.channel,
    RECOLLECT_REDIS_STREAM: NAMES.stream,
    RECOLLECT_REDIS_KEYS_FILE: keys,
  });
  skill = new MemorySkill({ url: service.url, apiKey: service.key, redis, ...NAMES });
  await until("the server listens on the channel", async () => {
    const counts = await redis.pubSubNumSub(NAMES.channel);
    return counts[NAMES.channel] === 1;
  });
});

afterAll(async () => {
  await redis.del([NAMES.stream, `${NAMES.stream}:dead`]);
  await redis.close();
});

test("a message that is published is recalled", async () => {
  const sent = await skill.publishMemoryEvent({
    event_type: "conversation.message",
    content: "I moved to Lisbon with my cat Miso",
    user_id: "ann",
    metadata: { source: "chat", timestamp: new Date(), session_id: "chat:7", role: "user" },
  });
  expect(sent).toMatchObject({ way: "channel", receivers: 1 });
  const ann = skill.forUser("ann");
  const found = await until("it is recalled", async () => (await ann.search("where did I move with my cat?"))[0]);
  expect(found).toMatchObject({ session: "chat:7", content: expect.stringContaining("Lisbon") });
});

test("a fact goes into the stream, keeps its tags, and is stored once however often it is sent", async () => {
  const event = {
    event_type: "memory.fact" as const,
    content: "The staging database listens on port 5544",
    id: "fact-1",
    metadata: { source: "importer", timestamp: "2026-11-01T10:00:00Z", tags: ["staging"], importance: 0.9 },
  };
  const bob = skill.forUser("bob");
  for (let time = 0; time < 3; time++) {
    expect(await bob.publishMemoryEvent(event, { way: "stream" })).toMatchObject({ id: "fact-1", way: "stream" });
  }
  const found = await until("it is recalled", async () => (await bob.search("staging database port"))[0]);
  expect(found).toMatchObject({
    tags: ["staging"],
    origin: "import",
    trust: "quoted",
    occurred_at: "2026-11-01T10:00:00Z",
  });
  await until("all were read", async () => (await redis.xPending(NAMES.stream, "recollect")).pending === 0);
  expect((await bob.list()).memories).toHaveLength(1);
});

test("a signed event verifies over there, and a forged one is a dead letter", async () => {
  const signing = { tenant: "local", key: "backend", secret: SECRET };
  const signed = new MemorySkill({ url: service.url, apiKey: service.key, redis, ...NAMES, signing, userId: "eve" });
  await signed.publishMemoryEvent({
    event_type: "conversation.message",
    content: "Grüße: my locker number is 417 😀\n",
    metadata: { source: "chat", session_id: "s", ratio: 0.1, large: 1e21, more: { b: [1, null], a: true } },
  });
  const found = await until("it is recalled", async () => (await signed.search("what is my locker number?"))[0]);
  expect(found?.content).toContain("417");

  const forger = new MemorySkill({ redis, ...NAMES, signing: { ...signing, secret: "x".repeat(40) }, userId: "eve" });
  await forger.publishMemoryEvent({
    event_type: "memory.note",
    content: "Never lock it",
    metadata: { source: "chat" },
  });
  const dead = await until("it is dead", async () => (await redis.xRange(`${NAMES.stream}:dead`, "-", "+"))[0]);
  expect(dead.message).toMatchObject({ code: "forged" });
  expect(JSON.stringify(await signed.search("lock it"))).not.toContain("Never lock it");
});
