"""How a session ended, judged from its signs: evidence makes success, and without any the outcome is unknown."""

from __future__ import annotations

import itertools

import pytest

from recollect.distill.outcome import Signs, judge
from recollect.model import OUTCOMES

# A session in which something was asked, done and said.
WORK = {"prompts": 2, "texts": 3, "calls": 5, "edits": 2, "end": "text", "last_words": "other", "worked_since": True}
TALK = WORK | {"calls": 0, "edits": 0}
PASSED = {"test": "passed", "edited_before_test": True}
FAILED = {"test": "failed", "edited_before_test": True}
SHIPPED = {"shipped": True, "shipped_after_test": True}
UNANSWERED = {"end": "prompt", "worked_since": False}

CASES: list[tuple[str, dict[str, object]]] = [
    # success: evidence
    ("success", WORK | PASSED),
    ("success", WORK | PASSED | SHIPPED),
    ("success", WORK | SHIPPED),
    ("success", WORK | SHIPPED | {"edits": 0}),
    ("success", WORK | PASSED | {"closed": True}),
    ("success", WORK | PASSED | SHIPPED | {"edited_after_test": True}),
    ("success", WORK | PASSED | {"tests_left": 2}),
    ("success", WORK | PASSED | {"end": "result"}),
    ("success", WORK | PASSED | {"failing": 1}),
    ("success", WORK | UNANSWERED | {"last_words": "approval"}),
    ("success", WORK | {"last_words": "approval"}),
    ("success", TALK | {"last_words": "approval"}),
    ("success", WORK | FAILED | {"edited_after_test": True, "last_words": "approval"}),
    ("success", WORK | PASSED | {"last_words": "correction"}),  # corrected, and then it was done right
    ("success", WORK | PASSED | {"end": "call", "closed": True}),
    ("success", WORK | SHIPPED | {"test": "unknown"}),
    ("success", WORK | {"texts": 0, "end": "result"} | PASSED),
    # fail
    ("fail", WORK | FAILED),
    ("fail", WORK | FAILED | {"closed": True}),
    ("fail", WORK | FAILED | {"failing": 3}),
    ("fail", WORK | {"end": "error"}),
    ("fail", TALK | {"end": "error", "worked_since": False}),
    ("fail", WORK | PASSED | {"end": "error"}),
    ("fail", WORK | UNANSWERED | {"last_words": "correction"}),
    ("fail", WORK | PASSED | UNANSWERED | {"last_words": "correction"}),
    ("fail", WORK | {"failing": 2}),
    ("fail", WORK | {"failing": 5, "edits": 0}),
    ("fail", WORK | SHIPPED | {"failing": 2}),
    ("fail", WORK | PASSED | {"failing": 2}),
    # abandoned
    ("abandoned", WORK | {"end": "interruption"}),
    ("abandoned", WORK | PASSED | {"end": "interruption"}),
    ("abandoned", WORK | {"end": "interruption", "closed": True}),
    ("abandoned", WORK | {"end": "denial"}),
    ("abandoned", WORK | {"end": "call"}),
    ("abandoned", WORK | SHIPPED | {"end": "call"}),
    ("abandoned", WORK | UNANSWERED),
    ("abandoned", TALK | UNANSWERED),
    ("abandoned", WORK | PASSED | UNANSWERED),
    ("abandoned", {"prompts": 1, "end": "prompt", "last_words": "other"}),
    ("abandoned", {"prompts": 1, "calls": 3, "end": "result", "last_words": "other", "worked_since": True}),
    # unknown: nothing to go by, or one sign against another
    ("unknown", {}),
    ("unknown", TALK),
    ("unknown", WORK),
    ("unknown", WORK | {"closed": True}),
    ("unknown", WORK | {"failing": 1}),
    ("unknown", WORK | {"test": "unknown"}),
    ("unknown", WORK | {"test": "passed"}),  # the tests passed before anything was edited
    ("unknown", WORK | PASSED | {"edited_after_test": True}),
    ("unknown", WORK | PASSED | {"objected_after_test": True}),
    ("unknown", WORK | FAILED | {"edited_after_test": True}),
    ("unknown", WORK | FAILED | SHIPPED),
    ("unknown", WORK | FAILED | {"edits": 0, "edited_before_test": False}),
    ("unknown", WORK | SHIPPED | {"edited_after_shipping": True}),
    ("unknown", WORK | SHIPPED | {"objected_after_shipping": True}),
    ("unknown", WORK | FAILED | {"last_words": "approval"}),
    ("unknown", WORK | {"last_words": "correction"}),
    ("unknown", WORK | {"end": "result"}),
    ("unknown", WORK | {"end": "call", "closed": True}),
    ("unknown", {"texts": 1, "end": "text"}),
]


@pytest.mark.parametrize(("outcome", "signs"), CASES)
def test_outcomes(outcome: str, signs: dict[str, object]) -> None:
    verdict = judge(Signs(**signs))  # type: ignore[arg-type]
    assert verdict.outcome == outcome, verdict
    assert verdict.reasons
    assert all(verdict.reasons)
    assert (verdict.certainty == 0.0) == (outcome == "unknown")


def test_there_are_enough_cases_of_each() -> None:
    assert len(CASES) >= 40
    assert {outcome for outcome, _ in CASES} == set(OUTCOMES)


def test_more_evidence_is_surer() -> None:
    def sure(signs: dict[str, object]) -> float:
        return judge(Signs(**signs)).certainty  # type: ignore[arg-type]

    assert sure(WORK | PASSED | SHIPPED) > sure(WORK | PASSED) > sure(WORK | PASSED | {"tests_left": 1})
    assert sure(WORK | SHIPPED) < sure(WORK | PASSED | SHIPPED)


def test_every_mixture_of_signs_has_a_verdict() -> None:
    ends = ("", "prompt", "text", "call", "result", "interruption", "denial", "error")
    flags = itertools.product((False, True), repeat=6)
    for end, test, words, (closed, since, before, after, objected, shipped) in itertools.product(
        ends, ("", "passed", "failed", "unknown"), ("", "correction", "approval", "other"), flags
    ):
        signs = Signs(2, 1, 1, 1, end, closed, words, since, test, 0, before, after, objected, shipped)
        verdict = judge(signs)
        assert verdict.outcome in OUTCOMES
        assert 0.0 <= verdict.certainty <= 1.0
        if end in ("interruption", "error"):
            assert verdict.outcome != "success"
