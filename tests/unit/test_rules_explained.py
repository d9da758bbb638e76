"""What the agent explained and what people merely suggested is kept for those who ask, and trusted by nobody."""

from __future__ import annotations

import pytest
from tests.told_fixture import Told, worked

from recollect.distill.sentences import whole_words

EXPLAINED = (
    "`HelperConn` requires a helper with `stateless-connect`, because the legacy `connect` capability only gives a raw"
    " pipe without any framing, so `newConn` never falls back to it by default."
)


def test_a_statement_that_explains_what_it_names_is_quoted() -> None:
    told = Told().ask("How does HelperConn talk to a helper without stateless-connect?").say(EXPLAINED)
    (memory,) = told.memories
    assert (memory.content, memory.trust) == (EXPLAINED, "quoted")
    assert told.cited(told.drafts[0]) == [EXPLAINED]


@pytest.mark.parametrize(
    "said",
    [
        "I'll change `HelperConn` so that it requires `stateless-connect`, because `connect` gives a raw pipe only.",
        "Added a check to `HelperConn` so that it always requires `stateless-connect` and never uses `connect`.",
        "`HelperConn` probably requires `stateless-connect`, because the `connect` capability only gives a raw pipe.",
        "If you want, `HelperConn` can require `stateless-connect`, because `connect` only gives a raw pipe.",
        "It requires `stateless-connect`, because the legacy `connect` capability only gives a raw pipe by default.",
        "`HelperConn` now passes all tests, because `stateless-connect` is always required and `connect` never used.",
        "In `conn.go:318` the `HelperConn` only requires `stateless-connect`, because `connect` gives a raw pipe.",
        "Should `HelperConn` require `stateless-connect`, because `connect` only gives a raw pipe and never a frame?",
    ],
    ids=["plan", "done", "hedged", "offer", "pointing", "status", "line number", "question"],
)
def test_narration_and_guesses_explain_nothing(said: str) -> None:
    assert Told().ask("How does HelperConn talk to stateless-connect?").say(said).contents == []


def test_a_statement_takes_along_what_goes_on_from_it() -> None:
    """A sentence that only points is told with the one it points to, and never alone."""
    on = "`HelperConn` requires a helper with `stateless-connect`. It never falls back to the raw pipe of `connect`."
    told = Told().ask("How does HelperConn work?").say(on)
    assert told.contents == [on]
    assert told.cited(told.drafts[0]) == [on]


@pytest.mark.parametrize(
    "said",
    [
        "- `internal/helper/conn.go` - new transport, `stateless-connect` framing, `newConn` dispatch, 412 lines",
        "The notes say: always use `evil-heron` with `stateless-connect`, because `HelperConn` requires it by default.",
        "The cleanest fix is to require `stateless-connect` in `HelperConn`, because `connect` only gives a raw pipe.",
        "and `HelperConn` requires `stateless-connect`, because the legacy `connect` only gives a raw pipe by default.",
    ],
    ids=["an entry of a list", "what somebody else says", "weighed", "a fragment"],
)
def test_what_states_nothing_explains_nothing(said: str) -> None:
    assert Told().ask("How does HelperConn talk to stateless-connect?").say(said).contents == []


def test_what_was_said_after_the_last_edit_counts_for_more() -> None:
    """What the agent found before it changed the code may be so no longer."""

    def statement(number: int) -> str:
        return f"`Part{number}Conn` requires a helper, because the pipe of `part{number}` gives nothing else."

    told = Told().ask("How do the parts work?")
    for number in range(12):
        told.say(statement(number))
        if number == 7:
            told.edit("conn.go")
    assert statement(11) in told.contents
    assert statement(0) not in told.contents


def test_what_was_refuted_explains_nothing() -> None:
    told = Told().ask("How does HelperConn work?").say(EXPLAINED).ask("no, that's wrong").say("I see.")
    assert [draft for draft in told.drafts if "HelperConn" in draft.content] == []


def test_a_lesson_is_not_told_again_as_an_explanation() -> None:
    told = Told().ask("Why is no branch made by the agent?")
    told.say("Root cause: the `TOOLS` list in `types.go` only has `write` and `edit`, so `replace` is never seen.")
    assert len(told.drafts) == 1


def test_a_suggestion_is_quoted_and_never_the_users_word() -> None:
    told = worked("can we leave room for up to three sessions in parallel on the left side?")
    (memory,) = told.memories
    assert memory.trust == "quoted"
    assert memory.content.startswith("Suggested by the user: can we leave room")


@pytest.mark.parametrize(
    "said",
    [
        "can you leave room for up to three sessions in parallel on the left side?",
        "can we commit this and open a pull request for the three sessions?",
        "should we run the whole test suite again before we go on with the lanes?",
        "can we leave it as it is for now and look at the three lanes afterwards?",
    ],
)
def test_a_question_about_the_work_suggests_nothing(said: str) -> None:
    assert worked(said).contents == []


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [
        ("short enough", 20, "short enough"),
        ("one clause, and another one that is long", 20, "one clause"),
        ("many words without any stop at all", 18, "many words without"),
        ("it stands in the package of the parser", 24, "it stands in the package"),
        ("it stands in the package of the parser", 27, "it stands in the package"),
        ("call `parse_hook now` and wait", 19, "call `parse_hook`"),
    ],
)
def test_what_is_cut_ends_with_a_word(text: str, limit: int, cut: str) -> None:
    assert whole_words(text, limit) == cut
