"""Which known trouble a failed step is, and whether it counts as one.

A step and its reading come in; a `Trouble` goes out, and no when it only looks like one: a test that asserts something
about such an error, a linter that did not get to the code or was run before the work was done, a path that the user had
named, output that was cut but needed no second look, a module that is missing because of a sandbox or because versions
were just changed.
"""

from __future__ import annotations

import re

from recollect.learn.attribution import after_version_change, refusal_before, refusal_of
from recollect.learn.checked import called_done
from recollect.learn.errorlines import has_findings
from recollect.learn.purpose import named_by_prompt
from recollect.learn.reading import Reading, Step
from recollect.learn.troubles import NAMED, Trouble, trouble_of
from recollect.text import present

EXPECTED = re.compile(r"\b(?:expected|want(?:ed)?|got|assert\w*|unexpected|should|mismatch|equal|actual|diff)\b")
_TELLS = re.compile(  # a line that says why, so that nothing was cut away
    r"^\S+:\d+(?::\d+)?: |^(?:\S+: )?(?:error|panic|fatal)\b|\b(?:unsupported|undefined|cannot|build constraints)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LOOKED_AT = 8_000
_AGAIN = 6  # steps in which a cut run is looked at again


def known_trouble(reading: Reading, step: Step, reason: str) -> tuple[Trouble | None, bool]:
    """(the trouble, whether it counts) of a failed step; `reason` is what a test says below its name."""
    found = refusal_of(reading, step) or _by_reason(step, reason) or _by_line(step)
    if found is not None and found.name == "module not installed":
        found = refusal_before(reading, step) or found
    return found, found is None or _counts(reading, step, found)


def _by_reason(step: Step, reason: str) -> Trouble | None:
    """What a test says is its own words: only what its environment is like can be told by it."""
    found = trouble_of(reason, step.traits) if reason else None
    return found if found is not None and found.kind == "rediscovery" else None


def _by_line(step: Step) -> Trouble | None:
    found = trouble_of(step.line, step.traits)
    if found is not None and found.kind != "rediscovery" and step.tests and EXPECTED.search(step.line.casefold()):
        return None
    return found


def _counts(reading: Reading, step: Step, found: Trouble) -> bool:
    if found.name == "path not there":
        return not step.tests and not named_by_prompt(reading, step)
    if found.name == "linter fails":
        return called_done(reading, step) and has_findings(present(reading.outputs.get(step.number, "")))
    if found.name == "output cut":
        return not _TELLS.search(reading.outputs.get(step.number, "")[:_LOOKED_AT]) and _looked_again(reading, step)
    if found.name == "module not installed":
        return not after_version_change(reading, step)
    return True


def _looked_again(reading: Reading, step: Step) -> bool:
    """Whether the same was run once more, showing more or other lines, before anything was changed."""
    for one in reading.steps[step.number + 1 : step.number + 1 + _AGAIN]:
        if one.action == "edit":
            return False
        if one.head == step.head and one.action == "shell":
            return True
    return False


def cause_of(key: str, line: str) -> str:
    """Which of several causes a trouble has, by the wording of its line; nothing for troubles of one cause."""
    trouble = NAMED.get(key)
    found = trouble.pattern.search(line) if trouble is not None and trouble.apart else None
    return " ".join(found[0].casefold().split()) if found else ""
