-- Patterns, how they read before, what shows them, and where their rules were put.

-- name: get
SELECT {pattern} FROM patterns WHERE owner = :owner AND id = :id AND {pattern_visible};

-- name: find
SELECT {pattern} FROM patterns
WHERE owner = :owner AND (:state IS NULL OR state = :state) AND {pattern_visible}
ORDER BY id LIMIT :limit OFFSET :offset;

-- name: version
SELECT version FROM patterns WHERE owner = :owner AND id = :id;

-- name: put
INSERT INTO patterns (owner, id, state, version, home, content, made_at, updated_at)
VALUES (:owner, :id, :state, :version, :home, :content, :at, :at)
ON CONFLICT (owner, id) DO UPDATE SET
  state = excluded.state, version = excluded.version, home = excluded.home, content = excluded.content,
  updated_at = excluded.updated_at;

-- name: put_version
INSERT INTO pattern_versions (owner, pattern, version, content, at) VALUES (:owner, :pattern, :version, :content, :at);

-- name: versions
SELECT version, content, at FROM pattern_versions WHERE owner = :owner AND pattern = :pattern ORDER BY version;

-- name: put_evidence
INSERT INTO pattern_evidence (owner, pattern, session, content, at) VALUES (:owner, :pattern, :session, :content, :at)
ON CONFLICT (owner, pattern, session) DO UPDATE SET content = excluded.content, at = excluded.at;

-- name: drop_evidence
DELETE FROM pattern_evidence WHERE owner = :owner AND pattern = :pattern;

-- name: evidence
SELECT session, content, at FROM pattern_evidence WHERE owner = :owner AND pattern = :pattern
ORDER BY at DESC, session LIMIT :limit;

-- name: put_rollout
INSERT INTO rollouts (owner, id, pattern, state, content, begun_at, ended_at)
VALUES (:owner, :id, :pattern, :state, :content, :begun_at, :ended_at)
ON CONFLICT (owner, id) DO UPDATE
SET state = excluded.state, content = excluded.content, begun_at = excluded.begun_at, ended_at = excluded.ended_at
WHERE rollouts.pattern = excluded.pattern;

-- name: rollouts
SELECT r.id, r.pattern, r.state, r.content, r.begun_at, r.ended_at FROM rollouts r
JOIN patterns ON patterns.owner = r.owner AND patterns.id = r.pattern
WHERE r.owner = :owner AND (:pattern IS NULL OR r.pattern = :pattern) AND {pattern_visible}
ORDER BY r.begun_at, r.id;

-- name: drop
DELETE FROM patterns WHERE owner = :owner AND id = :id;

-- name: drop_versions
DELETE FROM pattern_versions WHERE owner = :owner AND pattern = :id;

-- name: drop_rollouts
DELETE FROM rollouts WHERE owner = :owner AND pattern = :id;

-- name: shown_by
SELECT p.id, p.state, p.version, (
  SELECT count(*) FROM pattern_evidence o WHERE o.owner = p.owner AND o.pattern = p.id AND o.session <> :session)
FROM pattern_evidence e JOIN patterns p ON p.owner = e.owner AND p.id = e.pattern
WHERE e.owner = :owner AND e.session = :session;

-- name: forget_session
DELETE FROM pattern_evidence WHERE owner = :owner AND session = :session;

-- name: reword
UPDATE patterns SET content = :content WHERE owner = :owner AND id = :id;

-- name: reword_version
UPDATE pattern_versions SET content = :content WHERE owner = :owner AND pattern = :pattern AND version = :version;

-- name: of_scope
SELECT id FROM patterns WHERE owner = :owner AND (:any_project OR home = :home);

-- name: shares
SELECT owner FROM pattern_sharing WHERE owner = :owner;

-- name: share
INSERT INTO pattern_sharing (owner, at) VALUES (:owner, :at) ON CONFLICT DO NOTHING;

-- name: unshare
DELETE FROM pattern_sharing WHERE owner = :owner;

-- Over the users of one tenant who share, one of whom must ask. Whatever is told, a kind or words, so many have the very same.
-- name: common
WITH seen AS (
  SELECT p.id, p.owner, p.state, p.content ->> '$.kind' AS kind, p.content ->> '$.statement' AS statement,
         p.content ->> '$.rule' AS rule
  FROM patterns p JOIN pattern_sharing s ON s.owner = p.owner JOIN owners o ON o.row = p.owner
  WHERE o.tenant = :tenant AND o.user NOT LIKE '@%' AND p.state <> 'merged'
    AND EXISTS (SELECT 1 FROM pattern_sharing me WHERE me.owner = :owner)),
worded AS (
  SELECT id, kind, statement, rule, row_number() OVER (PARTITION BY id, kind ORDER BY count(*) DESC, statement, rule) AS place
  FROM seen WHERE state = 'approved' GROUP BY id, kind, statement, rule HAVING count(*) >= :k),
counted AS (
  SELECT id, kind, count(*) AS users, sum(state = 'approved') AS approved FROM seen GROUP BY id, kind HAVING count(*) >= :k)
SELECT c.id, c.kind, c.users, CASE WHEN c.approved >= :k THEN c.approved END, w.statement, w.rule
FROM counted c LEFT JOIN worded w ON w.id = c.id AND w.kind = c.kind AND w.place = 1
ORDER BY c.users DESC, c.id, c.kind LIMIT 1000;
