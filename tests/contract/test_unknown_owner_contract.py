"""An owner nobody knows sees nothing and changes nothing, whichever method they call with whoever's ids."""

from __future__ import annotations

import pytest

from recollect.model import Scope
from tests.contract.isolation import OWNERS, SCOPED, Filled, call
from tests.contract.isolation_arguments import arguments

UNUSED = OWNERS[0].within("unused")  # an owner whom everybody knows, in a project where they have nothing


@pytest.mark.parametrize("name", SCOPED)
def test_an_owner_nobody_knows_sees_nothing(filled: Filled, name: str) -> None:
    store, places, docs = filled.give()
    before = filled.rest(UNUSED)
    strangers = (Scope("nobody", "here"), Scope("acme", "stranger", "apollo"), UNUSED)
    for stranger, asked in zip(strangers, (places[0], places[3], places[4]), strict=True):  # each owner, both projects
        for values in arguments(store, name, asked, docs):
            answer = call(store, name, stranger, values).replace(asked.session, "")
            if name != "memories.add":
                assert "canary" not in answer.replace(f"chat:new {asked.canary}", "")
    assert filled.rest(UNUSED) == before
