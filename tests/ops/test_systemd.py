"""The units are ones that systemd takes, start commands that there are, and leave a service little to do harm with."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ops.files import OPS, UNITS, understood

TIMERS = sorted((OPS / "systemd").glob("*.timer"))
BINARY = "/opt/recollect/bin/recollect "
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")


def lines(unit: Path, name: str) -> list[str]:
    return [line.partition("=")[2] for line in unit.read_text().splitlines() if line.startswith(f"{name}=")]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_starts_a_command_that_there_is(unit: Path) -> None:
    [start] = lines(unit, "ExecStart")
    if start.startswith(BINARY):
        understood(start.removeprefix(BINARY).split())
    else:
        assert start == "/opt/recollect/share/backup.sh /var/backups/recollect"
        assert (OPS / "backup.sh").stat().st_mode & 0o111


@needs_systemd
@pytest.mark.parametrize("unit", [*UNITS, *TIMERS], ids=lambda unit: unit.name)
def test_systemd_takes_it(unit: Path, tmp_path: Path) -> None:
    """With a program in the place of ours, which is not installed here."""
    for each in (*UNITS, *TIMERS):
        text = re.sub(r"/opt/recollect/\S+", "/bin/true", each.read_text())
        (tmp_path / each.name).write_text(text)
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", tmp_path / unit.name], capture_output=True, text=True
    )
    ours = [line for line in checked.stderr.splitlines() if "recollect" in line]
    assert not ours
    assert checked.returncode == 0


@needs_systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_is_shut_in(unit: Path) -> None:
    """systemd's own measure, 0 to 10: it calls less than 2 well."""
    shown = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit],
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stdout[-300:]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_secrets_are_handed_over_and_not_in_the_environment(unit: Path) -> None:
    assert lines(unit, "LoadCredential") == ["config.toml:/etc/recollect/config.toml"]
    assert "RECOLLECT_CONFIG=%d/config.toml" in lines(unit, "Environment")
    assert not re.search(r"PASSWORD|SECRET|API_KEY|postgresql://|redis://", unit.read_text())
    assert lines(unit, "User") == ["recollect"]


@pytest.mark.parametrize("timer", TIMERS, ids=lambda timer: timer.stem)
def test_a_timer_has_its_service_and_makes_up_for_a_night_that_was_missed(timer: Path) -> None:
    assert timer.with_suffix(".service").is_file()
    assert lines(timer, "Persistent") == ["yes"]
