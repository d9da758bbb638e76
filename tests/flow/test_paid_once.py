"""An answer of a language model is paid for once (P27): not by two processes, and not again when what follows fails."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from recollect import Recollect, Scope
from recollect.lock import alone
from recollect.pipeline import distilling
from recollect.pipeline.making import lock_of
from tests.flow.memory_fixture import HandClock
from tests.llm_fixture import Endpoint, completion

SAID = "The heron on the logo was painted by Ida."
ANSWER = {"kind": "fact", "content": SAID, "why": "", "tags": [], "importance": 0.5}


def asking(opened: Callable[..., Recollect], endpoint: Endpoint, *scope: Scope) -> Recollect:
    honest = {**ANSWER, "evidence": [{"event": "e2", "quote": SAID}]}
    endpoint.answers = [completion(json.dumps({"memories": [honest]}))]
    memory = opened(*scope, llm="openai", llm_model="m", llm_url=endpoint.url)
    memory.record_many([("chat:1", "user", "Who painted it?"), ("chat:1", "assistant", SAID)])
    return memory


def made(memory: Recollect) -> list[str]:
    return [one.content for one in memory.memories() if one.maker == "openai:m"]


def test_while_another_process_asks_nobody_asks_too(opened: Callable[..., Recollect], endpoint: Endpoint) -> None:
    memory = asking(opened, endpoint)
    with alone(lock_of(memory.settings.data_dir, memory.scope)) as free:
        assert free
        assert memory.distill().sessions == 0
    assert endpoint.calls == 0
    assert memory.distill().sessions == 1, "the session stayed due"
    assert (endpoint.calls, made(memory)) == (1, [SAID])


def test_one_owners_slow_answer_holds_up_nobody_else(opened: Callable[..., Recollect], endpoint: Endpoint) -> None:
    """P47."""
    ann = asking(opened, endpoint, Scope("acme", "ann"))
    eve = asking(opened, endpoint, Scope("other", "eve"))
    with alone(lock_of(ann.settings.data_dir, ann.scope)) as free:
        assert free
        assert (ann.distill().sessions, eve.distill().sessions) == (0, 1)
    assert (endpoint.calls, made(eve)) == (1, [SAID])


def test_what_fails_after_the_answer_does_not_ask_again(
    opened: Callable[..., Recollect], endpoint: Endpoint, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = asking(opened, endpoint)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("settling failed")

    with monkeypatch.context() as patched:
        patched.setattr(distilling, "settle", broken)
        assert memory.distill().failed
    for _ in range(5):
        clock.move(minutes=10)
        assert memory.distill().failed == {}
    assert endpoint.calls == 1
