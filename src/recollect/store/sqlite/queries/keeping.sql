-- Taking away for good, upkeep, and looking after the file.

-- name: session
SELECT row FROM sessions WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: subagents
WITH RECURSIVE below (id) AS (
  SELECT :id UNION SELECT s.id FROM sessions s JOIN below b ON s.parent = b.id
  WHERE s.owner = :owner AND s.relation IN ('subagent', 'compaction', 'review'))
SELECT row, id FROM sessions WHERE owner = :owner AND id IN (SELECT id FROM below) AND id <> :id
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: memory
SELECT row FROM memories WHERE owner = :owner AND id = :id AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: memories_of_session
SELECT row, id FROM memories WHERE owner = :owner AND session = :id;

-- name: turns_of_session
SELECT row FROM turns WHERE session = :session;

-- name: gist_of_session
SELECT row FROM gists WHERE session = :session;

-- name: bury_events
INSERT INTO tombstones (owner, key, at) SELECT owner, key, :at FROM events WHERE session = :session ON CONFLICT DO NOTHING;

-- name: bury
INSERT INTO tombstones (owner, key, at) VALUES (:owner, :key, :at) ON CONFLICT DO UPDATE SET at = excluded.at;

-- name: buried
SELECT at FROM tombstones WHERE owner = :owner AND key = :key;

-- name: count_events
SELECT count(*) FROM events WHERE session = :session;

-- name: drop_events
DELETE FROM events WHERE session = :session;

-- name: drop_costs
DELETE FROM costs WHERE session = :session;

-- name: drop_digest
DELETE FROM digests WHERE session = :session;

-- name: drop_signals
DELETE FROM session_signals WHERE session = :session;

-- name: drop_distillation
DELETE FROM distillations WHERE session = :session;

-- name: distilled_from
SELECT evidence FROM memories WHERE row = :row AND maker <> :said;

-- name: drop_transcripts
DELETE FROM transcripts WHERE owner = :owner;

-- name: drop_transcripts_of
DELETE FROM transcripts WHERE owner = :owner AND session = :id;

-- name: drop_injected
DELETE FROM injected WHERE owner = :owner;

-- name: drop_turns
DELETE FROM turns WHERE session = :session;

-- name: drop_gist
DELETE FROM gists WHERE session = :session;

-- name: drop_session
DELETE FROM sessions WHERE row = :session;

-- name: drop_versions
DELETE FROM memory_versions WHERE memory = :row;

-- name: drop_memory
DELETE FROM memories WHERE row = :row;

-- name: is_indexed
SELECT deleted_at IS NULL FROM memories WHERE row = :row;

-- name: unlink
UPDATE memories SET superseded_by = NULL WHERE owner = :owner AND superseded_by = :id;

-- What was merged into a memory, how one stands, and how it stands from now on.
-- name: merged_into
SELECT id FROM memories
WHERE owner = :owner AND superseded_by = :id AND deleted_at IS NULL AND json_extract(meta, '$.merged') IS NOT NULL ORDER BY id;

-- name: standing
SELECT superseded_by, superseded_at, archived_at, meta FROM memories WHERE owner = :owner AND id = :id;

-- name: twin_of
SELECT t.id FROM memories m JOIN memories t ON t.owner = m.owner AND ifnull(t.project, 0) = ifnull(m.project, 0)
  AND t.dedup_key = m.dedup_key AND t.id <> m.id AND t.deleted_at IS NULL AND t.superseded_at IS NULL
WHERE m.owner = :owner AND m.id = :id;

-- name: stand
UPDATE memories SET superseded_by = :by, superseded_at = :ended_at, archived_at = coalesce(archived_at, :archived_at),
  meta = :meta, version = version + 1
WHERE owner = :owner AND id = :id;

-- name: sessions_of_owner
SELECT row, id FROM sessions WHERE owner = :owner AND (:any_project OR project = :scope_project);

-- name: memories_of_owner
SELECT row, id FROM memories WHERE owner = :owner AND (:any_project OR project = :scope_project);

-- name: drop_projects
DELETE FROM projects WHERE owner = :owner AND (:any_project OR row = :scope_project);

-- name: drop_unused_projects
DELETE FROM projects WHERE owner = :owner AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.project = projects.row)
  AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.project = projects.row)
  AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.project = projects.row)
  AND NOT EXISTS (SELECT 1 FROM gists g WHERE g.project = projects.row);

-- name: to_archive
UPDATE memories SET archived_at = :now, version = version + 1
WHERE archived_at IS NULL AND deleted_at IS NULL AND recorded_at < :before AND occurred_at < :before AND access_count < :reads
  AND confirmed_at IS NULL AND (accessed_at IS NULL OR accessed_at < :before) AND json_extract(meta, '$.pinned') IS NULL
  AND NOT EXISTS (SELECT 1 FROM feedback f
                  WHERE f.owner = memories.owner AND f.memory = memories.id AND f.verdict <> 'harmful' AND f.at >= :before)
RETURNING owner, id;

-- name: to_expire
UPDATE memories SET archived_at = :now, version = version + 1
WHERE archived_at IS NULL AND deleted_at IS NULL AND expires_at < :before AND (accessed_at IS NULL OR accessed_at < :before)
  AND json_extract(meta, '$.pinned') IS NULL
RETURNING owner, id;

-- name: to_redact
SELECT row, owner, id FROM memories WHERE deleted_at IS NOT NULL AND deleted_at < :before AND content <> '';

-- name: redact
UPDATE memories SET content = '', why = NULL, tags = '[]', evidence = '[]', anchors = '[]', meta = '{}',
  dedup_key = x'', content_hash = :empty_hash WHERE row = :row;

-- name: to_purge
SELECT row, owner, id FROM memories WHERE deleted_at IS NOT NULL AND deleted_at < :before;

-- All memories less the forgotten: both are counted in an index, and those that are left would be in the table.
-- name: counts
SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events), (SELECT count(*) FROM turns), (SELECT count(*) FROM gists),
       (SELECT count(*) FROM memories) - (SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL),
       (SELECT count(*) FROM vectors), (SELECT count(*) FROM pending);

-- name: event_texts
SELECT key, CAST(text AS BLOB), text_hash FROM events;

-- name: memory_texts
SELECT id, CAST(content AS BLOB), content_hash FROM memories;

-- name: scrub_due
INSERT INTO meta (key, value) VALUES ('scrub_due', '1') ON CONFLICT DO NOTHING;

-- name: is_scrub_due
SELECT value FROM meta WHERE key IN ('scrub_due', 'scrub_begun') LIMIT 1;

-- What is deleted while it runs is due again.
-- name: scrub_begins
INSERT INTO meta (key, value) VALUES ('scrub_begun', '1') ON CONFLICT DO NOTHING;

-- name: scrub_undue
DELETE FROM meta WHERE key = 'scrub_due';

-- name: scrub_done
DELETE FROM meta WHERE key = 'scrub_begun';

-- name: integrity
PRAGMA integrity_check(5);

-- name: optimize
PRAGMA optimize;

-- The full-text index lies in segments, and each is looked through for every word. A negative number begins to make one of
-- all of them; each time about so many pages are written.
-- name: merge_memory
INSERT INTO memory_fts (memory_fts, rank) VALUES ('merge', :pages);

-- name: merge_gist
INSERT INTO gist_fts (gist_fts, rank) VALUES ('merge', :pages);

-- name: merge_turn
INSERT INTO turn_fts (turn_fts, rank) VALUES ('merge', :pages);

-- name: reindex
REINDEX;

-- What each table takes, page by page. The rows of a table without rowids stand in all of its pages, of others in leaves.
-- name: pages
SELECT s.tbl_name,
  sum(CASE WHEN s.type = 'table' AND (d.pagetype = 'leaf' OR t.wr AND d.pagetype = 'internal') THEN d.ncell ELSE 0 END),
  sum(d.pgsize) AS whole, sum(CASE s.type WHEN 'index' THEN d.pgsize ELSE 0 END)
FROM dbstat d JOIN sqlite_schema s ON s.name = d.name JOIN pragma_table_list t ON t.name = s.tbl_name AND t.schema = 'main'
WHERE s.tbl_name NOT LIKE 'sqlite_%'
GROUP BY s.tbl_name ORDER BY whole DESC, s.tbl_name;
