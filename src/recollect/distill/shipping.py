"""Commits a session made, and pull requests it made or worked on.

Commands that did not fail come in with their output; commits and addresses go out, each once, in the order they were
first seen. What git or the host says is believed, and a repository made only to try something is not counted.
"""

from __future__ import annotations

import re

from recollect.distill.digestparts import SUBJECT_CHARS
from recollect.text import one_line

_LOOKED_AT = 4_000
_COMMIT = re.compile(r"(?:^|[;&|(\n])[ \t]*(?:\w+=\S*\s+)*git\s+(?:-[Cc]\s+\S+\s+)*commit\b(?![^\n]*--dry-run)")
_COMMITTED = re.compile(r"^\[[^\]\n]{1,200} ([0-9a-f]{7,40})\] ([^\n]*)", re.MULTILINE)
_NOT_COMMITTED = re.compile(r"nothing (?:added )?to commit|no changes added to commit|^(?:fatal|error): ", re.MULTILINE)
_REQUEST = re.compile(r"\b(?:gh\s+pr|glab\s+mr)\s+create\b")
_REQUEST_URL = re.compile(r"https?://[^\s'\"<>)]{1,300}/(?:pull|pulls|merge_requests)/\d+")


class Shipped:
    """What was shipped so far."""

    def __init__(self) -> None:
        self.commits = 0
        self.committed: dict[str, None] = {}
        self.requests: dict[str, None] = {}

    def ran(self, command: str, output: str, ended: bool) -> bool:
        """Whether a command shipped anything; `ended` when it is known to have gone well."""
        made = False
        if _COMMIT.search(command) and "git init" not in command:  # a repository made to try something
            made = self._commit(output[:_LOOKED_AT], ended)
        if _REQUEST.search(command):
            made = self.note(output[-_LOOKED_AT:]) or made
        return made

    def _commit(self, output: str, ended: bool) -> bool:
        """What git says it committed; a commit that went well in silence is one too."""
        said = [f"{commit} {one_line(subject, SUBJECT_CHARS)}" for commit, subject in _COMMITTED.findall(output)]
        new = [one for one in said if one not in self.committed]
        quiet = ended and not said and not _NOT_COMMITTED.search(output)
        if new or quiet:
            self.commits += len(new) or 1
            self.committed |= dict.fromkeys(new)
        return bool(new) or quiet

    def note(self, text: str) -> bool:
        """Pull requests named in a text, and whether any is new."""
        found = dict.fromkeys(_REQUEST_URL.findall(text))
        new = found.keys() - self.requests.keys()
        self.requests |= found
        return bool(new)
