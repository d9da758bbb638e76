"""A session being told event by event, and what the rules make of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from recollect.capture.toolcall import describe
from recollect.distill.draft import Draft
from recollect.distill.rules.session import distill
from recollect.distill.vetting.vet import vet
from recollect.model import Event, Memory, Session

START = datetime(2026, 11, 16, 9, tzinfo=UTC)
CODING = Session("claude:s", "claude", cwd="/home/ann/app")
CHAT = Session("chat:s", "chat")


class Told:
    """Ten seconds pass between two events."""

    def __init__(self, session: Session = CODING) -> None:
        self.session = session
        self.events: list[Event] = []

    def add(self, kind: str, text: str, role: str, origin: str, **meta: Any) -> Told:
        number = len(self.events)
        at = START + timedelta(seconds=10 * number)
        self.events.append(Event(f"{number:032x}", self.session.id, kind, role, origin, text, at, at, number, meta))
        return self

    def ask(self, text: str) -> Told:
        return self.add("user_prompt", text, "user", "user")

    def say(self, text: str) -> Told:
        return self.add("assistant_text", text, "assistant", "assistant")

    def call(self, tool: str, given: Mapping[str, Any]) -> Told:
        kind, text, meta = describe(tool, dict(given), f"c{len(self.events)}")
        return self.add(kind, text, "assistant", "assistant", **meta)

    def result(self, text: str, **meta: Any) -> Told:
        call = self.events[-1].meta
        known = {"call": call["call"], "tool": call["tool"], "action": call["action"]}
        return self.add("tool_result", text, "tool", "tool", **known, **meta)

    def run(self, command: str, output: str = "ok", code: int = 0) -> Told:
        return self.call("Bash", {"command": command}).result(output, exit=code, error=code != 0)

    def edit(self, path: str) -> Told:
        return self.call("Write", {"file_path": path, "content": "x"}).result("written", error=False)

    def refuse(self, words: str) -> Told:
        """The last call is refused with these words."""
        call = self.events[-1].meta["call"]
        return self.add("human_intervention", words, "system", "user", call=call)

    @property
    def drafts(self) -> list[Draft]:
        return distill(self.session, self.events, None)

    @property
    def memories(self) -> list[Memory]:
        """What is left after vetting."""
        events = {event.key: event for event in self.events}
        return vet(self.drafts, events, session=self.session.id, project=None, now=START).kept

    @property
    def contents(self) -> list[str]:
        return [draft.content for draft in self.drafts]

    def cited(self, draft: Draft) -> list[str]:
        """The words a draft cites."""
        texts = {event.key: event.text for event in self.events}
        return [texts[one.event or ""][one.start : one.end] for one in draft.evidence]


def worked(*prompts: str, session: Session = CODING) -> Told:
    """A session in which every prompt was followed by some work."""
    told = Told(session)
    for prompt in ("Add a login page.", *prompts):
        told.ask(prompt).say("I have changed it.")
    return told
