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

-- Of every owner who waits the newest few, in slices of 16: first one of each, the smallest before the others, then the next
-- of each. So nobody's import is before everybody else's texts. Which owners there are is found by going from one to the next
-- in the index; the more there are, the fewer of each are looked at.
-- name: waiting
WITH RECURSIVE who (owner) AS MATERIALIZED (
  SELECT min(owner) FROM pending INDEXED BY pending_by_owner WHERE tier = :tier
  UNION ALL
  SELECT (SELECT min(p.owner) FROM pending p INDEXED BY pending_by_owner WHERE p.tier = :tier AND p.owner > who.owner)
  FROM who WHERE who.owner IS NOT NULL),
share (most) AS MATERIALIZED (SELECT min(:limit, max(16, 4096 / max(count(owner), 1))) FROM who),
placed AS (
  SELECT p.owner, p.doc, p.ticket, (row_number() OVER (PARTITION BY p.owner ORDER BY p.doc DESC) - 1) / 16 AS slice
  FROM who CROSS JOIN pending p INDEXED BY pending_by_owner
  WHERE p.tier = :tier AND p.owner = who.owner AND p.doc >= ifnull((
    SELECT n.doc FROM pending n INDEXED BY pending_by_owner WHERE n.tier = :tier AND n.owner = who.owner
    ORDER BY n.doc DESC LIMIT 1 OFFSET (SELECT most - 1 FROM share)), 0))
SELECT owner, doc, ticket FROM placed
ORDER BY slice, count(*) OVER (PARTITION BY owner, slice), max(doc) OVER (PARTITION BY owner, slice) DESC, doc DESC LIMIT :limit;

-- name: pending
SELECT count(*) FROM (SELECT 1 FROM pending LIMIT :most);

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
