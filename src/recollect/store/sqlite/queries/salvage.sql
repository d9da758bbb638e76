-- What is read of a damaged file. Of each table the first two columns tell a row from every other.

-- name: owners
SELECT row, tenant, user FROM owners NOT INDEXED;

-- name: projects
SELECT row, owner, name FROM projects NOT INDEXED;

-- name: sessions
SELECT row, owner, id, project, title, started_at, ended_at, meta, parent, relation, cwd, branch, commit_id, models, agent_version FROM sessions NOT INDEXED;

-- name: events
SELECT row, owner, session, key, position, kind, role, origin, text, text_hash, occurred_at, recorded_at, meta, way FROM events NOT INDEXED;

-- name: gists
SELECT row, owner, session, content, covers, maker, occurred_at, created_at FROM gists NOT INDEXED;

-- name: memories
SELECT row, owner, id, project, kind, content, why, tags, importance, confidence, origin, session, evidence, anchors, meta,
       content_hash, occurred_at, recorded_at, accessed_at, access_count, version, superseded_by, superseded_at, expires_at,
       archived_at, deleted_at, trust, maker, slot, confirmed_at
FROM memories NOT INDEXED;

-- name: memory_versions
SELECT memory, version, kind, content, why, tags, importance, confidence, until FROM memory_versions;

-- name: tombstones
SELECT owner, key, at FROM tombstones;

-- name: contexts
SELECT owner, name, reviewed, own_approval, made_at FROM contexts;

-- name: members
SELECT owner, member_tenant, member, role, added_by, added_at, joined_at FROM members;

-- name: feedback
SELECT owner, memory, verdict, session, source, note, at FROM feedback;

-- name: patterns
SELECT owner, id, state, version, content FROM patterns;

-- name: pattern_versions
SELECT owner, pattern, version, content, at FROM pattern_versions;

-- name: pattern_evidence
SELECT owner, pattern, session, content, at FROM pattern_evidence;

-- name: rollouts
SELECT owner, id, pattern, state, content, begun_at, ended_at FROM rollouts;

-- The same names again, out of the indexes that keep them unique.

-- name: names_of_owners
SELECT row, tenant, user FROM owners INDEXED BY sqlite_autoindex_owners_1;

-- name: names_of_projects
SELECT row, owner, name FROM projects INDEXED BY sqlite_autoindex_projects_1;

-- name: names_of_sessions
SELECT row, owner, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1;

-- How a table is made.

-- name: columns
SELECT name, type, "notnull", pk FROM pragma_table_info(:table);

-- name: has_rowid
SELECT sql NOT LIKE '%WITHOUT ROWID%' FROM sqlite_schema WHERE name = :table;

-- name: bury
INSERT INTO tombstones (owner, key, at) VALUES (:owner, :key, :at) ON CONFLICT DO UPDATE SET at = excluded.at;
