"""P08 on PostgreSQL: a schema is made once and whole, whoever opens first and whenever they are killed; a program and
its successor work side by side while one replaces the other.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from recollect.errors import InvalidInput, StoreTooNew, StoreUnavailable
from recollect.settings import Settings
from recollect.store.ports.memories import Filter
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import ANN, LATER, event, memory, talk
from tests.faults.migrating import opened, started, state
from tests.services.postgres import Postgres, Role, as_role, running

NEWEST = schema.newest()


@pytest.fixture
def alone(run_folder: Path) -> Iterator[Postgres]:
    """A server of its own, on which nobody has made our roles yet."""
    name = f"alone-{os.environ.get('PYTEST_XDIST_WORKER', 'only')}-{time.monotonic_ns()}"
    with running(run_folder, name, {}) as server:
        yield server


def check_usable(url: str) -> None:
    store = opened(url)
    try:
        assert store.sessions.append(ANN, talk("chat:after", "walrus")) == [True]
        assert store.keeping.health(deep=True).checks == {}
        with store.database.read(None) as tx:
            assert isolation.faults(tx.connection) == []
    finally:
        store.close()


# -- many at once -----------------------------------------------------------------------------------------------------


def test_four_processes_may_open_an_empty_database_at_once(postgres_url: str) -> None:
    """P08: one migrates, all work."""
    at = str(time.time() + 2.5)
    children = [started("open_and_write", postgres_url, str(who), at) for who in range(4)]
    assert [child.communicate()[0].strip() for child in children] == ["done"] * 4
    store = opened(postgres_url)
    assert store.keeping.health(deep=True).counts["events"] == 4
    store.close()


def test_four_databases_of_a_new_server_may_be_opened_at_once(alone: Postgres) -> None:
    """The roles are the whole server's: whoever finds them made, or being made, goes on."""
    at = str(time.time() + 2.5)
    urls = [alone.empty_database() for _ in range(4)]
    children = [started("open_and_write", url, "0", at) for url in urls]
    assert [child.communicate()[0].strip() for child in children] == ["done"] * 4
    for url in urls:
        check_usable(url)


# -- killed -----------------------------------------------------------------------------------------------------------


def check_killed(url: str, parts: int, before: tuple[int, ...], *, step: int = 1) -> int:
    said, _ = started("die_everywhere", url, str(parts), str(step)).communicate()
    found = json.loads(said)
    assert all(ended == -signal.SIGKILL for ended, _ in found[:-1])
    assert found[-1][0] == 0
    assert {tuple(left) for _, left in found[:-1]} == {before}, "half a schema"
    assert found[-1][1][0] == NEWEST
    check_usable(url)
    return len(found) - 1


def test_a_kill_after_any_statement_leaves_no_schema_or_the_whole(postgres_url: str) -> None:
    """P08: SIGKILL after every third of them; after every one in the soak."""
    assert check_killed(postgres_url, 0, (0, 0, 0, 0), step=3) > 25


@pytest.mark.soak
def test_a_kill_after_each_statement_leaves_no_schema_or_the_whole(postgres_url: str) -> None:
    """P08: SIGKILL after every one of them."""
    assert check_killed(postgres_url, 0, (0, 0, 0, 0)) > 60


def test_a_kill_after_any_statement_of_an_upgrade_leaves_the_old_schema_or_the_new(postgres_url: str) -> None:
    """P08: from the first schema, with what was in it."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        schema.migrate(connection, upto=1)
        connection.execute("INSERT INTO recollect.owners (tenant, row, username) VALUES ('acme', 1, 'ann')")
    check_killed(postgres_url, 0, state(postgres_url))
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT username FROM recollect.owners WHERE row = 1").fetchall() == [("ann",)]


@pytest.mark.soak
def test_a_kill_after_any_statement_of_a_partitioned_schema_leaves_none_or_the_whole(postgres_url: str) -> None:
    """P08."""
    assert check_killed(postgres_url, 4, (0, 0, 0, 0)) > 150


def test_a_kill_at_any_moment_leaves_no_schema_or_the_whole(postgres: Postgres) -> None:
    """P08: also in the middle of a statement, or of the commit."""
    for seconds in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
        url = postgres.empty_database()
        said, _ = started("die_sometime", url, str(seconds)).communicate()
        assert json.loads(said)[0] in (0, NEWEST)
        check_usable(url)
        postgres.drop(url)


def test_opening_again_changes_nothing(postgres_url: str) -> None:
    opened(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        before = connection.execute("SELECT xmin, oid FROM pg_class ORDER BY oid").fetchall()
    opened(postgres_url).close()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT xmin, oid FROM pg_class ORDER BY oid").fetchall() == before


@pytest.mark.timed
def test_setting_everything_again_locks_no_table_that_is_in_order(postgres_url: str) -> None:
    """`recollect database init` beside a long reader and a long writer: nobody waits."""
    store = opened(postgres_url)
    store.memories.add(ANN, memory("fact"))
    with store.database.write(ANN) as tx, psycopg.connect(postgres_url, autocommit=True) as connection:
        tx.connection.execute("UPDATE memories SET access_count = 1")
        started_at = time.monotonic()
        schema.migrate(connection)
        assert time.monotonic() - started_at < schema.LOCK_SECONDS
    store.close()


# -- with which rights ------------------------------------------------------------------------------------------------


def settings(url: str, role: Role) -> Settings:
    return replace(Settings(), database_url=as_role(url, role), database_connections=2)


def refused(url: str, role: Role) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        PostgresStore(settings(url, role))
    return caught.value


def test_a_login_without_rights_is_told_who_can_help(postgres: Postgres, postgres_url: str) -> None:
    role = postgres.new_role("stranger")
    postgres.run("CREATE EXTENSION vector", postgres_url)
    error = refused(postgres_url, role)
    assert "may not make or change the schema" in str(error)
    assert "owns the database" in str(error.hint)
    opened(postgres_url).close()
    error = refused(postgres_url, role)
    assert "may not use the schema" in str(error)
    assert "GRANT recollect_app" in str(error.hint)


def test_a_member_of_the_application_uses_what_is_there_and_makes_nothing(postgres: Postgres) -> None:
    role = postgres.new_role("member")
    ready, empty = postgres.empty_database(), postgres.empty_database()
    opened(ready).close()
    postgres.run(f"GRANT recollect_app TO {role.name}")
    store = PostgresStore(settings(ready, role))
    assert store.sessions.append(ANN, talk("chat:1", "walrus")) == [True]
    assert [one.text for one in store.sessions.history(ANN, "chat:1")] == ["walrus"]
    store.close()
    assert "may not make or change the schema" in str(refused(empty, role))
    assert state(empty) == (0, 0, 0, 0)
    with psycopg.connect(ready, autocommit=True) as connection:
        connection.execute("UPDATE recollect.meta SET value = '1' WHERE key = 'schema_version'")
    assert "owns the database" in str(refused(ready, role).hint), "nor does it upgrade"


def test_the_owner_of_a_database_needs_no_superuser(alone: Postgres) -> None:
    """On a server that somebody else runs: the extension is theirs to add, everything else is the owner's."""
    role = alone.new_role("owner", "CREATEROLE")
    url = alone.empty_database()
    name = url.rpartition("/")[2]
    alone.run(f'ALTER DATABASE "{name}" OWNER TO {role.name}')
    assert "may not" in str(refused(url, role)), "pgvector is not trusted"
    alone.run("CREATE EXTENSION vector", url)
    for _ in range(2):
        store = PostgresStore(settings(url, role))
        store.memories.add(ANN, memory("fact"))
        with store.database.read(None) as tx:
            assert tx.connection.execute("SELECT current_user").fetchone() == ("recollect_app",)
            assert tx.connection.execute("SELECT count(*) FROM memories").fetchone() == (0,)
        store.close()
    with psycopg.connect(as_role(url, role), autocommit=True) as connection:
        assert schema.migrate(connection) == NEWEST, "and can set everything again"


# -- versions ---------------------------------------------------------------------------------------------------------


def test_a_later_schema_is_refused_and_left_alone(postgres_url: str) -> None:
    opened(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for key in ("schema_version", "schema_compatible"):
            connection.execute("UPDATE recollect.meta SET value = %s WHERE key = %s", (str(NEWEST + 1), key))
        before = connection.execute("SELECT * FROM recollect.meta ORDER BY key").fetchall()
        with pytest.raises(StoreTooNew, match=str(NEWEST + 1)) as caught:
            opened(postgres_url)
        assert caught.value.hint == "Upgrade Recollect."
        with pytest.raises(StoreTooNew):
            schema.migrate(connection)
        assert connection.execute("SELECT * FROM recollect.meta ORDER BY key").fetchall() == before


@pytest.mark.parametrize("partitions", [-1, 1025])
def test_a_layout_nobody_can_have_is_refused(partitions: int) -> None:
    with pytest.raises(InvalidInput):
        schema.Layout(partitions)


def next_version(folder: Path) -> Path:
    """The migrations of a version that does not exist yet: a column, a table, and a function more."""
    made = folder / "migrations"
    shutil.copytree(schema._FOLDER, made)
    (made / f"{NEWEST + 1:04}_moods.sql").write_text(
        "-- Moods.\nALTER TABLE memories ADD COLUMN mood text;\n"
        "CREATE TABLE moods (\n  tenant text NOT NULL,\n  owner bigint NOT NULL,\n  name text NOT NULL,\n"
        "  PRIMARY KEY (tenant, owner, name)\n) {partitioned};\n"
    )
    access = made / "access.sql"
    access.write_text(
        access.read_text().replace(
            "DO $access$",
            "CREATE OR REPLACE FUNCTION of_the_future() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER "
            "SET search_path = {schema}, {vectors}, pg_temp AS 'SELECT count(*) FROM moods';\n\nDO $access$",
        )
    )
    return made


@pytest.mark.parametrize("partitions", [0, 2], ids=["plain", "partitioned"])
def test_a_program_and_its_successor_work_side_by_side(postgres_url: str, tmp_path: Path, partitions: int) -> None:
    """The rule of upgrades: a schema that only adds is one that this version goes on working on, without an error."""
    PostgresStore(replace(Settings(), database_url=postgres_url), layout=schema.Layout(partitions)).close()
    store = opened(postgres_url)
    done, failed, written = threading.Event(), [], 0

    def work() -> None:
        nonlocal written
        while not done.is_set():
            try:
                store.memories.add(ANN, memory(f"old fact {written}"))
                store.sessions.append(ANN, [event("chat:old", written, f"walrus {written}")])
                assert store.memories.find(ANN, Filter(now=LATER), limit=5)
                written += 1
            except BaseException as error:
                failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        said, _ = started("work_as_next", postgres_url, str(next_version(tmp_path)), "2").communicate()
        assert state(postgres_url)[0] == NEWEST + 1
        beside = written
        again = opened(postgres_url)  # this version, started after the next one
        again.memories.add(ANN, memory("from an old program that came later"))
        again.close()
    finally:
        done.set()
        thread.join()
    assert failed == []
    assert int(said) > 3, said
    assert beside > 5
    found = {one.content for one in store.memories.find(ANN, Filter(now=LATER), limit=10_000)}
    assert found >= {f"old fact {n}" for n in range(written)} | {f"new fact {n}" for n in range(int(said))}
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        assert schema.partitions(connection) == partitions
        kind = connection.execute("SELECT relkind FROM pg_class WHERE oid = 'recollect.moods'::regclass").fetchone()
        assert kind == ("p" if partitions else "r",), "a later table is laid out as the first ones were"
        connection.execute("UPDATE recollect.meta SET value = %s WHERE key = 'schema_compatible'", (str(NEWEST + 1),))
    with pytest.raises(StoreTooNew):
        opened(postgres_url)
    store.close()
