"""A LangGraph `BaseStore` on Recollect: what graphs put under a namespace and a key, found again by both or by meaning.

In: LangGraph's operations. Out: its items. Each item is one memory (said by the assistant, never trusted as the user's
word), so that it is in exports, can be forgotten, and is searched like everything else. It needs the extra `langgraph`.

    graph = builder.compile(store=RecollectStore(memory))
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.clock import from_iso, iso, now
from recollect.errors import InvalidInput
from recollect.wrap.shelf import Paper, Shelf, retried

if TYPE_CHECKING:
    from recollect.client.api import MemoryAPI

try:
    from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, PutOp, SearchItem, SearchOp
except ImportError as error:
    raise ImportError("LangGraph is not installed: pip install 'recollect[langgraph]'") from error

MAX_DEPTH = 16  # labels in a namespace
_UNSEARCHED = "unsearched"  # the tag of items that were put with index=False
_WIDE = 100  # candidates that a filter chooses from

Namespace = tuple[str, ...]


class RecollectStore(BaseStore):  # type: ignore[misc]
    """A store for graphs, in the scope of one memory; `name` keeps several apart in it. TTLs are not supported."""

    supports_ttl = False

    def __init__(self, memory: MemoryAPI, name: str = "langgraph") -> None:
        self._shelf = Shelf(memory, name)

    def batch(self, ops: Iterable[Any]) -> list[Any]:
        """Do the reads in their order, then the writes, of several under one key the last."""
        given = list(ops)
        results = [self._read(op) for op in given]
        writes = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        for op in writes.values():
            self._write(op)
        return results

    async def abatch(self, ops: Iterable[Any]) -> list[Any]:
        """The same without holding up the loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _read(self, op: Any) -> Any:
        if isinstance(op, GetOp):
            paper = self._shelf.get(_name(op.namespace, op.key))
            return None if paper is None else Item(**_fields(paper))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        if isinstance(op, PutOp):
            return None
        raise InvalidInput(f"unknown operation {type(op).__name__}")

    def _write(self, op: PutOp) -> None:
        name = _name(op.namespace, op.key)
        if op.value is None:
            paper = self._shelf.get(name)
            if paper is not None:
                self._shelf.drop(paper)
            return
        text = _written(op.value, now())
        depths = range(1, len(op.namespace) + 1)
        tags = [self._prefix(op.namespace[:depth]) for depth in depths]
        tags += [_UNSEARCHED] if op.index is False else []

        def put() -> Paper:
            there = self._shelf.get(name)
            return (
                self._shelf.add(name, text, tags) if there is None else self._shelf.change(there, text=text, tags=tags)
            )

        if _value(retried(put)) is None:
            raise InvalidInput("this value cannot be read once secrets were taken out of it")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        tag = self._prefix(op.namespace_prefix) if op.namespace_prefix else None
        if op.query:
            most = _WIDE if op.filter else min(op.offset + op.limit, 1_000)
            scored: list[tuple[Paper, float | None]] = [*self._shelf.search(op.query, tag, limit=max(1, most))]
            scored = [one for one in scored if _UNSEARCHED not in one[0].tags]
        else:
            scored = [(paper, None) for paper in self._shelf.all(tag)]
            scored.sort(key=lambda one: _changed_at(one[0]), reverse=True)
        items = [SearchItem(**_fields(paper), score=score) for paper, score in scored]
        chosen = [item for item in items if _lets_through(op.filter, item.value)]
        return chosen[op.offset : op.offset + op.limit]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {_parts(paper)[0] for paper in self._shelf.all()}
        matching = [one for one in found if all(_matches(one, how) for how in op.match_conditions or ())]
        cut = {one[: op.max_depth] if op.max_depth is not None else one for one in matching}
        return sorted(cut)[op.offset : op.offset + op.limit]

    def _prefix(self, namespace: Namespace) -> str:
        """The tag of everything in a namespace and beneath it."""
        return self._shelf.mark(f"beneath {json.dumps(_checked(namespace), ensure_ascii=False)}")


# -- how an item is a text with a name ---------------------------------------------------------------------------------


def _checked(namespace: Sequence[str]) -> list[str]:
    if len(namespace) > MAX_DEPTH or not all(isinstance(label, str) and label for label in namespace):
        raise InvalidInput(f"a namespace is at most {MAX_DEPTH} labels, none of them empty")
    return list(namespace)


def _name(namespace: Namespace, key: str) -> str:
    return json.dumps([*_checked(namespace), str(key)], ensure_ascii=False)


def _parts(paper: Paper) -> tuple[Namespace, str]:
    *namespace, key = json.loads(paper.name)
    return tuple(namespace), key


def _written(value: Mapping[str, Any], at: datetime) -> str:
    try:
        return f"{iso(at)}\n{json.dumps(dict(value), ensure_ascii=False)}"
    except (TypeError, ValueError):
        raise InvalidInput("a value is a mapping that JSON can hold") from None


def _value(paper: Paper) -> dict[str, Any] | None:
    try:
        value = json.loads(paper.text.partition("\n")[2])
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _changed_at(paper: Paper) -> datetime:
    return from_iso(paper.text.partition("\n")[0])


def _fields(paper: Paper) -> dict[str, Any]:
    namespace, key = _parts(paper)
    times = {"created_at": paper.made_at, "updated_at": _changed_at(paper)}
    return {"namespace": namespace, "key": key, "value": _value(paper) or {}, **times}


# -- what LangGraph's filters mean -------------------------------------------------------------------------------------


def _lets_through(wanted: Mapping[str, Any] | None, value: Mapping[str, Any]) -> bool:
    return all(_agrees(value.get(name), want) for name, want in (wanted or {}).items())


def _agrees(value: Any, want: Any) -> bool:
    """Equal, or within what operators such as {"$gte": 3} say."""
    if not isinstance(want, Mapping):
        return bool(value == want)
    if not any(str(name).startswith("$") for name in want):
        return isinstance(value, Mapping) and _lets_through(want, value)
    return all(_holds(value, name, bound) for name, bound in want.items())


def _holds(value: Any, operator: str, bound: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return bool((value == bound) == (operator == "$eq"))
    try:
        number, limit = float(value), float(bound)
    except (TypeError, ValueError):
        return False
    match operator:
        case "$gt":
            return number > limit
        case "$gte":
            return number >= limit
        case "$lt":
            return number < limit
        case "$lte":
            return number <= limit
    raise InvalidInput(f"unknown operator {str(operator)[:20]!r}", hint="Use $eq, $ne, $gt, $gte, $lt or $lte.")


def _matches(namespace: Namespace, condition: Any) -> bool:
    """Whether a namespace begins or ends so; `*` stands for any one label."""
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    held = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(want in ("*", have) for have, want in zip(held, path, strict=True))
