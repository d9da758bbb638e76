"""A session in a few sentences without a model: third person, chunked and merged, never empty words (S2.23, S2.24)."""

from __future__ import annotations

import time
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


def done(kind: str, text: str, role: str = "assistant") -> Event:
    return Event("0" * 32, "s", kind, role, "assistant", text, NOW, NOW)


# From real sessions: what was run, changed, thought and printed between what was said.
WORKED = [
    event("user", "Work on bead spotter-a0y and close it when the session hook is wired."),
    done("tool_call", 'bd close spotter-a0y.1 --reason="Session hook wired, tests green for lifecycle hooks"'),
    done("tool_call", "readme.md"),
    done("edit", "*** Begin Patch\n*** Update File: lib/hooks.ex\n+def window(now, hours \\\\ 24) do\n*** End Patch"),
    done("test_run", "mix test test/spotter_web/controllers/session_hook_controller_test.exs"),
    done("tool_result", "Finished in 0.4 seconds. 12 tests, 0 failures in the session hook suite.", "tool"),
    done("thinking", "I should describe the session hook before I wire it."),
    done("injected_context", "The session hook notes are loaded from memory here.", "user"),
    done("assistant_text", "The session hook is wired into the router and covered by twelve tests."),
]


def test_only_what_was_said_is_told() -> None:
    gist = gist_of(WORKED, ExtractiveSummarizer())
    assert gist == (
        "The user said: Work on bead spotter-a0y and close it when the session hook is wired. "
        "The assistant said: The session hook is wired into the router and covered by twelve tests."
    )


PASTED = [
    ("$ go test ./internal/planner/\n--- FAIL: TestPlan (0.00s)\n    plan_test.go:12: got 1, want 2", "planner/"),
    ("--- FAIL: TestPlan (0.00s)\nFAIL\tgithub.com/entirehq/git-sync/internal/planner\t0.1s", "FAIL"),
    ("diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-def window(now: date) -> list:\n+def window(now) -> list:", "def"),
    ("internal/syncer/syncer.go\ndocs/protocol.md", "syncer.go"),
    ('{"todos":[{"id":"1","content":"Create tools.txt","status":"completed"}]}', "todos"),
    ("    at Object.<anonymous> (/src/app.js:10:5)\n    at Module._compile (node:internal/modules:1105:14)", "Module"),
    ("<command-name>/clear</command-name>\n<system-reminder>Remember the rules of it</system-reminder>", "reminder"),
]


@pytest.mark.parametrize(("pasted", "mark"), PASTED, ids=[mark for _, mark in PASTED])
def test_what_was_pasted_is_no_speech(pasted: str, mark: str) -> None:
    gist = gist_of([event("user", f"Why does the planner fail like this?\n{pasted}")], ExtractiveSummarizer())
    assert gist == "The user asked: Why does the planner fail like this?"
    assert mark not in gist


@pytest.mark.timed
@pytest.mark.parametrize("text", ["a." * 40_000, "<a-b>" * 8_000, "x:1" * 20_000, "{" * 20_000, "**a" * 20_000])
def test_what_is_pasted_costs_little_whatever_it_looks_like(text: str) -> None:
    began = time.process_time()
    gist_of([event("user", f"{text}!")], ExtractiveSummarizer())
    assert time.process_time() - began < 2


def test_of_an_answer_that_is_data_its_sentences_are_told() -> None:
    answer = (
        '{"findings":[{"title":"[P1] Run gofmt","priority":1,"code_location":{"path":"/srv/a_test.go"}}],'
        '"overall_explanation":"The lint workflow will fail until these files are formatted."}'
    )
    gist = gist_of([done("assistant_text", answer)], ExtractiveSummarizer())
    assert gist == "The assistant said: The lint workflow will fail until these files are formatted."


def test_marks_of_markdown_are_not_told() -> None:
    said = "- **upload-pack (fetch)**: true stateless, with a trailing response-end packet."
    gist = gist_of([done("assistant_text", said)], ExtractiveSummarizer())
    assert gist == "The assistant said: upload-pack (fetch): true stateless, with a trailing response-end packet."


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
