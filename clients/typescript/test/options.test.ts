/** Where the services are, what opens them, and whose memory a call is about. */

import { afterEach, expect, test, vi } from "vitest";
import { InvalidInput, MemorySkill, type MemorySkillOptions } from "../src/index.js";
import { resolved } from "../src/options.js";
import { context, scripted } from "./scripted.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

const I = "http://memory-ingestion:8001";
const R = "http://memory-retrieval:8002";
const LOCAL = "http://127.0.0.1:8010";

test.each<[string, MemorySkillOptions, Record<string, string>, [string, string]]>([
  ["nothing: the local server", {}, {}, [LOCAL, LOCAL]],
  ["the two variables", {}, { MEMORY_INGESTION_URL: I, MEMORY_RETRIEVAL_URL: R }, [I, R]],
  ["one variable is for both", {}, { MEMORY_RETRIEVAL_URL: R }, [R, R]],
  ["the other one too", {}, { MEMORY_INGESTION_URL: I }, [I, I]],
  ["an empty variable is none", {}, { MEMORY_INGESTION_URL: " ", MEMORY_RETRIEVAL_URL: R }, [R, R]],
  ["one address", { url: "http://a" }, { MEMORY_INGESTION_URL: I, MEMORY_RETRIEVAL_URL: R }, ["http://a", "http://a"]],
  ["two addresses", { ingestionUrl: "http://a/", retrievalUrl: "http://b/x/" }, {}, ["http://a", "http://b/x"]],
  ["an option goes before a variable", { ingestionUrl: "http://a" }, { MEMORY_RETRIEVAL_URL: R }, ["http://a", R]],
])("addresses: %s", (_name, options, env, [ingestion, retrieval]) => {
  expect(resolved(options, env)).toMatchObject({ ingestionUrl: ingestion, retrievalUrl: retrieval });
});

test.each<[string, MemorySkillOptions]>([
  ["no address", { url: "memory" }],
  ["a file", { url: "file:///etc/passwd" }],
  ["a password in it", { url: "http://ann:secret@a" }],
  ["a key in it", { url: "http://a/?key=secret" }],
  ["a key with a new line within", { apiKey: "a\nX-Evil: 1" }],
  ["a key that is not ASCII", { apiKey: "schlüssel" }],
  ["an empty key", { apiKey: " " }],
  ["no time", { timeoutMs: 0 }],
  ["half a retry", { retries: 0.5 }],
  ["less than none", { retries: -1 }],
  ["no number", { backoffMs: Number.NaN }],
  ["no tokens", { maxTokens: 0 }],
])("refused at once: %s", (_name, options) => {
  expect(() => new MemorySkill(options)).toThrow(InvalidInput);
  expect(() => new MemorySkill(options)).not.toThrow(/secret|schlüssel|Evil/);
});

test("the variables are read when a skill is made, and the key is sent as a header", async () => {
  const server = await scripted({ body: context("") });
  vi.stubEnv("MEMORY_RETRIEVAL_URL", server.url);
  vi.stubEnv("MEMORY_API_KEY", "rec_live_1\n");
  await new MemorySkill().getContext("q", 10);
  expect(server.asked[0]?.headers["x-api-key"]).toBe("rec_live_1");
  expect(server.asked[0]?.path).toBe("/context");
});

test("writes go to one service, reads to the other", async () => {
  const [ingestion, retrieval] = [await scripted({}), await scripted({ body: { results: [] } })];
  const skill = new MemorySkill({ ingestionUrl: ingestion.url, retrievalUrl: retrieval.url });
  await skill.ingest("x");
  await skill.recordTurn("a", "b");
  await skill.update("m", { content: "y" }, { version: 3 });
  await skill.forget("m", { soft: true });
  await skill.summarize("s/1");
  await skill.search("q");
  await skill.get("m");
  await skill.sessions({ limit: 5 });
  const lines = (server: typeof ingestion) => server.asked.map((each) => `${each.method} ${each.path}`);
  expect(lines(ingestion)).toEqual([
    "POST /ingest",
    "POST /memory/ingest",
    "PATCH /memories/m",
    "DELETE /memories/m?soft=true",
    "POST /sessions/s%2F1/summarize",
  ]);
  expect(ingestion.asked[2]?.headers["if-match"]).toBe('"3"');
  expect(lines(retrieval)).toEqual(["POST /search", "GET /memories/m", "GET /sessions?limit=5"]);
});

test("whose: the skill's user, another for a call, or a skill for each", async () => {
  const server = await scripted({ body: { results: [], context: "" } });
  const skill = new MemorySkill({ url: server.url, userId: "app", contextId: "shop" });
  await skill.search("q");
  await skill.search("q", {}, { userId: "ann" });
  await skill.forUser("bob").getContext("q", 10);
  await skill.forUser("bob", "bank").ingest("x");
  await skill.get("m", { userId: "eve" });
  expect(server.asked.slice(0, 4).map((each) => JSON.parse(each.body))).toEqual([
    { query: "q", user_id: "app", context_id: "shop" },
    { query: "q", user_id: "ann", context_id: "shop" },
    { query: "q", max_tokens: 10, user_id: "bob", context_id: "shop" },
    { content: "x", user_id: "bob", context_id: "bank" },
  ]);
  expect(server.asked[4]?.path).toBe("/memories/m?user_id=eve&context_id=shop");
});

test.each(["", ".", ".."])("refused as an id: %j", async (id) => {
  const server = await scripted({});
  await expect(new MemorySkill({ url: server.url }).forget(id)).rejects.toBeInstanceOf(InvalidInput);
  expect(server.asked).toHaveLength(0);
});

test.each(["a/../b", "a/b", "a?b#c", "ä"])("an id is never a path: %j", async (id) => {
  const server = await scripted({});
  await new MemorySkill({ url: server.url }).get(id);
  expect(server.asked[0]?.path).toMatch(/^\/memories\/[A-Za-z0-9%.]+$/);
  expect(decodeURIComponent(server.asked[0]?.path ?? "")).toBe(`/memories/${id}`);
});

test("many items go in parts that the server takes", async () => {
  const server = await scripted({
    body: { results: [{ memory_id: "m", status: "stored" }], stored: 1, known: 0, failed: 0 },
  });
  const skill = new MemorySkill({ url: server.url, userId: "ann" });
  const long = "x".repeat(9_000);
  const answer = await skill.ingestBatch([
    ...Array.from({ length: 1_001 }, (_, n) => `note ${n}`),
    ...Array(150).fill(long),
  ]);
  const sizes = server.asked.map((each) => JSON.parse(each.body).items.length as number);
  expect(sizes).toEqual([1_000, 100, 51]);
  expect(Math.max(...server.asked.map((each) => each.body.length))).toBeLessThan(2 ** 20);
  expect(new Set(server.asked.map((each) => each.headers["idempotency-key"])).size).toBe(3);
  expect(JSON.parse(server.asked[2]?.body ?? "").items[0]).toEqual({ content: long, user_id: "ann" });
  expect(answer).toMatchObject({ stored: 3 });
  expect(answer.results).toHaveLength(3);
});

test("nothing to keep asks nothing", async () => {
  const server = await scripted({});
  expect(await new MemorySkill({ url: server.url }).ingestBatch([])).toEqual({
    results: [],
    stored: 0,
    known: 0,
    failed: 0,
  });
  expect(server.asked).toHaveLength(0);
});

test("another fetch can be given", async () => {
  const fetch: typeof globalThis.fetch = async (url) => Response.json(context(String(url)));
  expect(await new MemorySkill({ fetch, url: "http://a" }).getContext("q", 10)).toBe("http://a/context");
});
