-- API keys, quotas, and an audit that shows when it was changed.

CREATE TABLE api_keys (
  row          INTEGER PRIMARY KEY AUTOINCREMENT,
  owner        INTEGER NOT NULL REFERENCES owners (row),
  id           TEXT NOT NULL,         -- the public part
  hash         BLOB NOT NULL,         -- of the whole key, which is kept nowhere
  env          TEXT NOT NULL,
  name         TEXT NOT NULL DEFAULT '',
  permissions  TEXT NOT NULL,         -- words: read, write, delete, admin
  project      TEXT,                  -- for this one alone
  created_at   TEXT NOT NULL,
  expires_at   TEXT,
  revoked_at   TEXT,
  replaced_by  TEXT,
  last_used_at TEXT,                  -- to the minute
  UNIQUE (id)
);
CREATE INDEX api_keys_by_owner ON api_keys (owner, row);

CREATE TABLE quotas (                 -- limits of one owner alone, and what they took in on the last day they did
  owner    INTEGER PRIMARY KEY REFERENCES owners (row),
  memories INTEGER,                   -- NULL: what everybody has; 0: without end
  ingests  INTEGER,
  day      TEXT,                      -- in UTC
  taken    INTEGER NOT NULL DEFAULT 0
);

-- Each owner's rows form a chain by `number`: `hash` is signed over the row and `prev`, the hash of the row before it.
ALTER TABLE audit ADD COLUMN number INTEGER;      -- NULL: from before there was a chain
ALTER TABLE audit ADD COLUMN actor TEXT;
ALTER TABLE audit ADD COLUMN key_id TEXT;         -- of the API key it was done with
ALTER TABLE audit ADD COLUMN result TEXT NOT NULL DEFAULT 'done';
ALTER TABLE audit ADD COLUMN duration_ms INTEGER;
ALTER TABLE audit ADD COLUMN signed_by TEXT;      -- the name of the key that signed it
ALTER TABLE audit ADD COLUMN prev BLOB;
ALTER TABLE audit ADD COLUMN hash BLOB;
CREATE UNIQUE INDEX audit_chain ON audit (owner, number);

CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT, 'the audit is only added to'); END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit BEGIN SELECT raise(ABORT, 'the audit is only added to'); END;
