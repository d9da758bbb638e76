"""What happens, as lines: events of running sessions, memories, gists, tasks that ended, what agents were told.

In: a store and a scope. Out: lines in the order in which things came in, each once. Whoever follows asks again and
again with `look`; a token (`Line.mark`) says where to go on later, in another process too. What an agent was told at
once is one line, however many memories that were; who knows the very words of a block gives `exact`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from recollect.clock import Clock, now
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.ports.browse import Mark, New

LIMIT = 200  # of a kind, in one look
TEXT = 2_000  # characters of a text
TOLD = 20_000  # characters of what an agent was told at once: more no host takes
_LATELY = timedelta(hours=1)
_STEPS = 50  # looks for somebody who comes back, each at thousands of rows
_LATE = 3_600_000_000  # microseconds by which things that are found by their time may come in late
_REMEMBERED = 4_000
_TIMED = ("gist", "task", "shown")
# What a line calls an event of each kind; what is not named here is not told.
_EVENTS = {
    "user_prompt": "prompt",
    "assistant_text": "answer",
    "thinking": "thought",
    "tool_call": "call",
    "edit": "edit",
    "test_run": "test run",
    "tool_result": "result",
    "injected_context": "context",
    "compaction": "compaction",
    "summary": "summary",
    "error": "error",
    "human_intervention": "intervention",
    "retry": "retry",
}


_START = Mark()


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened. `what` says which sort; `note` is a tool's name, a state, or who was told."""

    id: str
    at: datetime
    what: str
    text: str
    note: str = ""
    session: str | None = None
    event: str | None = None  # the key of the event it is about
    memory: str | None = None  # the id of the memory it is about
    memories: int = 0  # of what an agent was told: how many
    exact: bool = False  # of that: the text is word for word what it received
    failed: bool = False
    more: int = 0  # characters that are left out
    mark: Mark = _START


Exact = Callable[[str], str | None]  # the name of a block -> its very words, where those are kept


def unknown(block: str) -> str | None:
    """Nobody kept the words."""
    return None


def lines_of(found: Iterable[New], exact: Exact = unknown) -> list[Line]:
    """How new things are told, in their order; what is not worth a line has none."""
    lines: list[Line] = []
    for together, group in groupby(found, _together):
        if together is not None:
            lines.append(_told(list(group), exact))
        else:
            lines += [line for one in group if (line := _TOLD[one.thing](one)) is not None]
    return lines


def _together(new: New) -> tuple[object, ...] | None:
    """What was told at once is told in one line."""
    return (new.session, new.at, new.kind, new.meta.get("block")) if new.thing == "shown" else None


def _event(new: New) -> Line | None:
    what = _EVENTS.get(new.kind)
    if what is None or not (new.text or new.kind == "compaction"):
        return None
    failed = new.kind == "error" or is_failure(new.meta)
    code, tool = new.meta.get("exit"), str(new.meta.get("tool") or "")
    note = f"{tool} exit {code}".strip() if isinstance(code, int) and code else tool
    return _line(new, what, note=note, event=new.id, failed=failed)


def is_failure(meta: Mapping[str, Any]) -> bool:
    """Whether a tool's result says that it failed."""
    code = meta.get("exit")
    return meta.get("error") is True or (isinstance(code, int) and not isinstance(code, bool) and code != 0)


def _memory(new: New) -> Line:
    return _line(new, "memory", note=new.kind, memory=new.id)


def _gist(new: New) -> Line:
    return _line(new, "gist", note=new.kind)


def _task(new: New) -> Line:
    state = str(new.meta.get("state", ""))
    return _line(new, "task", note=f"{new.kind} {state}", failed=state == "dead")


def _told(shown: list[New], exact: Exact) -> Line:
    """What an agent was told at once: its very words where they are kept, else those of each memory."""
    last = shown[-1]
    known = exact(str(last.meta.get("block", "")))
    words = "\n".join(one.text for one in shown) if known is None else known
    left = 0 if known is not None else sum(max(0, one.chars - len(one.text)) for one in shown)
    return Line(
        f"shown:{last.session} {last.at.isoformat()} {last.meta.get('block', '')}",
        last.at,
        "told",
        words[:TOLD],
        note=last.kind,
        session=last.session,
        memory=str(last.meta.get("memory", "")) if len(shown) == 1 else None,
        memories=len(shown),
        exact=known is not None,
        more=left + max(0, len(words) - TOLD),
        mark=last.mark,
    )


def _more(new: New) -> Line:
    what = "memories" if new.kind == "memory" else "events"
    return Line(f"more:{new.id}", new.at, "more", f"{new.chars:,} more {what} came in before these", mark=new.mark)


def _line(new: New, what: str, **more: Any) -> Line:
    left = max(0, new.chars - len(new.text))
    return Line(f"{new.thing}:{new.id}", new.at, what, new.text, session=new.session, more=left, mark=new.mark, **more)


_TOLD: dict[str, Callable[[New], Line | None]] = {
    "event": _event,
    "memory": _memory,
    "gist": _gist,
    "task": _task,
    "more": _more,
}


class Following:
    """Lines of one scope from a mark on, each once however often one looks. Not for two threads at once."""

    def __init__(
        self, store: Store, scope: Scope, clock: Clock, mark: Mark | None = None, *, exact: Exact = unknown
    ) -> None:
        self._store, self._scope, self._exact = store, scope, exact
        self._known: OrderedDict[str, None] = OrderedDict()
        self.mark = store.browse.mark(scope, at=clock()) if mark is None else mark
        found = store.browse.since(scope, _earlier(self.mark), limit=LIMIT, most=0)[0]
        self._take([one for one in found if one.thing in _TIMED and _place(one) <= getattr(self.mark, one.thing)])

    def look(self) -> list[Line]:
        """What came since the last time."""
        found, mark = self._store.browse.since(self._scope, _earlier(self.mark), limit=LIMIT, most=TEXT)
        new = []
        for one in self._take(found):
            self.mark = Mark(*map(max, self.mark, one.mark))
            new.append(one._replace(mark=self.mark))
        self.mark = Mark(*map(max, self.mark, mark))
        return lines_of(new, self._exact)

    def _take(self, found: list[New]) -> list[New]:
        """Those that are not known yet; events and memories are found by their numbers, and never twice."""
        new = [one for one in found if f"{one.thing}:{one.id}" not in self._known]
        for one in new:
            if one.thing in _TIMED:
                self._known[f"{one.thing}:{one.id}"] = None
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return new


def recent(store: Store, scope: Scope, clock: Clock, *, limit: int, exact: Exact = unknown) -> tuple[list[Line], Mark]:
    """The last lines there were, oldest first, and the mark of now."""
    now = clock()
    mark = store.browse.mark(scope, at=now)
    found = store.browse.last(scope, since=now - _LATELY, limit=limit, most=TEXT)
    return lines_of(_whole(found, limit), exact)[-limit:], mark


def _whole(found: list[New], limit: int) -> list[New]:
    """Without what was told first, when there is so much that some of it may be left out."""
    shown = [one for one in found if one.thing == "shown"]
    return [one for one in found if _together(one) != _together(shown[0])] if len(shown) >= limit else found


def catch_up(store: Store, scope: Scope, mark: Mark, *, exact: Exact = unknown) -> list[Line]:
    """What came after a mark that somebody was told up to, strictly: nothing twice, and no gap that is not told."""
    lines: list[Line] = []
    for _ in range(_STEPS):
        found, reached = store.browse.since(scope, mark, limit=LIMIT, most=TEXT)
        lines += lines_of(found, exact)
        if (reached.event, reached.memory) == (mark.event, mark.memory):
            return lines
        mark = reached
    last = lines[-1].at if lines else now()
    return [*lines, Line("gap", last, "more", "More came in meanwhile than can be told here.", mark=mark)]


def _earlier(mark: Mark) -> Mark:
    """The same, but for what may have come in late."""
    return mark._replace(**{name: max(0, getattr(mark, name) - _LATE) for name in _TIMED})


def _place(new: New) -> int:
    """Where a thing that is found by its time stands among those of its kind."""
    return int(getattr(new.mark, new.thing))
