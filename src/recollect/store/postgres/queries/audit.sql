-- What was done, in one chain an owner.

-- name: head
SELECT o.tenant, o.username, a.number, a.hash FROM owners o
LEFT JOIN LATERAL (
  SELECT number, hash FROM audit WHERE tenant = :tenant AND owner = :owner AND number IS NOT NULL ORDER BY number DESC LIMIT 1) a ON true
WHERE o.tenant = :tenant AND o.row = :owner;

-- name: before
SELECT at, action, subject, details FROM audit WHERE tenant = :tenant AND owner = :owner AND number IS NULL ORDER BY row;

-- name: add
INSERT INTO audit (tenant, owner, number, at, action, subject, details, actor, key_id, result, duration_ms, signed_by, prev, hash)
SELECT :tenant, :owner, r.number, r.at, r.action, r.subject, r.details::json, r.actor, r.key_id, r.result, r.duration_ms, r.signed_by,
       r.prev, r.hash
FROM json_to_recordset(:rows::json) AS r (
  number bigint, at timestamptz, action text, subject text, details text, actor text, key_id text, result text, duration_ms bigint,
  signed_by text, prev bytea, hash bytea)
ORDER BY r.number;

-- name: page
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, signed_by, prev, hash, row FROM audit
WHERE tenant = :tenant AND owner = :owner AND (number, row) > (:number::bigint, :row::bigint) ORDER BY number, row LIMIT :limit;

-- name: find
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, {audited_session} FROM audit
WHERE tenant = :tenant AND owner = :owner AND (:action::text IS NULL OR action = :action) AND (:subject::text IS NULL OR subject = :subject)
ORDER BY row DESC LIMIT :limit OFFSET :offset;

-- The same among the last so many of a chain.
-- name: lately
SELECT number, at, action, subject, details, actor, key_id, result, duration_ms, {audited_session} FROM audit
WHERE tenant = :tenant AND owner = :owner
  AND number > (SELECT max(number) FROM audit WHERE tenant = :tenant AND owner = :owner) - :look::bigint
  AND (:action::text IS NULL OR action = :action) AND (:subject::text IS NULL OR subject = :subject)
ORDER BY number DESC LIMIT :limit OFFSET :offset;

-- name: owners
SELECT tenant, username FROM every_owner();
