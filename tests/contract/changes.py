"""What one process does to memories while another one keeps something of them."""

from __future__ import annotations

from dataclasses import replace

from recollect.model import Memory
from recollect.store.port import Store
from tests.contract.samples import ANN, LATER


def deleted(store: Store, first: list[Memory]) -> None:
    store.memories.update(ANN, replace(first[0], deleted_at=LATER), at=LATER, note="delete")


def forgotten(store: Store, first: list[Memory]) -> None:
    store.keeping.forget_memory(ANN, first[1].id, at=LATER)


def all_forgotten(store: Store, first: list[Memory]) -> None:
    store.keeping.forget_all(ANN, at=LATER)
