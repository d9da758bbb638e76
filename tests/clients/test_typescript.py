"""The TypeScript client keeps its promises: its own tests run here, against this server and this Redis."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "clients" / "typescript"
CACHE = REPOSITORY / ".cache" / "npm"
OLDEST_NODE = 20  # for the tests; the client itself runs on 18
NPM_SECONDS = 600.0
MADE_HERE = shutil.ignore_patterns("node_modules", "dist", "build")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with what its tests need, as the lock says; skipped by name where that cannot be had."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip(f"the TypeScript client: {'npm' if node else 'Node'} is not installed")
    told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=60).stdout
    found = re.match(r"v(\d+)\.", told)
    if found is None or int(found[1]) < OLDEST_NODE:
        pytest.skip(f"the TypeScript client: its tests need Node {OLDEST_NODE}, and this is {told.strip() or 'none'}")
    root = tmp_path_factory.mktemp("typescript")
    copy = root / "clients" / "typescript"
    shutil.copytree(PACKAGE, copy, ignore=MADE_HERE)
    shutil.copytree(REPOSITORY / "docs", root / "docs")
    quick = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1")
    words = [npm, "ci", f"--cache={CACHE}", *quick]
    try:
        done = subprocess.run(words, cwd=copy, capture_output=True, text=True, timeout=NPM_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"the TypeScript client: npm has not fetched what its tests need in {NPM_SECONDS:.0f} s")
    if done.returncode:
        codes = re.findall(r"npm error code (\w+)", done.stderr)
        away = [
            code
            for code in codes
            if code.startswith(("ENOTFOUND", "EAI", "ECONN", "ETIMEDOUT", "ENETUNREACH", "E4", "E5"))
        ]
        if away:
            pytest.skip(f"the TypeScript client: npm cannot fetch what its tests need: {away[0]}")
        pytest.fail(f"npm ci: {done.stderr[-2000:]}")
    return copy


def run(package: Path, *words: str, **more: str) -> str:
    """What an npm command prints; a failure shows its last lines."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "REDIS_"))}
    env |= {"NO_COLOR": "1", "CI": "1", "npm_config_cache": str(CACHE), "npm_config_update_notifier": "false", **more}
    done = subprocess.run(["npm", *words], cwd=package, env=env, capture_output=True, text=True, timeout=NPM_SECONDS)
    assert done.returncode == 0, f"npm {' '.join(words)}:\n{(done.stdout + done.stderr)[-6000:]}"
    return done.stdout


def test_its_types_hold(package: Path) -> None:
    run(package, "run", "check")


def test_its_tests_pass_against_the_real_server_and_the_real_redis(
    package: Path, redis_url: str, tmp_path: Path
) -> None:
    """None is left out: a server or a Redis that does not start is a failure. Nothing of them stays behind."""
    program, folder = Path(sys.executable).with_name("recollect"), tmp_path / "servers"
    folder.mkdir()
    servers = {"RECOLLECT_TEST_PROGRAM": str(program), "RECOLLECT_TEST_REDIS_URL": redis_url}
    printed = run(package, "test", **servers, TMPDIR=str(folder))
    counts = re.search(r"Tests\s+(\d+) passed \((\d+)\)", printed)
    assert counts is not None, printed[-2000:]
    assert counts[1] == counts[2]
    assert int(counts[1]) > 200
    assert list(folder.glob("recollect-ts-*")) == []


def test_the_lock_names_no_registry() -> None:
    assert '"resolved"' not in (PACKAGE / "package-lock.json").read_text()


def test_the_versions_are_one() -> None:
    """The client and the server are released together."""
    from recollect.version import __version__

    assert f'"version": "{__version__}"' in (PACKAGE / "package.json").read_text()
