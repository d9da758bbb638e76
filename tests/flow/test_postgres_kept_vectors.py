"""Vectors kept in a process of many: each transaction is answered from what it sees, and nobody waits for another."""

from __future__ import annotations

import psycopg
import pytest

from recollect.settings import Settings
from recollect.store.ports.search import Waiting
from recollect.store.postgres import athand, schema
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import PostgresTx
from recollect.store.postgres.vectors import _put, as_text
from recollect.store.rows.vectormemory import WORTH
from recollect.store.rows.vectors import active_model
from tests.contract.changes import told
from tests.contract.samples import ANN, LATER, NOW, TINY, memory
from tests.flow.kept_fixture import Queries, elsewhere
from tests.flow.kept_fixture import other as other
from tests.flow.kept_fixture import queries as queries
from tests.flow.kept_fixture import store as store

QUERY = TINY.embed(["walrus"])[0]
# As the release before stamps were there wrote vectors.
BEFORE_STAMPS = (
    "INSERT INTO vectors (tenant, owner, tier, doc, place, by_user, model, vector) "
    "SELECT %(tenant)s, %(owner)s, 'memory', %(doc)s, 0, true, %(model)s, %(vector)s::halfvec",
    "UPDATE indexed SET vectored = vectored + %(by)s, vectors = vectors + %(by)s "
    "WHERE tenant = %(tenant)s AND owner = %(owner)s AND tier = 'memory'",
)
TAKEN_BACK = """
SET search_path = recollect; DROP INDEX memories_forgotten;
DROP TRIGGER vectors_stamped ON indexed; DROP FUNCTION stamp_vectors(); DROP INDEX vectors_by_stamp;
DROP TRIGGER words_stamped ON indexed; DROP FUNCTION stamp_words(); DROP INDEX words_by_stamp;
DROP FUNCTION words_since(text, bigint);
ALTER TABLE words DROP COLUMN stamp; ALTER TABLE vectors DROP COLUMN stamp;
ALTER TABLE indexed DROP COLUMN stamp, DROP COLUMN dropped, DROP COLUMN worded, DROP COLUMN unworded;
UPDATE meta SET value = '13' WHERE key = 'schema_version'
"""


def found(store: PostgresStore) -> set[str]:
    matches = store.search.semantic(ANN, "memory", QUERY, NOW, 50)
    return {one.content for one in store.search.documents(ANN, "memory", [match.doc for match in matches])}


@pytest.fixture
def asked(queries: Queries) -> list[str]:
    """The names of the queries by which vectors are compared or read."""
    return queries("search.near", "search.changed", "search.every_vector", "search.vectored")


def test_a_transaction_sees_what_was_there_when_it_began(store: PostgresStore, other: PostgresStore) -> None:
    """Another thread reads further meanwhile; the older moment is answered by the database, and spoils nothing."""
    first = told(store, "a walrus", "a seal")
    assert found(store) == {"a walrus", "a seal"}
    with store.together(ANN):
        told(other, "a penguin")
        other.keeping.forget_memory(ANN, first[1].id, at=LATER)
        later: list[set[str]] = []
        elsewhere(lambda: later.append(found(store))).join()
        assert later == [{"a walrus", "a penguin"}]
        assert found(store) == {"a walrus", "a seal"}
    assert found(store) == {"a walrus", "a penguin"}


def test_of_two_writers_at_once_nothing_is_missed(store: PostgresStore, other: PostgresStore) -> None:
    """A number taken first may be committed last: whoever read up to the other one must still find it."""
    told(store, "a walrus")
    assert found(store) == {"a walrus"}
    for content in ("a seal", "a penguin"):
        store.memories.add(ANN, memory(content))
    one, two = store.vectors.waiting(2)

    def put(tx: PostgresTx, item: Waiting) -> None:
        model = active_model(tx)
        assert model is not None
        _put(tx, model[0], [(item, TINY.embed(item.texts))])

    def put_second() -> None:
        with other.database.touch(ANN) as second:
            put(second, two)

    with store.database.touch(ANN) as first:  # not `write`: there they would take turns anyhow
        put(first, one)
        waits = elsewhere(put_second)
        between = set[str]()
        elsewhere(lambda: between.update(found(other))).join()
        assert "a walrus" in between
    waits.join()
    for process in (store, other):
        assert found(process) == {"a walrus", "a seal", "a penguin"}


def test_nobody_waits_while_another_thread_reads(store: PostgresStore, asked: list[str]) -> None:
    told(store, "a walrus")
    found(store)
    told(store, "a seal")
    (place,) = store.search.memory._places.values()
    asked.clear()
    told_meanwhile = set[str]()
    with place.lock:
        elsewhere(lambda: told_meanwhile.update(found(store)), seconds=10)
        assert told_meanwhile == {"a walrus", "a seal"}
        assert asked == ["search.nearest_plain"]
    asked.clear()
    assert found(store) == {"a walrus", "a seal"}
    assert asked == ["search.changed"]
    asked.clear()
    assert found(store) == {"a walrus", "a seal"}
    assert asked == [], "kept, and asked of nobody"


def test_many_vectors_are_read_for_who_goes_on_asking(
    store: PostgresStore, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(athand, "QUICK", 0)
    told(store, "a walrus")
    for expected in (*[["search.nearest_plain"]] * (WORTH - 1), ["search.every_vector"], []):
        asked.clear()
        with store.together(ANN):  # one question, however often it looks
            assert found(store) == {"a walrus"}
            assert found(store) == {"a walrus"}
        assert sorted(set(asked)) == expected


def test_who_has_no_room_here_is_answered_by_the_database(postgres_url: str, asked: list[str]) -> None:
    store = PostgresStore(Settings(database_url=postgres_url, vector_memory_bytes=1))
    told(store, "a walrus")
    for _ in range(3):
        asked.clear()
        assert found(store) == {"a walrus"}
        assert asked == ["search.nearest_plain"]
    store.close()


def test_what_a_program_of_the_release_before_writes_is_found(store: PostgresStore) -> None:
    """It names no stamp; the database counts for it, also when it replaces one by one."""
    told(store, "a walrus")
    assert found(store) == {"a walrus"}
    store.memories.add(ANN, memory("a penguin"))
    (item,) = store.vectors.waiting(1)
    for replaced, text in enumerate(("nothing of it", "walrus")):
        with store.database.write(ANN) as tx:
            model = active_model(tx)
            assert model is not None
            assert tx.rows is not None
            given = {"doc": item.doc, "model": model[0], "vector": as_text(TINY.embed([text])[0])}
            given |= {"tenant": ANN.tenant, "owner": tx.rows.owner, "by": 1 - replaced}
            if replaced:
                tx.run("vectors.drop_old", {"tier": "memory", "docs": [item.doc]})
            for statement in BEFORE_STAMPS:
                tx.connection.execute(statement, given)
        assert found(store) == {"a walrus", "a penguin"}
    (best, *_) = store.search.semantic(ANN, "memory", QUERY, NOW, 50)
    assert best.doc == item.doc
    assert best.score == pytest.approx(1.0, abs=1e-3)


def test_vectors_from_before_there_were_stamps_are_kept_and_followed(postgres_url: str) -> None:
    store = PostgresStore(Settings(database_url=postgres_url))
    gone, _ = told(store, "a walrus", "a seal")
    store.close()
    with psycopg.connect(postgres_url, autocommit=True) as owner:
        owner.execute(TAKEN_BACK)
        assert schema.current(owner) == 13
    store = PostgresStore(Settings(database_url=postgres_url))
    assert found(store) == {"a walrus", "a seal"}
    assert len(store.search.memory) == 1
    told(store, "a penguin")
    assert found(store) == {"a walrus", "a seal", "a penguin"}
    store.keeping.forget_memory(ANN, gone.id, at=LATER)
    assert found(store) == {"a seal", "a penguin"}
    store.close()
