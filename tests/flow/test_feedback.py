"""Feedback through the library: it moves a memory's rank a little, and nothing but use does."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Recollect, Scope
from recollect.errors import InvalidInput, NotFound
from recollect.recall.profile import PROFILES
from tests.flow.memory_fixture import HandClock

Open = Callable[..., Recollect]
FACTS = (
    "The walrus database listens on port 5433",
    "The walrus database is backed up on Sunday",
    "The walrus database has three replicas",
    "The walrus database is called arctic",
)
ASKED = "what about the walrus database"


def filled(memory: Recollect) -> dict[str, str]:
    """The ids of the facts, by their texts."""
    kept = {text: memory.remember(text, kind="fact").id for text in FACTS}
    memory.embed_pending()
    return kept


def told(memory: Recollect, **more: Any) -> list[tuple[str, float, float]]:
    hits = memory.recall(ASKED, tiers=("memory",), abstain=False, **more).hits
    return [(hit.content, hit.score, hit.parts.use) for hit in hits]


@pytest.mark.usefixtures("each_store")
def test_what_was_helpful_moves_up_and_what_did_harm_moves_down(memory: Recollect) -> None:
    ids = filled(memory)
    plain = told(memory)
    last, first = plain[-1][0], plain[0][0]
    for session in ("a", "b", "c"):
        memory.feedback(ids[last], "helpful", session)
    memory.feedback(ids[first], "harmful")
    after = told(memory)
    assert after[0][0] == last
    assert after[-1][0] == first
    scores = {text: score for text, score, _ in plain}
    for text, score, use in after:
        assert score == pytest.approx(scores[text] + PROFILES["balanced"].use * use)
    assert {use for text, _, use in after if text not in (first, last)} == {0.0}


def test_said_again_it_counts_once_and_taken_back_it_never_was(memory: Recollect) -> None:
    ids = filled(memory)
    plain = told(memory)
    one = ids[FACTS[0]]
    first = memory.feedback(one, "helpful", "s1", note="it was the port")
    assert first.usefulness == pytest.approx(1 / 3)
    assert memory.feedback(one, "helpful", "s1").usefulness == first.usefulness
    assert memory.usage(one).feedback[0].note == "it was the port"
    assert memory.feedback(one, "helpful", "s2").usefulness == pytest.approx(0.5)
    for session in ("s1", "s2"):
        memory.feedback(one, "helpful", session, undo=True)
    assert told(memory) == plain
    with pytest.raises(NotFound, match="nobody said"):
        memory.feedback(one, "helpful", "s1", undo=True)


def test_an_agents_word_counts_in_a_session_that_is_there(memory: Recollect) -> None:
    one = filled(memory)[FACTS[0]]
    memory.record("claude:s1", "user", "hello")
    told = memory.feedback(one, "helpful", "claude:s1", source="agent")
    assert [said.session for said in told.feedback] == ["claude:s1"]
    told = memory.feedback(one, "helpful", "claude:made-up", source="agent")
    assert {said.session for said in told.feedback} == {"claude:s1", None}


def test_a_verdict_fades_with_its_half_life(memory: Recollect, clock: HandClock) -> None:
    one = filled(memory)[FACTS[0]]
    memory.feedback(one, "helpful")
    clock.move(days=90)
    assert memory.usage(one).usefulness == pytest.approx(0.2)
    clock.move(days=9_000)
    assert memory.usage(one).usefulness == pytest.approx(0, abs=1e-9)


def test_a_question_about_the_past_knows_nothing_of_later_feedback(memory: Recollect, clock: HandClock) -> None:
    ids = filled(memory)
    then = clock.now
    plain = told(memory, as_of=then)
    clock.move(days=1)
    memory.feedback(ids[FACTS[2]], "harmful")
    assert told(memory, as_of=then) == plain


def test_a_profile_of_similarity_alone_shows_use_and_does_not_weigh_it(memory: Recollect) -> None:
    ids = filled(memory)
    plain = told(memory, profile="relevance")
    memory.feedback(ids[FACTS[3]], "helpful")
    after = told(memory, profile="relevance")
    assert [(text, score) for text, score, _ in after] == [(text, score) for text, score, _ in plain]
    assert {text: use for text, _, use in after}[FACTS[3]] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"verdict": "lovely"}, InvalidInput),
        ({"verdict": "success"}, InvalidInput),
        ({"session": "x" * 300}, InvalidInput),
        ({"source": "digest"}, InvalidInput),
        ({"memory_id": "no such"}, NotFound),
        ({"note": "x" * 2_000}, InvalidInput),
    ],
    ids=["verdict", "not for people", "session", "source", "memory", "note"],
)
def test_what_makes_no_sense_is_refused(memory: Recollect, given: dict[str, Any], error: type[Exception]) -> None:
    one = filled(memory)[FACTS[0]]
    with pytest.raises(error):
        memory.feedback(**{"memory_id": one, "verdict": "helpful", **given})
    assert memory.usage(one).feedback == ()


def test_secrets_are_taken_out_of_a_note(memory: Recollect) -> None:
    one = filled(memory)[FACTS[0]]
    key = "sk-ant-api03-" + "A1b2C3d4E5f6G7h8" * 5
    memory.feedback(one, "helpful", note=f"with {key} it worked")
    assert key not in str(memory.usage(one))


def test_forgetting_the_memory_leaves_nothing_of_it(memory: Recollect) -> None:
    one = filled(memory)[FACTS[0]]
    memory.feedback(one, "helpful", note="unforgettable")
    memory.forget(one)
    assert "unforgettable" not in str(list(memory.export()))
    assert memory.store.use.every(memory.scope, limit=9) == []


def test_show_tells_it(memory: Recollect) -> None:
    one = filled(memory)[FACTS[0]]
    memory.feedback(one, "cited", "s1")
    usage = memory.belief(one).usage
    assert usage is not None
    assert [(said.verdict, said.session) for said in usage.feedback] == [("cited", "s1")]


def test_the_half_life_is_more_than_nothing(opened: Open) -> None:
    memory = opened(use_half_life_days=0)
    with pytest.raises(InvalidInput, match="use_half_life_days"):
        memory.recall("anything")


# -- exposure ----------------------------------------------------------------------------------------------------------

EXPOSED = st.tuples(
    st.sampled_from(["recall", "context", "prompt", "get", "inject", "touch", "lay"]), st.integers(0, len(FACTS) - 1)
)
SAID = st.tuples(st.sampled_from(["helpful", "harmful", "cited"]), st.integers(0, len(FACTS) - 1))
_worlds = count()


def expose(memory: Recollect, ids: dict[str, str], how: str, which: int) -> None:
    """Have a memory recalled, shown or injected."""
    from recollect.store.ports.use import Injection

    text = FACTS[which]
    if how == "recall":
        memory.recall(text)
    elif how == "context":
        memory.context(text)
    elif how == "prompt":
        memory.prompt("chat", text)
    elif how == "get":
        memory.get(ids[text])
    elif how == "touch":
        memory.store.memories.touch(memory.scope, {ids[text]: 7}, at=memory._clock())
    elif how == "lay":
        memory.store.use.laid(memory.scope, {"ab" * 6: [ids[text]]}, at=memory._clock(), before=memory._clock())
    else:
        memory.record("chat", "user", "hello")
        shown = Injection(ids[text], "chat", memory._clock(), "claude", "prompt", "ab" * 6)
        memory.store.use.inject(memory.scope, [shown], before=memory._clock())


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=st.lists(st.one_of(EXPOSED, SAID), max_size=12))
def test_being_recalled_shown_or_injected_never_changes_a_rank(
    opened: Open, clock: HandClock, history: list[tuple[str, int]]
) -> None:
    """Two worlds with the same feedback; in one of them memories are also shown, again and again."""
    number = next(_worlds)
    shown, quiet = (opened(Scope("local", f"{name}-{number}")) for name in ("shown", "quiet"))
    ids, others = filled(shown), filled(quiet)
    for place, (what, which) in enumerate(history):
        if what in ("helpful", "harmful", "cited"):
            for memory, known in ((shown, ids), (quiet, others)):
                memory.feedback(known[FACTS[which]], what, f"s{place}")
        else:
            expose(shown, ids, what, which)
    assert told(shown) == told(quiet)
    for text in FACTS:
        assert shown.usage(ids[text]).usefulness == quiet.usage(others[text]).usefulness
    for memory in (shown, quiet):
        memory.close()
