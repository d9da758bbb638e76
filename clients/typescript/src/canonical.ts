/** JSON in one form only (RFC 8785), so that what is signed here verifies there. */

import { InvalidInput, isRecord } from "./errors.js";

const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Names in order, no white space; what is undefined is left out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isRecord(value)) {
    const names = Object.keys(value)
      .filter((name) => value[name] !== undefined)
      .sort(); // by UTF-16 code units
    return `{${names.map((name) => `${canonical(name)}:${canonical(value[name])}`).join(",")}}`;
  }
  if (typeof value === "string" && HALF.test(value)) throw refused("half of a character cannot be sent");
  if (typeof value === "number" && !Number.isFinite(value)) throw refused("JSON has no such number");
  const written = JSON.stringify(value) as string | undefined;
  if (written === undefined) throw refused(`JSON has no ${typeof value}`);
  return written;
}

function refused(message: string): InvalidInput {
  return new InvalidInput(message, { code: "invalid_event" });
}
