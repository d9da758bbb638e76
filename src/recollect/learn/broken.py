"""Tests that break by themselves: neither was what they test being changed, nor the test mended.

A failed test step comes in; yes or no goes out. A test that fails because its subject is being changed does what it is
for, and one that was mended by changing it, or what it is fed with, had to follow the work. Neither breaks easily.
"""

from __future__ import annotations

import re

from recollect.learn.checked import concerns
from recollect.learn.reading import Reading, Step

_FIXTURE = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|fixtures?|testdata|testutil\w*|mocks?|golden|snapshots?|__snapshots__)(?:/|$)"
    r"|(?:^|/)(?:conftest\.py|tests?_[^/]*|[^/]*(?:_tests?|\.tests?|[_.]spec|_fixture|\.snap|\.golden)(?:\.\w+)?)$",
    re.IGNORECASE,
)
_MOST = 200  # edited files, and steps until it passes, that are looked at


def breaks(reading: Reading, step: Step) -> bool:
    """Whether this failure of a test is one that nobody's change asked for."""
    edited: dict[str, None] = {}
    for one in reading.steps[: step.number]:
        if one.action == "edit" and one.passed:
            edited |= dict.fromkeys(one.files)
    if any(concerns(reading, step, path) for path in list(edited)[-_MOST:]):
        return False
    for one in reading.steps[step.number + 1 : step.number + 1 + _MOST]:
        if one.tests == "passed" or (one.passed and one.target == step.target):
            break
        if one.action == "edit" and one.passed and any(_FIXTURE.search(path) for path in one.files):
            return False
    return True
