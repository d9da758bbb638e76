-- What a vector engine beside the store is told: which documents' vectors changed, and the vectors.

-- name: state
SELECT value FROM meta WHERE key = 'vector_engine';

-- name: register
INSERT INTO meta (key, value) VALUES ('vector_engine', :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: store
SELECT value FROM meta WHERE key = 'vector_engine_store';

-- name: name_store
INSERT INTO meta (key, value) VALUES ('vector_engine_store', :value) ON CONFLICT (key) DO NOTHING;

-- name: leave
DELETE FROM meta WHERE key = 'vector_engine';

-- name: changes
SELECT owner, tier, doc, ticket FROM engine_changes ORDER BY tier, doc LIMIT :limit;

-- name: changed
SELECT doc FROM engine_changes WHERE owner = :owner AND tier = :tier LIMIT :limit;

-- name: followed
DELETE FROM engine_changes WHERE tier = :tier AND doc = :doc AND ticket = :ticket;

-- name: vectors
SELECT owner, doc, leading, vector FROM vectors WHERE tier = :tier AND doc IN (SELECT value FROM json_each(:docs));

-- name: candidates
SELECT owner, doc, leading, vector FROM vectors
WHERE tier = :tier AND doc IN (SELECT value FROM json_each(:docs)) AND +owner = :owner;

-- name: all
SELECT owner, doc, leading, vector FROM vectors WHERE tier = :tier AND doc > :after ORDER BY doc LIMIT :limit;

-- name: total
SELECT ifnull(sum(length(vector)), 0) / (2 * :dim) FROM vectors;
