-- Which tables and columns there are: for moving an owner's rows as they are.

-- name: columns
SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname, a.attnum;

-- name: body
SELECT data FROM bodies WHERE tenant = :tenant AND owner = :owner AND hash = :hash;

-- name: put_body
UPDATE bodies SET data = :data WHERE tenant = :tenant AND owner = :owner AND hash = :hash AND data IS NULL AND evicted_at IS NULL;
