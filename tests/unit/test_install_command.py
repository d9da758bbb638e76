"""The commands that go into settings: the same each time, absolute, and to a shell no more than words."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from recollect import hook
from recollect.install.command import Program, is_hook, is_server, quoted, this_program, toml_server
from recollect.install.errors import BadSettings
from recollect.settings import default_data_dir

PROGRAM = Program(Path("/usr/bin/python3"), Path("/opt/recollect/hook.py"), Path("/home/ann/.local/share/recollect"))


def test_a_hook_is_the_same_text_each_time() -> None:
    """Codex trusts a hook by the hash of it."""
    assert PROGRAM.hook_command("codex") == (
        "/usr/bin/python3 -I -S /opt/recollect/hook.py /home/ann/.local/share/recollect codex"
    )
    assert is_hook(PROGRAM.hook_command("codex"))
    assert this_program(Path("d")) == this_program(Path("d").absolute())


def test_this_program_is_absolute_and_its_interpreter_is_named_as_it_was_started() -> None:
    """A link in a virtual environment outlives what it points to."""
    program = this_program(Path("data"))
    assert program.python == Path(sys.executable)
    assert program.hook == Path(hook.__file__)
    assert all(path.is_absolute() for path in (program.python, program.hook, program.data_dir))


@pytest.mark.parametrize(
    "word", ["/home/ann/Library/Application Support/recollect", "/home/Müller/a (b) [c] {d} #e ~f ^g", "/日本/x"]
)
def test_a_path_with_blanks_or_letters_of_any_script_reaches_the_program_whole(word: str) -> None:
    for shell in ("sh", "bash"):
        said = subprocess.run([shell, "-c", f"printf %s {quoted(word)}"], capture_output=True, text=True, check=True)
        assert said.stdout == word
    spaced = Program(PROGRAM.python, PROGRAM.hook, Path(word))
    assert shlex.split(spaced.hook_command("codex")) == spaced.hook_words("codex")
    assert is_hook(spaced.hook_command("codex"))


@pytest.mark.parametrize(
    "mark", ["$", "`", ";", "|", "&", "'", '"', "\\", "\n", "\t", "<", ">", "!", "*", "?", "\x7f", "\u202e"]
)
def test_a_path_that_a_shell_could_take_for_more_is_refused(mark: str) -> None:
    with pytest.raises(BadSettings, match="cannot stand safely"):
        quoted(f"/home/ann/a{mark}b")
    with pytest.raises(BadSettings, match="cannot stand safely"):
        this_program(Path(f"/home/ann/a{mark}b"))


def test_a_program_that_will_soon_be_gone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/home/ann/.cache/uv/archive-v0/x1/bin/python")
    with pytest.raises(BadSettings, match="temporary place") as refused:
        this_program(Path("/d"))
    assert "uv tool install" in str(refused.value.hint)


def test_the_server_loads_nothing_from_where_it_is_started(tmp_path: Path) -> None:
    """An agent starts it in a repository; `recollect` or `json` may lie there."""
    for name in ("json.py", "recollect.py"):
        (tmp_path / name).write_text("raise SystemExit('loaded from the repository')")
    words = this_program(tmp_path / "d").server_words()
    done = subprocess.run([*words[:-1], "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[:1]) == (0, ["recollect"])


def test_the_server_is_told_of_a_data_directory_only_if_it_would_look_elsewhere(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Program(PROGRAM.python, PROGRAM.hook, default_data_dir({}))
    assert usual.server_env() == {}
    assert usual.shell() == "/usr/bin/python3 -P -m recollect"
    monkeypatch.setenv("XDG_DATA_HOME", "/srv/data")  # an agent may not hand it on
    moved = Program(PROGRAM.python, PROGRAM.hook, Path("/srv/data/recollect"))
    assert moved.server_env() == {"RECOLLECT_DATA_DIR": "/srv/data/recollect"}
    assert moved.shell() == "/usr/bin/python3 -P -m recollect --data-dir /srv/data/recollect"
    assert toml_server(moved)["env"] == '{ RECOLLECT_DATA_DIR = "/srv/data/recollect" }'


@pytest.mark.parametrize(
    ("value", "ours"),
    [
        ({"command": "/p", "args": ["-P", "-m", "recollect", "mcp"]}, True),
        ({"type": "local", "command": ["/p", "-P", "-m", "recollect", "mcp"]}, True),
        ({"command": "recollect", "args": ["mcp"]}, False),
        ({"command": "/p", "args": ["-m", "recollect", "mcp"]}, False),
        ({"command": "/p", "args": "x"}, False),
        ({"command": "/p"}, False),
        ({"url": "http://127.0.0.1"}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_our_server_is_told_from_others(value: object, ours: bool) -> None:
    assert is_server(value) is ours
