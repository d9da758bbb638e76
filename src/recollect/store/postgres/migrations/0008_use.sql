-- How useful memories proved and where each was put before an agent; which memories stand in a text that is laid ready; an
-- owner's own weights of ranking. What is said of a memory goes with it, and with the session it was said in.

CREATE TABLE feedback (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  memory  text NOT NULL COLLATE "C",
  verdict text NOT NULL COLLATE "C" CHECK (verdict IN ('helpful', 'harmful', 'cited', 'success')),
  session text NOT NULL COLLATE "C",  -- '' when it is about none in particular
  source  text NOT NULL COLLATE "C" CHECK (source IN ('user', 'agent', 'digest')),
  note    text,
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, memory, verdict, session),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX feedback_by_session ON feedback (tenant, owner, session);

CREATE TABLE injections (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  session text NOT NULL COLLATE "C",
  at      timestamptz NOT NULL,
  memory  text NOT NULL COLLATE "C",
  host    text NOT NULL COLLATE "C",
  event   text NOT NULL COLLATE "C" CHECK (event IN ('start', 'prompt')),
  block   text NOT NULL COLLATE "C",  -- the name of the text it stood in: the hash of its content
  PRIMARY KEY (tenant, owner, session, at, memory),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX injections_by_memory ON injections (tenant, owner, memory, at);

CREATE TABLE blocks (
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  block  text NOT NULL COLLATE "C",
  ids    json NOT NULL,               -- of the memories in it
  at     timestamptz NOT NULL,        -- when it was last laid ready
  PRIMARY KEY (tenant, owner, block),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE rankings (
  tenant  text NOT NULL COLLATE "C",
  owner   bigint NOT NULL,
  content json NOT NULL,              -- the weights and what they were taken on for
  at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
