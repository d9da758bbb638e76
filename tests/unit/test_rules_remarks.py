"""What people remark about the thing at hand is kept for those who ask, in their words, and is nobody's rule."""

from __future__ import annotations

import pytest
from tests.told_fixture import Told, worked

REMARK = "The users of the tool won't have `API_KEY` in their environment."


def test_a_remark_is_quoted_in_the_authors_words() -> None:
    told = worked(REMARK)
    (memory,) = told.memories
    assert memory.content == f"Said by the user: {REMARK}"
    assert (memory.kind, memory.trust) == ("note", "quoted")
    assert told.cited(told.drafts[0]) == [REMARK]


@pytest.mark.parametrize(
    "said",
    [
        "add the names of the others to `conn.go`, they are not there and should be kept.",
        "does the tool keep `API_KEY` when it is not set?",
        "The change of `conn.go` should not be in the same commit, keep that out.",
        "it should not be kept there any more",
        "env API_KEY=1 make all the tests, it should not have to keep the logs.",
        f"{REMARK}\n" + "There is a lot more to tell about how this is to be done.\n" * 14,
    ],
    ids=["request", "question", "of the work", "nobody knows of what", "command", "long"],
)
def test_what_is_no_remark_is_left_out(said: str) -> None:
    assert [one for one in worked(said).contents if one.startswith("Said by")] == []


def test_what_a_first_prompt_wants_is_the_task() -> None:
    told = Told().ask("We should keep the names of the agents in `logger.go`.").say("Done.")
    assert [one for one in told.contents if one.startswith("Said by")] == []


def test_what_was_decided_is_not_told_again_as_a_remark() -> None:
    (draft,) = worked("Never use print for logging, always use the logger.").drafts
    assert draft.kind == "preference"


def test_only_the_most_telling_remarks_are_kept() -> None:
    kept = [f"The file `part{number}.go` is not the one that has the keys." for number in range(9)]
    assert len(worked(*kept).drafts) == 3


def test_what_was_taken_back_is_no_remark() -> None:
    assert worked(REMARK, "scrap that").contents == []
