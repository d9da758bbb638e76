/** What is published: no dependency, types for everything, nothing that only Node has, and types that are not stale. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const PACKAGE = join(import.meta.dirname, "..");
const DESCRIPTION = join(PACKAGE, "../../docs/reference/openapi.json");

function read(...path: string[]): string {
  return readFileSync(join(PACKAGE, ...path), "utf-8");
}

test("the types of the wire are those of the server's description", () => {
  expect(existsSync(DESCRIPTION), "docs/reference/openapi.json is missing").toBe(true);
  const folder = mkdtempSync(join(tmpdir(), "recollect-ts-types-"));
  try {
    const words = [
      "--no-install",
      "openapi-typescript",
      DESCRIPTION,
      "--default-non-nullable=false",
      "--output",
      join(folder, "api.ts"),
    ];
    execFileSync("npx", words, { cwd: PACKAGE, stdio: "pipe" });
    expect(read("src/api.ts"), "run `npm run types`").toBe(readFileSync(join(folder, "api.ts"), "utf-8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("nothing is needed at run time", () => {
  const manifest = JSON.parse(read("package.json"));
  expect(Object.keys(manifest)).not.toContain("dependencies");
  expect(Object.keys(manifest)).not.toContain("peerDependencies");
  expect(manifest).toMatchObject({
    name: "recollect-client",
    license: "Apache-2.0",
    type: "module",
    engines: { node: ">=18" },
  });
});

test("no source takes in a module that is not its own", () => {
  for (const file of readdirSync(join(PACKAGE, "src"))) {
    const text = read("src", file);
    const foreign = [...text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)].filter(([, name]) => !name?.startsWith("./"));
    expect(foreign, file).toEqual([]);
    expect(text, file).not.toMatch(/\b(Buffer|process\.|require\()/);
  }
});

test("the lock names no registry", () => {
  expect(read("package-lock.json")).not.toContain('"resolved"');
});

test("what is packed is built code, its types, its source and its papers", () => {
  const words = ["pack", "--dry-run", "--json", "--ignore-scripts"]; // it is built: others are running it
  const told = JSON.parse(
    execFileSync("npm", words, { cwd: PACKAGE, encoding: "utf-8", stdio: ["ignore", "pipe", "ignore"] }),
  );
  const [packed] = Object.values(told) as [{ files: { path: string }[] }];
  const files = packed.files.map((file) => file.path);
  expect(files).toEqual(
    expect.arrayContaining(["LICENSE", "README.md", "dist/index.js", "dist/index.d.ts", "src/index.ts"]),
  );
  expect(files.filter((file) => !/^(LICENSE|README\.md|package\.json|(dist|src)\/.*)$/.test(file))).toEqual([]);
});
