"""Whether installed hooks work: they are where the agent looks, they run and leave a record, and records have come.

A hook is tried as it stands in the settings, with a directory of its own in the place of the data directory.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from recollect.capture.notice import notice_of
from recollect.capture.spool import BadRecord, Spool
from recollect.errors import RecollectError
from recollect.install import plan
from recollect.install.errors import BadSettings
from recollect.install.hosts import Host
from recollect.install.jsonfile import JsonFile
from recollect.install.run import Machine, hosts
from recollect.store.ports.capture import Covered

SECONDS = 10


@dataclass(frozen=True, slots=True)
class Checked:
    """One agent on this machine; `problem` says what is wrong with its hooks."""

    host: Host
    installed: bool
    hooks: int = 0
    problem: str | None = None
    last: datetime | None = None  # when it last told us something


def check(on: Machine, last: dict[str, datetime]) -> Iterator[Checked]:
    """Every agent that is here; `last` is when each last told us something."""
    for host in hosts(on):
        try:
            installed, commands = plan.is_installed(host), plan.hook_commands(host)
        except BadSettings as error:
            yield Checked(host, installed=False, problem=str(error))
            continue
        problem = _problem(host, commands, on.program.data_dir) if installed else None
        yield Checked(host, installed, len(commands), problem, last.get(host.agent))


def last_told(data_dir: Path, covered: Sequence[Covered]) -> dict[str, datetime]:
    """Agent -> when its hooks last told of something: what was read because of them, and what waits."""
    found: dict[str, datetime] = {}

    def note(agent: str, at: datetime) -> None:
        found[agent] = max(at, found.get(agent, at))

    for each in covered:
        if each.seen.way == "hook" or "hook" in each.ways.values():
            note(each.seen.flavor, each.seen.read_at)
    spool = Spool(data_dir)
    for path in spool.waiting() if spool.folder.is_dir() else ():
        try:
            record = spool.read(path)
        except (BadRecord, OSError, RecollectError):
            continue
        notice = notice_of(record)
        if notice is not None:
            note(notice.flavor, record.at)
    return found


def _problem(host: Host, commands: dict[str, str], data_dir: Path) -> str | None:
    wanted = {event for part in host.parts if isinstance(part, JsonFile) for event in part.hooks}
    missing = sorted(wanted - commands.keys())
    if missing:
        return f"it has no hook for {', '.join(missing)}"
    for command in sorted(set(commands.values())):
        words = shlex.split(command)
        if Path(words[4]) != data_dir:
            return f"its hooks write to {words[4]}, not to {data_dir}"
        if not _fires(words):
            return f"its hook does not run: {command}"
    return None


def _fires(words: Sequence[str]) -> bool:
    """Whether the hook leaves a record."""
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        data = Path(folder, "data")
        try:
            subprocess.run([*words[:4], str(data), words[5]], input=b"{}", capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return False
        return data.is_dir() and len(Spool(data).waiting()) == 1
