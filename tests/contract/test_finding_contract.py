"""Memories of a session, of a project, pinned ones: whichever index finds them, a filter lets the same ones through."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from recollect.model import Memory, Scope
from recollect.store.port import Store
from tests.contract.samples import ANN, BOB, NOW, memory, minute

PROJECTS, SESSIONS, KINDS = (None, "shop", "farm"), (None, "claude:1", "codex:1"), ("fact", "decision")


def keep(store: Store, scope: Scope) -> list[Memory]:
    made = []
    for number, (project, session, kind) in enumerate(product(PROJECTS, SESSIONS, KINDS)):
        meta = {"pinned": "2026-01-01"} if number % 3 == 0 else {}
        one = memory(
            f"thing {number}",
            project=project,
            session=session,
            kind=kind,
            meta=meta,
            occurred_at=minute(number * 7 % 18),
        )
        store.memories.add(scope.within(project), one)
        made.append(one)
    return sorted(made, key=lambda one: one.occurred_at, reverse=True)


def test_every_filter_lets_through_what_it_says(store: Store) -> None:
    keep(store, BOB)
    made = keep(store, ANN)
    for project, session, kind, pinned in product(PROJECTS, SESSIONS, (None, "fact"), (False, True)):
        where = replace(NOW, project=project, session=session, kinds=(kind,) if kind else (), pinned=pinned)
        wanted = [
            one.id
            for one in made
            if project in (None, one.project)
            and session in (None, one.session)
            and kind in (None, one.kind)
            and (not pinned or one.meta)
        ]
        found = [one.id for one in store.memories.find(ANN, where, limit=50)]
        assert found == wanted, (project, session, kind, pinned)
        assert [one.id for one in store.memories.find(ANN, where, limit=2, offset=1)] == wanted[1:3]


def test_a_filter_never_widens_a_scope(store: Store) -> None:
    keep(store, ANN)
    shop = ANN.within("shop")
    assert store.memories.find(shop, replace(NOW, project="farm"), limit=50) == []
    assert {one.project for one in store.memories.find(shop, replace(NOW, session="claude:1"), limit=50)} == {
        None,
        "shop",
    }
    assert {one.project for one in store.memories.find(shop, replace(NOW, pinned=True), limit=50)} <= {None, "shop"}


def test_what_nobody_named_so_finds_nothing(store: Store) -> None:
    keep(store, ANN)
    for where in (replace(NOW, project="nowhere"), replace(NOW, session="claude:9")):
        assert store.memories.find(ANN, where, limit=50) == []
