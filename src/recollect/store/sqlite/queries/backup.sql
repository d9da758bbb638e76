-- What a backup's digest covers: everything that is not derived. The tables by name are those of the first backups.

-- name: owners
SELECT row, tenant, user FROM owners ORDER BY row;

-- name: projects
SELECT * FROM projects ORDER BY row;

-- name: sessions
SELECT * FROM sessions ORDER BY row;

-- name: turns
SELECT * FROM turns ORDER BY row;

-- name: events
SELECT * FROM events ORDER BY row;

-- name: gists
SELECT * FROM gists ORDER BY row;

-- name: memories
SELECT * FROM memories ORDER BY row;

-- name: memory_versions
SELECT * FROM memory_versions ORDER BY memory, version;

-- name: tombstones
SELECT * FROM tombstones ORDER BY owner, key;

-- name: audit
SELECT * FROM audit ORDER BY row;

-- A copy has no vector engine: the one beside the original goes on with that.
-- name: seal
DELETE FROM meta WHERE key IN ('vector_engine', 'vector_engine_store');
INSERT INTO meta (key, value) VALUES ('backup_seal', :digest) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: seals
SELECT key, value FROM meta WHERE key IN ('backup_seal', 'backup_digest');

-- An epoch is that of vectors kept in some process's memory.
-- name: tables
SELECT t.name, json_group_array(c.name ORDER BY c.cid)
FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0
  AND t.name NOT IN ('meta', 'models', 'vectors', 'pending', 'indexed') AND (t.name, c.name) <> ('owners', 'epoch')
GROUP BY t.name ORDER BY t.name;

-- name: make_body_files
CREATE TABLE IF NOT EXISTS body_files (owner INTEGER NOT NULL, hash BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (owner, hash));

-- name: kept_bodies
SELECT owner, hash FROM bodies WHERE evicted_at IS NULL ORDER BY owner, hash;

-- name: add_body_file
INSERT INTO body_files (owner, hash, data) VALUES (:owner, :hash, :data);

-- name: has_body_files
SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'body_files';

-- name: body_files
SELECT owner, hash, data FROM body_files;

-- name: drop_body_files
DROP TABLE body_files;

-- name: evict_missing
UPDATE bodies SET evicted_at = :at WHERE evicted_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM body_files f WHERE f.owner = bodies.owner AND f.hash = bodies.hash);

-- name: evict_all
UPDATE bodies SET evicted_at = :at WHERE evicted_at IS NULL;
