"""What a Codex session carries from line to line, and whose words a text in the user's role is.

Texts, ids and facts out of a record come in; events with the record's time, place and identity go out. What both
streams say is told once. The items mix a person's words with the host's, and an event with the same words, before the
item or after it, tells which are a person's: so an item waits until an event claims it or something else comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from recollect.capture.sources.codexhistory import CopiedHistory
from recollect.capture.transcript import Reading, text_of
from recollect.model import Body, Event

_RANDOM = 20  # an id with so many characters is taken for unique in the world
# What the host says in the user's role; the words of a person begin otherwise.
_HOST_TEXT = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<turn_aborted>", "<skill>"),
    *("<subagent_notification>", "<permissions instructions>", "<user_shell_command>", "<model_switch>"),
    *("<personality_spec>", "<multi_agent_role>", "<current_time_reminder>", "<recommended_plugins>", "<goal_context>"),
    *("<rollout_budget>", "<image_resize_notice>", "<realtime_delegation>", "<codex_internal_context", "<user_action>"),
    *("<guardian_sync_review>", "<hook_prompt"),
)
_IDE_HEADS = ("# Context from my IDE setup:", "# Files mentioned by the user:", "# In app browser:")
_IDE_REQUEST = "## My request for Codex:"


class _Said(NamedTuple):
    """A text in the user's role, until it is known whose it is."""

    text: str
    bodies: tuple[Body, ...]
    time: datetime | None
    stamp: str
    at: int
    size: int


class State:
    """A session while it is read."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.history = CopiedHistory(reading)
        self.time: datetime | None = None
        self.stamp = ""
        self.guessed = False  # the time is not the record's own
        self.known = False  # the session's own meta was read
        self.fresh = True  # nothing but session meta so far
        self.subagent = False
        self.prompted = False
        self.model: str | None = None
        self.calls: dict[str, tuple[str, str, tuple[str, ...]]] = {}  # call id -> tool name, action, identity
        self.exits: dict[str, tuple[int | None, bool]] = {}  # call id -> exit code, whether it failed
        self.waiting: list[_Said] = []
        self.said: str | None = None  # a prompt whose event came first
        self.by_event = False
        self.total: dict[str, int] = {}
        self.written: dict[str, Any] | None = None  # the last total as it was written

    def event(
        self,
        kind: str,
        role: str,
        origin: str,
        text: str,
        native: tuple[str, ...],
        meta: Mapping[str, Any] | None = None,
        bodies: tuple[Body, ...] = (),
    ) -> Event:
        meta = dict(meta or {})
        if self.guessed and self.time:
            meta["time"] = "inferred"
        return self.reading.event(kind, role, origin, text, self.time, native, meta, bodies)

    # -- what a record is known by

    def again(self, what: str) -> tuple[str, ...]:
        """The identity of a record without an id."""
        return self.reading.again(self.reading.native, self.stamp, what)

    def identity(self, payload: Mapping[str, Any], what: str) -> tuple[str, ...]:
        given = text_of(payload.get("id"))
        if not given:
            return self.again(what)
        return self.reading.again("item", *self._unique(given))

    def calling(self, call: str, what: str) -> tuple[str, ...]:
        """The identity of a call and its result. Local models number their calls, and begin again."""
        return self.reading.again("call", *self._unique(call)) if call else self.again(what)

    def _unique(self, given: str) -> tuple[str, ...]:
        """An id of the agent, with the session's before it when it may not be the only one in the world."""
        return (given,) if len(given) >= _RANDOM else (self.reading.native, given)

    # -- whose words they are

    def heard(self, text: str, bodies: tuple[Body, ...]) -> Iterator[Event]:
        """A text in the user's role, as an item has it."""
        if text.lstrip().startswith(_HOST_TEXT):
            yield self.injected(text, bodies)
        elif self.said is not None and self.said in _words(text):
            self.said = None
        else:
            reading = self.reading
            self.waiting.append(_Said(text, bodies, self.time, self.stamp, reading.at, reading.size))

    def spoken(self, text: str, bodies: tuple[Body, ...]) -> Iterator[Event]:
        """A prompt as an event tells it; the item with the same words may have come before it or will after."""
        self.by_event = True
        text = text or ("[image]" if bodies else "")
        if not text.strip():
            return
        words = _words(text)
        twin = next((said for said in self.waiting if words in _words(said.text)), None)
        if twin is None:
            yield from self.decide()
            self.said = words
            yield self.prompt(text, bodies)
            return
        self.waiting.remove(twin)
        yield from self.decide()
        self.said = None
        yield self._held("user_prompt", twin._replace(bodies=twin.bodies or bodies), text)

    def decide(self) -> Iterator[Event]:
        """Texts in the user's role that no event claimed: the host's where events tell a person's, else a person's."""
        held, self.waiting = self.waiting, []
        for said in held:
            yield self._held("injected_context" if self.by_event else "user_prompt", said, said.text)

    def _held(self, kind: str, said: _Said, text: str) -> Event:
        """The event of a text that waited, with the time and place it was read at."""
        reading = self.reading
        now, place = (self.time, self.stamp), (reading.at, reading.size)
        self.time, self.stamp, reading.at, reading.size = said.time, said.stamp, said.at, said.size
        event = self.prompt(text, said.bodies) if kind == "user_prompt" else self.injected(text, said.bodies)
        (self.time, self.stamp), (reading.at, reading.size) = now, place
        return event

    def prompt(self, text: str, bodies: tuple[Body, ...]) -> Event:
        """A person's words, without what the editor put before them; in a subagent those of the one that started it."""
        if text.lstrip().startswith(_IDE_HEADS) and _IDE_REQUEST in text:
            text = text.split(_IDE_REQUEST, 1)[1].strip() or text
        self.prompted = True
        origin = "assistant" if self.subagent else "user"
        return self.event("user_prompt", "user", origin, text, self.again("prompt"), None, bodies)

    def injected(self, text: str, bodies: tuple[Body, ...] = ()) -> Event:
        """The host's words in somebody else's role."""
        return self.event("injected_context", "system", "tool", text, self.again("injected"), None, bodies)


def _words(text: str) -> str:
    """A prompt without its images, which the two streams put in different places."""
    return text.replace("[image]", "").strip()
