"""The budget holds with many processes at it, and whatever was debited when one was killed stays spent (P27)."""

from __future__ import annotations

from pathlib import Path

from recollect.store.ports.distill import Caps, Charge
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, T0
from tests.faults.children import Say, start
from tests.faults.conftest import Open

CALL = Charge("session", "openai:m", 80, 20, 0.01, T0, "apollo")


def reserve(data_dir: Path, tries: int, caps: Caps, say: Say) -> None:
    store = SqliteStore(data_dir)
    for _ in range(tries):
        ticket = store.ledger.reserve(ANN, CALL, caps)
        say("no" if ticket is None else str(ticket))
    store.close()


def test_many_processes_together_do_not_pass_the_cap(data_dir: Path, open_store: Open) -> None:
    SqliteStore(data_dir).close()
    caps = Caps(tokens=5_000, usd=100.0)
    children = [start(lambda say: reserve(data_dir, 15, caps, say)) for _ in range(6)]
    heard = [child.wait() for child in children]
    assert [code for code, _ in heard] == [0] * 6
    tickets = [line for _, lines in heard for line in lines if line != "no"]
    assert len(tickets) == len(set(tickets)) == 50
    [row] = open_store().ledger.spent(ANN, since=T0)
    assert (row.calls, row.input + row.output) == (50, 5_000)


def test_what_a_killed_process_had_debited_stays_spent(data_dir: Path, open_store: Open) -> None:
    child = start(lambda say: reserve(data_dir, 10_000, Caps(10**9, 10**6), say))
    for _ in range(20):
        child.hear()
    tickets = child.kill()
    [row] = open_store().ledger.spent(ANN, since=T0)
    assert len(tickets) <= row.calls <= len(tickets) + 1
    assert row.input + row.output == row.calls * 100
