-- What a scope did in a stretch of time, in figures. Each statement stays within an index or a bounded number of rows.

-- Each stretch is a stretch of the index; grouping all of them by their day would sort them first.
-- name: memories
SELECT to_char(b.day, 'YYYY-MM-DD'), k.kind, k.memories FROM (
  SELECT :first::date + n * :step::integer AS day, least(:first::date + (n + 1) * :step::integer, :end::date) AS after
  FROM generate_series(0, (:end::date - :first::date - 1) / :step::integer) AS n
) b CROSS JOIN LATERAL (
  SELECT m.kind, count(*) AS memories FROM memories m
  WHERE m.tenant = :tenant AND m.owner = :owner
    AND m.occurred_at >= (b.day::timestamp AT TIME ZONE 'UTC') AND m.occurred_at < (b.after::timestamp AT TIME ZONE 'UTC')
    AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL AND {visible}
    AND (:project::bigint IS NULL OR m.project = :project)
  GROUP BY m.kind
) k WHERE k.kind IN (SELECT json_array_elements_text(:kinds::json)) ORDER BY b.day, k.kind COLLATE "C";

-- name: newest
WITH newest AS MATERIALIZED (
  SELECT m.id, m.content, m.tags, m.access_count FROM memories m
  WHERE m.tenant = :tenant AND m.owner = :owner AND m.occurred_at >= :since AND m.occurred_at < :until
    AND m.deleted_at IS NULL AND m.superseded_at IS NULL AND m.archived_at IS NULL AND {visible}
    AND (:project::bigint IS NULL OR m.project = :project)
  ORDER BY m.occurred_at DESC LIMIT :limit
)
SELECT 'all' AS what, '' AS name, '' AS text, count(*) AS one, count(*) FILTER (WHERE access_count > 0) AS two,
       coalesce(sum(access_count), 0)::bigint AS three FROM newest
UNION ALL (
  SELECT 'tag', t.value, '', count(*) AS tagged, 0, 0 FROM newest, jsonb_array_elements_text(newest.tags) AS t (value)
  GROUP BY t.value ORDER BY tagged DESC, t.value COLLATE "C" LIMIT :most)
UNION ALL (
  SELECT 'read', id, content, access_count, 0, 0 FROM newest WHERE access_count > 0
  ORDER BY access_count DESC, id COLLATE "C" LIMIT :most);

-- name: sessions
SELECT to_char(:first::date + n * :step::integer, 'YYYY-MM-DD'), flavor, outcome, count(*), count(health), coalesce(sum(health), 0)
FROM (
  SELECT ((s.started_at AT TIME ZONE 'UTC')::date - :first::date) / :step::integer AS n, s.flavor COLLATE "C" AS flavor,
         coalesce(d.outcome, 'unknown') AS outcome, d.health
  FROM sessions s LEFT JOIN digests d ON d.tenant = s.tenant AND d.owner = s.owner AND d.session = s.row
  WHERE s.tenant = :tenant AND s.owner = :owner AND s.ended_at >= :since AND s.started_at >= :since AND s.started_at < :until
    AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
    AND (:project::bigint IS NULL OR s.project = :project) AND (:flavor::text IS NULL OR s.flavor = :flavor)
) seen GROUP BY n, flavor, outcome ORDER BY n, flavor, outcome LIMIT :rows;

-- name: costs
WITH seen AS MATERIALIZED (
  SELECT (c.day::date - :first::text::date) / :step::integer AS n, s.flavor COLLATE "C" AS flavor, s.project, c.model, c.requests,
         c.input, c.cache_read, c.cache_write, c.output, c.usd, c.priced
  FROM cost_days c JOIN sessions s ON s.tenant = c.tenant AND s.owner = c.owner AND s.row = c.session
  WHERE c.tenant = :tenant AND c.owner = :owner AND c.day >= :first::text AND c.day < :end::text
    AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
    AND (:project::bigint IS NULL OR s.project = :project) AND (:flavor::text IS NULL OR s.flavor = :flavor)
), summed AS (
  SELECT 1 AS place, 'agent' AS of, flavor AS name, n, sum(requests) AS requests, sum(input) AS input, sum(cache_read) AS cache_read,
         sum(cache_write) AS cache_write, sum(output) AS output, sum(usd) AS usd, sum(priced) AS priced
  FROM seen GROUP BY n, flavor
  UNION ALL
  SELECT 2, 'project', coalesce(p.name, ''), NULL, sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output), sum(usd),
         sum(priced)
  FROM seen LEFT JOIN projects p ON p.tenant = :tenant AND p.owner = :owner AND p.row = seen.project GROUP BY p.name
  UNION ALL
  SELECT 3, 'model', model, NULL, sum(requests), sum(input), sum(cache_read), sum(cache_write), sum(output), sum(usd), sum(priced)
  FROM seen GROUP BY model
)
SELECT of, name, coalesce(to_char(:first::text::date + n * :step::integer, 'YYYY-MM-DD'), ''), requests::bigint, input::bigint,
       cache_read::bigint, cache_write::bigint, output::bigint, usd, priced::bigint
FROM summed ORDER BY place, n, name COLLATE "C" LIMIT :rows;

-- A file of a session that is not there (any more) is as old as when it was read.
-- name: files
SELECT t.flavor, t.turns, t.withheld FROM transcripts t
LEFT JOIN sessions s ON s.tenant = t.tenant AND s.owner = t.owner AND s.id = t.session
WHERE t.tenant = :tenant AND t.owner = :owner AND t.state <> 'empty' AND t.session IS NOT NULL
  AND coalesce(s.ended_at, t.read_at) >= :since AND coalesce(s.started_at, t.read_at) < :until
  AND (:project::bigint IS NULL OR s.project = :project) AND (:flavor::text IS NULL OR t.flavor = :flavor)
ORDER BY t.row DESC LIMIT :files;

-- Each key by itself, and without telling the planner whose they are: else it might read all that the owner has, to join it.
-- name: absent
SELECT k.value FROM json_array_elements_text(:keys::json) k WHERE (
  SELECT true FROM events WHERE tenant = :tenant AND owner = (SELECT :owner::bigint) AND key = decode(k.value, 'hex') LIMIT 1
) IS NULL;

-- name: buried
SELECT encode(key, 'hex') FROM tombstones WHERE tenant = :tenant AND owner = :owner
  AND key = ANY (ARRAY(SELECT decode(value, 'hex') FROM json_array_elements_text(:keys::json)));

-- name: recalls
SELECT day, recalls, abstained, memories FROM recall_days
WHERE tenant = :tenant AND owner = :owner AND day >= :first AND day < :end ORDER BY day;

-- name: count_recalls
INSERT INTO recall_days AS r (tenant, owner, day, recalls, abstained, memories)
VALUES (:tenant, :owner, :day, :recalls, :abstained, :memories)
ON CONFLICT (tenant, owner, day) DO UPDATE SET recalls = r.recalls + excluded.recalls,
  abstained = r.abstained + excluded.abstained, memories = r.memories + excluded.memories;

-- name: drop_recalls
DELETE FROM recall_days WHERE tenant = :tenant AND owner = :owner AND day < :day;

-- name: forget_recalls
DELETE FROM recall_days WHERE tenant = :tenant AND owner = :owner;

-- name: documents
SELECT tier, rows FROM indexed WHERE tenant = :tenant AND owner = :owner;

-- name: pending
SELECT tier, count(*) FROM pending WHERE tenant = :tenant AND owner = :owner GROUP BY tier;

-- name: bodies
SELECT count(*) FILTER (WHERE evicted_at IS NULL), coalesce(sum(stored) FILTER (WHERE evicted_at IS NULL), 0)::bigint,
       count(*) FILTER (WHERE evicted_at IS NOT NULL)
FROM bodies WHERE tenant = :tenant AND owner = :owner;

-- name: tasks
SELECT kind, state, count(*) FROM tasks
WHERE tenant = :tenant AND owner = :owner AND state IN ('waiting', 'running', 'dead') AND {task_visible}
GROUP BY kind, state ORDER BY kind, state;

-- name: flavors
SELECT DISTINCT flavor COLLATE "C" FROM sessions WHERE tenant = :tenant AND owner = :owner AND {visible} ORDER BY 1 LIMIT :most;

-- name: projects
SELECT name FROM projects WHERE tenant = :tenant AND owner = :owner AND (:any_project OR row = :scope_project::bigint)
ORDER BY name LIMIT :most;

-- name: database_bytes
SELECT pg_database_size(current_database());
