"""The demo: transcripts of three agents swept, real answers out of them, in seconds, with and without the model.

Nothing is left behind, and nothing of this user's own is looked at or changes the story.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.cli.samples import CHAT, CLAUDE, CODEX, GROK, PROJECT
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import Agents

PRIVATE = b"call me on my own number"
WATCHED = """
import json, sys
seen = []
def watch(event, args):
    if event in ("open", "os.listdir", "os.scandir") and isinstance(args[0], (str, bytes)):
        seen.append(args[0] if isinstance(args[0], str) else args[0].decode())
sys.addaudithook(watch)
from recollect.cli.main import main
code = main(["demo"])
sys.stderr.write(json.dumps(seen))
sys.exit(code)
"""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files, for commands in a process of their own."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def answers(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [one["recall"] for one in document["answers"]]


# -- the story ---------------------------------------------------------------------------------------------------------


def test_it_tells_its_story_with_the_model(command: Cli, own_home: Path, minilm_dir: Path) -> None:
    ran = command("demo", "--model-dir", str(minilm_dir))
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    parts = (
        "Sessions of three coding agents are swept, one chat is recorded",
        "discovered 3 / ingested 3 / skipped_unchanged 0 / analyzed 3 / failed 0",
        "withheld: 1 secret, 1 private part",
        "-p [REDACTED:github:",
        "coverage: 100 % of 13 turns",
        "by words and by meaning",
        "tests       2 runs, 1 failed, the last one passed",
        "AssertionError: expected 24 points, got 23",
        "fingerprint ",
        "discovered 3 / ingested 0 / skipped_unchanged 3 / analyzed 0 / failed 0",
        "  0 turns read, 0 events added",
        "What is worth knowing next week, by rules",
        "Tide listens on port 8000. [superseded]",
        "… Python version: 3.12.7",
        "[fact] Tide listens on port 8080 now.",
        "[fact] Tide listens on port 8000.",
        "abstained",
        "[gist]",
        "<recollect-memory>",
        "> Never put job state in Redis again.",
    )
    places = [ran.out.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert [path.name for path in own_home.iterdir() if path.name != ".cache"] == []  # the runtime's own


def test_the_answers_are_right(cli: Cli, minilm_dir: Path) -> None:
    found = answers(cli("demo", "--json", "--model-dir", str(minilm_dir)).json)
    decided, fix, printed, now, then, meaning, nothing = found
    assert "SKIP LOCKED" in decided["hits"][0]["content"]
    assert "CI uses UTC" in fix["hits"][0]["content"]
    assert "raises ValueError" in fix["hits"][1]["content"]
    assert "Python version: 3.12.7" in printed["hits"][0]["content"]
    assert now["hits"][0]["content"] == "Tide listens on port 8080 now."
    assert now["hits"][0]["why"] == "the new ingress expects it"
    assert then["hits"][0]["content"] == "Tide listens on port 8000."
    assert "peanuts" in meaning["hits"][0]["content"]
    assert nothing["abstained"] is True


def test_what_only_a_command_printed_was_said_by_nobody(cli: Cli) -> None:
    cli("demo", "--keep", "kept")
    whose = ("--data-dir", "kept", "--tenant", "demo", "--user", "you", "--all-projects", "--json")
    saying = [
        event["kind"]
        for session in (CLAUDE, CODEX, GROK, CHAT)
        for event in cli("sessions", session, *whose).json["events"]
        if "3.12.7" in event["text"]
    ]
    assert saying == ["tool_result"]


def test_without_the_model_it_says_so_and_still_answers(cli: Cli) -> None:
    ran = cli("demo")
    assert ran.code == 0
    assert "Words only: the embedding model is not installed." in ran.out
    decided, fix, printed, now, *_, nothing = answers(cli("demo", "--json").json)
    assert "SKIP LOCKED" in decided["hits"][0]["content"]
    assert "raises ValueError" in fix["hits"][1]["content"]
    assert "Python version: 3.12.7" in printed["hits"][0]["content"]
    assert "port 8080" in now["hits"][0]["content"]
    assert nothing["abstained"] is True


def test_the_document_holds_the_capture_too(cli: Cli) -> None:
    told = cli("demo", "--json").json
    first, again = told["sweep"], told["second_sweep"]
    assert (first["discovered"], first["ingested"], first["failed"]) == (3, 3, 0)
    assert first["by_agent"] == {"claude": 1, "codex": 1, "grok": 1}
    assert first["counts"] == {"withheld:private": 1, "withheld:secret:github": 1}  # and no record was unknown
    assert (again["skipped_unchanged"], again["ingested"], again["events_added"]) == (3, 0, 0)
    assert (told["coverage"]["percent"], told["coverage"]["turns_stored"], told["coverage"]["gaps"]) == (100.0, 13, 0)
    sessions = {one["session"]: one for one in told["sessions"]}
    assert list(sessions) == [CLAUDE, CODEX, GROK, CHAT]  # the oldest first
    assert [one["project"] for one in sessions.values()] == [PROJECT] * 3 + [None]
    assert [one["outcome"] for one in sessions.values()] == ["success"] * 3 + [None]
    assert sum(one["turns"] for one in sessions.values()) == 13 + 4
    assert all(sessions[name]["tokens"] > 10_000 for name in (CLAUDE, CODEX, GROK))
    assert told["digest"]["session"] == CODEX
    assert told["digest"]["tests"]["last"] == "passed"
    assert told["digest"]["errors"][0]["resolved"] is True
    assert {"src/tide/forecast.py", "src/tide/ingest.py"} < told["digest"]["files_edited"].keys()


@pytest.mark.timed
def test_it_takes_seconds(cli: Cli) -> None:
    assert cli("demo", "--json").json["seconds"] < 3


# -- what it keeps, reads and leaves -----------------------------------------------------------------------------------


def test_keep_keeps_the_data(cli: Cli, work: Path) -> None:
    assert cli("demo", "--keep", "kept").code == 0
    listed = cli("sessions", "--data-dir", "kept", "--tenant", "demo", "--user", "you", "--all-projects", "--json")
    assert len(listed.json["sessions"]) == 4
    assert cli("demo", "--keep", "kept").code == 2


def test_neither_the_secret_nor_the_private_part_is_in_what_is_kept(cli: Cli, work: Path) -> None:
    cli("demo", "--keep", "kept")
    kept = {path: path.read_bytes() for path in (work / "kept").rglob("*") if path.is_file()}
    assert any(b"[REDACTED:github:" in data and b"[private]" in data for data in kept.values())
    for data in kept.values():
        assert b"ghp_" not in data
        assert PRIVATE not in data


@pytest.mark.parametrize("more", [[], ["--json"], ["--keep", "kept"]], ids=["text", "json", "keep"])
def test_nothing_is_left_behind(command: Cli, scratch: Path, work: Path, own_home: Path, more: list[str]) -> None:
    assert command("demo", *more).code == 0
    assert list(scratch.iterdir()) == []
    assert list(own_home.iterdir()) == []
    assert [path.name for path in work.iterdir()] == more[1:]


def test_it_reads_nothing_of_this_user(scratch: Path, work: Path, own_home: Path) -> None:
    """Neither the agents' sessions in the home directory nor anything else but its own temporary files."""
    Agents(own_home).claude("00000000-0000-4000-8000-000000000001")
    Agents(own_home).codex("00000000-0000-4000-8000-000000000002")
    run = [sys.executable, "-c", WATCHED]
    done = subprocess.run(run, capture_output=True, check=True, cwd=work, env={**os.environ, "HOME": str(own_home)})
    assert b"discovered 3 / ingested 3" in done.stdout
    own = [scratch, Path(recollect.__file__).parent, Path(sys.prefix), Path(sys.base_prefix), Path("/dev")]
    opened = {path for name in json.loads(done.stderr) if (path := Path(name)).is_absolute()}
    assert any(path.is_relative_to(scratch) for path in opened)
    assert [path for path in sorted(opened) if not any(path.is_relative_to(place) for place in own)] == []


def test_settings_about_capture_do_not_change_the_story(cli: Cli, own_home: Path) -> None:
    config = own_home / ".config" / "recollect" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        'capture_off = ["claude", "github.com/harbor/tide"]\nuser = "ann"\nproject = "mine"\nredact_personal = true\n'
        '[projects]\n"/home/kim" = "elsewhere"\n[sources]\nclaude = ["/nowhere"]\n'
    )
    told = cli("demo", "--json").json
    assert told["sweep"]["ingested"] == 3
    assert {one["project"] for one in told["sessions"]} == {PROJECT, None}
    assert told["coverage"]["percent"] == 100.0
