"""Patterns in an export: all of them come out with what was done to them, go in, and come out the same; once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import InvalidInput
from recollect.model import Scope
from recollect.store import portable
from recollect.store.port import Store
from recollect.store.ports.learn import Pattern, Rollout
from recollect.store.sqlite.salvage import salvage
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.conftest import NewStore
from tests.contract.samples import ANN, BOB, LATER, T0, minute, talk
from tests.contract.test_patterns_contract import keep, pattern, told

Record = dict[str, Any]
ODD: list[tuple[str, object]] = [
    ("state", "blessed"),
    ("trust", "divine"),
    ("version", 0),
    ("version", True),
    ("statement", ""),
    ("rule", 7),
    ("seconds", -1),
    ("score", float("inf")),
    ("first_seen", "yesterday"),
    ("projects", "tide"),
    ("edited", "yes"),
    ("more", 1),
    ("versions", [{"version": 1}]),
    ("evidence", ["claude:1"]),
    ("rollouts", [{"id": "r"}]),
]


def dump(store: Store, scope: Scope = ANN) -> list[Record]:
    return [json.loads(json.dumps(record)) for record in portable.export(store, scope, now=LATER)]


def patterns_in(records: list[Record]) -> list[Record]:
    return [record for record in records if record["type"] == "pattern"]


def fill(store: Store) -> Pattern:
    """One that was decided on and rolled out, and one that was only found."""
    kept = keep(store, pattern(), "claude:1", "codex:2")
    new = replace(
        kept,
        state="approved",
        version=2,
        rule="Look first — “é”.",
        edited=True,
        reviewer="ann",
        reason="every week",
        decided_at=minute(9),
        decided_sessions=3,
        decided_flavors=("claude", "codex"),
    )
    store.patterns.put(ANN, new, at=minute(9), was=1, told=[told(new, "approve", "every week")])
    out = Rollout("r1", "p1", 2, "claude-md", "/w/tide/CLAUDE.md", minute(10), "tide", "in", "- Look first.", ("/w",))
    store.patterns.put_rollout(ANN, replace(out, by="ann", held_back=("moon",)))
    keep(store, pattern(id="p2", projects=(), aliases=(), rule=None, usd=None), "claude:1")
    return new


def test_they_come_out_go_in_and_come_out_the_same(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    kept = fill(first)
    records = dump(first)
    assert [record["id"] for record in patterns_in(records)] == ["p1", "p2"]
    assert portable.load(second, ANN, records)["patterns"] == 2
    assert dump(second) == records
    assert second.patterns.get(ANN, "p1") == kept
    assert second.patterns.rollouts(ANN) == first.patterns.rollouts(ANN)
    again = portable.load(second, ANN, records)
    assert {name for name, count in again.items() if count} == {"known"}
    assert dump(second) == records


def test_one_that_is_there_stays_as_it_is(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    fill(first)
    mine = keep(second, pattern(statement="in my own words", state="rejected", version=3))
    assert portable.load(second, ANN, dump(first))["patterns"] == 1
    assert second.patterns.get(ANN, "p1") == mine


def test_what_was_forgotten_does_not_come_back(new_store: NewStore) -> None:
    """A candidate may hold the words of a session that was forgotten here; a decision is a person's."""
    first, second = new_store(), new_store()
    fill(first)
    records = dump(first)
    portable.load(second, ANN, records)
    second.keeping.forget_session(ANN, "claude:1", at=LATER)
    before = dump(second)
    done = portable.load(second, ANN, records)
    assert done["forgotten"] >= 1
    assert second.patterns.get(ANN, "p2") is None
    assert [one.session for one in second.patterns.evidence(ANN, "p1")] == ["codex:2"]
    assert patterns_in(dump(second)) == patterns_in(before)


def test_a_rejected_one_brings_no_words_of_a_forgotten_session(new_store: NewStore) -> None:
    first, second = new_store(), new_store()
    kept = keep(first, pattern(state="rejected", version=2, statement="The canary sings"), "claude:1", "codex:2")
    records = dump(first)
    second.sessions.append(ANN, talk("claude:1", "hello"))
    second.keeping.forget_session(ANN, "claude:1", at=LATER)
    portable.load(second, ANN, records)
    there = second.patterns.get(ANN, kept.id)
    assert there is not None
    assert (there.state, there.statement) == ("rejected", "cat: no such file")
    assert "canary" not in json.dumps(dump(second))


def test_a_roll_out_that_comes_in_made_nothing_but_its_file_and_what_is_above_it(new_store: NewStore) -> None:
    """Taking it back removes empty directories it made: a record cannot name others."""
    first, second = new_store(), new_store()
    keep(first, pattern())
    made = ("/w/tide/CLAUDE.md", "/w/tide", "/home/ann/precious", "/w/tide/../moon", "/")
    out = Rollout("r1", "p1", 1, "claude-md", "/w/tide/CLAUDE.md", minute(1), "tide", "in", "- Look.", made)
    first.patterns.put_rollout(ANN, out)
    portable.load(second, ANN, dump(first))
    assert [one.made for one in second.patterns.rollouts(ANN)] == [("/w/tide/CLAUDE.md", "/w/tide", "/")]


def test_an_export_shows_only_its_scope(store: Store) -> None:
    fill(store)
    keep(store, pattern(id="b1"), scope=BOB)
    assert [record["id"] for record in patterns_in(dump(store, BOB))] == ["b1"]
    assert [record["id"] for record in patterns_in(dump(store, ANN.within("tide")))] == ["p2"], "p1 is of two projects"


def test_nothing_odd_goes_in(store: Store) -> None:
    keep(store, pattern())
    [record] = patterns_in(dump(store))
    store.patterns.drop(ANN, "p1")
    for name, value in ODD:
        with pytest.raises(InvalidInput):
            portable.load(store, ANN, [{**record, name: value}])
    for name in ("key", "trust", "state"):
        with pytest.raises(InvalidInput):
            portable.load(store, ANN, [{key: value for key, value in record.items() if key != name}])
    assert store.patterns.find(ANN, limit=9) == []


def test_a_repaired_store_has_its_patterns(tmp_path: Path) -> None:
    """Salvage: with versions, evidence and roll-outs; what is no pattern any more is counted as lost."""
    damaged = SqliteStore(tmp_path / "damaged")
    fill(damaged)
    keep(damaged, pattern(id="b1"), scope=BOB)
    with damaged.database.write(BOB) as tx:
        tx.connection.execute("UPDATE patterns SET content = '{\"kind\":' WHERE id = 'b1'")  # type: ignore[attr-defined]
    before = dump(damaged)
    damaged.close()
    mended = SqliteStore(tmp_path / "mended")
    try:
        assert salvage(tmp_path / "damaged" / FILE_NAME, mended)["lost"] == 1
        assert patterns_in(dump(mended)) == patterns_in(before)
        assert mended.patterns.find(BOB, limit=9) == []
    finally:
        mended.close()


def test_times_and_numbers_keep_their_form(store: Store) -> None:
    keep(store, pattern())
    [record] = patterns_in(dump(store))
    assert (record["first_seen"], record["usd"], record["aliases"]) == ("2026-03-01T12:00:00.000000Z", 0.25, ["p9"])
    assert record["versions"][0]["at"] == T0.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
