-- How much an owner may have, and has.

-- name: take
INSERT INTO quotas (owner, day, taken) VALUES (:owner, :day, :by)
ON CONFLICT DO UPDATE SET taken = CASE WHEN day >= excluded.day THEN taken + :by ELSE :by END, day = max(ifnull(day, ''), excluded.day)
RETURNING day, taken, memories, ingests, (SELECT ifnull(max(rows), 0) FROM indexed WHERE tier = 'memory' AND owner = :owner);

-- name: get
SELECT q.day, ifnull(q.taken, 0), q.memories, q.ingests, ifnull(i.rows, 0)
FROM owners o LEFT JOIN quotas q ON q.owner = o.row LEFT JOIN indexed i ON i.tier = 'memory' AND i.owner = o.row
WHERE o.row = :owner;

-- name: set
INSERT INTO quotas (owner, memories, ingests) VALUES (:owner, :memories, :ingests)
ON CONFLICT DO UPDATE SET memories = excluded.memories, ingests = excluded.ingests;
