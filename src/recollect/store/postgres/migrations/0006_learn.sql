-- What repeats, as a person reviewed it: patterns, how each read before, the sessions that show it, and where its rule was
-- put. What a session shows goes with the session.

CREATE TABLE patterns (
  tenant     text NOT NULL COLLATE "C",
  owner      bigint NOT NULL,
  id         text NOT NULL COLLATE "C",
  state      text NOT NULL COLLATE "C" CHECK (state IN ('candidate', 'approved', 'rejected', 'retired', 'merged')),
  version    bigint NOT NULL,
  home       text COLLATE "C",        -- the project all of its sessions are in; '' when they are in several, NULL in none
  content    json NOT NULL,           -- everything else about it
  made_at    timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE pattern_versions (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  pattern text NOT NULL COLLATE "C",
  version bigint NOT NULL,
  content json NOT NULL,              -- what was done, by whom and why, and how it read then
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, pattern, version),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE pattern_evidence (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  pattern text NOT NULL COLLATE "C",
  session text NOT NULL COLLATE "C",
  content json NOT NULL,              -- what the session shows
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, pattern, session),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX pattern_evidence_by_session ON pattern_evidence (tenant, owner, session);

CREATE TABLE rollouts (
  tenant   text NOT NULL COLLATE "C",
  owner    bigint NOT NULL,
  id       text NOT NULL COLLATE "C",
  pattern  text NOT NULL COLLATE "C",
  state    text NOT NULL COLLATE "C" CHECK (state IN ('begun', 'in', 'out')),
  content  json NOT NULL,             -- where it was put, by whom, and what was there
  begun_at timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX rollouts_by_pattern ON rollouts (tenant, owner, pattern);
