"""Nobody sees another's rows: what makes it so is checked in the catalog before a store is used.

Row-level security only holds for a role that it binds, on tables that force it, with the policies that were meant. All
of it can be undone by one statement of an administrator; so it is looked at each time a store is opened.
"""

from __future__ import annotations

from typing import Any

import psycopg

from recollect.errors import StoreUnavailable
from recollect.store.postgres.schema import APP, BACKUP, SCHEMA

_OWN = (
    "((tenant = ( SELECT current_tenant() AS current_tenant)) AND (owner = ( SELECT current_owner() AS current_owner)))"
)
_NAMED = (
    "((tenant = ( SELECT current_tenant() AS current_tenant)) AND (username = "
    "( SELECT NULLIF(current_setting('recollect.username'::text, true), ''::text) AS \"nullif\")))"
)
_HINT = "Let the database's owner run `recollect database init`: it sets roles, policies and grants again."


def faults(connection: psycopg.Connection[Any]) -> list[str]:
    """What is wrong with the isolation of this database, in words; nothing when all is well."""
    return [*_role_faults(connection), *_table_faults(connection), *_function_faults(connection)]


def require(connection: psycopg.Connection[Any]) -> None:
    """StoreUnavailable when anything is wrong: a store that might show others' rows is not opened."""
    found = faults(connection)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise StoreUnavailable(f"the database does not keep its users apart: {found[0]}{more}", hint=_HINT)


def _role_faults(connection: psycopg.Connection[Any]) -> list[str]:
    row = connection.execute(
        "SELECT current_user, r.rolsuper, r.rolbypassrls, pg_has_role(current_user, %s, 'MEMBER'), "
        "EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = %s::regnamespace "
        "AND pg_has_role(current_user, c.relowner, 'MEMBER')) "
        "FROM pg_roles r WHERE r.rolname = current_user",
        (BACKUP, SCHEMA),
    ).fetchone()
    assert row is not None
    role, superuser, bypasses, reads_all, owns = row
    wrong = [
        (superuser, "is a superuser"),
        (bypasses, "bypasses row-level security"),
        (owns, "owns the tables"),
        (reads_all, f"is a member of {BACKUP}"),
    ]
    return [f"the role {role} {what}" for true, what in wrong if true]


def _table_faults(connection: psycopg.Connection[Any]) -> list[str]:
    found: list[str] = []
    rows = connection.execute(
        "SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity, c.relispartition, "
        "has_table_privilege(current_user, c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE') FROM pg_class c "
        "WHERE c.relnamespace = %s::regnamespace AND c.relkind IN ('r', 'p') AND EXISTS "
        "(SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped)",
        (SCHEMA,),
    ).fetchall()
    policies = _policies(connection)
    for table, enabled, forced, is_part, may_use in rows:
        if is_part:
            if may_use:
                found.append(f"the partition {table} can be used past its policies")
            continue
        if not (enabled and forced):
            found.append(f"row-level security is not forced on {table}")
        expected = {
            ("own", "ALL", APP, _NAMED if table == "owners" else _OWN, None),
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


def _function_faults(connection: psycopg.Connection[Any]) -> list[str]:
    """Functions that run as another role may be ours alone; views must not."""
    rows = connection.execute(
        "SELECT p.proname FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner "
        "WHERE p.pronamespace = %s::regnamespace AND p.prosecdef AND (r.rolname <> %s OR NOT p.proname = ANY (%s))",
        (SCHEMA, BACKUP, ["every_owner", "waiting", "whose", "totals", "matches"]),
    ).fetchall()
    views = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind IN ('v', 'm') "
        "AND NOT coalesce(reloptions @> ARRAY['security_invoker=true'], false)",
        (SCHEMA,),
    ).fetchall()
    return [
        *(f"the function {name} runs with more rights than it should" for (name,) in rows),
        *(f"the view {name} shows the rows of whoever made it" for (name,) in views),
    ]
