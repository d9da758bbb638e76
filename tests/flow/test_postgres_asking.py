"""A question to PostgreSQL of who goes on asking: one statement, and never from what is no more."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Any

import psycopg
import pytest

from recollect.errors import NotFound
from recollect.model import Evidence, Memory, Scope
from recollect.recall.answer import answer
from recollect.recall.asking import filter_of, question_of
from recollect.recall.meaning import Meaning
from recollect.settings import Settings
from recollect.store.postgres import asking
from recollect.store.postgres.asking import _TOLD, AskingTx, Entered, Lately
from recollect.store.postgres.connecting import Linked
from recollect.store.postgres.store import PostgresStore
from recollect.store.postgres.tx import QUERIES
from tests.contract.changes import deleted, told
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, TINY, by_words, embed_waiting, memory
from tests.flow.kept_fixture import other as other
from tests.flow.kept_fixture import store as store


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What is sent from then on: the statements that go together, by how they begin."""
    sent: list[list[str]] = []
    inside: list[bool] = []
    execute, pipeline, commit = Linked.execute, Linked.pipeline, Linked.commit

    def executed(link: Linked, query: Any, *given: Any, **more: Any) -> Any:
        if not inside:
            sent.append([])
        sent[-1].append(" ".join(str(query).split()[:2]))
        return execute(link, query, *given, **more)

    @contextmanager
    def pipelined(link: Linked) -> Iterator[Any]:
        sent.append([])
        inside.append(True)
        try:
            with pipeline(link) as made:
                yield made
        finally:
            inside.pop()

    def committed(link: Linked) -> None:
        if link.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            sent.append(["COMMIT"])
        commit(link)

    monkeypatch.setattr(Linked, "execute", executed)
    monkeypatch.setattr(Linked, "pipeline", pipelined)
    monkeypatch.setattr(Linked, "commit", committed)
    return sent


def recalled(store: PostgresStore, meaning: Meaning, scope: Scope = ANN) -> set[str]:
    question = question_of("where is the walrus", filter_of(LATER, {}), ("memory",), 10, Settings(), abstain=False)
    found = answer(store, scope, question, meaning.of(question.text, "auto", scope.tenant))
    assert found.mode == "hybrid"
    return {hit.content for hit in found.hits}


def asked_often(store: PostgresStore, *texts: str, times: int = 8) -> tuple[Meaning, list[Memory]]:
    """Memories of Ann that she asked for so often that by then as much as ever is taken for granted."""
    made, meaning = told(store, *texts), Meaning(store, Settings(), TINY)
    for _ in range(times):
        recalled(store, meaning)
    return meaning, made


BEGUN = ["BEGIN ISOLATION", "SELECT owner,", "SELECT row,"]
WHOLE = ["SELECT asked_owner,"]


def test_who_goes_on_asking_is_answered_in_one_statement(store: PostgresStore, messages: list[list[str]]) -> None:
    """At first a transaction is begun with the first, since more might follow; as nothing does, it is left out."""
    meaning, _ = asked_often(store, "a walrus", "a walrus at sea", "a harbour", times=3)
    for _ in range(3):
        messages.clear()
        assert recalled(store, meaning) == {"a walrus", "a walrus at sea", "a harbour"}
        assert messages == [BEGUN, ["COMMIT"]]
    for _ in range(2):
        messages.clear()
        assert recalled(store, meaning) == {"a walrus", "a walrus at sea", "a harbour"}
        assert messages == [WHOLE]


def test_what_needs_more_than_one_statement_is_asked_again_in_a_transaction(
    store: PostgresStore, messages: list[list[str]]
) -> None:
    asked_often(store, "a walrus")
    docs = [match.doc for match in by_words(store, ANN, "memory", "walrus")]

    def twice() -> list[str]:
        return [one.content for _ in range(2) for one in store.search.documents(ANN, "memory", docs)]

    messages.clear()
    assert store.ask(ANN, twice) == ["a walrus", "a walrus"]
    assert messages == [WHOLE, BEGUN[:2], ["SELECT row,"], ["SELECT row,"], ["COMMIT"]]
    messages.clear()
    assert store.ask(ANN, twice) == ["a walrus", "a walrus"]
    assert messages == [BEGUN, ["SELECT row,"], ["COMMIT"]], "whose questions need more is not asked in one statement"


def test_one_statement_reads_a_memory_exactly_as_it_was_kept(store: PostgresStore, messages: list[list[str]]) -> None:
    """It comes as the server has it, and not written out as from every other query."""
    said = "a walrus, “früh”\nat 5 °C"
    kept = memory(
        said,
        why="it swam",
        tags=("séa", 'ice "floe"'),
        importance=1 / 3,
        confidence=0.1,
        session="s1",
        evidence=(Evidence("s1", "e1"),),
        anchors=("src/walrus.py",),
        meta={"pinned": T0.isoformat(), "ö": [1, None, "\\"]},
        occurred_at=T0.replace(microsecond=0),
        recorded_at=T0.replace(microsecond=123456),
        accessed_at=LATER,
        access_count=3,
        expires_at=LATER + timedelta(days=1, microseconds=1),
        confirmed_at=LATER,
        slot="walrus/place",
        maker="rules",
    )
    store.memories.add(ANN, kept)
    asked_often(store, "another walrus")
    docs = [match.doc for match in by_words(store, ANN, "memory", "früh")]
    messages.clear()
    (whole,) = store.ask(ANN, lambda: store.search.documents(ANN, "memory", docs))
    assert messages == [WHOLE]
    assert whole.memory == kept == store.memories.get(ANN, kept.id)
    assert whole == store.search.documents(ANN, "memory", docs)[0]
    assert {whole.occurred_at.tzinfo, whole.memory.accessed_at.tzinfo} == {UTC}


def test_a_question_in_one_statement_reads_what_is_no_more_for_nobody(
    store: PostgresStore, other: PostgresStore, messages: list[list[str]]
) -> None:
    """What it found by what is at hand is held against the moment it is read in."""
    meaning, made = asked_often(store, "a walrus", "a walrus at sea")
    deleted(other, made)
    messages.clear()
    assert recalled(store, meaning) == {"a walrus at sea"}
    assert messages[:2] == [WHOLE, BEGUN[:2]]


def test_one_statement_leaves_nobody_to_the_next_on_its_connection(store: PostgresStore) -> None:
    """Whose rows it may see ends with it, as it does with a transaction."""
    meaning, _ = asked_often(store, "a walrus")
    recalled(store, meaning)
    with store.database.pool.connection() as link:
        assert link.execute("SELECT current_tenant(), current_owner()").fetchone() == (None, None)
        assert link.execute("SHOW plan_cache_mode").fetchone() == ("force_custom_plan",)
        assert link.execute("SELECT count(*) FROM memories").fetchone() == (0,)


def test_one_statement_reads_nothing_that_who_asks_may_not_see(store: PostgresStore) -> None:
    """Whichever documents it is asked for: of others, or of another project."""
    for scope in (ANN, ANN.within("ice"), ANN.within("sea"), BOB):
        store.memories.add(scope, memory(f"a walrus of {scope.user} in {scope.project}", project=scope.project))
    docs = [match.doc for scope in (ANN, BOB) for match in by_words(store, scope, "memory", "walrus")]
    assert len(docs) == 4

    def seen(scope: Scope) -> set[str]:
        with store.database._connection() as link:
            tx = AskingTx(link, scope, Lately())
            rows = link.execute(QUERIES["search.ask_for_memories"], {**tx.entry_params(), "docs": tx.many(docs)})
            return {row[_TOLD + 5] for row in rows if row[_TOLD] is not None}

    assert seen(ANN) == {f"a walrus of ann in {project}" for project in (None, "ice", "sea")}
    assert seen(ANN.within("ice")) == {"a walrus of ann in None", "a walrus of ann in ice"}
    assert seen(ANN.within("unheard of")) == {"a walrus of ann in None"}
    assert seen(BOB) == {"a walrus of bob in None"}
    assert seen(EVE) == set()


def test_what_changed_costs_one_message_more(
    store: PostgresStore, other: PostgresStore, messages: list[list[str]]
) -> None:
    """It is asked again in the transaction that told of it."""
    meaning, _ = asked_often(store, "a walrus", times=3)
    other.memories.add(ANN, memory("a walrus at sea"))
    messages.clear()
    assert recalled(store, meaning) == {"a walrus", "a walrus at sea"}
    assert [sent for sent in messages if "BEGIN ISOLATION" in sent] == [BEGUN]
    messages.clear()
    recalled(store, meaning)
    assert messages[0] == BEGUN[:2], "of whom something changes nothing is taken for granted"


def test_only_so_many_are_remembered(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_MOST", 1)
    meaning = Meaning(store, Settings(), TINY)
    for scope in (ANN, BOB):
        store.memories.add(scope, memory(f"a walrus of {scope.user}"))
    embed_waiting(store)
    for scope in (ANN, ANN, BOB, ANN, BOB, BOB, ANN):
        assert recalled(store, meaning, scope) == {f"a walrus of {scope.user}"}
        assert len(store.database._lately._entered) == 1


def test_of_who_is_gone_nothing_is_remembered(store: PostgresStore, other: PostgresStore) -> None:
    context = store.contexts.create(ANN, "team", at=T0).id
    store.contexts.add_member(ANN, context, ("acme", "bob"), "reader", at=T0)
    store.contexts.join(BOB, context, at=T0)
    inside = BOB.in_context(context)
    store.memories.add(ANN.in_context(context), memory("a walrus", origin="import"))
    for _ in range(3):
        store.ask(inside, lambda: None)
    assert list(store.database._lately._entered) == [inside]
    other.contexts.remove_member(ANN, context, ("acme", "bob"), at=LATER)
    with pytest.raises(NotFound):
        store.ask(inside, lambda: None)
    assert not store.database._lately._entered


def test_a_server_that_was_started_anew_is_asked_for_everything(store: PostgresStore) -> None:
    """Since when it runs is part of what it tells: stamps of another past say nothing."""
    meaning, _ = asked_often(store, "a walrus", times=3)
    known = store.database._lately._entered
    before = known[ANN].sizes["memory"].server
    past = [(*row[:8], T0, *row[9:]) for row in known[ANN].told]
    known[ANN] = replace(Entered.of(past), steady=True)
    assert recalled(store, meaning) == {"a walrus"}
    assert known[ANN].sizes["memory"].server == before != T0
    assert not known[ANN].steady


def test_the_release_before_reads_the_same_sizes(store: PostgresStore, postgres_url: str) -> None:
    """It takes each row for a tier by its name, and has no use for one that it does not know."""
    store.memories.add(ANN, memory("a walrus"))
    embed_waiting(store)
    with store.database.read(ANN) as tx:
        told = {row[0]: row[1] for row in tx.run("search.sizes").fetchall()}
    assert told == {"memory": 1, "feedback": 0, "relations": 0, f"model:{TINY.name}": TINY.dim}
    with psycopg.connect(postgres_url) as owning:
        names = owning.execute(
            "SELECT proargnames FROM pg_proc "
            "WHERE proname = 'enter_to_ask' AND pronamespace = 'recollect'::regnamespace"
        ).fetchone()
    assert names is not None
    assert names[0][-8:] == ["tier", "rows", "words", "vectored", "vectors", "stamp", "server", "worded"]


def test_one_statement_tells_and_reads_as_of_one_moment(
    store: PostgresStore, other: PostgresStore, postgres_url: str
) -> None:
    """Whatever is committed between its parts: here it is held up after the first, until a memory is gone."""
    meaning, made = asked_often(store, "a walrus", "a walrus at sea")
    with psycopg.connect(postgres_url, autocommit=True) as owning, ThreadPoolExecutor() as threads:
        owning.execute("SET search_path = recollect")
        body = owning.execute("SELECT prosrc FROM pg_proc WHERE oid = 'sizes()'::regprocedure").fetchone()
        held = "SELECT s.* FROM (SELECT pg_advisory_xact_lock_shared(7)) held, LATERAL ({}) s".format(*body or ())
        owning.execute("SELECT pg_advisory_lock(7)")
        columns = "tier text, rows bigint, words bigint, vectored bigint, vectors bigint, stamp bigint"
        owning.execute(
            f"CREATE OR REPLACE FUNCTION sizes() RETURNS TABLE ({columns}, server timestamptz, worded bigint) "
            f"LANGUAGE sql STABLE AS $held${held}$held$"
        )
        asked = threads.submit(recalled, store, meaning)
        waiting = (
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        while owning.execute(waiting).fetchone() != (1,):
            assert not asked.done()
        deleted(other, made)
        owning.execute("SELECT pg_advisory_unlock(7)")
        assert asked.result() == {"a walrus", "a walrus at sea"}, "of the moment that told of both"
    assert recalled(store, meaning) == {"a walrus at sea"}
