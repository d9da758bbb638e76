-- Figures of what a scope sees. The rows are read once; each list of values is bounded.

-- name: tally
WITH seen AS MATERIALIZED (
  SELECT m.kind, m.tags, m.session, left(to_char(m.occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), :width::integer) AS period,
         (length(m.content) + 3) / 4 AS tokens
  FROM memory_rows m WHERE m.tenant = :tenant AND m.owner = :owner
  {memory_filter}
)
SELECT 'all' AS facet, '' AS value, count(*) AS count, coalesce(sum(tokens), 0) AS size FROM seen
UNION ALL SELECT 'kind', kind, count(*), 0 FROM seen GROUP BY kind
UNION ALL (
  SELECT 'tag', t.value, count(*) AS count, 0 FROM seen, jsonb_array_elements_text(seen.tags) AS t (value)
  GROUP BY t.value ORDER BY count DESC, t.value COLLATE "C" LIMIT :most)
UNION ALL (
  SELECT 'session', session, count(*) AS count, 0 FROM seen WHERE session IS NOT NULL
  GROUP BY session ORDER BY count DESC, session COLLATE "C" LIMIT :most)
UNION ALL (
  SELECT 'period', period, count(*), 0 FROM seen GROUP BY period ORDER BY period DESC LIMIT :most);

-- name: held
SELECT
  (SELECT count(*) FROM sessions WHERE tenant = :tenant AND owner = :owner AND {visible}),
  (SELECT count(*) FROM turns WHERE tenant = :tenant AND owner = :owner AND {visible}),
  (SELECT count(*) FROM pending WHERE tenant = :tenant AND owner = :owner);

-- What is another once a memory or a session of the owner came or changed: every change of a memory is in the audit. A server
-- that was started anew, or another one, may have another past.
-- name: state
SELECT (SELECT max(number) FROM audit WHERE tenant = :tenant AND owner = :owner),
  (SELECT max(row) FROM sessions WHERE tenant = :tenant AND owner = :owner), pg_postmaster_start_time();

-- Of the newest so many memories alone, so that it costs the same however many there are; they are gone through once, and
-- counted in all ways at the same time.
-- name: facets
WITH looked AS MATERIALIZED (
  SELECT m.kind, m.tags, m.trust, m.project, m.session, m.expires_at, (true {memory_filter}) AS passes FROM (
    SELECT kind, tags, session, project, importance, trust, meta, occurred_at, archived_at, superseded_at, expires_at, deleted_at
    FROM memories WHERE tenant = :tenant AND owner = :owner AND {visible}
    ORDER BY occurred_at DESC LIMIT :look
  ) m
), counted AS MATERIALIZED (
  SELECT grouping(kind, trust, project, session) AS ways, kind, trust, project, session, count(*) AS count
  FROM looked WHERE passes GROUP BY GROUPING SETS ((), (kind), (trust), (project), (session))
)
SELECT 'looked' AS facet, '' AS value, count(*) AS count FROM looked
UNION ALL SELECT 'until', to_char(min(expires_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 0 FROM looked WHERE passes
UNION ALL SELECT CASE ways WHEN 15 THEN 'all' WHEN 7 THEN 'kind' ELSE 'trust' END,
  CASE ways WHEN 15 THEN '' WHEN 7 THEN kind ELSE trust END, count FROM counted WHERE ways IN (15, 7, 11)
UNION ALL (
  SELECT 'tag', t.value, count(*) AS count FROM looked, jsonb_array_elements_text(looked.tags) AS t (value) WHERE passes
  GROUP BY t.value ORDER BY count DESC, t.value COLLATE "C" LIMIT :most)
UNION ALL (
  SELECT 'project', p.name, c.count FROM counted c JOIN projects p ON p.tenant = :tenant AND p.row = c.project
  WHERE c.ways = 13 ORDER BY c.count DESC, p.name COLLATE "C" LIMIT :most)
UNION ALL (
  SELECT 'agent', s.flavor, sum(c.count)::bigint AS count
  FROM counted c JOIN sessions s ON s.tenant = :tenant AND s.owner = :owner AND s.id = c.session
  WHERE c.ways = 14 GROUP BY s.flavor ORDER BY count DESC, s.flavor COLLATE "C" LIMIT :most);

-- name: named
(SELECT 'tag' AS what, t.value AS name FROM (
    SELECT tags FROM memories WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NULL AND {visible}
    ORDER BY occurred_at DESC LIMIT :look
  ) m, jsonb_array_elements_text(m.tags) AS t (value) WHERE t.value ILIKE :beginning ESCAPE '!'
  GROUP BY t.value ORDER BY count(*) DESC, t.value COLLATE "C" LIMIT :most)
UNION ALL
(SELECT 'project', name FROM projects
  WHERE tenant = :tenant AND owner = :owner AND (:any_project OR row = :scope_project::bigint) AND name ILIKE :inside ESCAPE '!'
  ORDER BY name COLLATE "C" LIMIT :most);
