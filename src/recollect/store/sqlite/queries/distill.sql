-- What was distilled of sessions.

-- name: session_row
SELECT row FROM sessions WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: get
SELECT version, covers, asked, kept, refused, made_at FROM distillations WHERE session = :session;

-- name: put
INSERT INTO distillations (session, owner, version, covers, asked, kept, refused, made_at)
VALUES (:session, :owner, :version, :covers, :asked, :kept, :refused, :made_at)
ON CONFLICT (session) DO UPDATE SET version = excluded.version, covers = excluded.covers, asked = max(asked, excluded.asked),
  kept = excluded.kept, refused = excluded.refused, made_at = excluded.made_at;

-- What was delegated is part of the session that did so; its prompts are an agent's, not a person's.
-- name: due
SELECT s.id FROM sessions s LEFT JOIN distillations d ON d.session = s.row
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND s.relation NOT IN ('subagent', 'compaction', 'review')
  AND EXISTS (SELECT 1 FROM events e WHERE e.session = s.row)
  AND (d.session IS NULL OR d.version < :version
       OR d.covers < (SELECT max(position) FROM events e WHERE e.session = s.row))
ORDER BY s.row;
