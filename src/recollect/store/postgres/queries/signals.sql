-- What sessions show by themselves, and what it was made from.

-- name: states
SELECT s.id, d.version, d.covers, d.made_at,
  (SELECT max(e.position) FROM events e WHERE e.tenant = s.tenant AND e.owner = s.owner AND e.session = s.row), g.mark
FROM sessions s JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
LEFT JOIN session_signals g ON g.tenant = s.tenant AND g.owner = s.owner AND g.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project);

-- name: kept
SELECT s.id, g.mark, g.content FROM sessions s
JOIN session_signals g ON g.tenant = s.tenant AND g.owner = s.owner AND g.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND s.id IN (SELECT json_array_elements_text(:sessions::json));

-- What was read may have changed since: then it is not kept.
-- name: keep
INSERT INTO session_signals (tenant, session, owner, mark, content)
SELECT s.tenant, s.row, s.owner, :mark::text, :content::text FROM sessions s
JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND s.id = :session
  AND d.version = :version AND d.covers = :covers AND d.made_at = :made_at
  AND (SELECT max(e.position) FROM events e WHERE e.tenant = s.tenant AND e.owner = s.owner AND e.session = s.row) = :last
ON CONFLICT (tenant, owner, session) DO UPDATE SET mark = excluded.mark, content = excluded.content;

-- name: drop
DELETE FROM session_signals WHERE tenant = :tenant AND session = :session;
