-- Work that is done later, and what requests with a key of their own were answered. Neither is anybody's memory: a move to
-- another store leaves them behind.

CREATE TABLE tasks (
  row      INTEGER PRIMARY KEY AUTOINCREMENT,
  owner    INTEGER NOT NULL REFERENCES owners (row),
  id       TEXT NOT NULL,
  kind     TEXT NOT NULL,
  subject  TEXT NOT NULL,             -- the id of a session, or nothing
  state    TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'dead', 'cancelled')),
  attempts INTEGER NOT NULL DEFAULT 0,
  again    INTEGER NOT NULL DEFAULT 0,  -- it was put once more while it ran
  due_at   TEXT NOT NULL,             -- when it may be begun; of one that runs, when its lease ends
  claim    INTEGER NOT NULL DEFAULT 0,  -- another number each time it is claimed, greater than all before
  worker   TEXT,
  error    TEXT,                      -- never content
  made_at  TEXT NOT NULL,
  ended_at TEXT,
  UNIQUE (owner, id)
);
CREATE UNIQUE INDEX tasks_once ON tasks (owner, kind, subject) WHERE state IN ('waiting', 'running');
CREATE INDEX tasks_due ON tasks (owner, due_at) WHERE state IN ('waiting', 'running');
CREATE INDEX tasks_by_state ON tasks (state, row);
CREATE INDEX tasks_claimed ON tasks (owner, claim);

CREATE TABLE answers (
  owner       INTEGER NOT NULL REFERENCES owners (row),
  key         TEXT NOT NULL,
  fingerprint TEXT NOT NULL,          -- of the request
  status      INTEGER,                -- NULL: it is being answered
  body        BLOB,
  begun_at    TEXT NOT NULL,
  until       TEXT NOT NULL,
  PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE INDEX answers_until ON answers (until);
