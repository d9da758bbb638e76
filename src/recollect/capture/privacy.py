"""Privacy before storage: what is not to be kept never reaches the store.

An event passes through here after it was read and before anything durable. Taken out, and counted by reason: text
between `<private>` and `</private>`; what Recollect itself put before the agent (`ours`); what tools read from deny-listed
paths (`denied`); secrets, each replaced by its type and a keyed fingerprint (`secret:<type>`). Which agents, projects and
directories are captured at all is decided by `Choice`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any

from recollect.capture.redact import Redactor
from recollect.model import Event
from recollect.text import dedup_key, storable

PRIVATE = "[private]"
OURS = "[recalled by Recollect]"
_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
# A block of recalled text as `inject` frames it, wherever it turns up again; a cut one ends where the text does.
BLOCK_START, BLOCK_END = "=== Relevant Context ===", "========================"
_BLOCK = re.compile(rf"{re.escape(BLOCK_START)}\n.*?(?:^{re.escape(BLOCK_END)}$|\Z)", re.DOTALL | re.MULTILINE)
_OUR_TOOLS = re.compile(
    r"(?:mcp_+)?(?:plugin_)?recollect(?:_[a-z]+)?_+\w+|memory_(?:recall|save|context|search)", re.IGNORECASE
)
_OUR_COMMAND = re.compile(r"(?:^|[;&|(\n]\s*)(?:\S*/)?recollect\s+(?:recall|context|show|list|history)\b")
INNER_MARK = "<recollect-task"  # every prompt we ourselves give to a model begins with it
# How the first prompts of other memory tools' own sessions begin: what they do is not the user's work.
_OBSERVERS = (
    INNER_MARK,
    "You are a Claude-Mem, ",
    "Hello memory agent, you are continuing to observe",
    "You are a memory extraction",
    "You are a conversation summarizer for a memory",
    "<observed_from_primary_session>",
)
_WORDS = re.compile(r"[^\s'\"<>|;&()=]+")
_TOUCHING = frozenset(("shell", "read", "edit", "search", "mcp", "other"))


@dataclass(frozen=True, slots=True)
class Choice:
    """Which sessions are captured: all but those named in `off`; with `only`, none but those named there."""

    off: tuple[str, ...] = ()
    only: tuple[str, ...] = ()

    def allows(self, flavor: str, project: str | None, cwd: str | None) -> bool:
        if self.only and not _named(self.only, flavor, project, cwd):
            return False
        return not _named(self.off, flavor, project, cwd)


def _named(names: tuple[str, ...], flavor: str, project: str | None, cwd: str | None) -> bool:
    """Whether an agent, a project or a directory (and what lies in it) is among the names."""
    places = [str(parent) for parent in (PurePath(cwd), *PurePath(cwd).parents)] if cwd else []
    wanted = {flavor, project, *places}
    return any(str(Path(name).expanduser()) in wanted or name in wanted for name in names)


class Privacy:
    """One session's events, cleaned; `counts` says what was taken out."""

    def __init__(
        self,
        redactor: Redactor,
        deny: tuple[str, ...] = (),
        was_injected: Callable[[str], bool] = lambda text_hash: False,
    ) -> None:
        self._redactor = redactor
        self._deny = deny
        self._denied = re.compile("|".join(_as_regex(pattern) for pattern in deny)) if deny else None
        self._was_injected = was_injected
        self._calls: dict[str, str] = {}  # call id -> why its result is not kept
        self.counts: Counter[str] = Counter()

    def clean(self, event: Event) -> Event:
        """The event as it may be kept; the very same one when nothing had to change."""
        meta = event.meta
        why = self._forbidden(event)
        if why is not None:
            self.counts[why] += 1
            kept = {name: meta[name] for name in ("tool", "action", "call", "error", "exit") if name in meta}
            return replace(event, text=OURS if why == "ours" else f"[withheld: {why}]", meta=kept, bodies=())
        text = self._text(event.text)
        new = self._leaves(meta) if meta else meta
        return event if text is event.text and new is meta else replace(event, text=text, meta=new)

    def look(self, event: Event) -> None:
        """An event that was kept before and only has to be known: a result still to come may belong to it."""
        self._forbidden(event)

    def line(self, text: str | None) -> str | None:
        """A title or the like."""
        return None if text is None else self._text(text)

    def _text(self, text: str) -> str:
        if "<" in text and ("<private>" in text or "<PRIVATE>" in text or "<Private>" in text):
            text, found = _PRIVATE.subn(PRIVATE, text)
            self.counts["private"] += found
        if BLOCK_START in text:
            text, found = _BLOCK.subn(OURS, text)
            self.counts["ours"] += found
        text, secrets = self._redactor.redact(text)
        for kind, found in secrets.items():
            self.counts[f"secret:{kind}"] += found
        return text

    def _leaves(self, value: Any) -> Any:
        """A value with every string in it cleaned; the same object when none changed."""
        if isinstance(value, str):
            return storable(self._text(value)) if len(value) > 7 else storable(value)
        if isinstance(value, Mapping):
            new = {storable(key): self._leaves(item) for key, item in value.items()}
            return value if all(new.get(key) is item for key, item in value.items()) else new
        if isinstance(value, list | tuple):
            items = [self._leaves(item) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        return value

    def _forbidden(self, event: Event) -> str | None:
        """Why nothing of this event's content is kept, if so."""
        call = event.meta.get("call") if event.meta else None
        if event.kind == "tool_result":
            return self._calls.get(call) if isinstance(call, str) else None
        if event.kind in ("injected_context", "user_prompt") and len(event.text) < 100_000:
            return "ours" if self._was_injected(dedup_key(event.text)) else None
        action = event.meta.get("action") if event.meta else None
        if action not in _TOUCHING:
            return None
        why = self._about(event, action)
        if why and isinstance(call, str):
            self._calls[call] = why
        return why if why == "denied" and action == "edit" else None

    def _about(self, event: Event, action: str) -> str | None:
        """Why the result of a call is not kept: it is ours, or read from where secrets live."""
        tool = event.meta.get("tool", "")
        if _OUR_TOOLS.fullmatch(tool) or (action == "shell" and _OUR_COMMAND.search(event.text)):
            return "ours"
        if self._denied is None:
            return None
        files = event.meta.get("files") or (_WORDS.findall(event.text[:4_000]) if action in ("shell", "search") else ())
        return "denied" if any(self._denied.search(name) and self.denies(name) for name in files) else None

    def denies(self, path: str) -> bool:
        """Whether a path is deny-listed: by its name, or by a directory above it."""
        pure = PurePath(path)
        for pattern in self._deny:
            if "/" in pattern:
                folder = str(Path(pattern).expanduser())
                if path == folder or path.startswith((folder + "/", pattern + "/")) or path == pattern:
                    return True
            elif fnmatch(pure.name, pattern):
                return True
        return False


def is_observer(text: str) -> bool:
    """Whether a session's first prompt shows that a memory tool made it, not a person."""
    return text.lstrip().startswith(_OBSERVERS)


def _as_regex(pattern: str) -> str:
    """A quick test for words that could match: the longest plain piece of the pattern."""
    pieces = re.split(r"[*?\[\]]", pattern.removeprefix("~/"))
    return re.escape(max(pieces, key=len))
