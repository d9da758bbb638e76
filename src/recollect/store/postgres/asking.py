"""The transaction of a question, which tells how much its owner has as it begins: a process keeps the rest at hand.

Who asks again is mostly told the same again. So a question goes by what the last one was told, as far as that leads,
and its transaction begins together with the first statement it needs: one message to the server instead of two. It is
held against what it is told then, and when that is something else, it is asked again by that.

Whose last few questions needed nothing but the memories they found is asked all of it in one statement, a transaction
by itself. When more is needed after all, a transaction is begun and everything asked again in it. No answer rests on
what its own transaction did not see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Never

import psycopg

from recollect.model import Scope
from recollect.store.port import Found
from recollect.store.postgres.tx import NO_PARAMS, QUERIES, SNAPSHOT, PostgresTx, Sizes, pipelined
from recollect.store.rows.tx import Answer, Rows, require_member

_DOCUMENTS = "search.documents_memory"
_MODEL = "model:"  # before the name of the model of the vectors, where else a tier stands
_MOST = 4_096  # scopes of which it is known what they were told
_SIMPLE = 4  # questions in a row that needed one statement, until the next is expected to: to be wrong costs most
_TOLD = 10  # columns before those of a memory


@dataclass(frozen=True, slots=True)
class Entered:
    """What a question was told as it began: whose rows it sees, how much there is, of which model the vectors are."""

    told: Sequence[tuple[Any, ...]]
    rows: Rows
    sizes: Mapping[str, Sizes]
    model: tuple[str, int] | None
    steady: bool = False  # the one before was told the same
    simple: int = 0  # questions in a row that needed only the memories they found, as far as that is counted

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
        self._keep(scope, now)
        return now

    def needed(self, scope: Scope, statements: Sequence[str]) -> None:
        """What the last question needed."""
        entered = self._entered.get(scope)
        if entered is None:
            return
        simple = min(entered.simple + 1, _SIMPLE) if statements == [_DOCUMENTS] else 0
        if simple != entered.simple:
            self._keep(scope, replace(entered, simple=simple))

    def _keep(self, scope: Scope, entered: Entered) -> None:
        with self._lock:
            if scope not in self._entered and len(self._entered) >= _MOST:
                del self._entered[next(iter(self._entered))]
            self._entered[scope] = entered


class _Outdated(Exception):
    """What a question went by is not so any more."""


class _Fetched(list[tuple[Any, ...]]):
    """The rows of an answer that came with others."""

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        return self[0] if self else None


class AskingTx(PostgresTx):
    """A transaction that sees one moment."""

    scope: Scope

    def __init__(self, connection: psycopg.Connection[Any], scope: Scope, lately: Lately) -> None:
        super().__init__(connection, scope, None)
        self.model: tuple[str, int] | None = None  # of which the vectors are; unknown of whom there is nothing
        self._lately = lately
        self._guess: Entered | None = None  # what it goes by until it begins
        self._whole = False  # it was one statement, and is over
        self._needed: list[str] = []  # statements

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
            found = reading()
        self._lately.needed(self.scope, self._needed)
        return found

    def begin_asking(self) -> None:
        self._begin(lambda: None)

    def run(self, query: str, params: Mapping[str, object] = NO_PARAMS) -> Answer:
        self._need(query)
        if self._guess is None:
            return super().run(query, params)
        if query == _DOCUMENTS and self._guess.simple == _SIMPLE:
            return self._ask_whole(params)
        return self._begin(partial(super().run, query, params))

    def raw(self, query: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        self._need(query)
        if self._guess is not None:
            self.begin_asking()
        return super().raw(query, params)

    def _need(self, query: str) -> None:
        self._needed.append(query)
        if self._whole:
            self._again()

    def _again(self) -> Never:
        self._whole = False
        self.begin_asking()
        raise _Outdated

    def _ask_whole(self, params: Mapping[str, object]) -> Answer:
        """Tell what `_begin` would tell, and these documents, in one statement.

        All of it as the server has it: times and hashes need not be written out there and read here again.
        """
        guess, self._guess = self._guess, None
        assert guess is not None
        asked = {**self.entry_params(), "docs": params["docs"]}
        found = self.connection.execute(QUERIES["search.ask_for_memories"], asked, binary=True).fetchall()
        told = [row[:_TOLD] for row in found if row[_TOLD] is None]
        if told != guess.told:
            self._again()
        self._whole = True
        return _Fetched(row[_TOLD:] for row in found[len(told) :])

    def _begin(self, first: Callable[[], Found]) -> Found:
        """Begin with the first statement; _Outdated when what it was made from is not so any more."""
        guess, self._guess = self._guess, None
        with pipelined(self.connection):
            self.connection.execute(SNAPSHOT)
            entered = self.connection.execute(QUERIES["sessions.enter_to_ask"], self.entry_params(), binary=True)
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
