"""An error by its shape: the line that tells, and a key that is the same wherever the same error happens.

`fingerprint` looks at both ends of an output, picks the one line that says what went wrong (the exception of a
traceback, the compiler's first error, the failed test), and takes out of it what differs from one place to the next:
paths, line numbers, quoted values, addresses, times, counts. Text that shows no error has no fingerprint.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.ids import stable_key
from recollect.text import one_line, present

HEAD = TAIL = 8_000  # characters looked at, from both ends
LINE_CHARS, SHOWN_CHARS = 500, 200
_TRACEBACK_LINES = 400


class Fingerprint(NamedTuple):
    """`key` names the error, `line` is how it read this time."""

    key: str
    line: str


# What a person or the host did is no error, though it is reported as one.
_NOT_ERRORS = re.compile(
    r"\s*(?:The user doesn't want to |\[Request interrupted|Permission for this action was denied|User rejected"
    r"|(?:exec )?command (?:was )?(?:rejected|denied|declined) by (?:the )?user|aborted by user)",
    re.IGNORECASE,
)
_EXIT_LINE = re.compile(r"^(?:Exit code|Process exited with code) \d+[ \t]*$", re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |@@ -\d|\d+(?:,\d+)?[acd]\d+(?:,\d+)?$)", re.MULTILINE)
_DIFF_LINE = re.compile(r"^(?:[-+<>@ ]|diff |index ).*$", re.MULTILINE)
_LONG_LINE = re.compile(r"([^\n]{2000})[^\n]+")  # what keeps every search within bounds
_TRACEBACK = "Traceback (most recent call last)"

# Where the telling line stands, the most telling first; of several that match one rule the first one counts.
_RULES = tuple(
    re.compile(rule, re.MULTILINE)
    for rule in (
        r"(?<=<tool_use_error>)[^\n<]+",
        r"^(?:FAILED|ERROR) \S[^\n]{0,300} - \S.*$",  # pytest's summary
        r"^E {2,}\S.*$",
        r"^[ \t]*error\[E\d{4}\]: .*$",  # rustc
        r"^.*\berror TS\d{3,5}: .*$",
        r"^\S[^\n:]{0,300}:\d+(?::\d+)?:? (?:fatal )?error:? .*$",  # gcc, clang, javac, swiftc
        r"^panic: .*$",
        r"^thread '[^'\n]*'[^\n]{0,30} panicked at [^\n]*(?:\n[^\n]+)?",
        r"^(?:vet: )?[\w./-]+\.go:\d+:\d+: .*$",  # the Go compiler and its linters
        r"^[ \t]*--- FAIL: \S+",
        r"^test \S.* \.\.\. FAILED$|^[ \t]*● \S.*$|^(?:FAIL|ERROR): test\w* \(.*$",
        r"^FAIL\t\S+ \[\w+ failed\]$",
        r"^npm (?:ERR!|error) (?!code |errno |path |command |A complete log|Lifecycle|workspace|location|at )\S.*$",
        r"^npm (?:ERR!|error) code \S+",
        r"^.*\bcommand not found\b.*$|^(?:\S*sh|bash): (?:line )?\d+: .*: not found$|^.* is not recognized as .*$",
        r"^CONFLICT \(.*$|^ ?! \[(?:remote )?rejected\].*$",
        r"^.{0,60}?(?i:fatal(?: error)?|error)(?:\[[^\]\n]*\])?: \S.*$",
        r"^(?:Uncaught |Unhandled |Caused by: |Exception in thread \"[^\"\n]*\" |\*\* \()?"
        r"[\w.$]*(?:Error|Exception|Interrupt)(?:\)|:|$).*$",
        r"^.*\((?:\w+::)*\w+(?:Error|Exception)\)$",  # Ruby
        r"^.*(?i:no such file or directory|permission denied|is a directory|not a directory|no space left on device"
        r"|connection (?:refused|reset)|address already in use|operation not permitted|could not resolve host"
        r"|\btimed out\b|\bdeadline exceeded).*$|^.*\bE(?:NOENT|ISDIR|NOTDIR|ACCES|PERM|XIST|ADDRINUSE|CONN\w+)\b.*$",
        r"^.*\b(?:HTTP(?:/\d(?:\.\d)?)?|[Ss]tatus(?: code)?|API Error)[: =]{1,3}[45]\d\d\b.*$|^curl: \(\d+\) .*$",
        r"^.*\b[45]\d\d (?:Not Found|Unauthorized|Forbidden|Bad Request|Internal Server Error|Too Many Requests"
        r"|Service Unavailable|Bad Gateway|Gateway Timeout|Conflict)\b.*$",
        r"^make(?:\[\d+\])?: \*\*\* .*$",
        r"^(?!\w\S*[/.]\S*:\d+:)(?!.*\b0 (?:failed|failures|errors)\b).*\b(?i:failed|failure|cannot|could ?n[o']t"
        r"|unable to|not found|does(?: not|n't) exist|denied|refused|rejected|unknown (?:option|command|flag|revision)"
        r"|already exists|has not been|too large|overloaded|exceeds|(?:parse|syntax) error"
        r"|no matches found|are ignored)\b.*$",
    )
)

_SHAPES = re.compile(
    r"""
    (?P<kept>\b(?:http(?:/\d(?:\.\d)?)?|status(?:\ code)?|api\ error|exit(?:\ code|\ status)?|signal|errno|curl:\ )
      [:\s=(]{0,3}\d{1,3}\b)
  | (?P<url>\b[a-z][a-z+.-]{1,9}://[^\s'"<>)\]]+)
  | (?P<mail>[\w.+-]+@[\w.-]+)
  | (?P<quote>(?<!\w)'[^'\n]{0,200}'(?!\w) | "[^"\n]{0,200}" | `[^`\n]{0,200}` | ‘[^’\n]{0,200}’ | “[^”\n]{0,200}”)
  | (?P<path>(?:\b[a-z]:(?:[\\/]+[\w.@%+=~-]+)+[\\/]? | [\w.@+~-]*(?:/[\w.@%+=~-]+)+/?
      | \.?\b[\w-]+(?:\.[\w-]+)*\.(?:py|pyi|go|rs|tsx?|jsx?|mjs|cjs|java|kt|rb|php|c|cc|cpp|h|hpp|cs|swift|exs?|erl|sh
        |sql|json|ya?ml|toml|md|txt|lock|html|css|vue|svelte)\b)
      (?:\(\d+,\d+\)|(?::\d+){1,2}|,\ line\ \d+)?)
  | (?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)
  | (?P<time>\b\d{4}-\d\d-\d\d(?:[t\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?
      | \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)
  | (?P<hex>\b0x[0-9a-f]+\b | \b(?=[a-f]*\d)[0-9a-f]{7,64}\b)
  | (?P<number>(?<![a-z_\d])(?:\d+(?:[.,]\d+)*\ ?(?:ns|us|µs|ms|s|m|h|seconds?|minutes?|[kmgt]i?b|%)(?![\w]))+
      | (?<![a-z_\d])-?v?\d+(?:[.,]\d+)*(?![a-z_\d]))
    """,
    re.VERBOSE,
)
_NAMES = {"url": "<url>", "mail": "<mail>", "quote": "<value>", "path": "<path>"}
_MISSING_COMMAND = re.compile(
    r"([\w.+-]+): command not found(?!:)|command not found: ([\w.+-]+)|\d+: ([\w.+-]+): not found$"
)
_MISSING_FILE = re.compile(r": [^:\n]{1,300}: (?=no such file or directory|permission denied|is a directory)")
_NAMED = re.compile(r"\b(for user |user[=:]\s*|current branch )\S+")
_NEXT_SENTENCE = re.compile(r"(?<=[\w>)'\"])\. (?=[A-Z])|\\n\\n")  # hints follow what went wrong
_PLURAL = re.compile(r"# ([a-z]{3,})s\b")
_SPACES = re.compile(r"\s+")


def fingerprint(text: str) -> Fingerprint | None:
    """The error a text shows, or None."""
    shown = _shown(text)
    line = _telling(shown) if shown else None
    return of_line(line) if line else None


def refused(text: str) -> bool:
    """Whether a result says that a person, not the tool, ended the call."""
    return _NOT_ERRORS.match(text[:HEAD]) is not None


def of_line(line: str) -> Fingerprint:
    """The fingerprint of a line that is known to say what went wrong."""
    line = one_line(line[:LINE_CHARS])
    return Fingerprint(stable_key("error", shape(line))[:12], one_line(line, SHOWN_CHARS))


def shape(line: str) -> str:
    """What is left of an error's line when all that differs from place to place is taken out."""
    line = _SPACES.sub(" ", present(line[:LINE_CHARS])).strip()
    line = _NEXT_SENTENCE.split(line, maxsplit=1)[0].lower()
    missing = _MISSING_COMMAND.search(line)
    if missing:
        return f"command not found: {next(name for name in missing.groups() if name)}"
    line = _NAMED.sub(r"\1#", _MISSING_FILE.sub(": <path>: ", line))
    line = _SHAPES.sub(_stand_in, line)
    return _PLURAL.sub(r"# \1", line).strip(" .,:;!-")


def _stand_in(match: re.Match[str]) -> str:
    group = match.lastgroup or ""
    return match[0] if group == "kept" else _NAMES.get(group, "#")


def _shown(text: str) -> str:
    """Both ends of the text, without what is no error of its own; empty when nothing is left."""
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    if refused(text):
        return ""
    text = _EXIT_LINE.sub("", _LONG_LINE.sub(r"\1", present(text)))
    if _DIFF.search(text):
        text = _DIFF_LINE.sub("", text)
    return text if text.strip() else ""


def _telling(text: str) -> str | None:
    summary = _RULES[0].search(text) or _RULES[1].search(text)
    if summary:
        return summary[0]
    raised = _raised(text)
    if raised:
        return raised
    for rule in _RULES[2:]:
        found = rule.search(text)
        if found:
            return found[0]
    return None


def _raised(text: str) -> str | None:
    """The exception at the end of the last Python traceback: the first line after it that is not indented."""
    at = text.rfind(_TRACEBACK)
    if at < 0:
        return None
    margin = at - (text.rfind("\n", 0, at) + 1)  # what stands before it on its line stands before the others too
    for line in text[at:].split("\n", _TRACEBACK_LINES)[1:_TRACEBACK_LINES]:
        line = line[margin:]
        if line.strip() and not line.startswith((" ", "\t", "|")):
            return line
    return None
