-- API keys.

-- name: add
INSERT INTO api_keys (owner, id, hash, env, name, permissions, project, created_at, expires_at)
VALUES (:owner, :id, :hash, :env, :name, :permissions, :project, :created_at, :expires_at);

-- name: of
SELECT k.hash, o.tenant, o.user, k.env, k.permissions, k.project, k.expires_at, k.revoked_at, k.last_used_at
FROM api_keys k JOIN owners o ON o.row = k.owner WHERE k.id = :id;

-- name: find
SELECT id, env, name, permissions, project, created_at, expires_at, revoked_at, replaced_by, last_used_at FROM api_keys
WHERE owner = :owner AND (:project IS NULL OR project = :project) ORDER BY row DESC;

-- name: revoke
UPDATE api_keys SET revoked_at = ifnull(revoked_at, :at) WHERE owner = :owner AND id = :id;

-- name: replace
UPDATE api_keys SET replaced_by = :by, expires_at = :until WHERE owner = :owner AND id = :id;

-- name: used
UPDATE api_keys SET last_used_at = :at WHERE owner = :owner AND id = :id AND ifnull(last_used_at, '') <= :before;
