/** The prompt's shape, byte for byte. */

import { expect, test } from "vitest";
import { buildPrompt, MemorySkill } from "../src/index.js";
import { context, scripted } from "./scripted.js";

const BLOCK = `=== Relevant Context ===
What follows was recalled from memory. [recollect:0123456789ab]
[decision · said by user · 3 days ago]
> Deploys happen on Fridays, blue-green
========================
`;

const TALK = [
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hello. What can I do?" },
];

const WHOLE = `User: Hello
Assistant: Hello. What can I do?

=== Relevant Context ===
What follows was recalled from memory. [recollect:0123456789ab]
[decision · said by user · 3 days ago]
> Deploys happen on Fridays, blue-green
========================

User: When do we deploy?
`;

test("history, then what was recalled in its frame, then the message", async () => {
  const server = await scripted({ body: context(BLOCK) });
  const prompt = await new MemorySkill({ url: server.url }).enrichContext("When do we deploy?", TALK);
  expect(prompt).toBe(WHOLE);
  expect(server.asked[0]).toMatchObject({ method: "POST", path: "/context" });
  expect(JSON.parse(server.asked[0]?.body ?? "")).toEqual({ query: "When do we deploy?", max_tokens: 2000 });
});

test.each<[string, Parameters<typeof buildPrompt>, string]>([
  ["nothing recalled", [TALK, "", "Q"], "User: Hello\nAssistant: Hello. What can I do?\n\nUser: Q\n"],
  ["no history", [[], BLOCK, "Q"], `${BLOCK}\nUser: Q\n`],
  ["nothing at all", [[], "", "Q"], "User: Q\n"],
  ["a history that is text already", ["Ann: hi\nBot: hi\n", "", "Q"], "Ann: hi\nBot: hi\n\nUser: Q\n"],
  [
    "text without the frame gets it",
    [[], "Fridays\n", "Q"],
    "=== Relevant Context ===\nFridays\n========================\n\nUser: Q\n",
  ],
  [
    "instructions stay, results of tools go",
    [[{ role: "system", content: "Be kind" }, { role: "tool", content: "{}" }, ...TALK.slice(0, 1)], "", "Q"],
    "System: Be kind\nUser: Hello\n\nUser: Q\n",
  ],
  [
    "parts: those that are text",
    [
      [{ role: "user", content: [{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }] }],
      "",
      "Q",
    ],
    "User: a\nb\n\nUser: Q\n",
  ],
  [
    "messages without text leave nothing",
    [
      [
        { role: "assistant", content: null },
        { role: "user", content: "" },
        { role: "__proto__", content: "x" },
      ],
      "",
      "Q",
    ],
    "User: Q\n",
  ],
  ["a message of several lines stays as it is", [[], "", "a\n\nb\n"], "User: a\n\nb\n\n"],
])("%s", (_name, given, expected) => {
  expect(buildPrompt(...given)).toBe(expected);
});

test("an empty message asks nothing", async () => {
  const server = await scripted({ body: context(BLOCK) });
  expect(await new MemorySkill({ url: server.url }).enrichContext(" ", TALK)).toContain("\n\nUser:  \n");
  expect(server.asked).toHaveLength(0);
});

test("a very long message is asked about by its beginning, and stays whole in the prompt", async () => {
  const server = await scripted({ body: context("") });
  const message = "😀".repeat(12_000);
  expect(await new MemorySkill({ url: server.url }).enrichContext(message)).toBe(`User: ${message}\n`);
  expect([...JSON.parse(server.asked[0]?.body ?? "").query]).toHaveLength(10_000);
});

test("a hundred thousand empty lines take no time", () => {
  const began = performance.now();
  buildPrompt(`a${"\n".repeat(100_000)}b`, `a${"\n".repeat(100_000)}b`, "Q");
  expect(performance.now() - began).toBeLessThan(3_000);
});

test("what no store can hold is asked about without it", async () => {
  const server = await scripted({ body: context("") });
  const message = "a\0b\ud800c";
  expect(await new MemorySkill({ url: server.url }).enrichContext(message)).toBe(`User: ${message}\n`);
  expect(JSON.parse(server.asked[0]?.body ?? "").query).toBe("a b\ufffdc");
});
