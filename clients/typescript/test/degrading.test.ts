/** A memory that does not answer breaks no chat, unless somebody wants to know. */

import { afterEach, expect, test, vi } from "vitest";
import { MemorySkill, type MemorySkillOptions, type RecollectError, Unreachable } from "../src/index.js";
import { nobody, problem, scripted } from "./scripted.js";

const GONE = { url: await nobody(), retries: 0 };
const TALK = [{ role: "user", content: "Hello" }];
const WITHOUT = "User: Hello\n\nUser: Q\n";

afterEach(() => {
  vi.restoreAllMocks();
});

test.each<[string, MemorySkillOptions, "goes on" | "throws", "goes on" | "throws"]>([
  ["unset", {}, "throws", "goes on"],
  ["true", { degrade: true }, "goes on", "goes on"],
  ["false", { degrade: false }, "throws", "throws"],
])("degrade %s: getContext, enrichContext", async (_name, options, get, enrich) => {
  const skill = new MemorySkill({ ...GONE, ...options, onDegrade: () => undefined });
  if (get === "throws") await expect(skill.getContext("Q", 10)).rejects.toBeInstanceOf(Unreachable);
  else expect(await skill.getContext("Q", 10)).toBe("");
  if (enrich === "throws") await expect(skill.enrichContext("Q", TALK)).rejects.toBeInstanceOf(Unreachable);
  else expect(await skill.enrichContext("Q", TALK)).toBe(WITHOUT);
});

test("a call may say otherwise", async () => {
  const skill = new MemorySkill({ ...GONE, onDegrade: () => undefined });
  expect(await skill.getContext("Q", 10, { degrade: true })).toBe("");
  await expect(skill.enrichContext("Q", [], { degrade: false })).rejects.toBeInstanceOf(Unreachable);
});

test.each([401, 403, 404, 413, 422, 429, 500, 503])("status %i breaks no chat", async (status) => {
  const server = await scripted({ status, body: problem("x", "no") });
  const told: RecollectError[] = [];
  const skill = new MemorySkill({ url: server.url, retries: 0, onDegrade: (error) => told.push(error) });
  expect(await skill.enrichContext("Q", TALK)).toBe(WITHOUT);
  expect(told.map((error) => error.status)).toEqual([status]);
});

test("without onDegrade the first of each code is warned of, also through forUser", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const skill = new MemorySkill(GONE);
  await skill.enrichContext("Q");
  await skill.enrichContext("Q");
  await skill.forUser("ann").enrichContext("Q");
  expect(warn).toHaveBeenCalledTimes(1);
  expect(warn.mock.calls[0]?.[0]).toMatch(/^recollect: going on without memory: .* Is `recollect serve` running/);
});

test("search and writes always say what went wrong", async () => {
  const skill = new MemorySkill({ ...GONE, degrade: true });
  await expect(skill.search("q")).rejects.toBeInstanceOf(Unreachable);
  await expect(skill.recordTurn("a", "b")).rejects.toBeInstanceOf(Unreachable);
});

test("health never throws", async () => {
  const server = await scripted({ status: 503, body: { status: "stuck", version: "1", role: "all" } });
  const skill = new MemorySkill({ ingestionUrl: server.url, retrievalUrl: await nobody(), retries: 0 });
  const health = await skill.health();
  expect(health.status).toBe("unreachable");
  expect(health.ingestion).toMatchObject({ status: "stuck" });
  expect(health.retrieval).toMatchObject({ status: "unreachable", error: { code: "unreachable" } });
});

test("a memory that hangs holds the chat up for patienceMs, not for every attempt", async () => {
  const server = await scripted({ by: () => undefined });
  const skill = new MemorySkill({ url: server.url, patienceMs: 200, onDegrade: () => undefined });
  const began = performance.now();
  expect(await skill.enrichContext("Q", TALK)).toBe(WITHOUT);
  expect(performance.now() - began).toBeLessThan(8_000);
});

test("nor does one that asks for a later time", async () => {
  const server = await scripted({ status: 503, headers: { "Retry-After": "2" }, body: problem("store_busy", "busy") });
  const skill = new MemorySkill({ url: server.url, patienceMs: 1_500, onDegrade: () => undefined });
  expect(await skill.enrichContext("Q", TALK)).toBe(WITHOUT);
  expect(server.asked).toHaveLength(1);
});
