"""Errors that a session met: known trouble, errors by their shape, tests that broke and were mended.

One signal for each key and session, however often it happened; failures made on purpose are none. The words of a tool
are in the statement alone; a rule can only come from `troubles`, which are our own words, or from a command that was
seen to work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.fingerprint import shape
from recollect.learn.broken import breaks
from recollect.learn.errorlines import missing_program, of_a_process, says_nothing, unknown_option
from recollect.learn.purpose import on_purpose
from recollect.learn.reading import Reading, Step
from recollect.learn.signals.known import EXPECTED, cause_of, known_trouble
from recollect.learn.values import KEY_CHARS, Signal
from recollect.text import one_line, present

_FEWEST_WORDS = 4  # telling words that make an error's shape one of its own
_FEWEST_REASON = 5
_WORD = re.compile(r"(?<![<\w])[a-z]{3,}(?![\w>])")
_GO_FAIL = re.compile(r"^\s*--- FAIL: (\S+).*\n\s+\S+?:\d+: (?!\s)(.+)$", re.MULTILINE)
_TEST = re.compile(
    r"^\W*(?:FAIL(?:ED)?|ERROR)?:?\s*(?:\S*::)?((?:Test|test)[\w]{3,}|[\w./-]+::[\w:\[\]-]+)", re.MULTILINE
)
_COMPILER = re.compile(r"^(?:\[[\w:]+\] )?<path>:? ")  # an error in the code that is being written
_SOON = 12  # steps in which what failed may be mended
_PATH_TAIL = re.compile(r"[A-Za-z]{2,}")


def error_signals(reading: Reading) -> Iterator[Signal]:
    """Every error of a session under its key."""
    seen: dict[tuple[str, str], list[tuple[Step, str]]] = {}
    for step in reading.steps:
        if not step.failed or says_nothing(step.line) or _found_nothing(step):
            continue
        told = _told(reading, step)
        if told is not None and not on_purpose(reading, step):
            kind, key, statement = told
            seen.setdefault((kind, key), []).append((step, statement))
    for (kind, key), found in seen.items():
        yield _signal(reading, kind, key, [step for step, _ in found], found[0][1])


def key_of(reading: Reading, step: Step) -> str:
    """The key of a failed step's error, or nothing."""
    if not step.failed or says_nothing(step.line):
        return ""
    told = _told(reading, step)
    return told[1] if told else ""


def _found_nothing(step: Step) -> bool:
    """A search without a hit, a look whether something is there: no failure, though the exit code says so."""
    return "looks" in step.traits and "read" not in step.traits


def _told(reading: Reading, step: Step) -> tuple[str, str, str] | None:
    """(kind, key, statement) of a failed step."""
    if "poll" in step.traits and of_a_process(step.line):
        return None  # nothing was written to a program: it was waited for, or stopped
    program = missing_program(step.line) if step.command else None
    if program:
        name = re.sub(r"[\d.]+$", "", program).casefold()
        return "rediscovery", f"program missing: {name}", f"`{program}` is not found where commands run"
    reason = reason_of(reading, step)
    trouble, counts = known_trouble(reading, step, reason)
    if trouble is not None:
        return (trouble.kind, trouble.name, trouble.statement) if counts else None
    if step.command and unknown_option(step.line):
        return "error_repeated", f"unknown option: {step.head}", f"`{step.head}` is called with what it does not take"
    if step.tests == "failed":
        return _test_told(reading, reason, step)
    return _shaped(step)


def _shaped(step: Step) -> tuple[str, str, str] | None:
    key = shape(step.line)[:KEY_CHARS]
    if len(set(_WORD.findall(key))) < _FEWEST_WORDS or _COMPILER.match(key):
        return None
    return "error_repeated", key, one_line(step.line)


def _test_told(reading: Reading, reason: str, step: Step) -> tuple[str, str, str] | None:
    """A test by why it failed where that can be told apart, else by its name."""
    key = shape(reason)[:KEY_CHARS] if reason else ""
    if len(_WORD.findall(key)) >= _FEWEST_REASON and not EXPECTED.search(key):
        return "red_green", f"tests: {key}", f"Tests fail: {reason}"
    found = _TEST.search(step.line)
    if found is None or not breaks(reading, step):
        return None
    name = found[1].rpartition("::")[2]
    return "red_green", f"test: {' '.join(_PATH_TAIL.findall(name)).casefold()[:KEY_CHARS]}", f"The test {name} breaks"


def reason_of(reading: Reading, step: Step) -> str:
    """What a Go test says below its name, where pytest and others put it into the line itself."""
    output = reading.outputs.get(step.number, "")
    if "--- FAIL: " not in output:
        return ""
    found = _GO_FAIL.search(present(output[:20_000]))
    return one_line(found[2]) if found else ""


def _signal(reading: Reading, kind: str, key: str, steps: list[Step], statement: str) -> Signal:
    spans = [reading.until_over(step) for step in steps]
    mended = any(one.passed and one.target == steps[-1].target for one in reading.steps[steps[-1].number + 1 :])
    detail = {"command": steps[0].command or steps[0].tool, "head": steps[0].head, "mended": "yes" if mended else "no"}
    mend = _mend(reading, steps[-1])
    if mend:
        detail["mend"] = mend
    causes = {cause for step in steps if (cause := cause_of(key, step.line))}
    if causes:
        detail["cause"] = "\n".join(sorted(causes))
    place = _common_path(reading, steps)
    if place:
        detail["path"] = place
    return reading.signal(
        kind,
        key,
        statement,
        [event for step in steps for event in step.events],
        steps[0].at,
        origin="outcome",
        count=len(steps),
        cost=reading.lost(spans),
        detail=detail,
    )


def _mend(reading: Reading, step: Step) -> str:
    """The command of the same sort that worked soon after."""
    soon = reading.steps[step.number + 1 : step.number + 1 + _SOON]
    return next((one.command for one in soon if one.passed and one.head == step.head and one.action == "shell"), "")


def _common_path(reading: Reading, steps: list[Step]) -> str:
    """The file that all of them were about, beneath the session's directory."""
    paths = {path for step in steps for path in step.files[:1]}
    if len(paths) != 1:
        return ""
    root, path = (reading.session.cwd or "").rstrip("/"), paths.pop()
    return path[len(root) + 1 :] if root and path.startswith(root + "/") else ""
