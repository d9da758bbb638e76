"""One store for many scopes: cheap to open, nothing shared that should not be, every read counted."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import NotAllowed, QuotaExceeded, StoreBusy
from recollect.hookreply import PREPARED
from recollect.model import Scope
from recollect.models.tiny import TinyEmbedder
from recollect.pipeline.embedding import embed_waiting
from recollect.serving import VECTOR_SHARE, Serving, memory_bytes
from recollect.settings import load
from recollect.store.rows.vectormemory import VECTOR_MEMORY_BYTES
from tests.flow.memory_fixture import HandClock

ANN, BOB = Scope("acme", "ann"), Scope("acme", "bob")


@pytest.fixture
def open_serving(tmp_path: Path, clock: HandClock, each_store: str) -> Iterator[Callable[..., Serving]]:
    made: list[Serving] = []

    def begin(*, hosted: bool = True, **given: Any) -> Serving:
        settings = load(data_dir=tmp_path / "data", **given).settings
        made.append(Serving(settings, hosted=hosted, clock=clock, embedder=TinyEmbedder()))
        return made[-1]

    yield begin
    for one in made:
        one.close()


def test_memories_share_a_store_and_nothing_else(open_serving: Callable[..., Serving]) -> None:
    serving = open_serving()
    with serving.memory(ANN) as memory:
        memory.remember("the deploy is on fridays")
    assert serving.memory(ANN).recall("when is the deploy", abstain=False).hits
    assert not serving.memory(BOB).recall("when is the deploy", abstain=False).hits


def test_reads_of_many_memories_are_one_count(open_serving: Callable[..., Serving]) -> None:
    serving = open_serving()
    kept = serving.memory(ANN).remember("the deploy is on fridays")
    for _ in range(5):
        assert serving.memory(ANN).recall("when is the deploy", abstain=False).hits
    assert serving.memory(ANN).get(kept.id).access_count == 0
    serving.flush()
    assert serving.memory(ANN).get(kept.id).access_count == 5


def test_reads_are_written_down_while_it_runs(
    open_serving: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.serving.FLUSH_SECONDS", 0.02)
    monkeypatch.setattr("recollect.serving.COUNT_SECONDS", 0.1)
    serving = open_serving()
    kept = serving.memory(ANN).remember("the deploy is on fridays")
    serving.start()
    assert serving.memory(ANN).recall("when is the deploy", abstain=False).hits
    until = time.monotonic() + 20
    while serving.memory(ANN).get(kept.id).access_count == 0:
        assert time.monotonic() < until, "nobody wrote it down"
        time.sleep(0.02)


def test_a_question_is_answered_when_its_count_cannot_be_written_down(
    open_serving: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the count is written down later."""
    monkeypatch.setattr("recollect.serving.MOST_READS", 1, raising=False)
    monkeypatch.setattr("recollect.pipeline.reads._FULL", 1)
    serving = open_serving()
    kept = serving.memory(ANN).remember("the deploy is on fridays")

    def busy(*_: Any, **__: Any) -> None:
        raise StoreBusy("not now")

    with monkeypatch.context() as patch:
        patch.setattr(serving.store.memories, "touch", busy)
        for _ in range(3):
            assert serving.memory(ANN).recall("when is the deploy", abstain=False).hits
    serving.flush()
    assert serving.memory(ANN).get(kept.id).access_count == 3


def test_how_soon_an_answer_comes_tells_nobody_what_others_asked(open_serving: Callable[..., Serving]) -> None:
    """A question is embedded once a tenant."""
    serving = open_serving()
    embedder = serving.meaning.embedder()
    assert embedder is not None
    asked: list[str] = []
    embed = embedder.embed
    for scope in (ANN, Scope("other", "ann")):
        serving.memory(scope).remember("the deploy is on fridays")
    embed_waiting(serving.store, embedder)
    embedder.embed = lambda texts: asked.extend(texts) or embed(texts)  # type: ignore[func-returns-value,method-assign]
    for scope in (ANN, BOB, Scope("other", "ann")):
        serving.memory(scope).recall("when is the deploy")
    assert asked == ["when is the deploy"] * 2


def test_a_server_for_others_has_quotas_unless_the_operator_set_some(open_serving: Callable[..., Serving]) -> None:
    assert open_serving().store.quotas.get(ANN).limits.memories == 50_000
    own = open_serving(quota_memories=1)
    own.memory(ANN).remember("the deploy is on fridays")
    with pytest.raises(QuotaExceeded):
        own.memory(ANN).remember("the tests run at night")
    assert open_serving(hosted=False).store.quotas.get(ANN).limits.memories == 0


def test_only_the_user_of_this_machine_has_texts_for_agents(
    open_serving: Callable[..., Serving], tmp_path: Path
) -> None:
    hosted = open_serving()
    hosted.memory(hosted.owner).remember("the deploy is on fridays")
    hosted.memory(hosted.owner).prepare()
    hosted.flush()
    assert not (tmp_path / "data" / PREPARED).exists()
    local = open_serving(hosted=False)
    local.memory(BOB).prepare()
    assert not (tmp_path / "data" / PREPARED).exists()
    local.memory(local.owner).prepare()
    assert (tmp_path / "data" / PREPARED).is_dir()


def test_who_may_not_speak_says_nothing_in_the_users_name(open_serving: Callable[..., Serving]) -> None:
    serving = open_serving()
    mute, user = serving.memory(ANN, speaks=False), serving.memory(ANN)
    with pytest.raises(NotAllowed):
        mute.remember("I prefer tabs")
    said = user.remember("I prefer tabs to spaces", "preference")
    for change in ({"content": "I prefer spaces to tabs"}, {"why": "because"}, {"kind": "fact"}):
        with pytest.raises(NotAllowed):
            mute.update(said.id, **change)
    with pytest.raises(NotAllowed):
        mute.supersede(said.id, "I prefer spaces to tabs")
    with pytest.raises(NotAllowed):
        mute.confirm(mute.remember("tabs are four wide", origin="import").id)
    assert mute.update(said.id, tags=["style"]).tags == ("style",)


def test_a_talk_by_who_may_not_speak_makes_no_preference(open_serving: Callable[..., Serving]) -> None:
    serving = open_serving()
    for speaks, session in ((False, "api:mute"), (True, "api:heard")):
        memory = serving.memory(ANN, speaks=speaks)
        memory.record_many(
            [
                (session, "user", "I prefer tabs over spaces, always use tabs please."),
                (session, "assistant", "Understood, tabs it is."),
            ]
        )
        memory.distill([session])
        trusted = [one for one in memory.memories() if one.session == session and one.trust == "user"]
        assert bool(trusted) is speaks, session


@pytest.mark.timed
def test_opening_one_more_costs_next_to_nothing(open_serving: Callable[..., Serving]) -> None:
    """Under 50 µs of this thread's time; five times that before it fails, for a machine that is busy."""
    serving = open_serving()
    scopes = [Scope("acme", f"u{n}") for n in range(50)]
    for scope in scopes:
        serving.memory(scope)
    begun, before = time.thread_time(), threading.active_count()
    for _ in range(20):
        for scope in scopes:
            serving.memory(scope)
    assert (time.thread_time() - begun) / 1_000 < 250e-6
    assert threading.active_count() == before


def test_a_server_for_others_keeps_more_vectors_unless_the_operator_chose(open_serving: Callable[..., Serving]) -> None:
    own, hosted = open_serving(hosted=False).store.search.memory.room, open_serving().store.search.memory.room
    assert own == VECTOR_MEMORY_BYTES
    assert hosted == max(VECTOR_MEMORY_BYTES, memory_bytes() // VECTOR_SHARE)
    assert 0 < memory_bytes() < 2**50
    assert open_serving(vector_memory_bytes=7).store.search.memory.room == 7


def test_what_threads_share_is_loaded_before_there_are_threads(tmp_path: Path) -> None:
    """NumPy that two threads import at the same time may be left half there, and no request is answered after that."""
    code = (
        "import sys, pathlib\n"
        "from recollect.serving import Serving\n"
        "from recollect.settings import Settings\n"
        "assert 'numpy' not in sys.modules\n"
        "serving = Serving(Settings(data_dir=pathlib.Path(sys.argv[1])), hosted=True)\n"
        "assert 'numpy' in sys.modules\n"
        "serving.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "data")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("chosen", "worked"),
    [
        ({}, (3, 2)),
        ({"serve_threads": 9}, (9, 6)),
        ({"serve_threads": 9, "serve_at_once": 9}, (9, 9)),
        ({"serve_threads": 1}, (1, 1)),
    ],
    ids=["nothing chosen", "threads chosen", "both chosen", "one thread"],
)
def test_a_store_is_worked_on_by_few_at_once_unless_the_operator_chose(
    open_serving: Callable[..., Serving], chosen: dict[str, Any], worked: tuple[int, int]
) -> None:
    found = open_serving(**chosen).settings
    assert (found.serve_threads, found.serve_at_once) == worked
