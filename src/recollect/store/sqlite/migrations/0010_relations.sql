-- What memories have to do with each other, what consolidating changed and how it was before, and roll-ups of gists.
-- What is noted here of a memory or a session goes with it.

CREATE TABLE relations (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  from_id TEXT NOT NULL,              -- the id of a memory
  to_id   TEXT NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('same_subject', 'supersedes', 'caused_by', 'evidence_of', 'depends_on')),
  run     TEXT NOT NULL,              -- the run that found it
  at      TEXT NOT NULL,
  PRIMARY KEY (owner, from_id, to_id, kind)
) WITHOUT ROWID;
CREATE INDEX relations_by_target ON relations (owner, to_id);

CREATE TABLE consolidations (
  owner     INTEGER NOT NULL REFERENCES owners (row),
  id        TEXT NOT NULL,
  home      TEXT NOT NULL,            -- the project it was made in; '' for everywhere
  content   TEXT NOT NULL,            -- how many memories there were, and what was done, as JSON
  made_at   TEXT NOT NULL,
  undone_at TEXT,
  PRIMARY KEY (owner, id)
) WITHOUT ROWID;

CREATE TABLE consolidation_steps (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  run     TEXT NOT NULL,
  number  INTEGER NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('merge', 'demote', 'relate', 'rollup')),
  subject TEXT NOT NULL,              -- the id of a memory, or the period of a roll-up
  other   TEXT NOT NULL,              -- the memory it was merged into, the project of a roll-up; else ''
  content TEXT NOT NULL,              -- what was changed, as it was and as it was made, as JSON
  PRIMARY KEY (owner, run, number)
) WITHOUT ROWID;
CREATE INDEX consolidation_steps_by_subject ON consolidation_steps (owner, subject);

CREATE TABLE rollups (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  home    TEXT NOT NULL,              -- the project; '' for what has none
  period  TEXT NOT NULL,              -- 2026-W46, 2026-11, or profile: all of it
  content TEXT NOT NULL,
  covers  TEXT NOT NULL,              -- session -> how far its gist went, and when that was made, as JSON
  maker   TEXT NOT NULL,
  made_at TEXT NOT NULL,
  PRIMARY KEY (owner, home, period)
) WITHOUT ROWID;
