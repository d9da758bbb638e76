-- What was read of agents' files, what it cost, the digests, and the bodies kept beside the rows.

-- name: seen
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE owner = :owner AND name = :name;

-- name: all_seen
SELECT name, flavor, session, state, read_at, way, error, fingerprint, complete_to, turns, withheld, counts, row
FROM transcripts WHERE owner = :owner ORDER BY flavor, session, name;

-- name: add_transcript
INSERT INTO transcripts (owner, name, flavor, session, state, way, read_at)
VALUES (:owner, :name, :flavor, :session, 'reading', :way, :read_at)
ON CONFLICT (owner, name) DO UPDATE SET session = excluded.session RETURNING row;

-- name: note
INSERT INTO transcripts (owner, name, flavor, session, state, error, fingerprint, complete_to, turns, withheld, counts, way, read_at)
VALUES (:owner, :name, :flavor, :session, :state, :error, :fingerprint, :complete_to, :turns, :withheld, :counts, :way, :read_at)
ON CONFLICT (owner, name) DO UPDATE SET flavor = excluded.flavor, session = excluded.session, state = excluded.state,
  error = excluded.error, fingerprint = excluded.fingerprint, complete_to = excluded.complete_to, turns = excluded.turns,
  withheld = excluded.withheld, counts = excluded.counts, way = excluded.way, read_at = excluded.read_at;

-- name: way_of
SELECT way FROM events WHERE owner = :owner AND key = :key;

-- name: is_buried
SELECT 1 FROM tombstones WHERE owner = :owner AND key = :key;

-- name: add_cost
INSERT INTO costs (owner, key, session, at, model, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, usd, usd_source)
VALUES (:owner, :key, :session, :at, :model, :input, :cache_read, :cache_write_5m, :cache_write_1h, :output, :reasoning, :usd, :usd_source)
ON CONFLICT (owner, key) DO UPDATE SET at = excluded.at, model = ifnull(excluded.model, model), input = excluded.input,
  cache_read = excluded.cache_read, cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h,
  output = excluded.output, reasoning = excluded.reasoning, usd = excluded.usd, usd_source = excluded.usd_source
WHERE excluded.output > output OR (excluded.output = output AND excluded.input > input) RETURNING row;

-- name: costs
SELECT key, at, model, input, cache_read, cache_write_5m, cache_write_1h, output, reasoning, usd, usd_source
FROM costs WHERE session = :session ORDER BY at, row;

-- name: session_row
SELECT row FROM sessions WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: add_injected
INSERT INTO injected (owner, hash, at) VALUES (:owner, :hash, :at) ON CONFLICT DO NOTHING;

-- name: was_injected
SELECT 1 FROM injected WHERE owner = :owner AND hash = :hash;

-- name: digest
SELECT content FROM digests WHERE session = :session;

-- name: put_digest
INSERT INTO digests (session, owner, version, covers, outcome, content, made_at, health)
VALUES (:session, :owner, :version, :covers, :outcome, :content, :made_at, :health)
ON CONFLICT (session) DO UPDATE SET version = excluded.version, covers = excluded.covers, outcome = excluded.outcome,
  content = excluded.content, made_at = excluded.made_at, health = excluded.health;

-- name: unscored
SELECT d.content FROM digests d JOIN sessions s ON s.row = d.session
WHERE d.owner = :owner AND d.health IS NULL AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
LIMIT :limit;

-- name: score
UPDATE digests SET health = :health WHERE health IS NULL AND session = (
  SELECT row FROM sessions WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project));

-- name: digests_due
SELECT s.id FROM sessions s LEFT JOIN digests d ON d.session = s.row
WHERE s.owner = :owner AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND EXISTS (SELECT 1 FROM events e WHERE e.session = s.row AND e.way <> 'record')
  AND (d.session IS NULL OR d.version < :version
       OR d.covers < (SELECT max(position) FROM events e WHERE e.session = s.row))
ORDER BY s.row;

-- name: body
SELECT 1 FROM bodies b WHERE b.owner = :owner AND b.hash = :hash AND b.evicted_at IS NULL AND EXISTS (
  SELECT 1 FROM event_bodies eb JOIN events e ON e.row = eb.event JOIN sessions s ON s.row = e.session
  WHERE eb.owner = b.owner AND eb.hash = b.hash AND (:any_project OR s.project IS NULL OR s.project = :scope_project));

-- name: has_body
SELECT 1 FROM bodies WHERE owner = :owner AND hash = :hash;

-- name: digest_again
UPDATE digests SET version = 0 WHERE session = :session;

-- name: add_body
INSERT INTO bodies (owner, hash, media, bytes, stored, born) VALUES (:owner, :hash, :media, :bytes, :stored, :born)
ON CONFLICT (owner, hash) DO UPDATE SET stored = excluded.stored, born = excluded.born, evicted_at = NULL WHERE evicted_at IS NOT NULL;

-- name: raw_use
SELECT s.id, sum(u.stored), d.session IS NOT NULL AND d.covers >= (SELECT max(position) FROM events e WHERE e.session = s.row), max(u.born)
FROM (SELECT min(e.session) AS session, b.hash, b.stored, b.born FROM bodies b
      JOIN event_bodies eb ON eb.owner = b.owner AND eb.hash = b.hash JOIN events e ON e.row = eb.event
      WHERE b.owner = :owner AND b.evicted_at IS NULL GROUP BY b.hash) u
JOIN sessions s ON s.row = u.session LEFT JOIN digests d ON d.session = s.row
WHERE :any_project OR s.project IS NULL OR s.project = :scope_project
GROUP BY s.row ORDER BY max(u.born), s.row;

-- name: is_digested
SELECT d.session IS NOT NULL AND d.covers >= (SELECT max(position) FROM events e WHERE e.session = s.row)
FROM sessions s LEFT JOIN digests d ON d.session = s.row WHERE s.row = :session;

-- name: evictable
SELECT DISTINCT b.hash, b.stored FROM bodies b JOIN event_bodies eb ON eb.owner = b.owner AND eb.hash = b.hash
JOIN events e ON e.row = eb.event
WHERE e.session = :session AND b.owner = :owner AND b.evicted_at IS NULL
  AND (:undigested OR NOT EXISTS (
    SELECT 1 FROM event_bodies o JOIN events oe ON oe.row = o.event LEFT JOIN digests od ON od.session = oe.session
    WHERE o.owner = b.owner AND o.hash = b.hash AND oe.session <> :session
      AND (od.session IS NULL OR od.covers < (SELECT max(position) FROM events m WHERE m.session = oe.session))));

-- name: not_digested
SELECT DISTINCT s.id FROM event_bodies eb JOIN events e ON e.row = eb.event JOIN sessions s ON s.row = e.session
LEFT JOIN digests d ON d.session = s.row
WHERE eb.owner = :owner AND eb.hash = :hash AND (:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND (d.session IS NULL OR d.covers < (SELECT max(position) FROM events m WHERE m.session = s.row));

-- name: is_named
SELECT 1 FROM bodies WHERE owner = :owner AND hash = :hash AND evicted_at IS NULL;

-- name: every_body
SELECT owner, hash FROM bodies WHERE evicted_at IS NULL;

-- name: evict
UPDATE bodies SET evicted_at = :at WHERE owner = :owner AND hash = :hash;

-- name: unreferenced
SELECT owner, hash FROM bodies b WHERE b.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM event_bodies eb WHERE eb.owner = b.owner AND eb.hash = b.hash);

-- name: drop_body
DELETE FROM bodies WHERE owner = :owner AND hash = :hash;

-- name: body_rows
SELECT hash FROM bodies WHERE owner = :owner AND evicted_at IS NULL;

-- name: clock
SELECT value FROM meta WHERE key = 'retention_clock';

-- name: set_clock
INSERT INTO meta (key, value) VALUES ('retention_clock', :value) ON CONFLICT (key) DO UPDATE SET value = excluded.value;
