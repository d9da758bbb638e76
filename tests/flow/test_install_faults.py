"""Installing in a bad moment (P16): broken, read-only, linked and busy settings, a full disk, eight at once."""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from recollect.install import files
from recollect.install.errors import BadSettings, SettingsBusy, SettingsChanged
from recollect.install.files import Change
from tests.flow.conftest import Cli
from tests.flow.test_install import AGENTS, tree
from tests.flow.test_install import bare_path as bare_path
from tests.flow.test_install import used as used

BROKEN = {
    ".claude/settings.json": "{",
    ".claude.json": '{"a": 1}}',
    ".codex/hooks.json": "not json",
    ".codex/config.toml": "x = ",
    ".grok/config.toml": "[[[",
    ".gemini/settings.json": '{"a": }',
    ".config/opencode/opencode.jsonc": "{'a': 1}",
    ".cursor/mcp.json": "[]",
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_broken_file_is_named_and_nothing_is_changed_anywhere(name: str, cli: Cli, used: Path) -> None:
    (used / name).write_text(BROKEN[name])
    before = tree(used)
    ran = cli("install", "all")
    assert ran.code == 1
    assert str(used / name) in ran.err
    assert "hint:" in ran.err
    assert tree(used) == before
    assert "cannot be edited" in cli("install").out  # the others are still shown
    assert tree(used) == before


def test_a_file_that_was_broken_later_is_named_and_stays_until_it_is_mended(cli: Cli, used: Path) -> None:
    before = tree(used)
    cli("install", "all")
    file = used / ".codex/hooks.json"
    good = file.read_text()
    file.write_text(good[:-5])
    broken = tree(used)
    ran = cli("uninstall", "all")
    assert (ran.code, str(file) in ran.err) == (1, True)
    assert tree(used) == broken
    file.write_text(good)
    assert cli("uninstall", "all").code == 0
    assert tree(used) == before


@pytest.mark.parametrize("name", [".codex/config.toml", ".codex/hooks.json", ".claude/settings.json"])
def test_a_read_only_file_is_refused_and_nothing_is_half_done(name: str, cli: Cli, used: Path) -> None:
    """Root could write it all the same; its user said no."""
    (used / name).chmod(0o444)
    before = tree(used)
    ran = cli("install", "all")
    assert (ran.code, f"{used / name} is read-only" in ran.err, "chmod u+w" in ran.err) == (1, True, True)
    assert tree(used) == before


def test_a_read_only_directory_is_refused(cli: Cli, used: Path) -> None:
    folder = used / ".cursor"
    folder.chmod(0o555)
    before = tree(used)
    try:
        ran = cli("install", "all")
        assert (ran.code, f"{folder} is read-only" in ran.err) == (1, True)
        assert tree(used) == before
    finally:
        folder.chmod(0o755)


def test_a_link_is_followed_and_stays_a_link(cli: Cli, used: Path, tmp_path: Path) -> None:
    """Settings often lie in a repository of dotfiles."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    for name in (".claude/settings.json", ".codex/config.toml"):
        (used / name).rename(dotfiles / Path(name).name)
        (used / name).symlink_to(dotfiles / Path(name).name)
    (used / ".gemini/settings.json").unlink()
    (used / ".gemini/settings.json").symlink_to(dotfiles / "later.json")  # leads nowhere yet
    before, kept = tree(used), tree(dotfiles)
    assert cli("install", "all").code == 0
    assert (used / ".claude/settings.json").is_symlink()
    assert "hook.py" in (dotfiles / "settings.json").read_text()
    assert "hook.py" in (dotfiles / "later.json").read_text()
    assert (dotfiles / "settings.json.recollect-backup").is_file()
    assert cli("uninstall", "all").code == 0
    assert (tree(used), tree(dotfiles)) == (before, kept)


def test_a_link_in_a_circle_a_directory_and_a_pipe_are_refused(cli: Cli, used: Path) -> None:
    file = used / ".cursor/mcp.json"
    file.unlink()
    for make in (lambda: file.symlink_to(file), file.mkdir, lambda: os.mkfifo(file)):
        make()
        before = set(tree(used)) if not file.is_fifo() else None
        ran = cli("install", "all")
        assert (ran.code, str(file) in ran.err) == (1, True)
        assert before is None or set(tree(used)) == before
        file.rmdir() if file.is_dir() else file.unlink()


def test_a_full_disk_undoes_what_was_done(cli: Cli, used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At whichever file it comes."""
    before = tree(used)
    real, left = os.fsync, [0]

    def fsync(handle: int) -> None:
        left[0] -= stat.S_ISREG(os.fstat(handle).st_mode)
        if left[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    failed = 0
    for number in range(1, 200, 3):
        left[0] = number
        ran = cli("install", "all")
        if ran.code == 0:
            break
        failed += 1
        assert tree(used) == before, number
    assert failed > 10
    left[0] = -1
    cli("uninstall", "all")
    assert tree(used) == before


def test_a_file_that_its_agent_writes_at_the_same_moment_is_read_again(used: Path) -> None:
    file = used / ".claude.json"
    change = Change(file, file.read_bytes(), b"ours")
    file.write_bytes(b'{"theirs": 1}')
    with pytest.raises(SettingsChanged):
        files.apply([change])
    assert file.read_bytes() == b'{"theirs": 1}'


def test_what_its_agent_wrote_meanwhile_is_never_undone(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second change fails; the first is undone only where nobody wrote after it."""
    first, second = used / ".claude.json", used / ".cursor/mcp.json"
    changes = [Change(first, first.read_bytes(), b"ours"), Change(second, b"not this", b"ours")]
    real = files._sync

    def sync(folder: Path) -> None:
        real(folder)
        first.write_bytes(b"theirs")

    monkeypatch.setattr(files, "_sync", sync)
    with pytest.raises(SettingsChanged):
        files.apply(changes)
    assert first.read_bytes() == b"theirs"


@pytest.mark.timed
def test_the_lock_of_claude_code_is_waited_for(cli: Cli, used: Path) -> None:
    lock = used / ".claude.json.lock"
    lock.mkdir()
    threading.Timer(0.5, lock.rmdir).start()
    began = time.monotonic()
    assert cli("install", "claude-code").code == 0
    assert 0.4 < time.monotonic() - began < 8
    assert not lock.exists()


@pytest.mark.timed
def test_a_lock_that_was_left_behind_does_not_count(cli: Cli, used: Path) -> None:
    lock = used / ".claude.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 60,) * 2)
    began = time.monotonic()
    assert cli("install", "claude-code").code == 0
    assert time.monotonic() - began < 5
    assert lock.exists()


def test_an_agent_that_keeps_writing_loses_nothing(command: Cli, used: Path) -> None:
    """T34: Claude Code writes its file under its lock, again and again, while Recollect is installed and taken out."""
    file, stop, written = used / ".claude.json", threading.Event(), [0]

    def claude() -> None:
        lock = used / ".claude.json.lock"
        while not stop.is_set():
            try:
                lock.mkdir()
            except FileExistsError:
                time.sleep(0.001)
                continue
            state = json.loads(file.read_text())
            assert state["numStartups"] == 5 + written[0]
            written[0] += 1
            state["numStartups"] += 1
            part = used / "part"
            part.write_text(json.dumps(state))
            part.replace(file)
            lock.rmdir()
            time.sleep(random.Random(written[0]).random() / 50)

    writer = threading.Thread(target=claude)
    writer.start()
    try:
        for verb in ("install", "uninstall", "install", "uninstall", "install"):
            assert command(verb, "claude-code").code == 0
    finally:
        stop.set()
        writer.join()
    assert written[0] > 10
    state = json.loads(file.read_text())
    assert state["numStartups"] == 5 + written[0]
    assert state["mcpServers"].keys() == {"other", "recollect"}


@pytest.mark.slow
def test_eight_at_once_are_as_one(used: Path) -> None:
    """P16."""
    before = tree(used)
    _at_once([["install", "all"]] * 8)
    together = tree(used)
    _at_once([["uninstall", "all"]] * 8)
    assert tree(used) == before
    _at_once([["install", "all"]])
    assert together == tree(used)


@pytest.mark.slow
def test_some_install_while_others_uninstall(used: Path) -> None:
    """Whoever is last, all of it is there or none."""
    before = tree(used)
    for seed in range(3):
        words = [["install", "all"], ["uninstall", "all"], ["install", *AGENTS[:3]], ["uninstall", *AGENTS[3:]]] * 2
        random.Random(seed).shuffle(words)
        _at_once(words)
        for name in (".claude/settings.json", ".codex/hooks.json", ".cursor/hooks.json"):
            assert (used / name).read_text().count("hook.py") in (0, 4, 6)
    _at_once([["uninstall", "all"]])
    assert tree(used) == before


@pytest.mark.slow
def test_an_installer_that_is_killed_leaves_whole_files_and_can_be_undone(used: Path) -> None:
    before = tree(used)
    chance, whole = random.Random(9), 0
    for number in range(16):
        verb = "uninstall" if number % 4 == 3 else "install"
        process = subprocess.Popen(
            [sys.executable, "-m", "recollect", verb, "all"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            process.wait(0.1 + chance.random() * 0.4)
            whole += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for name in (".claude/settings.json", ".codex/hooks.json", ".cursor/hooks.json"):
            assert json.loads((used / name).read_text())["hooks"]
    assert whole < 16
    _at_once([["install", "all"], ["uninstall", "all"]])
    _at_once([["uninstall", "all"]])
    shutil.rmtree(used / ".claude.json.lock", ignore_errors=True)  # its agent does so after ten seconds
    files.remove_empty([used / ".local/share/recollect", used / ".local/share", used / ".local"])
    assert tree(used) == before


def _at_once(commands: list[list[str]]) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "recollect", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        for words in commands
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in started]
    assert ended == [("", 0)] * len(commands)


def test_another_installer_is_waited_for_but_not_for_ever(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.2)
    with files.alone(used), pytest.raises(SettingsBusy), files.alone(used):
        pass
    with files.alone(used):
        pass


def test_nothing_is_left_beside_a_file(used: Path) -> None:
    """No part, no lock, whatever happened."""
    names = set(tree(used))
    file = used / ".cursor/mcp.json"
    files.apply([Change(file, b"{}", b"[]")])
    with pytest.raises(BadSettings):
        files.replace(used / "no" / "such", b"x")
    assert set(tree(used)) == names
