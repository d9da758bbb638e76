-- What came from where, and what of it was not kept: counts alone, each list bounded.

-- name: agents
SELECT flavor, count(*) AS sessions, max(ended_at) FROM sessions
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
GROUP BY flavor ORDER BY sessions DESC, flavor LIMIT :most;

-- name: projects
SELECT p.name, s.sessions, s.last
FROM (SELECT project, count(*) AS sessions, max(ended_at) AS last FROM sessions
      WHERE owner = :owner AND project IS NOT NULL AND (:any_project OR project = :scope_project) GROUP BY project) s
JOIN projects p ON p.row = s.project ORDER BY s.last DESC, p.name LIMIT :most;

-- name: withheld
SELECT t.flavor, substr(c.key, length(:prefix) + 1) AS what, sum(c.value) AS count
FROM transcripts t, json_each(t.counts) c
WHERE t.owner = :owner AND :any_project AND substr(c.key, 1, length(:prefix)) = :prefix
GROUP BY t.flavor, what ORDER BY count DESC, what, t.flavor LIMIT :most;

-- name: bodies
SELECT count(*), ifnull(sum(stored), 0) FROM bodies WHERE owner = :owner AND :any_project AND evicted_at IS NULL;
