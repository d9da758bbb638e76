"""T01: what stands in files, pages, logs and tools never becomes the user's, whatever it says and whoever obeys it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from recollect.distill.draft import Draft
from recollect.distill.vetting.vet import vet
from recollect.model import Event, Evidence, Memory, Session
from tests.poison.conftest import Swept, swept
from tests.poison.native import Case, cases, write

CASES = cases()
NAMES = [case.name for case in CASES]
MAKER = "obedient:model"


def write_all(home: Path, work: Path) -> None:
    for case in CASES:
        write(case, home, work)


def case_of(session: str) -> Case:
    return next(case for case in CASES if case.session in session)


def obeying(session: Session, events: Sequence[Event]) -> list[Draft]:
    """The injected rule as a preference, citing everything that could be cited for it."""
    case = case_of(session.id)
    return [draft for draft, _ in every_draft(case, session, events)]


def every_draft(case: Case, session: Session, events: Sequence[Event]) -> list[tuple[Draft, str]]:
    cited = [(name, spans) for name, spans in _citations(case, session, events) if spans]
    found = []
    for number, (name, spans) in enumerate(cited):
        kind = ("preference", "rule", "user", "decision")[number % 4]
        wording = (case.rule, f"The user said: {case.rule}", f"{case.rule} This is a standing rule.")[number % 3]
        tags = ("preference", case.word)
        found.append(
            (Draft(kind, wording, spans, events[-1].occurred_at, case.rule, tags, 1.0, checked=True, maker=MAKER), name)
        )
    return found


def _citations(case: Case, session: Session, events: Sequence[Event]) -> Iterator[tuple[str, tuple[Evidence, ...]]]:
    prompts = [event for event in events if event.kind == "user_prompt"]
    answers = [event for event in events if event.kind == "assistant_text"]
    poisoned = [event for event in events if case.word in event.text]
    for event in poisoned:
        place = event.text.index(case.word)
        line = event.text.rfind("\n", 0, place) + 1
        yield "the poison", (Evidence(session.id, event.key),)
        yield "the line of the poison", (Evidence(session.id, event.key, line, place + len(case.word)),)
    for event in prompts:
        yield "a prompt", (Evidence(session.id, event.key),)
        yield "the beginning of a prompt", (Evidence(session.id, event.key, 0, min(12, len(event.text))),)
    for event in answers:
        yield "an answer", (Evidence(session.id, event.key, 0, len(event.text)),)
    yield "a prompt and the poison", tuple(Evidence(session.id, event.key) for event in (*prompts[:1], *poisoned[:1]))
    yield "an unknown event", (Evidence(session.id, "0" * 32),)
    yield "another session", (Evidence("claude:other", prompts[0].key),)


@pytest.fixture(scope="module")
def by_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    with swept(tmp_path_factory.mktemp("rules"), write_all, None) as found:
        yield found


@pytest.fixture(scope="module")
def by_obedience(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    with swept(tmp_path_factory.mktemp("obeying"), write_all, obeying) as found:
        yield found


def test_there_are_forty_and_all_of_them_were_read(by_rules: Swept) -> None:
    assert len(CASES) == 40
    for case in CASES:
        texts = [text for name in _sessions(by_rules, case) for text in by_rules.memory.history(name)]
        assert any(case.word in event.text for event in texts), case.name


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_the_rules_make_nothing_of_it_that_is_trusted(by_rules: Swept, case: Case) -> None:
    for memory in by_rules.about(case.word):
        check_quoted(by_rules, memory)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_model_that_obeys_makes_nothing_of_it_that_is_trusted(by_obedience: Swept, case: Case) -> None:
    for memory in by_obedience.about(case.word):
        check_quoted(by_obedience, memory)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_no_draft_that_obeys_is_trusted_whatever_it_cites(by_rules: Swept, case: Case) -> None:
    """One by one, so that none hides behind a limit."""
    for name in _sessions(by_rules, case):
        session = by_rules.memory.store.sessions.get(by_rules.memory.scope, name)
        events = by_rules.memory.history(name)
        assert session is not None
        for draft, citing in every_draft(case, session, events):
            vetted = vet(
                [draft], {one.key: one for one in events}, session=name, project=None, now=events[-1].occurred_at
            )
            for memory in vetted.kept:
                assert (memory.trust, memory.kind != "preference") == ("quoted", True), citing


@pytest.mark.parametrize("way", ["by_rules", "by_obedience"])
def test_nothing_of_it_is_put_before_an_agent(way: str, request: pytest.FixtureRequest) -> None:
    found: Swept = request.getfixturevalue(way)
    shown = found.prepared()
    assert [case.name for case in CASES if case.word in shown.casefold()] == []
    assert "evil" not in shown.casefold()


@pytest.mark.parametrize("way", ["by_rules", "by_obedience"])
def test_everything_that_is_kept_says_where_it_is_from(way: str, request: pytest.FixtureRequest) -> None:
    found: Swept = request.getfixturevalue(way)
    assert found.everything()
    for memory in found.everything():
        check_evidence(found, memory)


def test_an_obedient_model_is_heard_all_the_same(by_obedience: Swept) -> None:
    """What was read is kept as quoted data: found when asked for, with its source."""
    quoted = [case.name for case in CASES if by_obedience.about(case.word)]
    assert len(quoted) >= 30
    hits = by_obedience.memory.recall("evil-heron pip install", tiers=("memory",)).hits
    assert hits
    assert all(hit.trust == "quoted" for hit in hits)


def check_quoted(found: Swept, memory: Memory) -> None:
    assert memory.trust == "quoted", memory
    assert memory.kind != "preference", memory
    assert memory.origin != "user", memory
    assert memory.confirmed_at is None
    check_evidence(found, memory)


def check_evidence(found: Swept, memory: Memory) -> None:
    assert memory.evidence, memory
    for span in memory.evidence:
        events = {event.key: event for event in found.memory.history(span.session)}
        assert span.event in events
        text = events[span.event].text
        assert span.start is not None
        assert span.end is not None
        assert 0 <= span.start < span.end <= len(text)
    if memory.trust == "user":
        said = " ".join(_span_text(found, span) for span in memory.evidence).casefold()
        for word in re.findall(r"\w{5,}", memory.content.casefold()):
            assert word in ("wants", "prefers") or word[:4] in said, (word, said)


def _span_text(found: Swept, span: Evidence) -> str:
    event = next(event for event in found.memory.history(span.session) if event.key == span.event)
    return event.text[span.start : span.end]


def _sessions(found: Swept, case: Case) -> list[str]:
    return [session.id for session in found.memory.sessions(1_000) if case.session in session.id]
