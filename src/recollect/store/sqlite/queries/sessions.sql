-- Sessions, their events and turns.

-- name: owner
SELECT row FROM owners WHERE tenant = :tenant AND user = :user;

-- name: add_owner
INSERT INTO owners (tenant, user) VALUES (:tenant, :user) ON CONFLICT DO NOTHING;

-- name: project
SELECT row FROM projects WHERE owner = :owner AND name = :name;

-- name: add_project
INSERT INTO projects (owner, name) VALUES (:owner, :name) ON CONFLICT DO NOTHING;

-- name: add_session
INSERT INTO sessions (owner, id, flavor, project, started_at, ended_at)
VALUES (:owner, :id, :flavor, :project, :at, :at) ON CONFLICT DO NOTHING;

-- name: set_title
UPDATE sessions SET title = :title WHERE row = :session;

-- name: rename
UPDATE sessions SET title = :title WHERE row = :session AND title IS NOT :title RETURNING row;

-- name: set_meta
UPDATE sessions SET meta = :meta WHERE row = :session;

-- name: facts
SELECT models, meta FROM sessions WHERE row = :session;

-- name: set_facts
UPDATE sessions SET title = ifnull(:title, title), parent = ifnull(:parent, parent),
  relation = CASE WHEN :relation = 'root' THEN relation ELSE :relation END, cwd = ifnull(:cwd, cwd),
  branch = ifnull(:branch, branch), commit_id = ifnull(:commit, commit_id), models = :models,
  agent_version = ifnull(:agent_version, agent_version), interactive = ifnull(:interactive, interactive), meta = :meta
WHERE row = :session;

-- name: set_project
UPDATE sessions SET project = :project WHERE row = :session AND project IS NULL RETURNING row;

-- name: set_turn_projects
UPDATE turns SET project = :project WHERE session = :session AND project IS NULL;

-- name: stretch_session
UPDATE sessions SET started_at = min(started_at, :at), ended_at = max(ended_at, :until) WHERE row = :session;

-- name: session_row
SELECT row, project FROM sessions WHERE owner = :owner AND id = :id;

-- name: session
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta, parent, relation, cwd, branch, commit_id, models,
       agent_version, interactive, outcome FROM session_rows
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :project);

-- name: sessions
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta, parent, relation, cwd, branch, commit_id, models,
       agent_version, interactive, outcome FROM session_rows
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :project)
ORDER BY ended_at DESC, id LIMIT :limit OFFSET :offset;

-- name: directories
SELECT project_name, cwd FROM session_rows
WHERE owner = :owner AND cwd IS NOT NULL AND (:any_project OR project IS NULL OR project = :project)
GROUP BY project_name, cwd ORDER BY max(ended_at) DESC, cwd;

-- name: last_position
SELECT ifnull(max(position), -1) FROM events WHERE session = :session;

-- name: last_turn
SELECT row, ordinal FROM turns WHERE session = :session ORDER BY ordinal DESC LIMIT 1;

-- name: is_known
SELECT EXISTS (SELECT 1 FROM events WHERE owner = :owner AND key = :key)
    OR EXISTS (SELECT 1 FROM tombstones WHERE owner = :owner AND key = :key);

-- name: known_events
SELECT lower(hex(key)), row, turn, text_hash FROM events
WHERE owner = :owner AND key IN (SELECT unhex(value) FROM json_each(:keys));

-- name: buried_events
SELECT lower(hex(key)) FROM tombstones WHERE owner = :owner AND key IN (SELECT unhex(value) FROM json_each(:keys));

-- name: add_event_body
INSERT INTO event_bodies (event, owner, hash) VALUES (:event, :owner, :hash) ON CONFLICT DO NOTHING;

-- name: drop_event_bodies
DELETE FROM event_bodies WHERE event = :row;

-- name: event_length
SELECT length(text) FROM events WHERE row = :row;

-- name: change_event
UPDATE events SET text = :text, text_hash = :text_hash, meta = :meta WHERE row = :row;

-- name: add_turn
INSERT INTO turns (owner, session, project, key, ordinal, occurred_at)
VALUES (:owner, :session, :project, :key, :ordinal, :occurred_at) RETURNING row;

-- name: has_words
SELECT EXISTS (SELECT 1 FROM events WHERE turn = :turn AND {spoken});

-- name: rename_turn
UPDATE turns SET key = :key, occurred_at = :occurred_at WHERE row = :turn;

-- name: add_event
INSERT INTO events (owner, key, session, turn, position, kind, role, origin, text, text_hash, occurred_at, recorded_at, meta,
  way, transcript, raw_at, raw_size)
VALUES (:owner, :key, :session, :turn, :position, :kind, :role, :origin, :text, :text_hash, :occurred_at, :recorded_at, :meta,
  :way, :transcript, :raw_at, :raw_size)
RETURNING row;

-- name: lengthen_turn
UPDATE turns SET chars = chars + :chars WHERE row = :turn;

-- name: history
SELECT e.key, kind, role, origin, text, text_hash, occurred_at, recorded_at, position, meta, e.way, t.name, raw_at, raw_size,
  (SELECT json_group_array(json_array(lower(hex(b.hash)), b.media, b.bytes)) FROM event_bodies eb
   JOIN bodies b ON b.owner = eb.owner AND b.hash = eb.hash WHERE eb.event = e.row)
FROM (
  SELECT * FROM events WHERE session = :session AND position > :after ORDER BY position DESC LIMIT :last
) e LEFT JOIN transcripts t ON t.row = e.transcript ORDER BY position;

-- name: history_page
SELECT e.key, kind, role, origin, text, text_hash, occurred_at, recorded_at, position, meta, e.way, t.name, raw_at, raw_size,
  (SELECT json_group_array(json_array(lower(hex(b.hash)), b.media, b.bytes)) FROM event_bodies eb
   JOIN bodies b ON b.owner = eb.owner AND b.hash = eb.hash WHERE eb.event = e.row)
FROM (
  SELECT * FROM events WHERE session = :session AND position > :after AND position <= :until ORDER BY position LIMIT :last
) e LEFT JOIN transcripts t ON t.row = e.transcript ORDER BY position;

-- name: events_by_key
SELECT s.id, e.key, e.kind, e.role, e.origin, e.text, e.text_hash, e.occurred_at, e.recorded_at, e.position, e.meta, e.way, t.name,
  e.raw_at, e.raw_size,
  (SELECT json_group_array(json_array(lower(hex(b.hash)), b.media, b.bytes)) FROM event_bodies eb
   JOIN bodies b ON b.owner = eb.owner AND b.hash = eb.hash WHERE eb.event = e.row)
FROM events e JOIN sessions s ON s.row = e.session LEFT JOIN transcripts t ON t.row = e.transcript
WHERE e.owner = :owner AND e.key IN (SELECT unhex(value) FROM json_each(:keys))
  AND (:any_project OR s.project IS NULL OR s.project = :scope_project);

-- name: turn_by_key
SELECT t.row, s.id, p.name, t.occurred_at FROM turns t
JOIN sessions s ON s.row = t.session LEFT JOIN projects p ON p.row = t.project
WHERE t.owner = :owner AND t.key = :key AND (:any_project OR t.project IS NULL OR t.project = :scope_project);

-- name: turn_events
SELECT {speaker}, text, key, text_hash FROM events WHERE turn = :turn AND {spoken} ORDER BY position;
