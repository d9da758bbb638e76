"""A real browser: the one a variable names, the one of this machine, or Chromium from npm, unpacked once into .cache.

Where none can be had the tests are skipped, and say which part was missing.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
CACHE = Path(__file__).resolve().parents[3] / ".cache" / "browser"
NPM_SECONDS = 300
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--force-color-profile=srgb", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--no-zygote"),
)
# Unpacks the browser, its libraries and fonts beside the package.
UNPACK = """
import chromium, { inflate } from "@sparticuz/chromium";
const binary = await chromium.executablePath();
for (const part of ["al2023.tar.br"]) await inflate(`${process.argv[2]}/bin/${part}`);
console.log(binary);
"""


def find_chromium() -> tuple[Path, dict[str, str]]:
    """The browser and the variables it needs."""
    given = os.environ.get("RECOLLECT_TEST_BROWSER")
    if given and not Path(given).exists():
        pytest.fail(f"RECOLLECT_TEST_BROWSER={given} is not there")
    found = given or next((path for path in map(shutil.which, NAMES) if path), None)
    if found:
        return Path(found), {}
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two workers at once
        return _from_npm()


def _from_npm() -> tuple[Path, dict[str, str]]:
    binary, folder = CACHE / "tmp" / "chromium", CACHE / "node_modules" / PACKAGE
    libraries = {"LD_LIBRARY_PATH": str(CACHE / "tmp" / "al2023" / "lib")}
    if not Path("/etc/fonts").exists():
        libraries["FONTCONFIG_PATH"] = str(CACHE / "tmp" / "fonts")  # those it brings
    if not binary.exists():
        npm, node = shutil.which("npm"), shutil.which("node")
        if npm is None or node is None:
            pytest.skip("a browser: none is installed, and there is no npm to fetch one (RECOLLECT_TEST_BROWSER=PATH)")
        quick = ("--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts", "--fetch-retries=0")
        _run([npm, "install", f"--prefix={CACHE}", *quick, f"{PACKAGE}@{VERSION}"], "npm cannot fetch it")
        (CACHE / "tmp").mkdir(exist_ok=True)
        (CACHE / "unpack.mjs").write_text(UNPACK)
        _run([node, str(CACHE / "unpack.mjs"), str(folder)], "it cannot be unpacked")
    done = subprocess.run([binary, "--version"], capture_output=True, env={**os.environ, **libraries})
    if done.returncode:
        pytest.skip(f"a browser: Chromium {VERSION} from npm does not run here: {done.stderr.decode()[:200]}")
    return binary, libraries


def _run(words: list[str], problem: str) -> None:
    env = {**os.environ, "TMPDIR": str(CACHE / "tmp")}
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=NPM_SECONDS, cwd=CACHE, env=env)
    except subprocess.TimeoutExpired:
        pytest.skip(f"a browser: not in {NPM_SECONDS} s: {problem}")
    if done.returncode:
        pytest.skip(f"a browser: {problem}: {done.stderr[:200]}")
