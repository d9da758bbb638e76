-- The full-text index and the queue of texts that wait for a vector. What comes in is counted first, which gives its stamp:
-- other processes find what changed by it.

-- name: add
INSERT INTO words (tenant, owner, tier, doc, size, search, stamp)
VALUES (:tenant, :owner, :tier, :doc, :size, array_to_tsvector(:search::text[]), :stamp);

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
ON CONFLICT (tenant, owner, tier) DO UPDATE SET rows = i.rows + excluded.rows, words = i.words + excluded.words
RETURNING worded;

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

-- Many rows at once. A turn comes with each of its events, or once with nothing.

-- name: texts_memory
SELECT row, owner, content, why, tags FROM memories
WHERE tenant = :tenant AND owner = :owner AND row = ANY (:docs::bigint[]);

-- name: texts_gist
SELECT row, owner, content FROM gists WHERE tenant = :tenant AND owner = :owner AND row = ANY (:docs::bigint[]);

-- name: texts_turn
SELECT t.row, t.owner, e.who, e.said FROM turns t LEFT JOIN (
  SELECT turn, position, {speaker} AS who, substr(text, 1, 65536) AS said FROM events
  WHERE tenant = :tenant AND owner = :owner AND turn = ANY (:docs::bigint[]) AND {spoken}
) e ON e.turn = t.row
WHERE t.tenant = :tenant AND t.owner = :owner AND t.row = ANY (:docs::bigint[]) ORDER BY t.row, e.position;

-- name: add_rows
INSERT INTO words (tenant, owner, tier, doc, size, search, stamp)
SELECT :tenant, :owner, :tier, r.doc, r.size, r.search::tsvector, :stamp
FROM json_to_recordset(:rows::json) AS r (doc bigint, size integer, search text);

-- name: wait_memory
INSERT INTO pending (tenant, owner, tier, doc, ticket)
SELECT :tenant, :owner, 'memory', doc, nextval('numbers') FROM unnest(:docs::bigint[]) d (doc)
ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket;

-- name: wait_gist
INSERT INTO pending (tenant, owner, tier, doc, ticket)
SELECT :tenant, :owner, 'gist', doc, nextval('numbers') FROM unnest(:docs::bigint[]) d (doc)
ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket;

-- name: wait_turn
INSERT INTO pending (tenant, owner, tier, doc, ticket)
SELECT :tenant, :owner, 'turn', doc, nextval('numbers') FROM unnest(:docs::bigint[]) d (doc)
ON CONFLICT (tenant, owner, tier, doc) DO UPDATE SET ticket = excluded.ticket;
