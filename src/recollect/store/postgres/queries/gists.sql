-- One gist a session.

-- name: get
SELECT session_id, content, covers, occurred_at, created_at, maker, project_name FROM gist_rows
WHERE tenant = :tenant AND owner = :owner AND session_id = :id AND {visible};

-- name: recent
SELECT session_id, content, covers, occurred_at, created_at, maker, project_name FROM gist_rows
WHERE tenant = :tenant AND owner = :owner AND {visible}
  AND (:exclude_session::text IS NULL OR session_id <> :exclude_session::text)
ORDER BY occurred_at DESC, row DESC LIMIT :limit;

-- name: session
SELECT row, project FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: row
SELECT row FROM gists WHERE tenant = :tenant AND session = :session;

-- name: put
INSERT INTO gists (tenant, owner, session, project, content, covers, maker, occurred_at, created_at)
VALUES (:tenant, :owner, :session, :project, :content, :covers, :maker, :occurred_at, :created_at)
ON CONFLICT (tenant, owner, session) DO UPDATE SET content = excluded.content, covers = excluded.covers, maker = excluded.maker,
  occurred_at = excluded.occurred_at, created_at = excluded.created_at
RETURNING row;

-- name: unsummarized
SELECT count(*) FROM events
WHERE tenant = :tenant AND session = :session
  AND position > coalesce((SELECT covers FROM gists WHERE tenant = :tenant AND session = :session), -1);

-- name: due
SELECT id FROM (
  SELECT s.id, s.ended_at, coalesce((SELECT max(position) FROM events e WHERE e.tenant = s.tenant AND e.session = s.row), -1)
    - coalesce((SELECT covers FROM gists g WHERE g.tenant = s.tenant AND g.session = s.row), -1) AS grown
  FROM sessions s
  WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
) due WHERE grown >= :after OR (grown > 0 AND ended_at < :quiet_since) ORDER BY ended_at DESC;

-- name: lease
UPDATE sessions SET gist_leased = :until
WHERE tenant = :tenant AND row = :session AND (gist_leased IS NULL OR gist_leased < :now) RETURNING row;

-- name: release
UPDATE sessions SET gist_leased = NULL WHERE tenant = :tenant AND row = :session;
