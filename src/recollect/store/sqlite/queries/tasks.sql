-- Work that is done later: put once, claimed by one worker at a time. `due_at` of a task that runs is when its lease ends.

-- name: put
INSERT INTO tasks (owner, id, kind, subject, state, due_at, made_at)
VALUES (:owner, :id, :kind, :subject, 'waiting', :due_at, :at)
ON CONFLICT (owner, kind, subject) WHERE state IN ('waiting', 'running') DO UPDATE
SET again = (state = 'running'), due_at = CASE state WHEN 'waiting' THEN min(due_at, excluded.due_at) ELSE due_at END
RETURNING id;

-- One task of every tenant that has one due; the tenant that was served longest ago comes first.
-- name: due
SELECT tenant, user, id, min(due_at) AS oldest FROM (
  SELECT o.tenant, o.user, t.id, t.due_at FROM owners o JOIN tasks t ON t.row = (
    SELECT n.row FROM tasks n
    WHERE n.owner = o.row AND n.state IN ('waiting', 'running') AND n.due_at <= :at
      AND (:kinds IS NULL OR n.kind IN (SELECT value FROM json_each(:kinds)))
    ORDER BY n.due_at, n.row LIMIT 1)) d
GROUP BY tenant
ORDER BY ifnull((SELECT max((SELECT max(c.claim) FROM tasks c WHERE c.owner = s.row)) FROM owners s WHERE s.tenant = d.tenant), 0),
  oldest
LIMIT :limit;

-- A task whose workers died as often as it may be begun is dead, unless it was put once more since.
-- name: claim
UPDATE tasks SET
  state = CASE WHEN {worn_out} THEN 'dead' ELSE 'running' END,
  error = CASE WHEN {worn_out} THEN :lost ELSE error END,
  ended_at = CASE WHEN {worn_out} THEN :at END,
  due_at = CASE WHEN {worn_out} THEN due_at ELSE :until END,
  worker = CASE WHEN {worn_out} THEN NULL ELSE :worker END,
  claim = CASE WHEN {worn_out} THEN claim ELSE (SELECT max(claim) + 1 FROM tasks) END,
  attempts = CASE WHEN {worn_out} THEN attempts WHEN attempts >= :most THEN 1 ELSE attempts + 1 END,
  again = 0
WHERE owner = :owner AND id = :id AND state IN ('waiting', 'running') AND due_at <= :at
RETURNING {task};

-- name: extend
UPDATE tasks SET due_at = :until WHERE owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- What was put once more while it ran is done once more.
-- name: finish
UPDATE tasks SET
  state = CASE WHEN again THEN 'waiting' ELSE 'done' END, ended_at = CASE WHEN again THEN NULL ELSE :at END,
  made_at = CASE WHEN again THEN :at ELSE made_at END,
  attempts = CASE WHEN again THEN 0 ELSE attempts END, error = NULL, due_at = :at, worker = NULL, again = 0
WHERE owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: fail
UPDATE tasks SET
  state = CASE WHEN :again_at IS NULL AND NOT again THEN 'dead' ELSE 'waiting' END,
  ended_at = CASE WHEN :again_at IS NULL AND NOT again THEN :at END,
  attempts = CASE WHEN :again_at IS NULL AND again THEN 0 ELSE attempts END,
  due_at = ifnull(:again_at, :at), error = :error, worker = NULL, again = 0
WHERE owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: release
UPDATE tasks SET state = 'waiting', attempts = attempts - 1, due_at = CASE WHEN again THEN :at ELSE :due_at END, worker = NULL, again = 0
WHERE owner = :owner AND id = :id AND claim = :claim AND state = 'running' RETURNING 1;

-- name: get
SELECT {task} FROM tasks WHERE owner = :owner AND id = :id AND {task_visible};

-- name: open
SELECT {task} FROM tasks WHERE owner = :owner AND kind = :kind AND subject = :subject AND state IN ('waiting', 'running');

-- name: ended
SELECT {task} FROM tasks WHERE owner = :owner AND kind = :kind AND subject = :subject ORDER BY row DESC LIMIT 1;

-- name: find
SELECT {task} FROM tasks
WHERE owner = :owner AND (:state IS NULL OR state = :state) AND (:kind IS NULL OR kind = :kind)
  AND {task_visible}
ORDER BY row DESC LIMIT :limit OFFSET :offset;

-- name: everywhere
SELECT o.tenant, o.user, t.id FROM tasks t JOIN owners o ON o.row = t.owner
WHERE :state IS NULL OR t.state = :state ORDER BY t.row DESC LIMIT :limit;

-- name: cancel
UPDATE tasks SET state = 'cancelled', ended_at = :at, worker = NULL, again = 0
WHERE owner = :owner AND id = :id AND state IN ('waiting', 'running', 'dead');

-- name: requeue
UPDATE tasks SET state = 'waiting', attempts = 0, due_at = :at, ended_at = NULL, error = NULL, worker = NULL, again = 0
WHERE owner = :owner AND id = :id AND state <> 'running';

-- What was begun and put off because somebody else is at it (a gist waits by itself) waits since it was put.
-- name: totals
SELECT state, kind, due_at > :at AND NOT put_off AS later, count(*), min(CASE WHEN put_off THEN made_at ELSE due_at END) FROM (
  SELECT state, kind, due_at, made_at,
    state = 'waiting' AND due_at > :at AND claim > 0 AND attempts = 0 AND error IS NULL AND kind <> 'gist' AS put_off
  FROM tasks WHERE state IN ('waiting', 'running', 'dead'))
GROUP BY state, kind, later;

-- name: ended_before
SELECT DISTINCT o.tenant, o.user FROM tasks t JOIN owners o ON o.row = t.owner
WHERE t.state IN ('done', 'cancelled') AND t.ended_at < :before;

-- name: tidy
DELETE FROM tasks WHERE owner = :owner AND state IN ('done', 'cancelled') AND ended_at < :before RETURNING 1;

-- name: forget
DELETE FROM tasks WHERE owner = :owner AND (:subject IS NULL OR subject = :subject);
