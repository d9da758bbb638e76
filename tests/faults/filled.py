"""A store with something in every table: what a copy of it must hold."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from recollect.clock import iso
from recollect.model import Body, Cost, Memory, Scope, Session
from recollect.pipeline.digests import digest_due
from recollect.store.port import Store
from recollect.store.ports.capture import Seen
from recollect.store.ports.distill import Caps, Charge, Distillation
from recollect.store.ports.insights import RecallDay
from recollect.store.ports.learn import Pattern, PatternVersion, Rollout, Sighting
from recollect.store.ports.relations import Run, Step
from recollect.store.ports.use import Feedback, Injection, OwnRanking
from tests.contract.samples import ANN, BOB, EVE, LATER, event, gist, memory, minute

CAPS = Caps(tokens=10**9, usd=10**6)


def _consolidate(store: Store, scope: Scope, kept: Memory) -> None:
    relations = {"relations": [[kept.id, "caused_by", "run", iso(LATER)]]}
    made = {"content": "walrus ☃", "covers": {"claude:1": [3, iso(LATER)]}, "maker": "m", "made_at": iso(LATER)}
    steps = [Step("relate", kept.id, "", {}, relations), Step("rollup", "2026-03", "apollo", {}, made)]
    store.consolidations.apply(scope, Run("run", LATER), steps, at=LATER)


def fill(store: Store, *, items: int = 12) -> None:
    """Something in every table, of three owners in two tenants."""
    for scope in (ANN, BOB, EVE):
        data = f"raw bytes of {scope.user} in {scope.tenant} ".encode() * 400
        body = Body(hashlib.sha256(data).hexdigest(), "text/plain", len(data), data)
        about = Session("claude:1", "claude", "a title", "apollo", cwd="/w", models=("m",), meta={"k": "v\t\n\\ ü"})
        events = [
            event("claude:1", number, f"walrus {number} of {scope.user}\t\\N\n\\. ☃ " + "x " * number, way="sweep")
            for number in range(items)
        ]
        events[2] = replace(events[2], bodies=(body,))
        cost = Cost("ab" * 16, "claude:1", minute(1), "m", 1, 2, 3, 4, 5, 6, 0.25, "reported")
        seen = Seen("/files/one.jsonl", "claude", "claude:1", "read", LATER, turns=(events[0].key,), counts={"n": 1})
        store.captures.ingest(scope, about, events, [cost], transcript=seen)
        store.gists.put(scope, gist("claude:1", f"walrus gist of {scope.user}"))
        first = memory("said once", tags=("t", 'ü"'), why="because", meta={"a": [1, None, "z"]})
        store.memories.add(scope, first)
        again = store.memories.update(scope, replace(first, content="said twice"), at=LATER, note="edit")
        gone = memory("to be forgotten")
        store.memories.add(scope, gone)
        store.keeping.forget_memory(scope, gone.id, at=LATER)
        soft = memory("softly gone")
        store.memories.add(scope, soft)
        store.memories.update(scope, replace(soft, deleted_at=LATER), at=LATER, note="delete")
        store.memories.touch(scope, {again.id: 3}, at=LATER)
        store.captures.injected(scope, ["ee" * 16], at=LATER)
        store.distillations.put(scope, Distillation("claude:1", 3, items - 1, LATER, refused={"short": 2}))
        assert store.ledger.reserve(scope, Charge("turn", "m", 5, 6, 0.1, LATER), CAPS) is not None
        digest_due(store, scope, lambda: LATER)
        store.quotas.set(scope, memories=100, ingests=None, at=LATER)
        store.tasks.put(scope, "gist", "claude:1", at=LATER)
        pattern = Pattern("p1", "correction", "k", "walrus \\N ☃", "user", LATER, LATER, usd=0.25, projects=("apollo",))
        told = PatternVersion(1, "found", "candidate", pattern.statement, None, None, "ü\t", LATER)
        seen_in = Sighting("claude:1", "claude", "apollo", LATER, "user", 2, "walrus", ("k1",))
        store.patterns.put(scope, pattern, at=LATER, was=None, told=[told], evidence=[seen_in])
        store.patterns.put_rollout(scope, Rollout("r1", "p1", 1, "memory", "m1", LATER, text="walrus"))
        store.patterns.share(scope, True, at=LATER)
        _consolidate(store, scope, again)
        store.use.give(scope, Feedback(again.id, "helpful", LATER, "claude:1", note="ü\t\\N walrus"))
        shown = Injection(again.id, "claude:1", LATER, "claude", "prompt", "ab" * 6)
        store.use.inject(scope, [shown], before=minute(0))
        store.use.laid(scope, {"ab" * 6: [again.id]}, at=LATER, before=minute(0))
        store.use.put_ranking(scope, OwnRanking({"use": 0.1}, LATER, {"examples": 40}), at=LATER)
        store.insights.count_recalls(scope, [RecallDay("2026-03-01", 3, 1, 2)])
        store.answers.begin(scope, "key", "ab", at=LATER, until=LATER)
        store.answers.finish(scope, "key", status=201, body=b'{"walrus": "\xc3\xbc"}\x00', at=LATER)
    team = store.contexts.create(ANN, "team", at=LATER).id
    store.contexts.add_member(ANN, team, (BOB.tenant, BOB.user), "writer", at=LATER)
    store.contexts.join(BOB, team, at=LATER)
    store.bodies.tick(LATER)
