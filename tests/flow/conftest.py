"""The command line for tests: `cli` runs it in this process, `command` as the real command in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from recollect.cli.main import main
from tests.flow.mcp_fixture import make_tools as make_tools
from tests.flow.mcp_fixture import served as served
from tests.flow.mcp_fixture import talk as talk
from tests.flow.mcp_fixture import tools as tools


class Ran(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory commands are run in: a project by its path."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def cli(work: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command in this process: cli("recall", "x", stdin=b"…")."""

    def run(*words: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        code = main(list(words))
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ran(code, out, err)

    return run


@pytest.fixture
def command(work: Path, own_home: Path) -> Cli:
    """Run the real command in a process of its own, in an empty home."""

    def run(*words: str | bytes, stdin: bytes = b"", env: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *words],
            input=stdin,
            capture_output=True,
            timeout=120,
            check=False,
            cwd=work,
            env={**os.environ, "HOME": str(own_home), **(env or {})},
        )
        err = done.stderr.decode()
        assert "Traceback" not in err
        return Ran(done.returncode, done.stdout.decode(), err)

    return run
