-- What agents may be told before they ask is weighed from this index alone; without the row's number in it, every memory
-- would be read for that.

DROP INDEX IF EXISTS memories_standing;
CREATE INDEX memories_standing ON memories (tenant, owner, project, kind, importance, occurred_at, confirmed_at, expires_at)
  INCLUDE (row)
  WHERE trust IN ('user', 'checked') AND deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL;

-- How few are pinned is not to be seen in what is known of `meta`: the planner would take nearly all for it.
CREATE STATISTICS IF NOT EXISTS memories_pinning ON (meta ->> 'pinned') FROM memories;
ANALYZE memories;
