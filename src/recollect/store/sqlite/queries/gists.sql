-- name: get
SELECT session_id, content, covers, occurred_at, created_at, maker, project_name FROM gist_rows
WHERE owner = :owner AND session_id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: recent
SELECT session_id, content, covers, occurred_at, created_at, maker, project_name FROM gist_rows
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
  AND (:exclude_session IS NULL OR session_id <> :exclude_session)
ORDER BY occurred_at DESC, row DESC LIMIT :limit;

-- name: session
SELECT row, project FROM sessions
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: row
SELECT row FROM gists WHERE session = :session;

-- name: put
INSERT INTO gists (owner, session, project, content, covers, maker, occurred_at, created_at)
VALUES (:owner, :session, :project, :content, :covers, :maker, :occurred_at, :created_at)
ON CONFLICT (session) DO UPDATE SET content = excluded.content, covers = excluded.covers, maker = excluded.maker,
  occurred_at = excluded.occurred_at, created_at = excluded.created_at
RETURNING row;

-- name: unsummarized
SELECT count(*) FROM events
WHERE session = :session AND position > ifnull((SELECT covers FROM gists WHERE session = :session), -1);

-- name: due
SELECT id FROM (
  SELECT s.id, s.ended_at, ifnull((SELECT max(position) FROM events e WHERE e.session = s.row), -1)
    - ifnull((SELECT covers FROM gists g WHERE g.session = s.row), -1) AS grown
  FROM sessions s WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
) WHERE grown >= :after OR (grown > 0 AND ended_at < :quiet_since) ORDER BY ended_at DESC;

-- name: lease
UPDATE sessions SET gist_leased = :until WHERE row = :session AND (gist_leased IS NULL OR gist_leased < :now) RETURNING row;

-- name: release
UPDATE sessions SET gist_leased = NULL WHERE row = :session;
