-- Distilling: how far a memory is trusted, who made it, what it says something of; what was distilled of each session; and
-- what language models were paid for it.

ALTER TABLE memories ADD COLUMN trust TEXT NOT NULL DEFAULT 'quoted' CHECK (trust IN ('user', 'checked', 'quoted'));
ALTER TABLE memories ADD COLUMN maker TEXT NOT NULL DEFAULT 'said';
ALTER TABLE memories ADD COLUMN slot TEXT;             -- what it tells the value of: a newer value takes its place
ALTER TABLE memories ADD COLUMN confirmed_at TEXT;     -- when the user said that it is so
UPDATE memories SET trust = 'user' WHERE origin = 'user';
CREATE INDEX memories_by_slot ON memories (owner, slot) WHERE slot IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX memories_by_text ON memories (owner, dedup_key) WHERE deleted_at IS NULL;
CREATE INDEX memories_by_successor ON memories (owner, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_by_session ON memories (owner, session) WHERE session IS NOT NULL;

DROP VIEW memory_rows;
CREATE VIEW memory_rows AS
SELECT m.*, p.name AS project_name FROM memories m LEFT JOIN projects p ON p.row = m.project;

CREATE TABLE distillations (          -- what was made of a session's events, up to which of them
  session INTEGER PRIMARY KEY REFERENCES sessions (row) ON DELETE CASCADE,
  owner   INTEGER NOT NULL,
  version INTEGER NOT NULL,           -- of the rules
  covers  INTEGER NOT NULL,           -- position of the last event the rules saw
  asked   INTEGER NOT NULL DEFAULT -1,  -- position of the last event a language model was shown
  kept    INTEGER NOT NULL,
  refused TEXT NOT NULL DEFAULT '{}', -- why drafts were not kept, counted
  made_at TEXT NOT NULL
);

CREATE TABLE spending (               -- debited before a model is called; corrected when it has answered
  row     INTEGER PRIMARY KEY AUTOINCREMENT,
  owner   INTEGER NOT NULL REFERENCES owners (row),
  project INTEGER,
  day     TEXT NOT NULL,              -- in UTC
  use     TEXT NOT NULL,              -- turn, session, gist, collision
  model   TEXT NOT NULL,
  settled INTEGER NOT NULL DEFAULT 0,
  input   INTEGER NOT NULL,
  output  INTEGER NOT NULL,
  usd     REAL NOT NULL,
  at      TEXT NOT NULL
);
CREATE INDEX spending_by_day ON spending (owner, day);
