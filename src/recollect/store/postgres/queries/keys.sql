-- API keys.

-- name: add
INSERT INTO api_keys (tenant, owner, id, hash, env, name, permissions, project, created_at, expires_at)
VALUES (:tenant, :owner, :id, :hash, :env, :name, :permissions, :project, :created_at, :expires_at);

-- name: of
SELECT hash, tenant, username, env, permissions, project, expires_at, revoked_at, last_used_at FROM key_of(:id);

-- name: find
SELECT id, env, name, permissions, project, created_at, expires_at, revoked_at, replaced_by, last_used_at FROM api_keys
WHERE tenant = :tenant AND owner = :owner AND (:project::text IS NULL OR project = :project) ORDER BY row DESC;

-- name: revoke
UPDATE api_keys SET revoked_at = coalesce(revoked_at, :at) WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: replace
UPDATE api_keys SET replaced_by = :by, expires_at = :until WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: used
UPDATE api_keys SET last_used_at = :at
WHERE tenant = :tenant AND owner = :owner AND id = :id AND (last_used_at IS NULL OR last_used_at <= :before);
