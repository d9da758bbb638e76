-- Figures by day: how often the memory was asked, what requests took, and how well sessions went.

CREATE TABLE recall_days (            -- how often it was asked; never what
  tenant    text NOT NULL COLLATE "C",
  owner     bigint NOT NULL,
  day       text NOT NULL COLLATE "C",  -- in UTC
  recalls   bigint NOT NULL,
  abstained bigint NOT NULL,
  memories  bigint NOT NULL,          -- that were given back
  PRIMARY KEY (tenant, owner, day),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

ALTER TABLE digests ADD COLUMN health integer;
CREATE INDEX digests_unscored ON digests (tenant, owner) WHERE health IS NULL;

CREATE INDEX memories_by_kind ON memories (tenant, owner, occurred_at, kind, project)
  WHERE deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL;

-- Derived: what the rows of `costs` sum up to, kept in step by the database itself (access.sql), whoever writes them.
CREATE TABLE cost_days (
  tenant      text NOT NULL COLLATE "C",
  owner       bigint NOT NULL,
  day         text NOT NULL COLLATE "C",  -- in UTC
  session     bigint NOT NULL,
  model       text NOT NULL COLLATE "C",
  requests    bigint NOT NULL,
  input       bigint NOT NULL,
  cache_read  bigint NOT NULL,
  cache_write bigint NOT NULL,
  output      bigint NOT NULL,
  usd         double precision NOT NULL,
  priced      bigint NOT NULL,        -- requests whose price is known
  PRIMARY KEY (tenant, owner, day, session, model)
) {partitioned};
