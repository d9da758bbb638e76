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

-- One at a time follows the changes, whichever machine it is on.
-- name: turn
SELECT pg_try_advisory_xact_lock(hashtextextended('recollect vector engine', 1380143188))::int;

-- name: changes
SELECT owner, tier, doc, ticket FROM engine_changes WHERE tenant = :tenant AND owner = :owner
ORDER BY tier, doc LIMIT :limit;

-- name: changed
SELECT doc FROM engine_changes WHERE tenant = :tenant AND owner = :owner AND tier = :tier LIMIT :limit;

-- name: followed
DELETE FROM engine_changes
WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = :doc AND ticket = :ticket;

-- name: vectors
SELECT owner, doc, count(*) FILTER (WHERE by_user),
       string_agg(substring(halfvec_send(vector) FROM 5), ''::bytea ORDER BY place)
FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[])
GROUP BY owner, doc;

-- name: candidates
SELECT owner, doc, count(*) FILTER (WHERE by_user),
       string_agg(substring(halfvec_send(vector) FROM 5), ''::bytea ORDER BY place)
FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[])
GROUP BY owner, doc;

-- name: all
SELECT owner, doc, count(*) FILTER (WHERE by_user),
       string_agg(substring(halfvec_send(vector) FROM 5), ''::bytea ORDER BY place)
FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc > :after
GROUP BY owner, doc ORDER BY doc LIMIT :limit;

-- name: total
SELECT coalesce(sum(vectors), 0)::bigint FROM indexed WHERE tenant = :tenant AND owner = :owner;
