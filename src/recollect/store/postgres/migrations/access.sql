-- Who may see what. Run after every migration and safe to run again: whatever tables there are, each with a tenant gets
-- the same policies, so that a new one cannot be forgotten. `{app}` and `{backup}` are the roles. Other programs may be at
-- work meanwhile: functions are replaced in place, never dropped (what takes or gives something else gets a new name), and
-- a table is only locked when something about it is not as it should be.

-- Which owner a transaction is for: set by `enter` for this transaction alone, and nothing without it.
CREATE OR REPLACE FUNCTION current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('recollect.tenant', true), '');

CREATE OR REPLACE FUNCTION current_owner() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('recollect.owner', true), '')::bigint;

-- Begin a transaction for a scope: whose rows it may see from here on, and their numbers. The owner's number is looked up
-- here, under the policy on `owners`, so that the caller cannot name another's. One writer of an owner at a time.
-- An owner whose name begins with @ is a context that several share: who asks must be named too, and have joined it; to
-- write they need the role for it. Whoever is not let in is told what they are told of a context that does not exist:
-- nothing. Work of the store itself is asked by nobody ('').
CREATE OR REPLACE FUNCTION enter(_tenant text, _username text, _project text, _writing boolean, _making boolean,
                                 _by_tenant text DEFAULT NULL, _by_username text DEFAULT NULL)
RETURNS TABLE (owner bigint, project bigint) LANGUAGE plpgsql AS $$
DECLARE
  _owner bigint;
  _row bigint;
  _may text;
BEGIN
  PERFORM set_config('recollect.tenant', _tenant, true), set_config('recollect.username', _username, true),
          set_config('recollect.owner', '', true);
  IF _writing THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(_tenant || chr(31) || _username, 1380143188));
  END IF;
  SELECT o.row INTO _owner FROM owners o WHERE o.tenant = _tenant AND o.username = _username;
  IF left(_username, 1) = '@' AND _by_username IS DISTINCT FROM '' THEN
    PERFORM set_config('recollect.owner', coalesce(_owner::text, ''), true);
    SELECT CASE WHEN m.role IN ('reviewer', 'admin') OR (m.role = 'writer' AND NOT c.reviewed) THEN 'write' ELSE 'read' END
      INTO _may FROM members m JOIN contexts c ON c.tenant = m.tenant AND c.owner = m.owner
      WHERE m.tenant = _tenant AND m.owner = _owner AND m.member_tenant = _by_tenant AND m.member = _by_username
        AND m.joined_at IS NOT NULL;
    PERFORM set_config('recollect.owner', '', true);
    IF _may IS NULL THEN
      RETURN;
    ELSIF _writing AND _may = 'read' THEN
      RAISE EXCEPTION 'this member may only read' USING ERRCODE = 'RC001';
    END IF;
  END IF;
  IF _owner IS NULL AND _making THEN
    INSERT INTO owners (tenant, username) VALUES (_tenant, _username) RETURNING owners.row INTO _owner;
  END IF;
  IF _owner IS NULL THEN
    RETURN;
  END IF;
  PERFORM set_config('recollect.owner', _owner::text, true);
  IF _project IS NOT NULL THEN
    SELECT p.row INTO _row FROM projects p WHERE p.tenant = _tenant AND p.owner = _owner AND p.name = _project;
    IF _row IS NULL AND _making THEN
      INSERT INTO projects (tenant, owner, name) VALUES (_tenant, _owner, _project) RETURNING projects.row INTO _row;
    END IF;
    _row := coalesce(_row, 0);
  END IF;
  RETURN QUERY SELECT _owner, _row;
END $$;

-- How much the owner of this transaction has of each tier, and as of when; whether there is any of what most owners have
-- nothing of; and of which model the vectors are, its dimension in place of how many. A server that was started anew, or
-- another one, may have another past. While nothing changes it tells the same: processes hold it against what they were told.
CREATE OR REPLACE FUNCTION sizes()
RETURNS TABLE (tier text, rows bigint, words bigint, vectored bigint, vectors bigint, stamp bigint, server timestamptz, worded bigint)
LANGUAGE sql STABLE AS $$
  SELECT i.tier, i.rows, i.words, i.vectored, i.vectors, i.stamp, pg_postmaster_start_time(), i.worded FROM indexed i
  WHERE i.tenant = (SELECT current_tenant()) AND i.owner = (SELECT current_owner())
  UNION ALL SELECT 'feedback', EXISTS (
    SELECT 1 FROM feedback f WHERE f.tenant = (SELECT current_tenant()) AND f.owner = (SELECT current_owner()))::int, 0, 0, 0, 0, pg_postmaster_start_time(), 0
  UNION ALL SELECT 'relations', EXISTS (
    SELECT 1 FROM relations r WHERE r.tenant = (SELECT current_tenant()) AND r.owner = (SELECT current_owner()))::int, 0, 0, 0, 0, pg_postmaster_start_time(), 0
  UNION ALL SELECT 'model:' || m.name, m.dim, 0, 0, 0, 0, pg_postmaster_start_time(), 0
  FROM meta JOIN models m ON m.row = meta.value::bigint WHERE meta.key = 'embedding_model'
$$;

-- Begin a transaction for a question: `enter` and `sizes` in one statement, since every question begins with both. What
-- comes after them finds rows by their keys, whatever is asked and whoever asks: it is planned once for a connection, and
-- not each time, which took a third of the server's work.
CREATE OR REPLACE FUNCTION enter_to_ask(_tenant text, _username text, _project text, _by_tenant text, _by_username text)
RETURNS TABLE (owner bigint, project bigint, tier text, rows bigint, words bigint, vectored bigint, vectors bigint,
               stamp bigint, server timestamptz, worded bigint)
LANGUAGE plpgsql AS $$
DECLARE
  _owner bigint;
  _row bigint;
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
  SELECT e.owner, e.project INTO _owner, _row FROM enter(_tenant, _username, _project, false, false, _by_tenant, _by_username) e;
  IF _owner IS NOT NULL THEN
    RETURN QUERY SELECT _owner, _row, s.* FROM sizes() s;
  END IF;
END $$;

-- A whole question of who goes on asking, in one statement: `enter_to_ask`, and the memories that the process found by what it
-- has at hand. STABLE: what it tells and what it reads are of one moment, that of the statement, in a transaction of its
-- own. First rows that tell and have no memory, then memories that tell nothing.
CREATE OR REPLACE FUNCTION ask_for_memories(_tenant text, _username text, _project text, _by_tenant text, _by_username text,
                                            _docs bigint[])
RETURNS TABLE (asked_owner bigint, asked_project bigint, tier text, rows bigint, words bigint, vectored bigint, vectors bigint,
               stamp bigint, server timestamptz, worded bigint,
               "row" bigint, owner bigint, id text, project bigint, kind text, content text, why text, tags jsonb,
               importance double precision, confidence double precision, origin text, session text, evidence text,
               anchors json, meta json, dedup_key bytea, content_hash bytea, occurred_at timestamptz,
               recorded_at timestamptz, accessed_at timestamptz, access_count bigint, version integer, superseded_by text,
               superseded_at timestamptz, expires_at timestamptz, archived_at timestamptz, deleted_at timestamptz, trust text,
               maker text, slot text, confirmed_at timestamptz, project_name text, tenant text)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  _owner bigint;
  _row bigint;
BEGIN
  PERFORM set_config('plan_cache_mode', 'force_generic_plan', true);
  SELECT e.owner, e.project INTO _owner, _row FROM enter(_tenant, _username, _project, false, false, _by_tenant, _by_username) e;
  IF _owner IS NOT NULL THEN
    RETURN QUERY SELECT _owner, _row, s.*, (NULL::memory_rows).* FROM sizes() s;
    RETURN QUERY SELECT NULL::bigint, NULL::bigint, NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint,
      NULL::bigint, NULL::timestamptz, NULL::bigint, m.*
    FROM unnest(_docs) d (doc) CROSS JOIN LATERAL (
      SELECT * FROM memory_rows WHERE tenant = _tenant AND owner = _owner AND row = d.doc OFFSET 0) m
    WHERE _row IS NULL OR m.project IS NULL OR m.project = _row;
  END IF;
END $$;

-- What looks at more than one owner does so by the names below and in no other way: each runs as `{backup}`, which may
-- read everything, and gives numbers and names of owners, never content. Those that look over the whole store answer only
-- in a transaction that is for nobody: whoever works for an owner cannot ask who else there is.

-- Every owner, for work that goes through the whole store one owner after the other.
CREATE OR REPLACE FUNCTION every_owner() RETURNS TABLE (tenant text, username text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT o.tenant, o.username FROM owners o WHERE current_tenant() IS NULL ORDER BY o.tenant, o.row';

-- Texts of a tier that wait for a vector: of every owner who waits the newest few, in slices of 16. First one of each, the
-- smallest before the others, then the next of each, so that nobody's import is before everybody else's texts. Which owners
-- there are is found by going from one to the next in the index; the more there are, the fewer of each are looked at.
CREATE OR REPLACE FUNCTION waiting(_tier text, _limit integer) RETURNS TABLE (tenant text, username text, doc bigint, ticket bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp SET enable_seqscan = off AS $$
  WITH RECURSIVE who AS (
    (SELECT p.tenant, p.owner FROM pending p WHERE current_tenant() IS NULL ORDER BY p.tenant, p.owner LIMIT 1)
    UNION ALL
    SELECT n.tenant, n.owner FROM who w CROSS JOIN LATERAL (
      SELECT p.tenant, p.owner FROM pending p WHERE (p.tenant, p.owner) > (w.tenant, w.owner)
      ORDER BY p.tenant, p.owner LIMIT 1) n),
  share AS (SELECT least(_limit, greatest(16, 4096 / greatest(count(*), 1))) AS most FROM who),
  placed AS (
    SELECT w.tenant, w.owner, d.doc, d.ticket, (d.place - 1) / 16 AS slice FROM who w CROSS JOIN LATERAL (
      SELECT p.doc, p.ticket, row_number() OVER (ORDER BY p.doc DESC) AS place FROM pending p
      WHERE p.tenant = w.tenant AND p.owner = w.owner AND p.tier = _tier
      ORDER BY p.doc DESC LIMIT (SELECT s.most FROM share s)) d),
  chosen AS (
    SELECT p.*, count(*) OVER own AS size, max(p.doc) OVER own AS newest FROM placed p
    WINDOW own AS (PARTITION BY p.tenant, p.owner, p.slice)
    ORDER BY p.slice, size, newest DESC, p.doc DESC LIMIT _limit)
  SELECT o.tenant, o.username, c.doc, c.ticket FROM chosen c JOIN owners o ON o.tenant = c.tenant AND o.row = c.owner
  ORDER BY c.slice, c.size, c.newest DESC, c.doc DESC
$$;

-- Whose these waiting documents are.
CREATE OR REPLACE FUNCTION whose(_tier text, _docs bigint[]) RETURNS TABLE (doc bigint, tenant text, username text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT p.doc, o.tenant, o.username FROM pending p JOIN owners o ON o.tenant = p.tenant AND o.row = p.owner
 WHERE p.tier = _tier AND p.doc = ANY (_docs) AND current_tenant() IS NULL';

-- The shared contexts that whoever this transaction is for belongs to or was asked into, and nobody else's.
CREATE OR REPLACE FUNCTION memberships()
RETURNS TABLE (context text, name text, reviewed boolean, own_approval boolean, made_at timestamptz, role text, added_by text,
               added_at timestamptz, joined_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS $$
  SELECT o.username, c.name, c.reviewed, c.own_approval, c.made_at, m.role, m.added_by, m.added_at, m.joined_at
  FROM members m JOIN contexts c ON c.tenant = m.tenant AND c.owner = m.owner
  JOIN owners o ON o.tenant = m.tenant AND o.row = m.owner
  WHERE m.member_tenant = current_tenant() AND m.member = nullif(current_setting('recollect.username', true), '')
  ORDER BY c.name, o.username
$$;

-- What an API key opens, asked before it is known whose transaction this is. The hash is of 256 random bits: it opens nothing.
CREATE OR REPLACE FUNCTION key_of(_id text)
RETURNS TABLE (hash bytea, tenant text, username text, env text, permissions text, project text, expires_at timestamptz,
               revoked_at timestamptz, last_used_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT k.hash, o.tenant, o.username, k.env, k.permissions, k.project, k.expires_at, k.revoked_at, k.last_used_at
 FROM api_keys k JOIN owners o ON o.tenant = k.tenant AND o.row = k.owner WHERE k.id = _id AND current_tenant() IS NULL';

-- Tasks that are due, some of each tenant that has any: first one of each, the tenant that was served longest ago before the
-- others, then the next of each. Which tenants there are is found by going from one to the next in the index. They are only
-- told here: whoever wants one takes it in its owner's name.
CREATE OR REPLACE FUNCTION due_tasks(_at timestamptz, _kinds json, _limit integer) RETURNS TABLE (tenant text, username text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp SET enable_seqscan = off AS $$
  WITH RECURSIVE tenants AS (
    (SELECT t.tenant FROM tasks t WHERE t.state IN ('waiting', 'running') AND current_tenant() IS NULL ORDER BY t.tenant LIMIT 1)
    UNION ALL
    SELECT (SELECT t.tenant FROM tasks t WHERE t.state IN ('waiting', 'running') AND t.tenant > x.tenant ORDER BY t.tenant LIMIT 1)
    FROM tenants x WHERE x.tenant IS NOT NULL)
  SELECT o.tenant, o.username, d.id
  FROM (SELECT x.tenant, (SELECT max(c.claim) FROM tasks c WHERE c.tenant = x.tenant) AS served FROM tenants x WHERE x.tenant IS NOT NULL) x
  CROSS JOIN LATERAL (
    SELECT t.owner, t.id, t.due_at, row_number() OVER (ORDER BY t.due_at, t.row) AS place FROM tasks t
    WHERE t.tenant = x.tenant AND t.state IN ('waiting', 'running') AND t.due_at <= _at
      AND (_kinds IS NULL OR t.kind IN (SELECT json_array_elements_text(_kinds)))
    ORDER BY t.due_at, t.row LIMIT _limit) d
  JOIN owners o ON o.tenant = x.tenant AND o.row = d.owner
  ORDER BY d.place, x.served, d.due_at LIMIT _limit
$$;

-- Tasks of a state, or all, the newest first.
CREATE OR REPLACE FUNCTION tasks_in(_state text, _limit integer) RETURNS TABLE (tenant text, username text, id text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT o.tenant, o.username, t.id FROM tasks t JOIN owners o ON o.tenant = t.tenant AND o.row = t.owner
 WHERE (_state IS NULL OR t.state = _state) AND current_tenant() IS NULL ORDER BY t.row DESC LIMIT _limit';

-- How long the queue is. What was begun and put off because somebody else is at it (a gist waits by itself) waits since it
-- was put.
CREATE OR REPLACE FUNCTION task_totals(_at timestamptz)
RETURNS TABLE (state text, kind text, later boolean, counted bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
$$SELECT t.state, t.kind, t.due_at > _at AND NOT p.off, count(*), min(CASE WHEN p.off THEN t.made_at ELSE t.due_at END)
  FROM tasks t CROSS JOIN LATERAL (
    SELECT t.state = 'waiting' AND t.due_at > _at AND t.claim > 0 AND t.attempts = 0 AND t.error IS NULL AND t.kind <> 'gist') p (off)
  WHERE t.state IN ('waiting', 'running', 'dead') AND current_tenant() IS NULL
  GROUP BY t.state, t.kind, t.due_at > _at AND NOT p.off$$;

-- Whose tasks ended, or whose answers were to be kept until, before a time.
CREATE OR REPLACE FUNCTION tidied(_what text, _before timestamptz) RETURNS TABLE (tenant text, username text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
$$SELECT o.tenant, o.username FROM owners o WHERE current_tenant() IS NULL AND CASE _what
    WHEN 'tasks' THEN (o.tenant, o.row) IN (
      SELECT t.tenant, t.owner FROM tasks t WHERE t.state IN ('done', 'cancelled') AND t.ended_at < _before)
    WHEN 'answers' THEN (o.tenant, o.row) IN (SELECT a.tenant, a.owner FROM answers a WHERE a.until < _before) END$$;

-- What many users of this transaction's tenant have seen, among those who let their patterns be counted; whoever asks must be
-- one of them. Never of fewer than five. Whatever is told, a kind or words, so many have the very same.
CREATE OR REPLACE FUNCTION common_patterns(_k integer)
RETURNS TABLE (id text, kind text, users bigint, approved bigint, statement text, rule text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS $$
  WITH least AS (SELECT greatest(coalesce(_k, 5), 5) AS k),
  seen AS (
    SELECT p.id, p.owner, p.state, p.content ->> 'kind' AS kind, p.content ->> 'statement' AS statement, p.content ->> 'rule' AS rule
    FROM patterns p JOIN pattern_sharing s ON s.tenant = p.tenant AND s.owner = p.owner
    JOIN owners o ON o.tenant = p.tenant AND o.row = p.owner
    WHERE p.tenant = current_tenant() AND left(o.username, 1) <> '@' AND p.state <> 'merged'
      AND EXISTS (SELECT 1 FROM pattern_sharing me WHERE me.tenant = current_tenant() AND me.owner = current_owner())),
  worded AS (
    SELECT w.id, w.kind, w.statement, w.rule,
           row_number() OVER (PARTITION BY w.id, w.kind ORDER BY count(*) DESC, w.statement COLLATE "C", w.rule COLLATE "C") AS place
    FROM seen w WHERE w.state = 'approved' GROUP BY w.id, w.kind, w.statement, w.rule HAVING count(*) >= (SELECT k FROM least)),
  counted AS (
    SELECT c.id, c.kind, count(*) AS users, count(*) FILTER (WHERE c.state = 'approved') AS approved
    FROM seen c GROUP BY c.id, c.kind HAVING count(*) >= (SELECT k FROM least))
  SELECT c.id, c.kind, c.users, CASE WHEN c.approved >= (SELECT k FROM least) THEN c.approved END, w.statement, w.rule
  FROM counted c LEFT JOIN worded w ON w.id = c.id AND w.kind = c.kind AND w.place = 1
  ORDER BY c.users DESC, c.id, c.kind LIMIT 1000
$$;

-- How many texts wait for a vector, counted no further than `_most` (below 0: all of them). By itself: it is asked every few
-- seconds, and to count everything takes longer the more there is.
CREATE OR REPLACE FUNCTION waiting_in_all(_most bigint) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT count(*) FROM (SELECT 1 FROM pending WHERE current_tenant() IS NULL LIMIT CASE WHEN _most >= 0 THEN _most END) p';

-- How much there is of everything.
CREATE OR REPLACE FUNCTION totals()
RETURNS TABLE (sessions bigint, events bigint, turns bigint, gists bigint, memories bigint, vectors bigint, pending bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events), (SELECT count(*) FROM turns),
        (SELECT count(*) FROM gists),
        (SELECT count(*) FROM memories) - (SELECT count(*) FROM memories WHERE deleted_at IS NOT NULL),  -- both by an index
        (SELECT coalesce(sum(vectored), 0)::bigint FROM indexed), (SELECT count(*) FROM pending)
 WHERE current_tenant() IS NULL';

-- The documents of this transaction's owner that hold these stems: which of them, how often (in steps), how long it is.
-- A function, because a policy would keep the planner from the index: full-text match is not leak-proof. The owner is part
-- of every lexeme and comes from `enter`, not from who calls. A stem is looked up once, and in which step it counts is seen
-- in the document; but turns are long, and looking into one costs more than looking up each step. Without steps nobody
-- asks how often. (SELECT …): asked once, and not of every document, which took a quarter of the time. In plpgsql: a function
-- in SQL is planned at every call (before PostgreSQL 18, and there where connections want that of their queries).
CREATE OR REPLACE FUNCTION matches(_tier text, _words text[], _steps float8[])
RETURNS TABLE (word integer, times float8, doc bigint, size integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp SET enable_seqscan = off
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  IF _tier = 'turn' AND _steps IS NOT NULL THEN
    RETURN QUERY SELECT a.word::integer, s.times, w.doc, w.size
    FROM unnest(_words) WITH ORDINALITY a (stem, word)
    CROSS JOIN unnest(_steps) WITH ORDINALITY s (times, step)
    CROSS JOIN LATERAL (
      SELECT w.doc, w.size FROM words w
      WHERE {words_of} AND w.owner + 0 = (SELECT current_owner())  -- + 0: else all of the owner's rows are listed for each lexeme
        AND w.search @@ (quote_literal(left(_tier, 1) || current_owner() || 'x' || a.stem || '~' || s.step))::tsquery
      OFFSET 0  -- each stem by the index: else the planner may compare every document with every lexeme
    ) w;
  ELSE
    RETURN QUERY SELECT a.word::integer,
      CASE WHEN w.search @@ a.steps[2] THEN _steps[2] WHEN w.search @@ a.steps[1] THEN _steps[1] WHEN w.search @@ a.steps[3] THEN _steps[3]
           WHEN w.search @@ a.steps[4] THEN _steps[4] WHEN w.search @@ a.steps[5] THEN _steps[5] WHEN w.search @@ a.steps[6] THEN _steps[6]
           WHEN w.search @@ a.steps[7] THEN _steps[7] WHEN w.search @@ a.steps[8] THEN _steps[8] END,
      w.doc, w.size
    FROM (
      SELECT word, (quote_literal(stem || '~') || ':*')::tsquery AS lexeme,
        ARRAY(SELECT quote_literal(stem || '~' || step)::tsquery FROM generate_series(1, cardinality(_steps)) step) AS steps
      FROM (SELECT left(_tier, 1) || current_owner() || 'x' || name AS stem, word FROM unnest(_words) WITH ORDINALITY a (name, word)) o
      OFFSET 0  -- made once for each stem
    ) a
    CROSS JOIN LATERAL (
      SELECT w.doc, w.size, w.search FROM words w
      WHERE {words_of} AND w.owner + 0 = (SELECT current_owner()) AND w.search @@ a.lexeme
      OFFSET 0
    ) w;
  END IF;
END $$;

-- The memories of this transaction's owner that hold all words of one of these tags, at most so many. Some only say them.
CREATE OR REPLACE FUNCTION tagged(_tags json, _most integer) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp SET enable_seqscan = off AS $$
  SELECT w.doc FROM words w
  WHERE {words_of} AND w.owner + 0 = (SELECT current_owner()) AND w.search @@ (
    SELECT string_agg(tag, ' | ')::tsquery FROM (
      SELECT '(' || string_agg(quote_literal('m' || current_owner() || 'x' || word || '~') || ':*', ' & ') || ')' AS tag
      FROM json_array_elements(_tags) WITH ORDINALITY t (words, at) CROSS JOIN LATERAL json_array_elements_text(t.words) AS x (word)
      GROUP BY t.at
    ) a
  )
  LIMIT _most
$$;

-- The words of this transaction's owner that came since a stamp, as PostgreSQL sends them, in no order; before the first: all
-- of them. And three rows without words: the stamp now, the one after which some were gone, how many documents there are.
-- `stamp > 0`: what is planned once finds them by the index of stamps only so.
CREATE OR REPLACE FUNCTION words_since(_tier text, _seen bigint) RETURNS TABLE (doc bigint, size integer, words bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp
  SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY SELECT x.value, x.place, NULL::bytea
  FROM indexed i CROSS JOIN LATERAL (VALUES (i.worded, 0), (i.unworded, 1), (i.rows, 2)) x (value, place)
  WHERE i.tenant = current_tenant() AND i.owner = current_owner() AND i.tier = _tier;
  IF _seen < 0 THEN
    RETURN QUERY SELECT w.doc, w.size, tsvectorsend(w.search) FROM words w
    WHERE w.tenant = current_tenant() AND w.owner = current_owner() AND w.tier = _tier;
  ELSE
    RETURN QUERY SELECT w.doc, w.size, tsvectorsend(w.search) FROM words w
    WHERE w.tenant = current_tenant() AND w.owner = current_owner() AND w.tier = _tier AND w.stamp > _seen AND w.stamp > 0;
  END IF;
END $$;

-- Whoever changes vectors or words counts them, whatever program it is of: each time their stamp of the owner's tier is the
-- next.
CREATE OR REPLACE FUNCTION stamp_vectors() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  new.stamp := old.stamp + 1;
  IF new.vectored < old.vectored OR new.vectors < old.vectors OR new.vectored <= 0 THEN
    new.dropped := new.stamp;
  END IF;
  RETURN new;
END $$;

CREATE OR REPLACE FUNCTION stamp_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  new.worded := old.worded + 1;
  IF new.rows < old.rows OR new.rows <= 0 THEN
    new.unworded := new.worded;
  END IF;
  RETURN new;
END $$;

DO $stamps$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = 'indexed'::regclass AND t.tgname = 'vectors_stamped') THEN
    CREATE TRIGGER vectors_stamped BEFORE UPDATE OF vectored, vectors ON indexed FOR EACH ROW EXECUTE FUNCTION stamp_vectors();
  END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = 'indexed'::regclass AND t.tgname = 'words_stamped') THEN
    CREATE TRIGGER words_stamped BEFORE UPDATE OF rows, words ON indexed FOR EACH ROW EXECUTE FUNCTION stamp_words();
  END IF;
END $stamps$;

-- What requests took, summed up by day as their rows come, change and go, whoever writes them. The first time, what there
-- is already is summed up; the policies that this needs to be without for a moment are forced again below.
CREATE OR REPLACE FUNCTION count_cost() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    UPDATE {schema}.cost_days SET requests = requests - 1, input = input - old.input, cache_read = cache_read - old.cache_read,
      cache_write = cache_write - old.cache_write_5m - old.cache_write_1h, output = output - old.output,
      usd = usd - coalesce(old.usd, 0), priced = priced - (old.usd IS NOT NULL)::integer
    WHERE tenant = old.tenant AND owner = old.owner AND day = to_char(old.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
      AND session = old.session AND model = coalesce(old.model, '');
    DELETE FROM {schema}.cost_days
    WHERE tenant = old.tenant AND owner = old.owner AND day = to_char(old.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
      AND session = old.session AND model = coalesce(old.model, '') AND requests <= 0;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO {schema}.cost_days AS c
      (tenant, owner, day, session, model, requests, input, cache_read, cache_write, output, usd, priced)
    VALUES (new.tenant, new.owner, to_char(new.at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), new.session, coalesce(new.model, ''), 1,
            new.input, new.cache_read, new.cache_write_5m + new.cache_write_1h, new.output, coalesce(new.usd, 0),
            (new.usd IS NOT NULL)::integer)
    ON CONFLICT (tenant, owner, day, session, model) DO UPDATE SET requests = c.requests + 1,
      input = c.input + excluded.input, cache_read = c.cache_read + excluded.cache_read,
      cache_write = c.cache_write + excluded.cache_write, output = c.output + excluded.output, usd = c.usd + excluded.usd,
      priced = c.priced + excluded.priced;
  END IF;
  RETURN NULL;
END $$;

DO $costs$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = 'costs'::regclass AND t.tgname = 'cost_counted') THEN
    ALTER TABLE costs NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE cost_days NO FORCE ROW LEVEL SECURITY;
    INSERT INTO cost_days (tenant, owner, day, session, model, requests, input, cache_read, cache_write, output, usd, priced)
    SELECT tenant, owner, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), session, coalesce(model, ''), count(*), sum(input),
           sum(cache_read), sum(cache_write_5m + cache_write_1h), sum(output), coalesce(sum(usd), 0), count(usd)
    FROM costs GROUP BY 1, 2, 3, 4, 5 ON CONFLICT DO NOTHING;
    CREATE TRIGGER cost_counted AFTER INSERT OR UPDATE OR DELETE ON costs FOR EACH ROW EXECUTE FUNCTION count_cost();
  END IF;
END $costs$;

DO $access$
DECLARE
  _table record;
  _policy record;
  _rule text;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I, %I', '{schema}', '{app}', '{backup}');
  IF has_database_privilege(current_user, current_database(), 'CONNECT WITH GRANT OPTION') THEN  -- to tell its size
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), '{app}');
  END IF;
  EXECUTE format('GRANT USAGE ON SEQUENCE numbers TO %I', '{app}');
  EXECUTE format('GRANT SELECT ON SEQUENCE numbers TO %I', '{backup}');  -- pg_dump asks for it
  FOR _table IN
    SELECT c.oid, c.relname, c.relkind, c.relispartition, c.relrowsecurity AND c.relforcerowsecurity AS forced,
           EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped) AS owned,
           coalesce((SELECT string_agg(concat_ws(' ', p.policyname, p.cmd, p.roles, p.qual, p.with_check), '; ' ORDER BY p.policyname)
                     FROM pg_policies p WHERE p.schemaname = '{schema}' AND p.tablename = c.relname), '') AS policies
    FROM pg_class c WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p', 'v') ORDER BY c.relname
  LOOP
    EXECUTE format('REVOKE ALL ON %I FROM PUBLIC', _table.relname);
    IF _table.relispartition THEN  -- used through its parent; by itself it would know no owners
      EXECUTE format('REVOKE ALL ON %I FROM %I', _table.relname, '{app}');
      _rule := '';
    ELSE
      EXECUTE format('GRANT SELECT ON %I TO %I', _table.relname, '{backup}');
      IF _table.relkind = 'v' THEN
        EXECUTE format('GRANT SELECT ON %I TO %I', _table.relname, '{app}');
        CONTINUE;
      ELSIF NOT _table.owned THEN
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %I', _table.relname, '{app}');
        CONTINUE;
      END IF;
      _rule := CASE WHEN _table.relname = 'owners' THEN $own${named}$own$ ELSE $own${own}$own$ END;
    END IF;
    IF NOT _table.forced THEN
      EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', _table.relname);
    END IF;
    IF _rule <> '' AND _table.policies <> format('own ALL {%s} %s; whole SELECT {%s} true', '{app}', _rule, '{backup}')
       OR _rule = '' AND _table.policies <> '' THEN
      FOR _policy IN SELECT p.polname FROM pg_policy p WHERE p.polrelid = _table.oid LOOP
        EXECUTE format('DROP POLICY %I ON %I', _policy.polname, _table.relname);
      END LOOP;
      IF _rule <> '' THEN
        EXECUTE format('CREATE POLICY own ON %I TO %I USING ', _table.relname, '{app}') || _rule;
        EXECUTE format('CREATE POLICY whole ON %I FOR SELECT TO %I USING (true)', _table.relname, '{backup}');
      END IF;
    END IF;
    CONTINUE WHEN _table.relispartition;
    IF _table.relname = 'audit' THEN  -- what was written there stays
      EXECUTE format('REVOKE ALL ON audit FROM %I', '{app}');
      EXECUTE format('GRANT SELECT, INSERT ON audit TO %I', '{app}');
    ELSIF _table.relname = 'owners' THEN  -- a number is given, not chosen: one that is taken would tell that it is
      EXECUTE format('REVOKE ALL ON owners FROM %I', '{app}');
      EXECUTE format('GRANT SELECT, INSERT (tenant, username) ON owners TO %I', '{app}');
    ELSE
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %I', _table.relname, '{app}');
    END IF;
  END LOOP;
  -- Nobody looks for words but `matches` and `words_since`; to be written again they are deleted by their document, which
  -- needs no more.
  EXECUTE format('REVOKE ALL ON words FROM %I', '{app}');
  EXECUTE format('GRANT INSERT, DELETE, SELECT (tenant, owner, tier, doc, size) ON words TO %I', '{app}');
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', '{schema}', '{backup}');
  FOR _table IN
    SELECT p.oid::regprocedure AS name, p.prosecdef, r.rolname AS owner,
           format('%s(%s)', p.proname, oidvectortypes(p.proargtypes)) = ANY (ARRAY[{definers}]) AS known
    FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE p.pronamespace = '{schema}'::regnamespace
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', _table.name);
    IF _table.prosecdef AND NOT _table.known THEN  -- not ours: it stays whose it is, and nobody's to call
      EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %I, %I', _table.name, '{app}', '{backup}');
      CONTINUE;
    END IF;
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I, %I', _table.name, '{app}', '{backup}');
    IF _table.prosecdef AND _table.owner <> '{backup}' THEN
      EXECUTE format('ALTER FUNCTION %s OWNER TO %I', _table.name, '{backup}');
    END IF;
  END LOOP;
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', '{schema}', '{backup}');
END $access$;
