"""`recollect detect` as a user starts it: ranked, marked, narrowed, as JSON, as a page, and it writes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.ids import stable_key
from recollect.learn.values import Detection
from recollect.pipeline.detecting import detect
from recollect.pipeline.digests import digest_due
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import HandClock
from tests.unit.learn.learning_fixture import START, Told, stale_edit


@pytest.fixture
def data_dir(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


def keep(memory: Recollect, *sessions: Told) -> None:
    """Take sessions in as capturing does, with their digests."""
    for told in sessions:
        events = [replace(event, key=stable_key(event.key), way="sweep") for event in told.events]
        memory.store.captures.ingest(memory.scope.within(None), told.session, events)
    digest_due(memory.store, memory.scope.within(None), lambda: START)


@pytest.fixture
def filled(data_dir: Path) -> Path:
    """Two agents that met the same, and one that met something three times."""
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        keep(memory, stale_edit("a"), stale_edit("b", "codex", day=1), stale_edit("c", "codex", day=2))
        for n in range(3):
            told = Told(f"p{n}", "claude", day=3).ask("Hello").run("go test ./...", "zsh:1: command not found: go", 127)
            told.session = replace(told.session, project="other")
            keep(memory, told)
        homeless = Told("nowhere", day=3).ask("Hello").run("go test ./...", "zsh:1: command not found: go", 127)
        homeless.session = replace(homeless.session, project=None)
        keep(memory, homeless)
    return data_dir


def test_what_it_says(cli: Cli, filled: Path) -> None:
    """S3.27, S3.31: ranked, cross-flavor first and marked."""
    ran = cli("detect")
    assert ran.code == 0
    first, second = [line for line in ran.out.splitlines() if "claude" in line and "#" in line][:2]
    assert "[CROSS-FLAVOR] An edit fails because the text to be replaced" in first
    assert "########.. " in first
    assert "claude, codex" in first
    assert "[CROSS-FLAVOR]" not in second
    assert "`go` is not found" in second
    assert "Read the lines to be changed again" in ran.out
    assert "Health of sessions" in ran.out
    assert "7 sessions" in ran.err


def test_as_json(cli: Cli, filled: Path) -> None:
    """S3.28."""
    found = cli("detect", "--json").json
    one = found["candidates"][0]
    assert one["cross_flavor"] is True
    assert one["flavors"] == ["claude", "codex"]
    assert one["sessions"] == ["claude:a", "codex:b", "codex:c"]
    assert one["rule"].startswith("Read the lines")
    assert one["examples"][0]["events"]
    assert {health["flavor"] for health in found["health"]} == {"claude", "codex"}


def test_the_lowest_frequency(cli: Cli, filled: Path) -> None:
    """S3.29."""
    assert len(cli("detect", "--json", "--min-frequency", "3").json["candidates"]) == 2
    assert cli("detect", "--json", "--min-frequency", "9").json["candidates"] == []
    assert "Nothing repeats often enough yet" in cli("detect", "--min-frequency", "9").err


@pytest.mark.parametrize("wrong", ["0", "-3", "99999", "x"])
def test_a_frequency_that_is_none(cli: Cli, filled: Path, wrong: str) -> None:
    assert cli("detect", "--min-frequency", wrong).code == 2


def test_one_project(cli: Cli, filled: Path) -> None:
    found = cli("detect", "--json", "--project", "other").json
    assert [one["key"] for one in found["candidates"]] == ["program missing: go"]
    assert found["sessions"] == 3


def test_since_when(cli: Cli, filled: Path) -> None:
    late = cli("detect", "--json", "--since", "2026-11-04T12:00:00Z").json
    assert late["sessions"] == 4
    assert cli("detect", "--since", "the other day").code == 2


def test_the_page(cli: Cli, filled: Path, work: Path) -> None:
    assert cli("detect", "--html", "found.html").code == 0
    written = (work / "found.html").read_text()
    assert "[CROSS-FLAVOR]" in written
    assert "<svg" in written
    assert cli("detect", "--html", "found.html").code == 0, "such a page is replaced"


def test_a_file_of_the_users_own_is_never_replaced_by_the_page(cli: Cli, filled: Path, work: Path) -> None:
    (work / "notes.html").write_text("mine")
    assert cli("detect", "--html", "notes.html").code == 2
    assert (work / "notes.html").read_text() == "mine"
    assert cli("detect", "--html", str(work)).code == 2


def test_it_writes_nothing_and_finds_the_same_again(cli: Cli, filled: Path) -> None:
    with Recollect.open(filled, background=False, embedder=None) as memory:
        before = list(memory.export())[1:]
    first = cli("detect", "--json").out
    assert cli("detect", "--json").out == first
    with Recollect.open(filled, background=False, embedder=None) as memory:
        assert list(memory.export())[1:] == before


def test_an_empty_store(cli: Cli, own_home: Path) -> None:
    ran = cli("detect")
    assert ran.code == 0
    assert "Nothing repeats often enough yet" in ran.err


def test_a_program_asks(memory: Recollect, clock: HandClock) -> None:
    keep(memory, stale_edit("a"), stale_edit("b", "codex"))
    seen: list[tuple[int, int]] = []
    found = memory.detect(progress=lambda done, total: seen.append((done, total)))
    assert isinstance(found, Detection)
    assert [one.cross_flavor for one in found.candidates] == [True]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert memory.detect(since="2027-01-01").sessions == 0


def test_another_users_sessions_are_never_part_of_it(opened: object, memory: Recollect, clock: HandClock) -> None:
    keep(memory, stale_edit("a"), stale_edit("b", "codex"))
    stranger = replace(memory.scope, user="somebody-else")
    assert detect(memory.store, stranger, now=clock()).sessions == 0


def test_a_session_without_a_digest_is_left_out(memory: Recollect, clock: HandClock) -> None:
    memory.record("plain", "user", "hello")
    assert memory.detect().sessions == 0


def test_a_wrong_frequency_is_said(memory: Recollect) -> None:
    with pytest.raises(InvalidInput):
        memory.detect(min_frequency=0)
