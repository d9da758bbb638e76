"""Gists: one a session with its coverage, made again after it grew, in the background, one at a time (S2.17–S2.27)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import pytest

from recollect import Recollect
from recollect.distill.gist import Utterance
from recollect.errors import NotFound
from tests.flow.memory_fixture import HandClock


def test_a_gist_covers_what_was_said_so_far(memory: Recollect) -> None:
    memory.record("s", "user", "I want to plant three apple trees this autumn")
    assert memory.unsummarized("s") == 1
    gist = memory.summarize("s")
    assert gist is not None
    assert (gist.content, gist.covers, gist.maker) == (
        "The user wants to plant three apple trees this autumn.",
        0,
        "extractive",
    )
    assert memory.unsummarized("s") == 0
    memory.record("s", "user", "And two pear trees next year")
    assert memory.unsummarized("s") == 1
    again = memory.summarize("s")
    assert again is not None
    assert again.covers == 1
    assert memory.gist("s") == again


def test_gists_of_other_sessions_can_be_recalled(memory: Recollect) -> None:
    memory.record("garden", "user", "I want to plant apple trees this autumn")
    memory.record("kitchen", "user", "I want to bake apple pie on Sunday")
    for session in ("garden", "kitchen"):
        memory.summarize(session)
    hits = memory.recall("apple", tiers=("gist",), exclude_session="kitchen").hits
    assert [(hit.tier, hit.session) for hit in hits] == [("gist", "garden")]


def test_only_sessions_that_grew_enough_or_went_quiet_are_due(
    opened: Callable[..., Recollect], clock: HandClock
) -> None:
    memory = opened(summarize_after=4)
    memory.record("short", "user", "I like quiet mornings", clock())
    for n in range(5):
        memory.record("long", "user", f"Message number {n} about the harbour project", clock())
    memory.maintain()
    assert memory.gist("long") is not None
    assert memory.gist("short") is None
    clock.move(hours=1)
    memory.maintain()
    assert memory.gist("short") is not None


def test_an_unknown_session_is_not_found(memory: Recollect) -> None:
    with pytest.raises(NotFound, match="no session"):
        memory.summarize("nowhere")


class Slow:
    """A summarizer that takes its time and counts how many of it run at once."""

    name = "slow"

    def __init__(self) -> None:
        self.running = self.most = self.calls = 0
        self.started = threading.Event()
        self.go = threading.Event()

    def summarize(self, utterances: Sequence[Utterance]) -> str:
        self.running += 1
        self.calls += 1
        self.most = max(self.most, self.running)
        self.started.set()
        self.go.wait(5)
        self.running -= 1
        return "a gist"


def test_a_gist_is_never_made_twice_at_once(opened: Callable[..., Recollect]) -> None:
    slow = Slow()
    one, other = opened(summarizer=slow), opened(summarizer=slow)
    one.record("s", "user", "something was said")
    thread = threading.Thread(target=one.summarize, args=("s",))
    thread.start()
    assert slow.started.wait(5)
    assert other.summarize("s") is None
    slow.go.set()
    thread.join()
    assert (slow.calls, slow.most) == (1, 1)
    assert other.gist("s") is not None


def test_a_maker_that_dies_does_not_block_the_session(opened: Callable[..., Recollect], clock: HandClock) -> None:
    memory = opened()
    memory.record("s", "user", "something was said")
    assert memory.store.gists.lease(memory.scope, "s", now=clock(), until=clock.now.replace(hour=13))
    assert memory.summarize("s") is None
    clock.move(hours=2)
    assert memory.summarize("s") is not None


def test_a_model_can_be_plugged_in(opened: Callable[..., Recollect]) -> None:
    class Poet:
        name = "poet"

        def summarize(self, utterances: Sequence[Utterance]) -> str:
            return f"An ode to {len(utterances)} lines."

    memory = opened(summarizer=Poet())
    memory.record_many([("s", "user", "first line"), ("s", "assistant", "second line")])
    gist = memory.summarize("s")
    assert gist is not None
    assert (gist.content, gist.maker) == ("An ode to 2 lines.", "poet")


def wait_for(ready: Callable[[], bool]) -> bool:
    for _ in range(200):
        if ready():
            return True
        time.sleep(0.02)
    return False


def test_vectors_and_gists_follow_in_the_background(opened: Callable[..., Recollect]) -> None:
    memory = opened(background=True, summarize_after=2)
    memory.record_many([("s", "user", "The harbour crane is yellow"), ("s", "assistant", "Noted")])
    assert memory.recall("harbour crane").hits
    assert wait_for(lambda: memory.gist("s") is not None and memory.health().pending == 0)
    assert memory.recall("harbour crane").mode == "hybrid"


def test_a_failing_background_does_not_touch_the_caller(
    opened: Callable[..., Recollect], caplog: pytest.LogCaptureFixture
) -> None:
    """S4.10: errors are logged, not raised, and never hold content."""

    class Broken:
        name = "broken"

        def summarize(self, utterances: Sequence[Utterance]) -> str:
            raise RuntimeError("no model today")

    memory = opened(background=True, summarize_after=1, summarizer=Broken())
    memory.record("s", "user", "private matter")
    assert wait_for(lambda: "background work failed: RuntimeError" in caplog.text)
    assert memory.history("s")[0].content == "private matter"
    assert "private matter" not in caplog.text
    assert "no model today" not in caplog.text


def test_many_threads_can_use_one_memory(opened: Callable[..., Recollect]) -> None:
    """S2.8."""
    memory = opened(background=True)
    failures: list[Exception] = []

    def work(n: int) -> None:
        try:
            for i in range(15):
                memory.record(f"s{n}", "user", f"thread {n} says {i}")
                memory.remember(f"thread {n} knows {i}")
                memory.recall(f"thread {n}")
                memory.history(f"s{n}")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(memory.sessions()) == 6
    assert len(memory.memories(limit=1_000)) == 90
