"""Consolidating a memory: what is there is read, a plan is made of it, and the plan is carried out step by step.

A store and a scope come in; a plan, a run that can be undone, relations and roll-ups go out. Nothing is deleted. When
more than a share of the memories would change, nothing is done at all. Whoever edits a memory while this runs wins: a
step whose memories changed is thought out anew from how they are now. Twice changes nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.clock import Clock
from recollect.errors import InvalidInput, NotFound, RecollectError
from recollect.ids import uuid7
from recollect.learn.consolidation import Plan, Stored, helpful, plan
from recollect.learn.givingback import giving_back, released
from recollect.model import Memory, Scope
from recollect.recall.related import Related, related
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.relations import RELEASE, Rollup, Run, Step, Undone
from recollect.text import one_line

TRIES = 3  # how often a plan is made anew because others changed what it is about
_BATCH = 100  # steps in one transaction
_PAGE, _MOST_GISTS = 1_000, 100_000
_SHORTEST_ID = 6

Stop = Callable[[], bool]


class TooMuch(RecollectError):
    """More would be changed at once than may be."""

    def __init__(self, plan: Plan, share: float) -> None:
        super().__init__(
            f"{plan.changed:,} of {plan.memories:,} memories would change ({plan.share:.0%}), and at most {share:.0%} "
            "may: nothing was done",
            hint="Look at it with `recollect consolidate --dry-run`; `--share 1` lets all of it through.",
        )
        self.plan = plan


@dataclass(frozen=True, slots=True)
class Consolidated:
    """What was planned, what was done (None when nothing was), and how many steps others were quicker than."""

    plan: Plan
    run: Run | None = None
    skipped: int = 0


class Consolidation:
    """Consolidating in one scope: plan, run, undo, and what came of it."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._store, self._scope, self._settings, self._clock = store, scope, settings, clock
        self._changed = changed

    def plan(self) -> Plan:
        """What would be done now; nothing is changed."""
        return self._plan(uuid7(), self._clock())

    def run(self, share: float | None = None, stop: Stop = lambda: False) -> Consolidated:
        """Do it; TooMuch when more than this share of the memories would change, and then nothing is done."""
        most = self._settings.consolidate_share if share is None else share
        if not 0 <= most <= 1:
            raise InvalidInput("the share of memories that may change is a number from 0 to 1")
        run = Run(uuid7(), self._clock(), by=self._scope.user, project=self._scope.project)
        planned = first = self._plan(run.id, run.made_at)
        if first.is_too_much(most):
            raise TooMuch(first, most)
        run = replace(run, memories=first.memories)
        done = missed = 0
        for _ in range(TRIES):
            taken = [one for batch in _batches(planned.steps) if not stop() for one in self._apply(run, batch)]
            done += sum(taken)
            missed = len(taken) - sum(taken)
            if not missed or stop():
                break
            planned = self._plan(run.id, run.made_at)  # of what others changed meanwhile, as it is now
            if replace(planned, memories=first.memories).is_too_much(most):
                break
        if not done:
            return Consolidated(first, None, missed)
        self._changed()
        return Consolidated(first, self.find(run.id), missed)

    def undo(self, name: str) -> Undone:
        """Give back what a run changed; enough of the beginning or end of its id will do."""
        undone = self._store.consolidations.undo(self._scope, self.find(name).id, at=self._clock())
        self._changed()
        return undone

    def runs(self, limit: int = 50, offset: int = 0) -> list[Run]:
        """What was done, the latest first."""
        return self._store.consolidations.runs(self._scope, limit=limit, offset=offset)

    def find(self, name: str) -> Run:
        """A run by its id, or by the beginning or end of it; NotFound, or InvalidInput when several fit."""
        runs = self.runs(_PAGE)
        fits = [one for one in runs if one.id == name] or [
            one for one in runs if len(name) >= _SHORTEST_ID and (one.id.startswith(name) or one.id.endswith(name))
        ]
        if len(fits) > 1:
            raise InvalidInput(f"{name[:60]} fits {len(fits)} runs", hint="Give more of the id.")
        if not fits:
            raise NotFound(f"no run {name[:60]}", hint="`recollect consolidate --history` lists them.")
        return fits[0]

    def steps(self, name: str) -> list[Step]:
        """What a run changed, in words of how the memories read now."""
        steps = self._store.consolidations.steps(self._scope, self.find(name).id)
        return [replace(step, what=self._said(step)) for step in steps]

    def relations(self, memory_id: str) -> tuple[Related, ...]:
        """What a memory has to do with others, one step far; NotFound without it."""
        from recollect.pipeline.changing import found

        found(self._store, self._scope, memory_id, deleted=True)
        return related(self._store, self._scope, memory_id)

    def rollups(self) -> list[Rollup]:
        """What happened by project, week and month, and the profile of each project, from the gists of sessions."""
        return self._store.consolidations.rollups(self._scope)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _plan(self, run: str, now: datetime) -> Plan:
        store, scope = self._store, self._scope
        with store.together(scope):
            memories = {one.id: one for one in _everything(store, scope, now)}
            refused = store.consolidations.refused(scope)
            useful = timedelta(days=self._settings.archive_after_days)
            back = list(giving_back(memories.values(), refused))
            for step in back:  # what holds again is looked at like all else, in the version it will have
                one = memories[step.subject]
                memories[one.id] = replace(released(one), version=one.version + 1)
            stored = Stored(
                tuple(memories.values()),
                store.gists.recent(scope, exclude_session=None, limit=_MOST_GISTS),
                store.consolidations.relations(scope),
                store.consolidations.rollups(scope),
                refused,
                helpful(store.use.verdicts(scope, list(memories)), now, useful),
            )
            stale = self._settings.stale_after_days
            made = plan(stored, now, run, stale_days=stale, cosine=_Cosines(store, scope, now))
            counts = {**made.counts, **({RELEASE: len(back)} if back else {})}
            return replace(made, steps=(*back, *made.steps), counts=counts)

    def _apply(self, run: Run, steps: list[Step]) -> list[bool]:
        return self._store.consolidations.apply(self._scope, run, steps, at=self._clock())

    def _said(self, step: Step) -> str:
        if step.kind == "rollup":
            return f"{step.other or 'no project'}, {step.subject}"
        memory = self._store.memories.get(self._scope, step.subject)
        about = one_line(memory.content, 90) if memory is not None else step.subject
        if step.kind == "merge":
            into = self._store.memories.get(self._scope, step.other)
            return f"“{about}” is said by “{one_line(into.content, 90) if into is not None else step.other}”"
        if step.kind == "demote":
            return f"“{about}” was put away"
        if step.kind == RELEASE:
            return f"“{about}” holds again"
        counts = [len(told.get("relations", ())) for told in (step.before, step.after)]
        return f"“{about}”: {counts[0]} relations before, {counts[1]} after"


def _batches(steps: tuple[Step, ...]) -> Iterator[list[Step]]:
    for at in range(0, len(steps), _BATCH):
        yield list(steps[at : at + _BATCH])


def _everything(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    where, offset = Filter(now=now, archived=True, history=True), 0
    while page := store.memories.find(scope, where, limit=_PAGE, offset=offset):
        yield from page
        offset += len(page)


class _Cosines:
    """How near two memories are in meaning, asked of the store only where words leave it open."""

    def __init__(self, store: Store, scope: Scope, now: datetime) -> None:
        self._store, self._scope, self._now = store, scope, now
        self._docs: dict[str, int] | None = None

    def __call__(self, one: str, other: str) -> float | None:
        docs = self._numbers()
        if one not in docs or other not in docs:
            return None
        rows = self._store.search.vectors(self._scope, "memory", [docs[one], docs[other]])
        if len(rows) < 2:
            return None
        return float(rows[docs[one]][0] @ rows[docs[other]][0])

    def _numbers(self) -> dict[str, int]:
        """Which document is which memory, of those with vectors."""
        if self._docs is None:
            import numpy as np

            self._docs = {}
            search, model = self._store.search, self._store.vectors.model()
            if model is not None:
                anywhere = np.zeros(model[1], dtype=np.float32)
                known = search.population(self._scope, "memory")
                found = search.semantic(self._scope, "memory", anywhere, Filter(now=self._now), known) if known else []
                docs = sorted(match.doc for match in found)
                for at in range(0, len(docs), _PAGE):
                    page = search.documents(self._scope, "memory", docs[at : at + _PAGE])
                    self._docs |= {document.id: document.doc for document in page}
        return self._docs
