-- Relations between memories, runs of consolidating with their steps, and roll-ups.

-- name: run
SELECT id, home, content, made_at, undone_at FROM consolidations
WHERE tenant = :tenant AND owner = :owner AND id = :id AND (:any_project OR home = :home::text);

-- name: runs
SELECT id, home, content, made_at, undone_at FROM consolidations
WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = :home::text)
ORDER BY made_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: put_run
INSERT INTO consolidations (tenant, owner, id, home, content, made_at) VALUES (:tenant, :owner, :id, :home, :content, :made_at)
ON CONFLICT (tenant, owner, id) DO UPDATE SET content = excluded.content;

-- name: mark_undone
UPDATE consolidations SET undone_at = :at WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: last_number
SELECT max(number) FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND run = :run;

-- name: put_step
INSERT INTO consolidation_steps (tenant, owner, run, number, kind, subject, other, content)
VALUES (:tenant, :owner, :run, :number, :kind, :subject, :other, :content);

-- name: steps
SELECT number, kind, subject, other, content FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND run = :run ORDER BY number;

-- name: refused
SELECT s.kind, s.subject, s.other FROM consolidation_steps s JOIN consolidations c ON c.tenant = s.tenant AND c.owner = s.owner AND c.id = s.run
JOIN memories m ON m.tenant = s.tenant AND m.owner = s.owner AND m.id = s.subject
WHERE s.tenant = :tenant AND s.owner = :owner AND c.undone_at IS NOT NULL AND s.kind IN ('merge', 'demote', 'release')
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint);

-- name: tidy
DELETE FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND kind IN ('relate', 'rollup') AND run IN (
  SELECT id FROM consolidations WHERE tenant = :tenant AND owner = :owner AND made_at < :before AND (:any_project OR home = :home::text));

-- name: relations
SELECT r.from_id, r.to_id, r.kind, r.run, r.at FROM relations r
JOIN memories a ON a.tenant = r.tenant AND a.owner = r.owner AND a.id = r.from_id JOIN memories b ON b.tenant = r.tenant AND b.owner = r.owner AND b.id = r.to_id
WHERE r.tenant = :tenant AND r.owner = :owner AND a.deleted_at IS NULL AND b.deleted_at IS NULL
  AND (:any_project OR a.project IS NULL OR a.project = :scope_project::bigint)
  AND (:any_project OR b.project IS NULL OR b.project = :scope_project::bigint)
ORDER BY r.from_id, r.to_id, r.kind;

-- name: relations_of
SELECT r.from_id, r.to_id, r.kind, r.run, r.at FROM (
  SELECT f.* FROM relations f WHERE f.tenant = :tenant AND f.owner = :owner AND f.from_id IN (SELECT json_array_elements_text(:ids::json))
  UNION SELECT t.* FROM relations t WHERE t.tenant = :tenant AND t.owner = :owner AND t.to_id IN (SELECT json_array_elements_text(:ids::json))) r
JOIN memories a ON a.tenant = r.tenant AND a.owner = r.owner AND a.id = r.from_id JOIN memories b ON b.tenant = r.tenant AND b.owner = r.owner AND b.id = r.to_id
WHERE a.deleted_at IS NULL AND b.deleted_at IS NULL
  AND (:any_project OR a.project IS NULL OR a.project = :scope_project::bigint)
  AND (:any_project OR b.project IS NULL OR b.project = :scope_project::bigint)
ORDER BY r.from_id, r.to_id, r.kind;

-- name: beyond
SELECT r.from_id, m.row FROM relations r JOIN memories m ON m.tenant = r.tenant AND m.owner = r.owner AND m.id = r.to_id
WHERE r.tenant = :tenant AND r.owner = :owner AND r.kind = 'depends_on'
  AND r.from_id IN (SELECT json_array_elements_text(:ids::json))
  {memory_filter}
ORDER BY r.from_id, m.row LIMIT :limit;

-- name: put_relation
INSERT INTO relations (tenant, owner, from_id, to_id, kind, run, at)
SELECT :tenant::text, :owner::bigint, :from_id::text, :to_id::text, :kind::text, :run::text, :at::timestamptz
WHERE EXISTS (SELECT 1 FROM memories WHERE tenant = :tenant AND owner = :owner AND id = :from_id)
  AND EXISTS (SELECT 1 FROM memories WHERE tenant = :tenant AND owner = :owner AND id = :to_id)
ON CONFLICT DO NOTHING;

-- name: drop_relation
DELETE FROM relations WHERE tenant = :tenant AND owner = :owner AND from_id = :from_id AND to_id = :to_id AND kind = :kind AND run = :run;

-- name: set_accessed
UPDATE memories SET accessed_at = :accessed_at WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: rollups
SELECT period, content, covers, made_at, home, maker FROM rollups
WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = '' OR home = :home::text) ORDER BY home, period;

-- name: rollup
SELECT period, content, covers, made_at, home, maker FROM rollups WHERE tenant = :tenant AND owner = :owner AND home = :home::text AND period = :period;

-- name: put_rollup
INSERT INTO rollups (tenant, owner, home, period, content, covers, maker, made_at)
VALUES (:tenant, :owner, :home, :period, :content, :covers, :maker, :made_at)
ON CONFLICT (tenant, owner, home, period) DO UPDATE SET
  content = excluded.content, covers = excluded.covers, maker = excluded.maker, made_at = excluded.made_at;

-- name: drop_rollup
DELETE FROM rollups WHERE tenant = :tenant AND owner = :owner AND home = :home::text AND period = :period;

-- Forgetting.

-- name: forget_relations
DELETE FROM relations WHERE tenant = :tenant AND owner = :owner AND (from_id = :id OR to_id = :id);

-- name: forget_steps
DELETE FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND subject = :id AND kind <> 'rollup';

-- name: forget_covering
DELETE FROM rollups WHERE tenant = :tenant AND owner = :owner AND covers::jsonb ? :session::text;

-- name: forget_covering_steps
DELETE FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND kind = 'rollup'
  AND (content #> '{before,covers}')::jsonb ? :session::text;

-- name: forget_rollups
DELETE FROM rollups WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = :home::text);

-- name: forget_rollup_steps
DELETE FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND kind = 'rollup' AND (:any_project OR other = :home::text);

-- name: forget_runs
DELETE FROM consolidations WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = :home::text);

-- name: forget_steps_of_runs
DELETE FROM consolidation_steps WHERE tenant = :tenant AND owner = :owner AND run IN (
  SELECT id FROM consolidations WHERE tenant = :tenant AND owner = :owner AND (:any_project OR home = :home::text));
