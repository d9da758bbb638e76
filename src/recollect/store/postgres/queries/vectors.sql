-- Which model the vectors are of, what waits for one, and putting them in.

-- name: active
SELECT m.row, m.name, m.dim FROM meta JOIN models m ON m.row = meta.value::bigint WHERE meta.key = 'embedding_model';

-- name: add_model
INSERT INTO models (name, dim) VALUES (:name, :dim) ON CONFLICT DO NOTHING;

-- The first to write decides: whoever comes second finds what the first chose.
-- name: activate
INSERT INTO meta (key, value) SELECT 'embedding_model', row FROM models WHERE name = :name AND dim = :dim
ON CONFLICT (key) DO NOTHING;

-- name: deactivate
DELETE FROM meta WHERE key IN ('embedding_model', 'vector_engine');

-- name: every_owner
SELECT tenant, username FROM every_owner();

-- name: waiting
SELECT tenant, username, doc, ticket FROM waiting(:tier, :limit);

-- name: whose
SELECT doc, tenant, username FROM whose(:tier, :docs::bigint[]);

-- name: pending
SELECT waiting_in_all(:most);

-- name: memory_texts
SELECT row, content FROM memories WHERE tenant = :tenant AND owner = :owner AND row = ANY (:docs::bigint[]);

-- name: gist_texts
SELECT row, content FROM gists WHERE tenant = :tenant AND owner = :owner AND row = ANY (:docs::bigint[]);

-- name: turn_texts
SELECT turn, {speaker}, text FROM events
WHERE tenant = :tenant AND owner = :owner AND turn = ANY (:docs::bigint[]) AND {spoken} ORDER BY turn, position;

-- name: still_waiting
SELECT doc FROM pending WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[]);

-- name: drop_old
DELETE FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[]) RETURNING doc;

-- name: add
WITH told AS (
  INSERT INTO engine_changes (tenant, owner, tier, doc, ticket)
  SELECT :tenant, :owner, :tier, d.doc, nextval('numbers') FROM (SELECT DISTINCT unnest(:docs::bigint[]) AS doc) d
  WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'vector_engine')
  ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket)
INSERT INTO vectors (tenant, owner, tier, doc, place, by_user, model, vector, stamp)
SELECT :tenant, :owner, :tier, v.doc, v.place, v.by_user, :model, v.vector::halfvec, :stamp
FROM unnest(:docs::bigint[], :places::smallint[], :by_user::boolean[], :vectors::text[]) v (doc, place, by_user, vector);

-- The row is locked from here on, and its stamp is the next: whoever comes second gets a higher one and commits later.
-- name: count
INSERT INTO indexed AS i (tenant, owner, tier, vectored, vectors) VALUES (:tenant, :owner, :tier, :docs, :vectors)
ON CONFLICT (tenant, owner, tier) DO UPDATE SET vectored = i.vectored + excluded.vectored, vectors = i.vectors + excluded.vectors
RETURNING stamp;

-- name: done
DELETE FROM pending p USING unnest(:docs::bigint[], :tickets::bigint[]) d (doc, ticket)
WHERE p.tenant = :tenant AND p.owner = :owner AND p.tier = :tier AND p.doc = d.doc AND p.ticket = d.ticket;

-- name: clear
DELETE FROM vectors WHERE tenant = :tenant AND owner = :owner;

-- name: clear_counts
UPDATE indexed SET vectored = 0, vectors = 0 WHERE tenant = :tenant AND owner = :owner;

-- name: queue_all
INSERT INTO pending (tenant, tier, doc, owner, ticket)
SELECT tenant, 'memory', row, owner, nextval('numbers') FROM memories
WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NULL
UNION ALL SELECT tenant, 'gist', row, owner, nextval('numbers') FROM gists WHERE tenant = :tenant AND owner = :owner
UNION ALL SELECT tenant, 'turn', row, owner, nextval('numbers') FROM turns WHERE tenant = :tenant AND owner = :owner
ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket;
