"""Tests never see the settings and the memory of whoever runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.settings import Settings, load
from tests.conftest import OUTSIDE

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made_once() -> Settings:
    """As a module's server or store is: made before any test's own home is."""
    return load().settings


def test_what_is_made_once_for_many_tests_has_no_settings_from_outside(made_once: Settings) -> None:
    assert made_once.database_url == ""
    assert not [name for name in os.environ if name.startswith(OUTSIDE) and not name.startswith("RECOLLECT_TEST_")]


def test_whoever_keeps_a_real_memory_can_run_the_tests(tmp_path: Path) -> None:
    folder = tmp_path / "somebody" / ".config" / "recollect"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('database_url = "postgresql://somebody@pg.invalid/memory"\n')
    test = test_what_is_made_once_for_many_tests_has_no_settings_from_outside.__name__
    environment = os.environ | {"HOME": str(tmp_path / "somebody"), "RECOLLECT_TENANT": "acme", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"{Path(__file__)}::{test}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
