-- The full-text index and the queue of texts that wait for a vector.

-- name: add
INSERT INTO words (tenant, owner, tier, doc, size, search)
VALUES (:tenant, :owner, :tier, :doc, :size, array_to_tsvector(:search::text[]));

-- name: drop
DELETE FROM words WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc RETURNING size;

-- name: memory
SELECT owner, content, why, tags FROM memories WHERE tenant = :tenant AND row = :doc;

-- name: gist
SELECT owner, content FROM gists WHERE tenant = :tenant AND row = :doc;

-- name: turn
SELECT owner FROM turns WHERE tenant = :tenant AND row = :doc;

-- name: turn_events
SELECT {speaker}, substr(text, 1, 65536) FROM events
WHERE tenant = :tenant AND turn = :doc AND {spoken} ORDER BY position;

-- name: count
INSERT INTO indexed AS i (tenant, owner, tier, rows, words) VALUES (:tenant, :owner, :tier, :by, :size)
ON CONFLICT (tenant, owner, tier) DO UPDATE SET rows = i.rows + excluded.rows, words = i.words + excluded.words;

-- name: forget_counts
UPDATE indexed SET rows = 0, words = 0 WHERE tenant = :tenant AND owner = :owner;

-- name: wait
INSERT INTO pending (tenant, tier, doc, owner, ticket) VALUES (:tenant, :tier, :doc, :owner, nextval('numbers'))
ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket;

-- name: unwait
DELETE FROM pending WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc;

-- name: drop_vectors
WITH gone AS (DELETE FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc RETURNING doc),
told AS (
  INSERT INTO engine_changes (tenant, owner, tier, doc, ticket)
  SELECT :tenant, :owner, :tier, g.doc, nextval('numbers') FROM (SELECT DISTINCT doc FROM gone) g
  WHERE EXISTS (SELECT 1 FROM meta WHERE key = 'vector_engine')
  ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket)
UPDATE indexed SET vectored = vectored - (SELECT count(DISTINCT doc) FROM gone), vectors = vectors - (SELECT count(*) FROM gone)
WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND EXISTS (SELECT 1 FROM gone);

-- name: all_memory
SELECT row FROM memories WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NULL ORDER BY row;

-- name: all_gist
SELECT row FROM gists WHERE tenant = :tenant AND owner = :owner ORDER BY row;

-- name: all_turn
SELECT row FROM turns WHERE tenant = :tenant AND owner = :owner ORDER BY row;

-- name: clear_memory
DELETE FROM words WHERE tenant = :tenant AND owner = :owner AND tier = 'memory';

-- name: clear_gist
DELETE FROM words WHERE tenant = :tenant AND owner = :owner AND tier = 'gist';

-- name: clear_turn
DELETE FROM words WHERE tenant = :tenant AND owner = :owner AND tier = 'turn';

-- name: set_version
INSERT INTO meta (key, value) VALUES ('index_version', :version)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: version
SELECT value FROM meta WHERE key = 'index_version';
