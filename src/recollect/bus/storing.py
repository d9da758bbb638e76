"""What an event does to a memory, once: in whatever order, however often and by whomever it is brought.

A message of a conversation is recorded under the event's key, so that the store knows it again. Anything else becomes a
memory whose id is made of that key: the second time it is there already. Nobody saw the user say it, so its origin is
`import`, and what is said to be a preference is kept as a note that the user can confirm. Secrets are taken out first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from recollect.bus.message import Message
from recollect.clock import Clock
from recollect.model import Scope

if TYPE_CHECKING:
    from recollect.capture.privacy import Privacy
    from recollect.facade import Recollect

FLAVOR = "redis"


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event that is to be stored: whose it is, and whether its user's words may be called theirs."""

    entry: str
    message: Message
    scope: Scope
    speaks: bool


def record(memory: Recollect, events: Sequence[Accepted]) -> None:
    """Keep messages of conversations, all in one transaction. They are of one scope, and all speak or none does."""
    from recollect.pipeline.cleaning import privacy_of

    privacy = privacy_of(memory.settings)
    memory.take_in([_exchange(one.message, privacy) for one in events], speaks=events[0].speaks)


def remember(memory: Recollect, event: Accepted, clock: Clock) -> str:
    """Keep one memory; returns what became of it."""
    from recollect.distill.memory import new_memory
    from recollect.pipeline.cleaning import privacy_of, without_secrets

    message = event.message
    own = {"published": dict(message.more)} if message.more else {}
    asked = {"asked_kind": "preference"} if message.kind == "preference" else {}
    given: dict[str, Any] = {
        "content": message.content,
        "kind": "note" if message.kind == "preference" else message.kind,
        "why": message.why,
        "tags": message.tags,
        "importance": message.importance,
        "origin": "import",
        "session": message.session,
        "occurred_at": message.at,
        "meta": {"source": message.source, **asked, **own},
    }
    clean, _ = without_secrets(given, memory.settings)
    made = new_memory(clean, project=memory.scope.project, now=clock())
    key = message.key(privacy_of(memory.settings))
    return memory.settle(replace(made, id=memory_id(memory.scope, message, key))).outcome


def memory_id(scope: Scope, message: Message, key: str) -> str:
    """The id of the memory an event becomes: a UUID of version 7 that the event alone decides."""
    words = (scope.tenant, scope.user, scope.project or "", key)
    tail = int.from_bytes(hashlib.sha256("\0".join(words).encode()).digest()[:10])
    millis = max(0, int(message.at.timestamp() * 1000)) & ((1 << 48) - 1)
    value = millis << 80 | 0x7 << 76 | (tail >> 62 & 0xFFF) << 64 | 0b10 << 62 | tail & ((1 << 62) - 1)
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _exchange(message: Message, privacy: Privacy) -> dict[str, Any]:
    return {
        "session": message.session or f"{FLAVOR}:{message.at:%Y-%m-%d}",
        "role": message.role,
        "content": message.content,
        "occurred_at": message.at,
        "key": message.key(privacy),
    }
