"""What several people share: who is no member finds nothing by any method of any port, from one moment to the next."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, NotFound, RecollectError, ScopeError
from recollect.ids import uuid7
from recollect.model import COMMONS, KEEPER, Memory, Scope
from recollect.settings import load
from recollect.store import portable
from recollect.store.port import Store
from recollect.store.ports.contexts import Proposal
from recollect.store.ports.memories import Filter
from tests.contract import isolation
from tests.contract.isolation import SCOPED
from tests.contract.isolation_arguments import arguments
from tests.contract.samples import ANN, BOB, EVE, LATER, NOW, T0, TINY, by_words, embed_waiting, memory, minute

CAROL = Scope("acme", "carol")


def team(store: Store, *, name: str = "team", joined: dict[Scope, str] | None = None, **given: Any) -> str:
    """A context that ann is admin of; others with their roles."""
    context = store.contexts.create(ANN, name, at=T0, **given).id
    for scope, role in (joined or {}).items():
        store.contexts.add_member(ANN, context, (scope.tenant, scope.user), role, at=T0)
        store.contexts.join(scope, context, at=T0)
    return context


def shared(content: str, **changes: Any) -> Memory:
    return memory(content, **{"origin": "import", "trust": "quoted", **changes})


def proposal(content: str, **changes: Any) -> Proposal:
    values = {"id": uuid7(), "source": uuid7(), "kind": "fact", "content": content, "occurred_at": T0}
    return Proposal(**{**values, "origin": "user", "trust": "user", "maker": "said", **changes})


def commons(store: Store) -> None:
    store.contexts.create(Scope("ops", "root"), "commons", at=T0)


def refused(call: Any) -> tuple[str, str, str | None]:
    with pytest.raises(RecollectError) as caught:
        call()
    return type(caught.value).__name__, str(caught.value), caught.value.hint


# -- who is let in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("acme", "@team"), ("acme", "@commons"), ("@commons", "ann"), ("@", "ann")])
def test_nobody_is_called_as_a_shared_context(names: tuple[str, str]) -> None:
    with pytest.raises(ScopeError):
        Scope(*names)
    with pytest.raises(ScopeError):
        Scope("acme", "@team", by=names)


@pytest.mark.parametrize(
    ("tenant", "user", "by"),
    [
        ("acme", "@team", ("other", "ann")),
        ("acme", "@commons", ("acme", "ann")),
        ("@commons", "@team", ("acme", "ann")),
        ("acme", "ann", ("acme", "bob")),
        ("acme", "ann", KEEPER),
    ],
)
def test_only_a_context_is_asked_by_somebody_of_its_tenant(tenant: str, user: str, by: tuple[str, str]) -> None:
    with pytest.raises(ScopeError):
        Scope(tenant, user, by=by)


def test_a_context_is_no_member_of_another(store: Store) -> None:
    context = team(store)
    inside = ANN.in_context(context)
    with pytest.raises(ScopeError):
        inside.in_context(context)
    with pytest.raises(ScopeError):
        store.contexts.mine(inside)
    with pytest.raises(InvalidInput):
        store.contexts.add_member(ANN, context, ("acme", context), "reader", at=T0)


def test_members_share_what_is_in_it_and_nothing_else(store: Store) -> None:
    store.memories.add(ANN, memory("walrus of ann alone"))
    context = team(store, joined={BOB: "reader"})
    kept, _ = store.memories.add(ANN.in_context(context), shared("walrus for the team"))
    assert store.memories.get(BOB.in_context(context), kept.id) == kept
    assert [one.content for one in store.memories.find(BOB.in_context(context), NOW, limit=9)] == [kept.content]
    for own in (ANN, BOB):
        assert kept.id not in [one.id for one in store.memories.find(own, NOW, limit=9)]
        assert store.memories.get(own, kept.id) is None


def strangers() -> dict[str, Scope]:
    """Who is not in ann's team: nobody asked them, they were asked and have not answered, they were removed."""
    return {"never asked": BOB, "only asked": CAROL, "removed": Scope("acme", "dan")}


def with_strangers(store: Store) -> str:
    dan = strangers()["removed"]
    context = team(store, joined={dan: "admin"})
    store.contexts.add_member(ANN, context, ("acme", "carol"), "admin", at=T0)
    store.contexts.remove_member(ANN, context, ("acme", "dan"), at=T0)
    return context


def test_no_method_lets_in_who_has_not_joined(store: Store) -> None:
    """T11: every method of every port, as anybody but a member: the answer is that of a context nobody made."""
    places = isolation.fill(store)
    docs = isolation.every_doc(store)
    context = with_strangers(store)
    inside = ANN.in_context(context)
    store.memories.add(inside, shared("walrus canaryshared", tags=("canaryshared",)))
    before = list(portable.export(store, inside, now=LATER))
    for name, stranger in product(SCOPED, strangers().values()):
        if name.startswith("contexts."):
            continue
        for values in arguments(store, name, places[0], docs):
            here = isolation.outcome(partial(_call, store, name, stranger.in_context(context), values))
            nowhere = isolation.outcome(partial(_call, store, name, stranger.in_context("@no~0"), values))
            assert here == nowhere, name
            assert here.startswith(("NotFound: no such context", "ScopeError: a shared context has no")), (
                f"{name}: {here}"
            )
    assert list(portable.export(store, inside, now=LATER)) == before


def _call(store: Store, name: str, scope: Scope, values: dict[str, Any]) -> Any:
    part, _, method = name.partition(".")
    return getattr(getattr(store, part), method)(scope, **values)


def calls(store: Store, scope: Scope, context: str, proposed: str) -> Iterator[tuple[str, Any]]:
    contexts, me = store.contexts, (scope.tenant, scope.user)
    yield "get", lambda: contexts.get(scope, context)
    yield "members", lambda: contexts.members(scope, context)
    yield "dissolve", lambda: contexts.dissolve(scope, context, at=T0)
    yield "add", lambda: contexts.add_member(scope, context, me, "admin", at=T0)
    yield "remove", lambda: contexts.remove_member(scope, context, ("acme", "ann"), at=T0)
    yield "propose", lambda: contexts.propose(scope, context, proposal("x"), at=T0)
    yield "proposals", lambda: contexts.proposals(scope, context, limit=9)
    yield "proposal", lambda: contexts.proposal(scope, context, proposed)
    yield "approve", lambda: contexts.approve(scope, context, proposed, shared("x"), decision=None, at=T0)
    yield "reject", lambda: contexts.reject(scope, context, proposed, decision=None, at=T0)
    yield "withdraw", lambda: contexts.withdraw(scope, context, proposed, at=T0)


@pytest.mark.parametrize("who", ["never asked", "removed"])
def test_a_context_of_others_is_answered_like_none(store: Store, who: str) -> None:
    context = with_strangers(store)
    proposed = store.contexts.propose(ANN, context, proposal("canary"), at=T0).id
    stranger = strangers()[who]
    calls_here, calls_nowhere = calls(store, stranger, context, proposed), calls(store, stranger, "@no~0", proposed)
    for (name, here), (_, nowhere) in zip(calls_here, calls_nowhere, strict=True):
        assert refused(here) == refused(nowhere), name
        assert refused(here)[0] == "NotFound", name
    assert refused(lambda: store.contexts.join(stranger, context, at=T0))[0] == "NotFound"
    assert store.contexts.mine(stranger) == []
    assert [(one.user, one.role) for one in store.contexts.members(ANN, context)] == [
        ("ann", "admin"),
        ("carol", "admin"),
    ]


def test_who_was_only_asked_sees_that_and_no_more(store: Store) -> None:
    context = with_strangers(store)
    proposed = store.contexts.propose(ANN, context, proposal("canary"), at=T0).id
    assert [(one.name, one.joined_at) for one in store.contexts.mine(CAROL)] == [("team", None)]
    for name, call in calls(store, CAROL, context, proposed):
        if name != "remove":
            assert refused(call)[0] == "NotFound", name
    store.contexts.remove_member(CAROL, context, ("acme", "carol"), at=T0)
    assert store.contexts.mine(CAROL) == []


def test_a_name_says_nothing_about_the_contexts_of_others(store: Store) -> None:
    """Two may call theirs the same, and neither learns of the other."""
    mine = store.contexts.create(ANN, "team", at=T0)
    theirs = store.contexts.create(BOB, "team", at=T0)
    assert mine.id != theirs.id
    assert [one.id for one in store.contexts.mine(ANN)] == [mine.id]
    assert [one.id for one in store.contexts.mine(BOB)] == [theirs.id]


def test_a_user_of_another_tenant_is_not_let_in_by_name(store: Store) -> None:
    """T10: the same user name, the same context name, another tenant."""
    context = team(store)
    store.memories.add(ANN.in_context(context), shared("canary"))
    with pytest.raises(InvalidInput):
        store.contexts.add_member(ANN, context, ("other", "ann"), "reader", at=T0)
    assert EVE.in_context(context).tenant == "other"
    assert refused(lambda: store.contexts.join(EVE, context, at=T0))[0] == "NotFound"
    assert refused(lambda: store.memories.find(EVE.in_context(context), NOW, limit=9))[0] == "NotFound"
    assert store.contexts.mine(EVE) == []


def test_who_is_removed_sees_nothing_from_that_moment_on(store: Store) -> None:
    """P35: on the very connections that served them before."""
    context = team(store, joined={BOB: "writer"})
    inside = BOB.in_context(context)
    for turn in range(20):
        store.memories.add(inside, shared(f"walrus {turn}"))
        assert len(store.memories.find(inside, NOW, limit=99)) == turn + 1
        store.contexts.remove_member(ANN, context, ("acme", "bob"), at=minute(turn))
        assert refused(lambda: store.memories.find(inside, NOW, limit=99))[0] == "NotFound"
        assert refused(lambda: store.memories.add(inside, shared("late")))[0] == "NotFound"
        assert store.memories.find(BOB, NOW, limit=9) == []
        store.contexts.add_member(ANN, context, ("acme", "bob"), "writer", at=minute(turn))
        store.contexts.join(BOB, context, at=minute(turn))


def test_a_write_that_waited_for_the_removal_is_refused(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    kept = Scope.of_owner("acme", context)
    with ThreadPoolExecutor(1) as other:
        with store.database.write(kept) as tx:  # type: ignore[attr-defined]
            late = other.submit(store.memories.add, BOB.in_context(context), shared("late"))
            sleep(0.1)
            assert not late.done()
            tx.run("contexts.drop_member", {"owner": tx.rows.owner, "member_tenant": "acme", "member": "bob"})
        with pytest.raises(NotFound):
            late.result(30)
    assert store.memories.find(ANN.in_context(context), NOW, limit=9) == []


def test_who_is_removed_while_reading_sees_nothing_that_came_after(store: Store) -> None:
    context = team(store, joined={BOB: "reader"})
    params = {"any_project": True, "scope_project": None}
    with store.database.read(BOB.in_context(context)) as tx:  # type: ignore[attr-defined]
        store.contexts.remove_member(ANN, context, ("acme", "bob"), at=T0)
        later, _ = store.memories.add(ANN.in_context(context), shared("later"))
        assert tx.run("memories.get", {**params, "owner": tx.rows.owner, "id": later.id}).fetchone() is None


# -- roles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "reviewed", "writes"),
    [
        ("reader", False, False),
        ("writer", False, True),
        ("reviewer", False, True),
        ("admin", False, True),
        ("reader", True, False),
        ("writer", True, False),
        ("reviewer", True, True),
    ],
)
def test_a_role_says_who_may_write(store: Store, role: str, reviewed: bool, writes: bool) -> None:
    context = team(store, joined={BOB: role}, reviewed=reviewed)
    inside = BOB.in_context(context)
    there, _ = store.memories.add(ANN.in_context(context), shared("walrus"))
    assert store.memories.get(inside, there.id) == there
    changes: list[Any] = [
        lambda: store.memories.add(inside, shared("new")),
        lambda: store.memories.update(inside, replace(there, content="changed"), at=T0, note="update"),
        lambda: store.memories.touch(inside, {there.id: 1}, at=T0),
        lambda: store.keeping.forget_memory(inside, there.id, at=T0),
        lambda: store.keeping.forget_all(inside, at=T0),
    ]
    for change in changes:
        if writes:
            change()
        else:
            assert refused(change) == ("ScopeError", "your role in this context lets you read, not write", None)
    assert (store.memories.get(ANN.in_context(context), there.id) == there) == (not writes)


def test_only_an_admin_chooses_members(store: Store) -> None:
    context = team(store, joined={BOB: "reviewer"})
    for change in (
        lambda: store.contexts.add_member(BOB, context, ("acme", "carol"), "reader", at=T0),
        lambda: store.contexts.add_member(BOB, context, ("acme", "bob"), "admin", at=T0),
        lambda: store.contexts.remove_member(BOB, context, ("acme", "ann"), at=T0),
    ):
        assert refused(change)[0] == "ScopeError"
    assert [(one.user, one.role) for one in store.contexts.members(BOB, context)] == [
        ("ann", "admin"),
        ("bob", "reviewer"),
    ]


def test_a_context_keeps_an_admin(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    for change in (
        lambda: store.contexts.remove_member(ANN, context, ("acme", "ann"), at=T0),
        lambda: store.contexts.add_member(ANN, context, ("acme", "ann"), "reader", at=T0),
    ):
        assert refused(change)[0] == "Conflict"
    store.contexts.add_member(ANN, context, ("acme", "bob"), "admin", at=T0)
    store.contexts.remove_member(ANN, context, ("acme", "ann"), at=T0)
    assert store.contexts.get(BOB, context).role == "admin"
    assert store.contexts.mine(ANN) == []


def test_a_context_is_ended_by_an_admin_and_leaves_nothing(store: Store) -> None:
    context = team(store, joined={BOB: "reviewer"})
    store.contexts.propose(BOB, context, proposal("walrus"), at=T0)
    store.memories.add(BOB.in_context(context), shared("walrus"))
    assert refused(lambda: store.contexts.dissolve(BOB, context, at=T0))[0] == "ScopeError"
    store.keeping.forget_all(ANN.in_context(context), at=T0)
    store.contexts.dissolve(ANN, context, at=T0)
    for scope in (ANN, BOB):
        assert store.contexts.mine(scope) == []
        assert refused(lambda: store.memories.find(scope.in_context(context), NOW, limit=9))[0] == "NotFound"  # noqa: B023
    assert refused(lambda: store.contexts.join(BOB, context, at=T0))[0] == "NotFound"


def test_an_unknown_role_is_refused(store: Store) -> None:
    with pytest.raises(InvalidInput):
        store.contexts.add_member(ANN, team(store), ("acme", "bob"), "owner", at=T0)


# -- proposals ---------------------------------------------------------------------------------------------------------


def test_a_proposal_is_seen_by_who_made_it_and_by_reviewers_alone(store: Store) -> None:
    context = team(store, joined={BOB: "writer", CAROL: "writer"})
    mine = store.contexts.propose(BOB, context, proposal("walrus", reason="good", why="because", tags=("a",)), at=T0)
    assert (mine.proposed_by, mine.state, mine.reason, mine.why, mine.tags) == (
        "bob",
        "open",
        "good",
        "because",
        ("a",),
    )
    assert mine.source
    assert store.contexts.proposals(CAROL, context, limit=9) == []
    assert refused(lambda: store.contexts.proposal(CAROL, context, mine.id))[0] == "NotFound"
    [seen] = store.contexts.proposals(ANN, context, limit=9)
    assert seen == replace(mine, source="")
    assert store.memories.find(ANN.in_context(context), NOW, limit=9) == []


def test_the_same_proposal_again_is_the_one_that_is_there(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    first = store.contexts.propose(BOB, context, proposal("walrus", source="m1"), at=T0)
    again = store.contexts.propose(BOB, context, proposal("walrus", source="m1"), at=minute(1))
    assert again == first
    assert len(store.contexts.proposals(BOB, context, limit=9)) == 1


def test_nobody_floods_the_reviewers(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    for number in range(100):
        store.contexts.propose(BOB, context, proposal(f"walrus {number}"), at=T0)
    assert refused(lambda: store.contexts.propose(BOB, context, proposal("one more"), at=T0))[0] == "Conflict"
    store.contexts.propose(ANN, context, proposal("walrus of ann"), at=T0)


def test_an_approved_proposal_is_a_memory_and_keeps_its_history(store: Store) -> None:
    context = team(store, joined={BOB: "writer"}, reviewed=True)
    made = store.contexts.propose(BOB, context, proposal("walrus"), at=T0)
    kept = shared("walruses", meta={"shared": {"proposal": made.id}})
    done = store.contexts.approve(ANN, context, made.id, kept, decision="plural", at=minute(1))
    assert (done.state, done.decided_by, done.decided_at, done.decision) == ("approved", "ann", minute(1), "plural")
    assert (done.edited, done.memory) == (True, kept.id)
    assert store.memories.get(BOB.in_context(context), kept.id) == kept
    for change in (
        lambda: store.contexts.approve(ANN, context, made.id, kept, decision=None, at=T0),
        lambda: store.contexts.reject(ANN, context, made.id, decision=None, at=T0),
    ):
        assert refused(change)[0] == "Conflict"
    gone = store.contexts.withdraw(BOB, context, made.id, at=minute(2))
    assert (gone.state, gone.withdrawn_by, gone.decided_by) == ("withdrawn", "bob", "ann")
    assert (gone.content, gone.why, gone.reason, gone.tags) == ("", None, None, ())
    assert store.contexts.withdraw(BOB, context, made.id, at=minute(3)) == gone
    assert store.memories.find(ANN.in_context(context), NOW, limit=9) == []
    assert by_words(store, ANN.in_context(context), "memory", "walruses", NOW) == []


def test_a_rejected_proposal_is_no_memory(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    made = store.contexts.propose(BOB, context, proposal("walrus"), at=T0)
    done = store.contexts.reject(ANN, context, made.id, decision="no", at=minute(1))
    assert (done.state, done.decided_by, done.decision, done.memory) == ("rejected", "ann", "no", None)
    assert store.memories.find(ANN.in_context(context), NOW, limit=9) == []
    gone = store.contexts.withdraw(BOB, context, made.id, at=minute(2))
    assert (gone.state, gone.decided_by, gone.content) == ("withdrawn", "ann", "")


@pytest.mark.parametrize("role", ["reader", "writer"])
def test_only_reviewers_decide(store: Store, role: str) -> None:
    context = team(store, joined={BOB: role, CAROL: "writer"})
    made = store.contexts.propose(CAROL, context, proposal("walrus"), at=T0)
    for change in (
        lambda: store.contexts.approve(BOB, context, made.id, shared("walrus"), decision=None, at=T0),
        lambda: store.contexts.reject(BOB, context, made.id, decision=None, at=T0),
    ):
        assert refused(change)[0] == "ScopeError"
    assert refused(lambda: store.contexts.withdraw(BOB, context, made.id, at=T0))[0] == "NotFound"
    assert store.contexts.proposal(CAROL, context, made.id).state == "open"


def test_a_reader_proposes_nothing(store: Store) -> None:
    context = team(store, joined={BOB: "reader"})
    assert refused(lambda: store.contexts.propose(BOB, context, proposal("x"), at=T0))[0] == "ScopeError"


@pytest.mark.parametrize("allowed", [False, True])
def test_nobody_approves_their_own_unless_the_context_says_so(store: Store, allowed: bool) -> None:
    context = team(store, own_approval=allowed)
    made = store.contexts.propose(ANN, context, proposal("walrus"), at=T0)

    def approve() -> Proposal:
        return store.contexts.approve(ANN, context, made.id, shared("walrus"), decision=None, at=T0)

    if allowed:
        assert approve().state == "approved"
    else:
        assert refused(approve)[0] == "ScopeError"
        assert store.memories.find(ANN.in_context(context), NOW, limit=9) == []


def test_what_somebody_wrote_before_is_trusted_once_it_was_approved(store: Store) -> None:
    context = team(store, joined={BOB: "writer"})
    there, _ = store.memories.add(BOB.in_context(context), shared("walrus"))
    made = store.contexts.propose(BOB, context, proposal("walrus"), at=T0)
    done = store.contexts.approve(ANN, context, made.id, shared("walrus", trust="checked"), decision=None, at=T0)
    assert done.memory == there.id
    [kept] = store.memories.find(BOB.in_context(context), NOW, limit=9)
    assert (kept.id, kept.trust) == (there.id, "checked")


def test_an_approval_that_fails_changes_nothing(store: Store) -> None:
    """The memory it is to replace was changed meanwhile: neither the memory nor the decision is there."""
    context = team(store, joined={BOB: "writer"})
    inside = ANN.in_context(context)
    old, _ = store.memories.add(inside, shared("port 1"))
    store.memories.update(inside, replace(old, importance=0.9), at=T0, note="update")
    made = store.contexts.propose(BOB, context, proposal("port 2"), at=T0)
    call = lambda: store.contexts.approve(  # noqa: E731
        ANN, context, made.id, shared("port 2"), decision=None, at=T0, replacing=[old]
    )
    assert refused(call)[0] == "Conflict"
    assert store.contexts.proposal(ANN, context, made.id).state == "open"
    assert [one.content for one in store.memories.find(inside, NOW, limit=9)] == ["port 1"]


# -- the commons -------------------------------------------------------------------------------------------------------


def test_there_is_one_commons_for_all_tenants(store: Store) -> None:
    assert refused(lambda: store.contexts.join(ANN, COMMONS, at=T0))[0] == "NotFound"
    commons(store)
    assert refused(lambda: store.contexts.create(EVE, "commons", at=T0))[0] == "Conflict"
    for scope in (ANN, EVE):
        assert refused(lambda: store.memories.find(scope.in_context(COMMONS), NOW, limit=9))[0] == "NotFound"  # noqa: B023
        found = store.contexts.join(scope, COMMONS, at=T0)
        assert (found.role, found.reviewed, found.own_approval) == ("writer", True, False)
    made = store.contexts.propose(EVE, COMMONS, proposal("walrus"), at=T0)
    assert made.proposed_by == "other/ann"
    assert store.contexts.proposals(ANN, COMMONS, limit=9) == []
    root = Scope("ops", "root")
    store.contexts.approve(root, COMMONS, made.id, shared("walrus"), decision=None, at=T0)
    assert [one.content for one in store.memories.find(ANN.in_context(COMMONS), NOW, limit=9)] == ["walrus"]
    assert store.memories.find(ANN, NOW, limit=9) == []


def test_who_joins_again_keeps_their_role(store: Store) -> None:
    commons(store)
    root = Scope("ops", "root")
    store.contexts.join(ANN, COMMONS, at=T0)
    store.contexts.add_member(root, COMMONS, ("acme", "ann"), "reviewer", at=T0)
    assert store.contexts.join(ANN, COMMONS, at=T0).role == "reviewer"
    assert store.contexts.join(root, COMMONS, at=T0).role == "admin"


def test_the_commons_is_written_by_approval_alone_and_tells_nobody_who_is_in_it(store: Store) -> None:
    commons(store)
    store.contexts.join(ANN, COMMONS, at=T0)
    assert refused(lambda: store.memories.add(ANN.in_context(COMMONS), shared("walrus")))[0] == "ScopeError"
    assert refused(lambda: store.contexts.members(ANN, COMMONS))[0] == "ScopeError"
    root = Scope("ops", "root")
    assert [(one.tenant, one.user) for one in store.contexts.members(root, COMMONS)] == [
        ("acme", "ann"),
        ("ops", "root"),
    ]
    made = store.contexts.propose(root, COMMONS, proposal("walrus"), at=T0)
    own = lambda: store.contexts.approve(root, COMMONS, made.id, shared("walrus"), decision=None, at=T0)  # noqa: E731
    assert refused(own)[0] == "ScopeError"


# -- the store's own work ----------------------------------------------------------------------------------------------


def test_shared_memories_get_vectors_and_upkeep_like_others(store: Store) -> None:
    context = team(store)
    inside = ANN.in_context(context)
    store.memories.add(inside, shared("the walrus sings"))
    assert embed_waiting(store) == 1
    assert store.vectors.pending() == 0
    store.keeping.rebuild()
    assert len(by_words(store, inside, "memory", "walrus", NOW)) == 1
    assert store.keeping.health(deep=True).checks == {}


def test_two_people_share_through_the_whole_memory(store: Store, tmp_path: Path) -> None:
    """Proposed, approved, recalled when asked for, withdrawn: on every store there is."""
    settings = load(data_dir=tmp_path / "data").settings
    parts: dict[str, Any] = {"embedder": TINY, "background": False, "clock": lambda: LATER}
    ann, bob = (Recollect(store, scope, settings, **parts) for scope in (ANN, BOB))
    ann.contexts.create("team")
    ann.contexts.add("team", "bob", "reviewer")
    bob.contexts.join("team")
    made = ann.contexts.propose(ann.remember("The walrus sleeps on Mondays", kind="fact").id, "team")
    bob.contexts.approve("team", made.id)
    bob.embed_pending()
    for mode in ("lexical", "hybrid"):
        assert bob.recall("when does the walrus sleep", mode=mode).hits == ()
        [hit] = bob.recall("when does the walrus sleep", mode=mode, contexts=("team",)).hits
        assert (hit.context, hit.trust, hit.notes) == ("team", "checked", ("shared in team by ann, approved by bob",))
    ann.contexts.withdraw("team", made.id)
    assert bob.recall("when does the walrus sleep", contexts=("team",)).hits == ()


def test_filters_only_narrow(store: Store) -> None:
    """T11: no filter of a reader reaches beyond the context."""
    context = team(store, joined={BOB: "reader"})
    store.memories.add(ANN, memory("canary walrus", tags=("t",), project="apollo", session="s"))
    store.memories.add(ANN.in_context(context), shared("walrus"))
    for where in (
        NOW,
        Filter(now=LATER, project="apollo"),
        Filter(now=LATER, session="s"),
        Filter(now=LATER, tags=("t",)),
    ):
        assert "canary" not in repr(store.memories.find(BOB.in_context(context), where, limit=9))
