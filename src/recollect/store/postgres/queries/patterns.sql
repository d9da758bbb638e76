-- Patterns, how they read before, what shows them, and where their rules were put.

-- name: get
SELECT {pattern} FROM patterns WHERE tenant = :tenant AND owner = :owner AND id = :id AND {pattern_visible};

-- name: find
SELECT {pattern} FROM patterns
WHERE tenant = :tenant AND owner = :owner AND (:state::text IS NULL OR state = :state) AND {pattern_visible}
ORDER BY id LIMIT :limit OFFSET :offset;

-- name: version
SELECT version FROM patterns WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: put
INSERT INTO patterns (tenant, owner, id, state, version, home, content, made_at, updated_at)
VALUES (:tenant, :owner, :id, :state, :version, :home, :content, :at, :at)
ON CONFLICT (tenant, owner, id) DO UPDATE SET
  state = excluded.state, version = excluded.version, home = excluded.home, content = excluded.content,
  updated_at = excluded.updated_at;

-- name: put_version
INSERT INTO pattern_versions (tenant, owner, pattern, version, content, at) VALUES (:tenant, :owner, :pattern, :version, :content, :at);

-- name: versions
SELECT version, content, at FROM pattern_versions WHERE tenant = :tenant AND owner = :owner AND pattern = :pattern ORDER BY version;

-- name: put_evidence
INSERT INTO pattern_evidence (tenant, owner, pattern, session, content, at) VALUES (:tenant, :owner, :pattern, :session, :content, :at)
ON CONFLICT (tenant, owner, pattern, session) DO UPDATE SET content = excluded.content, at = excluded.at;

-- name: drop_evidence
DELETE FROM pattern_evidence WHERE tenant = :tenant AND owner = :owner AND pattern = :pattern;

-- name: evidence
SELECT session, content, at FROM pattern_evidence WHERE tenant = :tenant AND owner = :owner AND pattern = :pattern
ORDER BY at DESC, session LIMIT :limit;

-- name: put_rollout
INSERT INTO rollouts (tenant, owner, id, pattern, state, content, begun_at, ended_at)
VALUES (:tenant, :owner, :id, :pattern, :state, :content, :begun_at, :ended_at)
ON CONFLICT (tenant, owner, id) DO UPDATE
SET state = excluded.state, content = excluded.content, begun_at = excluded.begun_at, ended_at = excluded.ended_at
WHERE rollouts.pattern = excluded.pattern;

-- name: rollouts
SELECT r.id, r.pattern, r.state, r.content, r.begun_at, r.ended_at FROM rollouts r
JOIN patterns ON patterns.tenant = r.tenant AND patterns.owner = r.owner AND patterns.id = r.pattern
WHERE r.tenant = :tenant AND r.owner = :owner AND (:pattern::text IS NULL OR r.pattern = :pattern) AND {pattern_visible}
ORDER BY r.begun_at, r.id;

-- name: drop
DELETE FROM patterns WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: drop_versions
DELETE FROM pattern_versions WHERE tenant = :tenant AND owner = :owner AND pattern = :id;

-- name: drop_rollouts
DELETE FROM rollouts WHERE tenant = :tenant AND owner = :owner AND pattern = :id;

-- name: shown_by
SELECT p.id, p.state, p.version, (
  SELECT count(*) FROM pattern_evidence o WHERE o.tenant = p.tenant AND o.owner = p.owner AND o.pattern = p.id AND o.session <> :session)
FROM pattern_evidence e JOIN patterns p ON p.tenant = e.tenant AND p.owner = e.owner AND p.id = e.pattern
WHERE e.tenant = :tenant AND e.owner = :owner AND e.session = :session;

-- name: forget_session
DELETE FROM pattern_evidence WHERE tenant = :tenant AND owner = :owner AND session = :session;

-- name: reword
UPDATE patterns SET content = :content WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: reword_version
UPDATE pattern_versions SET content = :content WHERE tenant = :tenant AND owner = :owner AND pattern = :pattern AND version = :version;

-- name: of_scope
SELECT id FROM patterns WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = :home::text);

-- name: shares
SELECT owner FROM pattern_sharing WHERE tenant = :tenant AND owner = :owner;

-- name: share
INSERT INTO pattern_sharing (tenant, owner, at) VALUES (:tenant, :owner, :at) ON CONFLICT DO NOTHING;

-- name: unshare
DELETE FROM pattern_sharing WHERE tenant = :tenant AND owner = :owner;

-- name: common
SELECT id, kind, users, approved, statement, rule FROM common_patterns(:k::integer);
