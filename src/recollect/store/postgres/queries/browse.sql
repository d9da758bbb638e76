-- Looking through sessions: every list is bounded, a page is read by positions, what is new by row numbers.

-- name: sessions
WITH page AS MATERIALIZED (
  SELECT s.row, s.ended_at, s.id FROM sessions s
  LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
  WHERE s.tenant = :tenant AND s.owner = :owner AND {session_filter}
  ORDER BY s.ended_at DESC, s.id LIMIT :limit OFFSET :offset
)
SELECT s.id, s.flavor, s.title, s.project_name, s.started_at, s.ended_at, s.turns, s.meta, s.parent, s.relation, s.cwd, s.branch,
       s.commit_id, s.models, s.agent_version, s.interactive, s.outcome, d.content
FROM page JOIN session_rows s ON s.tenant = :tenant AND s.owner = :owner AND s.row = page.row
LEFT JOIN digests d ON d.tenant = :tenant AND d.owner = :owner AND d.session = page.row
ORDER BY page.ended_at DESC, page.id;

-- name: child_counts
SELECT s.parent, count(*) FROM sessions s
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND s.parent IN (SELECT json_array_elements_text(:parents::json)) GROUP BY s.parent;

-- name: children
SELECT s.id, s.flavor, s.title, s.project_name, s.started_at, s.ended_at, s.turns, s.meta, s.parent, s.relation, s.cwd, s.branch,
       s.commit_id, s.models, s.agent_version, s.interactive, s.outcome, d.content ->> 'goal'
FROM session_rows s LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND s.parent IN (SELECT json_array_elements_text(:parents::json))
ORDER BY s.started_at, s.id LIMIT :limit;

-- name: days
SELECT to_char(s.ended_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*) FROM sessions s
LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND {session_filter}
GROUP BY day ORDER BY day;

-- name: choices
WITH seen AS MATERIALIZED (
  SELECT s.flavor COLLATE "C" AS flavor, coalesce(p.name, :none) COLLATE "C" AS project, coalesce(d.outcome, 'unknown') COLLATE "C" AS outcome
  FROM sessions s LEFT JOIN projects p ON p.tenant = s.tenant AND p.owner = s.owner AND p.row = s.project
  LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
  WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
)
(SELECT 'flavor', flavor, count(*) AS count FROM seen GROUP BY flavor ORDER BY count DESC, flavor LIMIT :most)
UNION ALL (SELECT 'project', project, count(*) AS count FROM seen GROUP BY project ORDER BY count DESC, project LIMIT :most)
UNION ALL (SELECT 'outcome', outcome, count(*) AS count FROM seen GROUP BY outcome ORDER BY count DESC, outcome LIMIT :most);

-- name: extent
SELECT kind, way, count(*) FROM events WHERE tenant = :tenant AND owner = :owner AND session = :session
GROUP BY kind, way ORDER BY kind COLLATE "C", way COLLATE "C";

-- name: transcripts
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE tenant = :tenant AND owner = :owner AND session = :id AND :any_project ORDER BY name LIMIT 50;

-- name: passages
SELECT e.key, e.kind, e.role, e.origin, {passage}
FROM events e JOIN turns u ON u.tenant = e.tenant AND u.owner = e.owner AND u.row = e.turn
LEFT JOIN transcripts t ON t.tenant = e.tenant AND t.owner = e.owner AND t.row = e.transcript
WHERE e.tenant = :tenant AND e.owner = :owner AND e.session = :session AND e.position > :after AND e.position <= :until
ORDER BY e.position;

-- name: matching
SELECT e.key, e.kind, e.role, e.origin, {passage}
FROM events e JOIN turns u ON u.tenant = e.tenant AND u.owner = e.owner AND u.row = e.turn
LEFT JOIN transcripts t ON t.tenant = e.tenant AND t.owner = e.owner AND t.row = e.transcript
WHERE e.tenant = :tenant AND e.owner = :owner AND e.session = :session AND e.position > :after
  AND NOT EXISTS (SELECT 1 FROM json_array_elements_text(:words::json) AS w (value) WHERE e.text NOT ILIKE w.value ESCAPE '!')
ORDER BY e.position LIMIT :limit;

-- name: media
SELECT b.media FROM event_bodies eb JOIN events e ON e.tenant = eb.tenant AND e.owner = eb.owner AND e.row = eb.event
JOIN bodies b ON b.tenant = eb.tenant AND b.owner = eb.owner AND b.hash = eb.hash
WHERE eb.tenant = :tenant AND eb.owner = :owner AND eb.hash = :hash AND e.session = :session LIMIT 1;

-- What is new. The writers of one owner take turns, so numbers are given in the order of commits.

-- name: mark
SELECT (SELECT max(row) FROM events WHERE tenant = :tenant AND owner = :owner),
       (SELECT max(row) FROM memories WHERE tenant = :tenant AND owner = :owner);

-- name: until_event
SELECT max(row) FROM (
  SELECT row FROM events WHERE tenant = :tenant AND owner = :owner AND row > :after ORDER BY row LIMIT :look) x;

-- name: until_memory
SELECT max(row) FROM (
  SELECT row FROM memories WHERE tenant = :tenant AND owner = :owner AND row > :after ORDER BY row LIMIT :look) x;

-- name: new_events
SELECT e.row, e.key, e.kind, s.id, left(e.text, :most::integer), length(e.text), e.recorded_at,
  CASE WHEN length(e.meta::text) <= 100000 THEN e.meta::text ELSE '{}' END
FROM events e JOIN sessions s ON s.tenant = e.tenant AND s.owner = e.owner AND s.row = e.session
WHERE e.tenant = :tenant AND e.owner = :owner AND e.row > :after AND e.row <= :until
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
ORDER BY e.row DESC LIMIT :limit;

-- name: count_events
SELECT count(*) FROM events e JOIN sessions s ON s.tenant = e.tenant AND s.owner = e.owner AND s.row = e.session
WHERE e.tenant = :tenant AND e.owner = :owner AND e.row > :after AND e.row <= :until
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint);

-- name: new_memories
SELECT m.row, m.id, m.kind, m.session, left(m.content, :most::integer), length(m.content), m.recorded_at FROM memories m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.row > :after AND m.row <= :until AND m.deleted_at IS NULL
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
ORDER BY m.row DESC LIMIT :limit;

-- name: count_memories
SELECT count(*) FROM memories m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.row > :after AND m.row <= :until AND m.deleted_at IS NULL
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint);

-- The last there are: of the sessions that ended last, each by its last positions.
-- name: last_events
SELECT e.row, e.key, e.kind, s.id, left(e.text, :most::integer), length(e.text), e.recorded_at,
  CASE WHEN length(e.meta::text) <= 100000 THEN e.meta::text ELSE '{}' END
FROM (
  SELECT row, id FROM sessions WHERE tenant = :tenant AND owner = :owner
    AND (:any_project OR project IS NULL OR project = :scope_project::bigint)
  ORDER BY ended_at DESC NULLS LAST LIMIT 10
) s CROSS JOIN LATERAL (
  SELECT * FROM events WHERE tenant = :tenant AND owner = :owner AND session = s.row ORDER BY position DESC LIMIT :limit
) e
ORDER BY e.row DESC LIMIT :limit;

-- name: last_memories
SELECT m.row, m.id, m.kind, m.session, left(m.content, :most::integer), length(m.content), m.recorded_at FROM memories m
WHERE m.tenant = :tenant AND m.owner = :owner AND m.deleted_at IS NULL
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
ORDER BY m.occurred_at DESC LIMIT :limit;

-- name: new_gists
SELECT s.id, g.maker, left(g.content, :most::integer), length(g.content), g.created_at
FROM gists g JOIN sessions s ON s.tenant = g.tenant AND s.owner = g.owner AND s.row = g.session
WHERE g.tenant = :tenant AND g.owner = :owner AND g.created_at > :after::timestamptz
  AND (:any_project OR g.project IS NULL OR g.project = :scope_project::bigint)
ORDER BY g.created_at DESC LIMIT :limit;

-- name: new_tasks
SELECT id, kind, subject, state, error, ended_at FROM (
  SELECT * FROM tasks WHERE tenant = :tenant AND owner = :owner AND {task_visible} ORDER BY id DESC LIMIT :limit
) x WHERE state IN ('done', 'dead') AND ended_at > :after::timestamptz ORDER BY ended_at DESC;

-- In the words the memory had then.
-- name: new_shown
SELECT session, at, memory, host, event, block, left(told, :most::integer), length(told) FROM (
  SELECT i.session, i.at, i.memory, i.host, i.event, i.block, coalesce(
    (SELECT v.content FROM memory_versions v WHERE v.tenant = m.tenant AND v.owner = m.owner AND v.memory = m.row AND v.until > i.at
     ORDER BY v.version LIMIT 1), m.content) AS told
  FROM injections i JOIN memories m ON m.tenant = i.tenant AND m.owner = i.owner AND m.id = i.memory
  WHERE i.tenant = :tenant AND i.owner = :owner AND i.at > :after::timestamptz
    AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
  ORDER BY i.at DESC, i.memory DESC LIMIT :limit) x;
