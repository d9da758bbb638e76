-- What memories have to do with each other, what consolidating changed and how it was before, and roll-ups of gists.
-- What is noted here of a memory or a session goes with it.

CREATE TABLE relations (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  from_id text NOT NULL COLLATE "C",  -- the id of a memory
  to_id   text NOT NULL COLLATE "C",
  kind    text NOT NULL COLLATE "C" CHECK (kind IN ('same_subject', 'supersedes', 'caused_by', 'evidence_of', 'depends_on')),
  run     text NOT NULL COLLATE "C",  -- the run that found it
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, from_id, to_id, kind),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX relations_by_target ON relations (tenant, owner, to_id);

CREATE TABLE consolidations (
  tenant    text NOT NULL COLLATE "C",
  owner     bigint NOT NULL,
  id        text NOT NULL COLLATE "C",
  home      text NOT NULL COLLATE "C",  -- the project it was made in; '' for everywhere
  content   json NOT NULL,              -- how many memories there were, and what was done
  made_at   timestamptz NOT NULL,
  undone_at timestamptz,
  PRIMARY KEY (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE consolidation_steps (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  run     text NOT NULL COLLATE "C",
  number  bigint NOT NULL,
  kind    text NOT NULL COLLATE "C" CHECK (kind IN ('merge', 'demote', 'relate', 'rollup')),
  subject text NOT NULL COLLATE "C",  -- the id of a memory, or the period of a roll-up
  other   text NOT NULL COLLATE "C",  -- the memory it was merged into, the project of a roll-up; else ''
  content json NOT NULL,              -- what was changed, as it was and as it was made
  PRIMARY KEY (tenant, owner, run, number),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX consolidation_steps_by_subject ON consolidation_steps (tenant, owner, subject);

CREATE TABLE rollups (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  home    text NOT NULL COLLATE "C",  -- the project; '' for what has none
  period  text NOT NULL COLLATE "C",  -- 2026-W46, 2026-11, or profile: all of it
  content text NOT NULL COLLATE "C",
  covers  json NOT NULL,              -- session -> how far its gist went, and when that was made
  maker   text NOT NULL COLLATE "C",
  made_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, home, period),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
