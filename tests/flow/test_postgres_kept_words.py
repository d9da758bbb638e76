"""Words kept in a process of many: each transaction is answered from what it sees, and nobody waits for another."""

from __future__ import annotations

import psycopg
import pytest

from recollect.model import Tier
from recollect.settings import Settings
from recollect.store.postgres import athand, schema
from recollect.store.postgres.athand import AtHand
from recollect.store.postgres.lexicon import Lexicon
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import PostgresTx
from recollect.store.rows.vectormemory import WORTH
from tests.contract.samples import ANN, LATER, memory
from tests.flow.kept_fixture import Queries, elsewhere
from tests.flow.kept_fixture import other as other
from tests.flow.kept_fixture import queries as queries
from tests.flow.kept_fixture import store as store

# As the release before words had stamps wrote them.
BEFORE_STAMPS = (
    "INSERT INTO words (tenant, owner, tier, doc, size, search) "
    "SELECT %(tenant)s, %(owner)s, 'memory', %(doc)s, 2, array_to_tsvector(%(lexemes)s::text[])",
    "UPDATE indexed SET rows = rows + 1, words = words + 2 "
    "WHERE tenant = %(tenant)s AND owner = %(owner)s AND tier = 'memory'",
)
TAKEN_BACK = """
SET search_path = recollect;
DROP TRIGGER words_stamped ON indexed; DROP FUNCTION stamp_words(); DROP FUNCTION words_since(text, bigint);
DROP INDEX words_by_stamp; ALTER TABLE words DROP COLUMN stamp;
ALTER TABLE indexed DROP COLUMN worded, DROP COLUMN unworded;
UPDATE meta SET value = '19' WHERE key = 'schema_version'
"""


@pytest.fixture
def asked(queries: Queries) -> list[str]:
    """The names of the queries by which words are looked up or read."""
    return queries("search.word", "search.holding")


def found(store: PostgresStore) -> set[str]:
    matches = store.search.lexical(ANN, "memory", ["walrus"], None, 50)
    return {one.content for one in store.search.documents(ANN, "memory", [match.doc for match in matches])}


def go_on_asking(store: PostgresStore) -> None:
    """Until the words are kept: with the second question, where they are few."""
    for _ in range(2):
        found(store)
    (place,) = store.search.memory._places.values()
    assert place.lexicon is not None


def test_a_transaction_sees_what_was_there_when_it_began(store: PostgresStore, other: PostgresStore) -> None:
    """Another thread reads further meanwhile; the older moment is answered by the database, and spoils nothing."""
    first = memory("a walrus")
    store.memories.add(ANN, first)
    go_on_asking(store)
    with store.together(ANN):
        other.memories.add(ANN, memory("a walrus at sea"))
        other.keeping.forget_memory(ANN, first.id, at=LATER)
        later: list[set[str]] = []
        elsewhere(lambda: later.append(found(store))).join()
        assert later == [{"a walrus at sea"}]
        assert found(store) == {"a walrus"}
    assert found(store) == {"a walrus at sea"}


def test_what_comes_between_two_statements_is_found_and_breaks_nothing(
    store: PostgresStore, other: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a question nothing holds statements to one moment: how many there are may be older than the words."""
    store.memories.add(ANN, memory("a walrus"))
    assert found(store) == {"a walrus"}  # with the next question the words are read
    inner, more = AtHand.words, [memory(f"a walrus in {number}") for number in (1924, 1963)]

    def words(at_hand: AtHand, tx: PostgresTx, tier: Tier) -> Lexicon | None:
        while more:
            other.memories.add(ANN, more.pop())
        return inner(at_hand, tx, tier)

    monkeypatch.setattr(AtHand, "words", words)
    matches = store.search.lexical(ANN, "memory", ["walrus"], None, 50)
    assert len(matches) == 3


def test_nobody_waits_while_another_thread_reads(store: PostgresStore, asked: list[str]) -> None:
    store.memories.add(ANN, memory("a walrus"))
    go_on_asking(store)
    store.memories.add(ANN, memory("a walrus at sea"))
    (place,) = store.search.memory._places.values()
    asked.clear()
    meanwhile = set[str]()
    with place.lock:
        elsewhere(lambda: meanwhile.update(found(store)), seconds=10)
        assert meanwhile == {"a walrus", "a walrus at sea"}
        assert asked == ["search.words_counted"]
    asked.clear()
    assert found(store) == {"a walrus", "a walrus at sea"}
    assert asked == ["search.words_changed"]
    asked.clear()
    assert found(store) == {"a walrus", "a walrus at sea"}
    assert asked == [], "kept, and asked of nobody"


def test_many_words_are_read_for_who_goes_on_asking(
    store: PostgresStore, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(athand, "QUICK", 0)
    store.memories.add(ANN, memory("a walrus"))
    for number in range(8 * WORTH + 1):
        asked.clear()
        with store.together(ANN):  # one question, however often it looks
            assert found(store) == found(store) == {"a walrus"}
        assert ("search.words_changed" in asked) == (number == 8 * WORTH - 1)
    assert asked == []


def test_who_has_no_room_here_is_answered_by_the_database(postgres_url: str, asked: list[str]) -> None:
    store = PostgresStore(Settings(database_url=postgres_url, vector_memory_bytes=1))
    store.memories.add(ANN, memory("a walrus"))
    for _ in range(3):
        assert found(store) == {"a walrus"}
    assert "search.words_changed" not in asked
    store.close()


def test_what_a_program_of_the_release_before_writes_is_found(store: PostgresStore) -> None:
    """It names no stamp; the database counts for it."""
    store.memories.add(ANN, memory("a walrus"))
    go_on_asking(store)
    store.memories.add(ANN, memory("a seal"))
    with store.database.write(ANN) as tx:
        assert tx.rows is not None
        (doc,) = tx.connection.execute("SELECT row FROM memories WHERE content = 'a seal'").fetchone() or (0,)
        tx.take_words("memory", doc)
    assert found(store) == {"a walrus"}
    with store.database.write(ANN) as tx:
        assert tx.rows is not None
        given = {"tenant": ANN.tenant, "owner": tx.rows.owner, "doc": doc}
        for statement in BEFORE_STAMPS:
            tx.connection.execute(statement, {**given, "lexemes": [f"m{tx.rows.owner}xwalru~2"]})
    assert found(store) == {"a walrus", "a seal"}


def test_words_from_before_there_were_stamps_are_kept_and_followed(postgres_url: str) -> None:
    store = PostgresStore(Settings(database_url=postgres_url))
    gone = memory("a walrus")
    store.memories.add(ANN, gone)
    store.close()
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(TAKEN_BACK)
        assert schema.current(owner) == 19
    store = PostgresStore(Settings(database_url=postgres_url))
    go_on_asking(store)
    assert found(store) == {"a walrus"}
    store.memories.add(ANN, memory("a walrus at sea"))
    assert found(store) == {"a walrus", "a walrus at sea"}
    store.keeping.forget_memory(ANN, gone.id, at=LATER)
    assert found(store) == {"a walrus at sea"}
    store.close()


def test_who_asks_once_is_answered_by_the_database(store: PostgresStore, asked: list[str]) -> None:
    """A command asks once: it needs neither all words nor what they are compared with."""
    store.memories.add(ANN, memory("a walrus"))
    asked.clear()
    with store.together(ANN):
        assert found(store) == {"a walrus"}
    assert asked == ["search.words_counted"]
