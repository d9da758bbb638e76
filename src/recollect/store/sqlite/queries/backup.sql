-- What a backup's digest covers: everything that is not derived.

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
INSERT INTO meta (key, value) VALUES ('backup_digest', :digest) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: sealed
SELECT value FROM meta WHERE key = 'backup_digest';
