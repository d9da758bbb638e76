/** Events for the channel: checked before they leave, signed when there is a secret. */

import { canonical } from "./canonical.js";
import { type FieldProblem, InvalidInput, isRecord } from "./errors.js";
import type { Signing } from "./options.js";
import { hmac, randomId } from "./random.js";

export const CHANNEL = "memory.ingest";
export const STREAM = "recollect:ingest";
export const EVENT_TYPES = [
  "conversation.message",
  "memory.fact",
  "memory.preference",
  "memory.decision",
  "memory.lesson",
  "memory.event",
  "memory.reference",
  "memory.topic",
  "memory.skill_idea",
  "memory.note",
] as const;
export const ROLES = ["user", "assistant", "tool", "system"] as const;

/** What is published: one message of a conversation, or one thing to remember. */
export interface MemoryEvent {
  event_type: (typeof EVENT_TYPES)[number];
  /** Of a thing to remember at most 10,000 characters. */
  content: string;
  user_id: string;
  /** Names of your own are kept with a memory. */
  metadata: {
    /** Which program says so. */
    source: string;
    /** When it was said, RFC 3339. */
    timestamp: string;
    session_id?: string;
    /** Who said it; the user when it is not given. */
    role?: (typeof ROLES)[number];
    /** The project. */
    context_id?: string;
    tags?: string[];
    importance?: number;
    why?: string;
    [more: string]: unknown;
  };
  /** Makes the event happen once however often it is delivered. */
  id?: string;
}

/** An event of which the skill knows the rest: its user, its project, the time, an id. */
export interface EventDraft extends Omit<MemoryEvent, "user_id" | "metadata"> {
  user_id?: string;
  metadata: { source: string; timestamp?: string | Date; [more: string]: unknown };
}

const FIELDS = ["event_type", "content", "user_id", "metadata", "id"];
const MAX = { content: 10_000, name: 255, tags: 20, tag: 50, why: 1_000, bytes: 2 ** 20, metadata: 51_200, levels: 5 };
const AHEAD_MS = 86_400_000; // how far a clock may be ahead
const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})T(?!24)\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;
const NAME = `must be 1 to ${MAX.name} characters without control characters`;

/** The event, if it can be published; else an `InvalidInput` that names every field in the way. */
export function validateEvent(event: unknown): MemoryEvent {
  const problems = isRecord(event) ? problemsOf(event) : [{ field: "event", problem: "must be an object" }];
  const [first] = problems;
  if (first) {
    throw new InvalidInput(`the event cannot be published: ${first.field} ${first.problem}`, {
      code: "invalid_event",
      hint: "MemoryEvent says what an event has.",
      fields: problems,
    });
  }
  return event as MemoryEvent;
}

function problemsOf(event: Record<string, unknown>): FieldProblem[] {
  const { event_type: type, content, user_id: user, id, metadata } = event;
  const found: FieldProblem[] = [];
  const need = (right: boolean, field: string, problem: string) => right || found.push({ field, problem });

  for (const name of Object.keys(event)) need(FIELDS.includes(name), name, "is not a field of an event");
  need(isOneOf(EVENT_TYPES, type), "event_type", `must be one of ${EVENT_TYPES.join(", ")}`);
  need(isText(content), "content", "must be text that is not empty");
  if (isText(content) && type !== "conversation.message") {
    need(length(content) <= MAX.content, "content", `must have at most ${MAX.content} characters`);
  }
  need(isName(user), "user_id", NAME);
  need(id == null || isName(id), "id", NAME);
  if (isRecord(metadata)) found.push(...problemsOfMetadata(metadata));
  else need(false, "metadata", "must be an object with source and timestamp");
  if (found.length === 0) need(bytes(event) <= MAX.bytes, "event", `must have at most ${MAX.bytes} bytes`);
  return found;
}

function problemsOfMetadata(metadata: Record<string, unknown>): FieldProblem[] {
  const { source, timestamp, session_id: session, context_id: context, role, tags, importance, why } = metadata;
  const found: FieldProblem[] = [];
  const need = (right: boolean, field: string, problem: string) => {
    if (!right) found.push({ field: `metadata.${field}`, problem });
  };
  const at = moment(timestamp);
  need(isName(source), "source", NAME);
  need(!Number.isNaN(at), "timestamp", "must be a time such as 2026-11-16T09:30:00Z");
  need(!(at > Date.now() + AHEAD_MS), "timestamp", "must not be in the future");
  need(session == null || isName(session), "session_id", NAME);
  need(context == null || isName(context), "context_id", NAME);
  need(role === undefined || isOneOf(ROLES, role), "role", `must be one of ${ROLES.join(", ")}`);
  need(tags == null || areTags(tags), "tags", `must be at most ${MAX.tags} texts of 1 to ${MAX.tag} characters`);
  need(importance == null || isUnit(importance), "importance", "must be a number from 0 to 1");
  need(why == null || (isText(why) && length(why) <= MAX.why), "why", `must be text of at most ${MAX.why} characters`);
  if (levels(metadata, MAX.levels + 1) > MAX.levels) {
    found.push({ field: "metadata", problem: `must have at most ${MAX.levels} levels` });
  } else if (bytes(metadata) > MAX.metadata) {
    found.push({ field: "metadata", problem: `must have at most ${MAX.metadata} bytes` });
  }
  return found;
}

/** The event as it goes over the wire, with what the skill knows filled in, and its id. */
export async function sealed(
  draft: EventDraft,
  known: { userId?: string | undefined; contextId?: string | undefined },
  signing: Signing | undefined,
): Promise<{ id: string; message: string }> {
  const event = validateEvent(isRecord(draft) && isRecord(draft.metadata) ? filled(draft, known) : draft);
  const message = canonical(signing ? await signed(event, signing) : event);
  return { id: event.id as string, message };
}

function filled(draft: EventDraft, known: { userId?: string | undefined; contextId?: string | undefined }): unknown {
  const { timestamp = new Date(), ...metadata } = draft.metadata;
  const at = timestamp instanceof Date && !Number.isNaN(timestamp.getTime()) ? timestamp.toISOString() : timestamp;
  const project = known.contextId === undefined ? {} : { context_id: known.contextId };
  const user = known.userId === undefined ? {} : { user_id: known.userId };
  return { ...user, ...draft, id: draft.id ?? randomId(), metadata: { ...project, ...metadata, timestamp: at } };
}

/** The event with what proves who sent it and when: HMAC-SHA-256 over all the rest. */
async function signed(event: MemoryEvent, { tenant, key, secret }: Signing): Promise<object> {
  const whole = { ...event, tenant, key, sent_at: new Date().toISOString(), nonce: randomId() };
  return { ...whole, signature: await hmac(secret, canonical(whole)) };
}

function isOneOf(allowed: readonly string[], value: unknown): boolean {
  return typeof value === "string" && allowed.includes(value);
}

/** Text with something in it; Python counts some more characters as white space than JavaScript does. */
function isText(value: unknown): value is string {
  return typeof value === "string" && /[^\s\x1c-\x1f\x85]/.test(value);
}

/** Milliseconds of a time that says its zone; NaN for anything else, also for a day that the calendar has not. */
function moment(value: unknown): number {
  const found = typeof value === "string" ? RFC_3339.exec(value) : null;
  if (!found) return Number.NaN;
  const [, year, month, day] = found.map(Number) as [number, number, number, number];
  const real = new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
  return real ? Date.parse(found[0]) : Number.NaN;
}

function isName(value: unknown): boolean {
  return isText(value) && length(value) <= MAX.name && !/[\x00-\x1f\x7f-\x9f]/.test(value);
}

function areTags(value: unknown): boolean {
  const fits = (tag: unknown) => isName(tag) && length(tag as string) <= MAX.tag;
  return Array.isArray(value) && value.length <= MAX.tags && value.every(fits);
}

function isUnit(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= 1;
}

/** Characters as the server counts them: code points. */
function length(text: string): number {
  let characters = 0;
  for (const _ of text) characters++;
  return characters;
}

function bytes(value: unknown): number {
  return new TextEncoder().encode(canonical(value)).length;
}

/** How deep a value goes; it is not looked at deeper than `most`. */
function levels(value: unknown, most: number): number {
  if (typeof value !== "object" || value === null || most === 0) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, levels(inner, most - 1));
  return 1 + deepest;
}
