"""Vector engines beside a store: candidates of one owner alone, in step with the store, never a reason to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from recollect.model import TIERS, Tier
from recollect.models.tiny import TinyEmbedder
from recollect.store.engines.attached import connect
from recollect.store.engines.port import Embedded, Engine, EngineFailed, VectorIndex
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages
from recollect.store.postgres.store import PostgresStore
from tests.contract.engine_fixture import Beside, asked, clustered, fill, settings_for
from tests.contract.engine_fixture import beside as beside
from tests.contract.engine_fixture import engine as engine
from tests.contract.engine_fixture import kind as kind
from tests.contract.samples import (
    ANN,
    BOB,
    EVE,
    LATER,
    NOW,
    T0,
    TINY,
    by_meaning,
    embed_waiting,
    memory,
    minute,
    shown,
    texts,
)

if TYPE_CHECKING:
    from recollect.store.ports.search import Matrix

AGES = Ages(archive_before=T0, archive_reads=0, redact_before=T0, purge_before=T0)
DIM = 32


def items(owner: str, vectors: Matrix, tier: Tier = "memory", first: int = 1) -> list[Embedded]:
    return [Embedded(owner, tier, first + number, row[np.newaxis]) for number, row in enumerate(vectors)]


@pytest.fixture
def index(engine: Engine) -> VectorIndex:
    return engine.make("recollect_a_1", DIM)


def test_an_owner_gets_exactly_as_many_as_asked_or_all_and_nobody_elses(index: VectorIndex) -> None:
    mine, theirs = clustered(30, DIM, 1), clustered(60, DIM, 2)
    index.put(items("o1", mine))
    index.put(items("o2", theirs, first=1_000))
    index.put(items("o1", theirs, tier="gist", first=5_000))
    for limit in (1, 10, 30, 31, 200):
        found = index.search("o1", "memory", theirs[0], limit)
        assert len({doc for doc, _ in found}) == min(limit, 30)
        assert {doc for doc, _ in found} <= set(range(1, 31))
    assert index.search("o3", "memory", mine[0], 5) == []
    assert index.search("o1", "turn", mine[0], 5) == []
    assert (index.count("o1", "memory"), index.count("o2", "memory"), index.count()) == (30, 60, 150)


def test_the_nearest_come_first_with_their_cosines(index: VectorIndex) -> None:
    rows = clustered(40, DIM, 3)
    index.put(items("o1", rows))
    found = index.search("o1", "memory", rows[7], 5)
    exact = rows @ rows[7]
    assert [doc - 1 for doc, _ in found] == np.argsort(-exact)[:5].tolist()
    assert [cosine for _, cosine in found] == pytest.approx(sorted(exact, reverse=True)[:5], abs=2e-3)


def test_a_document_counts_once_by_its_nearest_vector(index: VectorIndex) -> None:
    rows = clustered(40, DIM, 4)
    index.put([Embedded("o1", "turn", 1, rows[:20]), *items("o1", rows[20:], tier="turn", first=2)])
    found = index.search("o1", "turn", rows[3], 3)
    assert found[0] == (1, pytest.approx(1.0, abs=2e-3))
    assert len({doc for doc, _ in found}) == 3


def test_what_is_put_again_takes_the_place_of_what_was_there(index: VectorIndex) -> None:
    rows = clustered(20, DIM, 5)
    index.put([Embedded("o1", "turn", 1, rows[:5]), Embedded("o1", "turn", 2, rows[5:6])])
    for _ in range(3):
        index.put([Embedded("o1", "turn", 1, rows[10:12])])
    assert index.count("o1", "turn") == 3
    assert dict(index.search("o1", "turn", rows[0], 5))[1] < 0.99
    assert index.search("o1", "turn", rows[10], 1)[0] == (1, pytest.approx(1.0, abs=2e-3))


def test_what_is_dropped_is_gone_and_dropping_again_does_nothing(index: VectorIndex) -> None:
    rows = clustered(20, DIM, 6)
    index.put(items("o1", rows))
    index.put(items("o2", rows))
    for _ in range(2):
        index.drop("o1", "memory", [1, 2, 3, 999])
    index.drop("o9", "memory", [1])
    index.drop("o1", "memory", [])
    index.scrub("o1", "memory")
    index.compact()
    assert {doc for doc, _ in index.search("o1", "memory", rows[0], 50)} == set(range(4, 21))
    assert (index.count("o1", "memory"), index.count("o2", "memory")) == (17, 20)
    index.drop("o1", "memory", range(1, 21))
    index.scrub("o1", "memory")
    assert index.search("o1", "memory", rows[0], 5) == []
    index.put(items("o1", rows[:2]))
    assert index.count("o1", "memory") == 2


def test_an_index_that_is_not_there_or_of_another_size_is_refused(engine: Engine, index: VectorIndex) -> None:
    with pytest.raises(EngineFailed):
        engine.open("recollect_a_2", DIM)
    with pytest.raises(EngineFailed):
        engine.open("recollect_a_1", DIM + 1)
    engine.make("recollect_b_1", DIM)
    assert engine.names("recollect_a_") == ["recollect_a_1"]
    engine.remove("recollect_a_1")
    assert engine.names("recollect_") == ["recollect_b_1"]
    with pytest.raises(EngineFailed):
        engine.open("recollect_a_1", DIM)


@pytest.mark.slow
def test_the_true_neighbours_are_found_whatever_an_owners_share_is(engine: Engine) -> None:
    """8,000 vectors, owners of 90 %, 9 % and 20 rows: recall@10 is at least .95 for each."""
    index = engine.make("recollect_a_1", 96)
    owned = {"o1": clustered(7_200, 96, 11), "o2": clustered(780, 96, 12), "o3": clustered(20, 96, 13)}
    for owner, rows in owned.items():
        for start in range(0, len(rows), 1_000):
            index.put(items(owner, rows[start : start + 1_000], first=start), fresh=True)
    index.compact()
    questions = clustered(20, 96, 14)
    for owner, rows in owned.items():
        met = 0
        for question in questions:
            found = [doc for doc, _ in index.search(owner, "memory", question, 10)]
            assert len(set(found)) == 10
            met += len(set(found) & set(np.argsort(-(rows @ question))[:10].tolist()))
        assert met / (10 * len(questions)) >= 0.95, owner


# -- beside a store ----------------------------------------------------------------------------------------------------


class Answers(dict[Tier, dict[int, float]]):
    """What tiers give: the same documents in the same order are the same, with cosines as near as halves are."""

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Answers)
        return all(list(self[tier]) == list(other[tier]) for tier in self) and all(
            self[tier] == pytest.approx(other[tier], abs=1e-3) for tier in self
        )


def answers(store: Store, text: str = "walruses on the ice") -> Answers:
    """What memories and turns give, by meaning."""
    tiers: tuple[Tier, ...] = ("memory", "turn")
    found = {tier: store.search.semantic(ANN, tier, asked(text), NOW, 5) for tier in tiers}
    return Answers({tier: {match.doc: match.score for match in matches} for tier, matches in found.items()})


NOTHING = Answers({"memory": {}, "turn": {}})


def only_the_engine(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a search that the store makes itself fails the test."""
    monkeypatch.setattr(store.search._inner, "semantic", lambda *given: pytest.fail("the engine was not asked"))


def upkeep(store: Store) -> None:
    store.keeping.upkeep(now=T0, ages=AGES)


def held(store: Any) -> int:
    """How many vectors the engine has; asked in a way that fails when it cannot be used."""
    with store.database.read(None) as tx:
        return int(store.engine.index(tx).count())


def stored(store: Any) -> int:
    newest = 20_000
    if isinstance(store, PostgresStore):  # emptied and used again, it goes on counting
        with store.database.write(None) as tx:
            newest = tx.connection.execute("SELECT nextval('numbers')").fetchone()[0]  # type: ignore[index]
    docs = range(max(1, newest - 20_000), newest + 1)
    return sum(
        len(rows)
        for scope in (ANN, BOB, EVE)
        for tier in TIERS
        for rows in store.search.vectors(scope, tier, list(docs)).values()
    )


def test_answers_are_those_of_the_store_itself(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = beside(vector_engine="store")
    fill(plain)
    fill(plain, BOB)
    expected = answers(plain)
    store = beside()
    assert answers(store) == expected, "before the engine was ever filled"
    upkeep(store)
    assert held(store) == stored(plain)
    with monkeypatch.context() as patched:
        only_the_engine(store, patched)
        assert answers(store) == expected
    assert store.keeping.health(deep=True).checks == {}
    docs = list(expected["turn"])
    query = asked("walruses on the ice")
    assert store.search.cosines(ANN, "turn", query, docs) == pytest.approx(
        plain.search.cosines(ANN, "turn", query, docs), abs=1e-3
    )
    ours, theirs = store.search.vectors(ANN, "turn", docs), plain.search.vectors(ANN, "turn", docs)
    assert ours.keys() == theirs.keys()
    assert all(np.allclose(ours[doc], theirs[doc], atol=1e-3) for doc in ours)
    assert store.search.population(ANN, "memory") == plain.search.population(ANN, "memory") == 8
    assert store.search.cosines(EVE, "turn", query, docs) == {}
    assert store.search.semantic(EVE, "turn", query, NOW, 5) == []


def test_what_is_put_reaches_the_engine_at_once(beside: Beside) -> None:
    store = beside()
    fill(store)
    upkeep(store)
    store.memories.add(ANN, memory("the lighthouse keeper retires"))
    embed_waiting(store)
    assert held(store) == stored(store)
    best = by_meaning(store, ANN, "memory", "the lighthouse keeper retires", limit=5)[0]
    assert best.score == pytest.approx(1.0, abs=1e-3)


def test_what_another_process_changed_is_found_before_the_engine_has_it(
    beside: Beside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without the engine writes; the changes are noted all the same."""
    store = beside()
    fill(store)
    upkeep(store)
    before = held(store)
    plain = beside(vector_engine="store")
    kept = memory("the lighthouse keeper retires")
    plain.memories.add(ANN, kept)
    embed_waiting(plain)
    gone = next(each for each in plain.memories.find(ANN, NOW, limit=50) if each.id != kept.id)
    plain.keeping.forget_memory(ANN, gone.id, at=LATER)
    assert held(store) == before
    only_the_engine(store, monkeypatch)
    assert answers(store, "the lighthouse keeper retires") == answers(plain, "the lighthouse keeper retires")
    upkeep(store)
    assert held(store) == stored(plain) == before
    assert answers(store, gone.content) == answers(plain, gone.content)


def test_what_is_forgotten_is_dropped_before_the_receipt_is_given(beside: Beside, kind: str) -> None:
    store = beside()
    fill(store)
    upkeep(store)
    one = store.memories.find(ANN, NOW, limit=50)[3]
    receipt = store.keeping.forget_memory(ANN, one.id, at=LATER)
    assert not any("engine" in place for place in receipt.remains)
    assert held(store) == stored(store)
    receipt = store.keeping.forget_all(ANN, at=LATER)
    assert not any("engine" in place for place in receipt.remains)
    assert held(store) == 0
    assert answers(store) == NOTHING


def test_a_text_that_changed_is_found_by_its_new_words(beside: Beside) -> None:
    store = beside()
    fill(store)
    upkeep(store)
    one = next(each for each in store.memories.find(ANN, NOW, limit=50) if each.content.startswith("walruses"))
    store.memories.update(ANN, replace(one, content="a lecture on tax law"), at=minute(1), note="edit")
    embed_waiting(store)
    assert held(store) == stored(store)
    best = by_meaning(store, ANN, "memory", "a lecture on tax law", limit=5)
    assert texts(shown(store, ANN, "memory", best[:1])) == ["a lecture on tax law"]


def test_vectors_of_another_model_get_an_index_of_their_own(beside: Beside) -> None:
    store = beside()
    fill(store)
    upkeep(store)
    store.vectors.restart()
    assert answers(store) == NOTHING
    smaller = TinyEmbedder(48)
    embed_waiting(store, smaller)
    question = smaller.embed(["walruses on the ice"])[0]
    expected = beside(vector_engine="store").search.semantic(ANN, "memory", question, NOW, 5)
    assert [match.doc for match in store.search.semantic(ANN, "memory", question, NOW, 5)] == [
        match.doc for match in expected
    ]
    upkeep(store)
    assert held(store) == 8 + 16
    assert [match.doc for match in store.search.semantic(ANN, "memory", question, NOW, 5)] == [
        match.doc for match in expected
    ]


def test_filters_hold_as_without_an_engine(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = beside(vector_engine="store")
    for number in range(90):
        plain.memories.add(ANN, memory(f"walrus number {number}", kind="lesson" if number % 30 == 7 else "fact"))
    embed_waiting(plain)
    store = beside()
    upkeep(store)
    only_the_engine(store, monkeypatch)
    for where in (
        NOW,
        replace(NOW, kinds=("lesson",)),
        replace(NOW, project="nowhere"),
        replace(NOW, until=minute(-9)),
    ):
        found = [by_meaning(each, ANN, "memory", "walrus number 7", where, limit=4) for each in (plain, store)]
        assert [match.doc for match in found[0]] == [match.doc for match in found[1]]
    assert store.engine.trouble is None  # type: ignore[attr-defined]


def test_a_small_owner_is_answered_without_the_engine(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = beside(vector_engine="store")
    fill(plain)
    store = beside(vector_engine_from=9)
    monkeypatch.setattr(store.engine, "_connect", lambda **how: pytest.fail("the engine was asked"))
    assert answers(store) == answers(plain)
    assert store.engine.trouble is None  # type: ignore[attr-defined]


class Lying:
    """An engine that names documents of others, old ones, and ones that never were."""

    def __init__(self, docs: Sequence[int]) -> None:
        self.docs = docs

    def search(self, owner: str, tier: Tier, query: Matrix, limit: int) -> list[tuple[int, float]]:
        return [(doc, 1.0) for doc in self.docs]


def test_an_engine_that_lies_shows_nobody_what_is_not_theirs(beside: Beside) -> None:
    store: Any = beside()
    for number in range(70):
        store.memories.add(ANN, memory(f"walrus {number}"))
        store.memories.add(BOB, memory(f"secret walrus {number}"))
    embed_waiting(store)
    upkeep(store)
    mine = {match.doc for match in by_meaning(store, ANN, "memory", "walrus", limit=200)}
    everything = sorted({match.doc for match in by_meaning(store, BOB, "memory", "walrus", limit=200)} | mine)
    exact = [(match.doc, match.score) for match in by_meaning(store, ANN, "memory", "walrus", limit=10)]
    name, index = store.engine._index
    far = [match.doc for match in by_meaning(store, ANN, "memory", "walrus", limit=200)][-20:]
    for docs in ([*everything, 10**9], [], far):
        store.engine._index = (name, Lying(docs))
        found = by_meaning(store, ANN, "memory", "walrus", limit=10)
        assert {match.doc for match in found} <= mine
        assert [match.score for match in found] == pytest.approx([score for _, score in exact], abs=1e-3)
    store.engine._index = (name, index)


def test_an_engine_that_cannot_be_used_costs_no_answer(beside: Beside, kind: str, tmp_path: Path) -> None:
    """Unreachable, or a file where its folder should be: everything works, and health says what is wrong."""
    plain = beside(vector_engine="store")
    fill(plain)
    (tmp_path / "file").write_text("not a folder")
    nowhere = {"qdrant": "http://127.0.0.1:9", "lancedb": str(tmp_path / "file" / "below")}[kind]
    store = beside(vector_engine_url=nowhere)
    upkeep(store)
    assert answers(store) == answers(plain)
    store.memories.add(ANN, memory("the lighthouse keeper retires"))
    assert embed_waiting(store) == 1
    assert answers(store, "lighthouse") == answers(plain, "lighthouse")
    assert "vector engine" in store.keeping.health(deep=False).checks


def test_what_was_told_but_not_noted_is_told_again(beside: Beside, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that dies between the engine's write and ours leaves nothing twice and nothing out."""
    store: Any = beside()
    fill(store)
    upkeep(store)
    plain = beside(vector_engine="store")
    plain.memories.add(ANN, memory("the lighthouse keeper retires"))
    embed_waiting(plain)
    index = store.engine._index[1]
    kept = index.put

    def dies(*given: Any, **more: Any) -> None:
        kept(*given, **more)
        raise EngineFailed("killed here")

    monkeypatch.setattr(index, "put", dies, raising=False)
    assert store.engine.follow(store.database.owners())
    assert held_again(store) == stored(plain)
    monkeypatch.undo()
    upkeep(store)
    assert held(store) == stored(plain)
    assert store.keeping.health(deep=True).checks == {}


def held_again(store: Any) -> int:
    """The same after the pause that a failure brings."""
    store.engine._paused = 0.0
    return held(store)


def test_an_engine_is_made_again_after_everything_in_it_was_lost(kind: str, tmp_path: Path, beside: Beside) -> None:
    store: Any = beside()
    fill(store)
    upkeep(store)
    engine = store.engine._engine
    for name in engine.names(""):
        engine.remove(name)
    store.engine._index = None
    expected = answers(beside(vector_engine="store"))
    assert answers(store) == expected
    assert "vector engine" in store.keeping.health(deep=True).checks
    upkeep(store)
    store.engine._paused = 0.0
    assert held(store) == stored(store)
    assert answers(store) == expected
    assert store.keeping.health(deep=True).checks == {}


def test_a_count_that_differs_is_noticed_and_mended(beside: Beside) -> None:
    store: Any = beside()
    fill(store)
    upkeep(store)
    index = store.engine._index[1]
    index.put([Embedded("o1", "memory", 10**6, clustered(3, TINY.dim, 1))])
    assert "holds" in store.keeping.health(deep=True).checks["vector engine"]
    upkeep(store)
    assert held(store) == stored(store)
    assert store.keeping.health(deep=True).checks == {}


def test_two_stores_share_a_place_without_touching_each_others_index(kind: str, tmp_path: Path) -> None:
    if kind == "qdrant":
        pytest.skip("local mode in memory is one store's alone; a server's collections have names of their own")
    from recollect.store.opening import open_store

    place = str(tmp_path / "shared")
    stores = []
    for name in ("one", "two"):
        stores.append(open_store(settings_for(kind, tmp_path / name, vector_engine_url=place)))
        fill(stores[-1])
        upkeep(stores[-1])
    for store in stores:
        store.keeping.rebuild()
    engine = connect(settings_for(kind, tmp_path, vector_engine_url=place))
    assert len(engine.names("recollect_")) == 2
    for store in stores:
        assert held(store) == stored(store)
        store.close()
