"""What requests took is summed up by day in the database itself: costs from before that are summed up when it comes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw

from recollect.ids import stable_key
from recollect.model import Cost, Session
from recollect.pipeline.digests import score_digests
from recollect.store.ports.insights import Window
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, LATER, T0, event, minute
from tests.faults.old_schema import leave

BEFORE = 13  # the last schema without sums
EVER = Window(T0 - timedelta(days=1), LATER)


def test_costs_from_before_are_summed_up_when_the_schema_comes(data_dir: Path) -> None:
    leave(
        data_dir,
        BEFORE,
        "INSERT INTO owners (row, tenant, user) VALUES (1, 'acme', 'ann');"
        "INSERT INTO sessions (row, owner, id, flavor, started_at, ended_at) "
        "VALUES (1, 1, 'claude:1', 'claude', '2026-03-01', '2026-03-01');"
        "INSERT INTO costs (owner, key, session, at, input, cache_read, cache_write_5m, cache_write_1h, output, "
        "reasoning, usd, usd_source) VALUES "
        "(1, x'01', 1, '2026-03-01T12:00:00.000000Z', 10, 1, 2, 3, 4, 0, 0.5, 'catalog'),"
        "(1, x'02', 1, '2026-03-01T13:00:00.000000Z', 10, 1, 2, 3, 4, 0, NULL, 'none');",
    )
    store = SqliteStore(data_dir)
    (day,) = [one for one in store.insights.costs(ANN, EVER) if one.of == "agent"]
    assert (day.requests, day.tokens, day.usd, day.priced) == (2, 40, 0.5, 1)
    store.close()


def test_the_sums_are_those_of_the_rows_whatever_was_done(data_dir: Path) -> None:
    """Added, grown, moved to another day, forgotten: at every step the sums are the rows' own."""
    store = SqliteStore(data_dir)
    for number in range(3):
        name = f"claude:{number}"
        said = replace(event(name, 0, "hello"), way="sweep", kind="user_prompt")
        costs = [
            Cost(stable_key(name, str(n)), name, minute(n * 600), "opus", input=10 + n, output=n, usd=n / 8 or None)
            for n in range(9)
        ]
        store.captures.ingest(ANN, Session(name, "claude"), [said], costs)
        grown = [replace(one, output=one.output + 5, at=one.at + timedelta(hours=5), usd=1.0) for one in costs[::2]]
        store.captures.ingest(ANN, Session(name, "claude"), [], grown)
        assert _sums(store, "cost_days") == _sums(store, "costs")
    store.keeping.forget_session(ANN, "claude:1", at=LATER)
    assert _sums(store, "cost_days") == _sums(store, "costs")
    store.keeping.forget_all(ANN, at=LATER)
    assert _sums(store, "cost_days") == []
    store.close()


def test_health_is_computed_once_for_digests_that_have_none(data_dir: Path) -> None:
    from recollect.distill.digest import digest_of

    store = SqliteStore(data_dir)
    for number in range(3):
        about = Session(f"claude:{number}", "claude")
        store.captures.ingest(ANN, about, [replace(event(about.id, 0, "hello"), way="sweep")])
        store.digests.put(ANN, digest_of(about, (), ()), covers=0, at=T0)
    assert score_digests(store, ANN) == 3
    assert score_digests(store, ANN) == 0
    store.close()


def _sums(store: SqliteStore, table: str) -> list[tuple[object, ...]]:
    """What a table sums up to, by day and session, in whole thousandths."""
    day, count = ("day", "sum(requests)") if table == "cost_days" else ("substr(at, 1, 10)", "count(*)")
    written = "cache_write" if table == "cost_days" else "cache_write_5m + cache_write_1h"
    query = (
        f"SELECT {day}, session, {count}, sum(input), sum(cache_read), sum({written}), sum(output), "
        f"round(ifnull(sum(usd), 0) * 1000) FROM {table} GROUP BY 1, 2 ORDER BY 1, 2"
    )
    connection = apsw.Connection(str(store.database.path))
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
