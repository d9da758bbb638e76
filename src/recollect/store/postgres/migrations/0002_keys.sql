-- API keys, quotas, and an audit that shows when it was changed.

CREATE TABLE api_keys (
  tenant       text NOT NULL COLLATE "C",
  row          bigint NOT NULL DEFAULT nextval('numbers'),
  owner        bigint NOT NULL,
  id           text NOT NULL COLLATE "C",  -- the public part
  hash         bytea NOT NULL,        -- of the whole key, which is kept nowhere
  env          text NOT NULL,
  name         text NOT NULL DEFAULT '',
  permissions  text NOT NULL,         -- words: read, write, delete, admin
  project      text COLLATE "C",      -- for this one alone
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  revoked_at   timestamptz,
  replaced_by  text COLLATE "C",
  last_used_at timestamptz,           -- to the minute
  PRIMARY KEY (tenant, owner, row),
  UNIQUE (tenant, owner, id),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
CREATE INDEX api_keys_by_id ON api_keys (id);

CREATE TABLE quotas (                 -- limits of one owner alone, and what they took in on the last day they did
  tenant   text NOT NULL COLLATE "C",
  owner    bigint NOT NULL,
  memories bigint,                    -- NULL: what everybody has; 0: without end
  ingests  bigint,
  day      text COLLATE "C",          -- in UTC
  taken    bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};

-- Each owner's rows form a chain by `number`: `hash` is signed over the row and `prev`, the hash of the row before it.
ALTER TABLE audit
  ADD COLUMN number bigint,           -- NULL: from before there was a chain
  ADD COLUMN actor text,
  ADD COLUMN key_id text,             -- of the API key it was done with
  ADD COLUMN result text NOT NULL DEFAULT 'done',
  ADD COLUMN duration_ms bigint,
  ADD COLUMN signed_by text,          -- the name of the key that signed it
  ADD COLUMN prev bytea,
  ADD COLUMN hash bytea;
CREATE UNIQUE INDEX audit_chain ON audit (tenant, owner, number);
