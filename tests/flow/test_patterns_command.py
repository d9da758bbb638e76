"""`recollect patterns` as a user starts it: the whole loop from what repeats to whether the rule helped."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.clock import now
from recollect.project import resolve
from tests.flow.conftest import Cli
from tests.flow.patterns_fixture import STALE, fill, keep, quiet
from tests.unit.learn.learning_fixture import START, stale_edit


@pytest.fixture
def data_dir(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


@pytest.fixture
def filled(data_dir: Path) -> Path:
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        fill(memory)
    return data_dir


def first_id(cli: Cli) -> str:
    return str(cli("detect", "--json").json["candidates"][0]["id"])


def test_the_whole_loop(cli: Cli, data_dir: Path, work: Path) -> None:
    """Issue 7: detect, approve, roll out with its diff shown, new sessions, measure; then every byte is back."""
    project = resolve(work).name
    (work / "CLAUDE.md").write_text("# Mine\n")
    past = -(START - now()).days - 40
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        told = [(stale_edit if n < 12 else quiet)(f"old{n}", day=past + n) for n in range(16)]
        keep(memory, *told, stale_edit("x", "codex", day=past), project=project)
    pattern = first_id(cli)
    assert "[CROSS-FLAVOR]" in cli("patterns", "list").out
    assert "Approved:" in cli("patterns", "approve", pattern[:8], "--why", "every week").out
    planned = cli("patterns", "roll-out", pattern, "--to", "claude-md", "--dry-run")
    assert "+- Read the lines to be changed again" in planned.out
    assert (work / "CLAUDE.md").read_text() == "# Mine\n"
    done = cli("patterns", "roll-out", pattern, "--to", "claude-md")
    assert done.code == 0
    assert "+- Read the lines to be changed again" in done.out
    assert "not enough data" in cli("patterns", "measure").out
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        (rollout,) = memory.patterns.rollouts()
        back = rollout.begun_at - timedelta(days=20)  # as if it had been rolled out some weeks ago
        with memory.store.database.write(memory.scope) as tx:  # type: ignore[attr-defined]
            assert tx.rows is not None
            tx.run("patterns.drop_rollouts", {"owner": tx.rows.owner, "id": rollout.pattern})
        memory.store.patterns.put_rollout(memory.scope, replace(rollout, begun_at=back))
        keep(memory, *(quiet(f"new{n}", day=past + 22 + n) for n in range(14)), project=project)
    page = work / "effect.html"
    measured = cli("patterns", "measure", pattern, "--html", str(page))
    assert "before             ###############..... 75 per 100 tasks (12 of 16)" in measured.out
    assert "after              .................... 0 per 100 tasks (0 of 14)" in measured.out
    assert "fewer: -75 per 100 tasks, 95 % interval" in measured.out
    html = page.read_text()
    assert "<svg" in html
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert cli("patterns", "measure", "--json").json["measured"][0]["effect"]["verdict"] == "fewer"
    assert cli("patterns", "roll-back", pattern).code == 0
    assert (work / "CLAUDE.md").read_text() == "# Mine\n"


def test_what_detect_tells_of_can_be_decided_on_at_once(cli: Cli, filled: Path) -> None:
    pattern = first_id(cli)
    assert cli("patterns", "reject", pattern, "--why", "rare", "--json").json["pattern"]["state"] == "rejected"
    assert STALE not in cli("patterns").out
    assert STALE in cli("patterns", "list", "--state", "rejected").out
    told = cli("patterns", "history", pattern).out
    assert "reject" in told
    assert "rare" in told


def test_every_action_speaks_json(cli: Cli, filled: Path, work: Path) -> None:
    pattern = first_id(cli)
    (work / "out").mkdir()
    other = cli("patterns", "list", "--json").json["patterns"][1]["id"]
    for words in (
        ("refresh",),
        ("list",),
        ("show", pattern),
        ("approve", pattern),
        ("edit", pattern, "--rule", "Look first."),
        ("history", pattern),
        ("export", "out"),
        ("roll-out", pattern, "--to", "agents-md"),
        ("roll-out", pattern, "--to", "skill", "--everywhere", "--dry-run"),
        ("measure",),
        ("measure", pattern),
        ("roll-back", pattern, "--dry-run"),
        ("roll-back", pattern),
        ("merge", other, pattern),
        ("retire", pattern),
        ("reject", pattern),
    ):
        ran = cli("patterns", *words, "--json")
        assert ran.code == 0, (words, ran)
        assert isinstance(ran.json, dict), words


def test_showing_one_names_its_sessions_and_places(cli: Cli, filled: Path, work: Path) -> None:
    pattern = first_id(cli)
    cli("patterns", "approve", pattern)
    cli("patterns", "roll-out", pattern, "--to", "agents-md")
    shown = cli("patterns", "show", pattern).out
    for part in ("[CROSS-FLAVOR]", "codex:c", "trust", "AGENTS.md", "approved, version 2"):
        assert part in shown


def test_the_export_is_written_and_nothing_else_is_written_over(cli: Cli, filled: Path, work: Path) -> None:
    cli("patterns", "approve", first_id(cli))
    assert cli("patterns", "export", ".").code == 0
    before = (work / "patterns.md").read_bytes()
    assert cli("patterns", "export", ".").code == 0
    assert (work / "patterns.md").read_bytes() == before
    assert json.loads((work / "patterns.json").read_text())["patterns"]
    (work / "patterns.md").write_text("mine\n")
    assert cli("patterns", "export", ".").code == 2
    assert (work / "patterns.md").read_text() == "mine\n"


@pytest.mark.parametrize(
    "words",
    [
        ("approve",),
        ("merge", "a"),
        ("list", "x"),
        ("roll-out", "ID"),
        ("roll-out", "ID", "--to", "claude-md", "--in", ".", "--everywhere"),
        ("edit", "ID"),
        ("export", "nowhere"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_told(cli: Cli, filled: Path, words: tuple[str, ...]) -> None:
    ran = cli("patterns", *(first_id(cli) if word == "ID" else word for word in words))
    assert ran.code == 2
    assert ran.err


def test_an_agent_may_look_and_decides_nothing(
    cli: Cli, filled: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T01: a page that talks an agent into it gains nothing."""
    pattern = first_id(cli)
    cli("patterns", "approve", pattern)
    monkeypatch.setenv("CLAUDECODE", "1")
    for words in (
        ("approve",),
        ("edit", "--rule", "x"),
        ("reject",),
        ("roll-out", "--to", "agents-md"),
        ("roll-back",),
    ):
        ran = cli("patterns", words[0], pattern, *words[1:])
        assert ran.code == 2
        assert "only the user" in ran.err
    assert not (work / "AGENTS.md").exists()
    assert cli("patterns", "list").code == 0
    assert cli("patterns", "show", pattern).code == 0
