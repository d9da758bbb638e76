/** The public surface of the package. */

export {
  BadAnswer,
  Conflict,
  type ErrorFacts,
  type FieldProblem,
  InvalidInput,
  InvalidKey,
  NotAllowed,
  NotFound,
  RateLimited,
  RecollectError,
  TimedOut,
  TooLarge,
  Unavailable,
  Unreachable,
} from "./errors.js";
export { CHANNEL, EVENT_TYPES, type EventDraft, type MemoryEvent, STREAM, validateEvent } from "./events.js";
export type { CallOptions, WriteOptions } from "./http.js";
export type { MemorySkillOptions, Signing } from "./options.js";
export { buildPrompt, type History, type Message } from "./prompt.js";
export type { Published, Redis } from "./publisher.js";
export {
  type ContextOptions,
  type Down,
  type EnrichOptions,
  type Healths,
  MemorySkill,
  type PublishOptions,
  type SearchOptions,
  type TurnOptions,
  type Whose,
} from "./skill.js";
export { callTool, forAnthropic, forOpenAI, type Schema, type Tool } from "./tools.js";
export type * from "./types.js";
