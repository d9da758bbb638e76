-- What agents may be told before they ask, by project and kind, with all that its worth is made of, so that no row is read
-- for it; and what a person pinned.

CREATE INDEX memories_standing ON memories (owner, project, kind, importance, occurred_at, confirmed_at, expires_at, trust,
                                            deleted_at, superseded_at, archived_at)
  WHERE trust IN ('user', 'checked') AND deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL;
CREATE INDEX memories_pinned ON memories (owner) WHERE json_extract(meta, '$.pinned') IS NOT NULL;
