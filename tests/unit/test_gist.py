"""A session in a few sentences without a model: third person, chunked and merged, never empty words (S2.23, S2.24)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.gist import CHUNK_CHARS, MAX_SENTENCES, ExtractiveSummarizer, Utterance, gist_of
from recollect.distill.thirdperson import third_person
from recollect.model import Event

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def event(role: str, text: str, position: int = 0) -> Event:
    return Event("0" * 32, "s", "user_prompt", role, "user", text, NOW, NOW, position)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("I want to use Postgres", "The user wants to use Postgres"),
        ("I'm moving to Lisbon with my sister", "The user is moving to Lisbon with their sister"),
        ("I've lost mine", "The user has lost theirs"),
        ("I always try it myself", "The user always tries it themselves"),
        ("I usually go home", "The user usually goes home"),
        ("I decided to wait", "The user decided to wait"),
        ("I could help", "The user could help"),
        ("I don’t like tabs", "The user doesn't like tabs"),
        ("Tell me", "Tell them"),
    ],
)
def test_first_person_is_told_in_third(said: str, told: str) -> None:
    assert third_person(said) == told


def test_a_gist_tells_what_the_talk_was_about() -> None:
    talk = [
        event("user", "I want to move our database to Postgres because SQLite locks under load."),
        event(
            "assistant", "```sql\nCREATE TABLE x;\n```\nThe Postgres migration needs a pool and a maintenance window."
        ),
        event("user", "thanks"),
        event("user", "Can you plan the Postgres migration for Friday?"),
    ]
    gist = gist_of(talk, ExtractiveSummarizer())
    assert "The user wants to move their database" in gist or "The user wants to move our database" in gist
    assert "The user asked: Can you plan the Postgres migration for Friday?" in gist
    assert "CREATE TABLE" not in gist


def test_nothing_said_gives_no_gist() -> None:
    assert gist_of([], ExtractiveSummarizer()) == ""
    assert gist_of([event("tool", "output")], ExtractiveSummarizer()) == ""


class Recording:
    """A summarizer that writes down how much it was given at once."""

    name = "recording"

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def summarize(self, utterances: Sequence[Utterance]) -> str:
        self.sizes.append(sum(len(one.text) for one in utterances))
        return f"part {len(self.sizes)} " + "x" * 2_000


def test_a_long_session_is_summarized_in_chunks_and_merged() -> None:
    talk = [event("user", f"message {n} " + "word " * 400) for n in range(120)]
    recording = Recording()
    gist = gist_of(talk, recording)
    assert max(recording.sizes) <= CHUNK_CHARS
    assert len(recording.sizes) > sum(len(one.text) for one in talk) // CHUNK_CHARS
    assert gist.startswith(f"part {len(recording.sizes)}")


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool", "system"]), st.text()), max_size=12))
def test_any_talk_gives_a_short_gist(talk: list[tuple[str, str]]) -> None:
    gist = gist_of([event(role, text) for role, text in talk], ExtractiveSummarizer())
    assert len(gist) <= MAX_SENTENCES * 300
    assert gist == gist_of([event(role, text) for role, text in talk], ExtractiveSummarizer())
