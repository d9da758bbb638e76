"""Sessions become memories: once, with evidence, withdrawn when the session says otherwise, never against the user."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.model import Memory
from recollect.pipeline import distilling
from tests.flow.memory_fixture import HandClock
from tests.flow.transcripts_fixture import Agents, as_lines, claude_turn, grow, uid

pytestmark = pytest.mark.usefixtures("each_store")

S, T = uid("one"), uid("two")
RULE = "Never use mocks in this project, they hide real bugs."


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def told(agents: Agents, *said: str, session: str = S) -> Path:
    path = agents.claude_path(session)
    path.write_bytes(as_lines(line for n, each in enumerate(said) for line in claude_turn(session, n, each)))
    return path


def kept(memory: Recollect, **filters: object) -> list[Memory]:
    return [one for one in memory.memories(**filters) if one.maker == "rules"]


def about(memory: Recollect, word: str) -> list[Memory]:
    return [one for one in kept(memory) if word in one.content.casefold()]


def test_what_a_user_ruled_is_a_preference_with_its_exact_words(memory: Recollect, agents: Agents) -> None:
    told(agents, "Please add a test for the parser.", RULE)
    report = memory.sweep()
    assert report.memories["added"] >= 1
    (rule,) = about(memory, "mocks")
    assert (rule.kind, rule.origin, rule.trust, rule.session) == ("preference", "user", "user", f"claude:{S}")
    (span,) = rule.evidence
    event = next(each for each in memory.history(f"claude:{S}") if each.key == span.event)
    assert "Never use mocks" in event.text[span.start : span.end]
    assert rule.occurred_at == event.occurred_at
    assert rule.project is not None


def test_distilling_again_makes_nothing_twice(memory: Recollect, agents: Agents) -> None:
    path = told(agents, RULE)
    memory.sweep()
    before = kept(memory, history=True)
    assert memory.distill().sessions == 0
    grow(path, claude_turn(S, 5, "Now run the linter."))
    memory.sweep()
    assert [one.id for one in kept(memory, history=True) if one in before] == [one.id for one in before]
    assert len(about(memory, "mocks")) == 1


TAKEN_BACK = {
    "scrap that": (RULE, "No, scrap that."),
    "by name": (RULE, "Actually mocks are fine here, forget what I said about never using mocks."),
    "corrected": (
        "We use port 5433 for mocks of postgres in this project.",
        "No, that was wrong: we use port 5544 for mocks of postgres in this project.",
    ),
}


@pytest.mark.parametrize(("said", "later"), TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_what_the_rest_of_the_session_takes_back_is_retired_and_stays_history(
    memory: Recollect, agents: Agents, said: str, later: str
) -> None:
    path = told(agents, said)
    memory.sweep()
    (rule,) = about(memory, "mocks")
    grow(path, claude_turn(S, 5, later))
    assert memory.sweep().memories["retired"] >= 1
    assert rule.id not in [one.id for one in about(memory, "mocks")]
    ended = memory.get(rule.id)
    assert ended.superseded_at is not None
    assert [one.id for one in memory.memories(as_of=rule.occurred_at) if one.id == rule.id]


@pytest.mark.parametrize(("said", "later"), TAKEN_BACK.values(), ids=TAKEN_BACK)
def test_what_a_person_changed_is_theirs(memory: Recollect, agents: Agents, said: str, later: str) -> None:
    path = told(agents, said)
    memory.sweep()
    (rule,) = about(memory, "mocks")
    memory.update(rule.id, content="Never use mocks, except of the clock.")
    grow(path, claude_turn(S, 5, later))
    memory.sweep()
    assert memory.get(rule.id).superseded_at is None


def test_what_a_person_put_into_other_words_is_not_made_anew_beside_it(memory: Recollect, agents: Agents) -> None:
    path = told(agents, RULE)
    memory.sweep()
    (rule,) = about(memory, "mocks")
    memory.update(rule.id, content="No mocks, except of the clock.")
    grow(path, claude_turn(S, 5, "Now run the linter."))
    memory.sweep()
    assert [one.content for one in about(memory, "mocks")] == ["No mocks, except of the clock."]


@pytest.mark.parametrize("soft", [True, False], ids=["softly", "for good"])
def test_what_a_user_forgot_does_not_come_back(memory: Recollect, agents: Agents, soft: bool) -> None:
    path = told(agents, RULE)
    memory.sweep()
    memory.forget(about(memory, "mocks")[0].id, soft=soft)
    grow(path, claude_turn(S, 5, "Now run the linter."))
    memory.sweep()
    assert about(memory, "mocks") == []


def test_nothing_is_made_of_what_a_subagent_was_told(memory: Recollect, agents: Agents) -> None:
    told(agents, "Please look at the parser.")
    path = agents.subagent(S, "a1")
    path.write_bytes(as_lines({**line, "isSidechain": True, "agentId": "a1"} for line in claude_turn(S, 3, RULE)))
    memory.sweep()
    assert about(memory, "mocks") == []


def test_a_chat_is_distilled_too(memory: Recollect) -> None:
    memory.record("chat", "user", "I always want short answers without emojis.")
    memory.record("chat", "assistant", "Sure.")
    memory.distill()
    (wish,) = about(memory, "emojis")
    assert (wish.kind, wish.trust, wish.project) == ("preference", "user", None)


def test_what_a_program_records_is_distilled_behind_its_back(opened: Callable[..., Recollect]) -> None:
    """S4.6: the call returns, the memory comes."""
    memory = opened(background=True)
    memory.record("chat", "user", "I always want short answers without emojis.")
    memory.record("chat", "assistant", "Sure.")
    until = time.monotonic() + 20
    while not about(memory, "emojis") and time.monotonic() < until:
        time.sleep(0.05)
    assert [one.trust for one in about(memory, "emojis")] == ["user"]


def test_it_can_be_switched_off(opened: Callable[..., Recollect], agents: Agents) -> None:
    told(agents, RULE)
    memory = opened(distill=False)
    assert memory.sweep().memories == {}
    assert kept(memory) == []


def test_one_session_that_cannot_be_distilled_costs_only_itself(
    memory: Recollect, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(agents, "boom")
    told(agents, RULE, session=T)
    real = distilling.distill

    def broken(session, events, digest):  # type: ignore[no-untyped-def]
        if session.id == f"claude:{S}":
            raise RuntimeError("boom")
        return real(session, events, digest)

    monkeypatch.setattr(distilling, "distill", broken)
    report = memory.sweep()
    assert about(memory, "mocks")
    assert [problem["transcript"] for problem in report.problems] == [f"claude:{S}"]
    monkeypatch.undo()
    assert memory.distill().sessions == 1, "it stayed due"


def test_what_was_decided_last_is_what_holds(memory: Recollect, agents: Agents, clock: HandClock) -> None:
    told(agents, "We use port 5433 for postgres in this project.")
    memory.sweep()
    told(agents, "We use port 5544 for postgres in this project.", session=T)
    path = agents.claude_path(T)
    path.write_bytes(path.read_bytes().replace(b"2026-03-01", b"2026-03-02"))
    memory.sweep()
    assert [one.content for one in about(memory, "postgres")] == ["We use port 5544 for postgres in this project."]
    assert len([one for one in kept(memory, history=True) if "postgres" in one.content]) == 2


def test_of_a_very_long_session_the_end_is_read_and_what_was_made_of_the_rest_stays(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(distilling, "_PAGE", 4)
    memory.record("chat:1", "user", RULE)
    memory.distill()
    (rule,) = about(memory, "mocks")
    filler = [("chat:1", "assistant", f"Line {number} of the log says that nothing happened.") for number in range(30)]
    memory.record_many([*filler, ("chat:1", "user", "From now on, always answer in French.")])
    monkeypatch.setattr(distilling, "MOST_CHARS", 600)
    whole, history = [], memory.store.sessions.history

    def noted(*args: Any, **how: Any) -> Any:
        page = history(*args, **how)
        whole.append(len(page))
        return page

    monkeypatch.setattr(memory.store.sessions, "history", noted)
    assert memory.distill().sessions == 1
    assert max(whole) == 4
    assert sum(whole) < 20, "no more than is read"
    assert len(about(memory, "french")) == 1
    assert [one.id for one in about(memory, "mocks")] == [rule.id]
    assert memory.get(rule.id).superseded_at is None  # type: ignore[union-attr]
