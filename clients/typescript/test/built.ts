/** Builds the package and the example once, before any test runs them. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";

export default function setup(): void {
  const cwd = join(import.meta.dirname, "..");
  execFileSync("npm", ["run", "--silent", "build"], { cwd, stdio: "inherit" });
  execFileSync("npx", ["--no-install", "tsc", "-p", "examples/tsconfig.json"], { cwd, stdio: "inherit" });
}
