"""An owner nobody knows sees nothing and changes nothing, whichever method they call with whoever's ids."""

from __future__ import annotations

import pytest

from recollect.model import Scope
from recollect.store.port import Store
from tests.contract.test_isolation_contract import OWNERS, SCOPED, arguments, call, every_doc, fill, in_turn, rest


@pytest.mark.parametrize("name", SCOPED)
def test_an_owner_nobody_knows_sees_nothing(store: Store, name: str) -> None:
    in_turn(store, name, 1)
    places = fill(store)
    docs = every_doc(store)
    before = rest(store, places, Scope("x", "y"), name)
    for stranger in (Scope("nobody", "here"), Scope("acme", "stranger", "apollo"), OWNERS[0].within("unused")):
        for asked in (places[0], places[3], places[4]):  # each owner once, both projects
            for values in arguments(store, name, asked, docs):
                answer = call(store, name, stranger, values).replace(asked.session, "")
                if name != "memories.add":
                    assert "canary" not in answer.replace(f"chat:new {asked.canary}", "")
    assert rest(store, places, Scope("x", "y"), name) == before
