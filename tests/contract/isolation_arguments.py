"""What an intruder calls a method with: every way to fill in its arguments with somebody else's ids.

A method with an argument that is not in these tables fails the test that walks all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from recollect.capture.bodies import body_of
from recollect.clock import iso
from recollect.distill.digest import digest_of
from recollect.model import TIERS, Session
from recollect.store.port import Store
from recollect.store.ports.browse import Mark, SessionFilter
from recollect.store.ports.capture import Seen
from recollect.store.ports.contexts import Proposal
from recollect.store.ports.distill import Charge, Distillation
from recollect.store.ports.insights import RecallDay, Window
from recollect.store.ports.learn import Sighting, SignalState
from recollect.store.ports.memories import Filter, Weighing
from recollect.store.ports.relations import Run, Step
from recollect.store.ports.use import Feedback, Injection, OwnRanking
from tests.contract.isolation import METHODS, PLENTY, WALRUS, Place, pattern_of, rollout_of, run_of
from tests.contract.samples import LATER, T0, TINY, event, gist, minute

Choices = dict[str, list[Any]]


def arguments(store: Store, name: str, asked: Place, docs: dict[str, list[int]]) -> Iterator[dict[str, Any]]:
    """Every way to call a method with the ids of `asked`: what an intruder who knows them all would try."""
    choices = {
        **_of_sessions(asked),
        **_of_memories(asked),
        **_of_search(asked, docs),
        **_of_people(store, asked),
        **_of_learning(asked),
        **_of_this_one(name, asked),
    }
    names = [each for each in inspect.signature(METHODS[name]).parameters if each not in ("self", "scope")]
    if missing := [each for each in names if each not in choices]:
        pytest.fail(f"{name} has arguments this test does not know: {missing}")
    for values in product(*(choices[each] for each in names)):
        yield dict(zip(names, values, strict=True))


def _of_sessions(asked: Place) -> Choices:
    """What is said in a session, and of it."""
    return {
        "session": [asked.session],
        "at": [T0],
        "now": [T0],
        "until": [minute(5)],
        "title": [None],
        "titles": [{}, {asked.session: "taken over"}],
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
        "since": [T0],
        "keys": [[asked.turn]],
    }


def _of_memories(asked: Place) -> Choices:
    """Memories, what they are made from and what that costs."""
    return {
        "memory": [replace(asked.memory, why="taken over")],
        "versions": [()],
        "replacing": [(), (asked.memory,)],
        "memories": [(), (replace(asked.memory, why="taken over"),)],
        "adding": [(), (replace(asked.memory, why="taken over"),)],
        "subject": [None],
        "history": [False, True],
        "with_merged": [False, True],
        "source": [asked.session, "rules"],
        "deleted": [False, True],
        "slot": [f"{asked.canary} slot"],
        "distillation": [Distillation(asked.session, 99, 99, LATER)],
        "charge": [Charge("session", "m", 1, 1, 0.0, T0, asked.scope.project)],
        "caps": [PLENTY],
        "model": [asked.canary],
        "ticket": list(range(1, 7)),
        "memory_id": [asked.memory.id],
        "note": ["edit"],
        "ids": [{asked.memory.id: 1}],
        "memory_ids": [[asked.memory.id]],
        "before": [LATER],
        "look": [1_000],
    }


def _of_search(asked: Place, docs: dict[str, list[int]]) -> Choices:
    """What is looked for."""
    return {
        "where": _filters(asked),
        "rarest": [None, 1],
        "tier": list(TIERS),
        "terms": [[WALRUS, asked.canary]],
        "query": [TINY.embed([f"{WALRUS} {asked.canary}"])[0]],
        "docs": [[doc for tier in TIERS for doc in docs[tier]]],
        "by": ["day", "month"],
        "most": [50],
        "words": [[WALRUS, asked.canary]],
        "beginning": ["s", asked.canary],
        "weighing": [Weighing({"fact": 1.0})],
    }


def _filters(asked: Place) -> list[Filter]:
    return [
        Filter(now=LATER),
        Filter(now=LATER, archived=True, history=True),
        Filter(now=LATER, project=asked.scope.project),
        Filter(now=LATER, session=asked.session),
        Filter(now=LATER, tags=(asked.canary, "shared")),
        Filter(now=LATER, as_of=LATER),
        Filter(now=LATER, flavors=("chat",)),
    ]


def _of_people(store: Store, asked: Place) -> Choices:
    """Keys, contexts, tasks, the audit."""
    return {
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
        "task_id": [task.id for task in store.tasks.find(asked.scope, limit=9)],
        "kind": [None, "distill"],
        "due_at": [None],
        "key": ["key"],
        "fingerprint": ["ab"],
        "status": [500],
        "body": [b"taken over"],
    }


def _of_learning(asked: Place) -> Choices:
    """Patterns, and what is made of many memories."""
    return {
        "pattern_id": [pattern_of(asked.canary, "").id],
        "pattern": [pattern_of(asked.canary, "taken over")],
        "was": [None, 1],
        "told": [()],
        "evidence": [None, [Sighting(asked.session, "chat", None, T0)]],
        "rollout": [rollout_of(asked.canary, "/taken/over")],
        "run": [Run("theirs", T0), run_of(asked.canary)],
        "run_id": [run_of(asked.canary).id],
        "steps": [[Step("demote", asked.memory.id, "", {"importance": 0.5}, {"importance": 0.1})]],
    }


def _of_this_one(name: str, asked: Place) -> Choices:
    """What a word means for some methods alone."""
    choices: Choices = {}
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
    if name in ("search.lexical", "search.semantic"):
        choices["where"] = [*_filters(asked), None]
    if name == "consolidations.beyond":
        choices |= {"where": [Filter(now=LATER, archived=True, history=True)], "limit": [50]}
    if name == "memories.add_many":
        choices["memories"] = [(), ((replace(asked.memory, why="taken over"), ()),)]
    return choices


def _of_figures(name: str, asked: Place) -> Choices:
    """What can be asked of figures by day, and what can be put down for them."""
    ever = Window(T0 - timedelta(days=1), LATER)
    return {
        "window": [ever, replace(ever, project=asked.scope.project), replace(ever, flavor="chat", step=7)],
        "files": [200],
        "counted": [[RecallDay("2026-03-01", 1, 1, 1)]],
        "health": [{asked.session: 1}] if name == "digests.score" else [None, 50],
    }


def _of_patterns(asked: Place) -> Choices:
    """What can be shared of patterns, and kept of a session's signals."""
    state = SignalState(1, 0, iso(T0), 0, None)
    return {
        "on": [True, False],
        "k": [1],
        "sessions": [[asked.session]],
        "made": [{asked.session: (state, "taken", "over")}],
    }


def _of_browsing(asked: Place) -> Choices:
    """What can be looked through."""
    words = SessionFilter(words=(asked.canary,))
    return {
        "where": [SessionFilter(), SessionFilter(project=asked.scope.project), words],
        "parents": [[asked.session]],
        "mark": [Mark()],
        "first": [50],
    }


def _of_use(name: str, asked: Place) -> Choices:
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
