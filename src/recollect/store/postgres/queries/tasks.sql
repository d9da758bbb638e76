-- Work that is done later: put once, claimed by one worker at a time. `due_at` of a task that runs is when its lease ends.
-- What looks at every owner's tasks gets ids alone, by the functions of access.sql; a task is changed in its owner's name.

-- name: put
INSERT INTO tasks AS t (tenant, owner, id, kind, subject, state, due_at, made_at)
VALUES (:tenant, :owner, :id, :kind, :subject, 'waiting', :due_at, :at)
ON CONFLICT (tenant, owner, kind, subject) WHERE state IN ('waiting', 'running') DO UPDATE
SET again = (t.state = 'running'), due_at = CASE t.state WHEN 'waiting' THEN least(t.due_at, excluded.due_at) ELSE t.due_at END
RETURNING t.id;

-- name: due
SELECT tenant, username, id FROM due_tasks(:at, :kinds::json, :limit);

-- A task whose workers died as often as it may be begun is dead, unless it was put once more since.
-- name: claim
UPDATE tasks SET
  state = CASE WHEN {worn_out} THEN 'dead' ELSE 'running' END,
  error = CASE WHEN {worn_out} THEN :lost ELSE error END,
  ended_at = CASE WHEN {worn_out} THEN :at::timestamptz END,
  due_at = CASE WHEN {worn_out} THEN due_at ELSE :until::timestamptz END,
  worker = CASE WHEN {worn_out} THEN NULL ELSE :worker END,
  claim = CASE WHEN {worn_out} THEN claim ELSE nextval('numbers') END,
  attempts = CASE WHEN {worn_out} THEN attempts WHEN attempts >= :most THEN 1 ELSE attempts + 1 END,
  again = false
WHERE tenant = :tenant AND owner = :owner AND row = (
  SELECT n.row FROM tasks n
  WHERE n.tenant = :tenant AND n.owner = :owner AND n.id = :id AND n.state IN ('waiting', 'running') AND n.due_at <= :at
  FOR UPDATE SKIP LOCKED)
RETURNING {task};

-- name: extend
UPDATE tasks SET due_at = :until
WHERE tenant = :tenant AND owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- What was put once more while it ran is done once more.
-- name: finish
UPDATE tasks SET
  state = CASE WHEN again THEN 'waiting' ELSE 'done' END, ended_at = CASE WHEN again THEN NULL ELSE :at::timestamptz END,
  made_at = CASE WHEN again THEN :at::timestamptz ELSE made_at END,
  attempts = CASE WHEN again THEN 0 ELSE attempts END, error = NULL, due_at = :at, worker = NULL, again = false
WHERE tenant = :tenant AND owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: fail
UPDATE tasks SET
  state = CASE WHEN :again_at::timestamptz IS NULL AND NOT again THEN 'dead' ELSE 'waiting' END,
  ended_at = CASE WHEN :again_at::timestamptz IS NULL AND NOT again THEN :at::timestamptz END,
  attempts = CASE WHEN :again_at::timestamptz IS NULL AND again THEN 0 ELSE attempts END,
  due_at = coalesce(:again_at::timestamptz, :at::timestamptz), error = :error, worker = NULL, again = false
WHERE tenant = :tenant AND owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: release
UPDATE tasks SET
  state = 'waiting', attempts = attempts - 1,
  due_at = CASE WHEN again THEN :at::timestamptz ELSE :due_at::timestamptz END, worker = NULL, again = false
WHERE tenant = :tenant AND owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: get
SELECT {task} FROM tasks WHERE tenant = :tenant AND owner = :owner AND id = :id AND {task_visible};

-- name: open
SELECT {task} FROM tasks WHERE tenant = :tenant AND owner = :owner AND kind = :kind AND subject = :subject AND state IN ('waiting', 'running');

-- name: ended
SELECT {task} FROM tasks WHERE tenant = :tenant AND owner = :owner AND kind = :kind AND subject = :subject ORDER BY row DESC LIMIT 1;

-- name: find
SELECT {task} FROM tasks
WHERE tenant = :tenant AND owner = :owner AND (:state::text IS NULL OR state = :state) AND (:kind::text IS NULL OR kind = :kind)
  AND {task_visible}
ORDER BY row DESC LIMIT :limit OFFSET :offset;

-- name: everywhere
SELECT tenant, username, id FROM tasks_in(:state, :limit);

-- name: cancel
UPDATE tasks SET state = 'cancelled', ended_at = :at, worker = NULL, again = false
WHERE tenant = :tenant AND owner = :owner AND id = :id AND state IN ('waiting', 'running', 'dead');

-- name: requeue
UPDATE tasks SET state = 'waiting', attempts = 0, due_at = :at, ended_at = NULL, error = NULL, worker = NULL, again = false
WHERE tenant = :tenant AND owner = :owner AND id = :id AND state <> 'running';

-- name: totals
SELECT state, kind, later, counted, oldest FROM task_totals(:at);

-- name: ended_before
SELECT tenant, username FROM tidied('tasks', :before);

-- name: tidy
DELETE FROM tasks
WHERE tenant = :tenant AND owner = :owner AND state IN ('done', 'cancelled') AND ended_at < :before RETURNING 1;

-- name: forget
DELETE FROM tasks WHERE tenant = :tenant AND owner = :owner AND (:subject::text IS NULL OR subject = :subject);
