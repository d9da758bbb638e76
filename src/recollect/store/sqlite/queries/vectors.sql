-- Which model the vectors are of, what waits for one, and putting them in.

-- name: active
SELECT m.row, m.name, m.dim FROM meta JOIN models m ON m.row = CAST(meta.value AS INTEGER) WHERE meta.key = 'embedding_model';

-- name: add_model
INSERT INTO models (name, dim) VALUES (:name, :dim) ON CONFLICT DO NOTHING;

-- name: activate
INSERT INTO meta (key, value) SELECT 'embedding_model', row FROM models WHERE name = :name AND dim = :dim
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: deactivate
DELETE FROM meta WHERE key IN ('embedding_model', 'vector_engine');

-- name: waiting
SELECT doc, ticket FROM pending WHERE tier = :tier ORDER BY doc DESC LIMIT :limit;

-- name: pending
SELECT count(*) FROM pending;

-- name: memory_text
SELECT content, why FROM memories WHERE row = :doc;

-- name: gist_text
SELECT content FROM gists WHERE row = :doc;

-- name: turn_text
SELECT {speaker}, text FROM events WHERE turn = :doc AND {spoken} ORDER BY position;

-- name: owner
SELECT owner FROM pending WHERE tier = :tier AND doc = :doc;

-- name: drop_old
DELETE FROM vectors WHERE tier = :tier AND doc = :doc;

-- name: last_seq
SELECT ifnull(max(seq), 0) FROM vectors WHERE owner = :owner AND model = :model AND tier = :tier;

-- name: add
INSERT INTO vectors (owner, model, tier, seq, doc, leading, vector)
VALUES (:owner, :model, :tier, :seq, :doc, :leading, :vector);

-- name: done
DELETE FROM pending WHERE tier = :tier AND doc = :doc AND ticket = :ticket;

-- name: clear
DELETE FROM vectors;

-- name: rise_epochs
UPDATE owners SET epoch = epoch + 1;

-- name: queue_all
INSERT INTO pending (tier, doc, owner, ticket)
SELECT 'memory', row, owner, random() FROM memories WHERE deleted_at IS NULL
UNION ALL SELECT 'gist', row, owner, random() FROM gists
UNION ALL SELECT 'turn', row, owner, random() FROM turns
WHERE true ON CONFLICT DO UPDATE SET ticket = excluded.ticket;
