"""P33, P34: one statement of an administrator can undo the isolation: then tests fail, and the store is not opened.

Each statement is really run; what the other tests look for is found, or the catalog alone tells; the store refuses to
open and says why; and what the hint advises sets it right again. The statements that change roles are run on a server
of their own, because roles are the whole server's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from recollect.errors import StoreUnavailable
from recollect.settings import Settings
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.store import PostgresStore
from tests.isolation.leaks import seen, touched
from tests.isolation.seeded import TABLES, Seeded, seeded
from tests.services.postgres import Postgres, as_role, running


def refusal(base: Seeded) -> StoreUnavailable | None:
    """What opening the store as the application's login says; None when it opens."""
    try:
        PostgresStore(replace(Settings(), database_url=as_role(base.url, base.login), database_connections=2)).close()
    except StoreUnavailable as error:
        return error
    return None


def repaired(base: Seeded) -> list[str]:
    """What is left after the owner has set everything again."""
    with psycopg.connect(base.url, autocommit=True) as connection:
        schema.migrate(connection)
    with base.using(None) as connection:
        return isolation.faults(connection)


def check_undone(base: Seeded, statement: str, said: str, shown: str) -> None:
    with base.owning() as connection:
        connection.execute(statement)  # type: ignore[arg-type]
    try:
        error = refusal(base)
        found = [*seen(base, "ann"), *touched(base, "ann")]
    finally:
        left = repaired(base)
    assert error is not None, "the store was opened"
    assert said in str(error)
    assert "database init" in str(error.hint)
    assert shown in " ".join(found)
    assert left == []
    assert seen(base, "ann") == []


def test_as_it_is_made_the_store_is_opened(base: Seeded, parted: Seeded) -> None:
    """Else the tests below would show nothing."""
    assert refusal(base) is None
    assert refusal(parted) is None


@pytest.mark.parametrize("table", TABLES)
def test_a_dropped_policy_is_noticed(base: Seeded, table: str) -> None:
    """Without its policy a table shows nothing to anybody: the tests notice, and the store is not opened."""
    check_undone(base, f"DROP POLICY own ON {table}", f"the policies on {table} ", f"{table}: shows 0 rows")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_row_level_security_is_noticed(base: Seeded, table: str) -> None:
    statement = f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY"
    check_undone(base, statement, f"not forced on {table}", f"{table}: shows a row of bob")


@pytest.mark.parametrize("table", ["owners", "memories", "events"])
@pytest.mark.parametrize(
    ("statement", "said", "shown"),
    [
        ("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY", "not forced on {}", ""),
        ("ALTER POLICY own ON {} USING (true)", "the policies on {} ", "{}: shows a row of bob"),
        ("ALTER POLICY own ON {} WITH CHECK (true)", "the policies on {} ", ""),
        ("ALTER POLICY own ON {} USING (tenant = current_tenant())", "the policies on {} ", "{}: shows a row of bob"),
        ("ALTER POLICY whole ON {} TO PUBLIC", "the policies on {} ", "{}: shows a row of bob"),
        ("CREATE POLICY open ON {} FOR SELECT USING (true)", "the policies on {} ", "{}: shows a row of bob"),
        ("CREATE POLICY open ON {} FOR DELETE USING (true)", "the policies on {} ", ""),
    ],
    ids=lambda value: value.replace("{}", "T") if isinstance(value, str) and "{}" in value else "",
)
def test_a_changed_policy_is_noticed(base: Seeded, table: str, statement: str, said: str, shown: str) -> None:
    check_undone(base, statement.format(table), said.format(table), shown.format(table))


def _undone_by_hand(base: Seeded, statement: str, undo: str, said: str, shown: str = "") -> None:
    """What is nothing of ours and stays until its maker takes it away."""
    with base.owning() as connection:
        connection.execute(statement)  # type: ignore[arg-type]
        try:
            error = refusal(base)
            found = seen(base, "ann")
            assert repaired(base) or not undo.startswith("DROP"), "what is not ours is still told of"
        finally:
            connection.execute(undo)  # type: ignore[arg-type]
            repaired(base)
    assert error is not None, "the store was opened"
    assert said in str(error)
    assert shown in " ".join(found)


_EVERYTHING = "CREATE VIEW peek AS SELECT * FROM memories; GRANT SELECT ON peek TO recollect_app"
_BODY = "RETURNS SETOF text LANGUAGE sql SECURITY DEFINER AS 'SELECT content FROM recollect.memories'"


@pytest.mark.parametrize(
    ("statement", "undo", "said", "shown"),
    [
        (_EVERYTHING, "DROP VIEW peek", "the view peek", "peek: shows a row of bob"),
        (
            "CREATE MATERIALIZED VIEW peek AS SELECT * FROM memories; GRANT SELECT ON peek TO recollect_app",
            "DROP MATERIALIZED VIEW peek",
            "the view peek",
            "peek: shows a row of bob",
        ),
        (
            "ALTER VIEW memory_rows SET (security_invoker = false)",
            "ALTER VIEW memory_rows SET (security_invoker = true)",
            "the view memory_rows",
            "memory_rows: shows a row of bob",
        ),
        (
            "CREATE TABLE loose AS SELECT content FROM memories; GRANT SELECT ON loose TO recollect_app",
            "DROP TABLE loose",
            "the table loose knows no owners",
            "loose: shows a row of bob",
        ),
        (f"CREATE FUNCTION peek() {_BODY}", "DROP FUNCTION peek", "the function peek", ""),
        (f"CREATE FUNCTION totals(i int) {_BODY}", "DROP FUNCTION totals(int)", "the function totals", ""),
        (
            "ALTER FUNCTION matches OWNER TO postgres",
            "ALTER FUNCTION matches OWNER TO recollect_backup",
            "the function matches",
            "",
        ),
        (
            "ALTER FUNCTION matches RESET search_path",
            "ALTER FUNCTION matches SET search_path = recollect, public, pg_temp",
            "the function matches",
            "",
        ),
        (
            "CREATE OR REPLACE FUNCTION current_owner() RETURNS bigint LANGUAGE sql RETURN 2",
            "ALTER FUNCTION current_owner() STABLE PARALLEL SAFE",
            "whose transaction it is",
            "shows a row of bob",
        ),
        (
            "GRANT TRUNCATE ON memories TO recollect_app",
            "REVOKE TRUNCATE ON memories FROM recollect_app",
            "emptied",
            "",
        ),
        ("GRANT TRIGGER ON memories TO PUBLIC", "REVOKE TRIGGER ON memories FROM PUBLIC", "watched", ""),
        ("GRANT DELETE ON audit TO recollect_app", "REVOKE DELETE ON audit FROM recollect_app", "the audit", ""),
        ("GRANT UPDATE (action) ON audit TO recollect_app", "REVOKE ALL ON audit FROM recollect_app", "the audit", ""),
        (
            "GRANT CREATE ON SCHEMA recollect TO recollect_app",
            "REVOKE CREATE ON SCHEMA recollect FROM recollect_app",
            "may make tables",
            "",
        ),
    ],
    ids=lambda value: value.partition(";")[0] if " " in str(value) else "",
)
def test_what_was_added_beside_it_is_noticed(base: Seeded, statement: str, undo: str, said: str, shown: str) -> None:
    _undone_by_hand(base, statement, undo, said, shown)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("GRANT SELECT ON memories_1 TO recollect_app", "the partition memories_1"),
        ("GRANT SELECT (content) ON memories_1 TO recollect_app", "the partition memories_1"),
        ("GRANT INSERT ON memories_1 TO PUBLIC", "the partition memories_1"),
        ("ALTER TABLE memories_1 DISABLE ROW LEVEL SECURITY", "the partition memories_1 is open"),
        ("ALTER TABLE memories_1 NO FORCE ROW LEVEL SECURITY", "the partition memories_1 is open"),
        ("CREATE POLICY open ON memories_1 USING (true)", "the partition memories_1 is open"),
        ("DROP POLICY own ON memories", "the policies on memories"),
        ("ALTER TABLE memories DISABLE ROW LEVEL SECURITY", "not forced on memories"),
    ],
)
def test_a_partition_that_can_be_used_by_itself_is_noticed(parted: Seeded, statement: str, said: str) -> None:
    check_undone(parted, statement, said, "")


def test_a_right_to_a_partition_shows_nothing_by_itself(parted: Seeded) -> None:
    """It has no policies of its own, so it shows nobody anything: two mistakes are needed."""
    with parted.owning() as connection:
        connection.execute("BEGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO recollect_app")
        connection.execute("SELECT * FROM enter('acme', 'ann', NULL, false, false)")
        connection.execute("SET LOCAL ROLE recollect_app")
        counts = [connection.execute(f"SELECT * FROM memories_{part}").fetchall() for part in range(4)]  # type: ignore[arg-type]
        connection.execute("ROLLBACK")
    assert counts == [[]] * 4


# -- roles ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def apart(run_folder: Path) -> Iterator[Seeded]:
    """A database on a server that nobody else uses."""
    name = f"roles-{os.environ.get('PYTEST_XDIST_WORKER', 'only')}"
    with running(run_folder, name, {}) as server:
        yield seeded(server)


@pytest.mark.parametrize(
    ("statement", "undo", "said"),
    [
        ("ALTER ROLE recollect_app BYPASSRLS", "ALTER ROLE recollect_app NOBYPASSRLS", "bypasses row-level security"),
        ("ALTER ROLE recollect_app SUPERUSER", "ALTER ROLE recollect_app NOSUPERUSER", "is a superuser"),
        ("GRANT recollect_backup TO recollect_app", "REVOKE recollect_backup FROM recollect_app", "everybody's rows"),
        (
            "GRANT recollect_backup TO recollect_app WITH INHERIT FALSE",
            "REVOKE recollect_backup FROM recollect_app",
            "everybody's rows",
        ),
        ("GRANT postgres TO recollect_app", "REVOKE postgres FROM recollect_app", "the role recollect_app"),
        (
            "GRANT pg_read_server_files TO recollect_app",
            "REVOKE pg_read_server_files FROM recollect_app",
            "the whole server",
        ),
        (
            "ALTER TABLE recollect.gists OWNER TO recollect_app",
            "ALTER TABLE recollect.gists OWNER TO postgres",
            "owns tables",
        ),
    ],
)
def test_a_role_that_no_policy_binds_is_noticed(apart: Seeded, statement: str, undo: str, said: str) -> None:
    with apart.owning() as connection:
        connection.execute(statement)  # type: ignore[arg-type]
        try:
            error = refusal(apart)
        finally:
            connection.execute(undo)  # type: ignore[arg-type]
            repaired(apart)
    assert error is not None, "the store was opened"
    assert said in str(error)


def test_a_login_above_the_policies_works_below_them(apart: Seeded) -> None:
    """The superuser's own connection takes the application's role before it does anything."""
    store = PostgresStore(replace(Settings(), database_url=apart.url))
    try:
        with store.database.read(None) as tx:
            assert tx.connection.execute("SELECT current_user").fetchone() == ("recollect_app",)
            assert tx.connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)
    finally:
        store.close()


def test_a_login_that_cannot_take_the_role_is_checked_as_it_is(apart: Seeded, postgres: Postgres) -> None:
    """One that bypasses the policies and may not take the role is not let in."""
    role = apart.server.new_role("above", "BYPASSRLS")
    apart.server.run(f"GRANT recollect_app TO {role.name} WITH SET FALSE, INHERIT TRUE")
    with pytest.raises(StoreUnavailable, match="bypasses row-level security"):
        PostgresStore(replace(Settings(), database_url=as_role(apart.url, role)))
