"""Events come at least once, and have the effect of once; none is lost, and none holds the others up (P22 to P25)."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import recollect
from recollect import Recollect, Scope
from recollect.bus.consumer import ATTEMPTS, Patience
from recollect.bus.stream import Entry
from recollect.errors import InvalidInput, NotFound, StoreBusy, StoreFull, StoreUnavailable
from tests.bus.conftest import QUICK, Bus, event, until
from tests.flow.memory_fixture import IN_A_FILE


def numbered(first: int, last: int) -> list[dict[str, object]]:
    return [event(f"Message {n}.", id=f"m{n}", session_id=f"chat:{n % 7}") for n in range(first, last)]


def everything_said(bus: Bus) -> list[str]:
    return sorted(text for n in range(7) for text in bus.said(f"chat:{n}"))


class Failing:
    """The memory of a scope, but storing what holds a word raises; counts how often that was tried."""

    def __init__(self, bus: Bus, error: Exception, word: str = "poison") -> None:
        self.bus, self.error, self.word = bus, error, word
        self.tried: list[float] = []

    def __call__(self, scope: Scope) -> Recollect:
        memory, store = self.bus.memory(scope), self.bus.store
        append = store.sessions.append

        class Sessions:
            def append(_, scope, events, titles):  # type: ignore[no-untyped-def]  # noqa: N805
                if any(self.word in one.text for one in events):
                    self.tried += [time.monotonic()] if len(events) == 1 else []
                    raise self.error
                return append(scope, events, titles)

        class Stores:
            sessions = Sessions()
            notes = store.notes

        memory.store = Stores()  # type: ignore[assignment]
        return memory


# -- P22: notifications are only a hint --------------------------------------------------------------------------------


def test_with_every_notification_dropped_one_round_brings_all(bus: Bus) -> None:
    """P22: nobody listens on the channel, and no reader waits for news; the next look at the stream finds all."""
    reader = bus.drain()
    for payload in numbered(0, 50):
        bus.redis.publish(bus.settings.redis_channel, "gone")
        bus.add(payload)
    assert reader.step(0) == 50
    assert len(everything_said(bus)) == 50


# -- P23: nothing unread is trimmed ------------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize("total", [1_000, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_thousand_events_wait_for_a_group_that_was_away(bus: Bus, total: int) -> None:
    """P23, on each store."""
    check_waiting(bus, total)


@pytest.mark.timed
@IN_A_FILE
def test_ten_thousand_events_wait_for_a_group_that_was_away(bus: Bus) -> None:
    """P23: 10,000 of 10,000."""
    check_waiting(bus, 10_000)


def check_waiting(bus: Bus, total: int) -> None:
    """Two readers, which trim as they go, find all of it; afterwards the stream is short."""
    bus.stream.ensure()
    with bus.redis.pipeline(transaction=False) as many:
        for payload in numbered(0, total):
            many.xadd(bus.settings.redis_stream, {"event": json.dumps(payload)})
        assert len(many.execute()) == total
    readers = [bus.consumer(), bus.consumer()]
    for reader in readers:
        reader.stream._keep = 0
    began = time.monotonic()
    while bus.stream.figures().lag:
        for reader in readers:
            reader._trimmed_at = 0.0
            reader.step(0)
        assert time.monotonic() - began < 240
    assert everything_said(bus) == sorted(f"Message {n}." for n in range(total))
    bus.stream._keep = 0
    bus.stream.trim()
    assert bus.redis.xlen(bus.settings.redis_stream) <= 1


@IN_A_FILE
def test_trimming_stops_below_what_is_pending_or_unread_in_any_group(bus: Bus) -> None:
    ids = bus.add(*numbered(0, 10))
    bus.stream.ensure()
    bus.stream._keep = 0
    bus.redis.xgroup_create(bus.settings.redis_stream, "others", id="0")
    entries = bus.stream.read("me", 10)
    bus.stream.done([one.id for one in entries])
    assert bus.stream.trim() == 0, "the other group has read nothing"
    bus.redis.xreadgroup("others", "it", {bus.settings.redis_stream: ">"}, count=6)
    bus.redis.xack(bus.settings.redis_stream, "others", *ids[:3], ids[4])
    assert bus.stream.trim() == 3, "the fourth is pending there"
    bus.redis.xack(bus.settings.redis_stream, "others", ids[3], ids[5])
    assert bus.stream.trim() == 2, "what was given last stays"
    assert bus.redis.xrange(bus.settings.redis_stream)[0][0].decode() == ids[5]


@IN_A_FILE
def test_a_short_stream_is_left_as_it_is(bus: Bus) -> None:
    bus.add(*numbered(0, 10))
    bus.drain()
    assert bus.stream.trim() == 0
    assert bus.redis.xlen(bus.settings.redis_stream) == 10


def trims_by_length(text: str) -> list[int]:
    """Calls that cut a stream by its length: they would take what nobody has read."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("xadd", "xtrim"):
            named = {word.arg for word in node.keywords}
            placed = len(node.args) > 3 if node.func.attr == "xadd" else len(node.args) > 1
            if "maxlen" in named or None in named or placed:
                found.append(node.lineno)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.upper() == "MAXLEN":
            found.append(node.lineno)
    return found


def test_no_stream_is_ever_cut_by_its_length() -> None:
    """P23, statically."""
    texts = {str(path): path.read_text() for path in Path(recollect.__file__).parent.rglob("*.py")}
    streams = {name: text for name, text in texts.items() if "xadd" in text.lower() or "xtrim" in text.lower()}
    assert len(streams) >= 2
    assert {name: lines for name, text in streams.items() if (lines := trims_by_length(text))} == {}
    assert trims_by_length('r.xadd(s, {}, maxlen=5)\nr.xtrim(s, 5)\nr.execute_command("XTRIM", s, "maxlen", 5)')


# -- P24: a dead reader's work is taken over ---------------------------------------------------------------------------


@pytest.mark.timed
def test_what_a_reader_left_is_taken_over_and_stored_once(bus: Bus) -> None:
    """P24: one reader ends after it read, one after it stored; the next has all of it within idle and one poll."""
    bus.add(*numbered(0, 20))
    gone, stored = bus.consumer(), bus.consumer()
    gone.stream.ensure()
    gone._hand = {one.id: one for one in gone.stream.read(gone.name, 10)}
    stored._hand = {one.id: one for one in stored.stream.read(stored.name, 10)}
    stored.stream.done = lambda ids: None  # type: ignore[method-assign]  # it ends before Redis hears of it
    stored.work()
    left = time.monotonic()
    gone._hand, stored._hand, stored._stored = {}, {}, []
    reader = bus.drain()
    assert QUICK.idle <= time.monotonic() - left < QUICK.idle + QUICK.poll + 5
    assert everything_said(bus) == sorted(f"Message {n}." for n in range(20))
    assert bus.counts["taken_over"] == 20
    reader.stop()
    assert bus.stream.figures().pending == 0


@IN_A_FILE
def test_a_reader_that_lives_keeps_what_it_is_at(bus: Bus) -> None:
    bus.add(*numbered(0, 3))
    slow = bus.consumer()
    slow.stream.ensure()
    slow.take()
    time.sleep(QUICK.idle * 1.5)
    slow._held_at = 0.0
    slow._stay()
    assert bus.stream.take_over("other", QUICK.idle) is None
    slow.work()
    assert len(everything_said(bus)) == 3


def test_what_is_taken_over_was_left_for_three_times_as_long_as_an_event_may_take() -> None:
    assert Patience().idle >= 3 * Patience().handler
    with pytest.raises(InvalidInput):
        Patience(handler=10, idle=29)


@IN_A_FILE
def test_a_reader_that_is_told_to_end_leaves_the_rest_to_others_at_once(bus: Bus) -> None:
    bus.add(*numbered(0, 5))
    ending = bus.consumer(patience=Patience())  # with the real times: nobody waits 90 seconds here
    ending.stream.ensure()
    ending.take()
    ending.stop()
    assert bus.stream.figures().pending == 5
    bus.drain(bus.consumer(patience=Patience(poll=0.0)))
    assert len(everything_said(bus)) == 5


CHILD = """
import sys, time
from pathlib import Path
from dataclasses import replace
from recollect import Recollect
from recollect.bus.consumer import Consumer, Patience
from recollect.settings import load
from recollect.store.opening import open_store
settings = replace(load(data_dir=Path(sys.argv[1])).settings, redis_stream=sys.argv[3])
store = open_store(settings)
def memory_of(scope):
    return Recollect(store, scope, settings, embedder=None, background=False)
patience = Patience(handler=0.05, idle=0.2, poll=0.05, pause=0.01)
print("ready", flush=True)
Consumer(sys.argv[2], memory_of, settings, patience=patience, bridge=False).run()
"""


@pytest.mark.parametrize("each", [60, pytest.param(400, marks=pytest.mark.soak)])
def test_readers_killed_again_and_again_lose_and_double_nothing(bus: Bus, tmp_path: Path, each: int) -> None:
    """P24 with kill -9: three readers, each ended at whatever it was doing."""
    total = 3 * each
    for first in range(0, total, each):
        words = [sys.executable, "-c", CHILD, str(tmp_path / "data"), bus.url, bus.settings.redis_stream]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        bus.add(*numbered(first, first + each))
        until(lambda first=first: len(everything_said(bus)) > first)  # in the middle of it
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    bus.drain(seconds=30)
    assert everything_said(bus) == sorted(f"Message {n}." for n in range(total))


# -- P25: poison -------------------------------------------------------------------------------------------------------


@IN_A_FILE
@pytest.mark.parametrize("error", [RuntimeError("poison text"), StoreBusy()], ids=["a mistake", "always busy"])
def test_one_bad_event_in_a_thousand_costs_only_itself(bus: Bus, error: Exception) -> None:
    """P25: 999 stored, five attempts with longer and longer pauses, one dead letter with its reason; requeue works."""
    events = numbered(0, 1_000)
    events[500] = event("poison", id="bad")
    bus.add(*events)
    failing = Failing(bus, error)
    bus.drain(bus.consumer(failing))
    assert len(failing.tried) == ATTEMPTS
    assert len(everything_said(bus)) == 999
    (letter,) = bus.stream.dead()
    assert (letter.attempts, letter.cut) == (ATTEMPTS, False)
    assert letter.reason
    assert "poison" not in letter.reason
    bus.stream.requeue(letter.id)
    bus.drain()
    assert bus.stream.dead() == []
    assert "poison" in bus.said("chat:1")
    assert len(everything_said(bus)) == 1_000


@IN_A_FILE
def test_each_attempt_comes_after_twice_the_pause_and_waits_for_no_news(bus: Bus) -> None:
    """P25: it does not spin, and a quiet stream does not put the next attempt off."""
    bus.add(event("poison"))
    failing = Failing(bus, RuntimeError())
    reader = bus.consumer(failing, patience=replace(QUICK, pause=0.05, poll=4.0, idle=60.0))
    reader.start()
    until(lambda: bus.counts["dead"] == 1, 14)  # four waits for news are longer
    gaps = [later - before for before, later in pairwise(failing.tried)]
    assert [gap >= 0.05 * 2**number for number, gap in enumerate(gaps)] == [True] * 4


@IN_A_FILE
def test_what_can_never_be_stored_is_tried_once(bus: Bus) -> None:
    bus.add(event(event_type="no.such"), b"\x00", event("x" * 20_000, "memory.note"))
    bus.add(event(user_id="@all"))
    bus.drain()
    assert [(letter.code, letter.attempts) for letter in reversed(bus.stream.dead())] == [
        ("bad_message", 1),
        ("bad_message", 1),
        ("bad_message", 1),
        ("scope_error", 1),
    ]
    assert bus.counts == {"dead": 4}


@IN_A_FILE
def test_an_event_that_ends_its_readers_is_given_up_and_the_others_are_not(bus: Bus) -> None:
    """Six readers in a row end at it: it is a dead letter, and what lay beside it is stored."""
    (bad,) = bus.add(event("Ends whoever reads it."))
    bus.add(*numbered(0, 3))
    bus.stream.ensure()
    bus.stream.read("first", 10)  # and ends, with all four in hand
    for number in range(ATTEMPTS):
        time.sleep(QUICK.idle)
        taken = bus.stream.take_over(f"next{number}", QUICK.idle)
        assert taken is not None
        assert taken.id == bad
    bus.drain()
    (letter,) = bus.stream.dead()
    assert (letter.entry, letter.code) == (bad, "abandoned")
    assert len(everything_said(bus)) == 3


@IN_A_FILE
@pytest.mark.parametrize("error", [StoreUnavailable(), StoreFull()], ids=["away", "full"])
def test_a_store_that_is_away_is_waited_for_and_no_attempt_counts(bus: Bus, error: Exception) -> None:
    bus.add(*numbered(0, 5))
    away = True

    def memory_of(scope: Scope) -> Recollect:
        if away:
            raise error
        return bus.memory(scope)

    reader = bus.consumer(memory_of)
    reader.start()
    until(lambda: bus.counts["waited"] >= 3)
    away = False
    until(lambda: bus.counts["stored"] == 5)
    assert bus.stream.dead() == []
    assert bus.counts["failed"] == 0


@IN_A_FILE
def test_an_entry_that_somebody_deleted_holds_nobody_up(bus: Bus) -> None:
    ids = bus.add(*numbered(0, 3))
    bus.stream.ensure()
    bus.stream.read("gone", 3)
    bus.redis.xdel(bus.settings.redis_stream, ids[1])
    bus.drain()
    assert len(everything_said(bus)) == 2


@IN_A_FILE
def test_too_large_an_event_is_cut_and_cannot_come_back(bus: Bus) -> None:
    bus.add(b"x" * 3_000_000)
    bus.drain()
    (letter,) = bus.stream.dead()
    assert letter.cut
    assert len(letter.event) == 1_048_576
    with pytest.raises(NotFound):
        bus.stream.requeue(letter.id)
    for wrong in ("1-1", "no id", ""):
        with pytest.raises(NotFound):
            bus.stream.requeue(wrong)


@IN_A_FILE
def test_the_figures_tell_what_waits_and_since_when(bus: Bus) -> None:
    assert bus.stream.figures().lag == 0
    bus.add(*numbered(0, 7))
    assert (bus.stream.figures().waiting, bus.stream.figures().pending) == (7, 0)
    reader = bus.consumer()
    reader.stream.ensure()
    bus.stream.read("gone", 2)
    time.sleep(0.05)
    figures = bus.stream.figures()
    assert (figures.waiting, figures.pending, figures.lag, figures.readers) == (5, 2, 7, 1)
    assert figures.oldest_seconds >= 0.05
    gauges = dict(reader.gauges())
    assert gauges.pop("bus_oldest_seconds") >= 0.05
    assert gauges == {"bus_lag": 7.0, "bus_dead": 0.0}
    assert reader.health()["oldest_seconds"] >= 0.05
    bus.drain()
    assert (bus.stream.figures().lag, bus.stream.figures().oldest_seconds) == (0, 0.0)


def test_the_time_of_a_made_up_id_is_the_end_of_time() -> None:
    assert Entry("99999999999999999-0", b"").added_at.year == 9999
