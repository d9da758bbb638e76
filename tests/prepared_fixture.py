"""What the worker prepares for hooks, written by hand: the answers to a start, the prompt indexes, the mode."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recollect import hook, hookreply, promptindex

ASKING = "why can't I connect to postgres on my machine? which port was it"
ENTRY = "[said by user, 2026-11-15]\n> Postgres for local development listens on port 5433.\n"
PORT = ("m-port", "Postgres for local development listens on port 5433, not 5432.", ENTRY)
ENTRIES = (
    PORT,
    ("m-deploy", "Deploys go out on Tuesday and Thursday, never on Friday.", "> Deploys go out on Tuesday.\n"),
    ("m-lint", "Run make lint before pushing, CI fails on any ruff warning.", "> Run make lint before pushing.\n"),
)


class Prepared:
    """The folder `prepared` of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.folder = data_dir / "prepared"
        for folder in (data_dir, self.folder, self.folder / "start", self.folder / "prompt"):
            folder.mkdir(mode=0o700, exist_ok=True)

    def mode(self, word: str) -> Prepared:
        """How prompts are answered."""
        self.write("mode", f"{word}\n".encode())
        return self

    def start(self, text: str, directory: str | None = None, agent: str = "claude") -> bytes:
        """What is printed when a session starts there (None: anywhere); returns those bytes."""
        said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
        given: dict[str, Any] = {"additional_context": text} if agent == "cursor" else said
        content = (json.dumps(given, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        self.write(f"start/{name_of(directory)}.{agent}", content)
        return content

    def index(self, entries: Iterable[tuple[str, str, str]] = ENTRIES, directory: str | None = None) -> bytes:
        """The prompt index of a directory (None: of everywhere)."""
        content = promptindex.build(entries)
        self.write(f"prompt/{name_of(directory)}.index", content)
        return content

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        path.chmod(0o600)
        return path


def left_unread(data_dir: Path, hours: float) -> Path:
    """A whole record that a hook left so many hours ago."""
    spool = data_dir / hook.SPOOL
    now = spool / hook.capture(str(data_dir), "claude", b'{"session_id": "s"}', {})
    then = spool / f"{time.time_ns() - round(hours * 3600e9):020d}{now.name[20:]}"
    return now.rename(then)


def name_of(directory: str | None) -> str:
    return "user" if directory is None else hookreply.dir_name(directory)


def event(name: str, **more: Any) -> bytes:
    """What an agent writes on stdin."""
    given = {"session_id": "s-1", "transcript_path": "/t/s-1.jsonl", "cwd": "/home/ann/app", "hook_event_name": name}
    return json.dumps({**given, **more}).encode()
