"""`recollect feedback` and `recollect ranking` as a person types them, and as an agent runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.main import main


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def run(capsys: pytest.CaptureFixture[str], *words: str, expect: int = 0) -> Any:
    """The JSON a command prints."""
    assert main([*words, "--json"]) == expect
    out = capsys.readouterr().out
    return json.loads(out) if out.strip() else None


def kept(capsys: pytest.CaptureFixture[str], data: str) -> str:
    told = run(capsys, "remember", "Postgres listens on port 5433", "--data-dir", data)
    return str(told["memory"]["id"] if "memory" in told else told["id"])


def test_feedback_is_given_shown_and_taken_back(capsys: pytest.CaptureFixture[str], data: str) -> None:
    id_ = kept(capsys, data)
    told = run(capsys, "feedback", id_[-8:], "helpful", "--session", "s1", "--note", "the port", "--data-dir", data)
    assert told["usefulness"] == pytest.approx(1 / 3)
    assert [(one["verdict"], one["session"], one["source"]) for one in told["feedback"]] == [("helpful", "s1", "user")]
    shown = run(capsys, "show", id_, "--data-dir", data)
    assert shown["usage"]["feedback"][0]["note"] == "the port"
    assert main(["show", id_, "--data-dir", data]) == 0
    out = capsys.readouterr().out
    assert "helpful" in out
    assert "the port" in out
    assert main(["recall", "postgres port", "--explain", "--data-dir", data, "--mode", "lexical"]) == 0
    assert "+0.33" in capsys.readouterr().out
    told = run(capsys, "feedback", id_, "helpful", "--session", "s1", "--undo", "--data-dir", data)
    assert (told["usefulness"], told["feedback"]) == (0.0, [])
    assert main(["feedback", id_, "helpful", "--session", "s1", "--undo", "--data-dir", data]) != 0
    assert "nobody said" in capsys.readouterr().err


def test_an_agents_word_is_an_agents(
    capsys: pytest.CaptureFixture[str], data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = kept(capsys, data)
    monkeypatch.setenv("CLAUDECODE", "1")
    told = run(capsys, "feedback", id_, "cited", "--data-dir", data)
    assert told["feedback"][0]["source"] == "agent"


def test_an_agent_neither_outvotes_the_user_with_made_up_sessions_nor_takes_their_word_back(
    capsys: pytest.CaptureFixture[str], data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = kept(capsys, data)
    run(capsys, "feedback", id_, "harmful", "--note", "it broke the build", "--data-dir", data)
    monkeypatch.setenv("CLAUDECODE", "1")
    for number in range(10):
        run(capsys, "feedback", id_, "helpful", "--session", f"made-up-{number}", "--data-dir", data)
    told = run(capsys, "feedback", id_, "harmful", "--note", "not at all", "--data-dir", data)
    assert told["usefulness"] == pytest.approx(-3 / 5), "one helpful against one harmful"
    assert {(one["verdict"], one["source"], one["session"], one["note"]) for one in told["feedback"]} == {
        ("harmful", "user", None, "it broke the build"),
        ("helpful", "agent", None, None),
    }
    assert main(["feedback", id_, "harmful", "--undo", "--data-dir", data]) != 0
    assert "no agent said harmful" in capsys.readouterr().err
    told = run(capsys, "feedback", id_, "helpful", "--session", "made-up-3", "--undo", "--data-dir", data)
    assert [(one["verdict"], one["source"]) for one in told["feedback"]] == [("harmful", "user")]


@pytest.mark.parametrize("words", [("lovely",), ("success",), ()], ids=["unknown", "not for people", "none"])
def test_an_odd_verdict_is_wrong_usage(capsys: pytest.CaptureFixture[str], data: str, words: tuple[str, ...]) -> None:
    id_ = kept(capsys, data)
    assert main(["feedback", id_, *words, "--data-dir", data]) == 2


def test_ranking_is_shown_fitted_and_reset(capsys: pytest.CaptureFixture[str], data: str) -> None:
    kept(capsys, data)
    shown = run(capsys, "ranking", "--data-dir", data)
    assert (shown["own"], shown["default"]["similarity"]) == (None, 0.6)
    fitted = run(capsys, "ranking", "fit", "--data-dir", data)
    assert (fitted["adopted"], fitted["fitted"]["fit"]["enough"]) == (False, False)
    assert main(["ranking", "fit", "--dry-run", "--data-dir", data]) == 0
    assert "Not enough data" in capsys.readouterr().out
    assert run(capsys, "ranking", "reset", "--data-dir", data)["reset"] is False
    assert main(["ranking", "show", "--data-dir", data]) == 0
    assert "similarity" in capsys.readouterr().out
    assert main(["ranking", "reset", "--dry-run", "--data-dir", data]) == 2
