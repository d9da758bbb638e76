"""Words that nearly every text holds: of very many texts found by them alone, only the newest are weighed (SQLite)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from recollect.model import TIERS, Tier
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.rows.search import most_holding
from recollect.store.sqlite import search
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, NOW, minute, shown, texts
from tests.contract.test_search_contract import keep

NEWEST, COUNT = 8, 60


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = SqliteStore(tmp_path_factory.mktemp("common"))
    for tier in TIERS:
        for number in range(COUNT):
            rare = "walrus" if number == 3 else "tulip"
            keep(store, ANN, tier, f"{tier}-{number}", f"the {rare} of number {number}", number)
    yield store
    store.close()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_NEWEST", NEWEST)


def found(store: Store, tier: Tier, words: list[str], where: Filter | None, limit: int = 5) -> list[int]:
    matches = store.search.lexical(ANN, tier, words, where, limit)
    return [int(text.split()[-1]) for text in texts(shown(store, ANN, tier, matches))]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("where", [None, NOW], ids=["everything", "filtered"])
def test_of_what_nearly_all_texts_hold_the_newest_are_found(filled: Store, tier: Tier, where: Filter | None) -> None:
    numbers = found(filled, tier, ["the"], where)
    assert len(numbers) == 5
    assert set(numbers) <= set(range(COUNT - NEWEST, COUNT))


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("where", [None, NOW], ids=["everything", "filtered"])
def test_a_rare_word_is_found_however_old(filled: Store, tier: Tier, where: Filter | None) -> None:
    assert found(filled, tier, ["walrus"], where) == [3]
    assert found(filled, tier, ["the", "walrus"], where)[0] == 3


@pytest.mark.parametrize("tier", TIERS)
def test_a_narrow_filter_finds_what_it_lets_through_however_old(filled: Store, tier: Tier) -> None:
    assert found(filled, tier, ["the"], replace(NOW, session=f"{tier}-7")) == [7]
    assert set(found(filled, tier, ["the"], replace(NOW, until=minute(9)), COUNT)) == set(range(10))


@pytest.mark.parametrize(("size", "most"), [(199, 199), (1_000, 200), (25_000, 5_000), (1_000_000, 5_000)])
def test_a_word_is_common_in_a_fifth_of_the_texts_or_in_five_thousand(size: int, most: int) -> None:
    assert most_holding(size) == most
