-- What was distilled of sessions.

-- name: session_row
SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: get
SELECT version, covers, asked, kept, refused, made_at FROM distillations WHERE tenant = :tenant AND session = :session;

-- name: put
INSERT INTO distillations AS d (tenant, session, owner, version, covers, asked, kept, refused, made_at)
VALUES (:tenant, :session, :owner, :version, :covers, :asked, :kept, :refused, :made_at)
ON CONFLICT (tenant, owner, session) DO UPDATE SET version = excluded.version, covers = excluded.covers,
  asked = greatest(d.asked, excluded.asked), kept = excluded.kept, refused = excluded.refused, made_at = excluded.made_at;

-- What was delegated is part of the session that did so; its prompts are an agent's, not a person's.
-- name: due
SELECT s.id FROM sessions s LEFT JOIN distillations d ON d.tenant = s.tenant AND d.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND s.relation NOT IN ('subagent', 'compaction', 'review')
  AND EXISTS (SELECT 1 FROM events e WHERE e.tenant = s.tenant AND e.session = s.row)
  AND (d.session IS NULL OR d.version < :version
       OR d.covers < (SELECT max(position) FROM events e WHERE e.tenant = s.tenant AND e.session = s.row))
ORDER BY s.row;
