"""The catalogue: what was found is kept under ids that stay, and what a person said of it holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from recollect import Recollect, Scope
from recollect.errors import Conflict, InvalidInput, NotFound, ScopeError
from tests.flow.memory_fixture import HandClock
from tests.flow.patterns_fixture import approved, fill, found, keep, missing_go
from tests.unit.learn.learning_fixture import stale_edit


def test_what_repeats_is_kept_with_what_shows_it(memory: Recollect) -> None:
    """S3.30: and the evidence is there to look at."""
    fill(memory)
    done = memory.patterns.refresh()
    assert (done.sessions, len(done.new)) == (6, 2)
    first, second = memory.patterns.find()
    assert first.cross_flavor
    assert (first.state, first.version, first.sessions, first.flavors) == ("candidate", 1, 3, ("claude", "codex"))
    assert [one.session for one in memory.patterns.evidence(first.id)] == ["codex:c", "codex:b", "claude:a"]
    assert memory.patterns.evidence(first.id)[0].events
    assert second.projects == ("other",)
    assert first.id == memory.detect().candidates[0].id


def test_looking_again_changes_nothing_and_new_sessions_change_the_counts(memory: Recollect) -> None:
    fill(memory)
    before = found(memory)
    again = memory.patterns.refresh()
    assert (again.new, again.changed, again.gone) == ([], [], [])
    keep(memory, stale_edit("d", day=4))
    assert memory.patterns.refresh().changed == [before.id]
    after = memory.patterns.get(before.id)
    assert (after.sessions, after.version) == (4, 1)
    assert after.last_seen > before.last_seen


def test_a_candidate_that_nothing_shows_any_more_goes_and_a_decision_stays(memory: Recollect) -> None:
    fill(memory)
    stays, goes = approved(memory), found(memory, "`go` is not found")
    for session in ("claude:a", "codex:b", "claude:p0"):
        memory.forget(session=session)
    memory.patterns.refresh()
    assert [one.id for one in memory.patterns.find()] == [stays.id]
    with pytest.raises(NotFound):
        memory.patterns.get(goes.id)
    assert [one.session for one in memory.patterns.evidence(stays.id)] == ["codex:c"]


def test_a_decision_keeps_who_and_why(memory: Recollect, clock: HandClock) -> None:
    """S3.40: versioned, with reviewer and reason."""
    fill(memory)
    pattern = found(memory)
    memory.patterns.approve(pattern.id, "every week")
    clock.move(hours=1)
    memory.patterns.edit(pattern.id, rule="Read the file again before each edit.", reason="shorter")
    clock.move(hours=1)
    done = memory.patterns.retire(pattern.id, "the agents do it by themselves now")
    assert (done.state, done.version, done.reviewer) == ("retired", 4, memory.scope.user)
    told = memory.patterns.history(pattern.id)
    assert [(one.version, one.change, one.state, one.reason) for one in told] == [
        (1, "found", "candidate", None),
        (2, "approve", "approved", "every week"),
        (3, "edit", "approved", "shorter"),
        (4, "retire", "retired", "the agents do it by themselves now"),
    ]
    assert told[1].rule == pattern.rule
    assert told[2].rule == "Read the file again before each edit."
    assert {one.actor for one in told[1:]} == {memory.scope.user}


def test_wording_that_was_decided_on_is_not_written_over(memory: Recollect) -> None:
    fill(memory)
    memory.patterns.approve(found(memory).id, rule="Look before you edit.", statement="Edits miss.")
    keep(memory, stale_edit("d", "gemini", day=5))
    memory.patterns.refresh()
    one = memory.patterns.find("approved")[0]
    assert (one.rule, one.statement, one.sessions) == ("Look before you edit.", "Edits miss.", 4)


@pytest.mark.parametrize(
    ("more", "state"),
    [
        pytest.param([("d", "claude"), ("e", "codex")], "rejected", id="some more of the same"),
        pytest.param([("d", "claude"), ("e", "codex"), ("f", "codex")], "candidate", id="twice as many sessions"),
        pytest.param([("d", "gemini")], "candidate", id="another agent"),
    ],
)
def test_what_was_rejected_stays_so_until_much_more_shows_it(
    memory: Recollect, more: list[tuple[str, str]], state: str
) -> None:
    """S3.40: not shown again each week."""
    fill(memory)
    pattern = memory.patterns.reject(found(memory).id, "one of a kind")
    keep(memory, *(stale_edit(name, flavor, day=5) for name, flavor in more))
    done = memory.patterns.refresh()
    assert memory.patterns.get(pattern.id).state == state
    assert done.reopened == ([pattern.id] if state == "candidate" else [])
    assert memory.patterns.history(pattern.id)[-1].change == ("reopened" if state == "candidate" else "reject")
    assert memory.patterns.refresh().reopened == [], "once"


def test_what_was_merged_counts_where_it_went(memory: Recollect) -> None:
    fill(memory)
    gone, home = found(memory), found(memory, "`go` is not found")
    memory.patterns.approve(home.id)
    done = memory.patterns.merge(gone.id, home.id, "both are haste")
    assert (done.sessions, done.flavors, done.projects) == (6, ("claude", "codex"), ("app", "other"))
    assert gone.id in done.aliases
    merged = memory.patterns.get(gone.id)
    assert (merged.state, merged.merged_into) == ("merged", home.id)
    keep(memory, stale_edit("d", day=5), missing_go("p9", day=5))
    memory.patterns.refresh()
    assert memory.patterns.get(home.id).sessions == 8
    assert memory.patterns.get(gone.id) == merged
    assert {one.id for one in memory.patterns.find() if one.kind in (gone.kind, home.kind)} == {gone.id, home.id}
    assert len(memory.patterns.evidence(home.id)) == 8
    for decide in (
        lambda: memory.patterns.approve(gone.id),
        lambda: memory.patterns.reject(gone.id),
        lambda: memory.patterns.edit(gone.id, rule="Do otherwise."),
    ):
        with pytest.raises(Conflict, match="merged into"):
            decide()
    assert memory.patterns.get(gone.id) == merged
    with pytest.raises(InvalidInput, match="itself"):
        memory.patterns.merge(home.id, home.id)


def test_what_is_merged_is_trusted_as_the_weaker(memory: Recollect) -> None:
    """What was only observed gains nothing by being merged into what a person said."""
    fill(memory)
    gone, home = found(memory), found(memory, "`go` is not found")
    memory.store.patterns.put(memory.scope, replace(gone, trust="observed"), at=gone.last_seen, was=1)
    assert memory.patterns.merge(gone.id, home.id).trust == "observed"


def test_what_was_merged_is_not_trusted_more_when_only_the_better_vouched_for_still_shows(memory: Recollect) -> None:
    fill(memory)
    gone, home = found(memory), found(memory, "`go` is not found")
    memory.store.patterns.put(memory.scope, replace(gone, trust="observed"), at=gone.last_seen, was=1)
    memory.patterns.approve(home.id, rule="Install go before anything else.")
    memory.patterns.merge(gone.id, home.id)
    for one in memory.patterns.evidence(gone.id):
        memory.forget(session=one.session)
    keep(memory, missing_go("p9", day=5))
    memory.patterns.refresh()
    kept = memory.patterns.get(home.id)
    assert (kept.trust, kept.state) == ("observed", "approved")


def test_an_id_may_be_shortened(memory: Recollect) -> None:
    fill(memory)
    pattern = found(memory)
    assert memory.patterns.get(pattern.id[:6]) == pattern
    with pytest.raises(NotFound):
        memory.patterns.get("zzzz")
    with pytest.raises(NotFound):
        memory.patterns.get(pattern.id[:3])


def test_secrets_are_taken_out_of_what_a_reviewer_types(memory: Recollect) -> None:
    fill(memory)
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    done = memory.patterns.approve(found(memory).id, f"see {key}", rule=f"Use {key} here.")
    assert key not in str(done)
    assert key not in str(memory.patterns.history(done.id))


def test_patterns_are_found_over_all_projects(memory: Recollect, opened: Callable[..., Recollect]) -> None:
    fill(memory)
    found(memory)
    inside = opened(Scope(memory.scope.tenant, memory.scope.user, "app"))
    assert [one.projects for one in inside.patterns.find()] == [("app",)]
    with pytest.raises(ScopeError):
        inside.patterns.refresh()


def test_the_export_is_the_same_for_the_same_catalogue_and_names_no_session(memory: Recollect) -> None:
    """S3.40: a catalogue that can lie in a repository."""
    fill(memory)
    approved(memory)
    files = memory.patterns.export()
    assert files == memory.patterns.export()
    data = json.loads(files["patterns.json"])
    assert [one["state"] for one in data["patterns"]] == ["approved"]
    assert data["patterns"][0]["history"][1]["reason"] == "seen often"
    assert b"Read the lines to be changed again" in files["patterns.md"]
    for content in files.values():
        assert b"codex:b" not in content
        assert b"/w/app" not in content
    assert len(json.loads(memory.patterns.export(None)["patterns.json"])["patterns"]) == 2


def test_somebody_elses_catalogue_is_unknown(memory: Recollect, opened: Callable[..., Recollect]) -> None:
    fill(memory)
    mine = approved(memory)
    other = opened(Scope(memory.scope.tenant, "eve"))
    assert other.patterns.find() == []
    with pytest.raises(NotFound):
        other.patterns.roll_back(mine.id)
