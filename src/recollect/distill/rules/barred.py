"""What the environment of a session did not allow, and the setting with which it went.

A story comes in; at most one lesson and one fact go out, both computed: a command that failed because something may not
be reached or written, and the same command passing with a variable set before it, or never.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rules.facts import COMMAND_CHARS, REPEATED, times
from recollect.distill.rules.story import Run, Story
from recollect.distill.sentences import whole_words
from recollect.model import Evidence

_BARRED = re.compile(
    r"permission denied|operation not permitted|could not resolve host|no such host|network is unreachable|dial tcp"
    r"|temporary failure in name resolution|read-only file system|connection refused|\bE(?:PERM|ACCES|ROFS)\b",
    re.IGNORECASE,
)
_SANDBOX = re.compile(
    r"operation not permitted|could not resolve host|no such host|network is unreachable|name resolution"
    r"|read-only file",
    re.IGNORECASE,
)
# An error that a setting can do away with: a place that may not be written to. A network that is there again is none.
_OF_A_FILE = re.compile(
    r"/\S+.{0,20}(?:operation not permitted|permission denied|read-only file|\bE(?:PERM|ACCES|ROFS)\b)", re.IGNORECASE
)
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{1,40}=[\w./:@,-]{1,80}")


def barred(story: Story) -> Iterator[Draft]:
    """What the environment did not allow, and the setting with which it went; one of each at most."""
    failing: dict[str, list[Run]] = {}  # by the bare command
    ways: list[Draft] = []
    for run in story.runs:
        if run.action != "shell" or run.result is None or not run.target:
            continue
        bare, setting = _bare(run.target)
        if run.error is not None and _BARRED.search(run.error.line):
            failing.setdefault(bare, []).append(run)
        elif run.failed is False and run.tests != "failed":
            failed = failing.pop(bare, None)
            if failed and setting and _bare(failed[-1].target)[1] != setting and _OF_A_FILE.search(_line(failed[-1])):
                ways.append(_way_around(story, failed[-1], run, setting))
    yield from ways[-1:]
    lasting = [runs for runs in failing.values() if len(runs) >= REPEATED or _SANDBOX.search(_line(runs[-1]))]
    yield from (_not_allowed(story, runs) for runs in sorted(lasting, key=len, reverse=True)[:1])


def _bare(target: str) -> tuple[str, str]:
    """(the command, the settings before it) of `env A=1 B=2 make test`."""
    words = target.split()
    at = 1 if words[:1] == ["env"] else 0
    first = at
    while at < len(words) and _SETTING.fullmatch(words[at]):
        at += 1
    return " ".join(words[at:]), " ".join(words[first:at])


def _line(run: Run) -> str:
    return run.error.line if run.error is not None else ""


def _way_around(story: Story, failed: Run, passed: Run, setting: str) -> Draft:
    assert passed.result is not None
    command, line = whole_words(_bare(passed.target)[0], COMMAND_CHARS), _line(failed)
    return Draft(
        kind="lesson",
        content=f"`{command}` needs `{setting}` before it here; without it, it was not allowed to go on.",
        evidence=(_shown(story, failed), story.cite(passed.call)),
        occurred_at=passed.result.occurred_at,
        why=f"it failed with: {whole_words(line, COMMAND_CHARS * 2)}",
        importance=0.6,
        tags=(f"error-{failed.error.key}",) if failed.error else (),
        anchors=(f"command:{command}",),
        checked=True,
    )


def _not_allowed(story: Story, runs: list[Run]) -> Draft:
    last = runs[-1]
    assert last.result is not None
    command = whole_words(last.target, COMMAND_CHARS)
    return Draft(
        kind="fact",
        content=f"In the environment of that session `{command}` failed {times(len(runs))} with: {_line(last)}",
        evidence=(_shown(story, last), story.cite(last.call)),
        occurred_at=last.result.occurred_at,
        importance=0.4,
        tags=(f"error-{last.error.key}",) if last.error else (),
        anchors=(f"command:{command}",),
    )  # of that environment: nobody should read it unless they ask


def _shown(story: Story, run: Run) -> Evidence:
    """Where the error of a run stands in its output."""
    assert run.result is not None
    at = run.result.text.find(_line(run))
    return story.cite(run.result, at, at + len(_line(run))) if at >= 0 else story.cite(run.result)
