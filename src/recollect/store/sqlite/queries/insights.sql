-- What a scope did in a stretch of time, in figures. Each statement stays within an index or a bounded number of rows.

-- One look into the index for each stretch and kind: nothing is sorted, no row of a memory is read.
-- name: memories
WITH RECURSIVE stretches (day, next) AS (
  SELECT :first, date(:first, '+' || :step || ' days')
  UNION ALL SELECT next, date(next, '+' || :step || ' days') FROM stretches WHERE next < :end
), counted AS MATERIALIZED (
  SELECT t.day, k.value AS kind, (
    SELECT count(*) FROM memories m
    WHERE m.owner = :owner AND m.kind = k.value AND m.occurred_at >= t.day AND m.occurred_at < min(t.next, :end)
      AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL
      AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
      AND (:project IS NULL OR m.project = :project)) AS memories
  FROM stretches t, json_each(:kinds) k
)
SELECT day, kind, memories FROM counted WHERE memories > 0 ORDER BY day, kind;

-- name: newest
WITH newest AS MATERIALIZED (
  SELECT m.id, m.content, m.tags, m.access_count FROM memories m
  WHERE m.owner = :owner AND m.occurred_at >= :since AND m.occurred_at < :until
    AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL
    AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
    AND (:project IS NULL OR m.project = :project)
  ORDER BY m.occurred_at DESC LIMIT :limit
)
SELECT 'all' AS what, '' AS name, '' AS text, count(*) AS one, ifnull(sum(access_count > 0), 0) AS two,
       ifnull(sum(access_count), 0) AS three FROM newest
UNION ALL SELECT * FROM (
  SELECT 'tag', t.value, '', count(*) AS tagged, 0, 0 FROM newest, json_each(newest.tags) t
  GROUP BY t.value ORDER BY tagged DESC, t.value LIMIT :most)
UNION ALL SELECT * FROM (
  SELECT 'read', id, content, access_count, 0, 0 FROM newest WHERE access_count > 0
  ORDER BY access_count DESC, id LIMIT :most);

-- The outcome and the health lie in an index, so that no digest is read for them.
-- name: sessions
SELECT date(:first, '+' || (n * :step) || ' days'), flavor, outcome, count(*), count(health), ifnull(sum(health), 0) FROM (
  SELECT CAST(julianday(substr(s.started_at, 1, 10)) - julianday(:first) AS INTEGER) / :step AS n, s.flavor,
         ifnull(d.outcome, 'unknown') AS outcome, d.health
  FROM sessions s LEFT JOIN digests d INDEXED BY digests_scored ON d.session = s.row
  WHERE s.owner = :owner AND s.ended_at >= :since AND s.started_at >= :since AND s.started_at < :until
    AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
    AND (:project IS NULL OR s.project = :project) AND (:flavor IS NULL OR s.flavor = :flavor)
) GROUP BY n, flavor, outcome ORDER BY n, flavor, outcome LIMIT :rows;

-- name: costs
WITH seen AS MATERIALIZED (
  SELECT CAST(julianday(c.day) - julianday(:first) AS INTEGER) / :step AS n, s.flavor, s.project, c.model, c.requests, c.input,
         c.cache_read, c.cache_write, c.output, c.usd, c.priced
  FROM cost_days c JOIN sessions s ON s.row = c.session
  WHERE c.owner = :owner AND c.day >= :first AND c.day < :end
    AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
    AND (:project IS NULL OR s.project = :project) AND (:flavor IS NULL OR s.flavor = :flavor)
)
SELECT * FROM (
  SELECT 'agent', flavor, date(:first, '+' || (n * :step) || ' days') AS day, sum(requests), sum(input), sum(cache_read),
         sum(cache_write), sum(output), sum(usd), sum(priced)
  FROM seen GROUP BY n, flavor ORDER BY n, flavor LIMIT :rows)
UNION ALL SELECT * FROM (
  SELECT 'project', ifnull(p.name, ''), '', sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output), sum(usd),
         sum(priced)
  FROM seen LEFT JOIN projects p ON p.row = seen.project GROUP BY seen.project ORDER BY p.name LIMIT :rows)
UNION ALL SELECT * FROM (
  SELECT 'model', model, '', sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output), sum(usd), sum(priced)
  FROM seen GROUP BY model ORDER BY model LIMIT :rows);

-- A file of a session that is not there (any more) is as old as when it was read.
-- name: files
SELECT t.flavor, t.turns, t.withheld FROM transcripts t LEFT JOIN sessions s ON s.owner = t.owner AND s.id = t.session
WHERE t.owner = :owner AND t.state <> 'empty' AND t.session IS NOT NULL
  AND ifnull(s.ended_at, t.read_at) >= :since AND ifnull(s.started_at, t.read_at) < :until
  AND (:project IS NULL OR s.project = :project) AND (:flavor IS NULL OR t.flavor = :flavor)
ORDER BY t.row DESC LIMIT :files;

-- name: absent
SELECT k.value FROM json_each(:keys) k WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.owner = :owner AND e.key = unhex(k.value));

-- name: buried
SELECT k.value FROM json_each(:keys) k WHERE EXISTS (SELECT 1 FROM tombstones t WHERE t.owner = :owner AND t.key = unhex(k.value));

-- name: recalls
SELECT day, recalls, abstained, memories FROM recall_days WHERE owner = :owner AND day >= :first AND day < :end ORDER BY day;

-- name: count_recalls
INSERT INTO recall_days (owner, day, recalls, abstained, memories) VALUES (:owner, :day, :recalls, :abstained, :memories)
ON CONFLICT (owner, day) DO UPDATE SET recalls = recalls + excluded.recalls, abstained = abstained + excluded.abstained,
  memories = memories + excluded.memories;

-- name: drop_recalls
DELETE FROM recall_days WHERE owner = :owner AND day < :day;

-- name: forget_recalls
DELETE FROM recall_days WHERE owner = :owner;

-- name: documents
SELECT tier, rows FROM indexed WHERE owner = :owner;

-- name: pending
SELECT tier, count(*) FROM pending WHERE tier IN ('memory', 'gist', 'turn') AND owner = :owner GROUP BY tier;

-- name: bodies
SELECT count(*) FILTER (WHERE evicted_at IS NULL), ifnull(sum(stored) FILTER (WHERE evicted_at IS NULL), 0),
       count(*) FILTER (WHERE evicted_at IS NOT NULL)
FROM bodies WHERE owner = :owner;

-- name: tasks
SELECT kind, state, count(*) FROM tasks WHERE owner = :owner AND state IN ('waiting', 'running', 'dead') AND {task_visible}
GROUP BY kind, state ORDER BY kind, state;

-- name: flavors
SELECT DISTINCT flavor FROM sessions
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project) ORDER BY flavor LIMIT :most;

-- name: projects
SELECT name FROM projects WHERE owner = :owner AND (:any_project OR row = :scope_project) ORDER BY name LIMIT :most;

-- name: database_bytes
SELECT c.page_count * s.page_size FROM pragma_page_count() c, pragma_page_size() s;
