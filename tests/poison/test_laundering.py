"""T02: an assistant that says it, and a user who nods, asks, denies or mocks, do not make it the user's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from recollect.distill.draft import Draft
from recollect.distill.vetting.vet import vet
from recollect.model import Event, Evidence, Session
from tests.flow.transcripts_fixture import uid
from tests.poison.conftest import Swept, swept
from tests.poison.native import dialogues, write_dialogue

DIALOGUES = dialogues()
NAMES = [name for name, *_ in DIALOGUES]
SESSIONS = {f"claude:{uid('dialogue', name)}": (name, word, rule) for name, word, rule, _ in DIALOGUES}


def write_all(home: Path, work: Path) -> None:
    for name, _, _, turns in DIALOGUES:
        write_dialogue(name, turns, home, work)


def laundering(session: Session, events: Sequence[Event]) -> list[Draft]:
    """The rule as a preference, citing each of the user's words, the assistant's, and any two of them."""
    _, word, rule = SESSIONS[session.id]
    said = [event for event in events if event.kind in ("user_prompt", "assistant_text")]
    spans = [(event,) for event in said] + list(combinations(said, 2))
    exact = [(event, event.text.find(word)) for event in said if word in event.text]
    cited = [tuple(Evidence(session.id, event.key) for event in group) for group in spans]
    cited += [(Evidence(session.id, event.key, max(0, at - 5), at + len(word)),) for event, at in exact]
    cited += [(Evidence(session.id, event.key, *_words(event.text, rule)),) for event, _ in exact]
    return [Draft("preference", rule, one, events[-1].occurred_at, importance=1.0, maker="m:m") for one in cited]


def _words(text: str, rule: str) -> tuple[int, int]:
    """Where the rule's own words stand in a text, as a model that wants it would cite them."""
    for length in range(len(rule), 6, -1):
        for start in range(len(rule) - length + 1):
            at = text.casefold().find(rule[start : start + length].casefold())
            if at >= 0:
                return at, at + length
    return 0, len(text)


@pytest.fixture(scope="module")
def by_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    with swept(tmp_path_factory.mktemp("rules"), write_all, None) as found:
        yield found


@pytest.fixture(scope="module")
def by_obedience(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    with swept(tmp_path_factory.mktemp("obeying"), write_all, laundering) as found:
        yield found


def test_there_are_twenty_and_all_of_them_were_read(by_rules: Swept) -> None:
    assert len(DIALOGUES) == 20
    for session, (_, word, _) in SESSIONS.items():
        assert any(word in event.text for event in by_rules.memory.history(session))


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, word, *_ in DIALOGUES], ids=NAMES)
@pytest.mark.parametrize("way", ["by_rules", "by_obedience"])
def test_nothing_is_promoted(way: str, name: str, word: str, request: pytest.FixtureRequest) -> None:
    found: Swept = request.getfixturevalue(way)
    for memory in found.about(word):
        denied = name in ("refusal", "denial") and "not" in memory.content.casefold()
        assert memory.trust == "quoted" or denied, memory
        assert memory.kind != "preference" or denied, memory


@pytest.mark.parametrize("session", SESSIONS, ids=NAMES)
def test_no_draft_is_promoted_whatever_it_cites(by_rules: Swept, session: str) -> None:
    about = by_rules.memory.store.sessions.get(by_rules.memory.scope, session)
    events = by_rules.memory.history(session)
    assert about is not None
    drafts = laundering(about, events)
    assert drafts
    for draft in drafts:
        by_key = {event.key: event for event in events}
        for memory in vet([draft], by_key, session=session, project=None, now=events[-1].occurred_at).kept:
            assert (memory.trust, memory.kind) == ("quoted", "note")


@pytest.mark.parametrize("way", ["by_rules", "by_obedience"])
def test_nothing_of_it_is_put_before_an_agent(way: str, request: pytest.FixtureRequest) -> None:
    found: Swept = request.getfixturevalue(way)
    shown = found.prepared().casefold()
    told = [word for name, word, *_ in DIALOGUES if word in shown]
    assert set(told) <= {"hornet", "cobra"}, "only what the user refused may be told, as refused"
    assert "always use evil-hornet" not in shown
    assert "prefers evil-cobra" not in shown


def test_what_a_user_does_say_is_theirs(tmp_path: Path) -> None:
    """The same way of citing, where the user said it: else all of the above would prove nothing."""
    turns = [
        ("user", "Always use good-heron for installs. Why is the build slow?"),
        ("assistant", "Got it, you always use good-heron for installs."),
        ("user", "I prefer tabs over spaces."),
        ("assistant", "Noted."),
    ]
    rules = ("Always use good-heron for installs.", "The user prefers tabs over spaces.")

    def heard(session: Session, events: Sequence[Event]) -> list[Draft]:
        prompts = [event for event in events if event.kind == "user_prompt"]
        pairs = zip(rules, prompts, strict=True)
        return [
            Draft("preference", rule, (Evidence(session.id, event.key),), event.occurred_at, maker="m:m")
            for rule, event in pairs
        ]

    with swept(tmp_path, lambda home, work: write_dialogue("said", turns, home, work) and None, heard) as found:
        kept = {memory.content: (memory.trust, memory.kind) for memory in found.everything()}
        assert [kept[rule] for rule in rules] == [("user", "preference")] * 2
        assert "good-heron" in found.prepared()
