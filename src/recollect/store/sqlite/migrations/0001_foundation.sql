-- The first schema. `owner` stands for (tenant, user) everywhere; no table of content is readable without it.
-- Row numbers of searchable things are never used again (AUTOINCREMENT): a vector kept in some process's memory must
-- not come to belong to a newer row.

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE owners (
  row    INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL,
  user   TEXT NOT NULL,
  epoch  INTEGER NOT NULL DEFAULT 0,  -- rises when vectors are taken away, so that cached ones are read again
  UNIQUE (tenant, user)
);

CREATE TABLE projects (
  row   INTEGER PRIMARY KEY AUTOINCREMENT,
  owner INTEGER NOT NULL REFERENCES owners (row),
  name  TEXT NOT NULL,
  UNIQUE (owner, name)
);

CREATE TABLE sessions (
  row         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner       INTEGER NOT NULL REFERENCES owners (row),
  id          TEXT NOT NULL,
  flavor      TEXT NOT NULL,
  project     INTEGER REFERENCES projects (row),
  title       TEXT,
  started_at  TEXT NOT NULL,
  ended_at    TEXT NOT NULL,
  meta        TEXT NOT NULL DEFAULT '{}',
  gist_leased TEXT,                   -- until when somebody is making this session's gist
  UNIQUE (owner, id)
);
CREATE INDEX sessions_by_time ON sessions (owner, ended_at);

CREATE TABLE turns (
  row         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner       INTEGER NOT NULL REFERENCES owners (row),
  session     INTEGER NOT NULL REFERENCES sessions (row) ON DELETE CASCADE,
  project     INTEGER,
  key         BLOB NOT NULL,          -- of its first event
  ordinal     INTEGER NOT NULL,       -- first turn of the session 0, then 1, 2 …
  chars       INTEGER NOT NULL DEFAULT 0,  -- how long its text is
  occurred_at TEXT NOT NULL,
  UNIQUE (session, ordinal)
);
CREATE INDEX turns_by_key ON turns (owner, key);

CREATE TABLE events (
  row         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner       INTEGER NOT NULL REFERENCES owners (row),
  key         BLOB NOT NULL,
  session     INTEGER NOT NULL REFERENCES sessions (row) ON DELETE CASCADE,
  turn        INTEGER NOT NULL REFERENCES turns (row) ON DELETE CASCADE,
  position    INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  role        TEXT NOT NULL,
  origin      TEXT NOT NULL,
  text        TEXT NOT NULL,
  text_hash   BLOB NOT NULL,          -- of the exact text, checked when it is read
  occurred_at TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  meta        TEXT NOT NULL DEFAULT '{}',
  UNIQUE (owner, key)
);
CREATE UNIQUE INDEX events_by_session ON events (session, position);
CREATE INDEX events_by_turn ON events (turn);

CREATE TABLE gists (
  row         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner       INTEGER NOT NULL REFERENCES owners (row),
  session     INTEGER NOT NULL UNIQUE REFERENCES sessions (row) ON DELETE CASCADE,
  project     INTEGER,
  content     TEXT NOT NULL,
  covers      INTEGER NOT NULL,       -- position of the last event it covers
  maker       TEXT NOT NULL,
  occurred_at TEXT NOT NULL,
  created_at  TEXT NOT NULL
);
CREATE INDEX gists_by_owner ON gists (owner);

CREATE TABLE memories (
  row           INTEGER PRIMARY KEY AUTOINCREMENT,
  owner         INTEGER NOT NULL REFERENCES owners (row),
  id            TEXT NOT NULL,
  project       INTEGER REFERENCES projects (row),
  kind          TEXT NOT NULL CHECK (kind IN ('fact', 'preference', 'decision', 'lesson', 'event', 'reference', 'topic',
                                              'skill_idea', 'note')),
  content       TEXT NOT NULL,
  why           TEXT,
  tags          TEXT NOT NULL DEFAULT '[]',
  importance    REAL NOT NULL DEFAULT 0.5 CHECK (importance BETWEEN 0 AND 1),
  confidence    REAL NOT NULL DEFAULT 1.0 CHECK (confidence BETWEEN 0 AND 1),
  origin        TEXT NOT NULL CHECK (origin IN ('user', 'assistant', 'tool', 'web', 'import')),
  session       TEXT,
  evidence      TEXT NOT NULL DEFAULT '[]',
  anchors       TEXT NOT NULL DEFAULT '[]',
  meta          TEXT NOT NULL DEFAULT '{}',
  dedup_key     BLOB NOT NULL,        -- of the folded text: the same thing said again
  content_hash  BLOB NOT NULL,        -- of the exact text, checked when it is read
  occurred_at   TEXT NOT NULL,
  recorded_at   TEXT NOT NULL,
  accessed_at   TEXT,
  access_count  INTEGER NOT NULL DEFAULT 0,
  version       INTEGER NOT NULL DEFAULT 1,
  superseded_by TEXT,
  superseded_at TEXT,
  expires_at    TEXT,
  archived_at   TEXT,
  deleted_at    TEXT,
  UNIQUE (owner, id)
);
CREATE UNIQUE INDEX memories_once ON memories (owner, ifnull(project, 0), dedup_key)
  WHERE deleted_at IS NULL AND superseded_at IS NULL;
CREATE INDEX memories_by_time ON memories (owner, occurred_at);

CREATE TABLE memory_versions (
  memory     INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
  version    INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  content    TEXT NOT NULL,
  why        TEXT,
  tags       TEXT NOT NULL,
  importance REAL NOT NULL,
  confidence REAL NOT NULL,
  until      TEXT NOT NULL,
  PRIMARY KEY (memory, version)
) WITHOUT ROWID;

-- Derived from here on: all of it can be thrown away and made again from the tables above.

CREATE TABLE models (
  row  INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  dim  INTEGER NOT NULL CHECK (dim BETWEEN 1 AND 8192),
  UNIQUE (name, dim)
);

-- Clustered by scope so that a scope's vectors lie together; `seq` only grows, so that what is new is read alone.
CREATE TABLE vectors (
  owner  INTEGER NOT NULL,
  model  INTEGER NOT NULL REFERENCES models (row),
  tier   TEXT NOT NULL,
  seq    INTEGER NOT NULL,
  doc    INTEGER NOT NULL,
  leading INTEGER NOT NULL,           -- how many of the vectors are of what the user said; the rest of what answered
  vector BLOB NOT NULL,               -- float16, one after the other
  PRIMARY KEY (owner, model, tier, seq)
) WITHOUT ROWID;
CREATE INDEX vectors_by_doc ON vectors (tier, doc);

CREATE TABLE pending (                -- searchable texts that wait for their vector
  tier   TEXT NOT NULL,
  doc    INTEGER NOT NULL,
  owner  INTEGER NOT NULL,
  ticket INTEGER NOT NULL,            -- another one each time the text changes: a vector of the old text does not count
  PRIMARY KEY (tier, doc)
) WITHOUT ROWID;

-- Contentless: the text is in the tables above and is not kept twice. What goes in are words already stemmed, each behind
-- the number of its owner: an owner's words are their own, so neither their frequency nor the time to find them depends
-- on what others keep here.
CREATE VIRTUAL TABLE memory_fts USING fts5 (content, extra, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE gist_fts   USING fts5 (content, content = '', tokenize = 'ascii');
CREATE VIRTUAL TABLE turn_fts   USING fts5 (user, agent, content = '', tokenize = 'ascii');
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO gist_fts   (gist_fts, rank)   VALUES ('secure-delete', 1);
INSERT INTO turn_fts   (turn_fts, rank)   VALUES ('secure-delete', 1);

CREATE TABLE indexed (                -- how many entries each owner has, and (owner 0) all have: FTS5 would read them all to tell
  tier  TEXT NOT NULL,
  owner INTEGER NOT NULL,
  rows  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tier, owner)
) WITHOUT ROWID;

-- Housekeeping.

CREATE TABLE tombstones (             -- forgotten for good: an import or a replay must not bring it back
  owner INTEGER NOT NULL,
  key   BLOB NOT NULL,
  at    TEXT NOT NULL,
  PRIMARY KEY (owner, key)
) WITHOUT ROWID;

CREATE TABLE audit (                  -- what was done to what; ids and counts, never content
  row      INTEGER PRIMARY KEY AUTOINCREMENT,
  owner    INTEGER NOT NULL,
  at       TEXT NOT NULL,
  action   TEXT NOT NULL,
  subject  TEXT NOT NULL,
  details  TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_by_owner ON audit (owner, row);

-- Rows with the names their numbers stand for.

CREATE VIEW session_rows AS
SELECT s.*, p.name AS project_name, (SELECT count(*) FROM turns t WHERE t.session = s.row) AS turns
FROM sessions s LEFT JOIN projects p ON p.row = s.project;

CREATE VIEW memory_rows AS
SELECT m.*, p.name AS project_name FROM memories m LEFT JOIN projects p ON p.row = m.project;

CREATE VIEW gist_rows AS
SELECT g.*, s.id AS session_id, p.name AS project_name
FROM gists g JOIN sessions s ON s.row = g.session LEFT JOIN projects p ON p.row = g.project;

CREATE VIEW turn_rows AS
SELECT t.*, s.id AS session_id, p.name AS project_name
FROM turns t JOIN sessions s ON s.row = t.session LEFT JOIN projects p ON p.row = t.project;
