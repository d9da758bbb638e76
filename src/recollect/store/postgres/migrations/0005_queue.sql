-- Work that is done later, and what requests with a key of their own were answered. Neither is anybody's memory: a move to
-- another store leaves them behind.

CREATE TABLE tasks (
  tenant   text NOT NULL COLLATE "C",
  row      bigint NOT NULL DEFAULT nextval('numbers'),
  owner    bigint NOT NULL,
  id       text NOT NULL COLLATE "C",
  kind     text NOT NULL COLLATE "C",
  subject  text NOT NULL COLLATE "C", -- the id of a session, or nothing
  state    text NOT NULL COLLATE "C" CHECK (state IN ('waiting', 'running', 'done', 'dead', 'cancelled')),
  attempts integer NOT NULL DEFAULT 0,
  again    boolean NOT NULL DEFAULT false,  -- it was put once more while it ran
  due_at   timestamptz NOT NULL,      -- when it may be begun; of one that runs, when its lease ends
  claim    bigint NOT NULL DEFAULT 0, -- another number each time it is claimed, greater than all before
  worker   text,
  error    text,                      -- never content
  made_at  timestamptz NOT NULL,
  ended_at timestamptz,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE UNIQUE INDEX tasks_once ON tasks (tenant, owner, kind, subject) WHERE state IN ('waiting', 'running');
CREATE INDEX tasks_due ON tasks (tenant, due_at, row) WHERE state IN ('waiting', 'running');
CREATE INDEX tasks_by_state ON tasks (state, row);
CREATE INDEX tasks_claimed ON tasks (tenant, claim);

CREATE TABLE answers (
  tenant      text NOT NULL COLLATE "C",
  owner       bigint NOT NULL,
  key         text NOT NULL COLLATE "C",
  fingerprint text NOT NULL COLLATE "C",  -- of the request
  status      integer,                -- NULL: it is being answered
  body        bytea,
  begun_at    timestamptz NOT NULL,
  until       timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner, key),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX answers_until ON answers (until);
