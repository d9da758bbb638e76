-- Memories and their versions.

-- name: get
SELECT {memory} FROM memory_rows WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: get_many
SELECT {memory} FROM memory_rows WHERE tenant = :tenant AND owner = :owner AND {visible}
  AND id = ANY (ARRAY(SELECT json_array_elements_text(:ids::json)));

-- name: twin
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND coalesce(project, 0) = :project AND dedup_key = :dedup_key
  AND deleted_at IS NULL AND superseded_at IS NULL;

-- name: is_forgotten
SELECT (EXISTS (SELECT 1 FROM tombstones WHERE tenant = :tenant AND owner = :owner AND key = :key))::integer;

-- name: add
INSERT INTO memories (tenant, owner, id, project, kind, content, why, tags, importance, confidence, origin, session, evidence,
                      anchors, meta, dedup_key, content_hash, occurred_at, recorded_at, accessed_at, access_count, version,
                      superseded_by, superseded_at, expires_at, archived_at, deleted_at, trust, maker, slot, confirmed_at)
VALUES (:tenant, :owner, :id, :project, :kind, :content, :why, :tags, :importance, :confidence, :origin, :session, :evidence,
        :anchors, :meta, :dedup_key, :content_hash, :occurred_at, :recorded_at, :accessed_at, :access_count, :version,
        :superseded_by, :superseded_at, :expires_at, :archived_at, :deleted_at, :trust, :maker, :slot, :confirmed_at)
RETURNING row;

-- name: update
UPDATE memories
SET project = :project, kind = :kind, origin = :origin, session = :session, content = :content, why = :why, tags = :tags,
    importance = :importance,
    confidence = :confidence, evidence = :evidence, anchors = :anchors, meta = :meta, dedup_key = :dedup_key,
    content_hash = :content_hash, occurred_at = :occurred_at, superseded_by = :superseded_by, superseded_at = :superseded_at,
    expires_at = :expires_at, archived_at = :archived_at,
    accessed_at = CASE WHEN archived_at IS NOT NULL AND :archived_at::timestamptz IS NULL THEN :at::timestamptz ELSE accessed_at END, deleted_at = :deleted_at, trust = :trust, maker = :maker, slot = :slot,
    confirmed_at = :confirmed_at, version = :version::integer + 1
WHERE tenant = :tenant AND row = :row AND version = :version::integer;

-- name: keep_version
INSERT INTO memory_versions (tenant, owner, memory, version, kind, content, why, tags, importance, confidence, until)
SELECT tenant, owner, row, version, kind, content, why, tags, importance, confidence, :until::timestamptz
FROM memories WHERE tenant = :tenant AND row = :row;

-- name: add_version
INSERT INTO memory_versions (tenant, owner, memory, version, kind, content, why, tags, importance, confidence, until)
VALUES (:tenant, :owner, :memory, :version, :kind, :content, :why, :tags, :importance, :confidence, :until);

-- name: versions
SELECT v.version, v.kind, v.content, v.why, v.tags, v.importance, v.confidence, v.until
FROM memory_versions v JOIN memories m ON m.tenant = v.tenant AND m.row = v.memory
WHERE m.tenant = :tenant AND m.owner = :owner AND m.id = :id
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
ORDER BY v.version;

-- name: find
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- The same of one session, by its index: few of very many.
-- name: find_of_session
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.session = :session::text
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_given
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.row = ANY (:docs::bigint[])
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_of_project
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.project = :project::bigint
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_given
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.row = ANY (:docs::bigint[]) AND m.owner = :owner
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- name: find_pinned
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.meta ->> 'pinned' IS NOT NULL
  {memory_filter}
ORDER BY m.occurred_at DESC, m.id LIMIT :limit OFFSET :offset;

-- What was softly forgotten and can be brought back, the latest first.
-- name: forgotten
SELECT {memory} FROM memory_rows m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.deleted_at IS NOT NULL AND m.content <> ''
  {memory_narrowed}
ORDER BY m.deleted_at DESC, m.id LIMIT :limit OFFSET :offset;

-- Of what agents may be told before they ask, the weightiest: the index has all that is weighed.
-- name: weightiest
WITH kinds AS MATERIALIZED (SELECT key AS kind, value::float8 AS weight FROM json_each_text(:kinds::json)),
standing AS (
  SELECT row, kind, importance, occurred_at, confirmed_at, expires_at, 0 AS own FROM memories
  WHERE tenant = :tenant AND owner = :owner AND project IS NULL AND kind = ANY (ARRAY(SELECT kind FROM kinds))
    AND trust IN ('user', 'checked') AND deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL
  UNION ALL
  SELECT row, kind, importance, occurred_at, confirmed_at, expires_at, 1 FROM memories
  WHERE tenant = :tenant AND owner = :owner AND project = :scope_project::bigint AND kind = ANY (ARRAY(SELECT kind FROM kinds))
    AND trust IN ('user', 'checked') AND deleted_at IS NULL AND superseded_at IS NULL AND archived_at IS NULL
), best AS MATERIALIZED (
  SELECT s.row, :kind::float8 * k.weight + :importance::float8 * s.importance + :own::float8 * s.own
    + :confirmed::float8 * (s.confirmed_at IS NOT NULL)::int + :recency::float8
    / (1.0 + :decay::float8 * greatest(0.0, date_part('epoch', :now::timestamptz - s.occurred_at) / 86400.0)) AS worth
  FROM standing s JOIN kinds k ON k.kind = s.kind WHERE s.expires_at IS NULL OR s.expires_at > :now::timestamptz
  ORDER BY worth DESC, s.row DESC LIMIT :limit
)
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND row = ANY (ARRAY(SELECT row FROM best));

-- The newest that hold all of three pieces of text, among so many rows: what is typed is looked for while it is typed.
-- name: beginning
SELECT {memory} FROM (
  SELECT m.* FROM memory_rows m
  WHERE m.tenant = :tenant AND m.owner = :owner AND m.deleted_at IS NULL
    AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
  ORDER BY m.occurred_at DESC LIMIT :look
) m
WHERE content ILIKE :one ESCAPE '!' AND content ILIKE :two ESCAPE '!' AND content ILIKE :three ESCAPE '!'
  AND archived_at IS NULL AND superseded_at IS NULL
ORDER BY occurred_at DESC, id LIMIT :limit;

-- name: is_deleted
SELECT (EXISTS (SELECT 1 FROM memories
                WHERE tenant = :tenant AND owner = :owner AND evidence = :evidence AND deleted_at IS NOT NULL AND id <> :id))::integer;

-- name: supersede
UPDATE memories SET superseded_by = :by, superseded_at = :at, version = version + 1
WHERE tenant = :tenant AND owner = :owner AND id = :id AND version = :version AND superseded_at IS NULL RETURNING row;

-- name: of_session
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND session = :session AND deleted_at IS NULL AND {visible}
ORDER BY occurred_at, id;

-- Of the owner's last rows alone: no index knows when a row was recorded, and none is kept for this.
-- name: newest
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND recorded_at >= :since AND deleted_at IS NULL AND {visible}
  AND row = ANY (ARRAY(SELECT n.row FROM memories n WHERE n.tenant = :tenant AND n.owner = :owner ORDER BY n.row DESC LIMIT :limit))
ORDER BY row DESC;

-- name: in_slot
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND slot = :slot AND deleted_at IS NULL AND (:history OR superseded_at IS NULL)
  AND {visible}
ORDER BY occurred_at DESC, id;

-- name: marks
SELECT project_name, count(*), sum(version), max(row), sum((expires_at IS NOT NULL AND expires_at <= :now)::integer)
FROM memory_rows WHERE tenant = :tenant AND owner = :owner AND {visible}
GROUP BY project_name;

-- name: like
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND dedup_key = :dedup_key AND project_name IS NOT DISTINCT FROM :project_name::text
  AND deleted_at IS NULL AND {visible}
ORDER BY superseded_at IS NOT NULL, occurred_at DESC, id;

-- name: replaced
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND superseded_by = :id AND deleted_at IS NULL AND {visible}
ORDER BY superseded_at DESC, id;

-- name: from_source
SELECT {memory} FROM memory_rows
WHERE tenant = :tenant AND owner = :owner AND (deleted_at IS NOT NULL) = :deleted
  AND (session = :source OR origin = :source OR maker = :source OR meta #>> '{revoked,source}' = :source
       OR EXISTS (SELECT 1 FROM json_array_elements(evidence::json) e WHERE e ->> 'session' = :source)
       OR EXISTS (SELECT 1 FROM json_array_elements(CASE json_typeof(meta -> 'said') WHEN 'array' THEN meta -> 'said' ELSE '[]' END) s
                  WHERE json_typeof(s) = 'object' AND :source IN (s ->> 'session', s ->> 'origin', s ->> 'maker')))
  AND {visible}
ORDER BY occurred_at, id;

-- name: touch
UPDATE memories SET access_count = access_count + r.value::bigint, accessed_at = :at FROM json_each_text(:reads::json) r
WHERE tenant = :tenant AND owner = :owner AND id = r.key AND {visible};

-- Many at once: the rows are a JSON array with an object for each.

-- name: known_ids
SELECT id FROM memories WHERE tenant = :tenant AND owner = :owner AND id = ANY (:ids::text[]);

-- name: known_texts
SELECT coalesce(project, 0), dedup_key FROM memories
WHERE tenant = :tenant AND owner = :owner AND dedup_key = ANY (:keys::bytea[]) AND deleted_at IS NULL AND superseded_at IS NULL;

-- name: buried
SELECT key FROM tombstones WHERE tenant = :tenant AND owner = :owner AND key = ANY (:keys::bytea[]);

-- name: deleted_evidence
SELECT evidence FROM memories
WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NOT NULL AND evidence = ANY (:evidence::text[]);

-- name: numbers
SELECT nextval('numbers') FROM generate_series(1, :count);

-- name: add_rows
INSERT INTO memories (tenant, owner, row, id, project, kind, content, why, tags, importance, confidence, origin, session, evidence,
                      anchors, meta, dedup_key, content_hash, occurred_at, recorded_at, accessed_at, access_count, version,
                      superseded_by, superseded_at, expires_at, archived_at, deleted_at, trust, maker, slot, confirmed_at)
SELECT :tenant, :owner, r.row, r.id, r.project, r.kind, r.content, r.why, r.tags::jsonb, r.importance, r.confidence, r.origin,
       r.session, r.evidence, r.anchors::json, r.meta::json, r.dedup_key, r.content_hash, r.occurred_at, r.recorded_at,
       r.accessed_at, r.access_count, r.version, r.superseded_by, r.superseded_at, r.expires_at, r.archived_at, r.deleted_at,
       r.trust, r.maker, r.slot, r.confirmed_at
FROM json_to_recordset(:rows::json) AS r (
  row bigint, id text, project bigint, kind text, content text, why text, tags text, importance float8, confidence float8,
  origin text, session text, evidence text, anchors text, meta text, dedup_key bytea, content_hash bytea,
  occurred_at timestamptz, recorded_at timestamptz, accessed_at timestamptz, access_count bigint, version integer,
  superseded_by text, superseded_at timestamptz, expires_at timestamptz, archived_at timestamptz, deleted_at timestamptz,
  trust text, maker text, slot text, confirmed_at timestamptz);

-- name: add_versions
INSERT INTO memory_versions (tenant, owner, memory, version, kind, content, why, tags, importance, confidence, until)
SELECT :tenant, :owner, r.memory, r.version, r.kind, r.content, r.why, r.tags::jsonb, r.importance, r.confidence, r.until
FROM json_to_recordset(:rows::json) AS r (
  memory bigint, version integer, kind text, content text, why text, tags text, importance float8, confidence float8,
  until timestamptz);

-- name: add_words
WITH given AS (SELECT * FROM json_to_recordset(:rows::json) AS r (doc bigint, size integer, search text)),
     found AS (
  INSERT INTO words (tenant, owner, tier, doc, size, search, stamp)
  SELECT :tenant, :owner, 'memory', g.doc, g.size, g.search::tsvector, :stamp FROM given g)
INSERT INTO pending (tenant, owner, tier, doc, ticket)
SELECT :tenant, :owner, 'memory', g.doc, nextval('numbers') FROM given g;
