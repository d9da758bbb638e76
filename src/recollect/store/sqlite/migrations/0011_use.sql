-- How useful memories proved and where each was put before an agent; which memories stand in a text that is laid ready; an
-- owner's own weights of ranking. What is said of a memory goes with it, and with the session it was said in.

CREATE TABLE feedback (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  memory  TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('helpful', 'harmful', 'cited', 'success')),
  session TEXT NOT NULL,              -- '' when it is about none in particular
  source  TEXT NOT NULL CHECK (source IN ('user', 'agent', 'digest')),
  note    TEXT,
  at      TEXT NOT NULL,
  PRIMARY KEY (owner, memory, verdict, session)
) WITHOUT ROWID;
CREATE INDEX feedback_by_session ON feedback (owner, session);

CREATE TABLE injections (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  session TEXT NOT NULL,
  at      TEXT NOT NULL,
  memory  TEXT NOT NULL,
  host    TEXT NOT NULL,
  event   TEXT NOT NULL CHECK (event IN ('start', 'prompt')),
  block   TEXT NOT NULL,              -- the name of the text it stood in: the hash of its content
  PRIMARY KEY (owner, session, at, memory)
) WITHOUT ROWID;
CREATE INDEX injections_by_memory ON injections (owner, memory, at);

CREATE TABLE blocks (
  owner INTEGER NOT NULL REFERENCES owners (row),
  block TEXT NOT NULL,
  ids   TEXT NOT NULL,                -- of the memories in it, as JSON
  at    TEXT NOT NULL,                -- when it was last laid ready
  PRIMARY KEY (owner, block)
) WITHOUT ROWID;

CREATE TABLE rankings (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  content TEXT NOT NULL,              -- the weights and what they were taken on for, as JSON
  at      TEXT NOT NULL,
  PRIMARY KEY (owner)
) WITHOUT ROWID;
