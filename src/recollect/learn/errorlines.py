"""Lines of errors that are told by what they name: a missing program, an unknown option, the findings of a linter.

A line comes in; what it names goes out, or whether it is of that sort. Also which lines are of no use at all.
"""

from __future__ import annotations

import re

_MISSING = re.compile(
    r"(?:^|[ :])([\w.+-]{1,40}): command not found(?!:)|command not found: ([\w.+-]{1,40})"
    r"|\d+: ([\w.+-]{1,40}): not found$|^([\w+-]{1,40}) not found$"
)
_OPTION = re.compile(
    r"unrecogni[sz]ed (?:argument|option)|unknown (?:option|flag|shorthand|argument)|invalid option|accepts at most"
    r"|unexpected argument|no such option|illegal option|flag provided but not defined",
    re.IGNORECASE,
)
# Nothing an agent could do otherwise: the service, its own program that is gone, or a line that says nothing.
_NOTHING = re.compile(
    r"api error|overloaded|socket connection was closed|rate limit|internal server error|please run /login"
    r"|^(?:error:? )?usage\b|trimmed for fixture|^exit (?:code|status)|request timed out|user (?:rejected|cancel)"
    r"|tool_?use_?error|blocked: sleep|\b(?:posix_)?spawn\b.{0,200}\benoent\b|\benoent\b.{0,200}\b(?:posix_)?spawn\b",
    re.IGNORECASE,
)
_LOOKED_AT = 20_000
# A place in the code: `a.go:3:1`, `--> src/a.rs:3`, `  3:1  error`, `In a.sh line 3:`.
_PLACE = re.compile(r"[\w-]\.\w{1,5}:\d+|^\s*\d+:\d+\s+(?:error|warning)\b|^In \S+ line \d+:", re.IGNORECASE)
# A linter that did not get to the code.
_NOT_RUN = re.compile(
    r"\bno \S{0,20} ?files (?:to|found|were|matching)|context loading failed|unsupported (?:version|config)"
    r"|(?:can't|cannot|could not|failed to|unable to) (?:load|find|run|start|read|open|parse|import|resolve)"
    r"|(?:invalid|missing|bad) config|no (?:such )?tasks?\b|not permitted|permission denied|timed out|timeout exceeded"
    r"|command not found|no such file|internal error|no required module|missing go\.sum",
    re.IGNORECASE,
)
_NO_PROCESS = re.compile(
    r"stdin is closed|unknown process|no such (?:process|session)|session not found", re.IGNORECASE
)


def missing_program(line: str) -> str | None:
    """The program that a line says is not installed."""
    found = _MISSING.search(line)
    return next((name for name in found.groups() if name), None) if found else None


def unknown_option(line: str) -> bool:
    """Whether a line says that a program was called with what it does not take."""
    return _OPTION.search(line) is not None


def says_nothing(line: str) -> bool:
    """Whether a line is of no use: nobody could have done otherwise."""
    return not line.strip() or _NOTHING.search(line) is not None


def has_findings(output: str) -> bool:
    """Whether a linter says something about a place in the code, and not only why it could not look at it."""
    lines = output[:_LOOKED_AT].split("\n")
    return any(_PLACE.search(line) and not _NOT_RUN.search(line) and not unknown_option(line) for line in lines)


def of_a_process(line: str) -> bool:
    """Whether a line is about the program that runs, and not what that program says."""
    return _NO_PROCESS.search(line) is not None
