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
from itertools import count
from pathlib import Path

from recollect.clock import Clock
from recollect.distill.memory import new_memory
from recollect.errors import Conflict, InvalidInput, NotFound, RecollectError
from recollect.ids import uuid7
from recollect.inject import ruleblock, skillfile, userfile
from recollect.inject.ruleblock import EditedByHand
from recollect.model import Memory, Scope, check_id
from recollect.project import resolve, top_of
from recollect.settings import Settings, environment
from recollect.store.port import Store
from recollect.store.ports.learn import TARGETS, Pattern, Rollout
from recollect.text import dedup_key

INSTRUCTIONS = ("agents-md", "claude-md", "skill")
META = "pattern"  # in a memory: of which pattern it is
_REASON = 500  # characters of why something failed
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
        try:
            self._tell(spot.text)
            _make_folders(rollout.made, spot.path)
            note = _kept_beside(spot.path, before, spot.project) if to == "skill" else None
            edit = spot.edit if expected is None and note is None else _only_on(before, spot.edit)
            changed = userfile.change(spot.path, edit, shared=spot.project is not None)
        except Exception as error:
            if rollout.state == "begun":
                self._failed(rollout, spot, error)
            raise
        self._done(rollout, older, changed=changed)
        return replace(change, changed=changed, note=note)

    def _failed(self, rollout: Rollout, spot: _Spot, error: Exception) -> None:
        """It was never there, unless it is: then it stays noted, to be gone on with or taken back."""
        try:
            content = userfile.content_of(spot.path)
            if content and spot.edit(content) == content:
                return
        except EditedByHand:
            pass
        except (RecollectError, OSError):
            return  # nobody can tell
        _remove_folders(rollout.made, spot.path)
        self._store.patterns.put_rollout(
            self._scope, replace(rollout, state="out", ended_at=rollout.begun_at, reason=str(error)[:_REASON])
        )

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

    def _done(self, rollout: Rollout, older: list[Rollout], *, changed: bool = True) -> None:
        """It is there: from now on, or from when it was begun if whoever began it had come so far."""
        now = self._clock()
        for one in older:
            self._store.patterns.put_rollout(
                self._scope, replace(one, state="out", ended_at=now, reason="another version took its place")
            )
        if rollout.state != "in":
            since = now if changed else rollout.begun_at
            self._store.patterns.put_rollout(self._scope, replace(rollout, state="in", begun_at=since))

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
            file = userfile.real_path(base)
            written = self._written(str(file))

            def put(content: bytes) -> bytes:
                return ruleblock.with_rule(content, pattern.id, rule, force=force, written=written)

            return _Spot(file, project, told, put)
        path = base / skillfile.skill_name(pattern.kind, pattern.id) / "SKILL.md"
        _check_inside(path, base.parent)
        seen = f"Seen in {len(pattern.flavors)} agents." if pattern.cross_flavor else "Seen in several sessions."
        made = skillfile.skill(pattern.kind, pattern.id, rule, seen)

        def edit(content: bytes) -> bytes:
            skillfile.check_untouched(content, force=force)
            return made

        return _Spot(path, project, made.decode(), edit)

    def _written(self, place: str) -> dict[str, set[str]]:
        """What was ever written into a file, by pattern: what else stands there is not ours."""
        found: dict[str, set[str]] = {}
        for one in self._store.patterns.rollouts(self._scope):
            if one.place == place:
                found.setdefault(one.pattern, set()).add(one.text)
        return found

    def _base(self, to: str, directory: str | Path | None) -> tuple[Path, str | None]:
        """The file, or for a skill the directory of all skills, and whose project it is."""
        if directory is None:
            name, variable, file = _OF_USER[to]
            moved = environment().get(variable, "")
            return (Path(moved) if moved.startswith("/") else Path.home() / name) / file, None
        place, project = self._place(directory)
        return place / _IN_PROJECT[to], project

    def _place(self, directory: str | Path) -> tuple[Path, str]:
        place = Path(os.path.abspath(Path(directory).expanduser()))  # noqa: PTH100 - links stay as the user sees them
        if not place.is_dir():
            raise InvalidInput(f"{place} is not a directory", hint="Name the directory of a project.")
        project = resolve(place, self._settings.projects).name
        if project is None:
            raise InvalidInput(
                f"{place} is no project",
                hint="Name the directory of a project, or roll it out for you in whatever project: --everywhere",
            )
        return top_of(place) or place, project

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
        own = [one.id for one in (settled.memory, *settled.others) if one.meta.get(META) == pattern.id]
        for one in there:
            self._forget(one, force=True)
        rollout, _ = self._begun(pattern, "memory", settled.memory.id, project, text, held)
        self._done(replace(rollout, made=tuple(own)), there)
        return Change(pattern.id, "memory", settled.memory.id, project, settled.outcome != "known", shown)

    def _memory(self, pattern: Pattern, text: str, project: str | None) -> Memory:
        given = {"content": text, "kind": "lesson", "meta": {META: pattern.id}}
        # A statement may quote what a tool printed; only a rule is made of words that are vouched for.
        trust = _TRUSTS[pattern.trust] if text == pattern.rule else "quoted"
        origin = "user" if trust == "user" else "import"
        memory = new_memory({**given, "origin": origin}, project=project, now=self._clock())
        return replace(memory, trust=trust)

    def _forget(self, rollout: Rollout, *, force: bool) -> bool:
        """Take away the memory that it is, or that was merged into one of the user's; what it had ended holds again."""
        from recollect.pipeline.settling import rehold, retried

        scope, now = self._scope.within(rollout.project), self._clock()

        def once() -> bool:
            found = [self._store.memories.get(scope, id_) for id_ in rollout.made]
            ours = [one for one in found if one is not None and one.deleted_at is None]
            if any(one.content != rollout.text for one in ours) and not force:
                raise EditedByHand("the memory was changed since", hint="Give --force to take it away.")
            gone = {one.id: replace(one, deleted_at=now) for one in ours}
            if gone:
                rehold(self._store, scope, self._clock, gone, note="delete")
            return bool(gone)

        return retried(once)

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

    def take_all_back(self) -> tuple[str, ...]:
        """What is about to be forgotten is not to stand in files; a block that was edited by hand stays.

        Where something had to stay is told, and why.
        """
        project = self._scope.project
        left = []
        for one in self._active(None):
            if one.target != "memory" and (project is None or one.project == project):
                try:
                    self._taken_back(one, "forgotten", False, False)
                except (RecollectError, OSError) as error:
                    left.append(f"{one.place}, where a rule was rolled out to ({error})")
        return tuple(dict.fromkeys(left))

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
        written = self._written(one.place)

        def edit(content: bytes) -> bytes:
            if one.target == "skill":
                skillfile.check_untouched(content, force=force)
                return b""
            return ruleblock.without_rule(content, one.pattern, force=force, written=written)

        if any(other.place == one.place and other.id != one.id for other in self._active(one.pattern)):
            told = "it is rolled out there for others too, and stays"
            return Change(one.pattern, one.target, one.place, one.project, False, "", dry_run, told)
        if not path.parent.is_dir():
            return Change(one.pattern, one.target, one.place, one.project, False, "", dry_run, "the directory is gone")
        before = userfile.content_of(path)
        after = edit(before)
        changed, shown = before != after, diff_of(path, before, after)
        if not dry_run:
            note = _kept_beside(path, before, one.project) if one.target == "skill" else None
            drop = str(path) in one.made or one.target == "skill"
            changed = userfile.change(path, edit if note is None else _only_on(before, edit), drop_empty=drop)
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


def _kept_beside(path: Path, content: bytes, project: str | None) -> str | None:
    """Keep a file of ours that somebody changed under a name that is free, and say so; None when nobody did."""
    if not content or skillfile.is_untouched(content):
        return None
    for number in count(1):
        kept = path.with_name(path.name + KEPT + (f"-{number}" if number > 1 else ""))
        if os.path.lexists(kept) or not userfile.change(kept, lambda there: there or content, shared=bool(project)):
            continue
        return f"your version is kept as {kept.name}"
    return None


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
    for folder in reversed(_above(made, path)):
        folder.mkdir(0o755, exist_ok=True)


def _remove_folders(made: tuple[str, ...], path: Path) -> None:
    """Take away the directories that were made for a file, those that are empty by now."""
    if path.exists():
        return
    for folder in _above(made, path):
        with suppress(OSError):
            folder.rmdir()


def _above(made: tuple[str, ...], path: Path) -> list[Path]:
    """The directories that were made for a file; a roll-out that was imported may name others, which are not ours."""
    return [folder for folder in path.parents if str(folder) in made]
