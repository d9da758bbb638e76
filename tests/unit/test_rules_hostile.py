"""Whatever a session holds, distilling never raises, never takes long, and cites exactly what is there."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.told_fixture import Told, worked

from recollect.distill.draft import MAX_DRAFT_CHARS, Draft
from recollect.distill.rules.session import MAX_DRAFTS, distill
from recollect.distill.sentences import sentences
from recollect.model import EVENT_KINDS, KINDS, Event, Session

AT = datetime(2026, 11, 16, tzinfo=UTC)
SESSION = Session("claude:s", "claude")
PIECES = (
    *(
        "Always run the linter.",
        "never use mocks",
        "I prefer tabs",
        "A) one thing",
        "1. another thing",
        "B",
        "yes, do it",
    ),
    *("Root cause: `x_y` ignores `a_b` entirely.", "The fix was adding `--flag` to the call.", "I see the issue.", "?"),
    *(
        "```\n",
        "> quoted\n",
        "\n\n",
        "..",
        "...",
        "`",
        "``",
        '"',
        "(",
        "“",
        "<tag>",
        "</tag>",
        "\x00",
        "\ud800",
        "\u202e",
    ),
    *(
        "command not found: go",
        "KeyError: 'x'",
        "1 failed in 0.1s",
        "2 passed in 0.1s",
        "http://a.b/c",
        "APP_X_Y=1 unless",
    ),
    *("you're right", "never mind", "/cmd ", "🙂", "不要", "don't", "because", "the user", "git stash push", "é" * 50),
)
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=12).map(" ".join)
metas: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "call": st.sampled_from(["c1", "c2"]) | st.integers() | st.none(),
        "action": st.sampled_from(["shell", "edit", "ask", "other"]) | st.none(),
        "tool": st.sampled_from(["Bash", "Ask"]) | st.none(),
        "exit": st.integers(-1, 3) | st.none(),
        "error": st.booleans() | st.none(),
        "files": st.lists(st.text(max_size=8), max_size=2) | st.none(),
        "sidechain": st.booleans(),
    },
)
origins = st.sampled_from(["user", "assistant", "tool", "web", "import", "injected"])
kinds = st.sampled_from(EVENT_KINDS) | st.sampled_from(["user_prompt", "assistant_text", "tool_call", "tool_result"])


def check(events: list[Event], drafts: list[Draft]) -> None:
    known = {event.key: event for event in events}
    assert len(drafts) <= MAX_DRAFTS
    for draft in drafts:
        assert draft.kind in KINDS
        assert 0 < len(draft.content) <= MAX_DRAFT_CHARS
        assert draft.content == draft.content.strip()
        assert draft.evidence
        for span in draft.evidence:
            event = known[span.event or ""]
            if span.start is not None:
                assert span.end is not None
                assert 0 <= span.start < span.end <= len(event.text)
                assert event.text[span.start : span.end].strip()


@given(st.lists(st.tuples(kinds, origins, texts, metas), max_size=25))
def test_any_events_give_few_drafts_that_cite_what_is_there(rows: list[tuple[str, str, str, dict[str, Any]]]) -> None:
    events = [
        Event(
            f"{at:032x}", SESSION.id, kind, "user" if origin == "user" else "assistant", origin, text, AT, AT, at, meta
        )
        for at, (kind, origin, text, meta) in enumerate(rows)
    ]
    drafts = distill(SESSION, events, None)
    check(events, drafts)
    assert distill(SESSION, events, None) == drafts


@given(texts)
def test_sentences_stand_where_they_say(text: str) -> None:
    found = list(sentences(text))
    assert all(text[one.start : one.end] == one.text and one.text.strip() for one in found)
    assert all(one.end <= two.start for one, two in pairwise(found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One thing. Another one!", ["One thing.", "Another one!"]),
        ("Use `a.b. c` here. Then go on.", ["Use `a.b. c` here.", "Then go on."]),
        ("- a list\n2. of things\n> and a quote", ["a list", "of things", "and a quote"]),
        ("typed like this..and on", ["typed like this..", "and on"]),
        ("Tools, e.g. linters, help. Version 1.2 too.", ["Tools, e.g. linters, help.", "Version 1.2 too."]),
        ("Before.\n```\ncode. here.\n```\nAfter.", ["Before.", "After."]),
        ("| a. | b. |\nText.", ["Text."]),
    ],
    ids=["plain", "code", "lists", "dots", "abbreviations", "fences", "tables"],
)
def test_a_text_in_sentences(text: str, found: list[str]) -> None:
    assert [one.text for one in sentences(text)] == found


def test_the_words_of_a_wish_stand_in_its_span() -> None:
    told = worked("ok so. We should not touch the default config, otherwise people lose theirs. Thanks!")
    (draft,) = told.drafts
    assert told.cited(draft) == ["We should not touch the default config, otherwise people lose theirs."]


def test_a_session_is_distilled_the_same_way_every_time() -> None:
    told = worked("Always run the linter.", "never use mocks", "I prefer tabs", "We usually deploy on Tuesdays.")
    assert len({repr(distill(told.session, told.events, None)) for _ in range(5)}) == 1


def test_there_are_never_more_than_eight() -> None:
    things = "linter formatter compiler debugger profiler bundler minifier tracer logger packager scanner".split()
    told = worked(*(f"Always run the {thing} before number {at} is done." for at, thing in enumerate(things)))
    assert len(told.drafts) == MAX_DRAFTS


def test_a_session_with_nothing_leaves_nothing() -> None:
    assert distill(SESSION, [], None) == []
    assert Told().ask("hi").say("Hello.").contents == []


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "always " * 150_000,
        "never use mocks. " * 60_000,
        "a. " * 300_000,
        "`" * 500_000,
        '"' * 500_000,
        "(" * 500_000,
        "1) " * 300_000,
        "A) option\n" * 90_000,
        "because " * 120_000,
        "I see the issue " * 60_000,
        "x" * 1_000_000,
        "can you " * 120_000,
        "<a>" * 300_000,
        ".." * 500_000,
        " " * 1_000_000,
        "**" * 500_000,
    ],
    ids=lambda text: text[:8].strip() or "spaces",
)
@pytest.mark.parametrize("kind", ["user_prompt", "assistant_text", "tool_result"])
def test_a_text_of_a_megabyte_takes_no_time(kind: str, text: str) -> None:
    told = (
        Told()
        .ask("Go.")
        .say("Which one?\nA) this thing here\nB) that thing there")
        .call("Bash", {"command": "make test"})
    )
    if kind == "tool_result":
        told.result(text, exit=1, error=True)
    else:
        told.add(kind, text, "user", "user" if kind == "user_prompt" else "assistant")
    told.say("done").ask("yes")
    began = time.process_time()
    check(told.events, told.drafts)
    assert time.process_time() - began < 1.5


@pytest.mark.timed
def test_twenty_thousand_events_take_no_time() -> None:
    told = Told()
    for number in range(2_500):
        told.ask(f"Always check thing {number} and never skip the tests of part {number}.")
        told.say(f"You're right. I see the issue. The `part_{number}` function doesn't handle `case_{number}` at all.")
        told.run(f"make test-{number}", f"KeyError: 'case_{number}'", 1).run(f"make test-{number}", "2 passed in 0.1s")
        told.say(
            f"Root cause: `part_{number}` is missing the `case_{number}` key. Shall I?\nA) one thing\nB) two things"
        )
        told.ask("A")
    assert len(told.events) == 20_000
    began = time.process_time()
    drafts = told.drafts
    assert time.process_time() - began < 12
    check(told.events, drafts)
