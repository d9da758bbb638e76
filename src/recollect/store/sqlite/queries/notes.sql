-- Small facts about the whole store: which jobs run, which backups were made. Nothing of anybody's.

-- name: get
SELECT value FROM meta WHERE key = :key;

-- name: all
SELECT key, value FROM meta WHERE substr(key, 1, length(:prefix)) = :prefix ORDER BY key;

-- name: put
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: add
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING RETURNING 1;

-- name: replace
UPDATE meta SET value = :value WHERE key = :key AND value = :expected RETURNING 1;

-- name: drop
DELETE FROM meta WHERE key = :key;
