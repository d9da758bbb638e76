"""Small hand-made sessions of Claude Code and Codex, written where those agents write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from recollect import Recollect
from recollect.capture.sources import source
from recollect.model import Scope

Json = dict[str, Any]
START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def uid(*names: object) -> str:
    """The same UUID for the same names."""
    return str(uuid5(NAMESPACE_URL, "/".join(map(str, names))))


def stamp(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def claude_turn(session: str, number: int, said: str | None = None, **changes: Any) -> list[Json]:
    """One turn of Claude Code: the prompt, a command, its output, the answer; the last three may be given."""
    output = changes.pop("output", f"1 passed in turn {number}")
    command = changes.pop("command", f"pytest -k turn_{number}")
    answer = changes.pop("answer", f"Turn {number} of {session[:8]} is done.")
    prompt = said if said is not None else f"Please do thing {number} of {session[:8]}."
    call = f"toolu_{uid(session, number, 'call').replace('-', '')}"
    base = {
        "sessionId": session,
        "cwd": "/srv/app",
        "gitBranch": "main",
        "version": "2.1.0",
        "isSidechain": False,
        "userType": "external",
        "entrypoint": "cli",
        **changes,
    }

    def line(kind: str, part: int, message: Json) -> Json:
        at = stamp(number * 10 + part)
        return {**base, "type": kind, "uuid": uid(session, number, part), "timestamp": at, "message": message}

    usage = {"input_tokens": 100 + number, "output_tokens": 10 + number, "cache_read_input_tokens": 5}
    model = {"role": "assistant", "model": "claude-opus-5", "usage": usage}
    run = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}
    ran = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
    return [
        line("user", 0, {"role": "user", "content": prompt}),
        {**line("assistant", 1, {**model, "id": f"msg_{number}a", "content": [run]}), "requestId": f"req_{session}"},
        line("user", 2, {"role": "user", "content": [ran]}),
        {
            **line("assistant", 3, {**model, "id": f"msg_{number}b", "content": [{"type": "text", "text": answer}]}),
            "requestId": f"req_{session}",
        },
    ]


def claude(session: str, turns: int, first: int = 0, **changes: Any) -> list[Json]:
    """Several turns of one session."""
    return [line for number in range(first, first + turns) for line in claude_turn(session, number, **changes)]


def codex(session: str, turns: int, first: int = 0, cwd: str = "/srv/app") -> list[Json]:
    """Several turns of one Codex session; its meta comes with the first."""
    lines: list[Json] = []
    if first == 0:
        meta = {"id": session, "timestamp": stamp(0), "cwd": cwd, "originator": "codex-tui", "cli_version": "0.120.0"}
        lines.append({"timestamp": stamp(0), "type": "session_meta", "payload": {**meta, "source": "cli"}})
    for number in range(first, first + turns):
        prompt, answer = f"Codex, please do thing {number}.", f"Codex did thing {number} of {session[:8]}."
        lines += [
            _said(number, 0, "event_msg", {"type": "user_message", "message": prompt}),
            _said(number, 1, "response_item", _message("user", "input_text", prompt)),
            _said(number, 2, "response_item", _message("assistant", "output_text", answer)),
        ]
    return lines


def _said(number: int, part: int, kind: str, payload: Json) -> Json:
    return {"timestamp": stamp(number * 10 + part), "type": kind, "payload": payload}


def _message(role: str, kind: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def as_lines(records: Iterable[Json]) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


class Agents:
    """The folders of agents in one home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.claude_root = home / ".claude" / "projects"
        self.codex_root = home / ".codex" / "sessions"

    def claude_path(self, session: str, folder: str = "-srv-app") -> Path:
        path = self.claude_root / folder / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def codex_path(self, session: str) -> Path:
        path = self.codex_root / "2026" / "03" / "01" / f"rollout-2026-03-01T09-00-00-{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def claude(self, session: str, turns: int = 2, folder: str = "-srv-app", **changes: Any) -> Path:
        """A session of Claude Code, in its file."""
        path = self.claude_path(session, folder)
        path.write_bytes(as_lines(claude(session, turns, **changes)))
        return path

    def subagent(self, session: str, name: str, turns: int = 1) -> Path:
        """A subagent of a session."""
        path = self.claude_path(session).with_suffix("") / "subagents" / f"agent-{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [{**line, "isSidechain": True, "agentId": name} for line in claude(f"{session}-{name}", turns)]
        path.write_bytes(as_lines({**line, "sessionId": session} for line in lines))
        return path

    def codex(self, session: str, turns: int = 2, cwd: str = "/srv/app") -> Path:
        path = self.codex_path(session)
        path.write_bytes(as_lines(codex(session, turns, cwd=cwd)))
        return path


def grow(path: Path, records: Iterable[Json]) -> None:
    with path.open("ab") as file:
        file.write(as_lines(records))


def everything(memory: Recollect, scope: Scope | None = None) -> list[tuple[Any, ...]]:
    """All that is stored of every session, but for the way it came and the moment it was written down."""
    store, whole = memory.store, (scope or memory.scope).within(None)
    found: list[tuple[Any, ...]] = []
    for session in sorted(store.sessions.find(whole, limit=10_000), key=lambda one: one.id):
        facts = (session.title, session.project, session.cwd, session.branch, session.parent, session.relation)
        found.append((session.id, session.started_at, session.ended_at, session.turns, session.models, *facts))
        for event in store.sessions.history(whole, session.id):
            bodies = tuple((body.hash, body.size) for body in event.bodies)
            raw = (event.raw.at, event.raw.size) if event.raw else None
            said = (event.key, event.position, event.kind, event.role, event.origin, event.text, event.occurred_at)
            found.append((*said, json.dumps(event.meta, sort_keys=True), bodies, raw))
        found += [
            (cost.key, cost.at, cost.model, cost.input, cost.output) for cost in store.captures.costs(whole, session.id)
        ]
        digest = store.digests.get(whole, session.id)
        found.append(("digest", json.dumps(digest.as_dict(), sort_keys=True, default=str) if digest else None))
    return found


def fresh(memory: Recollect) -> list[tuple[Any, ...]]:
    """All that a store which never saw anything before holds after one sweep of the same files."""
    other = replace(memory.settings, data_dir=memory.settings.data_dir.with_name("fresh"))
    with Recollect.open(settings=other, scope=memory.scope, embedder=None, background=False) as clean:
        clean.sweep()
        return everything(clean)


def texts(memory: Recollect, session: str) -> list[str]:
    return [event.text for event in memory.history(session)]


def transcripts(flavor: str, root: Path) -> Sequence[Any]:
    return list(source(flavor).discover(root))
