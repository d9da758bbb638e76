-- Contexts that several people share, and what was proposed for them. A context is an owner whose name begins with `@`;
-- these rows are its own.

CREATE TABLE contexts (
  tenant       text NOT NULL COLLATE "C",
  owner        bigint NOT NULL,
  name         text NOT NULL COLLATE "C",  -- what people call it; two contexts may be called the same
  reviewed     boolean NOT NULL,      -- memories come in by approved proposals alone
  own_approval boolean NOT NULL,      -- a reviewer may approve what they proposed themselves
  made_at      timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

CREATE TABLE members (
  tenant        text NOT NULL COLLATE "C",
  owner         bigint NOT NULL,
  member_tenant text NOT NULL COLLATE "C",
  member        text NOT NULL COLLATE "C",
  role          text NOT NULL CHECK (role IN ('reader', 'writer', 'reviewer', 'admin')),
  added_by      text NOT NULL,
  added_at      timestamptz NOT NULL,
  joined_at     timestamptz,          -- nobody is in a context before they said so
  PRIMARY KEY (tenant, owner, member_tenant, member),
  FOREIGN KEY (tenant, owner) REFERENCES contexts (tenant, owner)
) {partitioned};
CREATE INDEX members_by_name ON members (member_tenant, member);

CREATE TABLE proposals (              -- copies: of the private memory only its id is noted
  tenant          text NOT NULL COLLATE "C",
  row             bigint NOT NULL DEFAULT nextval('numbers'),
  owner           bigint NOT NULL,
  id              text NOT NULL COLLATE "C",
  source          text NOT NULL COLLATE "C",
  project         text,
  kind            text NOT NULL,
  content         text NOT NULL,
  why             text,
  tags            jsonb NOT NULL DEFAULT '[]',
  importance      double precision NOT NULL,
  origin          text NOT NULL,      -- who said it to the proposer, how far they trusted it, who worded it
  trust           text NOT NULL,
  maker           text NOT NULL,
  evidenced       integer NOT NULL,   -- how many places of their sessions it rests on
  occurred_at     timestamptz NOT NULL,
  reason          text,
  proposed_tenant text NOT NULL COLLATE "C",
  proposed_by     text NOT NULL COLLATE "C",
  proposed_at     timestamptz NOT NULL,
  state           text NOT NULL COLLATE "C" CHECK (state IN ('open', 'approved', 'rejected', 'withdrawn')),
  decided_by      text,
  decided_at      timestamptz,
  decision        text,
  edited          boolean NOT NULL DEFAULT false,
  memory          text COLLATE "C",   -- what it became
  withdrawn_by    text,
  withdrawn_at    timestamptz,
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES contexts (tenant, owner)
) {partitioned};
CREATE INDEX proposals_by_state ON proposals (tenant, owner, state, row);
CREATE INDEX proposals_by_source ON proposals (tenant, owner, source);
