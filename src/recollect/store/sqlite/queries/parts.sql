-- What a filter and a scope let through, said once; `{name}` in a query stands for the part of that name.

-- name: memory_filter
AND m.deleted_at IS NULL
  {memory_narrowed}

-- name: memory_narrowed
AND (:any_project OR m.project IS NULL OR m.project = :scope_project)
  AND (:project IS NULL OR m.project = :project)
  AND (:kinds IS NULL OR m.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tags IS NULL OR EXISTS (SELECT 1 FROM json_each(m.tags) t WHERE t.value IN (SELECT value FROM json_each(:tags))))
  AND (:session IS NULL OR m.session = :session)
  AND (:exclude_session IS NULL OR m.session IS NULL OR m.session <> :exclude_session)
  AND (:min_importance IS NULL OR m.importance >= :min_importance)
  AND (:trusts IS NULL OR m.trust IN (SELECT value FROM json_each(:trusts)))
  AND (:since IS NULL OR m.occurred_at >= :since)
  AND (:until IS NULL OR m.occurred_at <= :until)
  AND (:archived OR m.archived_at IS NULL)
  AND (:flavors IS NULL OR EXISTS (SELECT 1 FROM sessions s WHERE s.owner = m.owner AND s.id = m.session
                                   AND s.flavor IN (SELECT value FROM json_each(:flavors))))
  AND (NOT :pinned OR json_extract(m.meta, '$.pinned') IS NOT NULL)
  AND (CASE WHEN :as_of IS NOT NULL
            THEN m.occurred_at <= :as_of AND (m.superseded_at IS NULL OR m.superseded_at > :as_of)
                 AND (m.expires_at IS NULL OR m.expires_at > :as_of)
            ELSE :history OR (m.superseded_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now)) END)

-- name: gist_filter
AND (:any_project OR g.project IS NULL OR g.project = :scope_project)
  AND (:project IS NULL OR g.project = :project)
  AND (:session_row IS NULL OR g.session = :session_row)
  AND (:exclude_row IS NULL OR g.session <> :exclude_row)
  AND (:since IS NULL OR g.occurred_at >= :since)
  AND (:until IS NULL OR g.occurred_at <= :until)
  AND (:flavors IS NULL OR (SELECT s.flavor FROM sessions s WHERE s.row = g.session) IN (SELECT value FROM json_each(:flavors)))
  AND (:as_of IS NULL OR g.occurred_at <= :as_of)

-- name: turn_filter
AND (:any_project OR t.project IS NULL OR t.project = :scope_project)
  AND (:project IS NULL OR t.project = :project)
  AND (:session_row IS NULL OR t.session = :session_row)
  AND (:exclude_row IS NULL OR t.session <> :exclude_row)
  AND (:since IS NULL OR t.occurred_at >= :since)
  AND (:until IS NULL OR t.occurred_at <= :until)
  AND (:flavors IS NULL OR (SELECT s.flavor FROM sessions s WHERE s.row = t.session) IN (SELECT value FROM json_each(:flavors)))
  AND (:as_of IS NULL OR t.occurred_at <= :as_of)

-- name: spoken
kind NOT IN ('thinking', 'injected_context', 'turn_end', 'summary', 'compaction')

-- name: speaker
CASE WHEN kind IN ('tool_call', 'edit', 'test_run') THEN 'call' ELSE role END

-- name: proposal_columns
id, source, project, kind, content, why, tags, importance, origin, trust, maker, evidenced, occurred_at, reason,
  proposed_tenant, proposed_by, proposed_at, state, decided_by, decided_at, decision, edited, memory, withdrawn_by, withdrawn_at

-- name: task
id, kind, subject, state, attempts, due_at, worker, error, made_at, ended_at, claim

-- name: task_visible
(:any_project OR subject = '' OR EXISTS (
    SELECT 1 FROM sessions s WHERE s.owner = tasks.owner AND s.id = tasks.subject
      AND (s.project IS NULL OR s.project = :scope_project)))

-- name: worn_out
(attempts >= :most AND NOT again)

-- name: pattern
id, state, version, content

-- name: pattern_visible
(:any_project OR patterns.home IS NULL OR patterns.home = :home)

-- name: use_visible
(:any_project OR m.project IS NULL OR m.project = :scope_project)

-- name: session_hidden
NOT :any_project AND s.project IS NOT NULL AND s.project <> :scope_project

-- Of a digest only its beginning is read as JSON, where the goal stands: there are many, and each is long.
-- name: session_filter
(:any_project OR s.project IS NULL OR s.project = :scope_project)
  AND (:flavor IS NULL OR s.flavor = :flavor)
  AND (:project IS NULL OR s.project = :project)
  AND (NOT :nowhere OR s.project IS NULL)
  AND (:outcome IS NULL OR ifnull(d.outcome, 'unknown') = :outcome)
  AND (:since IS NULL OR s.ended_at >= :since)
  AND (:until IS NULL OR s.ended_at < :until)
  AND (:words IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:words) w
    WHERE ifnull(s.title, '') || char(10) || ifnull(CASE WHEN instr(d.content, ',"outcome":') THEN
      json_extract(substr(d.content, 1, instr(d.content, ',"outcome":') - 1) || '}', '$.goal') END, '') || char(10) || s.id NOT LIKE w.value ESCAPE '!'))

-- name: passage
substr(e.text, 1, :most), e.text_hash, e.occurred_at, e.recorded_at, e.position,
  CASE WHEN length(e.meta) <= :most_meta THEN e.meta ELSE '{"long": true}' END, e.way, t.name, e.raw_at, e.raw_size,
  (SELECT json_group_array(json_array(lower(hex(b.hash)), b.media, b.bytes)) FROM event_bodies eb
   JOIN bodies b ON b.owner = eb.owner AND b.hash = eb.hash WHERE eb.event = e.row),
  length(e.text), u.ordinal

-- The session that something was recorded into or given out of, as long as it is there: the audit has only its event.
-- name: audited_session
CASE WHEN audit.action IN ('record', 'export') THEN (
  SELECT s.id FROM events e JOIN sessions s ON s.row = e.session
  WHERE e.owner = audit.owner AND e.key = unhex(audit.subject)) END
