"""Answers of language models: read with patience, believed in nothing. Whatever the text, nothing is raised."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.draft import Draft
from recollect.distill.reply import Parsed, find_quote, parse_drafts, parse_gist, parse_verdict
from recollect.model import Event, Evidence

T0 = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = Event("k1", "chat:1", "user_prompt", "user", "user", "Please use port 5433 from now on.", T0, T0, 0)
ANSWERED = Event("k2", "chat:1", "assistant_text", "assistant", "assistant", "Done.", T0 + timedelta(hours=1), T0, 1)
NAMES = {"e1": SAID, "e2": ANSWERED}


def item(**changes: Any) -> dict[str, Any]:
    good = {
        "kind": "fact",
        "content": "Postgres listens on port 5433.",
        "why": "5432 is taken",
        "tags": ["db"],
        "importance": 0.7,
        "evidence": [{"event": "e1", "quote": "use port 5433"}],
    }
    return {name: value for name, value in {**good, **changes}.items() if value is not ...}


def parse(answer: Any, limit: int = 8) -> Parsed:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return parse_drafts(text, NAMES, maker="openai:m", limit=limit)


def one(**changes: Any) -> Draft:
    parsed = parse({"memories": [item(**changes)]})
    assert len(parsed.drafts) == 1, parsed.refused
    return parsed.drafts[0]


def test_an_item_becomes_a_draft() -> None:
    assert one() == Draft(
        kind="fact",
        content="Postgres listens on port 5433.",
        evidence=(Evidence("chat:1", "k1", 7, 20),),
        occurred_at=T0,
        why="5432 is taken",
        tags=("db",),
        importance=0.7,
        confidence=0.8,
        maker="openai:m",
    )


GOOD = json.dumps({"memories": [item()]})


@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}",
        f"Here is what I found:\n\n{GOOD}\n\nI hope this helps! {{}}",
        f"Some [notes] first {{not json}}: {GOOD}",
        json.dumps([item()]),
        json.dumps(item()),
        json.dumps({"memories": item()}),
        json.dumps({"items": [item()]}),
        json.dumps({"answer": {"memories": [item()]}}),
        json.dumps({"memories": json.dumps([item()])}),
        f"<think>{{}} maybe [1, 2]</think>\n{GOOD}",
        GOOD[:-1] + ", {",
        GOOD[:-2] + ', {"kind": "fact", "content": "cut of',
        f"\ufeff  {GOOD}",
        f"1. {json.dumps(item())}",
    ],
    ids=["plain", "fenced", "half a fence", "prose", "brackets in prose", "list", "object", "object for list", "items",
         "wrapped", "json in json", "thinking", "cut short", "cut off in an item", "byte order mark",
         "numbered"],
)  # fmt: skip
def test_the_same_item_is_found_whatever_stands_around_it(answer: str) -> None:
    assert parse(answer).drafts == [one()]


@pytest.mark.parametrize(
    ("given", "kind"),
    [("Fact", "fact"), (" decision ", "decision"), ("rule", "preference"), ("feedback", "lesson"), ("insight", "topic"),
     ("", "topic"), (None, "topic"), (3, "topic"), (..., "topic"), (["fact"], "topic")],
)  # fmt: skip
def test_an_unknown_kind_is_a_topic(given: Any, kind: str) -> None:
    assert one(kind=given).kind == kind


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ([f"t{n}" for n in range(20)], tuple(f"t{n}" for n in range(8))),
        ("#db, ports ,db", ("db", "ports")),
        (["ok", 3, None, "", "x" * 60, {"a": 1}, "ok"], ("ok",)),
        (None, ()),
        ({"a": 1}, ()),
        (..., ()),
    ],
)
def test_tags_are_at_most_eight_words(given: Any, tags: tuple[str, ...]) -> None:
    assert one(tags=given).tags == tags


@pytest.mark.parametrize(
    ("given", "importance"),
    [(0, 0.0), (1, 1.0), ("0.4", 0.4), (7, 0.7), (11, None), (-1, None), (True, None), ("high", None), (None, None),
     (..., None), (float("nan"), None), (float("inf"), None), ([1], None)],
)  # fmt: skip
def test_importance_is_a_number_or_left_open(given: Any, importance: float | None) -> None:
    assert one(importance=given).importance == importance


@pytest.mark.parametrize("given", [None, 3, "", "  ", ..., ["x"]])
def test_a_why_that_is_none_is_none(given: Any) -> None:
    assert one(why=given).why is None


def test_extra_fields_are_ignored() -> None:
    extra = {
        "id": "01a",
        "trust": "user",
        "origin": "user",
        "checked": True,
        "slot": "x",
        "maker": "said",
        "__class__": 1,
    }
    assert one(**extra) == one()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"content": ""}, "empty"),
        ({"content": " \u200b\n "}, "empty"),
        ({"content": "\x00\ud800 … !"}, "empty"),
        ({"content": None}, "empty"),
        ({"content": ["x"]}, "empty"),
        ({"content": ...}, "empty"),
        ({"content": "x" * 501}, "too long"),
        ({"content": "x" * 200_000}, "too long"),
        ({"evidence": []}, "cites nothing"),
        ({"evidence": ...}, "cites nothing"),
        ({"evidence": None}, "cites nothing"),
        ({"evidence": [{}]}, "cites nothing"),
        ({"evidence": [{"event": "e3", "quote": "use port 5433"}]}, "cites what is not there"),
        ({"evidence": [{"event": "e1"}, {"event": "e99"}]}, "cites what is not there"),
        ({"evidence": ["k1"]}, "cites what is not there"),
        ({"evidence": [["e1"]]}, "cites what is not there"),
        ({"evidence": [1]}, "cites what is not there"),
        ({"evidence": "chat:1"}, "cites what is not there"),
    ],
)
def test_an_item_that_cannot_stand_is_refused_and_counted(changes: dict[str, Any], why: str) -> None:
    parsed = parse({"memories": [item(**changes), item()]})
    assert parsed.refused == {why: 1}
    assert parsed.drafts == [one()]


@pytest.mark.parametrize("given", [["e1"], "e1", [{"id": "e1"}], [{"event": " E1 "}], ["e1", "e1"]])
def test_evidence_may_be_bare_names(given: Any) -> None:
    assert one(evidence=given).evidence == (Evidence("chat:1", "k1"),)


def test_what_rests_on_several_events_is_of_the_last() -> None:
    assert one(evidence=["e2", "e1"]).occurred_at == ANSWERED.occurred_at


@pytest.mark.parametrize(
    ("quote", "span"),
    [
        ("use port 5433", (7, 20)),
        ("  use\n port\t5433 ", (7, 20)),
        ("“use port 5433”", (7, 20)),
        ("use port 5434", (None, None)),
        ("use port .*", (None, None)),
        ("", (None, None)),
        ("us", (None, None)),
        (None, (None, None)),
        (3, (None, None)),
    ],
)
def test_a_quote_is_found_or_all_of_the_text_is_cited(quote: Any, span: tuple[int | None, int | None]) -> None:
    assert find_quote(SAID.text, quote) == span


def test_a_quote_over_line_ends_is_found() -> None:
    assert find_quote("We use\n  port 5433", "use port 5433") == (3, 18)


@pytest.mark.parametrize(
    "answer", ["", "no", "{", "[1, 2", "null", "3", '"text"', "```json\n```", "[" * 100_000, "\x00"]
)
def test_an_answer_without_items_is_nothing(answer: str) -> None:
    assert parse(answer).drafts == []


def test_items_that_are_no_objects_are_skipped_and_counted() -> None:
    parsed = parse(["x", 3, None, [item()], item()])
    assert (len(parsed.drafts), parsed.refused) == (1, {"not an object": 4})


def test_ten_thousand_items_are_clipped() -> None:
    parsed = parse([{"content": f"Fact number {n}.", "evidence": "e1"} for n in range(10_000)], limit=3)
    assert [draft.content for draft in parsed.drafts] == [f"Fact number {n}." for n in range(3)]
    assert parsed.refused["too many"] == 9_997


def test_one_item_a_line_is_a_list_too() -> None:
    lines = "\n".join(json.dumps(item(content=f"Fact number {n}.")) for n in range(3))
    assert len(parse(lines).drafts) == 3


def test_hidden_characters_do_not_come_through() -> None:
    assert one(content="Use \x1b[31mport\u202e 5433\x00\ud800.").content == "Use port 5433."


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*item(), "memories", "event", "quote", "gist", "verdict", "x"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(JSON, st.text(max_size=30), st.text(max_size=30))
def test_no_answer_raises(value: Any, before: str, after: str) -> None:
    for text in (json.dumps(value), before + json.dumps(value) + after, before):
        for draft in parse(text).drafts:
            assert 0 < len(draft.content) <= 500
            assert {span.event for span in draft.evidence} <= {"k1", "k2"}
        parse_gist(text)
        assert parse_verdict(text) in (None, "same", "newer", "contradiction", "unrelated")


@pytest.mark.parametrize(
    ("answer", "gist"),
    [
        ('{"gist": "The user asked."}', "The user asked."),
        ('```json\n{"gist": "The user asked."}\n```', "The user asked."),
        ("The user asked.\nThe assistant answered.", "The user asked. The assistant answered."),
        ('{\n "gist":\n "The user \\"asked\\". The assis', 'The user "asked". The assis'),
        ('{"gist": 3}', ""),
        ("{broken", ""),
        ("<html>", ""),
        ("", ""),
        ("x" * 5_000, "x" * 1_999 + "…"),
    ],
)
def test_a_gist_is_read_from_json_or_prose(answer: str, gist: str) -> None:
    assert parse_gist(answer) == gist


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [('{"verdict": "newer"}', "newer"), ("Newer.", "newer"), ('"same"', "same"), ("```\nunrelated\n```", "unrelated"),
     ('{"verdict": "delete"}', None), ("It is newer, delete the first", None), ("", None)],
)  # fmt: skip
def test_a_verdict_is_one_of_four_words(answer: str, verdict: str | None) -> None:
    assert parse_verdict(answer) == verdict
