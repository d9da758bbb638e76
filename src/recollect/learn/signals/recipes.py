"""Recipes: what was run, and passed, before work counted as done, in sessions that ended well.

The checks after the last edit come in, grouped by the program that runs them (`mise run …`, `go …`); one signal a
program goes out, whose detail names the steps in order. Looking around and git are no part of a recipe.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.learn.commandwords import checks, heads
from recollect.learn.reading import Reading, Step
from recollect.learn.values import Signal

_FEWEST = 2  # steps that make a recipe


def recipe_signals(reading: Reading) -> Iterator[Signal]:
    """The recipes of a session that went well."""
    if reading.digest.outcome != "success":
        return
    edits = [step.number for step in reading.steps if step.action == "edit" and step.passed]
    if not edits:
        return
    passed: dict[str, dict[str, Step]] = {}
    for step in reading.steps:
        if not step.passed or step.action != "shell" or not step.command:
            continue
        for head in heads(step.command):
            if checks(head):
                passed.setdefault(head.partition(" ")[0], {})[head] = step
    for program, steps in passed.items():
        last = {head: step for head, step in steps.items() if step.number > edits[0]}
        if len(last) < _FEWEST or max(step.number for step in last.values()) < edits[-1]:
            continue
        order = sorted(last, key=lambda head: (last[head].number, heads(last[head].command).index(head)))
        yield reading.signal(
            "recipe",
            f"checks with {program.casefold()}",
            f"Work is called done after {', '.join(f'`{head}`' for head in order)}",
            [event for head in order for event in last[head].events],
            last[order[-1]].at,
            origin="outcome",
            detail={"program": program, "steps": "\n".join(order)},
        )
