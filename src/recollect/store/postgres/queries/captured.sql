-- What came from where, and what of it was not kept: counts alone, each list bounded.

-- name: agents
SELECT flavor, count(*) AS sessions, max(ended_at) FROM sessions
WHERE tenant = :tenant AND owner = :owner AND {visible}
GROUP BY flavor ORDER BY sessions DESC, flavor LIMIT :most;

-- name: projects
SELECT p.name, s.sessions, s.last
FROM (SELECT project, count(*) AS sessions, max(ended_at) AS last FROM sessions
      WHERE tenant = :tenant AND owner = :owner AND project IS NOT NULL
        AND (:any_project OR project = :scope_project::bigint) GROUP BY project) s
JOIN projects p ON p.tenant = :tenant AND p.row = s.project ORDER BY s.last DESC, p.name LIMIT :most;

-- name: withheld
SELECT w.flavor, w.what, sum(w.times)::bigint AS count
FROM (SELECT t.flavor, substr(c.key, length(:prefix::text) + 1) COLLATE "C" AS what, c.value::bigint AS times
      FROM transcripts t, json_each_text(t.counts) AS c (key, value)
      WHERE t.tenant = :tenant AND t.owner = :owner AND :any_project AND starts_with(c.key, :prefix::text)) w
GROUP BY w.flavor, w.what ORDER BY count DESC, w.what, w.flavor LIMIT :most;

-- name: bodies
SELECT count(*), coalesce(sum(stored), 0) FROM bodies
WHERE tenant = :tenant AND owner = :owner AND :any_project AND evicted_at IS NULL;
