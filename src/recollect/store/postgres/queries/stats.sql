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
