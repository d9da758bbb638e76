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
DELETE FROM meta WHERE key = 'embedding_model';

-- name: every_owner
SELECT tenant, username FROM every_owner();

-- name: waiting
SELECT tenant, username, doc, ticket FROM waiting(:tier, :limit);

-- name: whose
SELECT doc, tenant, username FROM whose(:tier, :docs::bigint[]);

-- name: pending
SELECT pending FROM totals();

-- name: memory_text
SELECT content, why FROM memories WHERE tenant = :tenant AND row = :doc;

-- name: gist_text
SELECT content FROM gists WHERE tenant = :tenant AND row = :doc;

-- name: turn_text
SELECT {speaker}, text FROM events WHERE tenant = :tenant AND turn = :doc AND {spoken} ORDER BY position;

-- name: is_waiting
SELECT 1 FROM pending WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc;

-- name: drop_old
DELETE FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc RETURNING place;

-- name: add
INSERT INTO vectors (tenant, owner, tier, doc, place, by_user, model, vector)
SELECT :tenant, :owner, :tier, :doc, v.place - 1, v.place <= :leading, :model, v.vector::halfvec
FROM unnest(:vectors::text[]) WITH ORDINALITY v (vector, place);

-- name: count
UPDATE indexed SET vectored = vectored + :docs, vectors = vectors + :vectors
WHERE tenant = :tenant AND owner = :owner AND tier = :tier;

-- name: done
DELETE FROM pending WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc AND ticket = :ticket;

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
