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
