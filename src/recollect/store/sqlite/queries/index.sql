-- The full-text indexes. They keep no text of their own, so taking an entry out needs the very text that was put in.

-- name: add_memory
INSERT INTO memory_fts (rowid, content, extra) VALUES (:doc, :content, :extra);

-- name: drop_memory
INSERT INTO memory_fts (memory_fts, rowid, content, extra) VALUES ('delete', :doc, :content, :extra);

-- name: add_gist
INSERT INTO gist_fts (rowid, content) VALUES (:doc, :content);

-- name: drop_gist
INSERT INTO gist_fts (gist_fts, rowid, content) VALUES ('delete', :doc, :content);

-- name: add_turn
INSERT INTO turn_fts (rowid, user, agent) VALUES (:doc, :user, :agent);

-- name: drop_turn
INSERT INTO turn_fts (turn_fts, rowid, user, agent) VALUES ('delete', :doc, :user, :agent);

-- name: memory
SELECT owner, content, why, tags FROM memories WHERE row = :doc;

-- name: gist
SELECT owner, content FROM gists WHERE row = :doc;

-- name: turn
SELECT owner FROM turns WHERE row = :doc;

-- name: turn_events
SELECT {speaker}, substr(text, 1, 65536) FROM events
WHERE turn = :doc AND {spoken} ORDER BY position;

-- name: count
INSERT INTO indexed (tier, owner, rows) VALUES (:tier, :owner, :by), (:tier, 0, :by)
ON CONFLICT DO UPDATE SET rows = rows + excluded.rows;

-- name: forget_counts
DELETE FROM indexed;

-- name: wait
INSERT INTO pending (tier, doc, owner, ticket) VALUES (:tier, :doc, :owner, random())
ON CONFLICT DO UPDATE SET ticket = excluded.ticket;

-- name: unwait
DELETE FROM pending WHERE tier = :tier AND doc = :doc;

-- name: drop_vectors
DELETE FROM vectors WHERE tier = :tier AND doc = :doc;
UPDATE owners SET epoch = epoch + 1 WHERE row = :owner;

-- name: all_memory
SELECT row FROM memories WHERE deleted_at IS NULL ORDER BY row;

-- name: all_gist
SELECT row FROM gists ORDER BY row;

-- name: all_turn
SELECT row FROM turns ORDER BY row;

-- name: clear_memory
INSERT INTO memory_fts (memory_fts) VALUES ('delete-all');

-- name: clear_gist
INSERT INTO gist_fts (gist_fts) VALUES ('delete-all');

-- name: clear_turn
INSERT INTO turn_fts (turn_fts) VALUES ('delete-all');

-- name: set_version
INSERT INTO meta (key, value) VALUES ('index_version', :version)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: version
SELECT value FROM meta WHERE key = 'index_version';

-- Many rows at once. A turn comes with each of its events, or once with nothing.

-- name: texts_memory
SELECT row, owner, content, why, tags FROM memories WHERE row IN (SELECT value FROM json_each(:docs));

-- name: texts_gist
SELECT row, owner, content FROM gists WHERE row IN (SELECT value FROM json_each(:docs));

-- name: texts_turn
SELECT t.row, t.owner, e.who, e.said FROM turns t LEFT JOIN (
  SELECT turn, position, {speaker} AS who, substr(text, 1, 65536) AS said FROM events
  WHERE turn IN (SELECT value FROM json_each(:docs)) AND {spoken}
) e ON e.turn = t.row
WHERE t.row IN (SELECT value FROM json_each(:docs)) ORDER BY t.row, e.position;

-- name: wait_memory
INSERT INTO pending (tier, doc, owner, ticket) SELECT 'memory', row, owner, random() FROM memories
WHERE row IN (SELECT value FROM json_each(:docs)) ON CONFLICT DO UPDATE SET ticket = excluded.ticket;

-- name: wait_gist
INSERT INTO pending (tier, doc, owner, ticket) SELECT 'gist', row, owner, random() FROM gists
WHERE row IN (SELECT value FROM json_each(:docs)) ON CONFLICT DO UPDATE SET ticket = excluded.ticket;

-- name: wait_turn
INSERT INTO pending (tier, doc, owner, ticket) SELECT 'turn', row, owner, random() FROM turns
WHERE row IN (SELECT value FROM json_each(:docs)) ON CONFLICT DO UPDATE SET ticket = excluded.ticket;
