-- How much an owner may have, and has.

-- name: take
INSERT INTO quotas AS q (tenant, owner, day, taken) VALUES (:tenant, :owner, :day, :by)
ON CONFLICT (tenant, owner) DO UPDATE
SET taken = CASE WHEN q.day >= excluded.day THEN q.taken + excluded.taken ELSE excluded.taken END,
    day = greatest(coalesce(q.day, ''), excluded.day)
RETURNING day, taken, memories, ingests,
  coalesce((SELECT i.rows FROM indexed i WHERE i.tenant = :tenant AND i.owner = :owner AND i.tier = 'memory'), 0);

-- name: get
SELECT q.day, coalesce(q.taken, 0), q.memories, q.ingests, coalesce(i.rows, 0)
FROM owners o LEFT JOIN quotas q ON q.tenant = o.tenant AND q.owner = o.row
LEFT JOIN indexed i ON i.tenant = o.tenant AND i.owner = o.row AND i.tier = 'memory'
WHERE o.tenant = :tenant AND o.row = :owner;

-- name: set
INSERT INTO quotas (tenant, owner, memories, ingests) VALUES (:tenant, :owner, :memories, :ingests)
ON CONFLICT (tenant, owner) DO UPDATE SET memories = excluded.memories, ingests = excluded.ingests;
