"""A LangGraph store on a Recollect memory: what LangGraph's own store in memory does, this one does and keeps.

It runs where the extra `langgraph` is installed; elsewhere it is left out by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from recollect import Recollect, Scope
from recollect.errors import InvalidInput

pytest.importorskip("langgraph.store.base", reason="the extra `langgraph` is not installed")

from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from recollect.wrap.langgraph import RecollectStore

VALUES: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {
    (("users", "ann"), "food"): {"likes": "pizza", "score": 3, "nested": {"spicy": True}},
    (("users", "ann"), "music"): {"likes": "jazz", "score": 5, "nested": {"spicy": False}},
    (("users", "bob"), "food"): {"likes": "pizza", "score": 1, "tags": ["a", "b"]},
    (("docs",), "readme"): {"text": "How the kiln is fired", "score": 4},
    (("docs", "v1", "users"), "x"): {"text": "ünï ✓ \n lines", "none": None},
}


@pytest.fixture
def store(memory: Recollect) -> RecollectStore:
    return RecollectStore(memory)


@pytest.fixture
def filled(store: RecollectStore) -> tuple[RecollectStore, InMemoryStore]:
    """Both stores with the same in them."""
    other = InMemoryStore()
    for (namespace, key), value in VALUES.items():
        store.put(namespace, key, value)
        other.put(namespace, key, value)
    return store, other


def found(items: Any) -> set[tuple[tuple[str, ...], str, str]]:
    return {(item.namespace, item.key, repr(item.value)) for item in items}


def test_what_is_put_is_got(store: RecollectStore) -> None:
    for (namespace, key), value in VALUES.items():
        store.put(namespace, key, value)
    for (namespace, key), value in VALUES.items():
        item = store.get(namespace, key)
        assert item is not None
        assert (item.namespace, item.key, item.value) == (namespace, key, value)
        assert item.created_at.tzinfo is not None
    assert store.get(("users",), "food") is None
    assert store.get(("users", "ann", "food"), "") is None


def test_a_value_is_changed_and_deleted(store: RecollectStore) -> None:
    store.put(("a",), "k", {"v": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"v": 2})
    second = store.get(("a",), "k")
    assert first is not None
    assert second is not None
    assert second.value == {"v": 2}
    assert second.created_at == first.created_at
    assert second.updated_at >= first.updated_at
    store.delete(("a",), "k")
    assert store.get(("a",), "k") is None
    store.delete(("a",), "k")
    store.put(("a",), "k", {"v": 3})
    assert store.get(("a",), "k").value == {"v": 3}  # type: ignore[union-attr]


FILTERS: dict[str, tuple[tuple[str, ...], dict[str, Any] | None]] = {
    "everything": ((), None),
    "a prefix": (("users",), None),
    "a whole namespace": (("users", "ann"), None),
    "no such": (("nobody",), None),
    "half a label": (("use",), None),
    "equal": (("users",), {"likes": "pizza"}),
    "two": (("users",), {"likes": "pizza", "score": 3}),
    "greater": (("users",), {"score": {"$gt": 2}}),
    "between": (("users",), {"score": {"$gte": 1, "$lt": 5}}),
    "not": (("users",), {"likes": {"$ne": "pizza"}}),
    "nested": (("users", "ann"), {"nested": {"spicy": True}}),
    "a list": (("users",), {"tags": ["a", "b"]}),
}


@pytest.mark.parametrize(("prefix", "wanted"), FILTERS.values(), ids=FILTERS)
def test_a_search_without_words_finds_what_langgraphs_own_store_finds(
    filled: tuple[RecollectStore, InMemoryStore], prefix: tuple[str, ...], wanted: dict[str, Any] | None
) -> None:
    mine, other = (one.search(prefix, filter=wanted, limit=50) for one in filled)
    assert found(mine) == found(other)


def test_a_search_goes_on_page_by_page(store: RecollectStore) -> None:
    for number in range(25):
        store.put(("n",), f"k{number}", {"number": number})
    pages = [store.search(("n",), limit=10, offset=offset) for offset in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({item.key for page in pages for item in page}) == 25


def test_a_search_with_words_ranks_by_meaning_and_keeps_to_its_namespace(store: RecollectStore) -> None:
    store.put(("notes", "ann"), "1", {"text": "The kiln is fired on Mondays."})
    store.put(("notes", "ann"), "2", {"text": "The garden is watered at dusk."})
    store.put(("notes", "bob"), "3", {"text": "The kiln belongs to Bob."})
    store.put(("notes", "ann"), "4", {"text": "The kiln is secret."}, index=False)
    best = store.search(("notes", "ann"), query="when is the kiln fired?")
    assert best[0].key == "1"
    assert best[0].score is not None
    assert {item.key for item in best} <= {"1", "2"}
    assert {item.key for item in store.search(("notes",), query="kiln", limit=2)} == {"1", "3"}
    only = store.search(("notes",), query="kiln", filter={"text": "The kiln belongs to Bob."})
    assert [item.key for item in only] == ["3"]
    assert store.get(("notes", "ann"), "4") is not None


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("users",)},
        {"prefix": ("*", "v1")},
        {"max_depth": 1},
        {"prefix": ("docs",), "max_depth": 2},
        {"limit": 2, "offset": 1},
    ],
    ids=str,
)
def test_namespaces_are_listed_as_langgraphs_own_store_lists_them(
    filled: tuple[RecollectStore, InMemoryStore], given: dict[str, Any]
) -> None:
    mine, other = (one.list_namespaces(**given) for one in filled)
    assert mine == other


def test_a_batch_reads_before_it_writes(store: RecollectStore) -> None:
    store.put(("a",), "k", {"v": 1})
    results = store.batch(
        [
            PutOp(("a",), "k", {"v": 2}),
            GetOp(("a",), "k"),
            PutOp(("a",), "k", {"v": 3}),
            SearchOp(("a",)),
            ListNamespacesOp((MatchCondition("prefix", ("a",)),)),
        ]
    )
    assert (results[0], results[1].value, results[2], results[4]) == (None, {"v": 1}, None, [("a",)])
    assert store.get(("a",), "k").value == {"v": 3}  # type: ignore[union-attr]


def test_it_is_awaited_too(store: RecollectStore) -> None:
    async def use() -> Any:
        await store.aput(("a",), "k", {"v": 1})
        await asyncio.gather(*(store.aput(("a",), f"k{number}", {"v": number}) for number in range(5)))
        return await store.aget(("a",), "k"), await store.asearch(("a",), limit=20)

    item, items = asyncio.run(use())
    assert item.value == {"v": 1}
    assert len(items) == 6


def test_what_a_graph_keeps_is_nobodys_own_word(memory: Recollect, store: RecollectStore) -> None:
    store.put(("facts",), "k", {"text": "The kiln is fired on Mondays."})
    hit = memory.recall("when is the kiln fired?").hits[0]
    assert (hit.origin, hit.trust) == ("assistant", "quoted")
    assert memory.memories()[0].id == hit.id


def test_scopes_and_names_keep_stores_apart(opened: Callable[..., Recollect]) -> None:
    stores = [
        RecollectStore(opened(Scope("local", "ann"))),
        RecollectStore(opened(Scope("local", "bob"))),
        RecollectStore(opened(Scope("local", "ann")), "second"),
    ]
    for number, one in enumerate(stores):
        one.put(("a",), "k", {"v": number})
    assert [one.get(("a",), "k").value for one in stores] == [{"v": number} for number in range(3)]  # type: ignore[union-attr]


def test_it_is_there_when_opened_again(opened: Callable[..., Recollect]) -> None:
    RecollectStore(opened()).put(("a", "b"), "k", {"v": 1})
    assert RecollectStore(opened()).get(("a", "b"), "k").value == {"v": 1}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value", [{"big": "x" * 10_000}, {"odd": {1, 2}}, {"text": "a\x00b", "half": "\ud800"}], ids=["big", "set", "half"]
)
def test_what_cannot_be_kept_is_refused(store: RecollectStore, value: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        store.put(("a",), "k", value)
    assert store.get(("a",), "k") is None


def test_secrets_do_not_stay_in_a_value(store: RecollectStore) -> None:
    store.put(("a",), "k", {"login": "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "n": 1})
    item = store.get(("a",), "k")
    assert item is not None
    assert item.value["n"] == 1
    assert item.value["login"].startswith("[REDACTED")
