"""Install and uninstall: from names of agents to changed files, one process at a time, all of them or none.

Comes in: names, the home and its variables, the settings. Goes out: for each agent what was done, or would be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.install import files, inventory, plan
from recollect.install.command import Program, this_program
from recollect.install.errors import BadSettings, SettingsChanged
from recollect.install.hosts import NAMES, Host, host
from recollect.install.jsonfile import JsonFile
from recollect.install.plan import Plan
from recollect.store import datadir

ALL = "all"
VARIABLES = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GROK_HOME", "GEMINI_CLI_HOME", "XDG_CONFIG_HOME")
TRIES = 5


@dataclass(frozen=True, slots=True)
class Machine:
    """Where to look: the user's home, its variables, and this installation of Recollect."""

    home: Path
    env: Mapping[str, str]
    program: Program

    def host(self, name: str) -> Host:
        return host(name, self.home, self.env, self.program)

    def variables(self) -> dict[str, str]:
        """What leads to the settings of agents."""
        return {"HOME": str(self.home), **{name: self.env[name] for name in VARIABLES if self.env.get(name)}}


def machine(home: Path, env: Mapping[str, str], data_dir: Path) -> Machine:
    return Machine(home.absolute(), env, this_program(data_dir))


def hosts(on: Machine, names: Sequence[str] = (ALL,)) -> list[Host]:
    """The agents of these names, each once; `all` are those that are on this machine."""
    chosen: dict[str, Host] = {}
    for word in names:
        name = {"claude": "claude-code"}.get(word, word)
        if name != ALL and name not in NAMES:
            raise InvalidInput(
                f"there is no agent {word[:40]!r} to install for", hint=f"Agents: {', '.join(NAMES)}, or all."
            )
        for each in NAMES if name == ALL else (name,):
            found = on.host(each)
            if name != ALL or found.sign is not None:
                chosen[each] = found
    return list(chosen.values())


def install(on: Machine, names: Sequence[str], *, dry_run: bool = False) -> list[Plan]:
    """Put Recollect into the settings of these agents."""
    chosen = hosts(on, names)
    if not chosen:
        raise InvalidInput("no agent was found on this machine", hint=f"Name one: {', '.join(NAMES)}.")
    data_dir = on.program.data_dir
    if dry_run:
        return _install_plans(on, chosen, inventory.load(data_dir))
    with files.alone(on.home), files.agents_locks(_locked(chosen)):
        for _ in range(TRIES):
            note = inventory.load(data_dir)
            plans = _install_plans(on, chosen, note)
            if _install(note, plans, data_dir):
                return plans
    raise SettingsChanged


def _install(note: inventory.Inventory, plans: Sequence[Plan], data_dir: Path) -> bool:
    """Do it; False when a file was changed by another program meanwhile."""
    made = files.missing_folders(data_dir / inventory.NAME)
    note.folders |= set(made)
    try:
        datadir.prepare(data_dir)
        with files.alone(data_dir):
            _apply(note.change(), [change for each in plans for change in each.changes])
    except SettingsChanged:
        return False
    except BaseException:
        files.remove_empty(made)
        raise
    return True


def _apply(inventory_change: files.Change, changes: Sequence[files.Change]) -> None:
    """The inventory first, so that whoever is killed leaves word of what there may be; without success it goes back."""
    files.apply([inventory_change])
    try:
        files.apply(changes)
    except BaseException:
        files.apply([files.Change(inventory_change.path, inventory_change.after, inventory_change.before)])
        raise


def uninstall(on: Machine, names: Sequence[str], *, dry_run: bool = False) -> list[Plan]:
    """Take Recollect out of the settings of these agents; `all` are those it is in."""
    data_dir = on.program.data_dir
    if dry_run:
        return _uninstall_plans(on, names, inventory.load(data_dir))
    with files.alone(on.home), files.alone(data_dir), files.agents_locks(_locked(_named(on, names))):
        for _ in range(TRIES):
            note = inventory.load(data_dir)
            plans = _uninstall_plans(on, names, note)
            changes = [change for each in plans for change in each.changes]
            for part in (part for each in plans for part in each.host.parts):
                files.clear(files.real(part.path))
            try:
                files.apply(changes, sorted({folder for each in plans for folder in each.folders}))
            except SettingsChanged:
                continue
            # At the very end: whoever is killed before can be finished by the next one.
            files.apply([note.change()], () if note.agents else sorted(note.folders))
            return plans
    raise SettingsChanged


def _install_plans(on: Machine, chosen: Sequence[Host], note: inventory.Inventory) -> list[Plan]:
    return [plan.install(each, note, on.variables()) for each in chosen]


def _uninstall_plans(on: Machine, names: Sequence[str], note: inventory.Inventory) -> list[Plan]:
    """Also where an agent had its settings when it was installed, should that have changed since."""
    plans = []
    for each in _named(on, names):
        name = each.name
        known = note.agents.get(name)
        parts = list(each.parts)
        if known is not None and known.variables:
            then = {key: value for key, value in on.env.items() if key not in VARIABLES}
            before = Machine(Path(known.variables.get("HOME", on.home)), {**then, **known.variables}, on.program)
            parts += [part for part in before.host(name).parts if part.path not in {one.path for one in parts}]
        there = Host(each.name, each.agent, each.title, each.sign, tuple(parts), each.then)
        done = plan.uninstall(there, note)
        if ALL not in names or done.ours or known is not None:
            plans.append(done)
    return plans


def _named(on: Machine, names: Sequence[str]) -> list[Host]:
    """The agents of these names; `all` are all there are, wherever they are."""
    return hosts(on, [each for word in names for each in (NAMES if word == ALL else (word,))])


def _locked(chosen: Sequence[Host]) -> list[Path]:
    """The files that their agents lock while they write them."""
    return [part.path for each in chosen for part in each.parts if isinstance(part, JsonFile) and part.locked]


def problem(on: Machine, name: str) -> BadSettings | None:
    """What is wrong with an agent's settings, None when they can be edited."""
    try:
        install(on, [name], dry_run=True)
    except BadSettings as error:
        return error
    return None
