"""The transaction of a question, which tells how much its owner has as it begins: a process keeps the rest at hand.

Who asks again is mostly told the same again. So a question goes by what the last one was told, as far as that leads,
and its transaction begins together with the first statement it needs: one message to the server instead of two. It is
held against what it is told then, and when that is something else, it is asked again by that. No answer rests on
what its own transaction did not see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import psycopg

from recollect.model import Scope
from recollect.store.port import Found
from recollect.store.postgres.tx import NO_PARAMS, QUERIES, SNAPSHOT, PostgresTx, Sizes, pipelined
from recollect.store.rows.tx import Answer, Rows, require_member

_MODEL = "model:"  # before the name of the model of the vectors, where else a tier stands
_MOST = 4_096  # scopes of which it is known what they were told


@dataclass(frozen=True, slots=True)
class Entered:
    """What a question was told as it began: whose rows it sees, how much there is, of which model the vectors are."""

    told: Sequence[tuple[Any, ...]]
    rows: Rows
    sizes: Mapping[str, Sizes]
    model: tuple[str, int] | None
    steady: bool = False  # the one before was told the same

    @classmethod
    def of(cls, told: Sequence[tuple[Any, ...]]) -> Entered:
        sizes = {row[2]: Sizes(*row[3:]) for row in told}
        models = [(name.removeprefix(_MODEL), size.rows) for name, size in sizes.items() if name.startswith(_MODEL)]
        return cls(told, Rows(*told[0][:2]), sizes, models[0] if models else None)


class Lately:
    """What the last question of each scope was told."""

    def __init__(self) -> None:
        self._entered: dict[Scope, Entered] = {}
        self._lock = threading.Lock()

    def of(self, scope: Scope) -> Entered | None:
        return self._entered.get(scope)

    def told(self, scope: Scope, told: Sequence[tuple[Any, ...]]) -> Entered | None:
        """What it was told now; None: there is nothing for it."""
        if not told:
            self._entered.pop(scope, None)
            return None
        before = self._entered.get(scope)
        if before is not None and before.told == told:
            if before.steady:
                return before
            now = replace(before, steady=True)
        else:
            now = Entered.of(told)
        with self._lock:
            if scope not in self._entered and len(self._entered) >= _MOST:
                del self._entered[next(iter(self._entered))]
            self._entered[scope] = now
        return now


class _Outdated(Exception):
    """What a question went by is not so any more."""


class AskingTx(PostgresTx):
    """A transaction that sees one moment."""

    scope: Scope

    def __init__(self, connection: psycopg.Connection[Any], scope: Scope, lately: Lately) -> None:
        super().__init__(connection, scope, None)
        self.model: tuple[str, int] | None = None  # of which the vectors are; unknown of whom there is nothing
        self._lately = lately
        self._guess: Entered | None = None  # what it goes by until it begins

    def ask(self, reading: Callable[[], Found]) -> Found:
        """What `reading` finds; it may be called twice."""
        before = self._lately.of(self.scope)
        if before is None or not before.steady:
            self.begin_asking()
            return reading()
        self._guess = before
        self._go_by(before)
        try:
            found = reading()
            if self._guess is not None:
                self.begin_asking()
        except _Outdated:
            return reading()
        return found

    def begin_asking(self) -> None:
        self._begin(lambda: None)

    def run(self, query: str, params: Mapping[str, object] = NO_PARAMS) -> Answer:
        first = partial(super().run, query, params)
        return first() if self._guess is None else self._begin(first)

    def raw(self, query: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        if self._guess is not None:
            self.begin_asking()
        return super().raw(query, params)

    def _begin(self, first: Callable[[], Found]) -> Found:
        """Begin with the first statement; _Outdated when what it was made from is not so any more."""
        guess, self._guess = self._guess, None
        with pipelined(self.connection):
            self.connection.execute(SNAPSHOT)
            entered = self.connection.execute(QUERIES["sessions.enter_to_ask"], self.entry_params())
            answer = first()
        told = entered.fetchall()
        now = self._lately.told(self.scope, told)
        if guess is None or now is None or now.told != guess.told:
            self._go_by(now)
            if guess is not None:
                raise _Outdated
        return answer

    def _go_by(self, entered: Entered | None) -> None:
        for kept in (self.places, self.views, self.lexicons):
            kept.clear()
        if entered is None:
            self.rows, self.sizes, self.model = None, None, None
            require_member(self.scope)
        else:
            self.rows, self.sizes, self.model = entered.rows, entered.sizes, entered.model
