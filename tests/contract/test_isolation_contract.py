"""Isolation: no call of any port shows or changes what belongs to somebody else, or to another project."""

from __future__ import annotations

from itertools import product

import pytest

from recollect.errors import RecollectError
from recollect.model import Scope
from recollect.store import portable
from tests.contract.isolation import METHODS, OF_THE_STORE, OWNERS, PROJECTS, SCOPED, Filled, call, theirs
from tests.contract.isolation_arguments import arguments
from tests.contract.samples import LATER


def test_every_method_of_every_port_is_walked() -> None:
    assert set(METHODS) - set(SCOPED) == OF_THE_STORE
    assert len(SCOPED) >= 26


@pytest.mark.parametrize("name", SCOPED)
def test_no_method_shows_or_changes_what_is_foreign(filled: Filled, name: str) -> None:
    """Everyone asks with the ids of everyone else, of one of their projects: no foreign canary comes back, and nobody
    else's data changes."""
    store, places, docs = filled.give()
    # Each owner once, in one project, in the other, in none: then only the owner stands between.
    for me in (places[0].scope, places[3].scope, OWNERS[2]):
        others = [one for one in places if not theirs(one, me)]
        before = filled.rest(me)
        for asked in {(one.scope.tenant, one.scope.user): one for one in others}.values():
            for values in arguments(store, name, asked, docs):
                answer = call(store, name, me, values)
                given_back = repr(values)
                for one in others:
                    # An error may repeat the id it was asked for; it may not say more than it was told.
                    shown = answer.replace(asked.session, "").replace(f"chat:new {asked.canary}", "")
                    leaked = one.canary in shown and not (name == "memories.add" and one.canary in given_back)
                    assert not leaked, f"{name} as {me} asking for {asked.canary}: {answer}"
        assert filled.rest(me) == before, f"{name} as {me} changed what belongs to others"


def test_everyone_sees_their_own(filled: Filled) -> None:
    """Else the tests above would show nothing: each reading call does answer with the canary of who asks."""
    silent = set()
    store, places, docs = filled.give()
    others = {"audit.find", "quotas.get", "contexts.get"}  # an owner's, not a project's; figures; a context's
    for name in sorted({*SCOPED} - others):
        if name.split(".")[1] in ("find", "get", "history", "turn", "versions", "recent", "lexical", "semantic"):
            for me in places:
                answers = [call(store, name, me.scope, values) for values in arguments(store, name, me, docs)]
                if me.canary not in "".join(answers):
                    silent.add((name, me.canary))
    assert silent == set()


def test_an_owner_without_a_project_sees_all_of_theirs_and_nothing_else(filled: Filled) -> None:
    store, _, _ = filled.give()
    for number, owner in enumerate(OWNERS):
        text = repr(list(portable.export(store, owner, now=LATER)))
        for other, project in product(range(3), PROJECTS):
            assert (f"canary{other}{project}" in text) == (other == number)


@pytest.mark.parametrize(
    "name",
    ["ann\u0000", "ann' OR '1'='1", "%", "_nn", "ANN", "ann ", " ann", "аnn"],
    ids=ascii,
)
def test_only_the_exact_name_is_the_owner(filled: Filled, name: str) -> None:
    """The last one begins with a Cyrillic letter."""
    store, _, _ = filled.give()
    try:
        scope = Scope("acme", name)
    except RecollectError:
        return
    assert len(list(portable.export(store, scope, now=LATER))) == 1
