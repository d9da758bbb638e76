-- Sessions, their events and turns.

-- name: enter
SELECT owner, project FROM enter(:tenant, :username, :project, :writing, :making, :by_tenant, :by_username);

-- The same where what comes after it finds rows by their keys, whoever's they are: it is planned once for a connection.
-- name: enter_keyed
SELECT owner, project FROM enter(:tenant, :username, :project, :writing, :making, :by_tenant, :by_username),
  set_config('plan_cache_mode', 'force_generic_plan', true);

-- name: enter_to_ask
SELECT owner, project, tier, rows, words, vectored, vectors, stamp, server, worded
FROM enter_to_ask(:tenant, :username, :project, :by_tenant, :by_username);

-- name: project
SELECT row FROM projects WHERE tenant = :tenant AND owner = :owner AND name = :name;

-- name: add_project
INSERT INTO projects (tenant, owner, name) VALUES (:tenant, :owner, :name) ON CONFLICT DO NOTHING;

-- name: add_session
INSERT INTO sessions (tenant, owner, id, flavor, project, started_at, ended_at)
VALUES (:tenant, :owner, :id, :flavor, :project, :at, :at) ON CONFLICT DO NOTHING;

-- name: set_title
UPDATE sessions SET title = :title WHERE tenant = :tenant AND row = :session;

-- name: rename
UPDATE sessions SET title = :title WHERE tenant = :tenant AND row = :session AND title IS DISTINCT FROM :title RETURNING row;

-- name: set_meta
UPDATE sessions SET meta = :meta WHERE tenant = :tenant AND row = :session;

-- name: facts
SELECT models, meta FROM sessions WHERE tenant = :tenant AND row = :session;

-- name: set_facts
UPDATE sessions SET title = coalesce(:title, title), parent = coalesce(:parent, parent),
  relation = CASE WHEN :relation = 'root' THEN relation ELSE :relation END, cwd = coalesce(:cwd, cwd),
  branch = coalesce(:branch, branch), commit_id = coalesce(:commit, commit_id), models = :models,
  agent_version = coalesce(:agent_version, agent_version), interactive = coalesce(:interactive, interactive), meta = :meta
WHERE tenant = :tenant AND row = :session;

-- name: set_project
UPDATE sessions SET project = :project WHERE tenant = :tenant AND row = :session AND project IS NULL RETURNING row;

-- name: set_turn_projects
UPDATE turns SET project = :project WHERE tenant = :tenant AND session = :session AND project IS NULL;

-- name: stretch_session
UPDATE sessions SET started_at = least(started_at, :at), ended_at = greatest(ended_at, :until)
WHERE tenant = :tenant AND row = :session;

-- name: session_row
SELECT row, project FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: session
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta, parent, relation, cwd, branch, commit_id, models,
       agent_version, interactive, outcome FROM session_rows
WHERE tenant = :tenant AND owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :project::bigint);

-- name: sessions
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta, parent, relation, cwd, branch, commit_id, models,
       agent_version, interactive, outcome FROM session_rows
WHERE tenant = :tenant AND owner = :owner AND (:any_project OR project IS NULL OR project = :project::bigint)
ORDER BY ended_at DESC, id LIMIT :limit OFFSET :offset;

-- name: directories
SELECT project_name, cwd FROM session_rows
WHERE tenant = :tenant AND owner = :owner AND cwd IS NOT NULL AND (:any_project OR project IS NULL OR project = :project::bigint)
GROUP BY project_name, cwd ORDER BY max(ended_at) DESC, cwd COLLATE "C";

-- name: last_position
SELECT coalesce(max(position), -1) FROM events WHERE tenant = :tenant AND session = :session;

-- name: last_turn
SELECT row, ordinal FROM turns WHERE tenant = :tenant AND session = :session ORDER BY ordinal DESC LIMIT 1;

-- Which of these keys are there, and which were forgotten. Whose they are is hidden from the planner, as in every query that
-- looks one up: of a tenant or owner who came after the last ANALYZE it would expect nothing, and go through all they have.
-- name: known_events
SELECT encode(key, 'hex'), row, turn, text_hash FROM events
WHERE tenant = (SELECT :tenant::text) AND owner = (SELECT :owner::bigint)
  AND key = ANY (ARRAY(SELECT decode(value, 'hex') FROM json_array_elements_text(:keys::json)));

-- name: buried_events
SELECT encode(key, 'hex') FROM tombstones WHERE tenant = (SELECT :tenant::text) AND owner = (SELECT :owner::bigint)
  AND key = ANY (ARRAY(SELECT decode(value, 'hex') FROM json_array_elements_text(:keys::json)));

-- name: add_event_body
INSERT INTO event_bodies (tenant, event, owner, hash) VALUES (:tenant, :event, :owner, :hash) ON CONFLICT DO NOTHING;

-- name: drop_event_bodies
DELETE FROM event_bodies WHERE tenant = :tenant AND event = :row;

-- name: event_length
SELECT length(text) FROM events WHERE tenant = :tenant AND row = :row;

-- name: change_event
UPDATE events SET text = :text, text_hash = :text_hash, meta = :meta WHERE tenant = :tenant AND row = :row;

-- name: add_turn
INSERT INTO turns (tenant, owner, session, project, key, ordinal, occurred_at)
VALUES (:tenant, :owner, :session, :project, :key, :ordinal, :occurred_at) RETURNING row;

-- name: has_words
SELECT (EXISTS (SELECT 1 FROM events WHERE tenant = :tenant AND turn = :turn AND {spoken}))::integer;

-- name: rename_turn
UPDATE turns SET key = :key, occurred_at = :occurred_at WHERE tenant = :tenant AND row = :turn;

-- name: add_event
INSERT INTO events (tenant, owner, key, session, turn, position, kind, role, origin, text, text_hash, occurred_at, recorded_at,
  meta, way, transcript, raw_at, raw_size)
VALUES (:tenant, :owner, :key, :session, :turn, :position, :kind, :role, :origin, :text, :text_hash, :occurred_at, :recorded_at,
  :meta, :way, :transcript, :raw_at, :raw_size)
RETURNING row;

-- name: lengthen_turn
UPDATE turns SET chars = chars + :chars WHERE tenant = :tenant AND row = :turn;

-- name: history
SELECT e.key, e.kind, e.role, e.origin, e.text, e.text_hash, e.occurred_at, e.recorded_at, e.position, e.meta, e.way, t.name,
  e.raw_at, e.raw_size,
  (SELECT coalesce(json_agg(json_build_array(encode(b.hash, 'hex'), b.media, b.bytes)), '[]') FROM event_bodies eb
   JOIN bodies b ON b.tenant = eb.tenant AND b.owner = eb.owner AND b.hash = eb.hash
   WHERE eb.tenant = e.tenant AND eb.event = e.row)
FROM (
  SELECT * FROM events WHERE tenant = :tenant AND session = :session AND position > :after
  ORDER BY position DESC LIMIT nullif(:last::bigint, -1)
) e LEFT JOIN transcripts t ON t.tenant = e.tenant AND t.row = e.transcript ORDER BY e.position;

-- name: history_page
SELECT e.key, e.kind, e.role, e.origin, e.text, e.text_hash, e.occurred_at, e.recorded_at, e.position, e.meta, e.way, t.name,
  e.raw_at, e.raw_size,
  (SELECT coalesce(json_agg(json_build_array(encode(b.hash, 'hex'), b.media, b.bytes)), '[]') FROM event_bodies eb
   JOIN bodies b ON b.tenant = eb.tenant AND b.owner = eb.owner AND b.hash = eb.hash
   WHERE eb.tenant = e.tenant AND eb.event = e.row)
FROM (
  SELECT * FROM events WHERE tenant = :tenant AND session = :session AND position > :after AND position <= :until
  ORDER BY position LIMIT nullif(:last::bigint, -1)
) e LEFT JOIN transcripts t ON t.tenant = e.tenant AND t.row = e.transcript ORDER BY e.position;

-- name: events_by_key
SELECT s.id, e.key, e.kind, e.role, e.origin, e.text, e.text_hash, e.occurred_at, e.recorded_at, e.position, e.meta, e.way, t.name,
  e.raw_at, e.raw_size,
  (SELECT coalesce(json_agg(json_build_array(encode(b.hash, 'hex'), b.media, b.bytes)), '[]') FROM event_bodies eb
   JOIN bodies b ON b.tenant = eb.tenant AND b.owner = eb.owner AND b.hash = eb.hash
   WHERE eb.tenant = e.tenant AND eb.event = e.row)
FROM events e JOIN sessions s ON s.tenant = e.tenant AND s.row = e.session
LEFT JOIN transcripts t ON t.tenant = e.tenant AND t.row = e.transcript
WHERE e.tenant = :tenant AND e.owner = :owner
  AND e.key = ANY (ARRAY(SELECT decode(value, 'hex') FROM json_array_elements_text(:keys::json)))
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project::bigint);

-- name: turn_by_key
SELECT t.row, s.id, p.name, t.occurred_at FROM turns t
JOIN sessions s ON s.tenant = t.tenant AND s.row = t.session
LEFT JOIN projects p ON p.tenant = t.tenant AND p.row = t.project
WHERE t.tenant = :tenant AND t.owner = :owner AND t.key = :key
  AND (:any_project OR t.project IS NULL OR t.project = :scope_project::bigint);

-- name: turn_events
SELECT {speaker}, text, key, text_hash FROM events WHERE tenant = :tenant AND turn = :turn AND {spoken} ORDER BY position;
