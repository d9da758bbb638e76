"""How a session ended: success, fail, abandoned or unknown, how sure that is, and why.

Judged from signs alone, the clearest first. Success needs evidence (tests that passed after the edits, a commit, thanks
from the person); that an agent stopped and sounds content is none. Where signs are missing or contradict each other the
outcome is unknown: a wrong verdict would teach the wrong lesson.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

STUCK = 2  # failures in a row of one command that make it the end of the road


@dataclass(frozen=True, slots=True)
class Signs:
    """What the end of a session looks like. `after` is after the last test run, after the last commit, and so on."""

    prompts: int = 0  # what was asked, by a person or by another agent
    texts: int = 0  # what the agent said
    calls: int = 0
    edits: int = 0
    end: str = ""  # what came last: prompt, text, call, result, interruption, denial or error
    closed: bool = False  # somebody ended it
    last_words: str = ""  # what the last prompt is: correction, approval, other
    worked_since: bool = False  # the agent did something after the last prompt
    test: str = ""  # how the last test run ended: passed, failed, unknown
    tests_left: int = 0  # test commands that failed and did not succeed since
    edited_before_test: bool = False
    edited_after_test: bool = False
    objected_after_test: bool = False  # a correction, an interruption or a denial
    shipped: bool = False  # a commit or a pull request
    edited_after_shipping: bool = False
    objected_after_shipping: bool = False
    shipped_after_test: bool = False
    failing: int = 0  # how often in a row the command failed that was run last


class Verdict(NamedTuple):
    """One of OUTCOMES, how sure from 0 to 1 (0 for unknown), and why in a few words each."""

    outcome: str
    certainty: float
    reasons: tuple[str, ...]


def judge(signs: Signs) -> Verdict:
    """The first rule that has something to say."""
    for rule in _RULES:
        verdict = rule(signs)
        if verdict is not None:
            return verdict
    return _unknown(signs)


def _nothing(signs: Signs) -> Verdict | None:
    if signs.prompts or signs.texts or signs.calls:
        return None
    return Verdict("unknown", 0.0, ("nothing happened",))


def _broken_off(signs: Signs) -> Verdict | None:
    """Ended by a person's hand or in the middle of something."""
    if signs.end == "interruption":
        return Verdict("abandoned", 0.8, ("interrupted",))
    if signs.end == "denial":
        return Verdict("abandoned", 0.6, ("denied",))
    if signs.end == "call" and not signs.closed:
        return Verdict("abandoned", 0.5, ("a call without a result",))
    return None


def _last_words(signs: Signs) -> Verdict | None:
    """The last prompt was not followed by anything."""
    if signs.end == "error":
        return Verdict("fail", 0.7, ("ended on an error of the API",))
    if signs.worked_since or not signs.prompts:
        return None
    if signs.last_words == "approval":
        return _approved(signs)
    if signs.last_words == "correction":
        return Verdict("fail", 0.8, ("the last prompt is a correction",))
    return Verdict("abandoned", 0.7, ("the last prompt got no answer",))


def _approved(signs: Signs) -> Verdict | None:
    if signs.last_words != "approval" or not (signs.texts or signs.calls):
        return None
    if signs.test == "failed" and not signs.edited_after_test:
        return Verdict("unknown", 0.0, ("approved", "tests failed last"))
    return Verdict("success", 0.8, ("approved",))


def _silent(signs: Signs) -> Verdict | None:
    if signs.texts or signs.shipped or signs.test == "passed" or not signs.prompts or signs.closed:
        return None
    return Verdict("abandoned", 0.5, ("the agent never said anything",))


def _tested(signs: Signs) -> Verdict | None:
    if signs.test == "failed":
        if signs.shipped_after_test or signs.edited_after_test:
            return Verdict("unknown", 0.0, ("tests failed last", "work went on after them"))
        if not signs.edits:
            return Verdict("unknown", 0.0, ("tests failed last", "nothing was changed"))
        return Verdict("fail", 0.6, ("tests failed last",))
    if signs.test != "passed" or not signs.edited_before_test or signs.edited_after_test or signs.objected_after_test:
        return None
    if signs.failing >= STUCK:
        return None
    if signs.tests_left:
        return Verdict("success", 0.5, ("tests passed after the edits", "others that failed were not run again"))
    if _well_shipped(signs):
        return Verdict("success", 0.9, ("tests passed after the edits", "committed"))
    return Verdict("success", 0.7, ("tests passed after the edits",))


def _committed(signs: Signs) -> Verdict | None:
    if not _well_shipped(signs) or signs.failing >= STUCK:
        return None
    if signs.test == "passed" and not signs.objected_after_test:
        return Verdict("success", 0.8, ("committed", "tests passed"))
    return Verdict("success", 0.6, ("committed",))


def _well_shipped(signs: Signs) -> bool:
    return signs.shipped and not signs.edited_after_shipping and not signs.objected_after_shipping


def _stuck(signs: Signs) -> Verdict | None:
    if signs.failing < STUCK:
        return None
    return Verdict("fail", 0.5, ("the last command kept failing",))


def _unknown(signs: Signs) -> Verdict:
    reasons = []
    if not signs.edits:
        reasons.append("nothing was changed")
    if signs.edits and signs.edited_after_test:
        reasons.append("edits after the last tests")
    elif signs.edits and not signs.test:
        reasons.append("edits without tests")
    if signs.objected_after_test or signs.objected_after_shipping:
        reasons.append("objections after the last evidence")
    if signs.end == "result":
        reasons.append("no last words")
    return Verdict("unknown", 0.0, tuple(reasons) or ("no evidence",))


_RULES: tuple[Callable[[Signs], Verdict | None], ...] = (
    *(_nothing, _broken_off, _last_words, _approved, _silent, _tested, _committed, _stuck),
)
