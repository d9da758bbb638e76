"""How PostgreSQL plans what it is asked: for somebody who came after the last ANALYZE, and what is asked every time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

from recollect.facade import Recollect
from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.postgres.database import QUERIES
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import event, memory
from tests.services.postgres import Postgres

pytestmark = pytest.mark.slow

OLD, NEW = Scope("acme", "old"), Scope("acme", "new")
MANY = 600


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
    with Recollect(store, OLD, settings) as memory:
        for number in range(12):
            memory.remember(f"the walrus has {number} teeth")
            assert memory.recall(f"how many teeth has walrus {number}").hits
        with store.search._db.read(OLD) as tx:
            plans = tx.connection.execute("SELECT statement, generic_plans, custom_plans FROM pg_prepared_statements")
            planned = {" ".join(text.split())[:40]: (once, each) for text, once, each in plans}
            (mode,) = tx.connection.execute("SHOW plan_cache_mode").fetchone() or ("",)
    asked = {" ".join(QUERIES[name].split())[:40] for name in ("search.words_counted", "search.documents_memory")}
    written = {" ".join(QUERIES[name].split())[:40] for name in ("memories.add", "index.add", "audit.add")}
    assert (asked | written) <= set(planned)
    assert [text for text in asked | written if planned[text][1] or not planned[text][0]] == []
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
