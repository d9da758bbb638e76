/** The real server: what goes in is recalled, and every refusal arrives as its own error. */

import { execFileSync } from "node:child_process";
import { beforeAll, describe, expect, test } from "vitest";
import {
  callTool,
  Conflict,
  InvalidInput,
  InvalidKey,
  MemorySkill,
  NotAllowed,
  NotFound,
  RateLimited,
  TooLarge,
} from "../src/index.js";
import { type Service, serve, until } from "./service.js";

let service: Service;
let skill: MemorySkill;

beforeAll(async () => {
  service = await serve({ RECOLLECT_SERVE_RATE_PER_MINUTE: "0" });
  skill = new MemorySkill({ url: service.url, apiKey: service.key });
});

test("what is kept is found, and stands in the prompt", async () => {
  const ann = skill.forUser("ann");
  const kept = await ann.ingest({
    content: "Deploys happen on Fridays, blue-green",
    content_type: "decision",
    tags: ["ops"],
    why: "rollbacks are easy",
  });
  expect(kept).toMatchObject({ status: "stored", kind: "decision", redacted: 0 });
  expect(
    await ann.ingest({ content: "Deploys happen on Fridays, blue-green", content_type: "decision" }),
  ).toMatchObject({
    status: "known",
    memory_id: kept.memory_id,
  });

  const [best] = await ann.search("when do deploys happen?");
  expect(best).toMatchObject({ id: kept.memory_id, content_type: "decision", tags: ["ops"], tier: "memory" });
  expect(best?.score).toBeGreaterThan(0);
  expect(await ann.search("when do deploys happen?", { tags: ["other"] })).toEqual([]);
  expect((await ann.recall("deploys", {}, { facets: true })).facets?.kinds).toEqual({ decision: 1 });

  const context = await ann.getContext("when do deploys happen?", 500);
  expect(context).toMatch(/^=== Relevant Context ===\n/);
  expect(context).toContain("> Deploys happen on Fridays, blue-green\n");
  expect(context).toMatch(/\n========================\n$/);

  const talk = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hello." },
  ];
  expect(await ann.enrichContext("when do deploys happen?", talk, { maxTokens: 500 })).toBe(
    `User: Hello\nAssistant: Hello.\n\n${context}\nUser: when do deploys happen?\n`,
  );
});

test("nothing known: nothing is said", async () => {
  expect(await skill.forUser("nobody").getContext("what is the wifi password?", 500)).toBe("");
  expect(await skill.forUser("nobody").enrichContext("hi")).toBe("User: hi\n");
});

test("a recorded turn is in the history, and distilled in the background", async () => {
  const bob = skill.forUser("bob");
  const turn = await bob.recordTurn("From now on always use tabs in this repository.", "Understood, tabs it is.", {
    sessionId: "chat/1 ä",
  });
  expect(turn).toMatchObject({ session_id: "chat/1 ä", status: "queued" });
  const said = (await bob.history("chat/1 ä")).events.map((event) => [event.role, event.content]);
  expect(said).toEqual([
    ["user", "From now on always use tabs in this repository."],
    ["assistant", "Understood, tabs it is."],
  ]);
  expect((await bob.sessions()).sessions.map((session) => session.id)).toEqual(["chat/1 ä"]);
  await until("the turn is distilled", async () => (await bob.task(turn.task)).state === "done");
  const [rule] = await bob.search("always use tabs in this repository?", { tiers: ["memory"] });
  expect(rule).toMatchObject({ content_type: "preference", trust: "user" });
  expect((await bob.session("chat/1 ä")).memories.map((memory) => memory.id)).toEqual([rule?.id]);
  expect((await bob.gist("chat/1 ä")).session).toBe("chat/1 ä");
  expect((await bob.summarize("chat/1 ä")).session).toBe("chat/1 ä");

  expect((await bob.forgetSession("chat/1 ä")).counts).toMatchObject({ sessions: 1 });
  await expect(bob.history("chat/1 ä")).rejects.toBeInstanceOf(NotFound);
});

test("the conversation at hand is not recalled into itself", async () => {
  const eve = skill.forUser("eve");
  await eve.recordTurn("My cat is called Miso.", "A fine name.", { sessionId: "now" });
  expect(await eve.getContext("what is my cat called?", 500)).toContain("Miso");
  expect(await eve.getContext("what is my cat called?", 500, { sessionId: "now" })).toBe("");
});

test("the same prompt as the server makes", async () => {
  const mia = skill.forUser("mia");
  await mia.ingest("The blue door key hangs in the kitchen");
  await mia.recordTurn("Hello", "Hello. What can I do?", { sessionId: "s" });
  const message = "where does the blue door key hang?";
  const talk = (await mia.history("s")).events;
  const ours = await mia.enrichContext(message, talk, { sessionId: "s", maxTokens: 800 });
  const headers = { "X-API-Key": service.key, "Content-Type": "application/json" };
  const body = JSON.stringify({ session: "s", message, max_tokens: 800, user_id: "mia" });
  const theirs = (await (await fetch(`${service.url}/prompt`, { method: "POST", headers, body })).json()) as object;
  expect({ prompt: ours }).toEqual(theirs);
  expect(ours).toContain("kitchen");
});

test("one memory: read, changed once, forgotten, brought back", async () => {
  const { memory_id: id } = await skill.ingest({
    content: "Staging Postgres listens on port 5433",
    content_type: "fact",
  });
  const memory = await skill.get(id as string);
  expect(memory).toMatchObject({ kind: "fact", content: "Staging Postgres listens on port 5433" });
  const changed = await skill.update(memory.id, { importance: 0.9 }, { version: memory.version });
  expect(changed.importance).toBe(0.9);
  await expect(skill.update(memory.id, { importance: 0.1 }, { version: memory.version })).rejects.toBeInstanceOf(
    Conflict,
  );
  expect((await skill.list({ kind: "fact", limit: 10 })).memories.map((each) => each.id)).toContain(id);
  expect((await skill.confirm(memory.id)).trust).toBe("user");
  const used = await skill.feedback(memory.id, "helpful", { session: "s", note: "it was the port" });
  expect(used.feedback).toMatchObject([{ verdict: "helpful", session: "s", source: "user" }]);
  expect((await skill.feedback(memory.id, "helpful", { session: "s", undo: true })).usefulness).toBe(0);

  await skill.forget(memory.id, { soft: true });
  expect(await skill.search("staging postgres port")).toEqual([]);
  expect((await skill.restore(memory.id)).id).toBe(id);
  expect((await skill.forget(memory.id)).counts).toMatchObject({ memories: 1 });
  await expect(skill.get(memory.id)).rejects.toBeInstanceOf(NotFound);
});

test("patterns: none yet, and one that is not there cannot be decided on", async () => {
  expect(await skill.patterns({ state: "approved", limit: 5 })).toEqual({ patterns: [], next_cursor: null });
  await expect(skill.pattern("abcd1234abcd1234")).rejects.toBeInstanceOf(NotFound);
  await expect(skill.decide("abcd1234abcd1234", "reject", { reason: "no" })).rejects.toBeInstanceOf(NotFound);
});

test("one bad item of many costs only itself", async () => {
  const answer = await skill
    .forUser("tom")
    .ingestBatch(["Tea is kept in the left drawer", { content: " " }, "Cups are upstairs"]);
  expect(answer).toMatchObject({ stored: 2, known: 0, failed: 1 });
  expect(answer.results.map((each) => each.error?.code ?? each.status)).toEqual(["stored", "invalid_input", "stored"]);
});

test("1,001 items go in as two requests", async () => {
  const items = Array.from({ length: 1_001 }, (_, n) => ({
    content: `Shelf ${n} holds part number ${n * 7}`,
    user_id: "many",
  }));
  const answer = await skill.ingestBatch(items, { timeoutMs: 60_000 });
  expect(answer.failed).toBe(0);
  expect(answer.results).toHaveLength(1_001);
});

test("the same write twice is one", async () => {
  const sent = () => skill.forUser("ida").ingest("The red bike has a flat tyre", { idempotencyKey: "ida-1" });
  const [first, second] = [await sent(), await sent()];
  expect(second).toEqual(first);
  expect(first.status).toBe("stored");
  const other = skill.forUser("ida").ingest("Another thing", { idempotencyKey: "ida-1" });
  await expect(other).rejects.toMatchObject({ status: 422, code: "idempotency_mismatch" });
});

test("users are kept apart", async () => {
  const { memory_id: id } = await skill.forUser("ann").ingest("The spare key is under the fern");
  expect(await skill.forUser("zoe").search("where is the spare key?")).toEqual([]);
  await expect(skill.forUser("zoe").get(id as string)).rejects.toBeInstanceOf(NotFound);
  await expect(skill.forUser("zoe").forget(id as string)).rejects.toBeInstanceOf(NotFound);
});

test("a model's tools", async () => {
  const tools = skill.tools({ userId: "lea" });
  const saved = await callTool(tools, "memory_save", { content: "The build takes nine minutes", kind: "fact" });
  expect(saved).toMatch(/^stored: [0-9a-f-]{36}$/);
  expect(await callTool(tools, "memory_search", '{"query": "how long does the build take"}')).toMatch(
    /^\[[0-9a-f-]{36} · fact · said by assistant\]\n> The build takes nine minutes$/,
  );
  expect(await callTool(tools, "memory_context", { query: "how long does the build take" })).toContain("nine minutes");
  expect(await callTool(tools, "memory_forget", { id: saved.slice("stored: ".length) })).toMatch(/^forgotten/);
  expect(await callTool(tools, "memory_search", { query: "how long does the build take" })).toMatch(/^Nothing/);
});

test("health and whoami", async () => {
  const health = await skill.health();
  expect(["ok", "degraded"]).toContain(health.status);
  expect(health.retrieval).toMatchObject({ role: "all", version: expect.stringMatching(/^\d/) });
  expect((await skill.whoami()).permissions).toContain("read");
});

const WRONG = "00000000-0000-7000-8000-000000000000";

test.each<[string, () => Promise<unknown>, new (...args: never) => Error, object]>([
  ["no key", () => new MemorySkill({ url: service.url }).search("q"), InvalidKey, { status: 401 }],
  [
    "a wrong key",
    () => new MemorySkill({ url: service.url, apiKey: "wrong" }).search("q"),
    InvalidKey,
    { code: "invalid_key" },
  ],
  ["no such memory", () => skill.get(WRONG), NotFound, { code: "not_found" }],
  ["an id that is none", () => skill.get("7"), InvalidInput, { status: 422 }],
  ["no such session", () => skill.history("nowhere"), NotFound, { status: 404 }],
  [
    "an unknown field",
    () => skill.ingest({ content: "x", colour: "red" } as never),
    InvalidInput,
    { fields: [{ field: "body.colour" }] },
  ],
  ["too long a text", () => skill.ingest("x".repeat(10_001)), InvalidInput, { fields: [{ field: "body.content" }] }],
  [
    "too large a body",
    () => skill.ingest({ content: "x", metadata: { a: "x".repeat(2 ** 20) } }),
    TooLarge,
    { status: 413 },
  ],
  ["too many wanted", () => skill.search("q", {}, { topK: 101 }), InvalidInput, { fields: [{ field: "body.top_k" }] }],
  ["nothing to change", () => skill.update(WRONG, {}), InvalidInput, { status: 422 }],
  ["an empty question", () => skill.search(" "), InvalidInput, { status: null }],
  ["no tokens", () => skill.getContext("q", 0), InvalidInput, { status: null }],
])("refused: %s", async (_name, ask, kind, facts) => {
  const error = await ask().catch((each: unknown) => each);
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject(facts);
  if ((error as { status: number | null }).status) expect((error as { requestId: string }).requestId).toBeTruthy();
});

test("the two services by themselves", async () => {
  const data = { RECOLLECT_DATA_DIR: `${service.folder}/data` };
  const [ingestion, retrieval] = await Promise.all([
    serve(data, "--role", "ingestion"),
    serve(data, "--role", "retrieval"),
  ]);
  const both = new MemorySkill({ ingestionUrl: ingestion.url, retrievalUrl: retrieval.url, apiKey: service.key });
  await both.forUser("two").ingest("The attic window does not close");
  expect(await both.forUser("two").getContext("which window does not close?", 300)).toContain("attic");
  const health = await both.health();
  expect([health.ingestion, health.retrieval].map((each) => "role" in each && each.role)).toEqual([
    "ingestion",
    "retrieval",
  ]);
  const swapped = new MemorySkill({ ingestionUrl: retrieval.url, retrievalUrl: ingestion.url, apiKey: service.key });
  await expect(swapped.search("q")).rejects.toMatchObject({ status: 404 });
});

describe("the hosted service", () => {
  let url: string;
  let made: (...words: string[]) => string;

  beforeAll(async () => {
    const env = { HOME: service.folder, RECOLLECT_DATA_DIR: `${service.folder}/hosted` };
    url = (await serve({ ...env, RECOLLECT_SERVE_RATE_PER_MINUTE: "20" }, "--hosted")).url;
    made = (...words) => {
      const all = ["keys", "create", "--json", ...words];
      return JSON.parse(execFileSync(service.program, all, { env: { ...process.env, ...env }, encoding: "utf-8" }))
        .text;
    };
  });

  test("a key is for its user, and for others only when it may act", async () => {
    const ann = new MemorySkill({ url, apiKey: made("--user", "ann") });
    await ann.ingest("Ann likes rain");
    expect(await ann.search("who likes rain?")).toHaveLength(1);
    await expect(ann.forUser("bob").search("who likes rain?")).rejects.toBeInstanceOf(NotAllowed);
    await expect(ann.forget(WRONG)).rejects.toBeInstanceOf(NotAllowed);
    const backend = new MemorySkill({ url, apiKey: made("--user", "backend", "--permissions", "read,write,act") });
    expect(await backend.forUser("ann").search("who likes rain?")).toHaveLength(1);
    expect(await backend.search("who likes rain?")).toEqual([]);
  });

  test("too many requests: the error says when to come again", async () => {
    const hasty = new MemorySkill({ url, apiKey: made("--user", "hasty"), maxWaitMs: 0 });
    const answers = await Promise.allSettled(Array.from({ length: 30 }, () => hasty.search("q")));
    const refused = answers.flatMap((each) => (each.status === "rejected" ? [each.reason as RateLimited] : []));
    expect(refused).toHaveLength(10);
    for (const error of refused) expect(error).toBeInstanceOf(RateLimited);
    expect(refused[0]?.retryAfter).toBeGreaterThan(0);
  });
});
