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

-- name: set_meta
UPDATE sessions SET meta = :meta WHERE row = :session;

-- name: stretch_session
UPDATE sessions SET started_at = min(started_at, :at), ended_at = max(ended_at, :until) WHERE row = :session;

-- name: session_row
SELECT row, project FROM sessions WHERE owner = :owner AND id = :id;

-- name: session
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta FROM session_rows
WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :project);

-- name: sessions
SELECT id, flavor, title, project_name, started_at, ended_at, turns, meta FROM session_rows
WHERE owner = :owner AND (:any_project OR project IS NULL OR project = :project)
ORDER BY ended_at DESC, id LIMIT :limit OFFSET :offset;

-- name: last_position
SELECT ifnull(max(position), -1) FROM events WHERE session = :session;

-- name: last_turn
SELECT row, ordinal FROM turns WHERE session = :session ORDER BY ordinal DESC LIMIT 1;

-- name: is_known
SELECT EXISTS (SELECT 1 FROM events WHERE owner = :owner AND key = :key)
    OR EXISTS (SELECT 1 FROM tombstones WHERE owner = :owner AND key = :key);

-- name: add_turn
INSERT INTO turns (owner, session, project, key, ordinal, occurred_at)
VALUES (:owner, :session, :project, :key, :ordinal, :occurred_at) RETURNING row;

-- name: add_event
INSERT INTO events (owner, key, session, turn, position, kind, role, origin, text, text_hash, occurred_at, recorded_at, meta)
VALUES (:owner, :key, :session, :turn, :position, :kind, :role, :origin, :text, :text_hash, :occurred_at, :recorded_at, :meta);

-- name: lengthen_turn
UPDATE turns SET chars = chars + :chars WHERE row = :turn;

-- name: history
SELECT key, kind, role, origin, text, text_hash, occurred_at, recorded_at, position, meta FROM (
  SELECT * FROM events WHERE session = :session AND position > :after ORDER BY position DESC LIMIT :last
) ORDER BY position;

-- name: turn_by_key
SELECT t.row, s.id, p.name, t.occurred_at FROM turns t
JOIN sessions s ON s.row = t.session LEFT JOIN projects p ON p.row = t.project
WHERE t.owner = :owner AND t.key = :key AND (:any_project OR t.project IS NULL OR t.project = :scope_project);

-- name: turn_events
SELECT role, text, key, text_hash FROM events WHERE turn = :turn ORDER BY position;
