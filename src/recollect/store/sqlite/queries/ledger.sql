-- What language models were paid.

-- The whole owner's day, and of it what one project took; both are held against the caps.
-- name: totals
SELECT ifnull(sum(input + output), 0), ifnull(sum(usd), 0.0), ifnull(sum(iif(project IS :project, usd, 0.0)), 0.0)
FROM spending WHERE owner = :owner AND day = :day;

-- name: reserve
INSERT INTO spending (owner, project, day, use, model, input, output, usd, at)
VALUES (:owner, :project, :day, :use, :model, :input, :output, :usd, :at) RETURNING row;

-- name: charge
SELECT settled FROM spending
WHERE row = :ticket AND owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: settle
UPDATE spending SET settled = 1, input = :input, output = :output, usd = :usd WHERE row = :ticket AND NOT settled;

-- name: spent
SELECT s.day, p.name, s.use, s.model, count(*), sum(s.input), sum(s.output), sum(s.usd)
FROM spending s LEFT JOIN projects p ON p.row = s.project
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project) AND s.day >= :day
GROUP BY s.day, p.name, s.use, s.model ORDER BY s.day, p.name, s.use, s.model;

-- A call that was answered has figures; one that was refused is settled with none, one that failed is not settled.
-- name: unanswered
WITH calls AS (
  SELECT row, at, settled AND input + output > 0 AS answered FROM spending
  WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :scope_project)
    AND day >= :day AND model = :model
)
SELECT count(*), max(at) FROM calls WHERE row > ifnull((SELECT max(row) FROM calls WHERE answered), 0);
