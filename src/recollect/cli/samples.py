"""The sessions that ship with Recollect, as their agents would have left them: what `recollect demo` is told about.

`recollect/demo/<agent>` holds native transcripts, `chat.jsonl` a conversation by the minute. They were written as if it
were `WRITTEN`; every time in them is moved by the same span when they are copied out, so that their ages read the same
whenever the demo is run. The access token in one of them is drawn then, too: none stands in the package.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.facade import Recollect

SAMPLES = Path(__file__).parents[1] / "demo"
AGENTS = ("claude", "codex", "grok")
CLAUDE = "claude:5d1f0c7e-3b52-4c0e-9a1d-7f6e2c4b8a10"
CODEX = "codex:0199a4c2-6f1d-7c83-9b52-2d7e41f0a6c8"
GROK = "grok:019bf2e9-7b20-7e9a-a4d1-5c8e03b76f12"
CHAT = "chat:lisbon"
PROJECT, DIRECTORY = "github.com/harbor/tide", "/home/kim/tide"  # no such place: the alias in the settings names it
WRITTEN = datetime(2026, 1, 30, 17, tzinfo=UTC)
SECRET = "{{secret}}"  # noqa: S105 - what stands in a transcript where a token belongs

_ISO = re.compile(r'(?<=")\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?=")')
_EPOCH = re.compile(r"(?<=:)1\d{9}(?:\d{3})?(?=[,}])")  # seconds or milliseconds


def write_transcripts(folder: Path, at: datetime) -> dict[str, list[Path]]:
    """Copy the agents' transcripts to where nothing else is, as if now were `at`; returns what to sweep."""
    token = "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))
    for agent in AGENTS:
        for file in sorted(path for path in (SAMPLES / agent).rglob("*") if path.is_file()):
            copy = folder / file.relative_to(SAMPLES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = moved(file.read_text(encoding="utf-8"), at - WRITTEN)
            copy.write_text(text.replace(SECRET, token), encoding="utf-8", newline="\n")
    return {agent: [folder / agent] for agent in AGENTS}


def moved(text: str, span: timedelta) -> str:
    """JSON text with every time in it later by `span`, in whole seconds."""
    seconds = round(span.total_seconds())

    def iso(found: re.Match[str]) -> str:
        later = datetime.fromisoformat(found[0]) + timedelta(seconds=seconds)
        return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def epoch(found: re.Match[str]) -> str:
        return str(int(found[0]) + seconds * (1 if len(found[0]) == 10 else 1_000))

    return _EPOCH.sub(epoch, _ISO.sub(iso, text))


def record_chat(memory: Recollect, at: datetime) -> None:
    """The conversation no agent wrote down: a program records it, message by message."""
    head, *messages = map(json.loads, (SAMPLES / "chat.jsonl").read_text(encoding="utf-8").splitlines())
    start = at - timedelta(days=head["days_ago"])
    memory.record_many(
        (head["session"], one["role"], one["content"], start + timedelta(minutes=one["minute"])) for one in messages
    )
    memory.ensure_session(head["session"], head["title"])


def within(memory: Recollect, project: str | None) -> Recollect:
    """The same open store, in a project."""
    from recollect.facade import Recollect

    return Recollect(memory.store, memory.scope.within(project), memory.settings, embedder=None, background=False)
