"""Three owners with two projects each and a canary word in everything, and every method that they could be asked with.

The methods are found by introspection, so one that joins a port is tried too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from pkgutil import iter_modules
from typing import Any, get_type_hints

from recollect.capture.bodies import body_of
from recollect.clock import iso
from recollect.distill.digest import digest_of
from recollect.errors import RecollectError
from recollect.ids import stable_key
from recollect.model import TIERS, Cost, Memory, Scope, Session
from recollect.store import port, portable, ports
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.distill import Caps, Charge, Distillation
from recollect.store.ports.learn import Pattern, PatternVersion, Rollout, Sighting
from recollect.store.ports.memories import Filter
from recollect.store.ports.relations import Run, Step
from recollect.store.ports.use import Feedback, Injection, OwnRanking
from tests.contract.samples import LATER, T0, by_words, embed_waiting, event, gist, memory, talk

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


def is_protocol(kind: object) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def methods() -> Iterator[tuple[str, Any]]:
    modules = [import_module(f"{ports.__name__}.{found.name}") for found in iter_modules(ports.__path__)]
    known = {name: kind for module in modules for name, kind in vars(module).items() if is_protocol(kind)}
    hints = {name: get_type_hints(getattr(port.Store, name).fget, localns=known)["return"] for name in PORTS}
    for name, protocol in hints.items():
        for method, function in inspect.getmembers(protocol, inspect.isfunction):
            if not method.startswith("_"):
                yield f"{name}.{method}", function


METHODS = dict(methods())
SCOPED = sorted(name for name, function in METHODS.items() if "scope" in inspect.signature(function).parameters)


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
    """All that is noted of consolidating."""
    noted: list[Any] = [*store.consolidations.runs(one.scope, limit=9), *store.consolidations.relations(one.scope)]
    return [
        *noted,
        *store.consolidations.steps(one.scope, run_of(one.canary).id),
        *store.consolidations.rollups(one.scope),
    ]


def rest(store: Store, places: list[Place], without: Scope) -> dict[str, list[Any]]:
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
            *consolidations(store, one),
        ]
        for one in places
        if not theirs(one, without)
    }


def theirs(one: Place, scope: Scope) -> bool:
    """Whether a scope reaches what is in this place."""
    return scope in (one.scope, replace(one.scope, project=None))


class Filled:
    """A store with everybody's things in it, filled anew once anything was written to it.

    `rows`, where there is something quicker than to ask the store: all rows that some owners have.
    """

    def __init__(
        self,
        make: Callable[[], Store],
        written: Callable[[Store], Callable[[], object]],
        rows: Callable[[list[Scope]], object] | None = None,
    ) -> None:
        self._make, self._watch, self._rows = make, written, rows
        self._written: Callable[[], object] | None = None
        self._filled: object = None

    def give(self) -> tuple[Store, list[Place], dict[str, list[int]]]:
        """The store, who has something in it, and the numbers of their documents."""
        if self._written is None or self.changed():
            self.store = self._make()
            self.places = fill(self.store)
            self.docs = every_doc(self.store)
            self._rest: dict[Scope, object] = {}
            self._written = self._watch(self.store)
            self._filled = self._written()
        return self.store, self.places, self.docs

    def changed(self) -> bool:
        """Whether anything was written since it was filled."""
        assert self._written is not None
        return self._written() != self._filled

    def rest(self, without: Scope) -> object:
        """What everybody else has, read once while nothing is written."""
        if self.changed():
            return self._read(without)
        if without not in self._rest:
            self._rest[without] = self._read(without)
        return self._rest[without]

    def _read(self, without: Scope) -> object:
        if self._rows is None:
            return rest(self.store, self.places, without)
        owner = replace(without, project=None)
        own = [one for one in self.places if replace(one.scope, project=None) == owner]
        return self._rows([one for one in OWNERS if one != owner]), rest(self.store, own, without)
