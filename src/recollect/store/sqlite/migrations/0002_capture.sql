-- Capturing agents' own sessions: what a session is, where an event came from, what it cost, what was read of which file,
-- what a session was (digest), and bodies too big for a row.

ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN relation TEXT NOT NULL DEFAULT 'root';
ALTER TABLE sessions ADD COLUMN cwd TEXT;
ALTER TABLE sessions ADD COLUMN branch TEXT;
ALTER TABLE sessions ADD COLUMN commit_id TEXT;
ALTER TABLE sessions ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN agent_version TEXT;
ALTER TABLE sessions ADD COLUMN interactive INTEGER;

ALTER TABLE events ADD COLUMN way TEXT NOT NULL DEFAULT 'record';
ALTER TABLE events ADD COLUMN transcript INTEGER;  -- which file it was read from, and where in it
ALTER TABLE events ADD COLUMN raw_at INTEGER;
ALTER TABLE events ADD COLUMN raw_size INTEGER;

CREATE TABLE transcripts (            -- what was read of agents' files; never their content
  row         INTEGER PRIMARY KEY AUTOINCREMENT,
  owner       INTEGER NOT NULL REFERENCES owners (row),
  name        TEXT NOT NULL,          -- the path, and for a database the session in it
  flavor      TEXT NOT NULL,
  session     TEXT,
  state       TEXT NOT NULL,          -- read, withheld, empty or failed
  error       TEXT,
  fingerprint TEXT NOT NULL DEFAULT '',
  complete_to INTEGER NOT NULL DEFAULT 0,
  turns       BLOB NOT NULL DEFAULT x'',  -- the keys of its human prompts, one after the other: what coverage is held against
  withheld    BLOB NOT NULL DEFAULT x'',  -- those of them that were not to be kept
  counts      TEXT NOT NULL DEFAULT '{}',
  way         TEXT NOT NULL,
  read_at     TEXT NOT NULL,
  UNIQUE (owner, name)
);

CREATE TABLE costs (
  row            INTEGER PRIMARY KEY AUTOINCREMENT,
  owner          INTEGER NOT NULL REFERENCES owners (row),
  key            BLOB NOT NULL,
  session        INTEGER NOT NULL REFERENCES sessions (row) ON DELETE CASCADE,
  at             TEXT NOT NULL,
  model          TEXT,
  input          INTEGER NOT NULL,
  cache_read     INTEGER NOT NULL,
  cache_write_5m INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  output         INTEGER NOT NULL,
  reasoning      INTEGER NOT NULL,
  usd            REAL,
  usd_source     TEXT NOT NULL,
  UNIQUE (owner, key)
);
CREATE INDEX costs_by_session ON costs (session);

CREATE TABLE digests (                -- derived: made again from the rows when the rules change
  session  INTEGER PRIMARY KEY REFERENCES sessions (row) ON DELETE CASCADE,
  owner    INTEGER NOT NULL,
  version  INTEGER NOT NULL,
  covers   INTEGER NOT NULL,          -- position of the last event it was made from
  outcome  TEXT NOT NULL,
  content  TEXT NOT NULL,
  made_at  TEXT NOT NULL
);
CREATE INDEX digests_by_owner ON digests (owner);

CREATE TABLE bodies (                 -- the bytes lie in files named by their hash; evicted ones keep their row
  owner      INTEGER NOT NULL,
  hash       BLOB NOT NULL,
  media      TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  stored     INTEGER NOT NULL,        -- what it takes on disk
  born       REAL NOT NULL,           -- on the retention clock, which no jump of the wall clock moves
  evicted_at TEXT,
  PRIMARY KEY (owner, hash)
) WITHOUT ROWID;

CREATE TABLE event_bodies (
  event INTEGER NOT NULL REFERENCES events (row) ON DELETE CASCADE,
  owner INTEGER NOT NULL,
  hash  BLOB NOT NULL,
  PRIMARY KEY (event, hash)
) WITHOUT ROWID;
CREATE INDEX event_bodies_by_hash ON event_bodies (owner, hash);

CREATE TABLE injected (               -- hashes of blocks we put before an agent, so that they are not captured as new
  owner INTEGER NOT NULL,
  hash  BLOB NOT NULL,
  at    TEXT NOT NULL,
  PRIMARY KEY (owner, hash)
) WITHOUT ROWID;

DROP VIEW session_rows;
CREATE VIEW session_rows AS
SELECT s.*, p.name AS project_name, d.outcome AS outcome, (SELECT count(*) FROM turns t WHERE t.session = s.row) AS turns
FROM sessions s LEFT JOIN projects p ON p.row = s.project LEFT JOIN digests d ON d.session = s.row;
