"""Detecting keeps what each session shows: the second time only what changed is read, and the result is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recollect import Recollect
from recollect.ids import stable_key
from recollect.learn.page import page
from recollect.learn.shown import mark_of, packed, unpacked
from recollect.learn.values import Detection, Health, Penalty
from recollect.pipeline.detecting import Survey, survey
from recollect.pipeline.digests import digest_due
from tests.flow.memory_fixture import HandClock
from tests.flow.patterns_fixture import fill, keep, quiet
from tests.unit.learn.learning_fixture import START, Told, all_signals, stale_edit
from tests.unit.learn.test_needs import found_form, mended


@pytest.fixture
def reads(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The sessions whose events are read."""
    found: list[str] = []
    history = memory.store.sessions.history

    def noted(scope: Any, session: str, **how: Any) -> Any:
        found.append(session)
        return history(scope, session, **how)

    monkeypatch.setattr(memory.store.sessions, "history", noted)
    return found


def surveyed(memory: Recollect, *, kept: bool) -> Survey:
    return survey(memory.store, memory.scope, kept=kept)


def rich(memory: Recollect) -> None:
    """Sessions with signals of many kinds."""
    fill(memory)
    keep(memory, found_form("f"), found_form("g", day=1), mended("m"), mended("n", 2))
    refused = Told("r", day=3).ask("No, use tabs, never spaces").say().refuse("git push").say()
    keep(memory, refused, quiet("q", day=4))


def test_the_result_is_the_same_with_and_without_what_was_kept(memory: Recollect) -> None:
    rich(memory)
    fresh = surveyed(memory, kept=False)
    assert len({one.kind for one in fresh.signals}) >= 5
    assert surveyed(memory, kept=True) == fresh, "the first time, while it is kept"
    assert surveyed(memory, kept=True) == fresh, "and from what was kept"
    assert memory.detect() == memory.detect()


def test_the_second_time_nothing_is_read(memory: Recollect, reads: list[str]) -> None:
    rich(memory)
    reads.clear()
    first = memory.detect()
    assert len(set(reads)) == first.sessions
    reads.clear()
    assert memory.detect() == first
    assert reads == []


def test_only_what_changed_is_read_again(memory: Recollect, reads: list[str], clock: HandClock) -> None:
    rich(memory)
    memory.detect()
    keep(memory, stale_edit("new", day=5))
    grown = stale_edit("a").ask("Go on").edit(output="String to replace not found in file.", failed=True).edit()
    grown.session = replace(grown.session, project="app")
    events = [replace(event, key=stable_key(event.key), way="sweep") for event in grown.events]
    memory.store.captures.ingest(memory.scope, grown.session, events)
    reads.clear()
    before_digest = surveyed(memory, kept=True)
    assert sorted(set(reads)) == ["claude:a", "claude:new"]
    assert before_digest == surveyed(memory, kept=False), "also while its digest is out of date"
    digest_due(memory.store, memory.scope, lambda: START)
    assert surveyed(memory, kept=True) == surveyed(memory, kept=False)


def test_an_event_that_was_written_anew_is_read_anew(memory: Recollect) -> None:
    """In place, with the same number of events, and a digest of the same moment."""
    rich(memory)
    memory.detect()
    told = stale_edit("a")
    told.session = replace(told.session, project="app")
    events = [replace(event, key=stable_key(event.key), way="sweep") for event in told.events]
    changed = [replace(one, text="ok") if one.meta.get("error") else one for one in events]
    memory.store.captures.ingest(memory.scope, told.session, changed)
    digest_due(memory.store, memory.scope, lambda: START)
    assert surveyed(memory, kept=True) == surveyed(memory, kept=False)


def test_what_is_damaged_is_read_again(memory: Recollect) -> None:
    rich(memory)
    fresh = surveyed(memory, kept=True)
    for text in ("", "{}", '{"signals":[[1]],"health":[1,[],"x"]}', '{"signals":[],"health":[]}', "[", "null"):
        states = memory.store.signals.states(memory.scope)
        kept = {name: (state, state.mark or "", text) for name, state in states.items()}
        memory.store.signals.keep(memory.scope, kept)
        assert surveyed(memory, kept=True) == fresh


def test_what_a_session_showed_goes_with_it(memory: Recollect) -> None:
    """P13: not a word of it stays."""
    secret = Told("s").ask("Fix it").run("tide zebrafinch", "fatal: the zebrafinch ledger is locked by a writer", 2)
    keep(memory, secret.edit().run("tide zebrafinch"))
    memory.detect()
    assert "zebrafinch" in memory.store.signals.kept(memory.scope, ["claude:s"])["claude:s"][1]
    assert memory.forget(session="claude:s").complete
    for file in memory.settings.data_dir.rglob("*"):
        assert not file.is_file() or b"zebrafinch" not in file.read_bytes(), file.name


def test_text_and_back_is_the_same() -> None:
    told = found_form("f", day=1)
    signals = [replace(one, at=one.at + timedelta(microseconds=7)) for one in all_signals(told, stale_edit("f"))]
    mine = [replace(one, session=told.session.id, root=told.session.id) for one in signals]
    health = Health(told.session.id, "claude", 83, (Penalty("retries", 2, 6),), "fail")
    assert unpacked(told.session, packed(mine, health)) == (mine, health)


def test_the_mark_names_all_that_signals_are_made_from(memory: Recollect) -> None:
    keep(memory, quiet("q"))
    state = memory.store.signals.states(memory.scope)["claude:q"]
    (session,) = memory.sessions()
    marks = {mark_of(session, state)}
    marks |= {mark_of(replace(session, **{name: "other"}), state) for name in ("project", "parent", "cwd", "flavor")}
    marks |= {mark_of(session, state._replace(**{name: 9})) for name in ("version", "covers", "last")}
    assert len(marks) == 8


def test_the_bars_of_time_say_what_their_colours_mean(memory: Recollect) -> None:
    rich(memory)
    found: Detection = memory.detect()
    shown = page(found, START).partition("<h2>Time it cost</h2>")[2].partition("<svg")[0]
    assert '<i class="c0"></i>in one agent' in shown
    assert '<i class="c1"></i>in several agents' in shown
