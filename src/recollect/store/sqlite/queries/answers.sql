-- What requests with a key of their own were answered.

-- Taken over is what was to be kept until now, and what its process did not live to answer.
-- name: begin
INSERT INTO answers (owner, key, fingerprint, begun_at, until) VALUES (:owner, :key, :fingerprint, :at, :until)
ON CONFLICT (owner, key) DO UPDATE
SET fingerprint = excluded.fingerprint, status = NULL, body = NULL, begun_at = excluded.begun_at, until = excluded.until
WHERE until <= :at OR (status IS NULL AND begun_at <= :lost AND fingerprint = excluded.fingerprint)
RETURNING 1;

-- name: get
SELECT fingerprint, status, body FROM answers WHERE owner = :owner AND key = :key;

-- A body before there is a status: something was forgotten since it was begun, which the answer may quote.
-- name: finish
UPDATE answers SET status = :status, body = :body
WHERE owner = :owner AND key = :key AND status IS NULL AND body IS NULL RETURNING 1;

-- name: drop
DELETE FROM answers WHERE owner = :owner AND key = :key AND status IS NULL;

-- name: over
SELECT DISTINCT o.tenant, o.user FROM answers a JOIN owners o ON o.row = a.owner WHERE a.until < :before;

-- name: tidy
DELETE FROM answers WHERE owner = :owner AND until < :before RETURNING 1;

-- name: forget
DELETE FROM answers WHERE owner = :owner AND status IS NOT NULL AND fingerprint NOT LIKE 'plain:%';

-- name: spoil
UPDATE answers SET body = x'' WHERE owner = :owner AND status IS NULL AND fingerprint NOT LIKE 'plain:%';

-- name: forget_all
DELETE FROM answers WHERE owner = :owner;
