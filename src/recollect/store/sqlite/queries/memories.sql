-- Memories and their versions.

-- name: get
SELECT * FROM memory_rows
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: twin
SELECT * FROM memory_rows
WHERE owner = :owner AND ifnull(project, 0) = :project AND dedup_key = :dedup_key
  AND deleted_at IS NULL AND superseded_at IS NULL;

-- name: is_forgotten
SELECT EXISTS (SELECT 1 FROM tombstones WHERE owner = :owner AND key = :key);

-- name: add
INSERT INTO memories (owner, id, project, kind, content, why, tags, importance, confidence, origin, session, evidence, anchors,
                      meta, dedup_key, content_hash, occurred_at, recorded_at, accessed_at, access_count, version,
                      superseded_by, superseded_at, expires_at, archived_at, deleted_at)
VALUES (:owner, :id, :project, :kind, :content, :why, :tags, :importance, :confidence, :origin, :session, :evidence, :anchors,
        :meta, :dedup_key, :content_hash, :occurred_at, :recorded_at, :accessed_at, :access_count, :version,
        :superseded_by, :superseded_at, :expires_at, :archived_at, :deleted_at)
RETURNING row;

-- name: update
UPDATE memories
SET kind = :kind, content = :content, why = :why, tags = :tags, importance = :importance, confidence = :confidence,
    evidence = :evidence, anchors = :anchors, meta = :meta, dedup_key = :dedup_key, content_hash = :content_hash,
    superseded_by = :superseded_by, superseded_at = :superseded_at, expires_at = :expires_at, archived_at = :archived_at,
    deleted_at = :deleted_at, version = :version + 1
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
SELECT * FROM memory_rows
WHERE owner = :owner
  AND deleted_at IS NULL
  AND (:any_project OR project IS NULL OR project = :scope_project)
  AND (:project IS NULL OR project = :project)
  AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tags IS NULL OR EXISTS (SELECT 1 FROM json_each(memory_rows.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags))))
  AND (:session IS NULL OR session = :session)
  AND (:exclude_session IS NULL OR session IS NULL OR session <> :exclude_session)
  AND (:min_importance IS NULL OR importance >= :min_importance)
  AND (:since IS NULL OR occurred_at >= :since)
  AND (:until IS NULL OR occurred_at <= :until)
  AND (:archived OR archived_at IS NULL)
  AND (CASE WHEN :as_of IS NOT NULL
            THEN occurred_at <= :as_of AND (superseded_at IS NULL OR superseded_at > :as_of)
                 AND (expires_at IS NULL OR expires_at > :as_of)
            ELSE :history OR (superseded_at IS NULL AND (expires_at IS NULL OR expires_at > :now)) END)
ORDER BY occurred_at DESC, id LIMIT :limit OFFSET :offset;

-- name: touch
UPDATE memories SET access_count = access_count + :reads, accessed_at = :at
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: audit
INSERT INTO audit (owner, at, action, subject, details) VALUES (:owner, :at, :action, :subject, :details);
