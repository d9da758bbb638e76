"""What is not needed is not loaded: the version and the overview need nothing, words-only commands no model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "onnxruntime", "rich")
SCRIPT = """
import sys
from recollect.cli.main import main
code = main(sys.argv[2:])
sys.stdout.flush()
sys.stderr.write("loaded " + ",".join(m for m in sys.argv[1].split(",") if m in sys.modules))
raise SystemExit(code)
"""


def loaded(words: list[str], names: tuple[str, ...], home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, ",".join(names), *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=home,
        env={**os.environ, "HOME": str(home)},
    )
    return done.stderr.rpartition("loaded ")[2]


@pytest.mark.parametrize("flag", ["--version", "--help"])
def test_version_and_help_load_nothing(flag: str, own_home: Path) -> None:
    assert loaded([flag], (*HEAVY, "apsw", "argparse", "json", "recollect.facade", "recollect.model"), own_home) == ""


def test_words_only_commands_load_no_model(own_home: Path) -> None:
    for words in (
        ["remember", "a thing to find"],
        ["recall", "--mode", "lexical", "thing"],
        ["recall", "--mode", "lexical", "--json", "thing"],
        ["context", "--mode", "lexical", "thing"],
        ["list"],
        ["whoami"],
        ["config"],
        ["forget", "--all", "--yes"],
    ):
        assert loaded(words, HEAVY, own_home) == "", words


@pytest.mark.parametrize(
    "words", [["hook", "claude"], ["remember", "x"], ["recall", "--mode", "lexical", "x"], ["doctor"]]
)
def test_a_store_in_a_file_loads_nothing_of_a_server(words: list[str], own_home: Path) -> None:
    """Whoever has no PostgreSQL need not have its driver, and waits for none."""
    names = ("psycopg", "psycopg_pool", "recollect.store.postgres.store", "recollect.store.postgres.address")
    assert loaded(words, names, own_home) == ""


def test_whoever_captures_for_a_server_does_not_load_it_in_the_hook(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", "postgresql://ann@127.0.0.1:1/memory")
    assert loaded(["hook", "claude"], ("psycopg", "psycopg_pool", "apsw"), own_home) == ""


def test_a_verb_loads_no_other_verb(own_home: Path) -> None:
    others = tuple(f"recollect.cli.verbs.{name}" for name in ("list", "show", "demo", "doctor", "model"))
    assert loaded(["recall", "--mode", "lexical", "x"], (*others, "shutil", "difflib"), own_home) == ""
