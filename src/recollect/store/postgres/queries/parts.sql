-- What a filter and a scope let through, said once; `{name}` in a query stands for the part of that name.

-- name: memory_filter
AND m.deleted_at IS NULL
  {memory_narrowed}

-- name: memory_narrowed
AND (:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)
  AND (:project::bigint IS NULL OR m.project = :project::bigint)
  AND (:kinds::json IS NULL OR m.kind IN (SELECT json_array_elements_text(:kinds::json)))
  AND (:tags::json IS NULL OR m.tags ?| ARRAY(SELECT json_array_elements_text(:tags::json)))
  AND (:session::text IS NULL OR m.session = :session::text)
  AND (:exclude_session::text IS NULL OR m.session IS NULL OR m.session <> :exclude_session::text)
  AND (:min_importance::float8 IS NULL OR m.importance >= :min_importance::float8)
  AND (:trusts::json IS NULL OR m.trust IN (SELECT json_array_elements_text(:trusts::json)))
  AND (:since::timestamptz IS NULL OR m.occurred_at >= :since::timestamptz)
  AND (:until::timestamptz IS NULL OR m.occurred_at <= :until::timestamptz)
  AND (:archived OR m.archived_at IS NULL)
  AND (:flavors::json IS NULL OR EXISTS (SELECT 1 FROM sessions s WHERE s.tenant = :tenant AND s.owner = :owner AND s.id = m.session
                                         AND s.flavor IN (SELECT json_array_elements_text(:flavors::json))))
  AND (NOT :pinned OR m.meta ->> 'pinned' IS NOT NULL)
  AND (CASE WHEN :as_of::timestamptz IS NOT NULL
            THEN m.occurred_at <= :as_of::timestamptz
                 AND (m.superseded_at IS NULL OR m.superseded_at > :as_of::timestamptz)
                 AND (m.expires_at IS NULL OR m.expires_at > :as_of::timestamptz)
            ELSE :history OR (m.superseded_at IS NULL AND (m.expires_at IS NULL OR m.expires_at > :now::timestamptz)) END)

-- name: gist_filter
AND (:any_project OR g.project IS NULL OR g.project = :scope_project::bigint)
  AND (:project::bigint IS NULL OR g.project = :project::bigint)
  AND (:session_row::bigint IS NULL OR g.session = :session_row::bigint)
  AND (:exclude_row::bigint IS NULL OR g.session <> :exclude_row::bigint)
  AND (:since::timestamptz IS NULL OR g.occurred_at >= :since::timestamptz)
  AND (:until::timestamptz IS NULL OR g.occurred_at <= :until::timestamptz)
  AND (:flavors::json IS NULL OR (SELECT s.flavor FROM sessions s WHERE s.tenant = :tenant AND s.row = g.session)
                                  IN (SELECT json_array_elements_text(:flavors::json)))
  AND (:as_of::timestamptz IS NULL OR g.occurred_at <= :as_of::timestamptz)

-- name: turn_filter
AND (:any_project OR t.project IS NULL OR t.project = :scope_project::bigint)
  AND (:project::bigint IS NULL OR t.project = :project::bigint)
  AND (:session_row::bigint IS NULL OR t.session = :session_row::bigint)
  AND (:exclude_row::bigint IS NULL OR t.session <> :exclude_row::bigint)
  AND (:since::timestamptz IS NULL OR t.occurred_at >= :since::timestamptz)
  AND (:until::timestamptz IS NULL OR t.occurred_at <= :until::timestamptz)
  AND (:flavors::json IS NULL OR (SELECT s.flavor FROM sessions s WHERE s.tenant = :tenant AND s.row = t.session)
                                  IN (SELECT json_array_elements_text(:flavors::json)))
  AND (:as_of::timestamptz IS NULL OR t.occurred_at <= :as_of::timestamptz)

-- name: spoken
kind NOT IN ('thinking', 'injected_context', 'turn_end', 'summary', 'compaction')

-- name: speaker
CASE WHEN kind IN ('tool_call', 'edit', 'test_run') THEN 'call' ELSE role END

-- name: visible
(:any_project OR project IS NULL OR project = :scope_project::bigint)

-- name: memory
row, owner, id, project, kind, content, why, tags::text, importance, confidence, origin, session, evidence, anchors, meta, dedup_key,
  content_hash, occurred_at, recorded_at, accessed_at, access_count, version, superseded_by, superseded_at, expires_at, archived_at,
  deleted_at, trust, maker, slot, confirmed_at, project_name

-- name: proposal_columns
id, source, project, kind, content, why, tags, importance, origin, trust, maker, evidenced, occurred_at, reason,
  proposed_tenant, proposed_by, proposed_at, state, decided_by, decided_at, decision, edited, memory, withdrawn_by, withdrawn_at

-- name: task
id, kind, subject, state, attempts, due_at, worker, error, made_at, ended_at, claim

-- name: task_visible
(:any_project OR subject = '' OR EXISTS (
    SELECT 1 FROM sessions s WHERE s.tenant = tasks.tenant AND s.owner = tasks.owner AND s.id = tasks.subject
      AND (s.project IS NULL OR s.project = :scope_project::bigint)))

-- name: worn_out
(attempts >= :most AND NOT again)

-- bm25 as FTS5 counts it (k1 = 1.2, b = 0.75), over the owner's own documents: the words' inverse document frequencies and
-- the documents' average length are given.
-- name: bm25
SELECT h.doc, sum((:weights::float8[])[h.word] * h.times * 2.2 / (h.times + 1.2 * (0.25 + 0.75::float8 * h.size / :length::float8))) AS score
  FROM matches(:tier, :words::text[], :steps::float8[]) h GROUP BY h.doc ORDER BY score DESC, h.doc LIMIT :look

-- name: vectors_counted
SELECT x.value AS doc, x.place::smallint, NULL::boolean AS by_user, NULL::halfvec AS vector
FROM indexed i CROSS JOIN LATERAL (VALUES (i.stamp, 0), (i.dropped, 1), (i.vectored, 2)) x (value, place)
WHERE i.tenant = :tenant AND i.owner = :owner AND i.tier = :tier

-- The similarity of a document from its sides: what the user said, and what answered.
-- name: both
CASE WHEN said IS NULL THEN heard WHEN heard IS NULL THEN said
     ELSE (1 - :weaker) * greatest(said, heard) + :weaker * least(said, heard) END

-- name: pattern
id, state, version, content

-- name: pattern_visible
(:any_project OR patterns.home IS NULL OR patterns.home = :home::text)

-- name: use_visible
(:any_project OR m.project IS NULL OR m.project = :scope_project::bigint)

-- name: session_hidden
NOT :any_project AND s.project IS NOT NULL AND s.project <> :scope_project::bigint

-- Of a digest only its beginning is read as JSON, where the goal stands: there are many, and each is long.
-- name: session_filter
(:any_project OR s.project IS NULL OR s.project = :scope_project::bigint)
  AND (:flavor::text IS NULL OR s.flavor = :flavor::text)
  AND (:project::bigint IS NULL OR s.project = :project::bigint)
  AND (NOT :nowhere OR s.project IS NULL)
  AND (:outcome::text IS NULL OR coalesce(d.outcome, 'unknown') = :outcome::text)
  AND (:since::timestamptz IS NULL OR s.ended_at >= :since::timestamptz)
  AND (:until::timestamptz IS NULL OR s.ended_at < :until::timestamptz)
  AND (:words::json IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_array_elements_text(:words::json) AS w (value)
    WHERE concat(s.title, chr(10), CASE WHEN strpos(d.content::text, ',"outcome":') > 0 THEN
      (left(d.content::text, strpos(d.content::text, ',"outcome":') - 1) || '}')::json ->> 'goal' END, chr(10), s.id) NOT ILIKE w.value ESCAPE '!'))

-- name: passage
left(e.text, :most::integer), e.text_hash, e.occurred_at, e.recorded_at, e.position,
  CASE WHEN length(e.meta::text) <= :most_meta THEN e.meta::text ELSE '{"long": true}' END, e.way, t.name, e.raw_at, e.raw_size,
  (SELECT coalesce(json_agg(json_build_array(encode(b.hash, 'hex'), b.media, b.bytes)), '[]') FROM event_bodies eb
   JOIN bodies b ON b.tenant = eb.tenant AND b.owner = eb.owner AND b.hash = eb.hash
   WHERE eb.tenant = e.tenant AND eb.owner = e.owner AND eb.event = e.row),
  length(e.text), u.ordinal

-- The session that something was recorded into or given out of, as long as it is there: the audit has only its event.
-- name: audited_session
CASE WHEN audit.action IN ('record', 'export') AND audit.subject ~ '^([0-9a-f][0-9a-f])+$' THEN (
  SELECT s.id FROM events e JOIN sessions s ON s.tenant = e.tenant AND s.owner = e.owner AND s.row = e.session
  WHERE e.tenant = :tenant AND e.owner = :owner AND e.key = decode(audit.subject, 'hex')) END
