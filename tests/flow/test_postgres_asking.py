"""A question to PostgreSQL of who goes on asking: one message there, one to end it, and never from what is no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from recollect.errors import NotFound
from recollect.model import Scope
from recollect.recall.answer import answer
from recollect.recall.asking import filter_of, question_of
from recollect.recall.meaning import Meaning
from recollect.settings import Settings
from recollect.store.postgres import asking
from recollect.store.postgres.asking import Entered
from recollect.store.postgres.connecting import Linked
from recollect.store.postgres.store import PostgresStore
from tests.contract.samples import ANN, BOB, LATER, T0, TINY, embed_waiting, memory
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


def test_who_goes_on_asking_costs_two_messages(store: PostgresStore, messages: list[list[str]]) -> None:
    for text in ("a walrus", "a walrus at sea", "a harbour"):
        store.memories.add(ANN, memory(text))
    embed_waiting(store)
    meaning = Meaning(store, Settings(), TINY)
    for _ in range(3):
        recalled(store, meaning)
    messages.clear()
    assert recalled(store, meaning) == {"a walrus", "a walrus at sea", "a harbour"}
    assert messages == [["BEGIN ISOLATION", "SELECT owner,", "SELECT row,"], ["COMMIT"]]


def test_what_changed_costs_one_message_more(
    store: PostgresStore, other: PostgresStore, messages: list[list[str]]
) -> None:
    """It is asked again in the transaction that told of it."""
    store.memories.add(ANN, memory("a walrus"))
    embed_waiting(store)
    meaning = Meaning(store, Settings(), TINY)
    for _ in range(3):
        recalled(store, meaning)
    other.memories.add(ANN, memory("a walrus at sea"))
    messages.clear()
    assert recalled(store, meaning) == {"a walrus", "a walrus at sea"}
    begun = [sent for sent in messages if "BEGIN ISOLATION" in sent]
    assert begun == [["BEGIN ISOLATION", "SELECT owner,", "SELECT row,"]]
    messages.clear()
    recalled(store, meaning)
    assert messages[0] == ["BEGIN ISOLATION", "SELECT owner,"], "of whom something changes nothing is taken for granted"


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
    store.memories.add(ANN, memory("a walrus"))
    embed_waiting(store)
    meaning = Meaning(store, Settings(), TINY)
    for _ in range(3):
        recalled(store, meaning)
    known = store.database._lately._entered
    past = [(*row[:8], "2020-01-01T00:00:00.000000Z", *row[9:]) for row in known[ANN].told]
    known[ANN] = replace(Entered.of(past), steady=True)
    assert recalled(store, meaning) == {"a walrus"}
    assert known[ANN].sizes["memory"].server > "2026"
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
