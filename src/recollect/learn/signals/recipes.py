"""Recipes: what was run, and passed, between the last edit and the moment at which work counted as done.

Such a moment is a commit, or the end of a turn, of a session that ended well; it belongs to the edits of its own turn.
One signal goes out for each program that runs the checks (`mise run …`, `go …`); its detail names the checks of every
moment, so that `recipesteps` can tell which of them most moments have. A moment without any check is none: there was
nothing to check, or nobody knows whether it passed.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.learn.checked import commits, passed_checks
from recollect.learn.reading import Reading, Step
from recollect.learn.recipesteps import packed_moments
from recollect.learn.values import Signal

_MOST = 20  # moments of one session that are told
Moment = dict[str, Step]  # the checks that passed, in order, each with its step


def recipe_signals(reading: Reading) -> Iterator[Signal]:
    """The recipes of a session that went well."""
    if reading.digest.outcome != "success":
        return
    moments = [one for one in _moments(reading) if one][:_MOST]
    programs = dict.fromkeys(head.partition(" ")[0] for moment in moments for head in moment)
    for program in programs:
        of_it = [{head: step for head, step in one.items() if _is_of(head, program)} for one in moments]
        fullest = max(of_it, key=len)
        steps = list({step.number: step for step in fullest.values()}.values())
        yield reading.signal(
            "recipe",
            f"checks with {program.casefold()}",
            f"Work is called done after {', '.join(f'`{head}`' for head in fullest)}",
            [event for step in steps for event in step.events],
            steps[-1].at,
            origin="outcome",
            detail={"program": program, "moments": packed_moments(of_it)},
        )


def _is_of(head: str, program: str) -> bool:
    return head.partition(" ")[0] == program


def _moments(reading: Reading) -> Iterator[Moment]:
    """What passed before each moment of done."""
    turn, edited, found = -1, False, Moment()
    for step in reading.steps:
        now = reading.turn_at(step.place)
        if now != turn:
            if edited:
                yield found
            turn, edited, found = now, False, Moment()
        if step.action == "edit" and step.passed:
            edited, found = True, Moment()
        elif commits(step):
            if edited:
                yield found | dict.fromkeys(passed_checks(step), step)
            edited, found = False, Moment()
        else:
            found |= dict.fromkeys(passed_checks(step), step)
    if edited:
        yield found
