"""Roll-out and roll-back: an approved pattern is put before agents, and taken back without a trace.

A pattern goes in; a `Change` with its diff comes out, done or only planned. Rules go as one line into a marked block of
AGENTS.md or CLAUDE.md, as a skill of their own, or as a memory; of a project's directory, or of the user. Only what
people said or outcomes showed may be an instruction: what was merely observed can be nothing but a memory, which is
quoted to agents. What is going to be done is noted in the store before a file is touched, so that whoever was killed in
the middle can roll out or roll back again.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from recollect.clock import Clock
from recollect.distill.memory import new_memory
from recollect.errors import Conflict, InvalidInput, NotFound, RecollectError
from recollect.ids import uuid7
from recollect.inject import ruleblock, skillfile, userfile
from recollect.model import Memory, Scope, check_id
from recollect.project import resolve, top_of
from recollect.settings import Settings, environment
from recollect.store.learnport import TARGETS, Pattern, Rollout
from recollect.store.port import Store
from recollect.text import dedup_key

INSTRUCTIONS = ("agents-md", "claude-md", "skill")
META = "pattern"  # in a memory: of which pattern it is
KEPT = ".edited"  # behind the name of a file of ours that somebody changed and that was taken back all the same
# What the file is called in a project; for the user, the agent's directory, the variable that moves it, and the file.
_IN_PROJECT = {"agents-md": "AGENTS.md", "claude-md": "CLAUDE.md", "skill": ".claude/skills"}
_OF_USER = {
    "agents-md": (".codex", "CODEX_HOME", "AGENTS.md"),
    "claude-md": (".claude", "CLAUDE_CONFIG_DIR", "CLAUDE.md"),
    "skill": (".claude", "CLAUDE_CONFIG_DIR", "skills"),
}
_TRUSTS = {"user": "user", "outcome": "checked", "observed": "quoted"}


@dataclass(frozen=True, slots=True)
class Change:
    """What a roll-out or a roll-back does to one place."""

    pattern: str
    target: str
    place: str
    project: str | None
    changed: bool
    diff: str
    planned: bool = False  # it was only to be shown
    note: str | None = None

    @property
    def fingerprint(self) -> str:
        """What was shown, in short: whoever says yes to it says yes to nothing else."""
        told = "\0".join((self.pattern, self.target, self.place, self.project or "", self.diff))
        return sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class _Spot:
    """A file that a pattern goes into, and how."""

    path: Path
    project: str | None
    text: str
    edit: Callable[[bytes], bytes]


class Rolling:
    """Roll-outs of one user."""

    def __init__(self, store: Store, scope: Scope, settings: Settings, clock: Clock) -> None:
        self._store, self._scope, self._settings, self._clock = store, scope, settings, clock

    # -- out -----------------------------------------------------------------------------------------------------------

    def roll_out(
        self,
        pattern: Pattern,
        to: str,
        *,
        directory: str | Path | None = None,
        dry_run: bool = False,
        force: bool = False,
        held_back: tuple[str, ...] = (),
        expected: str | None = None,
    ) -> Change:
        """Put it into a directory's project, or without one into what is the user's wherever they work.

        `held_back` are projects that do without it, to be measured against. `expected` is the fingerprint of what was
        shown: when something else would be done by now, nothing is, and Conflict says so.
        """
        _check(pattern, to)
        held = self._held_back(held_back, directory)
        if to == "memory":
            if expected is not None:
                _require(self._remember(pattern, directory, True, held), expected)
            return self._remember(pattern, directory, dry_run, held)
        spot = self._spot(pattern, to, directory, force)
        before = userfile.content_of(spot.path)
        after = spot.edit(before)
        shown = diff_of(spot.path, before, after)
        change = Change(pattern.id, to, str(spot.path), spot.project, before != after, shown, planned=dry_run)
        if dry_run:
            return change
        if expected is not None:
            _require(change, expected)
        rollout, older = self._begun(pattern, to, str(spot.path), spot.project, spot.text, held)
        if rollout.state == "begun":
            rollout = replace(rollout, made=rollout.made or self._made(spot.path))
            self._store.patterns.put_rollout(self._scope, rollout)
        self._tell(spot.text)
        _make_folders(rollout.made, spot.path)
        try:
            changed = userfile.change(spot.path, spot.edit if expected is None else _only_on(before, spot.edit))
        except ChangedMeanwhile as error:
            if rollout.state == "begun":
                _remove_folders(rollout.made, spot.path)
                ended = replace(rollout, state="out", ended_at=self._clock(), reason=str(error))
                self._store.patterns.put_rollout(self._scope, ended)
            raise
        self._done(rollout, older)
        return replace(change, changed=changed)

    def _held_back(self, names: tuple[str, ...], directory: str | Path | None) -> tuple[str, ...]:
        """The projects that do without it, checked: they must be such as do not read it."""
        held = tuple(sorted({check_id(one, "project") for one in names}))
        if held and directory is None:
            raise InvalidInput(
                "no project can be held back from what is yours everywhere",
                hint="Roll it out project by project (--in DIR) and hold others back.",
            )
        if held and self._place(str(directory))[1] in held:
            raise InvalidInput("the project it is rolled out to cannot be held back")
        return held

    def _begun(
        self, pattern: Pattern, to: str, place: str, project: str | None, text: str, held: tuple[str, ...]
    ) -> tuple[Rollout, list[Rollout]]:
        """The roll-out that this is, new or not, and those of the same place that it takes the place of."""
        there = [one for one in self._active(pattern.id) if (one.target, one.place) == (to, place)]
        same = [one for one in there if one.version == pattern.version and one.text == text and one.held_back == held]
        if same:
            return same[0], [one for one in there if one is not same[0]]
        about = {"project": project, "text": text, "by": self._scope.user, "held_back": held}
        rollout = Rollout(uuid7(), pattern.id, pattern.version, to, place, self._clock(), **about)  # type: ignore[arg-type]
        return rollout, there

    def _done(self, rollout: Rollout, older: list[Rollout]) -> None:
        now = self._clock()
        for one in older:
            self._store.patterns.put_rollout(
                self._scope, replace(one, state="out", ended_at=now, reason="another version took its place")
            )
        if rollout.state != "in":
            self._store.patterns.put_rollout(self._scope, replace(rollout, state="in"))

    def _active(self, pattern: str | None) -> list[Rollout]:
        return [one for one in self._store.patterns.rollouts(self._scope, pattern) if one.state != "out"]

    def _made(self, path: Path) -> tuple[str, ...]:
        """The file and the directories above it that are there for roll-outs alone, the deepest first."""
        ours = {name for one in self._active(None) if one.target != "memory" for name in one.made}
        mine = ([str(path)] if str(path) in ours or not os.path.lexists(path) else []) + [
            str(parent) for parent in path.parents if str(parent) in ours or not parent.exists()
        ]
        return tuple(mine)

    def _spot(self, pattern: Pattern, to: str, directory: str | Path | None, force: bool) -> _Spot:
        assert pattern.rule is not None
        base, project = self._base(to, directory)
        rule = pattern.rule
        if to != "skill":
            told = ruleblock.instruction(rule)

            def put(content: bytes) -> bytes:
                return ruleblock.with_rule(content, pattern.id, rule, force=force)

            return _Spot(userfile.real_path(base), project, told, put)
        path = base / skillfile.skill_name(pattern.kind, pattern.id) / "SKILL.md"
        _check_inside(path, base.parent)
        seen = f"Seen in {len(pattern.flavors)} agents." if pattern.cross_flavor else "Seen in several sessions."
        made = skillfile.skill(pattern.kind, pattern.id, rule, seen)

        def edit(content: bytes) -> bytes:
            skillfile.check_untouched(content, force=False)
            return made

        return _Spot(path, project, made.decode(), edit)

    def _base(self, to: str, directory: str | Path | None) -> tuple[Path, str | None]:
        """The file, or for a skill the directory of all skills, and whose project it is."""
        if directory is None:
            name, variable, file = _OF_USER[to]
            moved = environment().get(variable, "")
            return (Path(moved) if moved.startswith("/") else Path.home() / name) / file, None
        place, project = self._place(directory)
        return place / _IN_PROJECT[to], project

    def _place(self, directory: str | Path) -> tuple[Path, str | None]:
        place = Path(os.path.abspath(Path(directory).expanduser()))  # noqa: PTH100 - links stay as the user sees them
        if not place.is_dir():
            raise InvalidInput(f"{place} is not a directory", hint="Name the directory of a project.")
        return top_of(place) or place, resolve(place, self._settings.projects).name

    def _tell(self, text: str) -> None:
        """It will be read by agents: when it comes back in a transcript it is nothing new."""
        self._store.captures.injected(self._scope, [dedup_key(text)], at=self._clock())

    # -- as a memory ---------------------------------------------------------------------------------------------------

    def _remember(self, pattern: Pattern, directory: str | Path | None, dry_run: bool, held: tuple[str, ...]) -> Change:
        from recollect.pipeline.settling import settle

        project = None if directory is None else self._place(directory)[1]
        text = pattern.rule if pattern.rule and pattern.trust != "observed" else pattern.statement
        there = [one for one in self._active(pattern.id) if one.target == "memory" and one.project == project]
        if any(one.text == text and one.state == "in" for one in there):
            return Change(pattern.id, "memory", there[0].place, project, False, "", planned=dry_run)
        shown = f"+ {text}\n"
        if dry_run:
            return Change(pattern.id, "memory", "a new memory", project, True, shown, planned=True)
        scope = self._scope.within(project)
        settled = settle(self._store, scope, self._memory(pattern, text, project), self._clock)
        if settled.outcome == "withheld":
            raise Conflict("the user took this memory away before", hint="Word the pattern otherwise.")
        own = settled.memory.meta.get(META) == pattern.id
        for one in there:
            self._forget(one, force=True)
        rollout, _ = self._begun(pattern, "memory", settled.memory.id, project, text, held)
        self._done(replace(rollout, made=(settled.memory.id,) if own else ()), there)
        return Change(pattern.id, "memory", settled.memory.id, project, settled.outcome != "known", shown)

    def _memory(self, pattern: Pattern, text: str, project: str | None) -> Memory:
        given = {"content": text, "kind": "lesson", "meta": {META: pattern.id}}
        # A statement may quote what a tool printed; only a rule is made of words that are vouched for.
        trust = _TRUSTS[pattern.trust] if text == pattern.rule else "quoted"
        origin = "user" if trust == "user" else "import"
        memory = new_memory({**given, "origin": origin}, project=project, now=self._clock())
        return replace(memory, trust=trust)

    def _forget(self, rollout: Rollout, *, force: bool) -> bool:
        scope, now = self._scope.within(rollout.project), self._clock()
        memory = self._store.memories.get(scope, rollout.place)
        if memory is None or memory.deleted_at is not None or not rollout.made:
            return False
        if memory.content != rollout.text and not force:
            raise ruleblock.EditedByHand("the memory was changed since", hint="Give --force to take it away.")
        self._store.memories.update(scope, replace(memory, deleted_at=now), at=now, note="delete")
        return True

    # -- back ----------------------------------------------------------------------------------------------------------

    def roll_back(
        self,
        pattern: Pattern,
        *,
        target: str | None = None,
        directory: str | Path | None = None,
        reason: str | None = None,
        dry_run: bool = False,
        force: bool = False,
        rollout: str | None = None,
        expected: str | None = None,
    ) -> list[Change]:
        """Take it back from every place, or from those of one target or directory, or from one by the roll-out's id.

        What was taken back is listed. `expected` is the fingerprint of what was shown, of one place.
        """
        if target is not None and target not in TARGETS:
            raise InvalidInput(f"unknown target {target[:40]!r}", hint="Targets: " + ", ".join(TARGETS))
        project = None if directory is None else self._place(directory)[1]
        wanted = [
            one
            for one in self._active(pattern.id)
            if target in (None, one.target)
            and (directory is None or one.project == project)
            and rollout in (None, one.id)
        ]
        if not wanted:
            raise NotFound(f"{pattern.id} is not rolled out there", hint="`recollect patterns show ID` tells where.")
        if expected is not None:
            _require(self._taken_back(wanted[0], reason, True, force), expected)
        return [self._taken_back(one, reason, dry_run, force) for one in wanted]

    def take_all_back(self) -> None:
        """What is about to be forgotten is not to stand in files; a block that was edited by hand stays."""
        project = self._scope.project
        for one in self._active(None):
            if one.target != "memory" and (project is None or one.project == project):
                with suppress(RecollectError, OSError):
                    self._taken_back(one, "forgotten", False, False)

    def _taken_back(self, one: Rollout, reason: str | None, dry_run: bool, force: bool) -> Change:
        if one.target == "memory":
            changed = bool(one.made) if dry_run else self._forget(one, force=force)
            change = Change(one.pattern, one.target, one.place, one.project, changed, f"- {one.text}\n", dry_run)
        else:
            change = self._out_of_file(one, dry_run, force)
        if not dry_run:
            out = replace(one, state="out", ended_at=self._clock(), reason=reason)
            self._store.patterns.put_rollout(self._scope, out)
        return change

    def _out_of_file(self, one: Rollout, dry_run: bool, force: bool) -> Change:
        path = Path(one.place)
        note = None

        def edit(content: bytes) -> bytes:
            if one.target == "skill":
                skillfile.check_untouched(content, force=force)
                return b""
            return ruleblock.without_rule(content, one.pattern, force=force)

        if any(other.place == one.place and other.id != one.id for other in self._active(one.pattern)):
            told = "it is rolled out there for others too, and stays"
            return Change(one.pattern, one.target, one.place, one.project, False, "", dry_run, told)
        if not path.parent.is_dir():
            return Change(one.pattern, one.target, one.place, one.project, False, "", dry_run, "the directory is gone")
        before = userfile.content_of(path)
        after = edit(before)
        changed, shown = before != after, diff_of(path, before, after)
        if not dry_run:
            if one.target == "skill" and before and not skillfile.is_untouched(before):
                kept = path.with_name(path.name + KEPT)
                userfile.change(kept, lambda content: content or before)
                note = f"your version is kept as {kept.name}"
            changed = userfile.change(path, edit, drop_empty=str(path) in one.made or one.target == "skill")
            _remove_folders(one.made, path)
        return Change(one.pattern, one.target, one.place, one.project, changed, shown, dry_run, note)


class ChangedMeanwhile(Conflict):
    """What would be done is not what was shown."""

    def __init__(self) -> None:
        super().__init__(
            "it changed since it was shown: nothing was written", hint="Look at the difference again, then decide."
        )


def _require(change: Change, expected: str) -> None:
    if change.fingerprint != expected:
        raise ChangedMeanwhile


def _only_on(before: bytes, edit: userfile.Edit) -> userfile.Edit:
    """The same edit, of this content and no other."""

    def edited(content: bytes) -> bytes:
        if content != before:
            raise ChangedMeanwhile
        return edit(content)

    return edited


def diff_of(path: Path, before: bytes, after: bytes) -> str:
    """What changes in a file, as a unified diff; empty when nothing does."""
    old, new = (content.decode("utf-8", "replace").splitlines(keepends=True) for content in (before, after))
    lines = difflib.unified_diff(old, new, f"{path} (as it is)" if before else "(no file)", str(path), n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _check(pattern: Pattern, to: str) -> None:
    if to not in TARGETS:
        raise InvalidInput(f"unknown target {to[:40]!r}", hint="Targets: " + ", ".join(TARGETS))
    if pattern.state != "approved":
        raise InvalidInput(
            f"{pattern.id} is {pattern.state}, not approved", hint=f"First: recollect patterns approve {pattern.id}"
        )
    if to in INSTRUCTIONS and pattern.trust not in ("user", "outcome"):
        raise InvalidInput(
            "what was only observed cannot be an instruction: no person said it and no outcome shows it",
            hint="Roll it out as a memory, which is quoted to agents: --to memory",
        )
    if to in INSTRUCTIONS and not pattern.rule:
        raise InvalidInput(
            f"{pattern.id} has no rule", hint=f"Word one: recollect patterns edit {pattern.id} --rule TEXT"
        )


def _check_inside(path: Path, base: Path) -> None:
    """No link on the way to a file of ours leads out of where it is to be."""
    root = os.path.realpath(base.parent)
    if not Path(os.path.realpath(path)).is_relative_to(root):
        raise InvalidInput(f"{path} leads out of {base.parent}", hint="A link on the way goes elsewhere: remove it.")


def _make_folders(made: tuple[str, ...], path: Path) -> None:
    for folder in reversed(made):
        if folder != str(path):
            Path(folder).mkdir(0o755, exist_ok=True)


def _remove_folders(made: tuple[str, ...], path: Path) -> None:
    """Take away the directories that were made for a file, those that are empty by now."""
    if path.exists():
        return
    for folder in made:
        if folder != str(path):
            with suppress(OSError):
                Path(folder).rmdir()
