"""The demo: real answers on the sample sessions, in seconds, with and without the model; nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.cli.verbs.demo import SAMPLES
from recollect.model import ROLES
from tests.flow.conftest import Cli


def answers(ran_json: dict[str, object]) -> list[dict[str, object]]:
    found = ran_json["answers"]
    assert isinstance(found, list)
    return [one["recall"] for one in found]


def test_it_tells_its_story_with_the_model(command: Cli, own_home: Path, minilm_dir: Path) -> None:
    ran = command("demo", "--model-dir", str(minilm_dir))
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    for part in (
        "by words and by meaning",
        "port 8080",
        "port 8000",
        "abstained",
        "[gist]",
        "=== Relevant Context ===",
    ):
        assert part in ran.out
    assert [path.name for path in own_home.iterdir() if path.name != ".cache"] == []  # the runtime's own


def test_the_answers_are_right(cli: Cli, minilm_dir: Path) -> None:
    why, fix, now, then, meaning, nothing = answers(cli("demo", "--json", "--model-dir", str(minilm_dir)).json)
    assert "SKIP LOCKED" in why["hits"][0]["content"]  # type: ignore[index]
    assert "killed worker" in why["hits"][0]["why"]  # type: ignore[index]
    assert "CI" in fix["hits"][0]["content"]  # type: ignore[index]
    assert now["hits"][0]["content"] == "tide listens on port 8080."  # type: ignore[index]
    assert then["hits"][0]["content"] == "tide listens on port 8000."  # type: ignore[index]
    assert "peanuts" in meaning["hits"][0]["content"]  # type: ignore[index]
    assert nothing["abstained"] is True


def test_without_the_model_it_says_so(cli: Cli) -> None:
    ran = cli("demo")
    assert ran.code == 0
    assert "Words only: the embedding model is not installed." in ran.out
    assert "port 8080" in ran.out


def test_keep_keeps_the_data(cli: Cli, work: Path) -> None:
    assert cli("demo", "--keep", "kept").code == 0
    listed = cli("sessions", "--data-dir", "kept", "--tenant", "demo", "--user", "you", "--all-projects", "--json")
    assert len(listed.json["sessions"]) == 4
    assert cli("demo", "--keep", "kept").code == 2


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_the_samples_are_whole_conversations(file: Path) -> None:
    head, *messages = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert head.keys() == {"session", "title", "project", "days_ago"}
    assert 8 <= len(messages) <= 16
    assert {one["role"] for one in messages} <= ROLES.keys()
    minutes = [one["minute"] for one in messages]
    assert minutes == sorted(minutes)
