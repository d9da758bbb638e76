-- Memories and their versions.

-- name: get
SELECT * FROM memory_rows
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: get_many
SELECT * FROM memory_rows
WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids)) AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: twin
SELECT * FROM memory_rows
WHERE owner = :owner AND ifnull(project, 0) = :project AND dedup_key = :dedup_key
  AND deleted_at IS NULL AND superseded_at IS NULL;

-- name: is_forgotten
SELECT EXISTS (SELECT 1 FROM tombstones WHERE owner = :owner AND key = :key);

-- name: add
INSERT INTO memories (owner, id, project, kind, content, why, tags, importance, confidence, origin, session, evidence, anchors,
                      meta, dedup_key, content_hash, occurred_at, recorded_at, accessed_at, access_count, version,
                      superseded_by, superseded_at, expires_at, archived_at, deleted_at, trust, maker, slot, confirmed_at)
VALUES (:owner, :id, :project, :kind, :content, :why, :tags, :importance, :confidence, :origin, :session, :evidence, :anchors,
        :meta, :dedup_key, :content_hash, :occurred_at, :recorded_at, :accessed_at, :access_count, :version,
        :superseded_by, :superseded_at, :expires_at, :archived_at, :deleted_at, :trust, :maker, :slot, :confirmed_at)
RETURNING row;

-- name: update
UPDATE memories
SET project = :project, kind = :kind, origin = :origin, session = :session, content = :content, why = :why, tags = :tags, importance = :importance,
    confidence = :confidence,
    evidence = :evidence, anchors = :anchors, meta = :meta, dedup_key = :dedup_key, content_hash = :content_hash,
    occurred_at = :occurred_at, superseded_by = :superseded_by, superseded_at = :superseded_at, expires_at = :expires_at, archived_at = :archived_at,
    accessed_at = CASE WHEN archived_at IS NOT NULL AND :archived_at IS NULL THEN :at ELSE accessed_at END,
    deleted_at = :deleted_at, trust = :trust, maker = :maker, slot = :slot, confirmed_at = :confirmed_at, version = :version + 1
WHERE row = :row AND version = :version;

-- name: keep_version
INSERT INTO memory_versions (memory, version, kind, content, why, tags, importance, confidence, until)
SELECT row, version, kind, content, why, tags, importance, confidence, :until FROM memories WHERE row = :row;

-- name: add_version
INSERT INTO memory_versions (memory, version, kind, content, why, tags, importance, confidence, until)
VALUES (:memory, :version, :kind, :content, :why, :tags, :importance, :confidence, :until);

-- name: versions
SELECT v.version, v.kind, v.content, v.why, v.tags, v.importance, v.confidence, v.until
FROM memory_versions v JOIN memories m ON m.row = v.memory
WHERE m.owner = :owner AND m.id = :id AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
ORDER BY v.version;

-- name: find
SELECT * FROM memory_rows m
WHERE m.owner = :owner
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- The same of one session, by its index and not by time (`+`): few of very many.
-- name: find_of_session
SELECT * FROM memory_rows m
WHERE m.owner = :owner AND m.session = :session
  {memory_filter}
ORDER BY +m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_of_project
SELECT * FROM memory_rows m
WHERE m.owner = :owner AND m.project = :project
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_given
SELECT * FROM memory_rows m
WHERE m.row IN (SELECT value FROM json_each(:docs)) AND +m.owner = :owner
  {memory_filter}
ORDER BY +m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_pinned
SELECT * FROM memory_rows m
WHERE m.owner = :owner AND json_extract(m.meta, '$.pinned') IS NOT NULL
  {memory_filter}
ORDER BY +m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- What was softly forgotten and can be brought back, the latest first.
-- name: forgotten
SELECT * FROM memory_rows m
WHERE m.owner = :owner AND m.deleted_at IS NOT NULL AND m.content <> ''
  {memory_narrowed}
ORDER BY m.deleted_at DESC, m.id LIMIT :limit OFFSET :offset;

-- Of what agents may be told before they ask, the weightiest. All that is weighed is read from one index, which is named
-- because the planner does not know that; from each kind (CROSS JOIN) the planner would not begin by itself either. The same
-- holds for the few that were chosen: with what ANALYZE notes of very many, it would go through all of them instead.
-- name: weightiest
WITH kinds AS MATERIALIZED (SELECT key AS kind, value AS weight FROM json_each(:kinds)),
standing AS (
  SELECT m.row, k.weight, m.importance, m.occurred_at, m.confirmed_at, m.expires_at, 0 AS own
  FROM kinds k CROSS JOIN memories m INDEXED BY memories_standing
  WHERE m.owner = :owner AND m.project IS NULL AND m.kind = k.kind
    AND m.trust IN ('user', 'checked') AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL
  UNION ALL
  SELECT m.row, k.weight, m.importance, m.occurred_at, m.confirmed_at, m.expires_at, 1
  FROM kinds k CROSS JOIN memories m INDEXED BY memories_standing
  WHERE m.owner = :owner AND m.project = :scope_project AND m.kind = k.kind
    AND m.trust IN ('user', 'checked') AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL
)
SELECT r.* FROM (
  SELECT row, :kind * weight + :importance * importance + :own * own + :confirmed * (confirmed_at IS NOT NULL)
    + :recency / (1.0 + :decay * max(0.0, julianday(:now) - julianday(occurred_at))) AS worth
  FROM standing WHERE expires_at IS NULL OR expires_at > :now
  ORDER BY worth DESC, row DESC LIMIT :limit
) w CROSS JOIN memory_rows r ON r.row = w.row ORDER BY w.worth DESC, w.row DESC;

-- The newest that hold all of three pieces of text, among so many rows: what is typed is looked for while it is typed.
-- name: beginning
SELECT r.* FROM (
  SELECT row, content, occurred_at FROM memories
  WHERE owner = :owner AND deleted_at IS NULL AND (:any_project OR project IS NULL OR project = :scope_project)
  ORDER BY occurred_at DESC LIMIT :look
) m CROSS JOIN memory_rows r ON r.row = m.row
WHERE m.content LIKE :one ESCAPE '!' AND m.content LIKE :two ESCAPE '!' AND m.content LIKE :three ESCAPE '!'
  AND r.archived_at IS NULL AND r.superseded_at IS NULL
ORDER BY m.occurred_at DESC, r.id LIMIT :limit;

-- name: is_deleted
SELECT EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND evidence = :evidence AND deleted_at IS NOT NULL AND id <> :id);

-- name: supersede
UPDATE memories SET superseded_by = :by, superseded_at = :at, version = version + 1
WHERE owner = :owner AND id = :id AND version = :version AND superseded_at IS NULL RETURNING row;

-- name: of_session
SELECT * FROM memory_rows
WHERE owner = :owner AND session = :session AND deleted_at IS NULL
  AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY +occurred_at, id;  -- the plus: else the index on times is gone through, and with it every memory

-- Of the last rows of the file alone: no index knows when a row was recorded, and none is kept for this.
-- name: newest
SELECT * FROM memory_rows
WHERE row IN (SELECT row FROM memories ORDER BY row DESC LIMIT 10 * :limit) AND owner = :owner AND recorded_at >= :since
  AND deleted_at IS NULL AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY row DESC LIMIT :limit;

-- name: in_slot
SELECT * FROM memory_rows
WHERE owner = :owner AND slot = :slot AND deleted_at IS NULL AND (:history OR superseded_at IS NULL)
  AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY +occurred_at DESC, id;

-- name: marks
SELECT project_name, count(*), sum(version), max(row), sum(expires_at IS NOT NULL AND expires_at <= :now) FROM memory_rows
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
GROUP BY project_name;

-- name: like
SELECT * FROM memory_rows
WHERE owner = :owner AND dedup_key = :dedup_key AND project_name IS :project_name AND deleted_at IS NULL
  AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY superseded_at IS NOT NULL, occurred_at DESC, id;

-- name: replaced
SELECT * FROM memory_rows
WHERE owner = :owner AND superseded_by = :id AND deleted_at IS NULL
  AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY superseded_at DESC, id;

-- name: from_source
SELECT * FROM memory_rows
WHERE owner = :owner AND (deleted_at IS NOT NULL) = :deleted
  AND (session = :source OR origin = :source OR maker = :source OR json_extract(meta, '$.revoked.source') = :source
       OR EXISTS (SELECT 1 FROM json_each(evidence) e WHERE e.value ->> '$.session' = :source)
       OR EXISTS (SELECT 1 FROM json_each(meta, '$.said') s
                  WHERE CASE WHEN s.type = 'object'
                             THEN :source IN (s.value ->> '$.session', s.value ->> '$.origin', s.value ->> '$.maker') END))
  AND (:any_project OR project IS NULL OR project = :scope_project)
ORDER BY occurred_at, id;

-- name: touch
UPDATE memories SET access_count = access_count + r.value, accessed_at = :at FROM json_each(:reads) r
WHERE owner = :owner AND memories.id = r.key AND (:any_project OR project IS NULL OR project = :scope_project);
