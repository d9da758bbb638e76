"""Checks of the work: which of them passed in a call, and whether one that failed is about a file.

A step comes in. An exit code behind a pipe is that of the filter, so there only what the tests printed is believed;
and what stood before them with `&&` had passed, or they would not have run.
"""

from __future__ import annotations

import re

from recollect.distill.testruns import runs_tests
from recollect.learn.commandwords import checks, heads
from recollect.learn.reading import Reading, Step

_LOOKED_AT = 20_000
_TEST_PART = re.compile(r"^tests?[_.-]|[_.-](?:tests?|spec)$", re.IGNORECASE)


def checks_of(step: Step) -> tuple[str, ...]:
    """The checks that a step runs."""
    if step.action != "shell" or not step.command:
        return ()
    return tuple(head for head in heads(step.command) if checks(head))


def passed_checks(step: Step) -> tuple[str, ...]:
    """The checks that a step runs and that certainly passed."""
    if not step.passed:
        return ()
    every = checks_of(step)
    if "piped" not in step.traits:
        return every
    if step.tests != "passed":
        return ()
    return tuple(head for head in every if runs_tests(head)) if "sequenced" in step.traits else every


def commits(step: Step) -> bool:
    """Whether a step made a commit."""
    return step.passed and step.action == "shell" and "git commit" in heads(step.command)


def called_done(reading: Reading, step: Step) -> bool:
    """Whether the work before a step was taken for done: since the last edit a turn ended, or a commit was made."""
    for one in reversed(reading.steps[: step.number]):
        if commits(one):
            return True
        if one.action == "edit" and one.passed:
            return reading.turn_at(one.place) < reading.turn_at(step.place)
    return True  # nothing was edited here: it is the work of before


def concerns(reading: Reading, step: Step, path: str) -> bool:
    """Whether a check that failed is about a file: it names the file, its test, or the directory it lies in."""
    text = f"{step.command}\n{reading.outputs.get(step.number, '')[:_LOOKED_AT]}".replace("\\", "/")
    root = (reading.session.cwd or "").rstrip("/")
    beneath = path.replace("\\", "/").removeprefix(f"{root}/" if root else "")
    folder, _, name = beneath.rpartition("/")
    if any(one in text for one in names_of(name)):
        return True
    near = "/".join(part for part in folder.split("/")[-2:] if part)
    return bool(near) and re.search(rf"(?<![\w-]){re.escape(near)}(?![\w/-])", text) is not None


def names_of(name: str) -> tuple[str, ...]:
    """A file's name, and those that its test would have."""
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return (name,)
    plain = _TEST_PART.sub("", stem)
    tests = (f"{plain}_test.{ending}", f"test_{plain}.{ending}", f"{plain}.test.{ending}", f"{plain}.spec.{ending}")
    return (name, *tests)
