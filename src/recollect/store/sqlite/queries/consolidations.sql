-- Relations between memories, runs of consolidating with their steps, and roll-ups.

-- name: run
SELECT id, home, content, made_at, undone_at FROM consolidations
WHERE owner = :owner AND id = :id AND (:any_project OR home = :home);

-- name: runs
SELECT id, home, content, made_at, undone_at FROM consolidations
WHERE owner = :owner AND (:any_project OR home = :home)
ORDER BY made_at DESC, id DESC LIMIT :limit OFFSET :offset;

-- name: put_run
INSERT INTO consolidations (owner, id, home, content, made_at) VALUES (:owner, :id, :home, :content, :made_at)
ON CONFLICT (owner, id) DO UPDATE SET content = excluded.content;

-- name: mark_undone
UPDATE consolidations SET undone_at = :at WHERE owner = :owner AND id = :id;

-- name: last_number
SELECT max(number) FROM consolidation_steps WHERE owner = :owner AND run = :run;

-- name: put_step
INSERT INTO consolidation_steps (owner, run, number, kind, subject, other, content)
VALUES (:owner, :run, :number, :kind, :subject, :other, :content);

-- name: steps
SELECT number, kind, subject, other, content FROM consolidation_steps WHERE owner = :owner AND run = :run ORDER BY number;

-- name: refused
SELECT s.kind, s.subject, s.other FROM consolidation_steps s JOIN consolidations c ON c.owner = s.owner AND c.id = s.run
JOIN memories m ON m.owner = s.owner AND m.id = s.subject
WHERE s.owner = :owner AND c.undone_at IS NOT NULL AND s.kind IN ('merge', 'demote', 'release')
  AND (:any_project OR m.project IS NULL OR m.project = :scope_project);

-- name: tidy
DELETE FROM consolidation_steps WHERE owner = :owner AND kind IN ('relate', 'rollup') AND run IN (
  SELECT id FROM consolidations WHERE owner = :owner AND made_at < :before AND (:any_project OR home = :home));

-- name: relations
SELECT r.from_id, r.to_id, r.kind, r.run, r.at FROM relations r
JOIN memories a ON a.owner = r.owner AND a.id = r.from_id JOIN memories b ON b.owner = r.owner AND b.id = r.to_id
WHERE r.owner = :owner AND a.deleted_at IS NULL AND b.deleted_at IS NULL
  AND (:any_project OR a.project IS NULL OR a.project = :scope_project)
  AND (:any_project OR b.project IS NULL OR b.project = :scope_project)
ORDER BY r.from_id, r.to_id, r.kind;

-- name: relations_of
SELECT r.from_id, r.to_id, r.kind, r.run, r.at FROM (
  SELECT f.* FROM json_each(:ids) i JOIN relations f ON f.owner = :owner AND f.from_id = i.value
  UNION SELECT t.* FROM json_each(:ids) i JOIN relations t ON t.owner = :owner AND t.to_id = i.value) r
JOIN memories a ON a.owner = r.owner AND a.id = r.from_id JOIN memories b ON b.owner = r.owner AND b.id = r.to_id
WHERE a.deleted_at IS NULL AND b.deleted_at IS NULL
  AND (:any_project OR a.project IS NULL OR a.project = :scope_project)
  AND (:any_project OR b.project IS NULL OR b.project = :scope_project)
ORDER BY r.from_id, r.to_id, r.kind;

-- name: beyond
SELECT r.from_id, m.row FROM json_each(:ids) i JOIN relations r ON r.owner = :owner AND r.from_id = i.value AND r.kind = 'depends_on'
JOIN memories m ON m.owner = r.owner AND m.id = r.to_id
WHERE m.owner = :owner
  {memory_filter}
ORDER BY r.from_id, m.row LIMIT :limit;

-- name: put_relation
INSERT INTO relations (owner, from_id, to_id, kind, run, at)
SELECT :owner, :from_id, :to_id, :kind, :run, :at
WHERE EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND id = :from_id)
  AND EXISTS (SELECT 1 FROM memories WHERE owner = :owner AND id = :to_id)
ON CONFLICT DO NOTHING;

-- name: drop_relation
DELETE FROM relations WHERE owner = :owner AND from_id = :from_id AND to_id = :to_id AND kind = :kind AND run = :run;

-- name: set_accessed
UPDATE memories SET accessed_at = :accessed_at WHERE owner = :owner AND id = :id;

-- name: rollups
SELECT period, content, covers, made_at, home, maker FROM rollups
WHERE owner = :owner AND (:any_project OR home = '' OR home = :home) ORDER BY home, period;

-- name: rollup
SELECT period, content, covers, made_at, home, maker FROM rollups WHERE owner = :owner AND home = :home AND period = :period;

-- name: put_rollup
INSERT INTO rollups (owner, home, period, content, covers, maker, made_at)
VALUES (:owner, :home, :period, :content, :covers, :maker, :made_at)
ON CONFLICT (owner, home, period) DO UPDATE SET
  content = excluded.content, covers = excluded.covers, maker = excluded.maker, made_at = excluded.made_at;

-- name: drop_rollup
DELETE FROM rollups WHERE owner = :owner AND home = :home AND period = :period;

-- Forgetting.

-- name: forget_relations
DELETE FROM relations WHERE owner = :owner AND (from_id = :id OR to_id = :id);

-- name: forget_steps
DELETE FROM consolidation_steps WHERE owner = :owner AND subject = :id AND kind <> 'rollup';

-- name: forget_covering
DELETE FROM rollups WHERE owner = :owner AND EXISTS (SELECT 1 FROM json_each(covers) WHERE key = :session);

-- name: forget_covering_steps
DELETE FROM consolidation_steps WHERE owner = :owner AND kind = 'rollup'
  AND EXISTS (SELECT 1 FROM json_each(content, '$.before.covers') WHERE key = :session);

-- name: forget_rollups
DELETE FROM rollups WHERE owner = :owner AND (:any_project OR home = :home);

-- name: forget_rollup_steps
DELETE FROM consolidation_steps WHERE owner = :owner AND kind = 'rollup' AND (:any_project OR other = :home);

-- name: forget_runs
DELETE FROM consolidations WHERE owner = :owner AND (:any_project OR home = :home);

-- name: forget_steps_of_runs
DELETE FROM consolidation_steps WHERE owner = :owner AND run IN (
  SELECT id FROM consolidations WHERE owner = :owner AND (:any_project OR home = :home));
