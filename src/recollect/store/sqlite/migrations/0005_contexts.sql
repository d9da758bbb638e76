-- Contexts that several people share, and what was proposed for them. A context is an owner whose name begins with `@`;
-- these rows are its own.

CREATE TABLE contexts (
  owner        INTEGER PRIMARY KEY REFERENCES owners (row),
  name         TEXT NOT NULL,         -- what people call it; two contexts may be called the same
  reviewed     INTEGER NOT NULL,      -- memories come in by approved proposals alone
  own_approval INTEGER NOT NULL,      -- a reviewer may approve what they proposed themselves
  made_at      TEXT NOT NULL
);

CREATE TABLE members (
  owner         INTEGER NOT NULL REFERENCES contexts (owner),
  member_tenant TEXT NOT NULL,
  member        TEXT NOT NULL,
  role          TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
  added_by      TEXT NOT NULL,
  added_at      TEXT NOT NULL,
  joined_at     TEXT,                 -- nobody is in a context before they said so
  PRIMARY KEY (owner, member_tenant, member)
) WITHOUT ROWID;
CREATE INDEX members_by_name ON members (member_tenant, member);

CREATE TABLE proposals (              -- copies: of the private memory only its id is noted
  row             INTEGER PRIMARY KEY AUTOINCREMENT,
  owner           INTEGER NOT NULL REFERENCES contexts (owner),
  id              TEXT NOT NULL,
  source          TEXT NOT NULL,
  project         TEXT,
  kind            TEXT NOT NULL,
  content         TEXT NOT NULL,
  why             TEXT,
  tags            TEXT NOT NULL DEFAULT '[]',
  importance      REAL NOT NULL,
  origin          TEXT NOT NULL,      -- who said it to the proposer, how far they trusted it, who worded it
  trust           TEXT NOT NULL,
  maker           TEXT NOT NULL,
  evidenced       INTEGER NOT NULL,   -- how many places of their sessions it rests on
  occurred_at     TEXT NOT NULL,
  reason          TEXT,
  proposed_tenant TEXT NOT NULL,
  proposed_by     TEXT NOT NULL,
  proposed_at     TEXT NOT NULL,
  state           TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'withdrawn')),
  decided_by      TEXT,
  decided_at      TEXT,
  decision        TEXT,
  edited          INTEGER NOT NULL DEFAULT 0,
  memory          TEXT,               -- what it became
  withdrawn_by    TEXT,
  withdrawn_at    TEXT,
  UNIQUE (owner, id)
);
CREATE INDEX proposals_by_state ON proposals (owner, state, row);
CREATE INDEX proposals_by_source ON proposals (owner, source);
