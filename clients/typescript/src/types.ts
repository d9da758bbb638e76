/** What goes over the wire, under the names it has there. `api.ts` is made from the server's own description. */

import type { components, paths } from "./api.js";

type Schemas = components["schemas"];
type Asked<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? Omit<NonNullable<Query>, "user_id" | "context_id">
  : never;

/** One thing recalled: a memory, the gist of a session, or a turn of one. */
export type Memory = Schemas["SearchResult"];
export type SearchFilters = Schemas["Filters"];
export type SearchAnswer = Schemas["SearchAnswer"];
export type ContextAnswer = Schemas["ContextAnswer"];

/** One thing to keep. */
export type IngestItem = Schemas["Ingest"];
export type IngestAnswer = Schemas["Ingested"];
export type BatchAnswer = Schemas["IngestedBatch"];
export type TurnAnswer = Schemas["TurnTaken"];

/** One memory with all that is known about it. */
export type MemoryRecord = Schemas["MemoryRecord"];
export type MemoryChanges = Schemas["MemoryChange"];
export type Memories = Schemas["MemoryPage"];
export type ListFilters = Asked<"/memories">;
/** What was taken away, and whether nothing of it is left. */
export type Receipt = Schemas["ReceiptRecord"];
/** How useful a memory proved, and what was said of it. */
export type Usage = Schemas["UsageRecord"];
export type Verdict = Schemas["FeedbackGiven"]["verdict"];

export type Sessions = Schemas["SessionPage"];
export type SessionsPage = Asked<"/sessions">;
export type HistoryPage = Asked<"/sessions/{session_id}/history">;
export type Session = Schemas["SessionDetail"];
export type SessionHistory = Schemas["SessionHistory"];
export type Gist = Schemas["SessionGist"];
export type Task = Schemas["TaskRecord"];
/** Something that repeats across sessions, as it was found and as a person worded it. */
export type Pattern = Schemas["PatternRecord"];
export type PatternTold = Schemas["PatternTold"];
export type Patterns = Schemas["PatternPage"];
export type PatternsPage = Asked<"/patterns">;

/** Whom a key opens, and for what. */
export interface WhoAmI {
  tenant: string;
  user: string;
  context_id: string | null;
  permissions: string[];
  key: string | null;
  [more: string]: unknown;
}

/** How a service is; with a key it says more. */
export interface Health {
  /** By what waits and for how long, not by whether the process runs. */
  status: "ok" | "degraded" | "stuck";
  version: string;
  role: string;
  queue: { waiting: number; running: number; dead: number; oldest_seconds: number } | null;
  [more: string]: unknown;
}
