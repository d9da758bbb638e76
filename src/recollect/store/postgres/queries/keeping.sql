-- Taking away for good, upkeep, and how the store is.

-- name: session
SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: subagents
WITH RECURSIVE below (id) AS (
  SELECT :id::text COLLATE "C" UNION SELECT s.id FROM sessions s JOIN below b ON s.parent = b.id
  WHERE s.tenant = :tenant AND s.owner = :owner AND s.relation IN ('subagent', 'compaction', 'review'))
SELECT row, id FROM sessions WHERE tenant = :tenant AND owner = :owner AND id IN (SELECT id FROM below) AND id <> :id
  AND {visible};

-- name: memory
SELECT row FROM memories WHERE tenant = :tenant AND owner = :owner AND id = :id AND {visible};

-- name: memories_of_session
SELECT row, id FROM memories WHERE tenant = :tenant AND owner = :owner AND session = :id;

-- name: turns_of_session
SELECT row FROM turns WHERE tenant = :tenant AND session = :session;

-- name: gist_of_session
SELECT row FROM gists WHERE tenant = :tenant AND session = :session;

-- name: bury_events
INSERT INTO tombstones (tenant, owner, key, at)
SELECT tenant, owner, key, :at::timestamptz FROM events WHERE tenant = :tenant AND session = :session ON CONFLICT DO NOTHING;

-- name: bury
INSERT INTO tombstones (tenant, owner, key, at) VALUES (:tenant, :owner, :key, :at)
ON CONFLICT (tenant, owner, key) DO UPDATE SET at = excluded.at;

-- name: buried
SELECT at FROM tombstones WHERE tenant = :tenant AND owner = :owner AND key = :key;

-- name: count_events
SELECT count(*) FROM events WHERE tenant = :tenant AND session = :session;

-- name: drop_events
DELETE FROM events WHERE tenant = :tenant AND session = :session;

-- name: drop_costs
DELETE FROM costs WHERE tenant = :tenant AND session = :session;

-- name: drop_digest
DELETE FROM digests WHERE tenant = :tenant AND session = :session;

-- name: drop_signals
DELETE FROM session_signals WHERE tenant = :tenant AND session = :session;

-- name: drop_distillation
DELETE FROM distillations WHERE tenant = :tenant AND session = :session;

-- name: distilled_from
SELECT evidence FROM memories WHERE tenant = :tenant AND row = :row AND maker <> :said;

-- name: drop_transcripts
DELETE FROM transcripts WHERE tenant = :tenant AND owner = :owner;

-- name: drop_transcripts_of
DELETE FROM transcripts WHERE tenant = :tenant AND owner = :owner AND session = :id;

-- name: drop_injected
DELETE FROM injected WHERE tenant = :tenant AND owner = :owner;

-- name: drop_turns
DELETE FROM turns WHERE tenant = :tenant AND session = :session;

-- name: drop_gist
DELETE FROM gists WHERE tenant = :tenant AND session = :session;

-- name: drop_session
DELETE FROM sessions WHERE tenant = :tenant AND row = :session;

-- name: drop_versions
DELETE FROM memory_versions WHERE tenant = :tenant AND memory = :row;

-- name: drop_memory
DELETE FROM memories WHERE tenant = :tenant AND row = :row;

-- name: is_indexed
SELECT (deleted_at IS NULL)::integer FROM memories WHERE tenant = :tenant AND row = :row;

-- name: unlink
UPDATE memories SET superseded_by = NULL WHERE tenant = :tenant AND owner = :owner AND superseded_by = :id;

-- What was merged into a memory, how one stands, and how it stands from now on.
-- name: merged_into
SELECT id FROM memories
WHERE tenant = :tenant AND owner = :owner AND superseded_by = :id AND deleted_at IS NULL AND meta ->> 'merged' IS NOT NULL ORDER BY id;

-- name: standing
SELECT superseded_by, superseded_at, archived_at, meta FROM memories WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: twin_of
SELECT t.id FROM memories m JOIN memories t ON t.tenant = m.tenant AND t.owner = m.owner
  AND coalesce(t.project, 0) = coalesce(m.project, 0)
  AND t.dedup_key = m.dedup_key AND t.id <> m.id AND t.deleted_at IS NULL AND t.superseded_at IS NULL
WHERE m.tenant = :tenant AND m.owner = :owner AND m.id = :id;

-- name: stand
UPDATE memories SET superseded_by = :by, superseded_at = :ended_at::timestamptz, archived_at = coalesce(archived_at, :archived_at::timestamptz),
  meta = :meta, version = version + 1
WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: sessions_of_owner
SELECT row, id FROM sessions WHERE tenant = :tenant AND owner = :owner AND (:any_project OR project = :scope_project::bigint);

-- name: memories_of_owner
SELECT row, id FROM memories WHERE tenant = :tenant AND owner = :owner AND (:any_project OR project = :scope_project::bigint);

-- name: drop_projects
DELETE FROM projects WHERE tenant = :tenant AND owner = :owner AND (:any_project OR row = :scope_project::bigint);

-- name: drop_unused_projects
DELETE FROM projects p WHERE p.tenant = :tenant AND p.owner = :owner
  AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = p.tenant AND s.project = p.row)
  AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.tenant = p.tenant AND m.project = p.row)
  AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.tenant = p.tenant AND t.project = p.row)
  AND NOT EXISTS (SELECT 1 FROM gists g WHERE g.tenant = p.tenant AND g.project = p.row);

-- name: to_archive
UPDATE memories SET archived_at = :now, version = version + 1
WHERE tenant = :tenant AND owner = :owner AND archived_at IS NULL AND deleted_at IS NULL
  AND recorded_at < :before AND occurred_at < :before AND access_count < :reads
  AND confirmed_at IS NULL AND (accessed_at IS NULL OR accessed_at < :before) AND meta ->> 'pinned' IS NULL
  AND NOT EXISTS (SELECT 1 FROM feedback f
                  WHERE f.tenant = memories.tenant AND f.owner = memories.owner AND f.memory = memories.id
                    AND f.verdict <> 'harmful' AND f.at >= :before)
RETURNING owner, id;

-- name: to_expire
UPDATE memories SET archived_at = :now, version = version + 1
WHERE tenant = :tenant AND owner = :owner AND archived_at IS NULL AND deleted_at IS NULL
  AND expires_at < :before AND (accessed_at IS NULL OR accessed_at < :before) AND meta ->> 'pinned' IS NULL
RETURNING owner, id;

-- name: to_redact
SELECT row, owner, id FROM memories
WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NOT NULL AND deleted_at < :before AND content <> '';

-- name: redact
UPDATE memories SET content = '', why = NULL, tags = '[]', evidence = '[]', anchors = '[]', meta = '{}',
  dedup_key = '', content_hash = :empty_hash WHERE tenant = :tenant AND row = :row;

-- name: to_purge
SELECT row, owner, id FROM memories
WHERE tenant = :tenant AND owner = :owner AND deleted_at IS NOT NULL AND deleted_at < :before;

-- name: counts
SELECT sessions, events, turns, gists, memories, vectors, pending FROM totals();

-- name: size
SELECT pg_database_size(current_database());

-- name: event_texts
SELECT key, convert_to(text, 'UTF8'), text_hash FROM events WHERE tenant = :tenant AND owner = :owner;

-- name: memory_texts
SELECT id, convert_to(content, 'UTF8'), content_hash FROM memories WHERE tenant = :tenant AND owner = :owner;

-- name: scrub_due
INSERT INTO meta (key, value) SELECT 'scrub_due', '1' WHERE NOT EXISTS (SELECT 1 FROM meta WHERE key = 'scrub_due')
ON CONFLICT DO NOTHING;

-- name: is_scrub_due
SELECT value FROM meta WHERE key IN ('scrub_due', 'scrub_begun') LIMIT 1;

-- What is deleted while it runs is due again.
-- name: scrub_begins
INSERT INTO meta (key, value) VALUES ('scrub_begun', '1') ON CONFLICT DO NOTHING;

-- name: scrub_undue
DELETE FROM meta WHERE key = 'scrub_due';

-- name: scrub_done
DELETE FROM meta WHERE key = 'scrub_begun';

-- Partitions count with their table. The rows are the server's estimate: counting them all would take as long as a backup.
-- name: sizes
SELECT coalesce(p.relname, c.relname), sum(greatest(c.reltuples, 0))::bigint, sum(pg_total_relation_size(c.oid))::bigint,
       sum(pg_indexes_size(c.oid))::bigint
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind = 'r'
GROUP BY 1 ORDER BY 3 DESC, 1;

-- name: vacuumed
SELECT c.relname FROM pg_class c WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind = 'r' ORDER BY c.relname;

-- name: vector_indexes
SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
WHERE c.relnamespace = :schema::text::regnamespace AND c.relkind = 'i' AND a.amname IN ('hnsw', 'ivfflat', 'gin') ORDER BY c.relname;
