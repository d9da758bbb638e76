-- What was done, in one chain an owner.

-- name: head
SELECT o.tenant, o.user, a.number, a.hash FROM owners o
LEFT JOIN audit a ON a.owner = o.row AND a.number = (SELECT max(number) FROM audit WHERE owner = :owner)
WHERE o.row = :owner;

-- name: before
SELECT at, action, subject, details FROM audit WHERE owner = :owner AND number IS NULL ORDER BY row;

-- name: add
INSERT INTO audit (owner, number, at, action, subject, details, actor, key_id, result, duration_ms, signed_by, prev, hash)
VALUES (:owner, :number, :at, :action, :subject, :details, :actor, :key_id, :result, :duration_ms, :signed_by, :prev, :hash);

-- name: page
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, signed_by, prev, hash, row FROM audit
WHERE owner = :owner AND (number, row) > (:number, :row) ORDER BY number, row LIMIT :limit;

-- name: find
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, {audited_session} FROM audit
WHERE owner = :owner AND (:action IS NULL OR action = :action) AND (:subject IS NULL OR subject = :subject)
ORDER BY row DESC LIMIT :limit OFFSET :offset;

-- The same among the last so many of a chain.
-- name: lately
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, {audited_session} FROM audit
WHERE owner = :owner AND number > (SELECT max(number) FROM audit WHERE owner = :owner) - :look
  AND (:action IS NULL OR action = :action) AND (:subject IS NULL OR subject = :subject)
ORDER BY number DESC LIMIT :limit OFFSET :offset;

-- name: owners
SELECT tenant, user FROM owners ORDER BY tenant, row;
