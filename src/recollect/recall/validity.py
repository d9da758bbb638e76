"""Whether what a memory rests on is still there: its files, symbols and commands, held against the repository at hand.

A memory's anchors come in (`file:src/a.py`, `symbol:load`, `command:make test`, `commit:abc123`); what is to be known
before relying on it goes out, as notes. What is gone lowers a hit; nothing here raises one, and nothing is an error.
Answers are kept for a minute, by the repository's state, so that the same question costs nothing again.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from recollect.model import Memory
from recollect.project import resolve
from recollect.recall.repository import Repository
from recollect.text import one_line

GONE = 0.5  # of its score is left to a hit that rests on something that is not there any more
KEPT = timedelta(seconds=60)
_MOST_KEPT = 2_000
_MOST_ANCHORS = 16
_SLACK = 2.0  # seconds: a file written with the statement is not newer than it
_AT_LINE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_TARGET = re.compile(r"^([A-Za-z0-9_./ -]+?)\s*:(?![=:])", re.MULTILINE)
_RECIPE = re.compile(r"^@?([A-Za-z0-9_-]+)[^:=\n]*:(?!=)", re.MULTILINE)
_UNKNOWABLE = re.compile(r"^-?s?include\b|^[^\s#]*[%$][^\s:]*\s*:|^import\b|^mod\b", re.MULTILINE)
_WRAPPERS = frozenset(("sudo", "time", "env", "nohup", "exec"))
_RUN_BY = frozenset(("uv", "poetry", "pdm", "hatch", "pipenv", "rye"))
_INTERPRETERS = frozenset(("python", "python3", "bash", "sh", "zsh", "node", "ruby", "perl", "php", "deno", "bun"))

Look = Callable[[Memory], "tuple[Finding, ...]"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know about an anchor; `gone`: it is not there any more."""

    note: str
    gone: bool


class Grounds:
    """The repositories recall was done in, and what was found there a moment ago."""

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], tuple[datetime, tuple[Finding, ...]]] = {}

    def look(self, directory: Path, aliases: Mapping[str, str], now: datetime) -> Look:
        """A way to check memories against the repository around a directory; those of other projects are let be."""
        ground: list[_Ground] = []

        def check(memory: Memory) -> tuple[Finding, ...]:
            if memory.project is None or not memory.anchors:
                return ()
            try:
                if not ground:  # nothing is read before there is something to check
                    ground.append(_ground(directory, aliases))
                return self._check(ground[0], memory, now)
            except (OSError, ValueError):
                return ()

        return check

    def _check(self, ground: _Ground, memory: Memory, now: datetime) -> tuple[Finding, ...]:
        if memory.project != ground.project:
            return ()
        key = (str(ground.repository.root), ground.state, memory.anchors, memory.occurred_at)
        known = self._kept.get(key)
        if known is not None and timedelta(0) <= now - known[0] < KEPT:
            return known[1]
        found = tuple(findings(ground.repository, memory.anchors, memory.occurred_at))
        if not ground.repository.tired:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            self._kept[key] = (now, found)
        return found


class _Ground(NamedTuple):
    project: str | None
    repository: Repository
    state: str


def _ground(directory: Path, aliases: Mapping[str, str]) -> _Ground:
    repository = Repository.around(directory)
    return _Ground(resolve(directory, aliases).name, repository, repository.state())


def findings(repository: Repository, anchors: Sequence[str], since: datetime) -> Iterator[Finding]:
    """What became of a memory's anchors since it was made."""
    named = [_parts(anchor) for anchor in anchors[:_MOST_ANCHORS]]
    commits = [what for kind, what in named if kind == "commit"]
    files: list[str] = []
    for kind, what in named:
        if kind == "file" and (path := repository.inside(_AT_LINE.sub("", what))):
            place, found = _file(repository, path, since, commits)
            files += [place] if place else []
            yield from found
    for kind, what in named:
        if kind == "symbol" and files:
            yield from _symbol(repository, what, files)
        elif kind == "command":
            yield from _command(repository, what)


def _parts(anchor: str) -> tuple[str, str]:
    kind, colon, what = anchor.partition(":")
    if colon and kind in ("file", "symbol", "command", "commit"):
        return kind, what.strip()
    return ("file", anchor) if "/" in anchor and " " not in anchor else ("", "")


def _file(
    repository: Repository, path: str, since: datetime, commits: Sequence[str]
) -> tuple[str | None, list[Finding]]:
    """Where the file is now, and what to know of it."""
    shown = one_line(path, 120)
    modified = repository.modified(path)
    if modified is None:
        if repository.is_link(path):
            return None, []
        others = repository.elsewhere(path)
        if repository.tired:
            return None, []
        if others and others[0].endswith(f"/{path}"):
            return others[0], []  # it was said from a folder further down
        if len(others) == 1:
            return others[0], [Finding(f"{shown} moved to {one_line(others[0], 120)}", gone=False)]
        return None, [Finding(f"{shown} no longer exists", gone=True)]
    head = repository.head() if commits else ""
    unchanged = any(len(commit) >= 7 and head.startswith(commit) for commit in commits)
    if not unchanged and modified > since.timestamp() + _SLACK:
        return path, [Finding(f"{shown} changed since", gone=False)]
    return path, []


def _symbol(repository: Repository, symbol: str, files: Sequence[str]) -> Iterator[Finding]:
    """A symbol is looked for in the files the memory names; without any, the whole tree would have to be read."""
    name = re.split(r"[.:#]+", symbol.rstrip("()"))[-1]
    if not re.fullmatch(r"\w{2,100}", name):
        return
    texts = [text for path in files[:4] if (text := repository.read(path)) is not None]
    if texts and not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for text in texts):
        yield Finding(f"{one_line(symbol, 80)} is no longer in {one_line(', '.join(files[:4]), 120)}", gone=True)


# -- commands ----------------------------------------------------------------------------------------------------------


def _command(repository: Repository, command: str) -> Iterator[Finding]:
    """Whether the target, script or file that a command runs is there; of most commands nothing can be told."""
    words, missing = _words(command), None
    if not words:
        return
    program, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    if program in ("make", "gmake"):
        missing = _target(repository, arguments, ("GNUmakefile", "makefile", "Makefile"), _TARGET)
    elif program == "just":
        missing = _target(repository, arguments[:1], ("justfile", "Justfile", ".justfile"), _RECIPE)
    elif program in ("npm", "pnpm", "yarn", "bun") and arguments:
        missing = _script(repository, arguments)
    else:
        missing = _run_file(repository, words)
    if missing and not repository.tired:
        yield Finding(f"{one_line(command, 80)}: {one_line(missing, 120)}", gone=True)


def _words(command: str) -> list[str]:
    """The words of the first simple command, without what only wraps it; none when it works in another folder."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        return []
    end = next((at for at, word in enumerate(words) if word in ("|", "||", "&&", ";", "&") or word.endswith(";")), None)
    words = words[:end]
    while words and (words[0] in _WRAPPERS or re.match(r"\w+=", words[0])):
        words = words[1:]
    if len(words) > 2 and words[0] in _RUN_BY and words[1] == "run":
        words = words[2:]
    return [] if not words or words[0] == "cd" else words


def _target(
    repository: Repository, arguments: Sequence[str], names: Sequence[str], pattern: re.Pattern[str]
) -> str | None:
    targets = [word for word in arguments if not word.startswith("-") and "=" not in word]
    if not targets or any(word in ("-C", "-f", "--directory", "--file") for word in arguments):
        return None
    for name in names:
        text = repository.read(name)
        if text is None:
            continue
        if _UNKNOWABLE.search(text):
            return None
        known = {target for match in pattern.finditer(text) for target in match[1].split()}
        lost = [target for target in targets if target not in known]
        return f"{name} has no target {lost[0]}" if lost else None
    return None


def _script(repository: Repository, arguments: Sequence[str]) -> str | None:
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] in (["run"], ["run-script"]):
        words = words[1:]
    elif words[:1] not in (["test"], ["start"]):
        return None
    text = repository.read("package.json") if words else None
    try:
        told = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    scripts = told.get("scripts", {}) if isinstance(told, dict) else None
    if not isinstance(scripts, dict) or words[0] in scripts or (words[0] == "start" and "main" in (told or {})):
        return None
    return f"package.json has no script {words[0]}"


def _run_file(repository: Repository, words: Sequence[str]) -> str | None:
    if words[0].startswith(("./", "scripts/", "bin/", "tools/")) or words[0].endswith((".sh", ".py")):
        candidates = list(words[:1])
    elif words[0] in _INTERPRETERS:
        candidates = [word for word in words[1:2] if "/" in word or re.search(r"\.\w{1,4}$", word)]
    elif words[0] == "pytest":
        candidates = [word.split("::")[0] for word in words[1:] if "/" in word and not word.startswith("-")]
    else:
        return None
    for candidate in candidates:
        path = repository.inside(candidate.removeprefix("./"))
        if path is None or repository.modified(path) is not None or repository.is_link(path):
            continue
        if not any(other.endswith(f"/{path}") for other in repository.elsewhere(path)):
            return f"{path} no longer exists"
    return None
