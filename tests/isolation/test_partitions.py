"""Tables divided by tenant: the same isolation, and a query of one tenant touches one partition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from recollect.model import Scope
from recollect.settings import Settings
from recollect.store.postgres import isolation, schema
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import QUERIES
from tests.contract.samples import by_words, memory, talk
from tests.isolation.leaks import seen, touched
from tests.isolation.seeded import OWNERS, TABLES, Seeded

FILTERS = (
    "kinds",
    "tags",
    "project",
    "session",
    "exclude_session",
    "min_importance",
    "trusts",
    "since",
    "until",
    "as_of",
    "now",
)
TENANTS = [Scope(f"tenant{number}", "ann") for number in range(16)]


@pytest.mark.parametrize("who", [*OWNERS, None])
def test_everybody_sees_their_own_row_and_no_other(parted: Seeded, who: str | None) -> None:
    assert seen(parted, who) == []
    if who is not None:
        assert touched(parted, who) == []


def test_every_table_has_its_partitions_and_all_are_checked(parted: Seeded) -> None:
    with parted.owning() as connection:
        counts = dict(
            connection.execute(
                "SELECT p.relname, count(*) FROM pg_inherits i JOIN pg_class p ON p.oid = i.inhparent "
                "WHERE p.relkind = 'p' AND p.relnamespace = 'recollect'::regnamespace GROUP BY 1"
            ).fetchall()
        )
        assert counts == dict.fromkeys(TABLES, 4)
        assert schema.partitions(connection) == 4
    with parted.using(None) as connection:
        assert isolation.faults(connection) == []


@pytest.fixture
def spread(postgres_url: str) -> PostgresStore:
    """A store of sixteen tenants in four partitions."""
    store = PostgresStore(replace(Settings(), database_url=postgres_url), layout=schema.Layout(partitions=4))
    for scope in TENANTS:
        store.sessions.append(scope, talk("chat:1", f"walrus {scope.tenant}"))
        store.memories.add(scope, memory(f"walrus of {scope.tenant}"))
    return store


def test_each_tenant_lies_in_one_partition_and_they_are_spread(spread: PostgresStore, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute(
            "SELECT DISTINCT tableoid::regclass::text, tenant FROM recollect.memories"
        ).fetchall()
    assert len(found) == len(TENANTS)
    assert len({table for table, _ in found}) == 4
    for scope in TENANTS:
        [match] = by_words(spread, scope, "memory", "walrus")
        [document] = spread.search.documents(scope, "memory", [match.doc])
        assert document.content == f"walrus of {scope.tenant}"
    spread.close()


def used(node: dict[str, Any]) -> Iterator[str]:
    """The partitions that a plan really went to."""
    table, _, part = node.get("Relation Name", "").rpartition("_")
    if node.get("Actual Loops") and table in TABLES:
        yield part
    for below in node.get("Plans", ()):
        yield from used(below)


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("memories.get", {"id": "x"}),
        (
            "memories.find",
            dict.fromkeys(FILTERS)
            | {"limit": 5, "offset": 0, "archived": True, "history": True, "flavors": None, "pinned": None},
        ),
        ("sessions.session", {"id": "chat:1", "project": None}),
        ("sessions.sessions", {"limit": 5, "offset": 0, "project": None}),
        ("sessions.history", {"session": 1, "after": -1, "last": -1}),
        ("search.documents_memory", {"docs": [1, 2]}),
        ("search.vectors", {"tier": "memory", "docs": [1, 2]}),
        ("index.drop", {"tier": "memory", "doc": 1}),
        ("keeping.drop_session", {"session": 1}),
        ("keeping.drop_unused_projects", {}),
        ("gists.due", {"after": 1, "quiet_since": "2030-01-01"}),
        ("vectors.queue_all", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_query_of_one_tenant_touches_one_partition(
    spread: PostgresStore, query: str, params: dict[str, object]
) -> None:
    """However many there are."""
    scope = TENANTS[3]
    with spread.database.write(scope) as tx:
        assert tx.rows is not None
        values = {**tx.rows.params(), "tenant": scope.tenant, **params}
        text = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {QUERIES[query]}"
        row = tx.connection.execute(text, values).fetchone()  # type: ignore[arg-type]
    assert row is not None
    assert len(set(used(json.loads(row[0])[0]["Plan"]))) == 1, row[0]
    spread.close()


def test_words_are_looked_for_in_one_partition(spread: PostgresStore, postgres_url: str) -> None:
    """Inside the function the tenant comes from the transaction: the others are left out as it runs."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(schema.search_path(connection))
        connection.execute("SELECT * FROM enter('tenant3', 'ann', NULL, false, false)")
        text = (
            "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT doc FROM words w WHERE w.tenant = current_tenant() "
            "AND w.owner = current_owner() AND w.search @@ quote_literal('m' || current_owner() || 'xwalru~2')::tsquery"
        )
        plan = [line for (line,) in connection.execute(text)]
    assert any("Subplans Removed: 3" in line for line in plan), plan
    spread.close()


def test_the_layout_is_chosen_once(postgres_url: str) -> None:
    """Whoever opens it later need not know, and cannot change it."""
    settings = replace(Settings(), database_url=postgres_url)
    PostgresStore(settings, layout=schema.Layout(partitions=3)).close()
    for layout in (schema.PLAIN, schema.Layout(partitions=8)):
        PostgresStore(settings, layout=layout).close()
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            schema.migrate(connection, layout)
            assert schema.partitions(connection) == 3
