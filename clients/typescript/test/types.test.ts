/** The signatures that agents are written against; `npm run check` reads this file, running it proves little. */

import { expect, expectTypeOf, test } from "vitest";
import { type Memory, MemorySkill } from "../src/index.js";

test("the three methods every agent has", () => {
  const skill = new MemorySkill();
  expectTypeOf(skill.getContext).toBeCallableWith("question", 2_000);
  expectTypeOf(skill.getContext).returns.resolves.toBeString();
  expectTypeOf(skill.search).toBeCallableWith("question");
  expectTypeOf(skill.search).toBeCallableWith("question", { tags: ["ops"], min_importance: 0.5 });
  expectTypeOf(skill.search).returns.resolves.toEqualTypeOf<Memory[]>();
  expectTypeOf(skill.enrichContext).toBeCallableWith("message", [{ role: "user", content: "Hello" }]);
  expectTypeOf(skill.enrichContext).returns.resolves.toBeString();
  expect(skill).toMatchObject({ name: "memory" });
});

test("what the server does not know is not typed", () => {
  const skill = new MemorySkill();
  const never = () => {
    // @ts-expect-error: no such filter
    void skill.search("q", { colour: "red" });
    // @ts-expect-error: no such kind
    void skill.list({ kind: "banana" });
    // @ts-expect-error: no such field
    void skill.ingest({ content: "x", contentType: "fact" });
    // @ts-expect-error: no such event
    void skill.publishMemoryEvent({ event_type: "chat", content: "x", metadata: { source: "s" } });
    void skill.history("s", { last: true, limit: 5 });
  };
  expect(never).toBeTypeOf("function");
});
