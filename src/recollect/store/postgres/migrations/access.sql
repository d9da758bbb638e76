-- Who may see what. Run after every migration and safe to run again: whatever tables there are, each with a tenant gets
-- the same policies, so that a new one cannot be forgotten. `{app}` and `{backup}` are the roles.

-- Which owner a transaction is for: set by `enter` for this transaction alone, and nothing without it.
CREATE OR REPLACE FUNCTION current_tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('recollect.tenant', true), '');

CREATE OR REPLACE FUNCTION current_owner() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
RETURN nullif(current_setting('recollect.owner', true), '')::bigint;

-- Begin a transaction for a scope: whose rows it may see from here on, and their numbers. The owner's number is looked up
-- here, under the policy on `owners`, so that the caller cannot name another's. One writer of an owner at a time.
CREATE OR REPLACE FUNCTION enter(_tenant text, _username text, _project text, _writing boolean, _making boolean)
RETURNS TABLE (owner bigint, project bigint) LANGUAGE plpgsql AS $$
DECLARE
  _owner bigint;
  _row bigint;
BEGIN
  PERFORM set_config('recollect.tenant', _tenant, true), set_config('recollect.username', _username, true),
          set_config('recollect.owner', '', true);
  IF _writing THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(_tenant || chr(31) || _username, 1380143188));
  END IF;
  SELECT o.row INTO _owner FROM owners o WHERE o.tenant = _tenant AND o.username = _username;
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

-- What looks at more than one owner does so by the names below and in no other way: each runs as `{backup}`, which may
-- read everything, and gives numbers and names of owners, never content.

DROP FUNCTION IF EXISTS every_owner(), waiting(text, integer), whose(text, bigint[]), totals(), matches(text, text[], float8[]);

-- Every owner, for work that goes through the whole store one owner after the other.
CREATE FUNCTION every_owner() RETURNS TABLE (tenant text, username text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT o.tenant, o.username FROM owners o ORDER BY o.tenant, o.row';

-- Texts of a tier that wait for a vector, the newest first.
CREATE FUNCTION waiting(_tier text, _limit integer) RETURNS TABLE (tenant text, username text, doc bigint, ticket bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT o.tenant, o.username, p.doc, p.ticket FROM pending p JOIN owners o ON o.tenant = p.tenant AND o.row = p.owner
 WHERE p.tier = _tier ORDER BY p.doc DESC LIMIT _limit';

-- Whose these waiting documents are.
CREATE FUNCTION whose(_tier text, _docs bigint[]) RETURNS TABLE (doc bigint, tenant text, username text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT p.doc, o.tenant, o.username FROM pending p JOIN owners o ON o.tenant = p.tenant AND o.row = p.owner
 WHERE p.tier = _tier AND p.doc = ANY (_docs)';

-- How much there is of everything.
CREATE FUNCTION totals()
RETURNS TABLE (sessions bigint, events bigint, turns bigint, gists bigint, memories bigint, vectors bigint, pending bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS
'SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM events), (SELECT count(*) FROM turns),
        (SELECT count(*) FROM gists), (SELECT count(*) FROM memories WHERE deleted_at IS NULL),
        (SELECT coalesce(sum(vectored), 0)::bigint FROM indexed), (SELECT count(*) FROM pending)';

-- The documents of this transaction's owner that hold these stems: which of them, how often (in steps), how long it is.
-- A function, because a policy would keep the planner from the index: full-text match is not leak-proof. The owner is part
-- of every lexeme and comes from `enter`, not from who calls.
CREATE FUNCTION matches(_tier text, _words text[], _steps float8[])
RETURNS TABLE (word integer, times float8, doc bigint, size integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {schema}, {vectors}, pg_temp AS $$
  SELECT a.word::integer, s.times, w.doc, w.size
  FROM unnest(_words) WITH ORDINALITY a (stem, word)
  CROSS JOIN unnest(_steps) WITH ORDINALITY s (times, step)
  CROSS JOIN LATERAL (
    SELECT w.doc, w.size FROM words w
    WHERE w.tenant = current_tenant() AND w.owner = current_owner()
      AND w.search @@ (quote_literal(left(_tier, 1) || current_owner() || 'x' || a.stem || '~' || s.step))::tsquery
  ) w
$$;

DO $access$
DECLARE
  _table record;
BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I, %I', '{schema}', '{app}', '{backup}');
  EXECUTE format('GRANT USAGE ON SEQUENCE numbers TO %I', '{app}');
  FOR _table IN
    SELECT c.oid, c.relname, c.relkind, EXISTS (
             SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped) AS owned
    FROM pg_class c WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
    ORDER BY c.relname
  LOOP
    EXECUTE format('REVOKE ALL ON %I FROM PUBLIC', _table.relname);
    EXECUTE format('GRANT SELECT ON %I TO %I', _table.relname, '{backup}');
    IF _table.relkind = 'v' THEN
      EXECUTE format('GRANT SELECT ON %I TO %I', _table.relname, '{app}');
      CONTINUE;
    ELSIF NOT _table.owned THEN
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %I', _table.relname, '{app}');
      CONTINUE;
    END IF;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', _table.relname);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', _table.relname);
    EXECUTE format('DROP POLICY IF EXISTS own ON %I', _table.relname);
    EXECUTE format('DROP POLICY IF EXISTS whole ON %I', _table.relname);
    EXECUTE format('CREATE POLICY whole ON %I FOR SELECT TO %I USING (true)', _table.relname, '{backup}');
    IF _table.relname = 'owners' THEN
      EXECUTE format($policy$
        CREATE POLICY own ON %I TO %I
        USING (tenant = (SELECT current_tenant())
               AND username = (SELECT nullif(current_setting('recollect.username', true), '')))
        $policy$, _table.relname, '{app}');
    ELSE
      EXECUTE format($policy$
        CREATE POLICY own ON %I TO %I
        USING (tenant = (SELECT current_tenant()) AND owner = (SELECT current_owner()))
        $policy$, _table.relname, '{app}');
    END IF;
    IF _table.relname = 'audit' THEN  -- what was written there stays
      EXECUTE format('REVOKE ALL ON audit FROM %I', '{app}');
      EXECUTE format('GRANT SELECT, INSERT ON audit TO %I', '{app}');
    ELSE
      EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO %I', _table.relname, '{app}');
    END IF;
  END LOOP;
  -- Nobody looks for words but `matches`; to be written again they are deleted by their document, which needs no more.
  EXECUTE format('REVOKE ALL ON words FROM %I', '{app}');
  EXECUTE format('GRANT INSERT, DELETE, SELECT (tenant, owner, tier, doc, size) ON words TO %I', '{app}');
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', '{schema}', '{backup}');
  FOR _table IN
    SELECT p.oid::regprocedure AS name, p.prosecdef FROM pg_proc p WHERE p.pronamespace = '{schema}'::regnamespace
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', _table.name);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I, %I', _table.name, '{app}', '{backup}');
    IF _table.prosecdef THEN
      EXECUTE format('ALTER FUNCTION %s OWNER TO %I', _table.name, '{backup}');
    END IF;
  END LOOP;
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM %I', '{schema}', '{backup}');
END $access$;
