-- What repeats, as a person reviewed it: patterns, how each read before, the sessions that show it, and where its rule was
-- put. What a session shows goes with the session.

CREATE TABLE patterns (
  owner      INTEGER NOT NULL REFERENCES owners (row),
  id         TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('candidate', 'approved', 'rejected', 'retired', 'merged')),
  version    INTEGER NOT NULL,
  home       TEXT,                    -- the project all of its sessions are in; '' when they are in several, NULL in none
  content    TEXT NOT NULL,           -- everything else about it, as JSON
  made_at    TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (owner, id)
) WITHOUT ROWID;

CREATE TABLE pattern_versions (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  pattern TEXT NOT NULL,
  version INTEGER NOT NULL,
  content TEXT NOT NULL,              -- what was done, by whom and why, and how it read then, as JSON
  at      TEXT NOT NULL,
  PRIMARY KEY (owner, pattern, version)
) WITHOUT ROWID;

CREATE TABLE pattern_evidence (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  pattern TEXT NOT NULL,
  session TEXT NOT NULL,
  content TEXT NOT NULL,              -- what the session shows, as JSON
  at      TEXT NOT NULL,
  PRIMARY KEY (owner, pattern, session)
) WITHOUT ROWID;
CREATE INDEX pattern_evidence_by_session ON pattern_evidence (owner, session);

CREATE TABLE rollouts (
  owner    INTEGER NOT NULL REFERENCES owners (row),
  id       TEXT NOT NULL,
  pattern  TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('begun', 'in', 'out')),
  content  TEXT NOT NULL,             -- where it was put, by whom, and what was there, as JSON
  begun_at TEXT NOT NULL,
  ended_at TEXT,
  PRIMARY KEY (owner, id)
) WITHOUT ROWID;
CREATE INDEX rollouts_by_pattern ON rollouts (owner, pattern);
