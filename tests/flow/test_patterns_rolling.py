"""An approved pattern is put before agents and taken back: byte for byte, and never as more than it is."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from recollect import Recollect
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.inject.ruleblock import EditedByHand, rules_in
from recollect.pipeline.rolling import INSTRUCTIONS
from recollect.store.ports.learn import TARGETS, Pattern
from recollect.store.ports.memories import Filter
from tests.contract.samples import memory as made
from tests.flow.memory_fixture import HandClock
from tests.flow.patterns_fixture import approved, fill, found, tree

LATER = datetime(2030, 1, 1, tzinfo=UTC)
FILES = {"agents-md": "AGENTS.md", "claude-md": "CLAUDE.md"}


@pytest.fixture
def place(own_home: Path) -> Path:
    """A project with a file of the user's."""
    folder = own_home / "app"
    (folder / ".git").mkdir(parents=True)
    (folder / "AGENTS.md").write_bytes(b"# App\r\n\r\nBe kind.")
    return folder


@pytest.fixture
def pattern(memory: Recollect) -> Pattern:
    fill(memory)
    return approved(memory)


@pytest.mark.parametrize("to", INSTRUCTIONS)
@pytest.mark.parametrize("everywhere", [False, True], ids=["project", "user"])
def test_roll_back_gives_back_every_byte(
    memory: Recollect, pattern: Pattern, place: Path, own_home: Path, to: str, everywhere: bool
) -> None:
    """S3.41: files and directories that were made for it go too."""
    where: dict[str, Any] = {"directory": None if everywhere else place}
    before = tree(own_home)
    planned = memory.patterns.roll_out(pattern.id, to, dry_run=True, **where)
    assert planned.changed
    assert "+" in planned.diff
    assert tree(own_home) == before, "a dry run changes nothing"
    done = memory.patterns.roll_out(pattern.id, to, **where)
    assert done.diff == planned.diff
    after = tree(own_home)
    assert "Read the lines to be changed again" in Path(done.place).read_text()
    assert not memory.patterns.roll_out(pattern.id, to, **where).changed, "twice is once"
    assert tree(own_home) == after
    assert len(memory.patterns.rollouts(pattern.id)) == 1
    (back,) = memory.patterns.roll_back(pattern.id, reason="of no use")
    assert back.changed
    assert tree(own_home) == before
    assert [(one.state, one.reason) for one in memory.patterns.rollouts(pattern.id)] == [("out", "of no use")]


@pytest.mark.parametrize("to", FILES)
def test_an_empty_file_of_the_users_stays(memory: Recollect, pattern: Pattern, place: Path, to: str) -> None:
    path = place / FILES[to]
    path.write_bytes(b"")
    memory.patterns.roll_out(pattern.id, to, directory=place)
    memory.patterns.roll_back(pattern.id)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("to", FILES)
def test_what_the_user_wrote_meanwhile_stays(memory: Recollect, pattern: Pattern, place: Path, to: str) -> None:
    path = place / FILES[to]
    path.write_bytes(b"# Mine\n")
    memory.patterns.roll_out(pattern.id, to, directory=place)
    path.write_bytes(b"Before.\n" + path.read_bytes() + b"Behind.\n")
    memory.patterns.roll_back(pattern.id)
    assert path.read_bytes() == b"Before.\n# Mine\nBehind.\n"


def test_a_block_that_was_edited_by_hand_is_refused_and_nothing_changes(
    memory: Recollect, pattern: Pattern, place: Path
) -> None:
    path = place / "AGENTS.md"
    memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    edited = path.read_bytes().replace(b"Read the lines", b"Never read the lines")
    path.write_bytes(edited)
    with pytest.raises(EditedByHand) as refused:
        memory.patterns.roll_back(pattern.id)
    assert "--force" in str(refused.value.hint)
    assert path.read_bytes() == edited
    assert memory.patterns.rollouts(pattern.id)[0].state == "in"
    memory.patterns.roll_back(pattern.id, force=True)
    theirs = str(pattern.rule).replace("Read the lines", "Never read the lines")
    assert path.read_bytes() == f"# App\r\n\r\nBe kind.\r\n- {theirs}\r\n".encode(), "in the user's words it stays"


def test_rolling_out_by_force_keeps_a_rule_in_the_users_words(memory: Recollect, pattern: Pattern, place: Path) -> None:
    path = place / "CLAUDE.md"
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    path.write_bytes(path.read_bytes().replace(b"exactly.", b"exactly. Never touch vendor/!"))
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place, force=True)
    assert rules_in(path.read_bytes()) == {pattern.id: pattern.rule}
    memory.patterns.roll_back(pattern.id)
    assert path.read_text() == f"- {pattern.rule} Never touch vendor/!\n"


def test_a_skill_that_was_edited_by_hand_is_kept_beside(memory: Recollect, pattern: Pattern, place: Path) -> None:
    done = memory.patterns.roll_out(pattern.id, "skill", directory=place)
    path = Path(done.place)
    path.write_text(path.read_text() + "And my own words.\n")
    with pytest.raises(EditedByHand):
        memory.patterns.roll_back(pattern.id)
    memory.patterns.roll_back(pattern.id, force=True)
    assert not path.exists()
    assert (path.parent / "SKILL.md.edited").read_text().endswith("And my own words.\n")


def test_every_version_of_the_users_is_kept(memory: Recollect, pattern: Pattern, place: Path) -> None:
    """Also the second time, and the third: none is written over by the next."""
    names = []
    for words in ("One.", "Two.", "Three."):
        path = Path(memory.patterns.roll_out(pattern.id, "skill", directory=place).place)
        path.write_text(f"{path.read_text()}{words}\n")
        (done,) = memory.patterns.roll_back(pattern.id, force=True)
        name = str(done.note).removeprefix("your version is kept as ")
        assert (path.parent / name).read_text().endswith(f"{words}\n")
        names.append(name)
    assert names == ["SKILL.md.edited", "SKILL.md.edited-2", "SKILL.md.edited-3"]


def test_by_force_a_skill_is_written_anew_and_the_users_version_kept(
    memory: Recollect, pattern: Pattern, place: Path
) -> None:
    path = Path(memory.patterns.roll_out(pattern.id, "skill", directory=place).place)
    path.write_text(path.read_text() + "And my own words.\n")
    memory.patterns.edit(pattern.id, rule="Look, then edit.")
    with pytest.raises(EditedByHand, match="edited by hand"):
        memory.patterns.roll_out(pattern.id, "skill", directory=place)
    done = memory.patterns.roll_out(pattern.id, "skill", directory=place, force=True)
    assert (done.changed, done.note) == (True, "your version is kept as SKILL.md.edited")
    assert "Look, then edit." in path.read_text()
    assert (path.parent / "SKILL.md.edited").read_text().endswith("And my own words.\n")
    assert [one.state for one in memory.patterns.rollouts(pattern.id)] == ["out", "in"]


def test_a_directory_that_is_no_project_is_not_everywhere(memory: Recollect, pattern: Pattern, own_home: Path) -> None:
    """The home directory is nobody's project: a rule put there was taken for one of all of them, and back as one."""
    memory.patterns.roll_out(pattern.id, "claude-md")
    before = tree(own_home)
    for to in TARGETS:
        with pytest.raises(InvalidInput, match="no project") as refused:
            memory.patterns.roll_out(pattern.id, to, directory=own_home)
        assert "--everywhere" in str(refused.value.hint)
    with pytest.raises(InvalidInput, match="no project"):
        memory.patterns.roll_back(pattern.id, directory=own_home)
    assert tree(own_home) == before
    assert [one.state for one in memory.patterns.rollouts(pattern.id)] == ["in"]


@pytest.mark.parametrize("to", FILES)
def test_a_new_file_of_a_project_is_as_the_umask_says(
    memory: Recollect, pattern: Pattern, place: Path, to: str
) -> None:
    """It is read by whoever works there, like every other file."""
    (place / "AGENTS.md").unlink()
    before = os.umask(0o022)
    try:
        done = memory.patterns.roll_out(pattern.id, to, directory=place)
    finally:
        os.umask(before)
    assert stat.S_IMODE(Path(done.place).stat().st_mode) == 0o644


def test_what_failed_was_never_rolled_out(memory: Recollect, pattern: Pattern, place: Path, clock: HandClock) -> None:
    """Its time is not the time of the roll-out that came after it."""
    path = place / "AGENTS.md"
    path.chmod(0o444)
    with pytest.raises(InvalidInput, match="read-only"):
        memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    (failed,) = memory.patterns.rollouts(pattern.id)
    assert (failed.state, failed.ended_at) == ("out", failed.begun_at)
    assert "read-only" in str(failed.reason)
    assert memory.patterns.measure() == []
    path.chmod(0o644)
    clock.move(days=20)
    memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    assert [one.begun_at for one in memory.patterns.rollouts(pattern.id) if one.state == "in"] == [clock()]


@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
def test_who_was_killed_counts_from_when_the_file_was_written(
    memory: Recollect, pattern: Pattern, place: Path, clock: HandClock, written: bool
) -> None:
    begun = clock()
    done = memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    (one,) = memory.patterns.rollouts()
    memory.store.patterns.put_rollout(memory.scope, replace(one, state="begun"))
    if not written:
        Path(done.place).unlink()
    clock.move(days=5)
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    (again,) = memory.patterns.rollouts()
    assert (again.state, again.begun_at) == ("in", begun if written else clock())


def test_only_directories_above_the_file_are_taken_away(memory: Recollect, pattern: Pattern, place: Path) -> None:
    """A roll-out that was imported may name any directory as made for it."""
    other = place.parent / "other" / "empty"
    other.mkdir(parents=True)
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    (one,) = memory.patterns.rollouts()
    named = (*one.made, str(other), str(other.parent), str(place.parent / "never"))
    memory.store.patterns.put_rollout(memory.scope, replace(one, made=named))
    memory.patterns.roll_back(pattern.id)
    assert other.is_dir()
    assert not (place / "CLAUDE.md").exists()
    begun = replace(one, id="imported", state="begun", made=named)
    memory.store.patterns.put_rollout(memory.scope, begun)
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    assert not (place.parent / "never").exists()


def test_somebody_elses_skill_is_never_touched(memory: Recollect, pattern: Pattern, place: Path) -> None:
    planned = memory.patterns.roll_out(pattern.id, "skill", directory=place, dry_run=True)
    path = Path(planned.place)
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: mine\n---\n")
    for force in (False, True):
        with pytest.raises(EditedByHand, match="another skill"):
            memory.patterns.roll_out(pattern.id, "skill", directory=place, force=force)
    assert path.read_text() == "---\nname: mine\n---\n"


def test_only_what_was_approved_is_rolled_out(memory: Recollect, place: Path) -> None:
    fill(memory)
    candidate = found(memory)
    for to in TARGETS:
        with pytest.raises(InvalidInput, match="not approved"):
            memory.patterns.roll_out(candidate.id, to, directory=place)
    assert (place / "AGENTS.md").read_bytes() == b"# App\r\n\r\nBe kind."


@pytest.mark.parametrize("to", INSTRUCTIONS)
def test_what_was_only_observed_is_never_an_instruction(
    memory: Recollect, pattern: Pattern, place: Path, to: str
) -> None:
    """T01, T02: not even in a reviewer's words."""
    seen = replace(pattern, trust="observed")
    memory.store.patterns.put(memory.scope, seen, at=pattern.last_seen, was=pattern.version)
    memory.patterns.edit(pattern.id, rule="Always do it.")
    before = tree(place)
    with pytest.raises(InvalidInput, match="only observed"):
        memory.patterns.roll_out(pattern.id, to, directory=place, force=True)
    assert tree(place) == before
    assert memory.patterns.rollouts() == []


@pytest.mark.parametrize(
    ("trust", "kept"), [("user", "user"), ("outcome", "checked"), ("observed", "quoted")], ids=lambda one: one
)
def test_as_a_memory_it_is_trusted_as_it_is(
    memory: Recollect, pattern: Pattern, place: Path, trust: str, kept: str
) -> None:
    memory.store.patterns.put(memory.scope, replace(pattern, trust=trust), at=pattern.last_seen, was=pattern.version)
    planned = memory.patterns.roll_out(pattern.id, "memory", directory=place, dry_run=True)
    assert planned.changed
    assert memory.memories() == []
    done = memory.patterns.roll_out(pattern.id, "memory", directory=place)
    (one,) = memory.memories()
    assert (one.id, one.kind, one.trust, one.meta["pattern"]) == (done.place, "lesson", kept, pattern.id)
    assert one.content == (pattern.statement if trust == "observed" else pattern.rule)
    assert one.project == done.project
    assert not memory.patterns.roll_out(pattern.id, "memory", directory=place).changed
    memory.patterns.roll_back(pattern.id)
    assert memory.memories() == []


def test_a_memory_that_was_there_before_stays(memory: Recollect, pattern: Pattern) -> None:
    assert pattern.rule is not None
    own = memory.remember(pattern.rule, kind="lesson")
    done = memory.patterns.roll_out(pattern.id, "memory")
    assert done.place == own.id
    memory.patterns.roll_back(pattern.id)
    assert [one.id for one in memory.memories()] == [own.id]


def test_merged_into_a_memory_of_the_users_it_goes_without_a_trace(memory: Recollect, pattern: Pattern) -> None:
    """Nothing of ours stays in the history, and what the user said is as it was."""
    memory.remember("Read the lines to be changed again right before an edit and copy the text exactly", kind="lesson")
    memory.patterns.edit(
        pattern.id, rule="Please read the lines to be changed again right before an edit, and copy the text exactly."
    )
    before = everything(memory)
    memory.patterns.roll_out(pattern.id, "memory")
    assert len(everything(memory)) == 2
    (back,) = memory.patterns.roll_back(pattern.id)
    assert back.changed
    assert everything(memory) == before


def test_what_was_merged_into_it_holds_again_when_it_goes(
    memory: Recollect, pattern: Pattern, clock: HandClock
) -> None:
    """The user's own wording is not lost with ours."""
    memory.patterns.edit(pattern.id, rule="Please always run the whole test suite before pushing to main")
    memory.patterns.roll_out(pattern.id, "memory")
    told = {"kind": "note", "trust": "checked", "recorded_at": clock(), "project": memory.scope.project}
    own = made("Run the whole test suite before pushing to main", occurred_at=clock() - timedelta(days=3), **told)
    memory.store.memories.add(memory.scope, own)
    assert memory.consolidate().plan.counts["merge"] == 1
    memory.patterns.roll_back(pattern.id)
    assert [one.content for one in memory.memories()] == [own.content]


def everything(memory: Recollect) -> list[tuple[Any, ...]]:
    """Every memory that is not deleted, however it stands."""
    found = memory.store.memories.find(memory.scope, Filter(now=LATER, archived=True, history=True), limit=99)
    return [(one.id, one.content, one.trust, one.superseded_at, one.meta) for one in found]


def test_another_wording_takes_the_place_of_the_first(memory: Recollect, pattern: Pattern, place: Path) -> None:
    before = tree(place)
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    memory.patterns.edit(pattern.id, rule="Look, then edit.")
    done = memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    assert rules_in(Path(done.place).read_bytes()) == {pattern.id: "Look, then edit."}
    assert [one.state for one in memory.patterns.rollouts(pattern.id)] == ["out", "in"]
    memory.patterns.roll_back(pattern.id)
    assert tree(place) == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first first", "last first"])
@pytest.mark.parametrize("to", INSTRUCTIONS)
def test_two_patterns_in_one_place(
    memory: Recollect, pattern: Pattern, own_home: Path, order: tuple[int, int], to: str
) -> None:
    """Whichever goes last takes away what was made for both."""
    other = memory.patterns.approve(found(memory, "`go` is not found").id)
    before = tree(own_home)
    both = (pattern, other)
    for one in both:
        memory.patterns.roll_out(one.id, to)
    for number in order:
        memory.patterns.roll_back(both[number].id)
    assert tree(own_home) == before


def test_two_names_of_one_file(memory: Recollect, pattern: Pattern, place: Path) -> None:
    (place / "CLAUDE.md").symlink_to("AGENTS.md")
    for to in FILES:
        memory.patterns.roll_out(pattern.id, to, directory=place)
    assert (place / "AGENTS.md").read_text().count("Read the lines") == 1
    (first,) = memory.patterns.roll_back(pattern.id, target="claude-md")
    assert "stays" in str(first.note)
    assert "Read the lines" in (place / "AGENTS.md").read_text()
    memory.patterns.roll_back(pattern.id, target="agents-md")
    assert (place / "AGENTS.md").read_bytes() == b"# App\r\n\r\nBe kind."
    assert (place / "CLAUDE.md").is_symlink()


def test_a_link_that_leads_elsewhere_is_refused(
    memory: Recollect, pattern: Pattern, place: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("not yours\n")
    (place / "CLAUDE.md").symlink_to(outside / "x.md")
    (place / ".claude").symlink_to(outside)
    for to in ("claude-md", "skill"):
        with pytest.raises(InvalidInput):
            memory.patterns.roll_out(pattern.id, to, directory=place)
    assert tree(outside) == {"x.md": b"not yours\n"}
    assert memory.patterns.rollouts() == []


def test_what_stands_in_files_is_not_decided_away(memory: Recollect, pattern: Pattern, place: Path) -> None:
    memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    other = found(memory, "`go` is not found")
    for decide in (
        lambda: memory.patterns.reject(pattern.id),
        lambda: memory.patterns.retire(pattern.id),
        lambda: memory.patterns.merge(pattern.id, other.id),
    ):
        with pytest.raises(Conflict, match="rolled out to"):
            decide()
    memory.patterns.roll_back(pattern.id)
    assert memory.patterns.retire(pattern.id).state == "retired"
    with pytest.raises(NotFound, match="not rolled out"):
        memory.patterns.roll_back(pattern.id)


def test_who_was_killed_in_the_middle_goes_on(memory: Recollect, pattern: Pattern, own_home: Path) -> None:
    """It is noted first what was made, so that it is taken back with the rest."""
    before = tree(own_home)
    done = memory.patterns.roll_out(pattern.id, "agents-md")
    (one,) = memory.patterns.rollouts()
    memory.store.patterns.put_rollout(memory.scope, replace(one, state="begun"))
    Path(done.place).unlink()
    assert memory.patterns.roll_out(pattern.id, "agents-md").changed
    assert [each.state for each in memory.patterns.rollouts()] == ["in"]
    memory.store.patterns.put_rollout(memory.scope, replace(one, state="begun"))
    memory.patterns.roll_back(pattern.id)
    assert tree(own_home) == before


def test_forgetting_everything_takes_it_out_of_files_too(memory: Recollect, pattern: Pattern, own_home: Path) -> None:
    before = tree(own_home)
    for to in INSTRUCTIONS:
        memory.patterns.roll_out(pattern.id, to)
    receipt = memory.forget(everything=True)
    assert tree(own_home) == before
    assert memory.patterns.find() == []
    assert receipt.remains == ()


def test_forgetting_everything_names_the_files_in_which_a_rule_had_to_stay(
    memory: Recollect, pattern: Pattern, place: Path
) -> None:
    path = place / "CLAUDE.md"
    memory.patterns.roll_out(pattern.id, "claude-md", directory=place)
    memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    path.write_text(path.read_text().replace("exactly.", "exactly!"))
    receipt = memory.forget(everything=True)
    assert not receipt.complete
    (left,) = receipt.remains
    assert left.startswith(str(path))
    assert "edited by hand" in left
    assert "Read the lines" not in (place / "AGENTS.md").read_text()


def test_a_rule_that_comes_back_in_a_transcript_is_known(memory: Recollect, pattern: Pattern, place: Path) -> None:
    from recollect.text import dedup_key

    memory.patterns.roll_out(pattern.id, "agents-md", directory=place)
    assert memory.store.captures.was_injected(memory.scope, dedup_key(str(pattern.rule)))


def test_a_key_that_may_not_speak_decides_nothing(memory: Recollect, pattern: Pattern, place: Path) -> None:
    from recollect.errors import NotAllowed

    mute = Recollect(memory.store, memory.scope, memory.settings, hosted=True, speaks=False, background=False)
    for act in (
        lambda: mute.patterns.approve(pattern.id),
        lambda: mute.patterns.roll_out(pattern.id, "agents-md", directory=place),
        lambda: mute.patterns.roll_back(pattern.id),
    ):
        with pytest.raises(NotAllowed):
            act()


@settings(max_examples=40, stateful_step_count=15, suppress_health_check=list(HealthCheck), deadline=None)
class Life(RuleBasedStateMachine):
    """Roll-outs, roll-backs, other wordings and the user's own edits in any order."""

    memory: Recollect
    place: Path
    ids: tuple[str, ...]

    @initialize(start=st.sampled_from([None, b"", b"# Mine\n", b"no line end", b"a\r\nb\r\n"]))
    def begin(self, start: bytes | None) -> None:
        self.own: dict[str, bytes | None] = {"AGENTS.md": start, "CLAUDE.md": None}
        for one in self.ids:
            if any(each.state != "out" for each in self.memory.patterns.rollouts(one)):
                self.memory.patterns.roll_back(one, force=True)
        for name, content in self.own.items():
            (self.place / name).unlink(missing_ok=True)
            if content is not None:
                (self.place / name).write_bytes(content)

    @rule(which=st.sampled_from([0, 1]), to=st.sampled_from(INSTRUCTIONS))
    def roll_out(self, which: int, to: str) -> None:
        self.memory.patterns.roll_out(self.ids[which], to, directory=self.place)

    @rule(which=st.sampled_from([0, 1]))
    def roll_back(self, which: int) -> None:
        if any(one.state != "out" for one in self.memory.patterns.rollouts(self.ids[which])):
            self.memory.patterns.roll_back(self.ids[which])

    @rule(which=st.sampled_from([0, 1]), text=st.sampled_from(["Look first.", "Look twice – always."]))
    def word(self, which: int, text: str) -> None:
        self.memory.patterns.edit(self.ids[which], rule=text)

    @rule(name=st.sampled_from(sorted(FILES.values())), line=st.sampled_from([b"one\n", b"\n", b"two\r\n"]))
    def write_before(self, name: str, line: bytes) -> None:
        own, path = self.own[name], self.place / name
        if own is not None:
            self.own[name] = line + own
            path.write_bytes(line + path.read_bytes())

    @invariant()
    def what_is_there_is_what_was_put_there(self) -> None:
        for to, name in FILES.items():
            path = self.place / name
            there = set(rules_in(path.read_bytes())) if path.exists() else set()
            active = [one for one in self.memory.patterns.rollouts() if one.state == "in" and one.target == to]
            assert there == {one.pattern for one in active}

    def teardown(self) -> None:
        if not hasattr(self, "own"):
            return
        for which in (0, 1):
            self.roll_back(which)
        for name, own in self.own.items():
            path = self.place / name
            assert (path.read_bytes() if path.exists() else None) == own
        assert not (self.place / ".claude").exists()


def test_any_order_of_them_leaves_the_users_bytes(memory: Recollect, pattern: Pattern, place: Path) -> None:
    """S3.41: byte for byte, whatever happened in between."""
    other = memory.patterns.approve(found(memory, "`go` is not found").id)
    ids = (pattern.id, other.id)
    life = type("LifeHere", (Life,), {"memory": memory, "place": place, "ids": ids})
    run_state_machine_as_test(life, settings=Life.TestCase.settings)
