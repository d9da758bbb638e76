"""What a database's owner does: make or renew the schema, its roles and policies; let another login in.

In: the owner's connection. Out: what was done. Everything can be done again: what is there already stays, what was
changed from outside is set right. A password goes to the server only as what SCRAM verifies it by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.settings import Settings
from recollect.store.postgres import schema
from recollect.store.postgres.checkup import connected, row
from recollect.store.postgres.store import SESSION

_LONGEST = 63  # bytes of a name that PostgreSQL keeps
_HOW = """
SELECT r.rolsuper OR r.rolbypassrls, pg_has_role(r.oid, %(backup)s, 'MEMBER'), r.rolcanlogin,
       EXISTS (SELECT 1 FROM pg_class c
               WHERE c.relnamespace = to_regnamespace(%(schema)s) AND pg_has_role(r.oid, c.relowner, 'MEMBER'))
FROM pg_roles r WHERE r.rolname = %(name)s
"""

# Who has the tables, if they are there; whether this login is one of them; whether it may make a schema, if need be.
_WHOSE = """
SELECT c.relowner::regrole::text, coalesce(pg_has_role(current_user, c.relowner, 'MEMBER'), true),
       c.relowner IS NOT NULL OR has_database_privilege(current_database(), 'CREATE')
FROM (SELECT) once LEFT JOIN pg_class c
  ON c.relname = 'memories' AND c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)
"""
# Whether the roles can be made, if need be; and those that are there but cannot be handed on by this login.
_ROLES = """
SELECT bool_or(me.rolcreaterole OR me.rolsuper) OR count(r.oid) = cardinality(%(roles)s),
       array_agg(r.rolname::text ORDER BY r.rolname) FILTER (
         WHERE NOT pg_has_role(me.oid, r.oid, 'SET') AND NOT pg_has_role(me.oid, r.oid, 'MEMBER WITH ADMIN OPTION'))
FROM pg_roles me LEFT JOIN pg_roles r ON r.rolname = ANY (%(roles)s) WHERE me.rolname = current_user
"""


@dataclass(frozen=True, slots=True)
class AppLogin:
    """Somebody who may use the store and see one owner's rows at a time; no password: one the server lets in anyhow."""

    name: str
    password: str | None = None

    def __repr__(self) -> str:
        return f"AppLogin({self.name!r})"


@dataclass(frozen=True, slots=True)
class Initialised:
    """What stands now."""

    address: str
    before: int
    schema: int
    partitions: int
    made_login: bool | None = None  # None: none was asked for


def initialise(settings: Settings, *, parts: int | None = None, login: AppLogin | None = None) -> Initialised:
    """Bring the schema up to date, set roles, policies and grants again, and let `login` in. As the owner."""
    layout = None if parts is None else schema.Layout(parts)
    if login is not None:
        _check_name(login.name)
    with connected(settings, statement_seconds=0) as (address, connection):
        _check_ready(connection)
        before, there = schema.current(connection), schema.partitions(connection)
        if before and layout is not None and layout.partitions != there:
            raise InvalidInput(
                f"the tables are there already, {f'in {there} partitions' if there else 'without partitions'}",
                hint="Make an empty database with that many, and move what is kept into it.",
            )
        number = schema.migrate(connection, layout or schema.Layout(there))
        made = None if login is None else let_in(connection, login)
        if made:
            assert login is not None
            _set_defaults(connection, login.name, settings.database_statement_seconds)
        return Initialised(str(address), before, number, schema.partitions(connection), made)


def let_in(connection: psycopg.Connection[Any], login: AppLogin) -> bool:
    """Make the login or give it its password, and the rights of the application; whether it was made."""
    try:
        with connection.transaction():
            return _let_in(connection, login)
    except psycopg.errors.InsufficientPrivilege:
        raise StoreUnavailable(
            f"this login may not make or change the login {login.name}",
            hint="It needs CREATEROLE; or let an administrator make it and `GRANT recollect_app TO` it.",
        ) from None


def _let_in(connection: psycopg.Connection[Any], login: AppLogin) -> bool:
    name = sql.Identifier(login.name)
    asked = {"name": login.name, "backup": schema.BACKUP, "schema": schema.SCHEMA}
    found = connection.execute(_HOW, asked).fetchone()
    if found is None and login.password is None:
        raise InvalidInput(f"there is no login {login.name} yet", hint="Give --password-file, and it is made.")
    if found is not None:
        _check_harmless(login.name, *found)
    else:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
    if login.password is not None:
        text = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}")
        connection.execute(text.format(name, sql.Literal(_verifier(connection, login))))
    connection.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(schema.APP), name))
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, name))
    return found is None


def _set_defaults(connection: psycopg.Connection[Any], name: str, statement_seconds: float) -> None:
    """What each of our connections sets for itself, by itself: a pooler in transaction mode forgets what was set."""
    (vectors,) = row(connection, "SELECT extnamespace::regnamespace::name FROM pg_extension WHERE extname = 'vector'")
    values: dict[str, sql.Composable] = {
        **{setting: sql.Literal(value) for setting, value in SESSION.items()},
        "statement_timeout": sql.Literal(f"{round(statement_seconds * 1000)}ms"),
        "search_path": sql.SQL("{}, {}, pg_temp").format(sql.Identifier(schema.SCHEMA), sql.Identifier(vectors)),
    }
    text = sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}")
    for setting, value in values.items():
        place = (sql.Identifier(name), sql.Identifier(connection.info.dbname), sql.Identifier(setting))
        connection.execute(text.format(*place, value))


def _check_ready(connection: psycopg.Connection[Any]) -> None:
    """StoreUnavailable, with what helps, for what this login may not do or only an administrator of the server can."""
    login, database = connection.info.user, connection.info.dbname
    schema.check_server(connection)
    owner, may_use, may_create = row(connection, _WHOSE, {"schema": schema.SCHEMA})
    if not may_use:
        raise StoreUnavailable(
            f"the tables belong to {owner}; the login {login} cannot change them", hint=f"Use the login of {owner}."
        )
    if not may_create:
        raise StoreUnavailable(
            f"the login {login} may not make a schema in {database}", hint="Use the login of the database's owner."
        )
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone() is None:
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except psycopg.errors.InsufficientPrivilege:
            raise StoreUnavailable(
                f"the database {database} has no pgvector, and this login may not add it",
                hint="Let an administrator run in it, once: CREATE EXTENSION vector",
            ) from None
        except psycopg.errors.FeatureNotSupported:
            raise StoreUnavailable(
                "the server does not have pgvector",
                hint="Install its package there (postgresql-18-pgvector on Debian), or use an image that has it.",
            ) from None
    may_make, foreign = row(connection, _ROLES, {"roles": [schema.APP, schema.BACKUP]})
    if foreign:
        raise StoreUnavailable(
            f"{' and '.join(foreign)} belong to another database's owner on this server",
            hint=f"Let an administrator run, once: GRANT {', '.join(foreign)} TO {login} WITH ADMIN OPTION",
        )
    if not may_make:
        raise StoreUnavailable(
            f"the login {login} may not make roles",
            hint=f"Let an administrator run, once: ALTER ROLE {login} CREATEROLE",
        )


def _check_name(name: str) -> None:
    if not name or len(name.encode()) > _LONGEST or not name.isprintable() or name.startswith("pg_"):
        raise InvalidInput("this cannot be the name of a login", hint=f"It has at most {_LONGEST} bytes.")
    if name in (schema.APP, schema.BACKUP):
        raise InvalidInput(f"{name} is a role that nobody logs in as", hint="Choose another name.")


def _check_harmless(name: str, above: bool, reads_all: bool, may_log_in: bool, owns: bool) -> None:
    """A login that no policy binds must not be what an application works with."""
    if above or reads_all or owns:
        raise InvalidInput(
            f"the login {name} is above the policies that keep users apart",
            hint="Choose another name: the application needs a login that owns nothing.",
        )
    if not may_log_in:
        raise InvalidInput(f"{name} is a role that may not log in", hint="Choose another name.")


def _verifier(connection: psycopg.Connection[Any], login: AppLogin) -> str:
    """What the server keeps of a password: so it stands in no log, and the server never learns it."""
    assert login.password is not None
    made = connection.pgconn.encrypt_password(login.password.encode(), login.name.encode(), b"scram-sha-256")
    return made.decode()
