/** The example runs as the README says: with its own echo, and with a model behind an address. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { MemorySkill } from "../src/index.js";
import { nobody, scripted } from "./scripted.js";
import { type Service, serve } from "./service.js";

const PACKAGE = join(import.meta.dirname, "..");

let service: Service;

beforeAll(async () => {
  service = await serve();
});

/** Runs the agent on these lines; what it printed. */
async function agent(
  lines: string[],
  env: Record<string, string>,
): Promise<{ out: string; errors: string; code: number }> {
  const { PATH = "" } = process.env;
  const where = { PATH, MEMORY_RETRIEVAL_URL: service.url, MEMORY_API_KEY: service.key };
  const run = spawn("node", ["examples/build/agent.js"], { cwd: PACKAGE, env: { ...where, ...env } });
  let [out, errors] = ["", ""];
  run.stdout.on("data", (some) => (out += some));
  run.stderr.on("data", (some) => (errors += some));
  run.stdin.end(lines.map((line) => `${line}\n`).join(""));
  const code = await new Promise<number>((done) => run.once("exit", (status) => done(status ?? -1)));
  return { out, errors, code };
}

test("what was said in one run is known in the next", async () => {
  const first = await agent(["My cat is called Miso."], { SESSION_ID: "one" });
  expect(first).toEqual({ out: "> My cat is called Miso.\nI see.\n", errors: "", code: 0 });
  const second = await agent(["What is my cat called?"], { SESSION_ID: "two" });
  expect(second.out).toMatch(/^> What is my cat called\?\nYou told me: .*My cat is called Miso\./);
  const stranger = await agent(["What is my cat called?"], { SESSION_ID: "three", USER_ID: "bob" });
  expect(stranger.out).toBe("> What is my cat called?\nI see.\n");
});

test("with a model behind an address", async () => {
  await new MemorySkill({ url: service.url, apiKey: service.key })
    .forUser("mia")
    .ingest("The blue door key hangs in the kitchen");
  const model = await scripted({ body: { choices: [{ message: { content: "In the kitchen." } }] } });
  const env = { USER_ID: "mia", OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "k" };
  const run = await agent(["Where does the blue door key hang?"], env);
  expect(run.out).toBe("> Where does the blue door key hang?\nIn the kitchen.\n");
  expect(model.asked[0]).toMatchObject({ path: "/chat/completions" });
  const [message] = JSON.parse(model.asked[0]?.body ?? "").messages;
  expect(message.content).toMatch(/^=== Relevant Context ===\n[^]*> The blue door key hangs in the kitchen\n/);
  expect(message.content).toMatch(/========================\n\nUser: Where does the blue door key hang\?\n$/);
});

test("without the memory it still answers, and says what it does not keep", async () => {
  const run = await agent(["Hello"], { MEMORY_RETRIEVAL_URL: await nobody() });
  expect(run.out).toBe("> Hello\nI see.\n");
  expect(run.errors).toMatch(/going on without memory[^]*not kept: .* cannot be reached/);
  expect(run.code).toBe(0);
});
