-- The first schema. Tenant and owner come first in every key, foreign key and unique constraint: rows of one tenant lie
-- together, the tables can be partitioned or distributed by it ({partitioned} is empty, or says so), and no constraint
-- tells anything about another owner's rows. `owner` stands for (tenant, username), as in the embedded store. Row numbers
-- come from one sequence and are never used again. Times are timestamptz; JSON that is never looked into, or may hold
-- what jsonb refuses, is json or text.

CREATE SEQUENCE numbers;

CREATE TABLE meta (                   -- about the whole store; nothing of anybody's
  key   text PRIMARY KEY,
  value text NOT NULL
);

CREATE TABLE models (
  row  bigint PRIMARY KEY DEFAULT nextval('numbers'),
  name text NOT NULL,
  dim  integer NOT NULL CHECK (dim BETWEEN 1 AND 4000),
  UNIQUE (name, dim)
);

CREATE TABLE owners (
  tenant   text NOT NULL COLLATE "C",
  row      bigint NOT NULL DEFAULT nextval('numbers'),
  username text NOT NULL COLLATE "C",
  PRIMARY KEY (tenant, row),
  UNIQUE (tenant, username)
) {partitioned};

CREATE TABLE projects (
  tenant text NOT NULL COLLATE "C",
  row    bigint NOT NULL DEFAULT nextval('numbers'),
  owner  bigint NOT NULL,
  name   text NOT NULL COLLATE "C",
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, name),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE sessions (
  tenant        text NOT NULL COLLATE "C",
  row           bigint NOT NULL DEFAULT nextval('numbers'),
  owner         bigint NOT NULL,
  id            text NOT NULL COLLATE "C",
  flavor        text NOT NULL,
  project       bigint,
  title         text,
  started_at    timestamptz NOT NULL,
  ended_at      timestamptz NOT NULL,
  meta          json NOT NULL DEFAULT '{}',
  gist_leased   timestamptz,           -- until when somebody is making this session's gist
  parent        text COLLATE "C",
  relation      text NOT NULL DEFAULT 'root',
  cwd           text,
  branch        text,
  commit_id     text,
  models        json NOT NULL DEFAULT '[]',
  agent_version text,
  interactive   smallint,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row),
  FOREIGN KEY (tenant, owner, project) REFERENCES projects (tenant, owner, row)
) {partitioned};
CREATE INDEX sessions_by_time ON sessions (tenant, owner, ended_at);

CREATE TABLE turns (
  tenant      text NOT NULL COLLATE "C",
  row         bigint NOT NULL DEFAULT nextval('numbers'),
  owner       bigint NOT NULL,
  session     bigint NOT NULL,
  project     bigint,
  key         bytea NOT NULL,          -- of its first event
  ordinal     integer NOT NULL,        -- first turn of the session 0, then 1, 2 …
  chars       bigint NOT NULL DEFAULT 0,  -- how long its text is
  occurred_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, session, ordinal),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};
CREATE INDEX turns_by_key ON turns (tenant, owner, key);

CREATE TABLE events (
  tenant      text NOT NULL COLLATE "C",
  row         bigint NOT NULL DEFAULT nextval('numbers'),
  owner       bigint NOT NULL,
  key         bytea NOT NULL,
  session     bigint NOT NULL,
  turn        bigint NOT NULL,
  position    integer NOT NULL,
  kind        text NOT NULL,
  role        text NOT NULL,
  origin      text NOT NULL,
  text        text NOT NULL,
  text_hash   bytea NOT NULL,          -- of the exact text, checked when it is read
  occurred_at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL,
  meta        json NOT NULL DEFAULT '{}',
  way         text NOT NULL DEFAULT 'record',
  transcript  bigint,                  -- which file it was read from, and where in it
  raw_at      bigint,
  raw_size    bigint,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, key),
  UNIQUE (tenant, owner, session, position),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE,
  FOREIGN KEY (tenant, owner, turn) REFERENCES turns (tenant, owner, row) ON DELETE CASCADE
) {partitioned};
CREATE INDEX events_by_turn ON events (tenant, owner, turn);

CREATE TABLE gists (
  tenant      text NOT NULL COLLATE "C",
  row         bigint NOT NULL DEFAULT nextval('numbers'),
  owner       bigint NOT NULL,
  session     bigint NOT NULL,
  project     bigint,
  content     text NOT NULL,
  covers      integer NOT NULL,        -- position of the last event it covers
  maker       text NOT NULL,
  occurred_at timestamptz NOT NULL,
  created_at  timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, session),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};
CREATE INDEX gists_by_owner ON gists (tenant, owner, occurred_at);

CREATE TABLE memories (
  tenant        text NOT NULL COLLATE "C",
  row           bigint NOT NULL DEFAULT nextval('numbers'),
  owner         bigint NOT NULL,
  id            text NOT NULL COLLATE "C",
  project       bigint,
  kind          text NOT NULL CHECK (kind IN ('fact', 'preference', 'decision', 'lesson', 'event', 'reference', 'topic',
                                              'skill_idea', 'note')),
  content       text NOT NULL,
  why           text,
  tags          jsonb NOT NULL DEFAULT '[]',
  importance    double precision NOT NULL DEFAULT 0.5 CHECK (importance BETWEEN 0 AND 1),
  confidence    double precision NOT NULL DEFAULT 1.0 CHECK (confidence BETWEEN 0 AND 1),
  origin        text NOT NULL CHECK (origin IN ('user', 'assistant', 'tool', 'web', 'import')),
  session       text COLLATE "C",
  evidence      text NOT NULL DEFAULT '[]',  -- JSON, to the letter: its hash outlives it
  anchors       json NOT NULL DEFAULT '[]',
  meta          json NOT NULL DEFAULT '{}',
  dedup_key     bytea NOT NULL,        -- of the folded text: the same thing said again
  content_hash  bytea NOT NULL,        -- of the exact text, checked when it is read
  occurred_at   timestamptz NOT NULL,
  recorded_at   timestamptz NOT NULL,
  accessed_at   timestamptz,
  access_count  bigint NOT NULL DEFAULT 0,
  version       integer NOT NULL DEFAULT 1,
  superseded_by text COLLATE "C",
  superseded_at timestamptz,
  expires_at    timestamptz,
  archived_at   timestamptz,
  deleted_at    timestamptz,
  trust         text NOT NULL DEFAULT 'quoted' CHECK (trust IN ('user', 'checked', 'quoted')),
  maker         text NOT NULL DEFAULT 'said',
  slot          text COLLATE "C",      -- what it tells the value of: a newer value takes its place
  confirmed_at  timestamptz,           -- when the user said that it is so
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row),
  FOREIGN KEY (tenant, owner, project) REFERENCES projects (tenant, owner, row)
) {partitioned};
CREATE UNIQUE INDEX memories_once ON memories (tenant, owner, coalesce(project, 0), dedup_key)
  WHERE deleted_at IS NULL AND superseded_at IS NULL;
CREATE INDEX memories_by_time ON memories (tenant, owner, occurred_at DESC, id);
CREATE INDEX memories_by_slot ON memories (tenant, owner, slot) WHERE slot IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_by_text ON memories (tenant, owner, dedup_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_successor ON memories (tenant, owner, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_deleted ON memories (tenant, owner) WHERE deleted_at IS NOT NULL;
CREATE INDEX memories_by_session ON memories (tenant, owner, session) WHERE session IS NOT NULL;

CREATE TABLE memory_versions (
  tenant     text NOT NULL COLLATE "C",
  owner      bigint NOT NULL,
  memory     bigint NOT NULL,
  version    integer NOT NULL,
  kind       text NOT NULL,
  content    text NOT NULL,
  why        text,
  tags       jsonb NOT NULL,
  importance double precision NOT NULL,
  confidence double precision NOT NULL,
  until      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, memory, version),
  FOREIGN KEY (tenant, owner, memory) REFERENCES memories (tenant, owner, row) ON DELETE CASCADE
) {partitioned};

-- Capturing agents' own sessions.

CREATE TABLE transcripts (            -- what was read of agents' files; never their content
  tenant      text NOT NULL COLLATE "C",
  row         bigint NOT NULL DEFAULT nextval('numbers'),
  owner       bigint NOT NULL,
  name        text NOT NULL COLLATE "C",  -- the path, and for a database the session in it
  flavor      text NOT NULL COLLATE "C",
  session     text COLLATE "C",
  state       text NOT NULL,          -- read, withheld, empty or failed
  error       text,
  fingerprint text NOT NULL DEFAULT '',
  complete_to bigint NOT NULL DEFAULT 0,
  turns       bytea NOT NULL DEFAULT '',  -- the keys of its human prompts, one after the other
  withheld    bytea NOT NULL DEFAULT '',  -- those of them that were not to be kept
  counts      json NOT NULL DEFAULT '{}',
  way         text NOT NULL,
  read_at     timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, name),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE costs (
  tenant         text NOT NULL COLLATE "C",
  row            bigint NOT NULL DEFAULT nextval('numbers'),
  owner          bigint NOT NULL,
  key            bytea NOT NULL,
  session        bigint NOT NULL,
  at             timestamptz NOT NULL,
  model          text,
  input          bigint NOT NULL,
  cache_read     bigint NOT NULL,
  cache_write_5m bigint NOT NULL,
  cache_write_1h bigint NOT NULL,
  output         bigint NOT NULL,
  reasoning      bigint NOT NULL,
  usd            double precision,
  usd_source     text NOT NULL,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, key),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};
CREATE INDEX costs_by_session ON costs (tenant, owner, session);

CREATE TABLE digests (                -- derived: made again from the rows when the rules change
  tenant  text NOT NULL COLLATE "C",
  session bigint NOT NULL,
  owner   bigint NOT NULL,
  version integer NOT NULL,
  covers  integer NOT NULL,           -- position of the last event it was made from
  outcome text NOT NULL,
  content json NOT NULL,
  made_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, session),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};

CREATE TABLE bodies (                 -- evicted ones keep their row without its data
  tenant     text NOT NULL COLLATE "C",
  owner      bigint NOT NULL,
  hash       bytea NOT NULL,
  media      text NOT NULL,
  bytes      bigint NOT NULL,
  stored     bigint NOT NULL,         -- what it takes on disk
  born       double precision NOT NULL,  -- on the retention clock, which no jump of the wall clock moves
  evicted_at timestamptz,
  data       bytea STORAGE EXTERNAL,  -- compressed already
  PRIMARY KEY (tenant, owner, hash)
) {partitioned};

CREATE TABLE event_bodies (
  tenant text NOT NULL COLLATE "C",
  event  bigint NOT NULL,
  owner  bigint NOT NULL,
  hash   bytea NOT NULL,
  PRIMARY KEY (tenant, owner, event, hash),
  FOREIGN KEY (tenant, owner, event) REFERENCES events (tenant, owner, row) ON DELETE CASCADE
) {partitioned};
CREATE INDEX event_bodies_by_hash ON event_bodies (tenant, owner, hash);

CREATE TABLE injected (               -- hashes of blocks we put before an agent, so that they are not captured as new
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  hash   bytea NOT NULL,
  at     timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, hash)
) {partitioned};

-- Distilling.

CREATE TABLE distillations (          -- what was made of a session's events, up to which of them
  tenant  text NOT NULL COLLATE "C",
  session bigint NOT NULL,
  owner   bigint NOT NULL,
  version integer NOT NULL,           -- of the rules
  covers  integer NOT NULL,           -- position of the last event the rules saw
  asked   integer NOT NULL DEFAULT -1,  -- position of the last event a language model was shown
  kept    integer NOT NULL,
  refused json NOT NULL DEFAULT '{}', -- why drafts were not kept, counted
  made_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, session),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};

CREATE TABLE spending (               -- debited before a model is called; corrected when it has answered
  tenant  text NOT NULL COLLATE "C",
  row     bigint NOT NULL DEFAULT nextval('numbers'),
  owner   bigint NOT NULL,
  project bigint,
  day     text NOT NULL COLLATE "C",  -- in UTC
  use     text NOT NULL COLLATE "C",  -- turn, session, gist, collision
  model   text NOT NULL COLLATE "C",
  settled boolean NOT NULL DEFAULT false,
  input   bigint NOT NULL,
  output  bigint NOT NULL,
  usd     double precision NOT NULL,
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, row),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX spending_by_day ON spending (tenant, owner, day);

-- Derived: all of it can be thrown away and made again from the tables above.

CREATE TABLE vectors (                -- several a document: first of what the user said, then of what answered
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  tier    text NOT NULL COLLATE "C",
  doc     bigint NOT NULL,
  place   smallint NOT NULL,
  by_user boolean NOT NULL,           -- of what the user said
  model   bigint NOT NULL,
  vector  halfvec NOT NULL,
  PRIMARY KEY (tenant, owner, tier, doc, place)
) {partitioned};

CREATE TABLE pending (                -- searchable texts that wait for their vector
  tenant text NOT NULL COLLATE "C",
  tier   text NOT NULL COLLATE "C",
  doc    bigint NOT NULL,
  owner  bigint NOT NULL,
  ticket bigint NOT NULL,             -- another one each time the text changes: a vector of the old text does not count
  PRIMARY KEY (tenant, owner, tier, doc)
) {partitioned};
CREATE INDEX pending_newest ON pending (tier, doc);

-- The full-text index. A lexeme is tier, owner, stem and how often it stands there (in steps), so that the index alone
-- tells what bm25 needs and an owner's words are found without touching anybody else's. Nobody reads this table but the
-- function `matches`, which can only ask for the words of the owner whose transaction it is.
CREATE TABLE words (
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  tier   text NOT NULL COLLATE "C",
  doc    bigint NOT NULL,
  size   integer NOT NULL,            -- how many words the document has
  search tsvector NOT NULL,
  PRIMARY KEY (tenant, owner, tier, doc)
) {partitioned};
CREATE INDEX words_by_lexeme ON words USING gin (search);

CREATE TABLE indexed (                -- of each owner and tier: documents, their words, and those that have vectors
  tenant   text NOT NULL COLLATE "C",
  owner    bigint NOT NULL,
  tier     text NOT NULL COLLATE "C",
  rows     bigint NOT NULL DEFAULT 0,
  words    bigint NOT NULL DEFAULT 0,
  vectored bigint NOT NULL DEFAULT 0,
  vectors  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner, tier)
) {partitioned};

-- Housekeeping.

CREATE TABLE tombstones (             -- forgotten for good: an import or a replay must not bring it back
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  key    bytea NOT NULL,
  at     timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, key)
) {partitioned};

CREATE TABLE audit (                  -- what was done to what; ids and counts, never content
  tenant  text NOT NULL COLLATE "C",
  row     bigint NOT NULL DEFAULT nextval('numbers'),
  owner   bigint NOT NULL,
  at      timestamptz NOT NULL,
  action  text NOT NULL,
  subject text NOT NULL,
  details json NOT NULL DEFAULT '{}',
  PRIMARY KEY (tenant, owner, row)
) {partitioned};

-- Rows with the names their numbers stand for. `security_invoker`: the policies of who asks hold, not of who made them.

CREATE VIEW session_rows WITH (security_invoker = true) AS
SELECT s.*, p.name AS project_name, d.outcome AS outcome,
       (SELECT count(*) FROM turns t WHERE t.tenant = s.tenant AND t.owner = s.owner AND t.session = s.row) AS turns
FROM sessions s LEFT JOIN projects p ON p.tenant = s.tenant AND p.owner = s.owner AND p.row = s.project
LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row;

CREATE VIEW memory_rows WITH (security_invoker = true) AS
SELECT m.row, m.owner, m.id, m.project, m.kind, m.content, m.why, m.tags, m.importance, m.confidence, m.origin, m.session,
       m.evidence, m.anchors, m.meta, m.dedup_key, m.content_hash, m.occurred_at, m.recorded_at, m.accessed_at,
       m.access_count, m.version, m.superseded_by, m.superseded_at, m.expires_at, m.archived_at, m.deleted_at, m.trust,
       m.maker, m.slot, m.confirmed_at, p.name AS project_name, m.tenant
FROM memories m LEFT JOIN projects p ON p.tenant = m.tenant AND p.owner = m.owner AND p.row = m.project;

CREATE VIEW gist_rows WITH (security_invoker = true) AS
SELECT g.*, s.id AS session_id, p.name AS project_name
FROM gists g JOIN sessions s ON s.tenant = g.tenant AND s.owner = g.owner AND s.row = g.session
LEFT JOIN projects p ON p.tenant = g.tenant AND p.owner = g.owner AND p.row = g.project;

CREATE VIEW turn_rows WITH (security_invoker = true) AS
SELECT t.*, s.id AS session_id, p.name AS project_name
FROM turns t JOIN sessions s ON s.tenant = t.tenant AND s.owner = t.owner AND s.row = t.session
LEFT JOIN projects p ON p.tenant = t.tenant AND p.owner = t.owner AND p.row = t.project;
