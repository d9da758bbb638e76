"""What a host loads by itself in a directory: its instruction files and its own memory, read to know, never changed.

Reading is bounded in files and bytes, blocks on nothing and raises nothing. A link is followed only while it stays
within the directory tree it was found in, or within the host's own directory. What is read is compared, word by word,
with what we would say (`sameness`); none of it is ever shown or kept.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.frame import without_blocks
from recollect.inject.sameness import Known, pieces

MAX_FILES, MAX_BYTES, MAX_HOPS = 100, 65_536, 5
INDEX_LINES, INDEX_BYTES = 200, 25_000  # of its own index, what Claude Code loads
# Names in every directory on the way down to where the agent runs; of names with a bar between, the first there is.
_ON_THE_WAY = {
    "claude": ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/*.md"),
    "codex": ("AGENTS.override.md|AGENTS.md",),
    "gemini": ("GEMINI.md",),
    "opencode": ("AGENTS.md|CLAUDE.md",),
    "cursor": ("AGENTS.md", "CLAUDE.md", ".cursorrules", ".cursor/rules/*.mdc"),
    "grok": (
        *("Agents.md", "Claude.md", "CLAUDE.md", "CLAUDE.local.md", "AGENT.md", "AGENTS.md"),
        *(".grok/rules/*.md", ".claude/rules/*.md", ".cursor/rules/*.md"),
    ),
}
# The host's own directory, the variable that moves it, and what it loads from there.
_AT_HOME = {
    "claude": (".claude", "CLAUDE_CONFIG_DIR", ("CLAUDE.md", "rules/*.md", "projects/{path}/memory/MEMORY.md")),
    "codex": (
        *(".codex", "CODEX_HOME"),
        ("AGENTS.override.md|AGENTS.md", "memories/MEMORY.md", "memories/memory_summary.md"),
    ),
    "gemini": (".gemini", "", ("GEMINI.md",)),
    "opencode": (".config/opencode", "", ("AGENTS.md|../../.claude/CLAUDE.md",)),
    "grok": (".grok", "GROK_HOME", ("AGENTS.md", "rules/*.md", "memory/MEMORY.md", "memory/{name}-????????/MEMORY.md")),
}
_CLIMBING = ("claude",)  # hosts that also load what lies above the repository
_IMPORT = re.compile(r"(?:^|\s)@((?:~/|\.{0,2}/)?[\w.@+-][\w./@+ -]{0,200}?)(?=\s|$)", re.MULTILINE)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NOT_NAME = re.compile(r"[^A-Za-z0-9]")
_SOMETIMES = re.compile(r"\A---\n(?:(?!---$).*\n){0,40}?(?:paths:|globs:|alwaysApply: *false)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a host loads by itself: what others wrote there, and what we did."""

    theirs: Known
    ours: Known


class Native:
    """Reads what hosts load; a file is read once, however many directories lead to it."""

    def __init__(self, env: Mapping[str, str], data_dir: Path | None = None) -> None:
        self._env = env
        self._data_dir = data_dir
        self._read: dict[Path, str] = {}
        self._known: dict[tuple[str, ...], Loaded] = {}

    def loaded(self, texts: Sequence[str]) -> Loaded:
        """What these texts say."""
        key = tuple(texts)
        if key not in self._known:
            theirs = [without_blocks(text, "")[0] for text in texts]
            ours = [text for text, left in zip(texts, theirs, strict=True) if text != left]
            both = [Known(piece for text in each for piece in pieces(text)) for each in (theirs, ours)]
            self._known[key] = Loaded(*both)
        return self._known[key]

    def texts(self, host: str, directory: Path, top: Path | None = None) -> list[str]:
        """The texts a host loads in a directory; `top` is that of the repository, if it is in one."""
        found: dict[Path, str] = {}
        for root, path in self._files(host, directory, top):
            self._take(root, path, found, MAX_HOPS)
        return [text for text in found.values() if text]

    def _files(self, host: str, directory: Path, top: Path | None) -> Iterator[tuple[Path, Path]]:
        """Every file that may be loaded, with the directory it must not lead out of."""
        if host in _AT_HOME:
            name, variable, patterns = _AT_HOME[host]
            moved = self._env.get(variable, "") if variable else ""
            home = Path(moved) if moved.startswith("/") else Path.home() / name
            root = Path.home() if home.is_relative_to(Path.home()) else home
            for pattern in patterns:
                yield from ((root, path) for path in _matching(home, _named(pattern, top or directory)))
        for folder in (*reversed(directory.parents), directory):
            inside = folder.is_relative_to(top or directory)
            if folder != folder.parent and (inside or host in _CLIMBING):
                for pattern in _ON_THE_WAY.get(host, ()):
                    yield from ((top or folder if inside else folder, path) for path in _matching(folder, pattern))

    def _take(self, root: Path, path: Path, found: dict[Path, str], hops: int) -> None:
        """The text of a file, and of those it imports."""
        if not os.path.lexists(path):
            return
        real = _within(path, root) or (_within(path, self._data_dir) if self._data_dir else None)
        if real is None or real in found or len(found) >= MAX_FILES:
            return
        if real not in self._read:
            self._read[real] = _text(real)
        text = found[real] = self._read[real]
        if hops and "@" in text:
            for match in _IMPORT.finditer(_CODE.sub("", without_blocks(text, "")[0])):
                name = match[1].rstrip(".,;:!?)")
                imported = Path.home() / name[2:] if name.startswith("~/") else real.parent / name
                self._take(root, imported, found, hops - 1)


def _named(pattern: str, place: Path) -> str:
    """The pattern with this place in it, as the hosts write it."""
    return pattern.format(path=_NOT_NAME.sub("-", str(place)), name=_NOT_NAME.sub("-", place.name).casefold())


def _matching(folder: Path, pattern: str) -> list[Path]:
    """The files a pattern names; one without a star is that file, there or not."""
    if not set("*?") & set(pattern):
        names = [folder / name for name in pattern.split("|")]
        return next(([name] for name in names[:-1] if os.path.lexists(name)), names[-1:])
    try:
        return sorted(folder.glob(pattern))[:MAX_FILES]
    except (OSError, ValueError):
        return []


def _within(path: Path, root: Path) -> Path | None:
    """The file behind a path, links followed, if it is beneath the root."""
    try:
        real = Path(os.path.realpath(path))
        return real if real.is_relative_to(os.path.realpath(root)) else None
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str:
    """What is loaded of a plain file; empty when it cannot be read, or is loaded only at times."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        text = os.read(handle, MAX_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""
    finally:
        os.close(handle)
    if path.name == "MEMORY.md":
        return "\n".join(text[:INDEX_BYTES].split("\n")[:INDEX_LINES])
    return "" if path.parent.name == "rules" and _SOMETIMES.match(text) else text
