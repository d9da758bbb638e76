-- What a vector engine beside the store has not followed yet. Written only while one is in use.
CREATE TABLE engine_changes (
  tier   TEXT NOT NULL,
  doc    INTEGER NOT NULL,
  owner  INTEGER NOT NULL,
  ticket INTEGER NOT NULL,            -- another one each time the vectors change: what was followed before does not count
  PRIMARY KEY (tier, doc)
) WITHOUT ROWID;
CREATE INDEX engine_changes_of_owner ON engine_changes (owner, tier);

-- Triggers, so that nothing that writes or deletes vectors can forget to tell.
CREATE TRIGGER vector_came AFTER INSERT ON vectors WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'vector_engine')
BEGIN
  INSERT OR REPLACE INTO engine_changes (tier, doc, owner, ticket) VALUES (new.tier, new.doc, new.owner, random());
END;
CREATE TRIGGER vector_went AFTER DELETE ON vectors WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'vector_engine')
BEGIN
  INSERT OR REPLACE INTO engine_changes (tier, doc, owner, ticket) VALUES (old.tier, old.doc, old.owner, random());
END;
