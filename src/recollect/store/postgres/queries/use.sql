-- How useful memories proved, where they were put before agents, and the owner's weights of ranking.

-- Said again it is newer, but for a date that a wrong clock put into the future. Nobody writes over what a user said.
-- name: give
INSERT INTO feedback (tenant, owner, memory, verdict, session, source, note, at)
VALUES (:tenant, :owner, :memory, :verdict, :session, :source, :note, :at)
ON CONFLICT (tenant, owner, memory, verdict, session) DO UPDATE SET
  source = excluded.source,
  note = coalesce(excluded.note, CASE WHEN feedback.source = excluded.source THEN feedback.note END),
  at = CASE WHEN feedback.at > :now THEN excluded.at ELSE greatest(feedback.at, excluded.at) END
WHERE feedback.source = excluded.source OR excluded.source = 'user'
RETURNING 1;

-- name: derive
INSERT INTO feedback (tenant, owner, memory, verdict, session, source, note, at)
VALUES (:tenant, :owner, :memory, :verdict, :session, :source, NULL, :at)
ON CONFLICT (tenant, owner, memory, verdict, session) DO NOTHING;

-- name: derived
SELECT memory, verdict, at FROM feedback WHERE tenant = :tenant AND owner = :owner AND session = :session AND source = :source;

-- name: drop_derived
DELETE FROM feedback
WHERE tenant = :tenant AND owner = :owner AND memory = :memory AND verdict = :verdict AND session = :session AND source = :source;

-- What agents said goes first, what the user said last.
-- name: trim
DELETE FROM feedback
WHERE tenant = :tenant AND owner = :owner AND memory = :memory AND (verdict, session) NOT IN (
  SELECT verdict, session FROM feedback WHERE tenant = :tenant AND owner = :owner AND memory = :memory
  ORDER BY CASE source WHEN 'user' THEN 0 WHEN 'digest' THEN 1 ELSE 2 END, at DESC, verdict, session LIMIT :most);

-- name: take_back
DELETE FROM feedback WHERE tenant = :tenant AND owner = :owner AND memory = :memory AND verdict = :verdict AND session = :session
  AND (:anybodys OR source = :source)
RETURNING 1;

-- name: feedback
SELECT f.memory, f.verdict, f.at, f.session, f.source, f.note FROM feedback f
JOIN memories m ON m.tenant = f.tenant AND m.owner = f.owner AND m.id = f.memory
WHERE f.tenant = :tenant AND f.owner = :owner AND f.memory = :memory AND {use_visible}
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = f.tenant AND s.owner = f.owner AND s.id = f.session AND {session_hidden})
ORDER BY f.at DESC, f.verdict, f.session;

-- name: every
SELECT f.memory, f.verdict, f.at, f.session, f.source, f.note FROM feedback f
JOIN memories m ON m.tenant = f.tenant AND m.owner = f.owner AND m.id = f.memory
WHERE f.tenant = :tenant AND f.owner = :owner AND {use_visible}
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = f.tenant AND s.owner = f.owner AND s.id = f.session AND {session_hidden})
ORDER BY f.at, f.memory, f.verdict, f.session LIMIT :limit OFFSET :offset;

-- name: verdicts
SELECT f.memory, f.verdict, f.at FROM feedback f
JOIN memories m ON m.tenant = f.tenant AND m.owner = f.owner AND m.id = f.memory
WHERE f.tenant = :tenant AND f.owner = :owner AND f.memory = ANY (ARRAY(SELECT json_array_elements_text(:ids::json)))
  AND {use_visible}
ORDER BY f.at, f.verdict, f.session;

-- name: put_block
INSERT INTO blocks (tenant, owner, block, ids, at) VALUES (:tenant, :owner, :block, :ids, :at)
ON CONFLICT (tenant, owner, block) DO UPDATE SET at = greatest(blocks.at, excluded.at);

-- name: drop_blocks
DELETE FROM blocks WHERE tenant = :tenant AND owner = :owner AND at < :before;

-- name: block
SELECT ids FROM blocks WHERE tenant = :tenant AND owner = :owner AND block = :block;

-- name: ids
SELECT id FROM memories
WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NULL AND {visible}
ORDER BY id;

-- name: inject
INSERT INTO injections (tenant, owner, session, at, memory, host, event, block)
VALUES (:tenant, :owner, :session, :at, :memory, :host, :event, :block)
ON CONFLICT (tenant, owner, session, at, memory) DO NOTHING RETURNING 1;

-- name: drop_injections
DELETE FROM injections WHERE tenant = :tenant AND owner = :owner AND at < :before;

-- name: injections
SELECT i.memory, i.session, i.at, i.host, i.event, i.block FROM injections i
JOIN memories m ON m.tenant = i.tenant AND m.owner = i.owner AND m.id = i.memory
WHERE i.tenant = :tenant AND i.owner = :owner AND {use_visible}
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = i.tenant AND s.owner = i.owner AND s.id = i.session AND {session_hidden})
ORDER BY i.at DESC, i.memory, i.session LIMIT :limit;

-- name: injections_of
SELECT i.memory, i.session, i.at, i.host, i.event, i.block FROM injections i
JOIN memories m ON m.tenant = i.tenant AND m.owner = i.owner AND m.id = i.memory
WHERE i.tenant = :tenant AND i.owner = :owner AND i.memory = :memory AND {use_visible}
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = i.tenant AND s.owner = i.owner AND s.id = i.session AND {session_hidden})
ORDER BY i.at DESC, i.memory, i.session LIMIT :limit;

-- name: injections_in
SELECT i.memory, i.session, i.at, i.host, i.event, i.block FROM injections i
JOIN memories m ON m.tenant = i.tenant AND m.owner = i.owner AND m.id = i.memory
WHERE i.tenant = :tenant AND i.owner = :owner AND i.session = :session AND {use_visible}
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = i.tenant AND s.owner = i.owner AND s.id = i.session AND {session_hidden})
ORDER BY i.at DESC, i.memory, i.session LIMIT :limit;

-- name: ranking
SELECT content, at FROM rankings WHERE tenant = :tenant AND owner = :owner;

-- name: put_ranking
INSERT INTO rankings (tenant, owner, content, at) VALUES (:tenant, :owner, :content, :at)
ON CONFLICT (tenant, owner) DO UPDATE SET content = excluded.content, at = excluded.at;

-- name: drop_ranking
DELETE FROM rankings WHERE tenant = :tenant AND owner = :owner RETURNING 1;

-- name: forget_memory
DELETE FROM feedback WHERE tenant = :tenant AND owner = :owner AND memory = :id;

-- name: forget_shown
DELETE FROM injections WHERE tenant = :tenant AND owner = :owner AND memory = :id;

-- name: forget_session
DELETE FROM feedback WHERE tenant = :tenant AND owner = :owner AND session = :id;

-- name: forget_shown_in
DELETE FROM injections WHERE tenant = :tenant AND owner = :owner AND session = :id;

-- name: forget_blocks
DELETE FROM blocks WHERE tenant = :tenant AND owner = :owner;
