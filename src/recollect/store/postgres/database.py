"""One PostgreSQL database: transactions that see one owner's rows and nothing else.

Every transaction begins with `enter`, which says for this transaction alone whose rows the policies let through; when
it ends, in whatever way, that is gone. Writers of one owner take turns, those of different owners never wait for each
other: what is read before a write in the same transaction still holds when it is written. A handle does not cross
fork().
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader

from recollect.errors import ForkedHandle, InvalidInput, ScopeError, StoreUnavailable
from recollect.model import Scope, Tier
from recollect.store.postgres.connecting import Linked, Pool, store_error
from recollect.store.postgres.halfvec import Halfvec, HalfvecDumper
from recollect.store.rows.tx import MAY_ONLY_READ, Answer, Rare, Rows, Tx, require_member
from recollect.store.searchtext import index_text
from recollect.store.sql import Queries
from recollect.store.stems import stems
from recollect.store.terms import Terms

if TYPE_CHECKING:
    from recollect.store.postgres.lexicon import Lexicon
    from recollect.store.rows.matrix import VectorView
    from recollect.store.rows.vectormemory import Place

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_LOOKED_UP = re.compile(r"owner = :owner\s+AND ((?:\w+\.)?(?:key|id|name|hash|session_id|dedup_key) = )")
_NOTHING: Mapping[str, object] = {}
LOCK_TIMEOUT = "30s"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
ONLY_READS = "RC001"  # what `enter` raises when a member who may only read wants to write
# How often a word stands in a document, in steps: what is between counts as the nearest. bm25 hardly tells more apart.
STEPS: Mapping[Tier, tuple[float, ...]] = {
    "memory": (0.5, 1.0, 1.5, 2.0, 3.0, 5.0),
    "gist": (1.0, 2.0, 3.0, 5.0, 9.0),
    "turn": (1.0, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 24.0),
}
# What a word counts in each column, as in the embedded store.
COLUMNS: Mapping[Tier, Mapping[str, float]] = {
    "memory": {"content": 1.0, "extra": 0.5},
    "gist": {"content": 1.0},
    "turn": {"user": 3.0, "agent": 1.0},
}
FEW_TAGGED = 2_000  # memories with a tag up to which looking each of them up is quicker than to look at the newest
_LONGEST = 200  # characters of a word that are told apart
_WHOLE = 29  # characters of a time with all of its microseconds


def _spelled(query: str) -> str:
    """A query with its parameters as psycopg writes them.

    Where one row is looked up by its name, the planner is not told whose it is: of an owner who came after the last
    ANALYZE it would expect no rows at all, and go through all of them instead of looking one up.
    """
    hidden = _LOOKED_UP.sub(r"owner = (SELECT :owner::bigint) AND \1", query)
    return _PARAMETER.sub(r"%(\1)s", hidden.replace("%", "%%"))


QUERIES = Queries(Path(__file__).parent / "queries", _spelled)


class _IsoLoader(Loader):
    """A timestamptz as the stored form of a time everywhere here; the connection's time zone is UTC."""

    def load(self, data: Any) -> str:
        text = str(data, "ascii")
        if len(text) == _WHOLE and text[4] == "-":  # "2026-01-31 23:59:59.123456+00", as nearly all are
            return f"{text[:10]}T{text[11:26]}Z"
        moment, _, fraction = text.removesuffix("+00").partition(".")
        return f"{moment[:10]}T{moment[11:]}.{fraction:0<6}Z"


def set_up(connection: Linked) -> None:
    """How values come from a connection; its settings are `Database`'s."""
    connection.adapters.register_loader("timestamptz", _IsoLoader)
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, TextLoader)
    connection.adapters.register_dumper(Halfvec, HalfvecDumper)


class Sizes(NamedTuple):
    """How much an owner has of a tier: documents, their words, those with vectors, vectors; and as of which change."""

    rows: int
    words: int
    vectored: int
    vectors: int
    stamp: int  # another one each time the vectors change
    server: str  # since when it runs: stamps of another past say nothing
    worded: int  # another one each time the words change


NOTHING = Sizes(0, 0, 0, 0, 0, "", 0)


class PostgresTx(Tx):
    """A transaction on one connection."""

    violated = psycopg.errors.UniqueViolation

    def __init__(self, connection: psycopg.Connection[Any], scope: Scope | None, rows: Rows | None) -> None:
        super().__init__(scope, rows)
        self.connection = connection
        self.sizes: dict[Tier | Rare, Sizes] | None = None  # how much the owner has, once it was asked
        self.places: dict[Tier, Place] = {}  # where the process keeps what is the owner's, once that was asked for
        self.views: dict[Tier, VectorView | None] = {}  # the owner's vectors, once they were looked for
        self.lexicons: dict[Tier, Lexicon | None] = {}  # … and words

    def run(self, query: str, params: Mapping[str, object] = _NOTHING) -> Answer:
        """Run a query; whose transaction it is need not be said."""
        known = {"tenant": self.scope.tenant} if self.scope else {}
        if self.rows is not None:
            known["owner"] = self.rows.owner  # type: ignore[assignment]
        return self.connection.execute(QUERIES[query], {**known, **params})

    def take_sizes(self, rows: Sequence[Sequence[Any]]) -> dict[Tier | Rare, Sizes]:
        """Keep what `sizes` told."""
        self.sizes = {tier: Sizes(*sizes) for tier, *sizes in rows}
        return self.sizes

    def size_of(self, tier: Tier) -> Sizes:
        """How much the owner has of a tier; asked once in a transaction, of all tiers."""
        sizes = self.take_sizes(self.run("search.sizes").fetchall()) if self.sizes is None else self.sizes
        return sizes.get(tier, NOTHING)

    def has(self, what: Rare) -> bool:
        return self.sizes is None or what not in self.sizes or bool(self.sizes[what].rows)

    def raw(self, query: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """The rows of a query, sent as the server has them: half as long, and a vector is its bytes."""
        assert self.scope is not None
        assert self.rows is not None
        known = {"tenant": self.scope.tenant, "owner": self.rows.owner}
        with self.connection.cursor(binary=True) as cursor:
            return cursor.execute(QUERIES[query], {**known, **params}).fetchall()

    def find(self) -> Rows | None:
        return self.rows

    def ensure(self) -> Rows:
        if self.rows is None or self.rows.project == 0:
            self.rows = self.enter(writing=True, making=True)
        assert self.rows is not None
        return self.rows

    def enter(self, *, writing: bool, making: bool = False) -> Rows | None:
        """Whose rows this transaction sees from here on."""
        row = self.connection.execute(QUERIES["sessions.enter"], self.entry_params(writing, making)).fetchone()
        return None if row is None else Rows(*row)

    def entry_params(self, writing: bool, making: bool) -> dict[str, object]:
        assert self.scope is not None
        names = {"tenant": self.scope.tenant, "username": self.scope.user, "project": self.scope.project}
        by = dict(zip(("by_tenant", "by_username"), self.scope.by or (None, None), strict=True))
        return {**names, **by, "writing": writing, "making": making}

    def many(self, docs: Sequence[int]) -> object:
        return list(docs)

    def tagged(self, owner: int, tags: Sequence[str]) -> list[int] | None:
        """By the words of tags, which are in the index; None where they have none, or many memories hold them."""
        words = [stems(index_text(tag)) for tag in tags]
        if not all(words):
            return None
        asked = json.dumps([[word[:_LONGEST] for word in dict.fromkeys(each)] for each in words])
        found = [row[0] for row in self.run("search.tagged", {"tags": asked, "most": FEW_TAGGED + 1})]
        return found if len(found) <= FEW_TAGGED else None

    def put_notes(self, rows: Sequence[Mapping[str, object]]) -> None:
        told = json.dumps(rows, default=lambda value: f"\\x{value.hex()}")  # bytes as PostgreSQL writes them
        self.run("audit.add", {"owner": rows[0]["owner"], "rows": told})

    def put_words(self, tier: Tier, doc: int, owner: int, texts: Mapping[str, str]) -> None:
        lexemes, size = entry(tier, owner, texts)
        stamp = self.one("index.count", {"owner": owner, "tier": tier, "by": 1, "size": size})
        given = {"owner": owner, "tier": tier, "doc": doc, "size": size, "search": lexemes}
        self.run("index.add", {**given, "stamp": stamp})

    def put_many_words(self, tier: Tier, entries: Sequence[tuple[int, int, Mapping[str, str]]]) -> None:
        rows, words = [], 0
        for doc, owner, texts in entries:
            lexemes, size = entry(tier, owner, texts)
            rows.append({"doc": doc, "size": size, "search": " ".join([f"'{lexeme}'" for lexeme in lexemes])})
            words += size
        if rows:
            stamp = self.one("index.count", {"tier": tier, "by": len(rows), "size": words})
            told = {"tier": tier, "rows": json.dumps(rows, ensure_ascii=False), "stamp": stamp}
            self.run("index.add_rows", told)

    def take_words(self, tier: Tier, doc: int) -> int:
        assert self.rows is not None
        gone = self.one("index.drop", {"tier": tier, "doc": doc})
        if gone is not None:
            self.run("index.count", {"tier": tier, "by": -1, "size": -gone})
        return self.rows.owner


def entry(tier: Tier, owner: int, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """A document's lexemes (tier, owner, stem, and in which step it counts), and how many words it has."""
    counted: Counter[str] = Counter()
    size = 0
    for column, text in texts.items():
        words = stems(index_text(text))
        size += len(words)
        for word in words:
            counted[word[:_LONGEST]] += COLUMNS[tier][column]  # type: ignore[assignment]
    head = head_of(tier, owner)
    return [f"{head}{word}~{_step(tier, times)}" for word, times in counted.items()], size


def head_of(tier: Tier, owner: int) -> str:
    """What every lexeme of an owner and tier begins with."""
    return f"{tier[0]}{owner}x"


@lru_cache(maxsize=1_024)
def _step(tier: Tier, times: float) -> int:
    """The number of the nearest step, from 1."""
    steps = STEPS[tier]
    return 1 + min(range(len(steps)), key=lambda at: abs(math.log(steps[at] / times)))


class Database:
    """Transactions on the connections of a pool."""

    def __init__(self, pool: Pool, terms: Terms) -> None:
        self.pool = pool
        self.terms = terms
        self._pid = os.getpid()
        self._mine = threading.local()
        self._closed = False

    def owners(self) -> list[Scope]:
        """Every owner there is; the store is looked after one owner at a time."""
        with self.read(None) as tx:
            return [Scope.of_owner(tenant, user) for tenant, user in tx.run("vectors.every_owner")]

    def read(self, scope: Scope | None) -> Any:
        """A transaction for reading; its statements see the newest commit each.

        In a shared context they see one moment: who was a member when it began reads nothing that came after.
        """
        outer: PostgresTx | None = getattr(self._mine, "reading", None)
        if outer is not None and outer.scope == scope:
            return nullcontext(outer)
        if scope is not None and scope.by is not None:
            return self.snapshot(scope)
        return self._transaction(scope, "BEGIN READ ONLY", writing=False)

    @contextmanager
    def together(self, scope: Scope) -> Iterator[None]:
        """Within it, what this thread reads for the scope is read in one transaction, as of one moment."""
        with self._transaction(scope, _SNAPSHOT, writing=False, entry="enter_to_ask") as tx:
            outer = getattr(self._mine, "reading", None)
            try:
                self._mine.reading = tx
                yield
            finally:
                self._mine.reading = outer

    def snapshot(self, scope: Scope | None) -> Any:
        """A transaction whose statements all see the same moment."""
        return self._transaction(scope, _SNAPSHOT, writing=False)

    def alone(self, query: str) -> tuple[Any, ...] | None:
        """The row of one query about nobody's rows: a transaction by itself, in one round trip."""
        self._usable()
        connection = self.pool.getconn()
        try:
            with _translated():
                found: tuple[Any, ...] | None = connection.execute(QUERIES[query]).fetchone()
                return found
        except BaseException:
            connection.close()  # in the middle of something, or broken: the pool makes another
            raise
        finally:
            self.pool.putconn(connection)

    @contextmanager
    def write(self, scope: Scope | None, *, keyed: bool = False) -> Iterator[PostgresTx]:
        """One write transaction: all of it is kept, or none. One for the same owner nests into the outer one."""
        outer: PostgresTx | None = getattr(self._mine, "writing", None)
        if outer is not None and outer.scope == scope:
            yield outer
            return
        with self._transaction(scope, "BEGIN", writing=True, entry="enter_keyed" if keyed else "enter") as tx:
            try:
                self._mine.writing = tx
                yield tx
            finally:
                self._mine.writing = outer

    def touch(self, scope: Scope) -> Any:
        """A small write that waits for no other writer of its owner, but for the row itself."""
        return self._transaction(scope, "BEGIN", writing=False)

    @contextmanager
    def _transaction(
        self, scope: Scope | None, begin: str, *, writing: bool, entry: str = "enter"
    ) -> Iterator[PostgresTx]:
        self._usable()
        connection = self.pool.getconn()
        try:
            with _translated():
                tx = PostgresTx(connection, scope, None)
                tx.terms, tx.heads = self.terms, {}
                try:
                    _enter(tx, begin, writing, entry)
                    yield tx
                    connection.commit()
                except Exception:
                    _end(connection)
                    raise
                except BaseException:
                    connection.close()  # interrupted anywhere: nobody knows what it would answer next
                    raise
        finally:
            self.pool.putconn(connection)

    def _usable(self) -> None:
        if os.getpid() != self._pid:
            raise ForkedHandle()
        if self._closed:
            raise StoreUnavailable("this store is closed")

    def close(self) -> None:
        """Close every connection; closing twice, or in a forked child, does nothing."""
        if self._closed or os.getpid() != self._pid:
            return
        self._closed = True
        self.pool.close()


def _enter(tx: PostgresTx, begin: str, writing: bool, entry: str) -> None:
    """Begin a transaction for its scope in one round trip, by the query of that name.

    The one for a question also tells how much the owner has, in as many rows.
    """
    if tx.scope is None:
        tx.connection.execute(begin)
        return
    query = QUERIES[f"sessions.{entry}"]
    try:
        with tx.connection.pipeline():
            tx.connection.execute(begin)
            answer = tx.connection.execute(query, tx.entry_params(writing, making=False))
    except psycopg.OperationalError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # what it left of the pipeline is told in its place
            raise error.__context__ from None
        raise
    found = answer.fetchall()
    if found:
        tx.rows = Rows(*found[0][:2])
        if entry == "enter_to_ask":
            tx.take_sizes([row[2:] for row in found])
    else:
        require_member(tx.scope)


def _end(connection: psycopg.Connection[Any]) -> None:
    """Roll back what failed; a connection that cannot be rolled back is closed, and the pool makes another."""
    try:
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
            connection.close()  # it was left in the middle of a statement
        elif not connection.closed:
            connection.execute("ROLLBACK")
    except psycopg.Error:
        connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    """PostgreSQL's errors as ours, each with what to do."""
    try:
        yield
    except UnicodeEncodeError:
        raise InvalidInput("the text holds a character that cannot be stored") from None
    except psycopg.DataError as error:
        if error.sqlstate is None or error.sqlstate == "22021":  # a NUL, or bytes that are no text
            raise InvalidInput("the text holds a character that cannot be stored") from None
        raise store_error(error) from error
    except psycopg.Error as error:
        if error.sqlstate == ONLY_READS:
            raise ScopeError(MAY_ONLY_READ) from None
        raise store_error(error) from error
