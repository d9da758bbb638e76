-- What was softly forgotten, by when: it is listed as long as it can be brought back.

CREATE INDEX memories_forgotten ON memories (tenant, owner, deleted_at) WHERE deleted_at IS NOT NULL;
