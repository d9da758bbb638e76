-- What a backup is made of, by the catalog: a table that is new is in it without being named anywhere.

-- name: tables
SELECT c.relname,
       array_agg(a.attname ORDER BY a.attnum),
       coalesce((SELECT array_agg(k.attname ORDER BY array_position(i.indkey::int2[], k.attnum))
                 FROM pg_index i JOIN pg_attribute k ON k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey::int2[])
                 WHERE i.indrelid = c.oid AND i.indisprimary), '{}')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
GROUP BY c.oid, c.relname ORDER BY c.relname;

-- name: references
SELECT f.relname, t.relname FROM pg_constraint k JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
WHERE k.connamespace = :schema::text::regnamespace AND k.contype = 'f' AND f.oid <> t.oid
  AND NOT f.relispartition AND NOT t.relispartition;

-- Tables of which this role would not be shown every row.
-- name: hidden
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relrowsecurity
  AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
  AND (NOT EXISTS (SELECT 1 FROM pg_policies p WHERE p.schemaname = :schema::text AND p.tablename = c.relname AND p.qual = 'true'
                     AND p.permissive = 'PERMISSIVE' AND p.cmd IN ('SELECT', 'ALL') AND :role::name = ANY (p.roles))
       OR EXISTS (SELECT 1 FROM pg_policies p WHERE p.schemaname = :schema::text AND p.tablename = c.relname
                    AND p.permissive = 'RESTRICTIVE'));

-- name: sequences
SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = :schema::text ORDER BY sequencename;

-- name: set_sequence
SELECT setval(:name::text::regclass, greatest(:value::bigint, (SELECT last_value FROM pg_sequences
              WHERE schemaname = :schema::text AND sequencename = :sequence), 1));

-- name: policies_of_owner
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relforcerowsecurity;

-- Every text of every owner waits for its vector. Only for whoever sees all of them: a restore.
-- name: queue_all
INSERT INTO pending (tenant, tier, doc, owner, ticket)
SELECT tenant, 'memory', row, owner, nextval('numbers') FROM memories WHERE deleted_at IS NULL
UNION ALL SELECT tenant, 'gist', row, owner, nextval('numbers') FROM gists
UNION ALL SELECT tenant, 'turn', row, owner, nextval('numbers') FROM turns
ON CONFLICT (tenant, owner, tier, doc) DO NOTHING;

-- What is made again, or holds for the old place only.
-- name: clear_notes
DELETE FROM meta WHERE key NOT IN ('schema_version', 'schema_compatible');
