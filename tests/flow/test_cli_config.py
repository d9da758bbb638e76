"""`recollect config`: shows every setting and where it came from; changes one line of the file and nothing else."""

from __future__ import annotations

import stat
from dataclasses import fields
from pathlib import Path

import pytest

from recollect.settings import Settings
from tests.flow.conftest import Cli


@pytest.fixture
def file(own_home: Path) -> Path:
    return own_home / ".config" / "recollect" / "config.toml"


def test_every_setting_is_shown_with_its_origin(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("config", "set", "recall_limit", "7")
    monkeypatch.setenv("RECOLLECT_THREADS", "2")
    monkeypatch.setenv("RECOLLECT_EMBEDDING_API_KEY", "sk-very-secret")
    ran = cli("config", "--user", "ann")
    assert all(f"\n{item.name} " in ran.out for item in fields(Settings))
    assert str(file) in ran.out
    assert "sk-very-secret" not in ran.out
    found = cli("config", "--user", "ann", "--json")
    assert "sk-very-secret" not in found.out
    settings = found.json["settings"]
    assert settings["recall_limit"] == {"value": 7, "origin": "file"}
    assert settings["threads"] == {"value": 2, "origin": "RECOLLECT_THREADS"}
    assert settings["user"] == {"value": "ann", "origin": "argument"}
    assert settings["decay"] == {"value": "hyperbolic", "origin": "default"}
    assert settings["embedding_api_key"] == {"value": "set", "origin": "RECOLLECT_EMBEDDING_API_KEY"}


def test_a_long_value_does_not_pad_the_others(cli: Cli) -> None:
    lines = {line.split()[0]: line for line in cli("config").out.splitlines() if line}
    assert lines["deny_paths"].endswith("~/.azure")
    assert all(len(line) < 120 for name, line in lines.items() if name not in ("deny_paths", "data_dir", "config"))


def test_looking_makes_nothing(cli: Cli, own_home: Path) -> None:
    for verb in ("config", "whoami", "doctor", "model"):
        assert cli(verb).code == 0
    assert list(own_home.iterdir()) == []


def test_setting_changes_one_line_and_keeps_the_rest(cli: Cli, file: Path) -> None:
    before = '# mine\r\nrecall_limit   =  3 # three\r\n\n  decay = "exponential"\n[projects]\n# theirs\n"/x" = \'y\''
    file.parent.mkdir(parents=True)
    file.write_bytes(before.encode())
    assert cli("config", "set", "recall_limit", "12").code == 0
    assert file.read_bytes().decode() == before.replace("recall_limit   =  3 # three", "recall_limit = 12")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cli("config", "set", "abstain", "off").code == 0
    assert "\nabstain = false\n[projects]\n" in file.read_bytes().decode()
    assert cli("config", "unset", "abstain").code == 0
    assert file.read_bytes().decode() == before.replace("recall_limit   =  3 # three", "recall_limit = 12")
    assert "was not set" in cli("config", "unset", "abstain").out


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("user", 'o"brien \\ 日本', 'user = "o\\"brien \\\\ 日本"'),
        ("decay_factor", "0.5", "decay_factor = 0.5"),
        ("model_dir", "~/models", 'model_dir = "~/models"'),
        ("project", "", 'project = ""'),
    ],
)
def test_values_of_every_type_read_back(cli: Cli, file: Path, name: str, value: str, written: str) -> None:
    assert cli("config", "set", name, value).code == 0
    assert file.read_text(encoding="utf-8") == written + "\n"
    assert cli("config").code == 0


def test_a_secret_can_come_from_standard_input(cli: Cli, file: Path) -> None:
    assert cli("config", "set", "embedding_api_key", "-", stdin=b"sk-1\n").code == 0
    assert file.read_text() == 'embedding_api_key = "sk-1"\n'
    assert "sk-1" not in cli("config").out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("recall_limit = = 3\n", ("set", "threads", "1")),
        ('user = """\nthreads = 9\n"""\n', ("set", "threads", "1")),
        ("", ("set", "projects", "x")),
        ("", ("set", "user", "two\nlines")),
        ("", ("set", "threads", "")),
    ],
    ids=["broken", "inside a text", "a table", "two lines", "no value"],
)
def test_what_cannot_be_edited_safely_is_left_alone(cli: Cli, file: Path, text: str, words: tuple[str, ...]) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert cli("config", *words).code == 2
    assert file.read_text() == text


def test_the_directory_of_a_project_alias(cli: Cli, file: Path, work: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(f'[projects]\n"{work}" = "nick"\n')
    assert cli("whoami", "--json").json["project"] == "nick"
