"""What became of commands that failed: run again and again, put otherwise until they worked, or a long detour.

Steps of a session come in, signals go out. A command that is put otherwise counts only when nothing was edited in
between: else it was the code that was mended, not the command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.distill.fingerprint import shape
from recollect.distill.vetting.testimony import is_live
from recollect.learn.commandwords import looks
from recollect.learn.errorlines import says_nothing
from recollect.learn.purpose import on_purpose
from recollect.learn.reading import Reading, Step
from recollect.learn.signals.errors import key_of, reason_of
from recollect.learn.values import KEY_CHARS, Signal
from recollect.text import one_line

LOOP = 3  # failures in a row with the same error
_SOON = 4  # steps after a failure in which another form of the command may work
_ALIKE = 0.5  # of the words of the two
_DETOUR_SECONDS, _DETOUR_STEPS = 900.0, 40
_TESTS, _MOST_OPEN = "tests", 50
_NAMED = re.compile(r"([A-Z_]{3,})=\S*")  # a variable set before a command; its value is of one place
# What runs less, or shows less, says nothing about why more of it failed.
_NARROWER = frozenset("-run --run -k -t -v -x -e -n -c -count= -run= --filter --grep grep rg tail head awk sed".split())
_PLAIN = re.compile(r"--?[A-Za-z][\w-]*|[a-z][a-z_-]+")


def command_signals(reading: Reading) -> Iterator[Signal]:
    """Loops, commands that were put right, and detours."""
    yield from _loops(reading)
    yield from _fixed(reading)
    yield from _detours(reading)


def _loops(reading: Reading) -> Iterator[Signal]:
    """The same error again and again, until what failed with it passed."""
    rows: dict[tuple[str, str], list[Step]] = {}
    found: dict[str, list[list[Step]]] = {}
    for step in reading.steps:
        if step.action != "shell" or looks(step.head) or not step.head:
            continue
        if step.passed:
            for row in [one for one in rows if any(failed.target == step.target for failed in rows[one])]:
                _close(found, row[0], rows.pop(row))
        elif step.failed and step.line and not says_nothing(step.line) and not on_purpose(reading, step):
            how = f"{step.line[:60]} {shape(reason_of(reading, step))[:60]}"
            rows.setdefault((_TESTS if step.tests else step.head, how), []).append(step)
            if len(rows) > _MOST_OPEN:
                oldest = next(iter(rows))
                _close(found, oldest[0], rows.pop(oldest))
    for (what, _), steps in rows.items():
        _close(found, what, steps)
    for what, loops in found.items():
        steps = [step for loop in loops for step in loop]
        shown = "The same test" if what == _TESTS else f"`{what}`"
        yield reading.signal(
            "retry_loop",
            f"again and again: {what}",
            f"{shown} is run again and again while it fails in the same way",
            [event for step in steps for event in step.events],
            steps[0].at,
            origin="outcome",
            count=len(loops),
            cost=reading.lost((loop[0].place, loop[-1].end) for loop in loops),
            detail={"command": steps[0].command, "head": steps[0].head, "failures": str(max(map(len, loops)))},
        )


def _close(found: dict[str, list[list[Step]]], what: str, steps: list[Step]) -> None:
    if len(steps) >= LOOP:
        found.setdefault(what, []).append(steps)


def _fixed(reading: Reading) -> Iterator[Signal]:
    """A command that failed, and how it was put so that it worked."""
    for step in reading.steps:
        if not step.failed or step.action != "shell" or not step.command or "looks" in step.traits:
            continue
        worked = _worked_soon(reading, step)
        if worked is None:
            continue
        before, after = _words(step.command), _words(worked.command)
        added, gone = sorted(after - before), sorted(before - after)
        if not added or len(added) + len(gone) > 4 or _NARROWER & {*added, *gone}:
            continue
        change = " ".join([*(f"+{word}" for word in added), *(f"-{word}" for word in gone)])
        yield reading.signal(
            "command_fixed",
            f"{step.head}: {change}".casefold()[:KEY_CHARS],
            f"`{step.head}` fails and works when put otherwise: {one_line(worked.command, 100)}",
            [*step.events, *worked.events],
            worked.at,
            origin="other" if _told_outside(reading, worked, added) or is_live(worked.command) else "outcome",
            cost=reading.lost([(step.place, worked.end)]),
            detail={"command": step.command, "worked": worked.command, "head": step.head},
        )


def _worked_soon(reading: Reading, step: Step) -> Step | None:
    for one in reading.steps[step.number + 1 : step.number + 1 + _SOON]:
        if one.action == "edit":
            return None
        if one.passed and one.command != step.command and one.head == step.head and one.action == "shell":
            before, after = _words(step.command), _words(one.command)
            if before and len(before & after) / len(before | after) >= _ALIKE:
                return one
    return None


def _words(command: str) -> frozenset[str]:
    """The words of a command that are not of one place: options, verbs, names of variables; no paths, no numbers."""
    words = (_NAMED.sub(r"\1=", word.strip("\"'")).partition("=") for word in command.split())
    return frozenset(name + sign for name, sign, _ in words if _PLAIN.fullmatch(name) or (sign and name.isupper()))


def _told_outside(reading: Reading, worked: Step, added: Sequence[str]) -> bool:
    """Whether something the agent had read named what was added: then it is advice from outside, not its own finding.

    A file or a page that was read counts as much as an error: what a repository says is no experience.
    """
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(word.rstrip('='))}(?![\w-])" for word in added))
    return any(worked.command in text or named.search(text) for text in reading.printed[: worked.number])


def _detours(reading: Reading) -> Iterator[Signal]:
    """A failure that took very long to get over."""
    open_: dict[str, Step] = {}
    for step in reading.steps:
        if step.failed and step.action == "shell":
            open_.setdefault(step.target, step)
        elif step.passed and step.target in open_:
            first = open_.pop(step.target)
            cost = reading.lost([(first.place, step.end)])
            key = key_of(reading, first)
            if key and cost.seconds >= _DETOUR_SECONDS and step.number - first.number >= _DETOUR_STEPS:
                yield reading.signal(
                    "detour",
                    key,
                    f"It took {step.number - first.number} steps to get over: {first.line}",
                    [*first.events, *step.events],
                    first.at,
                    origin="outcome",
                    cost=cost,
                    detail={"command": first.command, "head": first.head},
                )
