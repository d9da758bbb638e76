"""How PostgreSQL plans what it is asked: for somebody who came after the last ANALYZE, and what is asked every time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from psycopg import sql

from recollect.facade import Recollect
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.postgres.search import PostgresSearch
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import QUERIES
from recollect.store.rows.vectormemory import WORTH
from tests.contract.samples import event, gist, memory
from tests.services.postgres import Postgres

pytestmark = pytest.mark.slow

OLD, NEW, MUCH = Scope("acme", "old"), Scope("acme", "new"), Scope("tenant-7", "ann")
MANY = 600
TENANTS = 60


@pytest.fixture(scope="module")
def grown(postgres: Postgres) -> Iterator[str]:
    """A store that was analysed when it had one owner; since then another one came."""
    url = postgres.empty_database()
    store = PostgresStore(Settings(database_url=url))
    for scope in (OLD, NEW):
        store.sessions.append(scope, [event("chat:1", number, f"walrus {number}") for number in range(MANY)])
        store.memories.add_many(scope, [(memory(f"seal {number}", id=f"m-{number}"), ()) for number in range(MANY)])
        if scope is OLD:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("ANALYZE")
    yield url
    store.close()


@pytest.fixture(scope="module")
def crowded(postgres: Postgres) -> Iterator[str]:
    """A store of many tenants with one user each, of whom one has much more than all others."""
    url = postgres.empty_database()
    store = PostgresStore(Settings(database_url=url))
    for number in range(TENANTS):
        scope = Scope(f"tenant-{number}", "ann")
        many = MANY if scope == MUCH else 3
        store.sessions.append(scope, [event("chat:1", n, f"walrus {n}", role="user") for n in range(many)])
        store.memories.add_many(scope, [(memory(f"seal {n}", id=f"m-{n}"), ()) for n in range(many)])
        for n in range(many // 3):
            store.sessions.append(scope, [event(f"chat:gist {n}", 0, "seal")])
            store.gists.put(scope, gist(f"chat:gist {n}", f"seal {n}"))
    waiting = store.vectors.waiting(2 * TENANTS * MANY)
    store.vectors.put(("alike", 3), [(one, np.full((1, 3), 3**-0.5, dtype=np.float32)) for one in waiting])
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    yield url
    store.close()


@pytest.mark.parametrize(
    "name",
    [
        *("documents_memory", "allowed_memory", "visible_memory", "cosines", "vectors", "changed"),
        *("documents_gist", "allowed_gist", "visible_gist"),
        *("documents_turn", "allowed_turn", "visible_turn", "around", "turn_events"),
    ],
)
def test_what_is_found_for_who_has_much_is_looked_up_and_not_searched_for(crowded: str, name: str) -> None:
    """One plan for everybody assumes that everybody has a little; it must not read all of somebody's rows."""
    settings = Settings(database_url=crowded)
    store = PostgresStore(settings)
    tables = {"memory": "memories", "gist": "gists", **dict.fromkeys(("cosines", "vectors", "changed"), "memories")}
    table = tables.get(name.rpartition("_")[2], "turns")
    try:
        with store.search._db.read(MUCH) as tx:
            assert tx.rows is not None
            found = tx.connection.execute(f"SELECT row FROM {table} LIMIT 200")
            docs = [row for (row,) in found][::10]
            asked = {"tenant": MUCH.tenant, "docs": docs, "tier": "memory", "query": "[1,0,0]", "weaker": 0.2}
            given = {
                **tx.rows.params(),
                **asked,
                "seen": 1_000,
                "as_of": None,
                "history": False,
                "now": "2030-01-01T00:00:00Z",
            }
            names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", QUERIES[f"search.{name}"])))
            text = QUERIES[f"search.{name}"].rstrip(";").replace("%%", "%")
            for place, parameter in enumerate(names, 1):
                text = text.replace(f"%({parameter})s", f"${place}")
            values = ", ".join(sql.Literal(given.get(one)).as_string(tx.connection) for one in names)
            tx.connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            tx.connection.execute(f"PREPARE asked AS {text}")
            told = tx.connection.execute(f"EXPLAIN (ANALYZE) EXECUTE asked({values})").fetchall()
            tx.connection.execute("DEALLOCATE asked")
    finally:
        store.close()
    plan = "\n".join(row[0] for row in told)
    read = [int(rows) for rows in re.findall(r"Rows Removed by (?:Join )?Filter: (\d+)", plan)]
    assert max(read, default=0) < TENANTS, plan


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("sessions.known_events", {"keys": f'["{event("chat:1", 7, "").key}"]'}),
        ("capture.is_buried", {"key": b"\1" * 16}),
        ("keeping.memory", {"id": "m-7"}),
        ("memories.get", {"id": "m-7"}),
        ("memories.known_ids", {"ids": ["m-7"]}),
    ],
)
def test_one_row_of_somebody_new_is_looked_up_and_not_searched_for(
    grown: str, query: str, params: dict[str, object]
) -> None:
    with psycopg.connect(grown) as connection:
        connection.execute("SET search_path = recollect")
        (owner,) = connection.execute("SELECT row FROM owners WHERE username = 'new'").fetchone() or (0,)
        whose = {"tenant": "acme", "owner": owner, "any_project": True, "scope_project": None}
        told = connection.execute(f"EXPLAIN (ANALYZE) {QUERIES[query]}", {**whose, **params}).fetchall()
    plan = "\n".join(row[0] for row in told)
    assert [int(rows) for rows in re.findall(r"Rows Removed by Filter: (\d+)", plan) if int(rows) > 1] == [], plan
    assert "Seq Scan on events" not in plan
    assert "Seq Scan on memories" not in plan


def test_what_every_question_and_every_memory_asks_is_planned_once(grown: str) -> None:
    settings = Settings(database_url=grown, database_connections=1, embedder="none")
    store = PostgresStore(settings)
    store.search = PostgresSearch(store.database, kept=0)
    with Recollect(store, OLD, settings) as memory:
        for number in range(12):
            memory.remember(f"the walrus has {number} teeth")
            assert memory.recall(f"how many teeth has walrus {number}").hits
        with store.search._db.read(OLD) as tx:
            plans = "SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements"
            planned = tx.connection.execute(plans).fetchall()
            (mode,) = tx.connection.execute("SHOW plan_cache_mode").fetchone() or ("",)
    for part in ("FROM matches(", "FROM memory_rows WHERE", "INSERT INTO memories", "INSERT INTO words"):
        found = [(once > 0, each) for text, once, each in planned if part in text]
        assert found, part
        assert set(found) == {(True, 0)}, part
    assert mode == "force_custom_plan"  # whatever filters is planned for what it filters by


def test_how_many_wait_is_told_while_nobody_can_read_the_memories(grown: str) -> None:
    store = PostgresStore(Settings(database_url=grown))
    try:
        with psycopg.connect(grown) as holder:
            holder.execute("LOCK TABLE recollect.memories, recollect.events IN ACCESS EXCLUSIVE MODE")
            with psycopg.connect(grown) as asking:
                asking.execute("SET search_path = recollect")
                asking.execute("SET lock_timeout = '1s'")
                (waiting,) = asking.execute(QUERIES["vectors.pending"], {"most": -1}).fetchone() or (0,)
        assert waiting == store.vectors.pending() > MANY
    finally:
        store.close()


def rows_read(store: PostgresStore, table: str) -> int:
    """How many rows of a table were read until now."""
    with store.search._db.read(None) as tx:
        tx.connection.execute("SELECT pg_stat_force_next_flush()")
    reads = "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int FROM pg_stat_user_tables WHERE relname = %s"
    with store.search._db.read(None) as tx:
        (rows,) = tx.connection.execute(reads, (table,)).fetchone() or (0,)
    return int(rows)


def test_to_remember_and_to_ask_read_few_rows_of_who_has_much(crowded: str) -> None:
    settings = Settings(database_url=crowded, database_connections=1, embedder="none")
    store = PostgresStore(settings)
    with Recollect(store, MUCH, settings) as mine:
        for number in range(8):  # until they are prepared
            mine.remember(f"the walrus has {number} teeth", kind="fact")
            mine.recall(f"which walrus has teeth {number}")
            mine.recall(f"which seal {number}", kinds=["fact"])
        before = rows_read(store, "memories")
        mine.remember("the walrus has no teeth", kind="fact")
        remembered = rows_read(store, "memories")
        assert mine.recall("which walrus has teeth").hits
        asked = rows_read(store, "memories")
        assert mine.recall("which walrus has teeth", kinds=["fact"], abstain=False).hits
        filtered = rows_read(store, "memories")
    assert max(remembered - before, asked - remembered, filtered - asked) < MANY // 2


def test_of_words_only_those_that_changed_are_read(crowded: str) -> None:
    """What is kept at hand of who has much is brought up by an index, though it is planned once and for everybody."""
    store = PostgresStore(Settings(database_url=crowded, database_connections=1))
    try:
        for _ in range(8 * WORTH):
            with store.together(MUCH):
                assert store.search.lexical(MUCH, "memory", ["seal"], None, 5)
        before = rows_read(store, "words")
        store.memories.add(MUCH, memory("an otter"))
        with store.together(MUCH):
            assert store.search.lexical(MUCH, "memory", ["otter"], None, 5)
        assert rows_read(store, "words") - before < MANY // 2
    finally:
        store.close()
