-- What each session shows by itself, kept so that only sessions that changed are read again; and who lets their patterns be
-- counted together with others'.

CREATE TABLE session_signals (        -- derived: made again from the rows when they, or the rules, changed
  tenant  text NOT NULL COLLATE "C",
  session bigint NOT NULL,
  owner   bigint NOT NULL,
  mark    text NOT NULL COLLATE "C",  -- what it was made from, in short
  content text NOT NULL COLLATE "C",
  PRIMARY KEY (tenant, owner, session),
  FOREIGN KEY (tenant, owner, session) REFERENCES sessions (tenant, owner, row) ON DELETE CASCADE
) {partitioned};

CREATE TABLE pattern_sharing (        -- whoever does not stand here counts nowhere
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  at     timestamptz NOT NULL,
  PRIMARY KEY (tenant, owner),
  FOREIGN KEY (tenant, owner) REFERENCES owners (tenant, row)
) {partitioned};
