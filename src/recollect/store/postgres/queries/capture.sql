-- What was read of agents' files, what it cost, the digests, and the bodies kept beside the events.

-- name: seen
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE tenant = :tenant AND owner = :owner AND name = :name;

-- name: all_seen
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE tenant = :tenant AND owner = :owner ORDER BY flavor, session NULLS FIRST, name;

-- name: add_transcript
INSERT INTO transcripts (tenant, owner, name, flavor, session, state, way, read_at)
VALUES (:tenant, :owner, :name, :flavor, :session, 'reading', :way, :read_at)
ON CONFLICT (tenant, owner, name) DO UPDATE SET session = excluded.session RETURNING row;

-- name: note
INSERT INTO transcripts (tenant, owner, name, flavor, session, state, error, fingerprint, complete_to, turns, withheld, counts, way, read_at)
VALUES (:tenant, :owner, :name, :flavor, :session, :state, :error, :fingerprint, :complete_to, :turns, :withheld, :counts, :way, :read_at)
ON CONFLICT (tenant, owner, name) DO UPDATE SET flavor = excluded.flavor, session = excluded.session, state = excluded.state,
  error = excluded.error, fingerprint = excluded.fingerprint, complete_to = excluded.complete_to, turns = excluded.turns,
  withheld = excluded.withheld, counts = excluded.counts, way = excluded.way, read_at = excluded.read_at;

-- name: way_of
SELECT way FROM events WHERE tenant = :tenant AND owner = :owner AND key = :key;

-- name: is_buried
SELECT 1 FROM tombstones WHERE tenant = :tenant AND owner = :owner AND key = :key;

-- name: add_cost
INSERT INTO costs AS c (tenant, owner, key, session, at, model, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, usd, usd_source)
VALUES (:tenant, :owner, :key, :session, :at, :model, :input, :cache_read, :cache_write_5m, :cache_write_1h, :output, :reasoning, :usd, :usd_source)
ON CONFLICT (tenant, owner, key) DO UPDATE SET at = excluded.at, model = coalesce(excluded.model, c.model), input = excluded.input,
  cache_read = excluded.cache_read, cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h,
  output = excluded.output, reasoning = excluded.reasoning, usd = excluded.usd, usd_source = excluded.usd_source
WHERE excluded.output > c.output OR (excluded.output = c.output AND excluded.input > c.input) RETURNING row;

-- name: costs
SELECT key, at, model, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, usd, usd_source
FROM costs WHERE tenant = :tenant AND session = :session ORDER BY at, row;

-- name: session_row
SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: add_injected
INSERT INTO injected (tenant, owner, hash, at) VALUES (:tenant, :owner, :hash, :at) ON CONFLICT DO NOTHING;

-- name: was_injected
SELECT 1 FROM injected WHERE tenant = :tenant AND owner = :owner AND hash = :hash;

-- name: digest
SELECT content FROM digests WHERE tenant = :tenant AND session = :session;

-- name: put_digest
INSERT INTO digests (tenant, session, owner, version, covers, outcome, content, made_at, health)
VALUES (:tenant, :session, :owner, :version, :covers, :outcome, :content, :made_at, :health)
ON CONFLICT (tenant, owner, session) DO UPDATE SET version = excluded.version, covers = excluded.covers, outcome = excluded.outcome,
  content = excluded.content, made_at = excluded.made_at, health = excluded.health;

-- name: unscored
SELECT d.content FROM digests d JOIN sessions s ON s.tenant = d.tenant AND s.owner = d.owner AND s.row = d.session
WHERE d.tenant = :tenant AND d.owner = :owner AND d.health IS NULL
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
LIMIT :limit;

-- name: score
UPDATE digests SET health = :health WHERE tenant = :tenant AND owner = :owner AND health IS NULL AND session = (
  SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible});

-- name: digests_due
SELECT s.id FROM sessions s LEFT JOIN digests d ON d.tenant = s.tenant AND d.session = s.row
WHERE s.tenant = :tenant AND s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND EXISTS (SELECT 1 FROM events e WHERE e.tenant = s.tenant AND e.session = s.row AND e.way <> 'record')
  AND (d.session IS NULL OR d.version < :version
       OR d.covers < (SELECT max(position) FROM events e WHERE e.tenant = s.tenant AND e.session = s.row))
ORDER BY s.row;

-- name: body
SELECT 1 FROM bodies b WHERE b.tenant = :tenant AND b.owner = :owner AND b.hash = :hash AND b.evicted_at IS NULL AND EXISTS (
  SELECT 1 FROM event_bodies eb JOIN events e ON e.tenant = eb.tenant AND e.row = eb.event
  JOIN sessions s ON s.tenant = e.tenant AND s.row = e.session
  WHERE eb.tenant = b.tenant AND eb.owner = b.owner AND eb.hash = b.hash
    AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint));

-- name: body_data
SELECT data FROM bodies WHERE tenant = :tenant AND owner = :owner AND hash = :hash AND evicted_at IS NULL;

-- name: has_body
SELECT 1 FROM bodies WHERE tenant = :tenant AND owner = :owner AND hash = :hash;

-- name: digest_again
UPDATE digests SET version = 0 WHERE tenant = :tenant AND session = :session;

-- name: add_body
INSERT INTO bodies AS b (tenant, owner, hash, media, bytes, stored, born, data)
VALUES (:tenant, :owner, :hash, :media, :bytes, :stored, :born, :data)
ON CONFLICT (tenant, owner, hash) DO UPDATE SET stored = excluded.stored, born = excluded.born, data = excluded.data, evicted_at = NULL
WHERE b.evicted_at IS NOT NULL;

-- name: raw_use
SELECT s.id, sum(u.stored)::bigint, d.session IS NOT NULL AND d.covers >= (
         SELECT max(position) FROM events e WHERE e.tenant = s.tenant AND e.session = s.row), max(u.born)
FROM (SELECT min(e.session) AS session, b.hash, b.stored, b.born FROM bodies b
      JOIN event_bodies eb ON eb.tenant = b.tenant AND eb.owner = b.owner AND eb.hash = b.hash
      JOIN events e ON e.tenant = eb.tenant AND e.row = eb.event
      WHERE b.tenant = :tenant AND b.owner = :owner AND b.evicted_at IS NULL GROUP BY b.hash, b.stored, b.born) u
JOIN sessions s ON s.tenant = :tenant AND s.row = u.session LEFT JOIN digests d ON d.tenant = s.tenant AND d.session = s.row
WHERE :any_project OR s.project IS NULL OR s.project = :scope_project::bigint
GROUP BY s.tenant, s.row, s.id, d.session, d.covers ORDER BY max(u.born), s.row;

-- name: is_digested
SELECT (d.session IS NOT NULL AND d.covers >= (
         SELECT max(position) FROM events e WHERE e.tenant = s.tenant AND e.session = s.row))::integer
FROM sessions s LEFT JOIN digests d ON d.tenant = s.tenant AND d.session = s.row
WHERE s.tenant = :tenant AND s.row = :session;

-- name: evictable
SELECT DISTINCT b.hash, b.stored FROM bodies b
JOIN event_bodies eb ON eb.tenant = b.tenant AND eb.owner = b.owner AND eb.hash = b.hash
JOIN events e ON e.tenant = eb.tenant AND e.row = eb.event
WHERE b.tenant = :tenant AND b.owner = :owner AND e.session = :session AND b.evicted_at IS NULL
  AND (:undigested OR NOT EXISTS (
    SELECT 1 FROM event_bodies o JOIN events oe ON oe.tenant = o.tenant AND oe.row = o.event
    LEFT JOIN digests od ON od.tenant = oe.tenant AND od.session = oe.session
    WHERE o.tenant = b.tenant AND o.owner = b.owner AND o.hash = b.hash AND oe.session <> :session
      AND (od.session IS NULL OR od.covers < (
        SELECT max(position) FROM events m WHERE m.tenant = oe.tenant AND m.session = oe.session))));

-- name: not_digested
SELECT DISTINCT s.id FROM event_bodies eb JOIN events e ON e.tenant = eb.tenant AND e.row = eb.event
JOIN sessions s ON s.tenant = e.tenant AND s.row = e.session LEFT JOIN digests d ON d.tenant = s.tenant AND d.session = s.row
WHERE eb.tenant = :tenant AND eb.owner = :owner AND eb.hash = :hash
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND (d.session IS NULL OR d.covers < (
    SELECT max(position) FROM events m WHERE m.tenant = s.tenant AND m.session = s.row));

-- name: is_named
SELECT 1 FROM bodies WHERE tenant = :tenant AND owner = :owner AND hash = :hash AND evicted_at IS NULL;

-- name: every_body
SELECT owner, hash FROM bodies WHERE tenant = :tenant AND evicted_at IS NULL;

-- name: evict
UPDATE bodies SET evicted_at = :at, data = NULL WHERE tenant = :tenant AND owner = :owner AND hash = :hash;

-- name: unreferenced
SELECT owner, hash FROM bodies b WHERE b.tenant = :tenant AND b.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM event_bodies eb WHERE eb.tenant = b.tenant AND eb.owner = b.owner AND eb.hash = b.hash);

-- name: drop_body
DELETE FROM bodies WHERE tenant = :tenant AND owner = :owner AND hash = :hash;

-- name: clock
SELECT value FROM meta WHERE key = 'retention_clock';

-- name: set_clock
INSERT INTO meta (key, value) VALUES ('retention_clock', :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;
