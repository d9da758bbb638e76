"""Edit churn: one file edited over and over within one turn while checks of it keep failing.

A file that is edited often is where the work is; it is churn only when the edits did not help. So a run of edits is
over when a check passes, when work is committed, or when the file is written anew, and only failures count that are
about this file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from recollect.learn.checked import checks_of, commits, concerns, passed_checks
from recollect.learn.reading import Reading, Step
from recollect.learn.values import KEY_CHARS, Signal

CHURN, _FAILURES = 6, 3  # edits of one file in a row, and checks of it that failed among them
_WORDS = re.compile(r"[A-Za-z]{2,}")


@dataclass(slots=True)
class _Run:
    """Edits of one file that are not over, and the failures among them."""

    edits: list[Step] = field(default_factory=list)
    failed: list[Step] = field(default_factory=list)


def edit_signals(reading: Reading) -> Iterator[Signal]:
    """Files that were churned."""
    turn, open_ = -1, dict[str, _Run]()
    for step in reading.steps:
        now = reading.turn_at(step.place)
        if now != turn or passed_checks(step) or step.tests == "passed" or commits(step):
            yield from _churned(reading, open_)
            turn, open_ = now, {}
        if step.action == "edit" and step.passed and step.files:
            path = step.files[0]
            if "whole" in step.traits:
                yield from _churned(reading, {path: open_.pop(path, _Run())})
            open_.setdefault(path, _Run()).edits.append(step)
        elif step.failed and (checks_of(step) or step.tests):
            for path, run in open_.items():
                if concerns(reading, step, path):
                    run.failed.append(step)
    yield from _churned(reading, open_)


def _churned(reading: Reading, open_: dict[str, _Run]) -> Iterator[Signal]:
    for path, run in open_.items():
        edits = run.edits
        among = [step for step in run.failed if edits[0].place < step.place < edits[-1].place] if edits else []
        if len(edits) < CHURN or len(among) < _FAILURES:
            continue
        tail = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        yield reading.signal(
            "edit_churn",
            f"churn: {' '.join(_WORDS.findall(tail)).casefold()}"[:KEY_CHARS],
            f"{tail} is edited over and over while checks keep failing",
            [event for step in edits for event in step.events],
            edits[0].at,
            origin="outcome",
            count=len(edits),
            cost=reading.lost([(edits[0].place, edits[-1].end)]),
            detail={"file": tail, "edits": str(len(edits)), "failures": str(len(among))},
        )
