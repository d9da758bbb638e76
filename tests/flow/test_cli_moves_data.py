"""Export and import are lossless and harmless to do twice; backups restore; bad lines are named."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.model import os_user
from tests.flow.conftest import Cli


@pytest.fixture
def filled(cli: Cli) -> None:
    """Sessions and memories in two projects and in none."""
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        question = "How do we deploy the Fährhaus service? \x1b[1m"
        answer = "We deploy it with make deploy, always from the main branch."
        memory.record_many([("claude:a", "user", question, 1_700_000_000), ("claude:a", "assistant", answer)])
        assert memory.summarize("claude:a")
        first = memory.remember("said once", tags=["t"], why="because")
        memory.update(first.id, content="said twice")
        memory.supersede(first.id, "said thrice")
    cli("remember", "in this project")
    cli("remember", "in that project", "--project", "that")


def lines(cli: Cli, *flags: str) -> list[str]:
    return cli("export", *flags).out.splitlines()[1:]


@pytest.mark.usefixtures("filled")
def test_what_is_exported_comes_back_the_same(cli: Cli, work: Path) -> None:
    assert cli("export", "out.jsonl").code == 0
    assert stat.S_IMODE((work / "out.jsonl").stat().st_mode) == 0o600
    first = cli("import", "out.jsonl", "--data-dir", "new", "--json").json["counts"]
    assert first == {"sessions": 1, "events": 2, "gists": 1, "memories": 4, "known": 0}
    assert lines(cli, "--data-dir", "new") == lines(cli)
    again = cli("import", "out.jsonl", "--data-dir", "new", "--json").json["counts"]
    assert again == {"events": 0, "known": 8}
    assert "nothing new" in cli("import", "-", "--data-dir", "new", stdin=(work / "out.jsonl").read_bytes()).out
    assert lines(cli, "--data-dir", "new") == lines(cli)


@pytest.mark.usefixtures("filled")
def test_export_takes_every_project_unless_one_is_named(cli: Cli) -> None:
    assert sum("project" in json.loads(line)["content"] for line in lines(cli) if '"memory"' in line) == 2
    assert not any("in this project" in line for line in lines(cli, "--project", "that"))


@pytest.mark.usefixtures("filled")
def test_an_export_does_not_replace_a_file_unasked(cli: Cli, work: Path) -> None:
    (work / "mine.txt").write_text("precious")
    assert cli("export", "mine.txt").code == 2
    assert (work / "mine.txt").read_text() == "precious"
    assert cli("export", "mine.txt", "--force").code == 0
    assert not list(work.glob(".*part"))


BAD = {
    "not JSON": (b"{nope", "not a JSON object"),
    "not an object": (b"[1]", "not a JSON object"),
    "deep": (b"[" * 100_000, "not a JSON object"),
    "not UTF-8": (b'{"type":"\xff"}', "not UTF-8"),
    "unknown type": (b'{"type":"spaceship"}', "unknown record type"),
    "half a memory": (b'{"type":"memory","id":"x"}', "not one of ours"),
    "later format": (b'{"type":"recollect","format":9}', "format 9"),
}


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("bad", "message"), BAD.values(), ids=BAD)
def test_a_bad_line_is_named_and_the_good_ones_before_it_stay(cli: Cli, bad: bytes, message: str) -> None:
    good = cli("export").out.encode().splitlines()
    data = b"\n".join([*good[:4], b"", bad, *good[4:]])
    ran = cli("import", "-", "--data-dir", "new", stdin=data)
    assert ran.code == 2
    assert ran.err.startswith("error: line 6: ")
    assert message in ran.err
    assert cli("import", "-", "--data-dir", "new", stdin=b"\n".join(good)).code == 0
    assert lines(cli, "--data-dir", "new") == lines(cli)


@pytest.mark.usefixtures("filled")
def test_a_backup_restores_into_an_empty_place_only(cli: Cli, work: Path) -> None:
    assert cli("backup", "copy.db").code == 0
    assert stat.S_IMODE((work / "copy.db").stat().st_mode) == 0o600
    assert cli("backup", "copy.db").code == 2
    assert "4 memories" in cli("restore", "copy.db", "--data-dir", "new").out
    assert lines(cli, "--data-dir", "new") == lines(cli)
    taken = cli("restore", "copy.db", "--data-dir", "new")
    assert taken.code == 1
    assert "empty data directory" in taken.err
    (work / "cut.db").write_bytes((work / "copy.db").read_bytes()[:-4096])
    cut = cli("restore", "cut.db", "--data-dir", "third")
    assert cut.code == 2
    assert not (work / "third" / "recollect.db").exists()


@pytest.mark.usefixtures("filled")
def test_what_was_forgotten_is_not_imported_again(cli: Cli) -> None:
    before = cli("export").out
    cli("forget", "--session", "claude:a", "--yes", "--all-projects")
    counts = cli("import", "-", "--json", stdin=before.encode()).json["counts"]
    assert counts["forgotten"] == 1
    assert "events" not in counts or counts["events"] == 0
    assert "No sessions" in cli("sessions", "--all-projects").err
