/** What is tried again, how often, how long that takes, and what is never tried again. */

import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { MemorySkill, RecollectError, TimedOut, Unavailable, Unreachable } from "../src/index.js";
import { context, nobody, problem, scripted, type Step } from "./scripted.js";

const quick = { apiKey: "k", backoffMs: 1, retries: 2 };
const GOOD: Step = { body: context("known") };
const CUT: Step = { by: (response) => response.destroy() };
const HALF: Step = {
  by: (response) => {
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "500" });
    response.write('{"context": "half of');
    setTimeout(() => response.destroy(), 10);
  },
};

async function failure(promise: Promise<unknown>): Promise<RecollectError> {
  return promise.then(
    () => expect.fail("it did not fail"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(RecollectError);
      return error as RecollectError;
    },
  );
}

describe("what may pass is tried again", () => {
  test.each<[string, Step]>([
    ["500", { status: 500, body: problem("internal", "it failed") }],
    ["502 of a proxy, as a page", { status: 502, body: "<html>Bad gateway</html>" }],
    ["503", { status: 503, body: problem("store_busy", "busy") }],
    ["503 that says when", { status: 503, headers: { "Retry-After": "0" }, body: problem("store_busy", "busy") }],
    ["504", { status: 504, body: "" }],
    ["429 that says when", { status: 429, headers: { "Retry-After": "0" }, body: problem("rate_limited", "slow") }],
    ["a connection that breaks", CUT],
    ["half an answer", HALF],
  ])("%s", async (_name, bad) => {
    const server = await scripted(bad, bad, GOOD);
    expect(await new MemorySkill({ url: server.url, ...quick }).getContext("q", 10)).toBe("known");
    expect(server.asked).toHaveLength(3);
  });

  test("a time limit", async () => {
    const server = await scripted({ by: () => undefined }, GOOD);
    const skill = new MemorySkill({ url: server.url, ...quick, timeoutMs: 1_500 });
    expect(await skill.getContext("q", 10)).toBe("known");
    expect(server.asked).toHaveLength(2);
  });
});

describe("what cannot pass is asked once", () => {
  test.each<[string, Step]>([
    ["400", { status: 400 }],
    ["401", { status: 401, body: problem("invalid_key", "not a valid key") }],
    ["403", { status: 403 }],
    ["404", { status: 404 }],
    ["409", { status: 409 }],
    ["409 that says when", { status: 409, headers: { "Retry-After": "0" }, body: problem("conflict", "changed") }],
    ["413", { status: 413 }],
    ["415", { status: 415 }],
    ["422", { status: 422 }],
    ["429 that does not say when", { status: 429 }],
    ["429 that says: in an hour", { status: 429, headers: { "Retry-After": "3600" } }],
    ["503 that says: in an hour", { status: 503, headers: { "Retry-After": "3600" } }],
    ["501", { status: 501 }],
    ["a page instead of JSON", { body: "<html>Welcome</html>" }],
    ["JSON that ends too soon", { body: '{"context": "half' }],
    ["a list instead of an object", { body: "[]" }],
    ["a redirect", { status: 307, headers: { Location: "http://127.0.0.1:1/" } }],
  ])("%s", async (_name, bad) => {
    const server = await scripted(bad, GOOD);
    const error = await failure(new MemorySkill({ url: server.url, ...quick }).getContext("q", 10));
    expect(server.asked).toHaveLength(1);
    expect(error.attempts).toBe(1);
  });
});

describe("it ends", () => {
  test.each([0, 1, 4])("after %i more attempts", async (retries) => {
    const server = await scripted({ status: 503, body: problem("store_busy", "busy", "Try again.") });
    const error = await failure(new MemorySkill({ url: server.url, ...quick, retries }).search("q"));
    expect(server.asked).toHaveLength(1 + retries);
    expect(error).toBeInstanceOf(Unavailable);
    expect(error).toMatchObject({ status: 503, code: "store_busy", hint: "Try again.", attempts: 1 + retries });
  });

  test("nobody listens: an error that says what to do", async () => {
    const url = await nobody();
    const error = await failure(new MemorySkill({ url, ...quick }).search("q"));
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.message).toBe(`${url} cannot be reached: ECONNREFUSED`);
    expect(error.hint).toContain("recollect serve");
    expect(error.attempts).toBe(3);
  });

  test("within the limit of each attempt, also when the head came and the rest does not", async () => {
    const head: Step = {
      by: (response) => {
        response.writeHead(200, { "Content-Type": "application/json" });
        response.write("{");
      },
    };
    const server = await scripted(head);
    const began = performance.now();
    const error = await failure(new MemorySkill({ url: server.url, ...quick, retries: 1, timeoutMs: 150 }).search("q"));
    expect(error).toBeInstanceOf(TimedOut);
    expect(error.message).toBe(`no answer from ${server.url} within 150 ms`);
    expect(server.asked).toHaveLength(2);
    expect(performance.now() - began).toBeGreaterThan(290);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("a call may have a limit of its own", async () => {
    const server = await scripted({ by: () => undefined });
    const skill = new MemorySkill({ url: server.url, ...quick, retries: 0 });
    const error = await failure(skill.search("q", {}, { timeoutMs: 50 }));
    expect(error.message).toContain("within 50 ms");
  });
});

test("waits grow, and are never the same for all", async () => {
  const server = await scripted({ status: 500 });
  const spans: number[] = [];
  for (let time = 0; time < 6; time++) {
    const began = performance.now();
    await failure(new MemorySkill({ url: server.url, apiKey: "k", backoffMs: 40, retries: 2 }).search("q"));
    spans.push(performance.now() - began);
  }
  // The first wait is 20 to 40 ms, the second 40 to 80 ms.
  expect(Math.min(...spans)).toBeGreaterThan(55);
  expect(Math.max(...spans) - Math.min(...spans)).toBeGreaterThan(1);
});

test("a server that asks for a second gets it", async () => {
  const slow: Step = { status: 429, headers: { "Retry-After": "1" }, body: problem("rate_limited", "slow") };
  const server = await scripted(slow, GOOD);
  const began = performance.now();
  await new MemorySkill({ url: server.url, ...quick }).getContext("q", 10);
  expect(performance.now() - began).toBeGreaterThan(990);
});

test("Retry-After may be a date", async () => {
  const headers = { "Retry-After": new Date(Date.now() + 3_600_000).toUTCString() };
  const server = await scripted({ status: 503, headers });
  const error = await failure(new MemorySkill({ url: server.url, ...quick }).search("q"));
  expect(error.retryAfter).toBeGreaterThan(3_500);
  expect(server.asked).toHaveLength(1);
});

describe("writes", () => {
  test("bear one Idempotency-Key through all attempts, and another for each call", async () => {
    const server = await scripted({ status: 500 }, CUT, { status: 201, body: { memory_id: "m" } });
    const skill = new MemorySkill({ url: server.url, ...quick });
    await skill.ingest("one");
    await skill.ingest("two");
    const keys = server.asked.map((each) => each.headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(new Set(keys.slice(0, 3)).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(keys[3]).not.toBe(keys[0]);
  });

  test("bear the key the caller gives", async () => {
    const server = await scripted({});
    await new MemorySkill({ url: server.url, ...quick }).forget("m", { idempotencyKey: "mine" });
    expect(server.asked[0]?.headers["idempotency-key"]).toBe("mine");
  });

  test("reads bear none", async () => {
    const server = await scripted(GOOD);
    await new MemorySkill({ url: server.url, ...quick }).getContext("q", 10);
    expect(server.asked[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  test("an attempt that still runs there is waited for when it says so", async () => {
    const running: Step = { status: 409, headers: { "Retry-After": "0" }, body: problem("in_progress", "running") };
    const server = await scripted({ by: () => undefined }, running, { status: 201, body: { memory_id: "m" } });
    const kept = await new MemorySkill({ url: server.url, ...quick, timeoutMs: 1_500 }).ingest("one");
    expect(kept.memory_id).toBe("m");
    expect(server.asked).toHaveLength(3);
  });
});

test("nothing is left running, and nothing listens to the caller's signal any more", async () => {
  const server = await scripted({ status: 500 }, GOOD);
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = timers();
  await new MemorySkill({ url: server.url, ...quick, timeoutMs: 60_000 }).getContext("q", 10, { signal });
  expect(timers()).toBeLessThanOrEqual(before);
  expect(getEventListeners(signal, "abort")).toHaveLength(0);
});

describe("the caller can end it", () => {
  test("while it waits for an answer", async () => {
    const controller = new AbortController();
    const server = await scripted({ by: () => controller.abort(new Error("enough")) });
    const asked = new MemorySkill({ url: server.url, ...quick }).search("q", {}, { signal: controller.signal });
    await expect(asked).rejects.toThrow("enough");
    expect(server.asked).toHaveLength(1);
  });

  test("while it waits to try again", async () => {
    const controller = new AbortController();
    const server = await scripted({
      by: (response) => {
        response.writeHead(500).end("{}");
        setTimeout(() => controller.abort(new Error("enough")), 300);
      },
    });
    const skill = new MemorySkill({ url: server.url, apiKey: "k", backoffMs: 80_000, maxWaitMs: 80_000 });
    const began = performance.now();
    await expect(skill.search("q", {}, { signal: controller.signal })).rejects.toThrow("enough");
    expect(performance.now() - began).toBeLessThan(30_000);
    expect(server.asked).toHaveLength(1);
  });

  test("before it began", async () => {
    const server = await scripted(GOOD);
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(new MemorySkill({ url: server.url, ...quick }).enrichContext("q", [], { signal })).rejects.toThrow(
      "enough",
    );
    expect(server.asked).toHaveLength(0);
  });
});
