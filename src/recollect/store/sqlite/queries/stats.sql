-- Figures of what a scope sees. The rows are read once; each list of values is bounded.

-- name: tally
WITH seen AS MATERIALIZED (
  SELECT m.kind, m.tags, m.session, substr(m.occurred_at, 1, :width) AS period, (length(m.content) + 3) / 4 AS tokens
  FROM memory_rows m WHERE m.owner = :owner
  {memory_filter}
)
SELECT 'all' AS facet, '' AS value, count(*) AS count, sum(tokens) AS size FROM seen
UNION ALL SELECT 'kind', kind, count(*), 0 FROM seen GROUP BY kind
UNION ALL SELECT * FROM (
  SELECT 'tag', t.value, count(*) AS count, 0 FROM seen, json_each(seen.tags) t GROUP BY t.value ORDER BY count DESC, t.value LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'session', session, count(*) AS count, 0 FROM seen WHERE session IS NOT NULL
  GROUP BY session ORDER BY count DESC, session LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'period', period, count(*), 0 FROM seen GROUP BY period ORDER BY period DESC LIMIT :most);

-- name: held
SELECT
  (SELECT count(*) FROM sessions WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)),
  (SELECT count(*) FROM turns WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)),
  (SELECT count(*) FROM pending WHERE owner = :owner);

-- Of the newest so many memories alone, so that it costs the same however many there are. `until`: when the first of
-- what is counted expires; till then the counts stand as long as nothing is written.
-- name: facets
WITH seen AS MATERIALIZED (
  SELECT m.kind, m.tags, m.trust, m.project, m.session, m.expires_at FROM (
    SELECT owner, kind, tags, session, project, importance, trust, meta, occurred_at, archived_at, superseded_at, expires_at, deleted_at
    FROM memories WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
    ORDER BY occurred_at DESC LIMIT :look
  ) m WHERE true
  {memory_filter}
)
SELECT 'looked' AS facet, '' AS value, count(*) AS count FROM (
  SELECT 1 FROM memories WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project) LIMIT :look)
UNION ALL SELECT 'all', '', count(*) FROM seen
UNION ALL SELECT 'until', min(expires_at), 0 FROM seen
UNION ALL SELECT 'kind', kind, count(*) FROM seen GROUP BY kind
UNION ALL SELECT 'trust', trust, count(*) FROM seen GROUP BY trust
UNION ALL SELECT * FROM (
  SELECT 'tag', t.value, count(*) AS count FROM seen, json_each(seen.tags) t GROUP BY t.value ORDER BY count DESC, t.value LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'project', p.name, c.count FROM (SELECT project, count(*) AS count FROM seen WHERE project IS NOT NULL GROUP BY project) c
  JOIN projects p ON p.row = c.project ORDER BY c.count DESC, p.name LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'agent', s.flavor, sum(c.count) AS count FROM (SELECT session, count(*) AS count FROM seen WHERE session IS NOT NULL GROUP BY session) c
  JOIN sessions s ON s.owner = :owner AND s.id = c.session GROUP BY s.flavor ORDER BY count DESC, s.flavor LIMIT :most);

-- name: named
SELECT * FROM (
  SELECT 'tag' AS what, t.value AS name FROM (
    SELECT tags FROM memories WHERE owner = :owner AND deleted_at IS NULL AND (:any_project OR project IS NULL OR project = :scope_project)
    ORDER BY occurred_at DESC LIMIT :look
  ) m, json_each(m.tags) t WHERE t.value LIKE :beginning ESCAPE '!' GROUP BY t.value ORDER BY count(*) DESC, t.value LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'project', name FROM projects
  WHERE owner = :owner AND (:any_project OR row = :scope_project) AND name LIKE :inside ESCAPE '!' ORDER BY name LIMIT :most);
