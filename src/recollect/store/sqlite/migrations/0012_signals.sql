-- What each session shows by itself, kept so that only sessions that changed are read again; and who lets their patterns be
-- counted together with others'.

CREATE TABLE session_signals (        -- derived: made again from the rows when they, or the rules, changed
  session INTEGER PRIMARY KEY REFERENCES sessions (row) ON DELETE CASCADE,
  owner   INTEGER NOT NULL,
  mark    TEXT NOT NULL,              -- what it was made from, in short
  content TEXT NOT NULL
);
CREATE INDEX session_signals_by_owner ON session_signals (owner);

CREATE TABLE pattern_sharing (        -- whoever does not stand here counts nowhere
  owner INTEGER PRIMARY KEY REFERENCES owners (row),
  at    TEXT NOT NULL
);
