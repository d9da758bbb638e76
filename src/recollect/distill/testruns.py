"""Shell commands as the digest compares them, and what the output of a test run says.

A command is the same as another when it differs only in where it was run from, how its output was shown, white space,
or the message of a commit. Of a test run the output is believed before the exit code: `pytest | tail` always succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from recollect.capture.toolcall import is_test
from recollect.text import one_line, present

COMMAND_CHARS = 200
_LOOKED_AT = 4_000
_HEAD = _TAIL = 8_000

_HEREDOC = re.compile(r"<<-?\s*['\"]?\w+")
_PLACE = re.compile(r"\s*cd\s+(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]+)\s*(?:&&|;|\n)\s*")
_REDIRECTED = re.compile(r"\s*(?:2>&1|&>\s?/dev/null|[12]?>\s?/dev/null)")
_SHOWN_BY = re.compile(r"\s*(?:tail|head|cat|less|more|grep|rg|tee)\b[^;&]*")
_VET = re.compile(r"\bgo\s+vet\b")
_TASK = re.compile(
    r"(?:^|[;&|(\n])[ \t]*(?:mise|just|task|poe|nx|turbo|moon)\s+(?:run\s+|r\s+)?tests?(?:[:_-]\S+)?(?=\s|$)"
)
_NARROW = re.compile(r"(?:^|\s)(?:-k|-m|-run|--run|-t|--grep|-g|--filter|--last-failed|--lf)\b|::|\w\.\w{2,4}(?:\s|$)")
_RUNNER = re.compile(
    r"\b(py\.?test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit|go test|gotestsum|cargo (?:test|nextest)|mix test"
    r"|dotnet test)\b"
)
_MESSAGE = re.compile(
    r"(\bgit\b[^\n;&|]{0,80}\bcommit\b)[^\n]{0,200}?\s-\w*[mF]\b.*|(\bgh (?:pr|issue) (?:create|edit|comment)\b).*",
    re.DOTALL,
)
_BESIDES = ("git add ", "echo ", "mkdir ", "cd ")  # steps whose success nobody waits for


class Tally(NamedTuple):
    """How a test run ended: `passed`, `failed` or `unknown`; how many tests did, where the output tells."""

    result: str
    passed: int | None = None
    failed: int | None = None


def normal_command(command: str) -> str:
    """A command as it is counted: without `cd … &&` before it, and without what only shortens its output."""
    text = command[:_LOOKED_AT]
    document = _HEREDOC.search(text)
    if document:
        text = text[: document.end()]
    for _ in range(3):
        place = _PLACE.match(text)
        if place is None or place.end() == len(text):
            break
        text = text[place.end() :]
    text = _MESSAGE.sub(lambda found: f"{found[1] or found[2]} …", _REDIRECTED.sub("", text))
    for _ in range(3):
        kept, bar, last = text.rpartition("|")
        if not bar or kept.endswith("|") or not _SHOWN_BY.fullmatch(last):
            break
        text = kept
    return one_line(text, COMMAND_CHARS)


def steps(command: str) -> frozenset[str]:
    """What a normal command does one after the other, as long as it goes well."""
    parts = [part.strip() for part in command.split(" && ")]
    return frozenset(part for part in parts if not part.startswith(_BESIDES)) or frozenset(parts)


def runs_tests(command: str) -> bool:
    """Whether a command runs tests: also by a task of that name, and not by `go vet` alone."""
    text = command[:_LOOKED_AT]
    return _TASK.search(text) is not None or is_test(_VET.sub("true", text))


def runner_of(command: str) -> tuple[str, bool]:
    """(what runs the tests, whether it runs all of them) of a normal command; empty when the runner is not named."""
    found = _RUNNER.search(command)
    return (found[1] if found else ""), not _NARROW.search(command)


def piped(command: str) -> bool:
    """Whether the exit code is that of a later command, so that success says nothing."""
    return re.search(r"(?<!\|)\|(?!\|)|;|\n|\|\|", command[:_LOOKED_AT]) is not None


def tally(output: str, command: str, succeeded: bool | None) -> Tally:
    """How a test run ended, from what it printed, or else from whether the command succeeded."""
    output = _ends(output)
    passed, failed = next((found for read in _READERS if (found := read(output)) != _NOTHING), _NOTHING)
    if failed or _GO_BROKEN.search(output):
        return Tally("failed", passed, failed)
    told = bool(passed) or _GO_OK.search(output) is not None
    if succeeded is False:
        # Of several commands another one may have failed.
        result = "passed" if told and ("&&" in command or piped(command)) else "failed"
    elif told or (succeeded and not piped(command) and not _NONE_RAN.search(output)):
        result = "passed"
    else:
        result = "unknown"
    return Tally(result, passed, failed)


_NONE_RAN = re.compile(r"\bno tests (?:ran|to run|found)\b|\bcollected 0 items\b|\b0 tests\b", re.IGNORECASE)
_WORDS = re.compile(r"(\d+) (passed|failed|errors?)\b")
_PYTEST = re.compile(
    r"^(?:=+ )?(\d+ (?:passed|failed|errors?|skipped|deselected|xfailed)\b[^\n]{0,200}?) in [\d.]+", re.M
)
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed", re.M)
_JEST = re.compile(r"^[ \t]*Tests:?[ \t]+((?:\d+ \w+(?:, | \| )?){1,6})", re.M)
_MAVEN = re.compile(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+)(?:, Skipped: (\d+))?")
_PHPUNIT = re.compile(r"^OK \((\d+) tests?, |^Tests: (\d+), Assertions: \d+([^\n]{0,200})", re.M)
_UNITTEST = re.compile(r"^Ran (\d+) tests? in [^\n]*\n+(?:OK|FAILED)([^\n]{0,200})", re.M)
_EXAMPLES = re.compile(
    r"^(?:\d+ doctests?, )?(\d+) (?:examples?|tests?|runs), (?:\d+ assertions, )?(\d+) failures?", re.M
)
_DOTNET = re.compile(r"Failed:\s+(\d+), Passed:\s+(\d+)")
_CTEST = re.compile(r"\d+% tests passed, (\d+) tests? failed out of (\d+)")
_SWIFT = re.compile(r"Executed (\d+) tests?, with (\d+) failures?")
_NEXTEST = re.compile(
    r"^[ \t]*Summary \[[^\]\n]*\] \d+(?:/\d+)? tests? run: (\d+) passed[^\n,]*(?:, (\d+) failed)?", re.M
)
_LISTED = (  # the two numbers on lines of their own
    (re.compile(r"^[ \t]*(\d+) passing\b", re.M), re.compile(r"^[ \t]*(\d+) failing\b", re.M)),
    (re.compile(r"^[ \t]*(\d+) pass$", re.M), re.compile(r"^[ \t]*(\d+) fail$", re.M)),
    (re.compile(r"^[#ℹ] pass (\d+)$", re.M), re.compile(r"^[#ℹ] fail (\d+)$", re.M)),
    (re.compile(r"^[ \t]+(\d+) passed \(", re.M), re.compile(r"^[ \t]+(\d+) failed$", re.M)),
)
_GO_PASSED = re.compile(r"^--- PASS: ", re.M)
_GO_FAILED = re.compile(r"^--- FAIL: ", re.M)
_GO_BROKEN = re.compile(r"^FAIL(?:\t\S|$)", re.M)
_GO_OK = re.compile(r"^ok\s+\S+\s+(?:\(cached\)|[\d.]+s)(?!.*\[no tests to run\])", re.M)
_NUMBER = re.compile(r"(\w+)[=:] ?(\d+)")

Counts = tuple[int | None, int | None]
_NOTHING: Counts = (None, None)


def _ends(output: str) -> str:
    """Both ends of an output, without escapes: where runners sum up."""
    return present(output if len(output) <= _HEAD + _TAIL else f"{output[:_HEAD]}\n{output[-_TAIL:]}")


def _pytest(output: str) -> Counts:
    found = _PYTEST.findall(output)
    return _words(found[-1]) if found else _NOTHING


def _jest(output: str) -> Counts:
    found = _JEST.search(output)
    return _words(found[1]) if found and _WORDS.search(found[1]) else _NOTHING


def _words(summary: str) -> Counts:
    passed = failed = 0
    for number, word in _WORDS.findall(summary):
        passed, failed = (passed + int(number), failed) if word == "passed" else (passed, failed + int(number))
    return passed, failed


def _summed(pattern: re.Pattern[str], passed: int = 1, failed: int = 2) -> Callable[[str], Counts]:
    """A reader for lines with both numbers, of which there may be several."""

    def read(output: str) -> Counts:
        found = list(pattern.finditer(output))
        return (
            (sum(int(one[passed] or 0) for one in found), sum(int(one[failed] or 0) for one in found))
            if found
            else _NOTHING
        )

    return read


def _totals(pattern: re.Pattern[str], total: int, failed: int) -> Callable[[str], Counts]:
    """A reader for lines with the number of all tests and of those that failed."""

    def read(output: str) -> Counts:
        found = [(int(one[total]), int(one[failed])) for one in pattern.finditer(output)]
        return (sum(a - b for a, b in found), sum(b for _, b in found)) if found else _NOTHING

    return read


def _maven(output: str) -> Counts:
    found = _MAVEN.findall(output)
    if not found:
        return _NOTHING
    run, failures, errors, skipped = (int(number or 0) for number in found[-1])  # the last one is of all classes
    return max(run - failures - errors - skipped, 0), failures + errors


def _named(pattern: re.Pattern[str]) -> Callable[[str], Counts]:
    """A reader for a total with `failures=2, errors=1` or `Failures: 2` behind it."""

    def read(output: str) -> Counts:
        found = pattern.search(output)
        if not found:
            return _NOTHING
        groups = [group for group in found.groups() if group]
        named = {
            name.casefold(): int(number) for name, number in _NUMBER.findall(groups[-1] if len(groups) > 1 else "")
        }
        failed = named.get("failures", 0) + named.get("errors", 0)
        return max(int(groups[0]) - failed - named.get("skipped", 0), 0), failed

    return read


def _listed(output: str) -> Counts:
    for passing, failing in _LISTED:
        passed, failed = passing.search(output), failing.search(output)
        if passed or failed:
            return int(passed[1]) if passed else 0, int(failed[1]) if failed else 0
    return _NOTHING


def _go(output: str) -> Counts:
    """Only with -v are the tests named that passed."""
    passed, failed = len(_GO_PASSED.findall(output)), len(_GO_FAILED.findall(output))
    return (passed or None, failed) if passed or failed else _NOTHING


_READERS: tuple[Callable[[str], Counts], ...] = (
    *(_pytest, _summed(_CARGO), _summed(_NEXTEST), _jest, _maven, _named(_PHPUNIT), _named(_UNITTEST)),
    *(_totals(_EXAMPLES, 1, 2), _summed(_DOTNET, 2, 1), _totals(_CTEST, 2, 1), _totals(_SWIFT, 1, 2), _go, _listed),
)
