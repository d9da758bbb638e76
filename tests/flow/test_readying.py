"""What agents are shown follows the memories, and nothing that was asked for fails because it cannot."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.lock import alone
from recollect.pipeline import prepare as preparing
from recollect.pipeline import readying


@pytest.fixture
def home_memory(tmp_path: Path) -> Recollect:
    memory = Recollect.open(tmp_path / "data", scope=Scope(), embedder=None)
    memory.remember("Use tabs here", kind="preference")
    memory.prepare()
    return memory


def shown(memory: Recollect) -> str:
    return (memory.settings.data_dir / "prepared" / "start" / "user.claude").read_text()


def test_what_comes_in_shortly_after_is_shown_without_another_push(
    home_memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readying, "REST_SECONDS", 0.3)
    with home_memory:
        home_memory.prepare()
        home_memory.remember("Answer in short sentences", kind="preference")
        until = time.monotonic() + 10
        while "short sentences" not in shown(home_memory) and time.monotonic() < until:
            time.sleep(0.02)
        assert "short sentences" in shown(home_memory)


def test_a_sweep_is_done_although_its_texts_cannot_be_laid_ready(
    home_memory: Recollect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(preparing, "WAIT_SECONDS", 0.05)
    with home_memory, alone(home_memory.settings.data_dir / preparing.LOCK):
        assert home_memory.sweep({"claude": []}).failed == 0
    assert "could not be renewed" in caplog.text


def test_what_could_not_be_renewed_is_renewed_the_next_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "WAIT_SECONDS", 0.05)
    memory = Recollect.open(tmp_path / "data", scope=Scope(), embedder=None, background=False)
    memory.prepare()
    memory.remember("Use tabs here", kind="preference")
    with alone(memory.settings.data_dir / preparing.LOCK):
        memory.sweep({"claude": []})
        assert "tabs" not in shown(memory)
    memory.close()
    assert "tabs" in shown(memory)
