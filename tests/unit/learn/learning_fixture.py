"""Sessions told event by event, for what is learned from them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from recollect.capture.toolcall import describe
from recollect.distill.digest import Digest, digest_of
from recollect.learn.signals import signals_of
from recollect.learn.values import Signal
from recollect.model import Event, Session

START = datetime(2026, 11, 2, 9, tzinfo=UTC)
NOT_FOUND = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
PATCH = "apply_patch verification failed: Failed to find expected lines in /w/app/a.go:\nfoo"


class Told:
    """A session of one agent, ten seconds a step."""

    def __init__(self, name: str = "s", flavor: str = "claude", *, day: int = 0, **about: Any) -> None:
        self.session = Session(f"{flavor}:{name}", flavor, cwd="/w/app", project="app", **about)
        self.events: list[Event] = []
        self.at = START + timedelta(days=day)

    def add(self, kind: str, text: str, role: str, origin: str, **meta: Any) -> Self:
        number = len(self.events)
        key = f"{self.session.id}#{number}"
        self.events.append(Event(key, self.session.id, kind, role, origin, text, self.at, self.at, number, meta))
        self.at += timedelta(seconds=10)
        return self

    def ask(self, text: str) -> Self:
        return self.add("user_prompt", text, "user", "user")

    def say(self, text: str = "Working on it.") -> Self:
        return self.add("assistant_text", text, "assistant", "assistant")

    def call(self, tool: str, given: Mapping[str, Any]) -> Self:
        kind, text, meta = describe(tool, dict(given), f"c{len(self.events)}")
        return self.add(kind, text, "assistant", "assistant", **meta)

    def result(self, text: str, **meta: Any) -> Self:
        return self.add("tool_result", text, "tool", "tool", call=self.events[-1].meta["call"], **meta)

    def run(self, command: str, output: str = "ok", code: int = 0) -> Self:
        return self.call("Bash", {"command": command}).result(output, exit=code, error=code != 0)

    def edit(self, path: str = "/w/app/a.go", output: str = "ok", *, failed: bool = False) -> Self:
        return self.call("Edit", {"file_path": path, "old_string": "a"}).result(output, error=failed)

    def read(self, path: str, output: str = "text", *, failed: bool = False) -> Self:
        return self.call("Read", {"file_path": path}).result(output, error=failed)

    def refuse(self, command: str, said: str = "The user doesn't want to proceed with this tool use.") -> Self:
        self.call("Bash", {"command": command})
        return self.add("human_intervention", said, "user", "user", call=self.events[-1].meta["call"])

    @property
    def digest(self) -> Digest:
        return digest_of(self.session, self.events, [])

    @property
    def signals(self) -> list[Signal]:
        return signals_of(self.session, self.digest, self.events)

    def of(self, kind: str) -> list[Signal]:
        return [one for one in self.signals if one.kind == kind]


def stale_edit(name: str, flavor: str = "claude", day: int = 0) -> Told:
    """A session in which an edit did not find its text, as that agent says it, and then did."""
    told = Told(name, flavor, day=day).ask("Fix the parser").say()
    told.edit(output=NOT_FOUND if flavor == "claude" else PATCH, failed=True).read("/w/app/a.go").edit()
    return told.say("Done.")


def all_signals(*sessions: Told) -> list[Signal]:
    return [signal for session in sessions for signal in session.signals]
