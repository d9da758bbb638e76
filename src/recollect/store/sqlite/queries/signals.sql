-- What sessions show by themselves, and what it was made from.

-- name: states
SELECT s.id, d.version, d.covers, d.made_at, (SELECT max(e.position) FROM events e WHERE e.session = s.row), g.mark
FROM sessions s JOIN digests d ON d.session = s.row LEFT JOIN session_signals g ON g.session = s.row
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project);

-- name: kept
SELECT s.id, g.mark, g.content FROM sessions s JOIN session_signals g ON g.session = s.row
WHERE s.owner = :owner AND s.id IN (SELECT value FROM json_each(:sessions));

-- What was read may have changed since: then it is not kept.
-- name: keep
INSERT INTO session_signals (session, owner, mark, content)
SELECT s.row, s.owner, :mark, :content FROM sessions s JOIN digests d ON d.session = s.row
WHERE s.owner = :owner AND s.id = :session AND d.version = :version AND d.covers = :covers AND d.made_at = :made_at
  AND (SELECT max(e.position) FROM events e WHERE e.session = s.row) = :last
ON CONFLICT (session) DO UPDATE SET mark = excluded.mark, content = excluded.content;

-- name: drop
DELETE FROM session_signals WHERE session = :session;
