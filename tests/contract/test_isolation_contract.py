"""Isolation: three owners with two projects each, a canary word in everything; no call of any port shows a foreign one.

The calls are found by introspection, so a method that joins a port is tried too: without a way to fill in its arguments
the test fails.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import product
from typing import Any, get_type_hints

import pytest

from recollect.capture.bodies import body_of
from recollect.clock import iso
from recollect.distill.digest import digest_of
from recollect.errors import RecollectError
from recollect.ids import stable_key
from recollect.model import TIERS, Cost, Memory, Scope, Session
from recollect.store import port, portable
from recollect.store.browseport import Mark, SessionFilter
from recollect.store.insightport import RecallDay, Window
from recollect.store.learnport import Pattern, PatternVersion, Rollout, Sighting, SignalState
from recollect.store.port import Caps, Charge, Distillation, Filter, Proposal, Seen, Store, Weighing
from recollect.store.relationport import Run, Step
from recollect.store.useport import Feedback, Injection, OwnRanking
from tests.contract.samples import LATER, T0, TINY, by_words, embed_waiting, event, gist, memory, minute, talk

OWNERS = (Scope("acme", "ann"), Scope("acme", "bob"), Scope("other", "ann"))
PROJECTS = ("apollo", "zeus")
PORTS = tuple(sorted(name for name, kind in inspect.getmembers(port.Store) if isinstance(kind, property)))
# These have no scope: they serve the store itself. What they return holds figures, or texts for the embedder alone.
OF_THE_STORE = {
    "vectors.model", "vectors.waiting", "vectors.put", "vectors.pending", "vectors.restart",
    "keeping.upkeep", "bodies.tick", "keeping.rebuild", "keeping.health", "keys.check", "audit.anchor",
    "keeping.reindex", "keeping.vacuum", "keeping.scrub_due", "keeping.sizes",
    "notes.get", "notes.all", "notes.put", "notes.swap", "notes.drop",
    "tasks.claim", "tasks.extend", "tasks.finish", "tasks.fail", "tasks.release",  # a claimed task has its owner in it
    "tasks.everywhere", "tasks.backlog", "tasks.tidy", "insights.database_bytes",
    "answers.tidy",
}  # fmt: skip
PLENTY = Caps(tokens=10**9, usd=10**6)
WALRUS = "walrus"  # everybody says this, so that every search finds something


@dataclass(frozen=True)
class Place:
    """One owner in one project, and what is theirs."""

    scope: Scope
    canary: str
    session: str
    turn: str
    memory: Memory


def place(owner: int, project: str) -> tuple[Scope, str]:
    return OWNERS[owner].within(project), f"canary{owner}{project}"


def fill(store: Store) -> list[Place]:
    places = []
    for owner, project in product(range(3), PROJECTS):
        scope, canary = place(owner, project)
        session = f"chat:{canary}"
        events = talk(session, f"{WALRUS} {canary} asked", f"assistant: {WALRUS} {canary} answered")
        store.sessions.append(scope, events)
        store.sessions.ensure(scope, session, at=T0, title=f"{canary} title", meta={"note": canary})
        body = body_of(canary.encode(), "text/plain")
        big = replace(event(session, 7, f"{canary} big", key=stable_key(canary)), way="sweep", bodies=(body,))
        cost = Cost(stable_key("cost", canary), session, T0, canary, input=5, output=7)
        store.captures.ingest(scope, Session(session, "chat", cwd=f"/{canary}"), [big], [cost])
        seen = Seen(f"/logs/{canary}.jsonl", "chat", session, "read", T0, turns=(events[0].key,))
        store.captures.note(OWNERS[owner], seen)
        store.digests.put(scope, digest_of(Session(session, "chat", title=canary), events, [cost]), covers=2, at=T0)
        store.gists.put(scope, gist(session, f"{WALRUS} {canary} gist"))
        kept = memory(
            f"{WALRUS} {canary} memory",
            project=project,
            session=session,
            why=f"{canary} why",
            tags=(canary, "shared"),
            meta={"note": canary},
            anchors=(f"{canary}.py",),
            slot=f"{canary} slot",
            trust="checked",
            maker="rules",
        )
        store.memories.add(scope, kept)
        store.keys.create(scope, at=T0, name=canary)
        store.audit.note(scope, "recall", canary, at=T0, details={"note": canary})
        store.distillations.put(scope, Distillation(session, 1, 2, T0, refused={canary: 1}))
        if hasattr(store, "ledger"):
            store.ledger.reserve(scope, Charge("session", canary, 10, 5, 0.01, T0, project), PLENTY)
        store.tasks.put(scope, "distill", session, at=T0)
        learned = pattern_of(canary, f"{canary} repeats", project)
        told = PatternVersion(1, "found", "candidate", learned.statement, None, None, None, T0)
        sighting = Sighting(session, "chat", project, T0, statement=canary)
        store.patterns.put(scope, learned, at=T0, was=None, told=[told], evidence=[sighting])
        store.patterns.put_rollout(scope, rollout_of(canary, f"/{canary}/AGENTS.md"))
        store.answers.begin(scope, "key", "ab", at=T0, until=LATER)
        store.answers.finish(scope, "key", status=200, body=canary.encode(), at=T0)
        kept = store.memories.update(scope, replace(kept, content=f"{kept.content} 2"), at=T0, note="edit")
        store.consolidations.apply(scope, run_of(canary), consolidated(canary, kept, project), at=T0)
        store.use.give(scope, Feedback(kept.id, "helpful", T0, session, note=canary))
        store.use.inject(scope, [Injection(kept.id, session, T0, canary, "prompt", canary)], before=T0)
        store.use.laid(scope, {canary: [kept.id]}, at=T0, before=T0)
        store.use.put_ranking(scope, OwnRanking({"use": 0.1}, T0, {"of": OWNERS[owner].tenant}), at=T0)
        places.append(Place(scope, canary, session, events[0].key, kept))
    embed_waiting(store)
    return places


def run_of(canary: str) -> Run:
    return Run(stable_key("run", canary), T0, by=canary)


def consolidated(canary: str, kept: Memory, project: str) -> list[Step]:
    related = {"relations": [[kept.id, "same_subject", canary, iso(T0)]]}
    made = {"content": canary, "covers": {f"chat:{canary}": [2, iso(T0)]}, "maker": "extractive", "made_at": iso(T0)}
    return [Step("relate", kept.id, "", {}, related), Step("rollup", "2026-03", project, {}, made)]


def pattern_of(canary: str, statement: str, project: str | None = None) -> Pattern:
    projects = () if project is None else (project,)
    return Pattern(stable_key("pattern", canary)[:16], "denial", "k", statement, "user", T0, T0, projects=projects)


def rollout_of(canary: str, where: str) -> Rollout:
    pattern = stable_key("pattern", canary)[:16]
    return Rollout(stable_key("rollout", canary)[:16], pattern, 1, "agents-md", where, T0)


def methods() -> Iterator[tuple[str, Any]]:
    hints = {name: get_type_hints(getattr(port.Store, name).fget)["return"] for name in PORTS}
    for name, protocol in hints.items():
        for method, function in inspect.getmembers(protocol, inspect.isfunction):
            if not method.startswith("_"):
                yield f"{name}.{method}", function


SCOPED = sorted(name for name, function in methods() if "scope" in inspect.signature(function).parameters)


def arguments(store: Store, name: str, asked: Place, docs: dict[str, list[int]]) -> Iterator[dict[str, Any]]:
    """Every way to call a method with the ids of `asked`: what an intruder who knows them all would try."""
    function = dict(methods())[name]
    filters = [
        Filter(now=LATER),
        Filter(now=LATER, archived=True, history=True),
        Filter(now=LATER, project=asked.scope.project),
        Filter(now=LATER, session=asked.session),
        Filter(now=LATER, tags=(asked.canary, "shared")),
        Filter(now=LATER, as_of=LATER),
        Filter(now=LATER, flavors=("chat",)),
    ]
    choices: dict[str, list[Any]] = {
        "session": [asked.session],
        "at": [T0],
        "now": [T0],
        "until": [minute(5)],
        "title": [None],
        "meta": [None],
        "limit": [100],
        "offset": [0],
        "facts": [None],
        "about": [Session(asked.session, "chat", title="taken over", cwd="/taken/over")],
        "first": [None],
        "costs": [()],
        "transcript": [None],
        "changes": [True],
        "name": [f"/logs/{asked.canary}.jsonl"],
        "seen": [Seen(f"/logs/{asked.canary}.jsonl", "chat", None, "failed", T0)],
        "hashes": [["ab" * 32]],
        "text_hash": ["ab" * 32],
        "digest": [digest_of(Session(asked.session, "chat"), (), ())],
        "covers": [0],
        "version": [99],
        "body_hash": [body_of(asked.canary.encode(), "text/plain").hash],
        "undigested": [False, True],
        "events": [[event(f"chat:new {asked.canary}", 99, "new", key="cd" * 16)]],
        "last": [None],
        "after": [-1],
        "turn_id": [asked.turn],
        "gist": [gist(asked.session, "taken over")],
        "exclude_session": [None, "chat:nobody"],
        "quiet_since": [LATER],
        "memory": [replace(asked.memory, why="taken over")],
        "versions": [()],
        "replacing": [(), (asked.memory,)],
        "memories": [(), (replace(asked.memory, why="taken over"),)],
        "adding": [(), (replace(asked.memory, why="taken over"),)],
        "subject": [None],
        "history": [False, True],
        "source": [asked.session, "rules"],
        "deleted": [False, True],
        "slot": [f"{asked.canary} slot"],
        "distillation": [Distillation(asked.session, 99, 99, LATER)],
        "charge": [Charge("session", "m", 1, 1, 0.0, T0, asked.scope.project)],
        "caps": [PLENTY],
        "model": [asked.canary],
        "ticket": list(range(1, 7)),
        "since": [T0],
        "memory_id": [asked.memory.id],
        "where": filters,
        "note": ["edit"],
        "ids": [{asked.memory.id: 1}],
        "tier": list(TIERS),
        "terms": [[WALRUS, asked.canary]],
        "query": [TINY.embed([f"{WALRUS} {asked.canary}"])[0]],
        "context": ["@nobody~00000000"],
        "reviewed": [False],
        "own_approval": [False],
        "member": [("acme", "bob")],
        "role": ["reader"],
        "state": [None],
        "proposal": [Proposal(asked.memory.id, asked.memory.id, "fact", "x", "user", "user", "said", T0)],
        "proposal_id": [asked.memory.id],
        "decision": [None],
        "env": ["live"],
        "permissions": [("read",)],
        "expires_at": [None],
        "key_id": [key.id for key in store.keys.find(asked.scope)],
        "action": [None],
        "result": ["done"],
        "duration_ms": [0],
        "details": [None],
        "anchor": [None],
        "ingests": [None],
        "docs": [[doc for tier in TIERS for doc in docs[tier]]],
        "task_id": [task.id for task in store.tasks.find(asked.scope, limit=9)],
        "kind": [None, "distill"],
        "due_at": [None],
        "key": ["key"],
        "fingerprint": ["ab"],
        "status": [500],
        "body": [b"taken over"],
        "by": ["day", "month"],
        "most": [50],
        "pattern_id": [pattern_of(asked.canary, "").id],
        "pattern": [pattern_of(asked.canary, "taken over")],
        "was": [None, 1],
        "told": [()],
        "evidence": [None, [Sighting(asked.session, "chat", None, T0)]],
        "rollout": [rollout_of(asked.canary, "/taken/over")],
        "run": [Run("theirs", T0), run_of(asked.canary)],
        "run_id": [run_of(asked.canary).id],
        "steps": [[Step("demote", asked.memory.id, "", {"importance": 0.5}, {"importance": 0.1})]],
        "memory_ids": [[asked.memory.id]],
        "before": [LATER],
        "keys": [[asked.turn]],
        "words": [[WALRUS, asked.canary]],
        "beginning": ["s", asked.canary],
        "look": [1_000],
        "weighing": [Weighing({"fact": 1.0})],
    }
    if name.startswith(("insights.", "digests.")):
        choices |= _of_figures(name, asked)
    if name.startswith("browse."):
        choices |= _of_browsing(asked)
    if name.startswith(("patterns.", "signals.")):
        choices |= _of_patterns(asked)
    if name == "tasks.put":
        choices |= {"kind": ["distill"], "subject": [asked.session]}
    if name == "keys.create":
        choices["name"] = ["new"]
    if name == "quotas.set":
        choices["memories"] = [None, 7]
    if name == "audit.note":
        choices |= {"action": ["recall"], "subject": [asked.memory.id]}
    if name.startswith("use."):
        choices |= _of_use(name, asked)
    if name == "consolidations.beyond":
        choices |= {"where": [Filter(now=LATER, archived=True, history=True)], "limit": [50]}
    if name == "memories.add_many":
        choices["memories"] = [(), ((replace(asked.memory, why="taken over"), ()),)]
    names = [each for each in inspect.signature(function).parameters if each not in ("self", "scope")]
    if missing := [each for each in names if each not in choices]:
        pytest.fail(f"{name} has arguments this test does not know: {missing}")
    for values in product(*(choices[each] for each in names)):
        yield dict(zip(names, values, strict=True))


def _of_figures(name: str, asked: Place) -> dict[str, list[Any]]:
    """What can be asked of figures by day, and what can be put down for them."""
    ever = Window(T0 - timedelta(days=1), LATER)
    return {
        "window": [ever, replace(ever, project=asked.scope.project), replace(ever, flavor="chat", step=7)],
        "files": [200],
        "counted": [[RecallDay("2026-03-01", 1, 1, 1)]],
        "health": [{asked.session: 1}] if name == "digests.score" else [None, 50],
    }


def _of_patterns(asked: Place) -> dict[str, list[Any]]:
    """What can be shared of patterns, and kept of a session's signals."""
    state = SignalState(1, 0, iso(T0), 0, None)
    return {
        "on": [True, False],
        "k": [1],
        "sessions": [[asked.session]],
        "made": [{asked.session: (state, "taken", "over")}],
    }


def _of_browsing(asked: Place) -> dict[str, list[Any]]:
    """What can be looked through."""
    words = SessionFilter(words=(asked.canary,))
    return {
        "where": [SessionFilter(), SessionFilter(project=asked.scope.project), words],
        "parents": [[asked.session]],
        "mark": [Mark()],
        "first": [50],
    }


def _of_use(name: str, asked: Place) -> dict[str, list[Any]]:
    """What can be said and asked about the use of somebody's memory."""
    taken = Feedback(asked.memory.id, "harmful", LATER, asked.session, note="taken over")
    return {
        "memory": [None, asked.memory.id],
        "session": [asked.session, *([None] if name == "use.injections" else [])],
        "ids": [[asked.memory.id]],
        "verdict": ["helpful"],
        "feedback": [taken],
        "shown": [[replace(taken, source="digest")]],
        "blocks": [{asked.canary: [asked.memory.id]} if name == "use.laid" else [asked.canary]],
        "before": [T0],
        "injections": [[Injection(asked.memory.id, asked.session, LATER, "taken", "prompt", "over")]],
        "ranking": [None, OwnRanking({"use": 0.1}, T0)],
    }


def outcome(call: Callable[[], Any]) -> str:
    try:
        return repr(call())
    except RecollectError as error:
        return f"{type(error).__name__}: {error} {error.hint}"


def call(store: Store, name: str, scope: Scope, values: dict[str, Any]) -> str:
    """What a method answers, with the documents behind the numbers it gives."""
    part, _, method = name.partition(".")
    bound = inspect.signature(getattr(getattr(store, part), method)).bind(scope, **values)
    answer = outcome(lambda: getattr(getattr(store, part), method)(*bound.args, **bound.kwargs))
    if name in ("search.lexical", "search.semantic"):
        found = getattr(store.search, method)(*bound.args)
        answer += repr(store.search.documents(scope, values["tier"], [match.doc for match in found]))
    return answer


def every_doc(store: Store) -> dict[str, list[int]]:
    found = {
        tier: [m.doc for owner in OWNERS for m in by_words(store, owner, tier, WALRUS, Filter(now=LATER))]
        for tier in TIERS
    }
    assert all(len(docs) == 6 for docs in found.values())
    return found


def consolidations(store: Store, one: Place) -> list[Any]:
    """All that is noted of consolidating; looked at only after what could touch it, for it takes time."""
    noted: list[Any] = [*store.consolidations.runs(one.scope, limit=9), *store.consolidations.relations(one.scope)]
    return [
        *noted,
        *store.consolidations.steps(one.scope, run_of(one.canary).id),
        *store.consolidations.rollups(one.scope),
    ]


def rest(store: Store, places: list[Place], without: Scope, name: str) -> dict[str, list[Any]]:
    """What everybody else has, to show that nothing of it was changed."""
    return {
        one.canary: [
            # a pattern that is of no project is the whole owner's: only those that name whose they are are compared
            *(
                record
                for record in portable.export(store, one.scope, now=LATER)
                if record["type"] != "pattern" or one.canary in record["statement"]
            ),
            *(found for found in store.patterns.find(one.scope, limit=9) if one.canary in found.statement),
            *store.patterns.rollouts(one.scope, pattern_of(one.canary, "").id),
            *store.patterns.evidence(one.scope, pattern_of(one.canary, "").id),
            *store.use.injections(one.scope),
            *(consolidations(store, one) if name.startswith(("consolidations.", "keeping.")) else ()),
        ]
        for one in places
        if one.scope != without
    }


def test_every_method_of_every_port_is_walked() -> None:
    found = {name for name, _ in methods()}
    assert found - set(SCOPED) == OF_THE_STORE
    assert len(SCOPED) >= 26


@pytest.mark.parametrize("name", SCOPED[::2])
def test_no_method_shows_or_changes_what_is_foreign(store: Store, name: str) -> None:
    """Everyone asks with everyone else's ids. The other half of the methods is in a file of its own: it takes long."""
    check_foreign(store, name)


def in_turn(store: Store, name: str, turn: int) -> None:
    """All of it takes very long. So each method is tried on one store by those who know the ids, and on the other by
    those nobody knows; together every method is tried on both."""
    if (SCOPED.index(name) + turn + (type(store).__name__ == "PostgresStore")) % 2:
        pytest.skip("tried on the other store")


def check_foreign(store: Store, name: str) -> None:
    """No foreign canary comes back, and nobody else's data changes."""
    in_turn(store, name, 0)
    places = fill(store)
    docs = every_doc(store)
    for me in (places[0], places[3], places[4]):  # each owner once, both projects; who is asked for is everybody
        others = [one for one in places if one is not me]
        before = rest(store, places, me.scope, name)
        for asked in others:
            for values in arguments(store, name, asked, docs):
                answer = call(store, name, me.scope, values)
                given_back = repr(values)
                for one in others:
                    # An error may repeat the id it was asked for; it may not say more than it was told.
                    shown = answer.replace(asked.session, "").replace(f"chat:new {asked.canary}", "")
                    leaked = one.canary in shown and not (name == "memories.add" and one.canary in given_back)
                    assert not leaked, f"{name} as {me.canary} asking for {asked.canary}: {answer}"
        after = rest(store, places, me.scope, name)
        assert after == before, f"{name} as {me.canary} changed what belongs to others"


def test_everyone_sees_their_own(store: Store) -> None:
    """Else the tests above would show nothing: each reading call does answer with the canary of who asks."""
    silent = set()
    places = fill(store)
    docs = every_doc(store)
    others = {"audit.find", "quotas.get", "contexts.get"}  # an owner's, not a project's; figures; a context's
    for name in sorted({*SCOPED} - others):
        if name.split(".")[1] in ("find", "get", "history", "turn", "versions", "recent", "lexical", "semantic"):
            for me in places:
                answers = [call(store, name, me.scope, values) for values in arguments(store, name, me, docs)]
                if me.canary not in "".join(answers):
                    silent.add((name, me.canary))
    assert silent == set()


def test_an_owner_without_a_project_sees_all_of_theirs_and_nothing_else(store: Store) -> None:
    fill(store)
    for number, owner in enumerate(OWNERS):
        text = repr(list(portable.export(store, owner, now=LATER)))
        for other, project in product(range(3), PROJECTS):
            assert (f"canary{other}{project}" in text) == (other == number)


@pytest.mark.parametrize(
    "name",
    ["ann\u0000", "ann' OR '1'='1", "%", "_nn", "ANN", "ann ", " ann", "аnn"],
    ids=ascii,
)
def test_only_the_exact_name_is_the_owner(store: Store, name: str) -> None:
    """The last one begins with a Cyrillic letter."""
    fill(store)
    try:
        scope = Scope("acme", name)
    except RecollectError:
        return
    assert len(list(portable.export(store, scope, now=LATER))) == 1
