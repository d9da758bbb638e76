"""Many memories at once are what one after the other would have been."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ScopeError
from recollect.model import Evidence, Memory, MemoryVersion
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from tests.contract.conftest import NewStore
from tests.contract.samples import ANN, LATER, T0, memory

ALL = Filter(now=LATER, archived=True, history=True)


def state(store: Store) -> list[Memory]:
    return sorted(store.memories.find(ANN, ALL, limit=1000), key=lambda one: one.id)


def made(number: int, text: int, project: int, how: int) -> Memory:
    one = replace(memory(f"the walrus number {text} eats clams"), id=f"m-{number}", project=(None, "p", "q")[project])
    if how == 1:
        return replace(one, superseded_at=LATER, superseded_by="m-0")
    if how == 2:
        return replace(one, maker="rules", evidence=(Evidence("chat:1", "e1", 0, text),))
    if how == 3:
        return replace(one, maker="rules", evidence=(Evidence("chat:1", "e1", 0, text),), deleted_at=LATER)
    return one


PIECES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)).map(lambda four: made(*four)),
    max_size=8,
)


def test_many_at_once_are_the_same_as_one_after_the_other(new_store: NewStore) -> None:
    together, apart = new_store(), new_store()

    @given(PIECES, st.integers(0, 6), st.booleans())
    def same(given_: list[Memory], gone: int, forgets: bool) -> None:
        if forgets:
            for store in (together, apart):
                if store.memories.get(ANN, f"m-{gone}") is not None:
                    store.keeping.forget_memory(ANN, f"m-{gone}", at=LATER)
        added = together.memories.add_many(ANN, [(one, ()) for one in given_])
        assert added == [apart.memories.add(ANN, one)[1] for one in given_]
        assert state(together) == state(apart)
        assert together.vectors.pending() == apart.vectors.pending()

    same()


def test_what_was_written_at_once_is_found_and_has_its_versions(store: Store) -> None:
    old = MemoryVersion("m-1", 1, "note", "walruses dislike clams", None, (), 0.5, 1.0, T0)
    one = replace(memory("walruses like clams", id="m-1"), version=2)
    assert store.memories.add_many(ANN, [(one, [old]), (memory("seals like herring", id="m-2"), ())]) == [True, True]
    assert store.memories.versions(ANN, "m-1") == [old]
    found = store.search.lexical(ANN, "memory", ["herring"], Filter(now=LATER), 5)
    documents = store.search.documents(ANN, "memory", [match.doc for match in found])
    assert [document.id for document in documents] == ["m-2"]
    assert store.memories.add_many(ANN, [(one, [old])]) == [False]


def test_one_of_another_project_stops_them_all(store: Store) -> None:
    given_ = [(memory("a walrus", id="m-1"), ()), (replace(memory("a seal", id="m-2"), project="q"), ())]
    try:
        store.memories.add_many(ANN.within("p"), given_)
    except ScopeError:
        pass
    else:
        raise AssertionError("a memory of another project was taken in")
    assert state(store) == []
