/** The skill an agent is given: recall before a turn, record after it, and everything around that. */

import { BadAnswer, InvalidInput, RecollectError } from "./errors.js";
import { CHANNEL, type EventDraft, STREAM, sealed } from "./events.js";
import {
  type Answer,
  type CallOptions,
  type Deadline,
  Http,
  type Request,
  segment,
  type WriteOptions,
} from "./http.js";
import { type MemorySkillOptions, number, resolved } from "./options.js";
import { buildPrompt, type History } from "./prompt.js";
import { type Published, send } from "./publisher.js";
import { randomId } from "./random.js";
import { memoryTools, type Tool } from "./tools.js";
import type {
  BatchAnswer,
  ContextAnswer,
  Gist,
  Health,
  HistoryPage,
  IngestAnswer,
  IngestItem,
  ListFilters,
  Memories,
  Memory,
  MemoryChanges,
  MemoryRecord,
  Pattern,
  Patterns,
  PatternsPage,
  PatternTold,
  Receipt,
  SearchAnswer,
  SearchFilters,
  Session,
  SessionHistory,
  Sessions,
  SessionsPage,
  Task,
  TurnAnswer,
  Usage,
  Verdict,
  WhoAmI,
} from "./types.js";

/** Whose memory a call is about. */
export interface Whose {
  /** Another user of the key's tenant; the key must be allowed to act for users. */
  userId?: string;
  /** The project. */
  contextId?: string;
}

export interface ContextOptions extends CallOptions, Whose {
  /** The running conversation, of which nothing is recalled. */
  sessionId?: string;
  /** At most this many things. */
  topK?: number;
  filters?: SearchFilters;
  /** As the option of the skill, for this call. */
  degrade?: boolean;
}

export interface EnrichOptions extends ContextOptions, Deadline {
  /** Tokens of recalled text; else the skill's `maxTokens`. */
  maxTokens?: number;
}

export interface SearchOptions extends CallOptions, Whose {
  topK?: number;
  /** How results are weighed. */
  profile?: "balanced" | "relevance";
  /** Also count what was found by kind, tag, session and month. */
  facets?: boolean;
  /** False: results although nothing is close. */
  abstain?: boolean;
}

export interface TurnOptions extends WriteOptions, Whose {
  sessionId?: string;
  occurredAt?: string | Date;
  metadata?: Record<string, unknown>;
  /** A name of your own for the turn: the same one is kept once, for good. */
  key?: string;
}

export interface PublishOptions {
  userId?: string;
  /** `channel` (publish, and the stream when nobody listens) or `stream`. */
  way?: "channel" | "stream";
  timeoutMs?: number;
}

export interface Healths {
  /** The worse of the two. */
  status: Health["status"] | "unreachable";
  ingestion: Health | Down;
  retrieval: Health | Down;
}

export interface Down {
  status: "unreachable";
  error: RecollectError;
}

const BATCH = 1000; // what the server takes at once
const BATCH_BYTES = 900_000; // it takes 1 MiB; the rest is for what stands around the items
const LONGEST_QUERY = 10_000;
const WORSE = ["ok", "degraded", "stuck", "unreachable"] as const;

/** The memory of one application, or, through `forUser`, of one of its users. */
export class MemorySkill {
  readonly name = "memory";
  readonly description = "Remembers across conversations: recalls what fits a message, and keeps what was said.";

  readonly #options: MemorySkillOptions & { onDegrade: (error: RecollectError) => void };
  readonly #http: Http;
  readonly #timeoutMs: number;
  readonly #patienceMs: number;
  readonly #maxTokens: number;
  readonly #one: boolean; // both services have one address

  constructor(options: MemorySkillOptions = {}) {
    const settings = resolved(options);
    this.#options = { ...options, onDegrade: options.onDegrade ?? warnOnce() };
    this.#http = new Http(settings);
    this.#one = settings.ingestionUrl === settings.retrievalUrl;
    this.#timeoutMs = settings.timeoutMs;
    this.#patienceMs = settings.patienceMs;
    this.#maxTokens = number(options.maxTokens, 2000, 1, "maxTokens");
  }

  /** The same skill for another user, and another project if one is given. */
  forUser(userId: string, contextId?: string): MemorySkill {
    const project = contextId === undefined ? {} : { contextId };
    return new MemorySkill({ ...this.#options, userId, ...project });
  }

  // Recall

  /** What is known about a question, as quoted text of at most so many tokens; "" when nothing is. */
  async getContext(query: string, maxTokens: number = this.#maxTokens, options: ContextOptions = {}): Promise<string> {
    return this.#context(query, maxTokens, options, options.degrade ?? this.#options.degrade ?? false);
  }

  async #context(
    query: string,
    maxTokens: number,
    options: ContextOptions & Deadline,
    degrade: boolean,
  ): Promise<string> {
    const body = {
      query: text(query, "query"),
      max_tokens: number(maxTokens, this.#maxTokens, 1, "maxTokens"),
      ...this.#whose(options),
      ...given({ top_k: options.topK, session_id: options.sessionId, filters: options.filters }),
    };
    try {
      const { context } = await this.#post<ContextAnswer>("retrieval", "/context", body, options);
      if (typeof context !== "string") throw strange("context");
      return context;
    } catch (error) {
      return this.#without("", error, degrade);
    }
  }

  /** What fits a question best, best first; empty when nothing is close. */
  async search(query: string, filters: SearchFilters = {}, options: SearchOptions = {}): Promise<Memory[]> {
    return (await this.recall(query, filters, options)).results;
  }

  /** The same with how it was searched, whether it abstained, a note on what may be missing, and facets. */
  async recall(query: string, filters: SearchFilters = {}, options: SearchOptions = {}): Promise<SearchAnswer> {
    const { topK, profile, facets, abstain } = options;
    const body = {
      query: text(query, "query"),
      ...this.#whose(options),
      ...given({ top_k: topK, profile, facets, abstain, filters: empty(filters) ? undefined : filters }),
    };
    const answer = await this.#post<SearchAnswer>("retrieval", "/search", body, options);
    if (!Array.isArray(answer.results)) throw strange("results");
    return answer;
  }

  /**
   * The prompt for the next turn: the conversation, what is known about the new message, the message. When the memory
   * does not answer, the prompt comes without it (see `degrade`).
   */
  async enrichContext(
    userMessage: string,
    conversationHistory: History = [],
    options: EnrichOptions = {},
  ): Promise<string> {
    const message = text(userMessage, "userMessage", { empty: true });
    let context = "";
    if (message.trim()) {
      const degrade = options.degrade ?? this.#options.degrade ?? true;
      const asked = degrade ? { patienceMs: this.#patienceMs, ...options } : options;
      context = await this.#context(question(message), options.maxTokens ?? this.#maxTokens, asked, degrade);
    }
    return buildPrompt(conversationHistory, context, message);
  }

  // Keep

  /** Keep one thing. A text alone is a note. */
  async ingest(item: string | IngestItem, options: WriteOptions & Whose = {}): Promise<IngestAnswer> {
    return this.#write<IngestAnswer>(
      "POST",
      "/ingest",
      { body: { ...this.#whose(options), ...asItem(item) } },
      options,
    );
  }

  /** Keep many things, in as many requests as it takes; one that is refused costs only itself. */
  async ingestBatch(items: (string | IngestItem)[], options: WriteOptions & Whose = {}): Promise<BatchAnswer> {
    const key = options.idempotencyKey ?? randomId();
    const whole: BatchAnswer = { results: [], stored: 0, known: 0, failed: 0 };
    let part = 0;
    for (const some of parts(items.map((item) => ({ ...this.#whose(options), ...asItem(item) })))) {
      const once = { ...options, idempotencyKey: `${key}-${part++}` };
      const answer = await this.#write<BatchAnswer>("POST", "/ingest/batch", { body: { items: some } }, once);
      whole.results.push(...answer.results);
      whole.stored += answer.stored;
      whole.known += answer.known;
      whole.failed += answer.failed;
    }
    return whole;
  }

  /** Record what was said in one turn; what is worth remembering in it is worked out afterwards. */
  async recordTurn(userMessage: string, assistantMessage: string, options: TurnOptions = {}): Promise<TurnAnswer> {
    const { sessionId, occurredAt, metadata, key } = options;
    const body = {
      user_message: text(userMessage, "userMessage"),
      assistant_message: text(assistantMessage, "assistantMessage"),
      ...this.#whose(options),
      ...given({ session_id: sessionId, occurred_at: time(occurredAt), metadata, key }),
    };
    return this.#write<TurnAnswer>("POST", "/memory/ingest", { body }, options);
  }

  /** Publish an event and forget about it; it is checked first, and signed when the skill has a secret. */
  async publishMemoryEvent(event: EventDraft, options: PublishOptions = {}): Promise<Published> {
    const { redis, channel = CHANNEL, stream = STREAM, signing } = this.#options;
    if (!redis) {
      throw new InvalidInput("there is no Redis to publish to", {
        code: "invalid_option",
        hint: "Give the skill a connected client: new MemorySkill({ redis }).",
      });
    }
    const user = options.userId ?? this.#options.userId;
    const { id, message } = await sealed(event, { userId: user, contextId: this.#options.contextId }, signing);
    const timeoutMs = number(options.timeoutMs, this.#timeoutMs, 1, "timeoutMs");
    return send(redis, { channel, stream, way: options.way ?? "channel", timeoutMs }, id, message);
  }

  // One memory

  /** One memory, with the version that `update` can be given. */
  async get(id: string, options: CallOptions & Whose = {}): Promise<MemoryRecord> {
    return this.#get<MemoryRecord>(`/memories/${segment(id)}`, options);
  }

  /** Memories by time, newest first; `next_cursor` leads on. */
  async list(filters: ListFilters = {}, options: CallOptions & Whose = {}): Promise<Memories> {
    return this.#get<Memories>("/memories", options, filters);
  }

  /** Change a memory; with the version it was read in, only if nobody else did meanwhile. */
  async update(
    id: string,
    changes: MemoryChanges,
    options: WriteOptions & Whose & { version?: string | number } = {},
  ): Promise<MemoryRecord> {
    const headers = options.version === undefined ? {} : { "If-Match": `"${options.version}"` };
    return this.#write<MemoryRecord>(
      "PATCH",
      `/memories/${segment(id)}`,
      { body: changes, query: this.#whose(options), headers },
      options,
    );
  }

  /** Forget a memory: for good, or softly so that `restore` brings it back. */
  async forget(id: string, options: WriteOptions & Whose & { soft?: boolean } = {}): Promise<Receipt> {
    const query = { ...this.#whose(options), ...given({ soft: options.soft }) };
    return this.#write<Receipt>("DELETE", `/memories/${segment(id)}`, { query }, options);
  }

  /** Bring back what was softly forgotten or archived. */
  async restore(id: string, options: WriteOptions & Whose = {}): Promise<MemoryRecord> {
    return this.#write<MemoryRecord>(
      "POST",
      `/memories/${segment(id)}/restore`,
      { query: this.#whose(options) },
      options,
    );
  }

  /** The user says that a memory is so. */
  async confirm(id: string, options: WriteOptions & Whose & { kind?: string } = {}): Promise<MemoryRecord> {
    const told = { body: given({ kind: options.kind }), query: this.#whose(options) };
    return this.#write<MemoryRecord>("POST", `/memories/${segment(id)}/confirm`, told, options);
  }

  /** Say that a memory was helpful, harmful or cited; `undo` takes that back. */
  async feedback(
    id: string,
    verdict: Verdict,
    options: WriteOptions & Whose & { session?: string; note?: string; undo?: boolean } = {},
  ): Promise<Usage> {
    const said = given({ session: options.session, note: options.note, undo: options.undo });
    const told = { body: { verdict, ...said }, query: this.#whose(options) };
    return this.#write<Usage>("POST", `/memories/${segment(id)}/feedback`, told, options);
  }

  // Sessions

  /** Sessions, newest first; `next_cursor` leads on. */
  async sessions(page: SessionsPage = {}, options: CallOptions & Whose = {}): Promise<Sessions> {
    return this.#get<Sessions>("/sessions", options, page);
  }

  async session(id: string, options: CallOptions & Whose = {}): Promise<Session> {
    return this.#get<Session>(`/sessions/${segment(id)}`, options);
  }

  /** What was said in a session, in order. */
  async history(id: string, page: HistoryPage = {}, options: CallOptions & Whose = {}): Promise<SessionHistory> {
    return this.#get<SessionHistory>(`/sessions/${segment(id)}/history`, options, page);
  }

  /** What a session was about, as far as it is known. */
  async gist(id: string, options: CallOptions & Whose = {}): Promise<Gist> {
    return this.#get<Gist>(`/sessions/${segment(id)}/gist`, options);
  }

  /** Work out now what a session was about. */
  async summarize(id: string, options: WriteOptions & Whose = {}): Promise<Gist> {
    return this.#write<Gist>("POST", `/sessions/${segment(id)}/summarize`, { query: this.#whose(options) }, options);
  }

  /** Forget a session with all that was said in it. */
  async forgetSession(id: string, options: WriteOptions & Whose = {}): Promise<Receipt> {
    return this.#write<Receipt>("DELETE", `/sessions/${segment(id)}`, { query: this.#whose(options) }, options);
  }

  // What was learned

  /** What repeats across sessions, the worthiest first; `next_cursor` leads on. */
  async patterns(page: PatternsPage = {}, options: CallOptions & Whose = {}): Promise<Patterns> {
    return this.#get<Patterns>("/patterns", options, page);
  }

  /** One pattern, with what was done to it. */
  async pattern(id: string, options: CallOptions & Whose = {}): Promise<PatternTold> {
    return this.#get<PatternTold>(`/patterns/${segment(id)}`, options);
  }

  /** The user approves or rejects a pattern, or words it otherwise; needs a key with `speak`. */
  async decide(
    id: string,
    decision: "approve" | "reject" | "edit",
    options: WriteOptions & Whose & { reason?: string; rule?: string; statement?: string } = {},
  ): Promise<Pattern> {
    const body = given({ reason: options.reason, rule: options.rule, statement: options.statement });
    const told = { body, query: this.#whose(options) };
    return this.#write<Pattern>("POST", `/patterns/${segment(id)}/${decision}`, told, options);
  }

  // The services

  /** How both services are. It never throws: one that does not answer is `unreachable`. */
  async health(options: CallOptions = {}): Promise<Healths> {
    const asked = this.#health("ingestion", options);
    const [ingestion, retrieval] = await Promise.all([asked, this.#one ? asked : this.#health("retrieval", options)]);
    const status = WORSE[Math.max(WORSE.indexOf(ingestion.status), WORSE.indexOf(retrieval.status))] ?? "unreachable";
    return { status, ingestion, retrieval };
  }

  /** Whom the key opens, and for what. */
  async whoami(options: CallOptions = {}): Promise<WhoAmI> {
    return (await this.#http.ask<WhoAmI>({ method: "GET", service: "retrieval", path: "/whoami" }, options)).body;
  }

  /** How far the work on a recorded turn is. */
  async task(id: string, options: CallOptions & Whose = {}): Promise<Task> {
    return this.#get<Task>(`/tasks/${segment(id)}`, options, {}, "ingestion");
  }

  /** What a model may call: names, JSON schemas and handlers, for any agent's tool system. */
  tools(options: Whose & { sessionId?: string } = {}): Tool[] {
    return memoryTools(this, options);
  }

  // How it is asked

  async #post<T>(service: Request["service"], path: string, body: unknown, options: CallOptions): Promise<T> {
    return (await this.#http.ask<T>({ method: "POST", service, path, body }, options)).body;
  }

  async #get<T>(
    path: string,
    options: CallOptions & Whose,
    query: Request["query"] = {},
    service: Request["service"] = "retrieval",
  ): Promise<T> {
    const asked = { method: "GET" as const, service, path, query: { ...this.#whose(options), ...query } };
    return (await this.#http.ask<T>(asked, options)).body;
  }

  async #write<T>(
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    told: Pick<Request, "body" | "query" | "headers">,
    options: WriteOptions,
  ): Promise<T> {
    return (await this.#http.ask<T>({ method, service: "ingestion", path, writes: true, ...told }, options)).body;
  }

  async #health(service: Request["service"], options: CallOptions): Promise<Health | Down> {
    try {
      const asked: Request = { method: "GET", service, path: "/health", accepts: [503] };
      const answer: Answer<Health> = await this.#http.ask<Health>(asked, options);
      return answer.body;
    } catch (error) {
      if (error instanceof RecollectError) return { status: "unreachable", error };
      throw error;
    }
  }

  #whose(options: Whose): { user_id?: string; context_id?: string } {
    const userId = options.userId ?? this.#options.userId;
    const contextId = options.contextId ?? this.#options.contextId;
    return given({ user_id: userId, context_id: contextId });
  }

  /** What stands in for recalled text that could not be had; the error where that is not wanted. */
  #without<T>(instead: T, error: unknown, degrade: boolean): T {
    if (!degrade || !(error instanceof RecollectError)) throw error;
    this.#options.onDegrade(error);
    return instead;
  }
}

/** Tells of the first error of each code that was not thrown. */
function warnOnce(): (error: RecollectError) => void {
  const told = new Set<string>();
  return ({ code, message, hint }) => {
    if (!told.has(code)) console.warn(`recollect: going on without memory: ${message}${hint ? ` ${hint}` : ""}`);
    told.add(code);
  };
}

function strange(missing: string): BadAnswer {
  return new BadAnswer(`the answer has no ${missing}`, {
    code: "bad_answer",
    hint: "Is this the address of Recollect's retrieval service?",
  });
}

/** A message as a question: not longer than the server takes, without characters that it cannot. */
function question(message: string): string {
  return [...message.slice(0, 2 * LONGEST_QUERY)]
    .slice(0, LONGEST_QUERY)
    .map((character) => (/^[\ud800-\udfff]$/.test(character) ? "\ufffd" : character === "\0" ? " " : character))
    .join("");
}

function asItem(item: string | IngestItem): IngestItem {
  return typeof item === "string" ? { content: text(item, "content") } : item;
}

/** Items in groups that the server takes at once, by number and by size. */
function* parts(items: IngestItem[]): Generator<IngestItem[]> {
  const encoder = new TextEncoder();
  let [some, size]: [IngestItem[], number] = [[], 0];
  for (const item of items) {
    const bytes = encoder.encode(JSON.stringify(item)).length + 1;
    if (some.length > 0 && (some.length === BATCH || size + bytes > BATCH_BYTES)) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(item);
    size += bytes;
  }
  if (some.length > 0) yield some;
}

function text(value: string, what: string, allowed: { empty?: boolean } = {}): string {
  if (typeof value === "string" && (allowed.empty || value.trim() !== "")) return value;
  throw new InvalidInput(`${what} must be a text${allowed.empty ? "" : " that is not empty"}`, {
    code: "invalid_input",
  });
}

function time(value: string | Date | undefined): string | undefined {
  return value instanceof Date ? value.toISOString() : value;
}

/** Without what is undefined. */
function given<T extends Record<string, unknown>>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as never;
}

function empty(value: object): boolean {
  return Object.keys(value).length === 0;
}
