-- A run may also give back what was merged into something that does not say it any more.

CREATE TABLE steps_with_releases (
  owner   INTEGER NOT NULL REFERENCES owners (row),
  run     TEXT NOT NULL,
  number  INTEGER NOT NULL,
  kind    TEXT NOT NULL CHECK (kind IN ('merge', 'demote', 'release', 'relate', 'rollup')),
  subject TEXT NOT NULL,              -- the id of a memory, or the period of a roll-up
  other   TEXT NOT NULL,              -- the memory it was or is merged into, the project of a roll-up; else ''
  content TEXT NOT NULL,              -- what was changed, as it was and as it was made, as JSON
  PRIMARY KEY (owner, run, number)
) WITHOUT ROWID;
INSERT INTO steps_with_releases SELECT owner, run, number, kind, subject, other, content FROM consolidation_steps;
DROP TABLE consolidation_steps;
ALTER TABLE steps_with_releases RENAME TO consolidation_steps;
CREATE INDEX consolidation_steps_by_subject ON consolidation_steps (owner, subject);
