/** A small HTTP server that answers what the test wrote down, one step a request, and keeps what it was asked. */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach } from "vitest";

export interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Step {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Answer by hand instead. */
  by?: (response: ServerResponse) => void;
}

export interface Scripted {
  url: string;
  asked: Asked[];
}

const running: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const stop of running.splice(0)) await stop();
});

/** Starts it; the last step is repeated. It ends with the test. */
export async function scripted(...steps: Step[]): Promise<Scripted> {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf-8").on("data", (some) => (body += some));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      asked.push({ method, path, headers, body });
      const step = steps[Math.min(asked.length, steps.length) - 1] ?? {};
      if (step.by) return step.by(response);
      const told = typeof step.body === "string" ? step.body : JSON.stringify(step.body ?? {});
      response.writeHead(step.status ?? 200, { "Content-Type": "application/json", ...step.headers }).end(told);
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  running.push(async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** An address where nobody listens. */
export async function nobody(): Promise<string> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return `http://127.0.0.1:${port}`;
}

/** An error as the server writes it. */
export function problem(code: string, message: string, hint: string | null = null, more: object = {}): object {
  return { error: { code, message, hint, ...more } };
}

/** An answer of /context. */
export function context(text: string): object {
  return { context: text, token_count: 1, metadata: { ids: [], count: 0, abstained: !text, mode: "lexical" } };
}
