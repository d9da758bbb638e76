"""P31, P32 as a state machine: whatever is said, edited, forgotten, consolidated and undone, in whatever order.

No row is lost, no text changes but by who edits it, nobody is trusted more, nothing crosses projects; consolidating
twice does no more, undoing restores what was, and what was forgotten stands in no journal.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as how
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from recollect.distill.values.holding import MERGED
from recollect.distill.values.sayings import rank_of
from recollect.errors import Conflict, NotFound
from recollect.ids import uuid7
from recollect.model import TRUSTS, Gist, Memory, Scope
from recollect.pipeline.changing import found
from recollect.pipeline.consolidating import Consolidation
from recollect.pipeline.revoking import bring_back
from recollect.pipeline.settling import settle
from recollect.settings import Settings
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import memory as made
from tests.contract.samples import talk

ANN = Scope("local", "ann")
PROJECTS = (None, "tide", "moon")
TEXTS = (
    "Run the whole test suite before pushing to main",
    "Always run the whole test suite before pushing to main",
    "Run the whole test suites before pushing to main please",
    "Never run the whole test suite before pushing to main",
    "The deploy script lives in `ops/deploy.sh`",
    "Deploy script lives in `ops/deploy.sh`",
    "Call `ops/deploy.sh` by hand",
    "somebody looked at the old harbour lamp",
    "somebody looked at the old harbour lamps",
    "Postgres runs on port 5433",
    "Postgres runs on port 5432",
)
Text, Project = st.sampled_from(TEXTS), st.sampled_from(PROJECTS)
Kind = st.sampled_from(["fact", "event", "note"])
Which = st.integers(0, 99)


class Consolidating(RuleBasedStateMachine):
    """A store, and beside it what was said in it and not forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory(prefix="recollect-consolidating-")
        self.settings = Settings(data_dir=Path(self.place.name))
        self.store = SqliteStore(self.settings.data_dir)
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.texts: dict[str, str] = {}  # by id, of what must be there
        self.projects: dict[str, str | None] = {}
        self.trusts: dict[str, str] = {}
        self.forgotten: list[str] = []
        self.sessions = 0

    def teardown(self) -> None:
        self.store.close()
        self.place.cleanup()

    def clock(self) -> datetime:
        return self.now

    @property
    def consolidation(self) -> Consolidation:
        return Consolidation(self.store, ANN, self.settings, self.clock)

    def state(self) -> dict[str, Memory]:
        where = Filter(now=self.now, archived=True, history=True)
        ids = [one.id for one in self.store.memories.find(ANN, where, limit=999)]
        rows = [self.store.memories.get(ANN, id_) for id_ in {*ids, *self.texts}]
        return {one.id: replace(one, version=0) for one in rows if one is not None}

    def learn(self) -> None:
        """What settling added or trusts more than before is known from here on; consolidating comes by no other way."""
        for one in self.state().values():
            self.texts[one.id], self.projects[one.id], self.trusts[one.id] = one.content, one.project, one.trust

    def one(self, which: int) -> str | None:
        ids = sorted(self.texts)
        return ids[which % len(ids)] if ids else None

    @initialize(given=st.lists(st.tuples(Text, Project, st.sampled_from(TRUSTS), Kind), min_size=6, max_size=14))
    def begin(self, given: list[tuple[str, str | None, str, str]]) -> None:
        """Something is there already, so that there is something to merge."""
        for text, project, trust, kind in given:
            self.load(text, project, trust, kind)

    # -- what people do ------------------------------------------------------------------------------------------------

    @rule(text=Text, project=Project, trust=st.sampled_from(TRUSTS), kind=Kind)
    def load(self, text: str, project: str | None, trust: str, kind: str) -> None:
        """As an import does: nothing is settled."""
        origin, maker = ("user", "said") if trust == "user" else ("assistant", "rules")
        given = {"kind": kind, "trust": trust, "origin": origin, "maker": maker, "project": project}
        one = made(text, **given, id=uuid7(), occurred_at=self.now, recorded_at=self.now)
        self.store.memories.add(ANN.within(project), one)
        self.learn()

    @rule(text=Text, project=Project)
    def say(self, text: str, project: str | None) -> None:
        one = made(text, project=project, occurred_at=self.now, recorded_at=self.now, trust="user")
        settle(self.store, ANN.within(project), one, self.clock)
        self.learn()

    @rule(which=Which, text=Text)
    def edit(self, which: int, text: str) -> None:
        self._edit(which, text)

    def _edit(self, which: int, text: str) -> None:
        id_ = self.one(which)
        memory = None if id_ is None else self.store.memories.get(ANN, id_)
        if memory is not None and memory.content and memory.deleted_at is None:
            try:
                self.store.memories.update(ANN, replace(memory, content=text), at=self.now, note="update")
            except Conflict:  # another says so
                return
            self.texts[memory.id] = text

    @rule(which=Which)
    def forget_softly(self, which: int) -> None:
        id_ = self.one(which)
        if id_ is not None:
            memory = found(self.store, ANN, id_, deleted=True)
            self.store.memories.update(ANN, replace(memory, deleted_at=self.now), at=self.now, note="delete")

    @rule(which=Which)
    def forget(self, which: int) -> None:
        id_ = self.one(which)
        if id_ is not None:
            self.store.keeping.forget_memory(ANN, id_, at=self.now)
            self.forgotten.append(id_)
            del self.texts[id_]

    @rule(which=Which)
    def take_apart(self, which: int) -> None:
        id_ = self.one(which)
        if id_ is not None:
            try:
                bring_back(self.store, ANN, id_, self.clock)
            except (Conflict, NotFound):
                return
            self.learn()

    @rule(which=Which)
    def read(self, which: int) -> None:
        if (id_ := self.one(which)) is not None:
            self.store.memories.touch(ANN, {id_: 1}, at=self.now)

    @rule(project=Project)
    def hold_a_session(self, project: str | None) -> None:
        self.sessions += 1
        session, words = f"s{self.sessions}", f"The user asked about walrus{self.sessions} in the harbour."
        self.store.sessions.append(ANN.within(project), talk(session, words))
        self.store.gists.put(ANN.within(project), Gist(session, words, 0, self.now, self.now))

    @precondition(lambda self: self.sessions)
    @rule(which=Which)
    def forget_a_session(self, which: int) -> None:
        session = f"s{1 + which % self.sessions}"
        if self.store.sessions.get(ANN, session) is not None:
            self.store.keeping.forget_session(ANN, session, at=self.now)
            name = f"walrus{1 + which % self.sessions} "
            assert all(name not in one.content for one in self.store.consolidations.rollups(ANN))
            assert name not in self.journal()

    @rule(days=st.sampled_from([1, 40, 120]))
    def wait(self, days: int) -> None:
        self.now += timedelta(days=days)

    # -- consolidating -------------------------------------------------------------------------------------------------

    @rule()
    def consolidate(self) -> None:
        self.consolidation.run(share=1.0)
        assert self.consolidation.plan().steps == (), "twice does no more"

    @rule(which=Which, text=Text)
    def consolidate_while_somebody_edits(self, which: int, text: str) -> None:
        edits: list[Callable[[], None]] = [lambda: self._edit(which, text)]

        def stop() -> bool:
            if edits:
                edits.pop()()
            return False

        self.consolidation.run(share=1.0, stop=stop)

    @rule()
    def consolidate_and_undo(self) -> None:
        before = self.state()
        relations, rollups = self.store.consolidations.relations(ANN), self.store.consolidations.rollups(ANN)
        done = self.consolidation.run(share=1.0).run
        if done is not None:
            undone = self.consolidation.undo(done.id)
            assert undone.kept == ()
            assert self.state() == before
            assert self.store.consolidations.relations(ANN) == relations
            assert self.store.consolidations.rollups(ANN) == rollups

    @rule(which=Which)
    def undo(self, which: int) -> None:
        runs = [run for run in self.consolidation.runs() if run.undone_at is None]
        if runs:
            self.consolidation.undo(runs[which % len(runs)].id)

    def journal(self) -> str:
        runs = self.store.consolidations.runs(ANN, limit=999)
        steps = [step for run in runs for step in self.store.consolidations.steps(ANN, run.id)]
        return json.dumps([[step.kind, step.subject, step.before, step.after] for step in steps])

    # -- what always holds ---------------------------------------------------------------------------------------------

    @invariant()
    def no_row_is_lost_and_no_text_changed(self) -> None:
        state = self.state()
        assert {id_: one.content for id_, one in state.items()} == self.texts

    @invariant()
    def nobody_is_trusted_more_and_nothing_left_its_project(self) -> None:
        for id_, one in self.state().items():
            assert rank_of(one.trust) <= rank_of(self.trusts[id_])
            assert one.project == self.projects[id_]
            if one.superseded_by is not None:
                assert self.projects.get(one.superseded_by) == one.project

    @invariant()
    def what_was_merged_is_said_by_something_that_is_there(self) -> None:
        state = self.state()
        for one in state.values():
            if MERGED in one.meta and one.deleted_at is None:
                into = state.get(one.superseded_by or "")
                assert into is not None
                assert into.deleted_at is None

    @invariant()
    def what_was_forgotten_is_in_no_journal(self) -> None:
        steps = json.loads(self.journal())
        assert not {step[1] for step in steps if step[0] != "rollup"} & set(self.forgotten)
        ends = {end for one in self.store.consolidations.relations(ANN) for end in (one.source, one.target)}
        assert not ends & set(self.forgotten)


def check(examples: int, steps: int) -> None:
    given = how(
        max_examples=examples, stateful_step_count=steps, suppress_health_check=list(HealthCheck), deadline=None
    )
    run_state_machine_as_test(Consolidating, settings=given)


def test_nothing_is_lost_by_consolidating() -> None:
    check(20, 10)


@pytest.mark.soak
def test_nothing_is_lost_in_500_histories() -> None:
    check(500, 30)
