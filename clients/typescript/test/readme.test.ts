/** What the README shows runs, and prints what stands there. */

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import ts from "typescript";
import { expect, test } from "vitest";
import { redisUrl, serve } from "./service.js";

const PACKAGE = join(import.meta.dirname, "..");
const README = readFileSync(join(PACKAGE, "README.md"), "utf-8");

function blocks(language: string): string[] {
  return [...README.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map(([, block = ""]) => block);
}

/** Without what is another each time: ids, names of blocks, days, how long ago. */
function settled(text: string): string {
  return text
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID")
    .replace(/\[recollect:[0-9a-f]{12}\]/g, "[NAME]")
    .replace(/\d{4}-\d\d-\d\d/g, "DAY")
    .replace(/just now|\d+ seconds? ago/g, "WHEN")
    .trim();
}

test("its TypeScript prints what it says, from the first block to the last", async () => {
  const [service, url] = await Promise.all([serve(), redisUrl()]);
  // Channels know no databases, and others use this Redis too: the names are our own.
  const own = `channel: "readme:${process.pid}", stream: "readme:stream:${process.pid}"`;
  const shown = blocks("ts").join("\n").replace("{ redis, userId", `{ redis, ${own}, userId`);
  expect(shown).toContain(own);
  const source = `${shown}\nawait redis.del("readme:stream:${process.pid}");\nawait redis.close();\n`;
  const options = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext };
  const file = join(PACKAGE, "examples", "build", "readme.js");
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, ts.transpileModule(source, { compilerOptions: options }).outputText);
  const env = { ...process.env, MEMORY_RETRIEVAL_URL: service.url, MEMORY_API_KEY: service.key, REDIS_URL: url };
  const { stdout } = await promisify(execFile)("node", [file], { env, cwd: PACKAGE });
  expect(settled(stdout)).toBe(settled(blocks("text").join("\n")));
});

test("its number of lines of the example is right", () => {
  const lines = readFileSync(join(PACKAGE, "examples", "agent.ts"), "utf-8")
    .trimEnd()
    .split("\n").length;
  expect(README).toContain(`a whole agent in ${lines} lines`);
});
