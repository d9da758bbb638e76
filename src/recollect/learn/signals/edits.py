"""Edit churn: one file edited over and over within one turn while checks keep failing.

A file that is edited often is where the work is; it is churn only when the edits did not help.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator

from recollect.learn.reading import Reading, Step
from recollect.learn.values import KEY_CHARS, Signal

CHURN, _FAILURES = 6, 3  # edits of one file in one turn, and checks that failed among them
_WORDS = re.compile(r"[A-Za-z]{2,}")


def edit_signals(reading: Reading) -> Iterator[Signal]:
    """Files that were churned."""
    starts = [prompt.place for prompt in reading.prompts]
    turns: dict[tuple[int, str], list[Step]] = {}
    failed: dict[int, list[int]] = {}
    for step in reading.steps:
        turn = bisect(starts, step.place)
        if step.action == "edit" and step.passed and step.files:
            turns.setdefault((turn, step.files[0]), []).append(step)
        elif step.failed and step.action == "shell" and "looks" not in step.traits:
            failed.setdefault(turn, []).append(step.place)
    for (turn, path), steps in turns.items():
        among = [place for place in failed.get(turn, ()) if steps[0].place < place < steps[-1].place]
        if len(steps) < CHURN or len(among) < _FAILURES:
            continue
        tail = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
        yield reading.signal(
            "edit_churn",
            f"churn: {' '.join(_WORDS.findall(tail)).casefold()}"[:KEY_CHARS],
            f"{tail} is edited over and over while checks keep failing",
            [event for step in steps for event in step.events],
            steps[0].at,
            origin="outcome",
            count=len(steps),
            cost=reading.lost([(steps[0].place, steps[-1].end)]),
            detail={"file": tail, "edits": str(len(steps)), "failures": str(len(among))},
        )
