-- What agents may be told before they ask, by project, with all that its worth is made of; and what a person pinned.

CREATE INDEX memories_standing ON memories (tenant, owner, project, kind, importance, occurred_at, confirmed_at, expires_at)
  WHERE trust IN ('user', 'checked') AND deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL;
CREATE INDEX memories_pinned ON memories (tenant, owner) WHERE meta ->> 'pinned' IS NOT NULL;
