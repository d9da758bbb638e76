-- Looking through sessions: every list is bounded, a page is read by positions, what is new by row numbers.

-- name: sessions
WITH page AS MATERIALIZED (
  SELECT s.row, s.ended_at, s.id FROM sessions s LEFT JOIN digests d ON d.session = s.row
  WHERE s.owner = :owner AND {session_filter}
  ORDER BY s.ended_at DESC, s.id LIMIT :limit OFFSET :offset
)
SELECT s.id, s.flavor, s.title, s.project_name, s.started_at, s.ended_at, s.turns, s.meta, s.parent, s.relation, s.cwd, s.branch,
       s.commit_id, s.models, s.agent_version, s.interactive, s.outcome, d.content
FROM page JOIN session_rows s ON s.row = page.row LEFT JOIN digests d ON d.session = page.row
ORDER BY page.ended_at DESC, page.id;

-- name: child_counts
SELECT s.parent, count(*) FROM sessions s
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND s.parent IN (SELECT value FROM json_each(:parents)) GROUP BY s.parent;

-- name: children
SELECT s.id, s.flavor, s.title, s.project_name, s.started_at, s.ended_at, s.turns, s.meta, s.parent, s.relation, s.cwd, s.branch,
       s.commit_id, s.models, s.agent_version, s.interactive, s.outcome, json_extract(d.content, '$.goal')
FROM session_rows s LEFT JOIN digests d ON d.session = s.row
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND s.parent IN (SELECT value FROM json_each(:parents))
ORDER BY s.started_at, s.id LIMIT :limit;

-- name: days
SELECT substr(s.ended_at, 1, 10) AS day, count(*) FROM sessions s LEFT JOIN digests d ON d.session = s.row
WHERE s.owner = :owner AND {session_filter}
GROUP BY day ORDER BY day;

-- name: choices
WITH seen AS MATERIALIZED (
  SELECT s.flavor, ifnull(p.name, :none) AS project, ifnull(d.outcome, 'unknown') AS outcome
  FROM sessions s LEFT JOIN projects p ON p.row = s.project LEFT JOIN digests d ON d.session = s.row
  WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
)
SELECT * FROM (SELECT 'flavor', flavor, count(*) AS count FROM seen GROUP BY flavor ORDER BY count DESC, flavor LIMIT :most)
UNION ALL SELECT * FROM (SELECT 'project', project, count(*) AS count FROM seen GROUP BY project ORDER BY count DESC, project LIMIT :most)
UNION ALL SELECT * FROM (SELECT 'outcome', outcome, count(*) AS count FROM seen GROUP BY outcome ORDER BY count DESC, outcome LIMIT :most);

-- name: extent
SELECT kind, way, count(*) FROM events WHERE session = :session GROUP BY kind, way ORDER BY kind, way;

-- name: transcripts
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE owner = :owner AND session = :id AND :any_project ORDER BY name LIMIT 50;

-- name: passages
SELECT e.key, e.kind, e.role, e.origin, {passage}
FROM events e JOIN turns u ON u.row = e.turn LEFT JOIN transcripts t ON t.row = e.transcript
WHERE e.session = :session AND e.position > :after AND e.position <= :until ORDER BY e.position;

-- name: matching
SELECT e.key, e.kind, e.role, e.origin, {passage}
FROM events e JOIN turns u ON u.row = e.turn LEFT JOIN transcripts t ON t.row = e.transcript
WHERE e.session = :session AND e.position > :after
  AND NOT EXISTS (SELECT 1 FROM json_each(:words) w WHERE e.text NOT LIKE w.value ESCAPE '!')
ORDER BY e.position LIMIT :limit;

-- name: media
SELECT b.media FROM event_bodies eb JOIN events e ON e.row = eb.event JOIN bodies b ON b.owner = eb.owner AND b.hash = eb.hash
WHERE eb.owner = e.owner AND eb.hash = :hash AND e.session = :session LIMIT 1;

-- What is new. Numbers are given in the order of commits; `+owner` keeps to them instead of going through all of an owner's.

-- name: mark
SELECT (SELECT max(row) FROM events), (SELECT max(row) FROM memories);

-- name: until_event
SELECT max(row) FROM (SELECT row FROM events WHERE row > :after ORDER BY row LIMIT :look);

-- name: until_memory
SELECT max(row) FROM (SELECT row FROM memories WHERE row > :after ORDER BY row LIMIT :look);

-- name: new_events
SELECT e.row, e.key, e.kind, s.id, substr(e.text, 1, :most), length(e.text), e.recorded_at,
  CASE WHEN length(e.meta) <= 100000 THEN e.meta ELSE '{}' END
FROM events e JOIN sessions s ON s.row = e.session
WHERE e.row > :after AND e.row <= :until AND +e.owner = :owner
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
ORDER BY e.row DESC LIMIT :limit;

-- name: count_events
SELECT count(*) FROM events e JOIN sessions s ON s.row = e.session
WHERE e.row > :after AND e.row <= :until AND +e.owner = :owner
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project);

-- name: new_memories
SELECT m.row, m.id, m.kind, m.session, substr(m.content, 1, :most), length(m.content), m.recorded_at FROM memories m
WHERE m.row > :after AND m.row <= :until AND +m.owner = :owner AND m.deleted_at IS NULL
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
ORDER BY m.row DESC LIMIT :limit;

-- name: count_memories
SELECT count(*) FROM memories m
WHERE m.row > :after AND m.row <= :until AND +m.owner = :owner AND m.deleted_at IS NULL
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project);

-- The last there are, whatever others wrote since: of the sessions that ended last, each by its last positions.
-- name: last_events
SELECT e.row, e.key, e.kind, s.id, substr(e.text, 1, :most), length(e.text), e.recorded_at,
  CASE WHEN length(e.meta) <= 100000 THEN e.meta ELSE '{}' END
FROM (
  SELECT row, id FROM sessions WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
  ORDER BY ended_at DESC LIMIT 10
) s JOIN events e ON e.session = s.row AND e.position > (SELECT max(position) FROM events WHERE session = s.row) - :limit
ORDER BY e.row DESC LIMIT :limit;

-- name: last_memories
SELECT m.row, m.id, m.kind, m.session, substr(m.content, 1, :most), length(m.content), m.recorded_at FROM memories m
WHERE m.owner = :owner AND m.deleted_at IS NULL AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
ORDER BY m.occurred_at DESC LIMIT :limit;

-- name: new_gists
SELECT s.id, g.maker, substr(g.content, 1, :most), length(g.content), g.created_at FROM gists g JOIN sessions s ON s.row = g.session
WHERE g.owner = :owner AND g.created_at > :after AND (:any_project OR g.project IS NULL OR g.project = :scope_project)
ORDER BY g.created_at DESC LIMIT :limit;

-- name: new_tasks
SELECT id, kind, subject, state, error, ended_at FROM (
  SELECT * FROM tasks WHERE owner = :owner AND {task_visible} ORDER BY id DESC LIMIT :limit
) WHERE state IN ('done', 'dead') AND ended_at > :after ORDER BY ended_at DESC;

-- In the words the memory had then.
-- name: new_shown
SELECT session, at, memory, host, event, block, substr(told, 1, :most), length(told) FROM (
  SELECT i.session, i.at, i.memory, i.host, i.event, i.block, coalesce(
    (SELECT v.content FROM memory_versions v WHERE v.memory = m.row AND v.until > i.at ORDER BY v.version LIMIT 1), m.content) AS told
  FROM injections i JOIN memories m ON m.owner = i.owner AND m.id = i.memory
  WHERE i.owner = :owner AND i.at > :after AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
  ORDER BY i.at DESC, i.memory DESC LIMIT :limit);
