-- What requests with a key of their own were answered.

-- Taken over is what was to be kept until now, and what its process did not live to answer.
-- name: begin
INSERT INTO answers AS a (tenant, owner, key, fingerprint, begun_at, until)
VALUES (:tenant, :owner, :key, :fingerprint, :at, :until)
ON CONFLICT (tenant, owner, key) DO UPDATE
SET fingerprint = excluded.fingerprint, status = NULL, body = NULL, begun_at = excluded.begun_at, until = excluded.until
WHERE a.until <= excluded.begun_at OR (a.status IS NULL AND a.begun_at <= :lost AND a.fingerprint = excluded.fingerprint)
RETURNING 1;

-- name: get
SELECT fingerprint, status, body FROM answers WHERE tenant = :tenant AND owner = :owner AND key = :key;

-- A body before there is a status: something was forgotten since it was begun, which the answer may quote.
-- name: finish
UPDATE answers SET status = :status, body = :body
WHERE tenant = :tenant AND owner = :owner AND key = :key AND status IS NULL AND body IS NULL RETURNING 1;

-- name: drop
DELETE FROM answers WHERE tenant = :tenant AND owner = :owner AND key = :key AND status IS NULL;

-- name: over
SELECT tenant, username FROM tidied('answers', :before);

-- name: tidy
DELETE FROM answers WHERE tenant = :tenant AND owner = :owner AND until < :before RETURNING 1;

-- name: forget
DELETE FROM answers WHERE tenant = :tenant AND owner = :owner AND status IS NOT NULL AND NOT starts_with(fingerprint, 'plain:');

-- name: spoil
UPDATE answers SET body = ''
WHERE tenant = :tenant AND owner = :owner AND status IS NULL AND NOT starts_with(fingerprint, 'plain:');

-- name: forget_all
DELETE FROM answers WHERE tenant = :tenant AND owner = :owner;
