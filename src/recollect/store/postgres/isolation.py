"""Nobody sees another's rows: what makes it so is checked in the catalog before a store is used.

Row-level security only holds for a role that it binds, on tables that force it, with the policies that were meant. All
of it can be undone by one statement of an administrator; so it is looked at each time a store is opened. Checked is the
role that works on the rows, every table and view of the schema whoever made it, and every function that runs with more
rights than who calls it.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import StoreUnavailable
from recollect.store.postgres.schema import APP, BACKUP, DEFINERS, NAMED, OWN, SCHEMA, newest

SHARED = frozenset({"meta", "models"})  # tables that are about the whole store and hold nothing of anybody's
_USE = "SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER"
_USE_COLUMNS = "SELECT, INSERT, UPDATE, REFERENCES"
_PAST_POLICIES = "TRUNCATE, REFERENCES, TRIGGER"  # no policy is asked for these
_WHO = {  # how the policies know whose transaction it is
    "current_tenant": "RETURN NULLIF(current_setting('recollect.tenant'::text, true), ''::text)",
    "current_owner": "RETURN (NULLIF(current_setting('recollect.owner'::text, true), ''::text))::bigint",
}
_HINT = "Let the database's owner run `recollect database init`: it sets roles, policies and grants again."


def faults(connection: psycopg.Connection[Any]) -> list[str]:
    """What is wrong with the isolation of this database, in words; nothing when all is well."""
    return [
        *_role_faults(connection),
        *_table_faults(connection),
        *_view_faults(connection),
        *_function_faults(connection),
    ]


def require(connection: psycopg.Connection[Any]) -> None:
    """StoreUnavailable when anything is wrong: a store that might show others' rows is not opened."""
    found = faults(connection)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise StoreUnavailable(f"the database does not keep its users apart: {found[0]}{more}", hint=_HINT)


def _role_faults(connection: psycopg.Connection[Any]) -> list[str]:
    """The role that works on the rows must be bound by the policies, and so must every role it could become."""
    rows = connection.execute(
        "SELECT current_user, r.rolname, r.rolsuper, r.rolbypassrls, r.rolname = %s, r.rolname LIKE 'pg\\_%%', "
        "EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relowner = r.oid), "
        "has_schema_privilege(r.oid, %s, 'CREATE') "
        "FROM pg_roles r WHERE pg_has_role(current_user, r.oid, 'MEMBER') "
        "ORDER BY r.rolname <> current_user, r.rolname",
        (BACKUP, SCHEMA, SCHEMA),
    ).fetchall()
    found: list[str] = []
    for me, role, superuser, bypasses, reads_all, predefined, owns, makes in rows:
        wrong = [
            (superuser, "is a superuser"),
            (bypasses, "bypasses row-level security"),
            (owns, "owns tables"),
            (makes and not owns and not superuser, "may make tables and functions"),
            (reads_all, "reads everybody's rows"),
            (predefined, "has rights on the whole server"),
        ]
        which = f"the role {me}" if role == me else f"the role {me} can become {role}, which"
        found += [f"{which} {what}" for true, what in wrong if true]
    return found


def _table_faults(connection: psycopg.Connection[Any]) -> list[str]:
    found: list[str] = []
    rows = connection.execute(
        "SELECT c.relname, c.relkind, c.relrowsecurity AND c.relforcerowsecurity, c.relispartition, EXISTS "
        "(SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped), "
        "has_table_privilege(c.oid, %s) OR has_any_column_privilege(c.oid, %s), has_table_privilege(c.oid, %s), "
        "has_table_privilege(c.oid, 'UPDATE, DELETE') OR has_any_column_privilege(c.oid, 'UPDATE') "
        "FROM pg_class c WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p', 'f') ORDER BY c.relname",
        (_USE, _USE_COLUMNS, _PAST_POLICIES, SCHEMA),
    ).fetchall()
    policies = _policies(connection)
    for table, kind, forced, is_part, owned, may_use, may_pass, may_change in rows:
        if is_part:
            if may_use:
                found.append(f"the partition {table} can be used past its policies")
            if not forced or table in policies:
                found.append(f"the partition {table} is open to whoever may use it")
            continue
        if may_pass:
            found.append(f"the table {table} can be emptied or watched past its policies")
        if table == "audit" and may_change:
            found.append("what stands in the audit can be changed")
        if not owned or kind == "f":
            if table not in SHARED and may_use:
                found.append(f"the table {table} knows no owners")
            continue
        if not forced:
            found.append(f"row-level security is not forced on {table}")
        expected = {
            ("own", "ALL", APP, NAMED if table == "owners" else OWN, None),
            ("whole", "SELECT", BACKUP, "true", None),
        }
        if policies.get(table, set()) != expected:
            found.append(f"the policies on {table} are not the ones that were made")
    return found


def _policies(connection: psycopg.Connection[Any]) -> dict[str, set[tuple[Any, ...]]]:
    found: dict[str, set[tuple[Any, ...]]] = {}
    rows = connection.execute(
        "SELECT tablename, policyname, cmd, array_to_string(roles, ','), qual, with_check FROM pg_policies "
        "WHERE schemaname = %s",
        (SCHEMA,),
    )
    for table, *policy in rows.fetchall():
        found.setdefault(table, set()).add(tuple(policy))
    return found


def _view_faults(connection: psycopg.Connection[Any]) -> list[str]:
    """A view must look with the eyes of who asks."""
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('v', 'm') "
        "AND NOT coalesce(reloptions @> ARRAY['security_invoker=true'], false) ORDER BY relname",
        (SCHEMA,),
    ).fetchall()
    return [f"the view {name} shows the rows of whoever made it" for (name,) in rows]


def _function_faults(connection: psycopg.Connection[Any]) -> list[str]:
    """Functions that run as another role may be ours alone.

    A schema newer than this program may have some that it does not know: they must run as BACKUP, which only the
    database's owner can bring about.
    """
    rows = connection.execute(
        "SELECT p.proname, format('%%s(%%s)', p.proname, oidvectortypes(p.proargtypes)) = ANY (%s), r.rolname = %s "
        "AND EXISTS (SELECT 1 FROM unnest(p.proconfig) c WHERE c LIKE 'search\\_path=%%, pg\\_temp') "
        "FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner "
        "WHERE p.pronamespace = %s::regnamespace AND p.prosecdef ORDER BY p.proname",
        (list(DEFINERS), BACKUP, SCHEMA),
    ).fetchall()
    newer = _schema_number(connection) > newest()
    found = [
        f"the function {name} runs with more rights than it should"
        for name, known, is_made_well in rows
        if not is_made_well or not (known or newer)
    ]
    bodies = connection.execute(
        "SELECT p.proname, pg_get_function_sqlbody(p.oid) FROM pg_proc p "
        "WHERE p.pronamespace = %s::regnamespace AND p.proname = ANY (%s)",
        (SCHEMA, list(_WHO)),
    ).fetchall()
    if sorted(bodies) != sorted(_WHO.items()):
        found.append("whose transaction it is, is not found out as it should be")
    return found


def _schema_number(connection: psycopg.Connection[Any]) -> int:
    names = sql.Identifier(SCHEMA, "meta")
    row = connection.execute(sql.SQL("SELECT value FROM {} WHERE key = 'schema_version'").format(names)).fetchone()
    return int(row[0]) if row else 0
