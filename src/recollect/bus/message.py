"""An event as it is published: JSON comes in, a checked message goes out, or BadMessage says what is wrong with it.

    {"event_type": "conversation.message", "content": "…", "user_id": "ann",
     "metadata": {"source": "chat", "timestamp": "2026-11-16T09:30:00Z",
                  "session_id"?, "role"?, "context_id"?, "tags"?, "importance"?, "why"?, …},
     "id"?: "…"}

A signed one also has `tenant`, `key`, `sent_at`, `nonce` and `signature`. Other fields are refused; other metadata is
the publisher's own, and is kept with a memory. What is the same event is told by `key`: its `id`, or all of its fields
as they may be kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from recollect.bus.canonical import canonical, read
from recollect.bus.errors import BadMessage
from recollect.clock import parse_time
from recollect.errors import InvalidInput
from recollect.ids import stable_key
from recollect.model import KINDS, ROLES, Scope, check_id, parse_tags, parse_unit
from recollect.text import require_text

if TYPE_CHECKING:
    from recollect.capture.privacy import Privacy

CONVERSATION = "conversation.message"
TYPES = (CONVERSATION, *(f"memory.{kind}" for kind in KINDS))
FIELD = "event"  # of an entry in the stream: it holds the JSON
MAX_BYTES = 1_048_576
MAX_METADATA_BYTES = 51_200
MAX_METADATA_DEPTH = 5
MAX_AHEAD = timedelta(days=1)  # how far another machine's clock may be ahead of ours

_FIELDS = ("event_type", "content", "user_id", "metadata", "id")
_SIGNED = ("tenant", "key", "sent_at", "nonce", "signature")
_NAMES = ("source", "timestamp", "session_id", "role", "context_id", "importance")
_KNOWN = (*_NAMES, "tags", "why")


@dataclass(frozen=True, slots=True)
class Proof:
    """Who says to have signed it, when, and the bytes they signed."""

    tenant: str
    key: str
    sent_at: datetime
    nonce: str
    signature: str
    signed: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One event; `id` is what its publisher calls it, `said` all that it says."""

    type: str
    content: str
    user: str
    source: str
    at: datetime
    id: str | None = None
    said: Mapping[str, Any] = field(default_factory=dict, repr=False)
    session: str | None = None
    role: str = "user"
    project: str | None = None
    tags: tuple[str, ...] | None = None
    importance: float | None = None
    why: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    proof: Proof | None = None

    @property
    def kind(self) -> str | None:
        """The kind of memory it is to become; None for a message of a conversation."""
        return None if self.type == CONVERSATION else self.type.removeprefix("memory.")

    def key(self, privacy: Privacy) -> str:
        """What makes it this event, however often it was published: its id, else all that it says, cleaned.

        It is the same on every machine, and no hash of a secret: who has the rows could try which one it was.
        """
        if self.id is not None:
            return stable_key("bus", "id", self.id)
        metadata = self.said["metadata"]
        told = {name: value if name in _NAMES else privacy.value(value) for name, value in metadata.items()}
        clean = canonical({**self.said, "content": privacy.value(self.content), "metadata": told})
        return hashlib.sha256(privacy.same(clean.decode()).encode()).hexdigest()[:32]

    def scope(self, tenant: str) -> Scope:
        """Whose memory it is for."""
        return Scope(tenant, self.user, self.project)


def parse(text: bytes, *, arrived: datetime) -> Message:
    """The event in what was published, which got here at this time."""
    if len(text) > MAX_BYTES:
        raise BadMessage(f"larger than {MAX_BYTES:,} bytes")
    if not text:
        raise BadMessage(f"the entry has no field `{FIELD}`, or it is empty")
    given = read(text)
    if not isinstance(given, dict):
        raise BadMessage("not an object")
    unknown = sorted(given.keys() - {*_FIELDS, *_SIGNED})
    if unknown:
        raise BadMessage(f"unknown field {unknown[0][:40]!r}", hint="Fields: " + ", ".join(_FIELDS))
    try:
        return _message(given, arrived)
    except BadMessage:
        raise
    except InvalidInput as error:
        raise BadMessage(str(error), hint=error.hint) from None


def _message(given: dict[str, Any], arrived: datetime) -> Message:
    type_ = given.get("event_type")
    if type_ not in TYPES:
        raise BadMessage("event_type is not known", hint="Types: " + ", ".join(TYPES))
    metadata = _metadata(given.get("metadata"))
    at = _time(metadata.get("timestamp"), "metadata.timestamp")
    if at > arrived + MAX_AHEAD:
        raise BadMessage("metadata.timestamp is in the future")
    role = metadata.get("role", "user")
    if not isinstance(role, str) or role not in ROLES:
        raise BadMessage("metadata.role is not known", hint="Roles: " + ", ".join(ROLES))
    tags, importance, why = metadata.get("tags"), metadata.get("importance"), metadata.get("why")
    told = type_ != CONVERSATION
    return Message(
        type=type_,
        content=require_text(given.get("content"), "content") if told else _said(given.get("content")),
        user=_name(given.get("user_id"), "user_id"),
        source=_name(metadata.get("source"), "metadata.source"),
        at=at,
        id=None if given.get("id") is None else _name(given["id"], "id"),
        said=_written({name: given[name] for name in _FIELDS if given.get(name) is not None}),
        session=_optional(metadata, "session_id"),
        role=role,
        project=_optional(metadata, "context_id"),
        tags=None if tags is None else parse_tags(tags),
        importance=None if importance is None else parse_unit(importance, "metadata.importance"),
        why=None if why is None else require_text(why, "metadata.why", 1_000),
        more={name: value for name, value in metadata.items() if name not in _KNOWN} if told else {},
        proof=_proof(given) if any(name in given for name in _SIGNED) else None,
    )


def _written(said: dict[str, Any]) -> dict[str, Any]:
    """The same; BadMessage for what cannot be written in the one form that is signed."""
    canonical(said)
    return said


def _proof(given: dict[str, Any]) -> Proof:
    missing = next((name for name in _SIGNED if not isinstance(given.get(name), str)), None)
    if missing:
        raise BadMessage(f"a signed event needs {missing}")
    signed = canonical({name: value for name, value in given.items() if name != "signature"})
    sent_at = _time(given["sent_at"], "sent_at")
    nonce = _name(given["nonce"], "nonce")
    if len(nonce) < 16:
        raise BadMessage("nonce must have at least 16 characters")
    names = _name(given["tenant"], "tenant"), _name(given["key"], "key")
    return Proof(*names, sent_at, nonce, given["signature"], signed)


def _metadata(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadMessage("metadata must be an object with source and timestamp")
    if len(canonical(value)) > MAX_METADATA_BYTES:
        raise BadMessage(f"metadata is larger than {MAX_METADATA_BYTES:,} bytes")
    if _depth(value) > MAX_METADATA_DEPTH:
        raise BadMessage(f"metadata has more than {MAX_METADATA_DEPTH} levels")
    return value


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _time(value: object, what: str) -> datetime:
    """Only text that says its zone: a bare number may be seconds or milliseconds, a bare time may be local."""
    if not isinstance(value, str) or len(value) > 40:
        raise BadMessage(f"{what} must be a time such as 2026-11-16T09:30:00Z")
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadMessage(f"{what} must be a time such as 2026-11-16T09:30:00Z")
    return parse_time(moment)


def _name(value: object, what: str) -> str:
    return check_id(value, what)


def _optional(metadata: Mapping[str, Any], name: str) -> str | None:
    return None if metadata.get(name) is None else _name(metadata[name], f"metadata.{name}")


def _said(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadMessage("content must be text that is not empty")
    return value
