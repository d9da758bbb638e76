"""P31: what was merged into a memory is not lost with it: when that goes, or says something else, it holds again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from recollect import Recollect
from recollect.distill.values.holding import MERGED
from recollect.errors import InvalidInput
from recollect.model import Memory
from recollect.store.ports.relations import Run
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import HandClock
from tests.flow.patterns_fixture import approved, fill
from tests.flow.test_consolidating import SAME, keep, live

OTHER = "The release notes are written by hand on Fridays"


def merged(memory: Recollect, clock: HandClock) -> tuple[Memory, Memory, Run]:
    """Two wordings of two sessions, the first merged into the second."""
    for session in ("claude:s1", "claude:s2"):
        memory.record(session, "user", f"hello from {session}")
    first = keep(memory, SAME[0], kind="fact", trust="checked", session="claude:s1")
    clock.move(days=1)
    second = keep(memory, SAME[1], kind="fact", trust="user", session="claude:s2")
    run = memory.consolidate().run
    assert run is not None
    assert live(memory) == {SAME[1]}
    return memory.get(first.id), second, run


WAYS: dict[str, Callable[[Recollect, Memory], object]] = {
    "forgotten": lambda memory, kept: memory.forget(kept.id),
    "softly forgotten": lambda memory, kept: memory.forget(kept.id, soft=True),
    "its session forgotten": lambda memory, kept: memory.forget(session="claude:s2"),
    "its source revoked": lambda memory, kept: memory.revoke("claude:s2"),
    "edited": lambda memory, kept: memory.update(kept.id, content=OTHER),
}


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("way", WAYS)
def test_when_what_stayed_goes_or_changes_what_was_merged_into_it_holds_again(
    memory: Recollect, clock: HandClock, way: str
) -> None:
    gone, kept, _ = merged(memory, clock)
    WAYS[way](memory, kept)
    back = memory.get(gone.id)
    assert (back.superseded_at, back.superseded_by, MERGED in back.meta) == (None, None, False)
    assert live(memory) == {SAME[0], *([OTHER] if way == "edited" else [])}
    assert [hit.content for hit in memory.recall("run the whole test suite", tiers=("memory",)).hits][:1] == [SAME[0]]
    assert not [step for step in memory.consolidate(dry_run=True).plan.steps if step.kind in ("merge", "release")]


def test_an_edit_that_still_says_it_takes_nothing_apart(memory: Recollect, clock: HandClock) -> None:
    gone, kept, _ = merged(memory, clock)
    memory.update(kept.id, content="Please always run the whole test suite before pushing to main")
    assert memory.get(gone.id).superseded_by == kept.id


def test_what_was_corrected_does_not_come_back(memory: Recollect, clock: HandClock) -> None:
    """A value that is told anew: the old value in other words is not what holds."""
    first = keep(memory, "Postgres listens on port 5433", kind="fact", trust="checked")
    clock.move(days=1)
    kept = keep(memory, "The port of Postgres is 5433", kind="fact", trust="user")
    step = {"superseded_by": kept.id, "superseded_at": clock(), "meta": {MERGED: {"into": kept.id, "lent": []}}}
    memory.store.memories.update(memory.scope, replace(first, **step), at=clock(), note="settle")  # type: ignore[arg-type]
    memory.update(kept.id, content="The port of Postgres is 6432")
    assert live(memory) == {"The port of Postgres is 6432"}


def test_what_settling_merged_holds_again_too(memory: Recollect, clock: HandClock) -> None:
    memory.record("claude:s2", "user", "hello")
    memory.remember(SAME[0], kind="fact", origin="web")
    clock.move(days=1)
    memory.remember(SAME[1], kind="fact", origin="web", session="claude:s2")
    assert live(memory) == {SAME[1]}
    memory.forget(session="claude:s2")
    assert live(memory) == {SAME[0]}


def test_taking_a_rule_back_gives_back_what_the_user_had_said(memory: Recollect, clock: HandClock) -> None:
    fill(memory)
    pattern = memory.patterns.edit(approved(memory).id, rule="Please always run the whole test suite before a push")
    memory.patterns.roll_out(pattern.id, "memory")
    before = clock() - timedelta(days=3)
    own = keep(memory, "Run the whole test suite before a push", kind="note", trust="checked", occurred_at=before)
    run = memory.consolidate().run
    assert run is not None
    assert memory.get(own.id).superseded_at is not None
    memory.patterns.roll_back(pattern.id)
    assert memory.get(own.id).superseded_at is None


# -- forgetting other wordings too -------------------------------------------------------------------------------------


def test_the_receipt_names_the_wordings_that_hold_again(memory: Recollect, clock: HandClock) -> None:
    gone, kept, _ = merged(memory, clock)
    receipt = memory.forget(kept.id)
    assert not receipt.complete
    assert any(gone.id in place for place in receipt.remains)
    assert receipt.counts["memories"] == 1


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("soft", [False, True], ids=["for good", "softly"])
def test_other_wordings_go_too_when_that_is_wanted(memory: Recollect, clock: HandClock, soft: bool) -> None:
    gone, kept, run = merged(memory, clock)
    third = keep(memory, "Run the whole test suite, before pushing to main!", kind="fact", trust="quoted")
    mark = {"superseded_by": gone.id, "superseded_at": clock(), "meta": {MERGED: {"into": gone.id, "lent": []}}}
    memory.store.memories.update(memory.scope, replace(third, **mark), at=clock(), note="settle")  # type: ignore[arg-type]
    receipt = memory.forget(kept.id, soft=soft, with_merged=True)
    assert receipt.counts["memories"] == 3
    assert not any("wording" in place for place in receipt.remains)
    assert live(memory) == set()
    assert memory.recall("run the whole test suite", tiers=("memory",), history=True, abstain=False).hits == ()
    memory.consolidation.undo(run.id)
    assert live(memory) == set(), "undoing brings nothing back that was forgotten"


def test_the_command_names_them_and_takes_them_too(cli: Cli, memory: Recollect, clock: HandClock) -> None:
    gone, kept, _ = merged(memory, clock)
    data = ("--data-dir", str(memory.settings.data_dir))
    said = cli("forget", kept.id, "--dry-run", *data)
    assert gone.id[-8:] in said.out
    assert "--with-merged" in said.out
    assert cli("forget", "--all", "--with-merged", "--dry-run", *data).code == 2
    done = cli("forget", kept.id, "--with-merged", "--yes", *data)
    assert "2 memories" in done.out
    assert live(memory) == set()


def test_the_command_says_what_holds_again(cli: Cli, memory: Recollect, clock: HandClock) -> None:
    gone, kept, _ = merged(memory, clock)
    done = cli("forget", kept.id, "--yes", "--data-dir", str(memory.settings.data_dir))
    assert f"There is still memory {gone.id}" in done.out
    assert "No byte of it is left" not in done.out


# -- what was lost before, or by other ways ----------------------------------------------------------------------------


def lost(memory: Recollect, gone: Memory, **changes: object) -> None:
    """As programs before this one left it: merged into something that is not there."""
    mark = {"into": "01a1e555-2ad8-7832-a3cb-40b10decf999", "lent": [], "run": "r"}
    left = replace(gone, superseded_by=None, meta={**gone.meta, MERGED: mark}, **changes)  # type: ignore[arg-type]
    memory.store.memories.update(memory.scope, left, at=memory._clock(), note="test")


@pytest.mark.usefixtures("each_store")
def test_consolidating_gives_back_what_was_lost_and_undoing_takes_that_back(
    memory: Recollect, clock: HandClock
) -> None:
    gone = keep(memory, SAME[0], kind="fact")
    keep(memory, OTHER, kind="fact")
    lost(memory, gone, superseded_at=clock())
    before = memory.get(gone.id)
    planned = memory.consolidate(dry_run=True).plan
    assert (planned.counts["release"], planned.changed) == (1, 0), "the guard is for what goes"
    run = memory.consolidate().run
    assert run is not None
    assert "1 given back" in run.what
    assert live(memory) == {SAME[0], OTHER}
    assert memory.consolidate().run is None, "twice changes nothing more"
    memory.consolidation.undo(run.id)
    assert replace(memory.get(gone.id), version=0) == replace(before, version=0)
    assert memory.consolidate().plan.counts.get("release") is None, "what was undone is not done again"


def test_what_is_given_back_may_be_merged_into_another_at_once(memory: Recollect, clock: HandClock) -> None:
    gone = keep(memory, SAME[0], kind="fact", trust="checked")
    lost(memory, gone, superseded_at=clock())
    kept = keep(memory, SAME[1], kind="fact", trust="user")
    run = memory.consolidate().run
    assert run is not None
    assert (run.counts.get("release"), run.counts.get("merge")) == (1, 1)
    assert memory.get(gone.id).superseded_by == kept.id
    assert memory.consolidate().run is None


def test_what_was_edited_by_other_ways_is_seen_when_consolidating(memory: Recollect, clock: HandClock) -> None:
    gone, kept, _ = merged(memory, clock)
    memory.store.memories.update(memory.scope, replace(memory.get(kept.id), content=OTHER), at=clock(), note="update")
    assert live(memory) == {OTHER}
    run = memory.consolidate().run
    assert run is not None
    assert run.counts.get("release") == 1
    assert live(memory) == {SAME[0], OTHER}
    assert memory.get(gone.id).superseded_by is None


def test_a_text_that_somebody_said_again_is_not_given_back(memory: Recollect, clock: HandClock) -> None:
    gone = keep(memory, SAME[0], kind="fact")
    lost(memory, gone, superseded_at=clock())
    keep(memory, SAME[0], kind="fact")
    assert "release" not in memory.consolidate().plan.counts


def test_the_command_shows_what_is_given_back(cli: Cli, memory: Recollect, clock: HandClock) -> None:
    gone = keep(memory, SAME[0], kind="fact")
    lost(memory, gone, superseded_at=clock())
    shown = cli("consolidate", "--dry-run", "--data-dir", str(memory.settings.data_dir)).out
    assert "Given back" in shown
    assert f"+ {gone.id[-8:]}" in shown


def test_only_a_memory_has_wordings(memory: Recollect) -> None:
    with pytest.raises(InvalidInput):
        memory.forget(session="s1", with_merged=True)
