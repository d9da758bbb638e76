"""What one process does to memories while another one keeps something of them."""

from __future__ import annotations

from dataclasses import replace

from recollect.model import Memory
from recollect.store.port import Store
from tests.contract.samples import ANN, LATER, embed_waiting, memory


def told(store: Store, *contents: str) -> list[Memory]:
    """Memories that are there from the beginning, with their vectors."""
    made = [memory(text) for text in contents]
    for one in made:
        store.memories.add(ANN, one)
    embed_waiting(store)
    return made


def added(store: Store, first: list[Memory]) -> None:
    """Its words are there at once, its vector later."""
    store.memories.add(ANN, memory("a walrus at sea"))


def added_and_embedded(store: Store, first: list[Memory]) -> None:
    added(store, first)
    embed_waiting(store)


def deleted(store: Store, first: list[Memory]) -> None:
    store.memories.update(ANN, replace(first[0], deleted_at=LATER), at=LATER, note="delete")


def forgotten(store: Store, first: list[Memory]) -> None:
    store.keeping.forget_memory(ANN, first[1].id, at=LATER)


def all_forgotten(store: Store, first: list[Memory]) -> None:
    store.keeping.forget_all(ANN, at=LATER)
