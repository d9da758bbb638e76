"""Wishes repeat only when they want the same done, by a person, about something, in words that were said that often."""

from __future__ import annotations

from tests.unit.learn.learning_fixture import Told, all_signals

from recollect.learn.cluster import candidates_of
from recollect.learn.values import Candidate


def found(*said: str, **about: object) -> list[Candidate]:
    sessions = [Told(str(n), day=n, **about).ask("Hello there").say().ask(one).say() for n, one in enumerate(said)]
    return candidates_of(all_signals(*sessions))


def test_opposite_wishes_about_one_thing_are_not_one() -> None:
    assert found(*["read the release summary"] * 2, *["write the release summary"] * 2) == []
    assert found(*["can you do changelog entries"] * 2, *["don't do changelog entries"] * 2) == []


def test_one_wish_with_other_verbs_of_its_kind_is_one() -> None:
    (one,) = found(
        "write changelog entries", "please add changelog entries", "make changelog entries", "do changelog entries"
    )
    assert len(one.sessions) == 4


def test_those_who_want_the_opposite_are_no_evidence() -> None:
    (one,) = found(*["write the release summary"] * 4, "read the release summary")
    assert len(one.sessions) == 4


def test_the_wording_that_is_shown_was_said_that_often() -> None:
    """Each pair of words is common enough, no whole wish is."""
    said = (
        *("write the glossary entries alphabetically", "write the glossary entries briefly"),
        *("write the glossary entries formally", "write the glossary entries tersely"),
    )
    assert found(*said) == []
    (one,) = found(*said, "write the glossary entries")
    assert "“write the glossary entries”" in one.statement


def test_what_only_steers_the_conversation_is_no_wish() -> None:
    assert found(*["ok let's keep going"] * 5) == []
    assert found(*["please continue working"] * 5) == []
    assert found(*["can you carry on, proceed"] * 5) == []


def test_what_an_agent_or_a_script_wrote_is_not_the_users_word() -> None:
    wishes = ["please do meaningful commits"] * 4
    assert len(found(*wishes)) == len(found(*wishes, interactive=True)) == 1
    assert found(*wishes, interactive=False) == []
    assert found(*wishes, relation="subagent", parent="claude:p") == []
