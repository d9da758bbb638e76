"""Every store there is, one after the other, through the same tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import psycopg
import pytest

from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.postgres.schema import Layout
from recollect.store.sqlite.store import SqliteStore
from tests.contract.isolation import Filled
from tests.services.postgres import Postgres
from tests.services.stores import Emptied

if TYPE_CHECKING:
    from recollect.store.postgres.store import PostgresStore

NewStore = Callable[[], Store]


@pytest.fixture(scope="session")
def parted(postgres: Postgres) -> Iterator[Emptied]:
    """The same in tables of four partitions."""
    stores = Emptied(postgres, Layout(partitions=4))
    yield stores
    stores.close()


def _sqlite(request: pytest.FixtureRequest, place: Path, number: int) -> Store:
    store = SqliteStore(place)
    request.addfinalizer(store.close)
    return store


def _postgres(request: pytest.FixtureRequest, place: Path, number: int) -> PostgresStore:
    stores: Emptied = request.getfixturevalue("emptied")
    return stores.give(number)


def _partitions(request: pytest.FixtureRequest, place: Path, number: int) -> PostgresStore:
    stores: Emptied = request.getfixturevalue("parted")
    return stores.give(number)


Make = Callable[[pytest.FixtureRequest, Path, int], Store]
STORES: dict[str, Make] = {"sqlite": _sqlite, "postgres": _postgres, "partitions": _partitions}
# Partitioned tables answer the same queries: these modules show it, and are quick. All pass, if listed.
PARTITIONED = (
    *("test_memories_contract", "test_gists_contract", "test_sessions_contract", "test_upkeep_contract"),
    *("test_kept_vectors_contract", "test_kept_words_contract", "test_asking_contract"),
)
NOT_EMBEDDED = ("test_kept_words_contract",)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "new_store" in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        left_out = {"partitions", *(["sqlite"] if module in NOT_EMBEDDED else [])}
        kinds: list[object] = [name for name in sorted(STORES) if name not in left_out]
        if module in PARTITIONED:
            kinds.append(pytest.param("partitions", marks=pytest.mark.slow))
        metafunc.parametrize("new_store", kinds, indirect=True)


@pytest.fixture
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """Makes empty stores of one kind, each in a place of its own; closed when the test ends."""
    made = 0

    def make() -> Store:
        nonlocal made
        made += 1
        return STORES[request.param](request, tmp_path / f"store-{made}", made)

    return make


@pytest.fixture
def store(new_store: NewStore) -> Store:
    """An empty store."""
    return new_store()


@pytest.fixture
def other(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Store]:
    """Another store on the same database: what another process is."""
    kind = request.node.callspec.params["new_store"]
    found: Store
    if kind == "sqlite":
        found = SqliteStore(tmp_path / "store-1")
    else:
        from recollect.store.postgres.store import PostgresStore

        stores = request.getfixturevalue("emptied" if kind == "postgres" else "parted")
        found = PostgresStore(stores.settings(1))
    yield found
    found.close()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A store with three owners' things in it, filled anew only when something was written to it."""
    if request.param == "postgres":
        stores: Emptied = request.getfixturevalue("emptied")
        url = stores.url(9)
        with psycopg.connect(url, autocommit=True) as owning:
            yield Filled(lambda: stores.give(9), begun_in_postgres, partial(rows_in_postgres, owning))
        return
    with ExitStack() as opened:

        def make() -> Store:
            opened.close()
            store = SqliteStore(tmp_path_factory.mktemp("filled"))
            opened.callback(store.close)
            return store

        yield Filled(make, changes_of_sqlite)


_OWNED = """
SELECT c.table_name FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = 'recollect' AND c.column_name = 'owner' AND t.table_type = 'BASE TABLE' ORDER BY 1
"""


def rows_in_postgres(owning: psycopg.Connection[Any], owners: list[Scope]) -> list[Any]:
    """All rows that belong to these owners, of every table that has an owner, each as a hash."""
    tables = [name for (name,) in owning.execute(_OWNED).fetchall()]
    each = [
        f"SELECT '{name}', t.owner, md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM recollect.{name} t "
        f"WHERE (t.tenant, t.owner) IN (SELECT tenant, row FROM theirs) GROUP BY t.owner"
        for name in tables
    ]
    names = [f"{one.tenant}/{one.user}" for one in owners]
    theirs = "SELECT tenant, row FROM recollect.owners WHERE tenant || '/' || username = ANY (%s)"
    whole = f"WITH theirs AS MATERIALIZED ({theirs}) {' UNION ALL '.join(each)} ORDER BY 1, 2"
    found = owning.execute(whole, (names,), prepare=True).fetchall()  # type: ignore[arg-type]
    assert len({table for table, _, _ in found}) > 20, "the owners have nothing that could change"
    return found


def changes_of_sqlite(store: Store) -> Callable[[], object]:
    """Changes when anything was committed, by whichever connection."""
    assert isinstance(store, SqliteStore)
    watching = apsw.Connection(str(store.database.path), flags=apsw.SQLITE_OPEN_READONLY)
    return lambda: watching.execute("PRAGMA data_version").fetchone()


def begun_in_postgres(store: Store) -> Callable[[], object]:
    """How many transactions were begun that may write; the others are READ ONLY for the server too."""
    database: Any = store.database  # type: ignore[attr-defined]
    begin = type(database)._transaction
    begun: list[str] = []

    def counted(scope: Scope | None, said: str, **more: bool) -> Any:
        if "READ ONLY" not in said:
            begun.append(said)
        return begin(database, scope, said, **more)

    database._transaction = counted
    return lambda: len(begun)
