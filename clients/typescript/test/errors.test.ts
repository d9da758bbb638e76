/** Every refusal is an error of its own kind, with what the server said about it. */

import { expect, test } from "vitest";
import * as client from "../src/index.js";
import { nobody, problem, scripted } from "./scripted.js";

const { MemorySkill } = client;

test.each<[number, keyof typeof client, string]>([
  [400, "RecollectError", "bad_request"],
  [401, "InvalidKey", "invalid_key"],
  [403, "NotAllowed", "not_allowed"],
  [404, "NotFound", "not_found"],
  [405, "RecollectError", "method_not_allowed"],
  [409, "Conflict", "conflict"],
  [413, "TooLarge", "too_large"],
  [415, "RecollectError", "unsupported_media_type"],
  [422, "InvalidInput", "invalid_input"],
  [429, "RateLimited", "quota_exceeded"],
  [500, "Unavailable", "internal"],
  [503, "Unavailable", "store_unavailable"],
])("%i is %s", async (status, name, code) => {
  const headers = { "X-Request-Id": "r-1" };
  const server = await scripted({ status, headers, body: problem(code, "what happened", "what to do") });
  const error = await new MemorySkill({ url: server.url, retries: 0 }).search("q").catch((each: unknown) => each);
  expect(error).toBeInstanceOf(client[name]);
  expect(error).toMatchObject({ name, status, code, message: "what happened", hint: "what to do", requestId: "r-1" });
});

test("422 names the fields", async () => {
  const fields = [{ field: "body.tags.3", problem: "too long" }, { not: "a field" }];
  const server = await scripted({ status: 422, body: problem("invalid_input", "no", null, { fields }) });
  const error = await new MemorySkill({ url: server.url }).ingest("x").catch((each: unknown) => each);
  expect(error).toMatchObject({ fields: [{ field: "body.tags.3", problem: "too long" }], hint: null });
});

test.each(["", "gone", "null", "[1]", '{"detail": "Not Found"}', '{"error": "text"}'])(
  "an error that is not as ours are still has its status: %j",
  async (body) => {
    const server = await scripted({ status: 404, body });
    const error = await new MemorySkill({ url: server.url }).get("x").catch((each: unknown) => each);
    expect(error).toBeInstanceOf(client.NotFound);
    expect(error).toMatchObject({ status: 404, code: "http_404", message: "the server answered with status 404" });
  },
);

test("no error shows the key", async () => {
  const apiKey = "rec_live_a1_verysecret";
  const server = await scripted({ status: 401, body: problem("invalid_key", "not a valid key") });
  const { inspect } = await import("node:util");
  for (const url of [server.url, await nobody()]) {
    const skill = new MemorySkill({ url, apiKey, backoffMs: 1 });
    const error = await skill.search("q").catch((each: unknown) => each);
    const shown = inspect(error, { depth: 9, showHidden: true }) + inspect(skill, { depth: 9 }) + JSON.stringify(skill);
    expect(shown).not.toContain("verysecret");
  }
});

test("a redirect does not get the key", async () => {
  const other = await scripted({});
  const server = await scripted({ status: 308, headers: { Location: `${other.url}/search` } });
  const error = await new MemorySkill({ url: server.url, apiKey: "k" }).search("q").catch((each: unknown) => each);
  expect(error).toBeInstanceOf(client.BadAnswer);
  expect(error).toMatchObject({ code: "redirected", status: 308 });
  expect(other.asked).toHaveLength(0);
});

test.each([{}, { context: null, results: null }, { context: 7, results: {} }])(
  "an answer without what was asked for is not taken for one: %j",
  async (body) => {
    const server = await scripted({ body });
    const skill = new MemorySkill({ url: server.url, onDegrade: () => undefined });
    await expect(skill.search("q")).rejects.toBeInstanceOf(client.BadAnswer);
    await expect(skill.getContext("q", 10)).rejects.toBeInstanceOf(client.BadAnswer);
    expect(await skill.enrichContext("q")).toBe("User: q\n");
  },
);
