"""How PostgreSQL looks things up for whom it knows nothing of yet: somebody who came after the last ANALYZE."""

from __future__ import annotations

import re
from collections.abc import Iterator

import psycopg
import pytest

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
