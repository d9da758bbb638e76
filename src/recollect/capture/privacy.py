"""Privacy before storage: what is not to be kept never reaches the store.

An event passes through here after it was read and before anything durable. Taken out, and counted by reason: text
between `<private>` and `</private>`; what Recollect itself put before the agent (`ours`); what tools read from
deny-listed paths (`denied`); secrets, each replaced by its type and a keyed fingerprint (`secret:<type>`). Which
agents, projects and directories are captured at all is decided by `Choice`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from recollect.capture.redact import Redactor, unmarked
from recollect.capture.shell import commands, name_of
from recollect.frame import without_blocks
from recollect.model import Event
from recollect.text import dedup_key, storable

PRIVATE = "[private]"
OURS = "[recalled by Recollect]"
_PRIVATE = re.compile(r"<(/?)private\s*>", re.IGNORECASE)
_OUR_TOOLS = re.compile(
    r"(?:mcp_+)?(?:plugin_)?recollect(?:_[a-z]+)?_+\w+"
    r"|memory_(?:recall|save|context|search|get|timeline|status|forget)",
    re.IGNORECASE,
)
_OUR_VERBS = frozenset(("recall", "context", "show", "list", "sessions", "export"))
_OUR_INLINE = re.compile(rf"(?:\$\(|`)\s{{0,9}}recollect\s{{1,9}}(?:{'|'.join(sorted(_OUR_VERBS))})\b")
_OUR_VALUED = ("--data-dir", "--user", "--tenant", "--project")
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
_WORDS = re.compile(r"[A-Za-z]:\\[^\s'\"<>|;&()=`,]+|[^\s'\"<>|;&()=`,:{}@\[\]]+")
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\")
_WORDED = frozenset(("shell", "read", "search"))  # elsewhere a path stands alone: words in a message are no files
_PATTERNS = frozenset(("pattern", "query", "regex"))
_WORDS_IN = 100_000  # characters of a call that are looked at for the names of files
_DEEPEST = 60  # levels of a call's arguments; what is below is not kept
_TOO_DEEP = "[nested too deeply]"
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
    return any(name in wanted or str(PurePath(_home(name))) in wanted for name in names)


def _home(path: str) -> str:
    """The path with `~` as this user's home; `~somebody` stays as it is."""
    return str(Path.home()) + path[1:] if path == "~" or path.startswith("~/") else path


class Privacy:
    """One session's events, cleaned; `counts` says what was taken out."""

    def __init__(
        self,
        redactor: Redactor,
        deny: tuple[str, ...] = (),
        was_injected: Callable[[str], bool] = lambda text_hash: False,
    ) -> None:
        self._redactor = redactor
        self._deny = tuple(pattern.rstrip("/") for pattern in deny if pattern.strip("/"))
        quick = "|".join(_as_regex(pattern) for pattern in self._deny)
        self._denied = re.compile(quick) if self._deny else None
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
        text = self.text(event.text)
        new = self._leaves(meta) if meta else meta
        return event if text is event.text and new is meta else replace(event, text=text, meta=new)

    def look(self, event: Event) -> None:
        """An event that was kept before and only has to be known: a result still to come may belong to it."""
        self._forbidden(event)

    def line(self, text: str | None) -> str | None:
        """A title or the like, if there is one."""
        return None if text is None else self.text(text)

    def value(self, value: Any) -> Any:
        """What is given along with a text, with every string in it cleaned."""
        return self._leaves(value)

    def same(self, clean: str) -> str:
        """What makes a cleaned text this text: the same, without the fingerprints of this installation's key.

        So it is known on every machine, and no hash of it is one of a secret that somebody could guess.
        """
        return unmarked(clean)

    @property
    def taken(self) -> int:
        """How many secrets and private parts were taken out."""
        return sum(found for why, found in self.counts.items() if why != "ours")

    def text(self, text: str) -> str:
        """What was said or titled, as it may be kept."""
        if "<" in text and "<private" in text.lower():
            open_text, found = _without_private(text)
            if found:
                text = open_text
                self.counts["private"] += found
        text, blocks = without_blocks(text, OURS)
        if blocks:
            self.counts["ours"] += blocks
        text, secrets = self._redactor.redact(text)
        for kind, found in secrets.items():
            self.counts[f"secret:{kind}"] += found
        return text

    def _leaves(self, value: Any, level: int = 0) -> Any:
        """A value with every string in it cleaned; the same object when none changed."""
        if isinstance(value, str):
            return storable(self.text(value)) if len(value) > 7 else storable(value)
        if isinstance(value, Mapping | list | tuple) and level >= _DEEPEST:
            return _TOO_DEEP
        if isinstance(value, Mapping):
            new = {self._leaves(key): self._leaves(item, level + 1) for key, item in value.items()}
            same = all(a is b and value[a] is new[b] for a, b in zip(value, new, strict=False))
            return value if same and len(new) == len(value) else new
        if isinstance(value, list | tuple):
            items = [self._leaves(item, level + 1) for item in value]
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
        if _OUR_TOOLS.fullmatch(str(event.meta.get("tool", ""))) or (action == "shell" and _is_our_command(event.text)):
            return "ours"
        return "denied" if any(map(self.denies, self._places(event))) else None

    def _places(self, event: Event) -> Iterator[str]:
        """Names in a call that may be those of deny-listed files."""
        if self._denied is None:
            return
        meta, action = event.meta, event.meta.get("action")
        yield from map(str, meta.get("files") or ())
        if action == "edit":
            return  # its text is a path that is among the files, or what is written
        texts = [] if meta.get("main") in _PATTERNS else [event.text]
        if action != "shell" and isinstance(meta.get("input"), Mapping):
            for value in meta["input"].values():
                texts += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        for text in texts:
            if self._denied.search(text, 0, _WORDS_IN) and (action in _WORDED or not any(map(str.isspace, text))):
                yield from {word for word in _WORDS.findall(text, 0, _WORDS_IN) if self._denied.search(word)}

    def denies(self, path: str) -> bool:
        """Whether a path is deny-listed: by its name, or by a directory above it, in whosever home that is."""
        if _WINDOWS.match(path):
            path = path.replace("\\", "/")
        name, inside = path.rstrip("/*?").rpartition("/")[2], f"/{path}/"
        for pattern in self._deny:
            if pattern.startswith("~/"):
                if f"{pattern[1:]}/" in inside:
                    return True
            elif "/" in pattern:
                if f"{path}/".startswith(f"{pattern}/"):
                    return True
            elif fnmatchcase(name, pattern) and not (pattern.startswith("*") and name.startswith(".")):
                return True  # as in a shell, `*` stands for no leading dot: `jq .key` reads no key
        return False


def is_observer(text: str) -> bool:
    """Whether a session's first prompt shows that a memory tool made it, not a person."""
    return text.lstrip().startswith(_OBSERVERS)


def _as_regex(pattern: str) -> str:
    """A quick test for words that could match: the longest plain piece of the pattern."""
    pieces = re.split(r"\[[^\]]*\]|[*?]", pattern.removeprefix("~/"))
    return re.escape(max(pieces, key=len))


def _without_private(text: str) -> tuple[str, int]:
    """The text without what is marked private, and how many parts that were; one that is not closed goes to the end."""
    parts: list[str] = []
    start = depth = found = 0
    for tag in _PRIVATE.finditer(text):
        if not tag[1]:
            if not depth:
                parts += [text[start : tag.start()], PRIVATE]
                found += 1
            depth += 1
        elif depth:
            depth -= 1
            start = tag.end()
    return "".join(parts if depth else [*parts, text[start:]]), found


def _is_our_command(text: str) -> bool:
    """Whether a shell command prints what Recollect remembers."""
    if "recollect" not in text:
        return False
    if _OUR_INLINE.search(text):
        return True
    for words in commands(text):
        if name_of(words[0]) == "recollect":
            given = words[1:]
        elif words[1:3] == ["-m", "recollect"]:
            given = words[3:]
        else:
            continue
        verbs = [word for before, word in zip(["", *given], given, strict=False) if before not in _OUR_VALUED]
        if any(word in _OUR_VERBS for word in [word for word in verbs if word[:1] != "-"][:1]):
            return True
    return False
