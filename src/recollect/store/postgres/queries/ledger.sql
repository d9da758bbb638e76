-- What language models were paid.

-- The whole owner's day, and of it what one project took; both are held against the caps.
-- name: totals
SELECT coalesce(sum(input + output), 0)::bigint, coalesce(sum(usd), 0.0),
       coalesce(sum(CASE WHEN project IS NOT DISTINCT FROM :project::bigint THEN usd ELSE 0.0 END), 0.0)
FROM spending WHERE tenant = :tenant AND owner = :owner AND day = :day;

-- name: reserve
INSERT INTO spending (tenant, owner, project, day, use, model, input, output, usd, at)
VALUES (:tenant, :owner, :project, :day, :use, :model, :input, :output, :usd, :at) RETURNING row;

-- name: charge
SELECT settled::integer FROM spending WHERE tenant = :tenant AND row = :ticket AND owner = :owner AND {visible};

-- name: settle
UPDATE spending SET settled = true, input = :input, output = :output, usd = :usd
WHERE tenant = :tenant AND row = :ticket AND NOT settled;

-- name: spent
SELECT s.day, p.name, s.use, s.model, count(*), sum(s.input)::bigint, sum(s.output)::bigint, sum(s.usd)
FROM spending s LEFT JOIN projects p ON p.tenant = s.tenant AND p.row = s.project
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND s.day >= :day
GROUP BY s.day, p.name, s.use, s.model ORDER BY s.day, p.name NULLS FIRST, s.use, s.model;

-- A call that was answered has figures; one that was refused is settled with none, one that failed is not settled.
-- name: unanswered
WITH calls AS (
  SELECT row, at, settled AND input + output > 0 AS answered FROM spending
  WHERE tenant = :tenant AND owner = :owner AND {visible} AND day >= :day AND model = :model
)
SELECT count(*), max(at) FROM calls WHERE row > coalesce((SELECT max(row) FROM calls WHERE answered), 0);
