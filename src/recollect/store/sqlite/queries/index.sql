-- The full-text indexes. They keep no text of their own, so taking an entry out needs the very text that was put in.

-- name: add_memory
INSERT INTO memory_fts (rowid, scope, content, extra) VALUES (:doc, :scope, :content, :extra);

-- name: drop_memory
INSERT INTO memory_fts (memory_fts, rowid, scope, content, extra) VALUES ('delete', :doc, :scope, :content, :extra);

-- name: add_gist
INSERT INTO gist_fts (rowid, scope, content) VALUES (:doc, :scope, :content);

-- name: drop_gist
INSERT INTO gist_fts (gist_fts, rowid, scope, content) VALUES ('delete', :doc, :scope, :content);

-- name: add_turn
INSERT INTO turn_fts (rowid, scope, user, agent) VALUES (:doc, :scope, :user, :agent);

-- name: drop_turn
INSERT INTO turn_fts (turn_fts, rowid, scope, user, agent) VALUES ('delete', :doc, :scope, :user, :agent);

-- name: memory
SELECT row AS doc, owner, project, content, why, tags FROM memories WHERE row = :doc;

-- name: gist
SELECT row AS doc, owner, project, content FROM gists WHERE row = :doc;

-- name: turn
SELECT row AS doc, owner, project FROM turns WHERE row = :doc;

-- name: turn_events
SELECT role, text FROM events WHERE turn = :doc ORDER BY position;

-- name: count
UPDATE indexed SET rows = rows + :by WHERE tier = :tier;

-- name: counted
UPDATE indexed SET rows = :rows WHERE tier = :tier;

-- name: measure_turn
UPDATE turns SET chars = :chars WHERE row = :doc;

-- name: wait
INSERT INTO pending (tier, doc, owner, ticket) VALUES (:tier, :doc, :owner, random())
ON CONFLICT DO UPDATE SET ticket = excluded.ticket;

-- name: unwait
DELETE FROM pending WHERE tier = :tier AND doc = :doc;

-- name: drop_vectors
DELETE FROM vectors WHERE tier = :tier AND doc = :doc;

-- name: rise_epoch
UPDATE owners SET epoch = epoch + 1 WHERE row = :owner;

-- name: all_memories
SELECT row FROM memories WHERE deleted_at IS NULL ORDER BY row;

-- name: all_gists
SELECT row FROM gists ORDER BY row;

-- name: all_turns
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
