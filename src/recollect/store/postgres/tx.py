"""A transaction on a connection to PostgreSQL: it is entered for a scope, and sees nothing else from there on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from recollect.model import Scope, Tier
from recollect.store.postgres.lexemes import LONGEST, entry
from recollect.store.rows.tx import Answer, Rare, Rows, Tx, require_member
from recollect.store.searchtext import index_text
from recollect.store.sql import Queries
from recollect.store.stems import stems

if TYPE_CHECKING:
    from recollect.store.postgres.lexicon import Lexicon
    from recollect.store.rows.matrix import VectorView
    from recollect.store.rows.vectormemory import Place

FEW_TAGGED = 2_000  # memories with a tag up to which looking each of them up is quicker than to look at the newest
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_LOOKED_UP = re.compile(r"owner = :owner\s+AND ((?:\w+\.)?(?:key|id|name|hash|session_id|dedup_key) = )")
NO_PARAMS: Mapping[str, object] = {}


def _spelled(query: str) -> str:
    """A query with its parameters as psycopg writes them.

    Where one row is looked up by its name, the planner is not told whose it is: of an owner who came after the last
    ANALYZE it would expect no rows at all, and go through all of them instead of looking one up.
    """
    hidden = _LOOKED_UP.sub(r"owner = (SELECT :owner::bigint) AND \1", query)
    return _PARAMETER.sub(r"%(\1)s", hidden.replace("%", "%%"))


SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
QUERIES = Queries(Path(__file__).parent / "queries", _spelled)


class Sizes(NamedTuple):
    """How much an owner has of a tier: documents, their words, those with vectors, vectors; and as of which change."""

    rows: int
    words: int
    vectored: int
    vectors: int
    stamp: int  # another one each time the vectors change
    server: datetime | None  # since when it runs: stamps of another past say nothing
    worded: int  # another one each time the words change


NOTHING = Sizes(0, 0, 0, 0, 0, None, 0)


class PostgresTx(Tx):
    """A transaction on one connection."""

    violated = psycopg.errors.UniqueViolation

    def __init__(self, connection: psycopg.Connection[Any], scope: Scope | None, rows: Rows | None) -> None:
        super().__init__(scope, rows)
        self.connection = connection
        self.sizes: Mapping[str, Sizes] | None = None  # how much the owner has, once it was asked
        self.places: dict[Tier, Place] = {}  # where the process keeps what is the owner's, once that was asked for
        self.views: dict[Tier, VectorView | None] = {}  # the owner's vectors, once they were looked for
        self.lexicons: dict[Tier, Lexicon | None] = {}  # … and words

    def run(self, query: str, params: Mapping[str, object] = NO_PARAMS) -> Answer:
        """Run a query; whose transaction it is need not be said."""
        known = {"tenant": self.scope.tenant} if self.scope else {}
        if self.rows is not None:
            known["owner"] = self.rows.owner  # type: ignore[assignment]
        return self.connection.execute(QUERIES[query], {**known, **params})

    def size_of(self, tier: Tier) -> Sizes:
        """How much the owner has of a tier; asked once in a transaction, of all tiers."""
        if self.sizes is None:
            self.sizes = {name: Sizes(*sizes) for name, *sizes in self.raw("search.sizes", NO_PARAMS)}
        return self.sizes.get(tier, NOTHING)

    def has(self, what: Rare) -> bool:
        return self.sizes is None or what not in self.sizes or bool(self.sizes[what].rows)

    def raw(self, query: str, params: Mapping[str, object]) -> list[tuple[Any, ...]]:
        """The rows of a query, sent as the server has them: half as long, and a vector is its bytes."""
        assert self.scope is not None
        assert self.rows is not None
        known = {"tenant": self.scope.tenant, "owner": self.rows.owner}
        with self.connection.cursor(binary=True) as cursor:
            return cursor.execute(QUERIES[query], {**known, **params}).fetchall()

    def begin(self, begin: str, entry: str, *, writing: bool = False) -> None:
        """Begin for its scope in one message, by the query of that name."""
        if self.scope is None:
            self.connection.execute(begin)
            return
        with pipelined(self.connection):
            self.connection.execute(begin)
            entered = self.connection.execute(QUERIES[f"sessions.{entry}"], self.entry_params(writing=writing))
        row = entered.fetchone()
        if row is None:
            require_member(self.scope)
        else:
            self.rows = Rows(*row)

    def find(self) -> Rows | None:
        return self.rows

    def ensure(self) -> Rows:
        if self.rows is None or self.rows.project == 0:
            self.rows = self.enter(writing=True, making=True)
        assert self.rows is not None
        return self.rows

    def enter(self, *, writing: bool, making: bool = False) -> Rows | None:
        """Whose rows this transaction sees from here on."""
        params = self.entry_params(writing=writing, making=making)
        row = self.connection.execute(QUERIES["sessions.enter"], params).fetchone()
        return None if row is None else Rows(*row)

    def entry_params(self, *, writing: bool = False, making: bool = False) -> dict[str, object]:
        assert self.scope is not None
        names = {"tenant": self.scope.tenant, "username": self.scope.user, "project": self.scope.project}
        by = dict(zip(("by_tenant", "by_username"), self.scope.by or (None, None), strict=True))
        return {**names, **by, "writing": writing, "making": making}

    def many(self, docs: Sequence[int]) -> object:
        return f"{{{','.join(map(str, docs))}}}"  # as text: psycopg looks at every number of a list

    def tagged(self, owner: int, tags: Sequence[str]) -> list[int] | None:
        """By the words of tags, which are in the index; None where they have none, or many memories hold them."""
        words = [stems(index_text(tag)) for tag in tags]
        if not all(words):
            return None
        asked = json.dumps([[word[:LONGEST] for word in dict.fromkeys(each)] for each in words])
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


@contextmanager
def pipelined(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Within it, statements are sent together and answered together."""
    try:
        with connection.pipeline():
            yield
    except psycopg.OperationalError as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # what it left of the pipeline is told in its place
            raise error.__context__ from None
        raise
