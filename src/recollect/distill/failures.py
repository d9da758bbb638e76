"""Errors of a session, and whether what failed succeeded later.

Errors by their fingerprint come in, each with the target that failed (a command, a tool with its files, the model's
service), and targets that succeeded; the errors go out with what became of them. An error is resolved when every target
that failed with it has succeeded since, itself or within another command.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from recollect.distill.digestparts import TOP_ERRORS, ErrorSeen
from recollect.distill.fingerprint import Fingerprint
from recollect.distill.testruns import steps


@dataclass(slots=True)
class _Seen:
    line: str
    tool: str
    first: int
    count: int = 0
    open: set[str] = field(default_factory=set)  # targets that failed with it and did not succeed since


class Failures:
    """What went wrong so far."""

    def __init__(self) -> None:
        self.errors: dict[str, _Seen] = {}
        self.failing: dict[str, set[str]] = {}  # target -> errors it failed with
        self.suites: dict[str, set[str]] = {}  # test runner -> targets that failed

    def erred(self, error: Fingerprint | None, tool: str, target: str) -> None:
        if error is None:
            return
        seen = self.errors.setdefault(error.key, _Seen(error.line, tool, len(self.errors)))
        seen.count += 1
        seen.open.add(target)
        self.failing.setdefault(target, set()).add(error.key)

    def succeeded(self, target: str) -> None:
        done = steps(target)
        for failed in [one for one in self.failing if one == target or steps(one) <= done]:
            for key in self.failing.pop(failed):
                self.errors[key].open.discard(failed)

    def tests_failed(self, runner: str, target: str) -> None:
        self.suites.setdefault(runner, set()).add(target)

    def suite_passed(self, runner: str) -> None:
        """All is well, also with what failed when it was run alone."""
        for name in (runner, "") if runner else sorted(self.suites):
            for target in sorted(self.suites.pop(name, ())):
                self.succeeded(target)

    def tests_left(self) -> int:
        """Test runs that failed and did not succeed since."""
        return sum(len(targets & self.failing.keys()) for targets in self.suites.values())

    def seen(self) -> tuple[ErrorSeen, ...]:
        """The errors, the most frequent first."""
        order = sorted(self.errors.items(), key=lambda one: (-one[1].count, one[1].first))
        found = (ErrorSeen(key, seen.line, seen.count, seen.tool, not seen.open) for key, seen in order)
        return tuple(found)[:TOP_ERRORS]
