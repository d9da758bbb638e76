"""Backups with an end, moves between stores, and what is told about both on the command line."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.clock import now
from recollect.pipeline import backups
from recollect.settings import load
from recollect.store import copies
from recollect.store.copies import Copy
from recollect.store.opening import located, open_store
from recollect.store.port import Store
from tests.flow.conftest import Cli
from tests.services.stores import Emptied


@pytest.fixture
def filled(cli: Cli, each_store: str) -> str:
    """Two users with a memory each, in each kind of store; returns its address, if it has one."""
    assert cli("remember", "the walrus sleeps at noon", "--user", "ann").code == 0
    assert cli("remember", "the penguin is called Erwin", "--user", "bob", "--tenant", "other").code == 0
    return each_store


def opened() -> Store:
    return open_store(located(load().settings))


@pytest.mark.usefixtures("filled")
def test_a_backup_is_listed_with_the_day_it_is_to_go_and_forget_tells_of_it(cli: Cli, work: Path) -> None:
    """P13."""
    made = cli("backup", "copy", "--json").json
    assert made["bytes"] == (work / "copy").stat().st_size
    assert made["sha256"] == copies.file_digest(work / "copy")
    [listed] = cli("backup", "--list", "--json").json["backups"]
    assert listed["path"] == str(work / "copy")
    assert listed["expires_at"][:10] == f"{now() + timedelta(days=30):%Y-%m-%d}"
    assert str(work / "copy") in cli("backup", "--list").out
    receipt = cli("forget", "--all", "--yes", "--user", "ann", "--json").json
    assert [held["id"] for held in receipt["backups"]] == [listed["id"]]
    assert str(work) not in json.dumps(receipt)
    said = cli("forget", "--all", "--yes", "--user", "bob", "--tenant", "other").out
    assert "1 backup may hold it, to be deleted by" in said


def test_a_backup_says_of_what_it_is_and_how_many_rows(cli: Cli, filled: str) -> None:
    made = cli("backup", "one", "--json").json
    assert made["from"].startswith("postgresql://" if filled else "sqlite:///")
    assert made["rows"] == {"sessions": 0, "events": 0, "gists": 0, "memories": 2}
    assert f"From {made['from']}: 2 memories." in cli("backup", "two").out


@pytest.mark.parametrize("words", [("backup", "copy"), ("backup", "--list"), ("backup", "--prune")], ids=" ".join)
def test_where_there_is_no_store_there_is_no_backup(cli: Cli, work: Path, words: tuple[str, ...]) -> None:
    """Root without the service's settings gets an error, not a verified backup of a store that was made for it."""
    refused = cli(*words, "--data-dir", "elsewhere")
    assert (refused.code, refused.out) == (2, "")
    assert f"there is no store at sqlite:///{str(work / 'elsewhere').lstrip('/')}" in refused.err
    assert "RECOLLECT_CONFIG" in refused.err
    assert [path.name for path in work.iterdir()] == []


def test_a_backup_of_an_empty_store_says_so(cli: Cli) -> None:
    cli("remember", "one thing", "--json")
    cli("forget", "--all", "--yes")
    assert "which is empty: is it the one you mean?" in cli("backup", "copy").out


@pytest.mark.usefixtures("filled")
def test_what_is_over_is_deleted_and_nothing_else_is(cli: Cli, work: Path) -> None:
    """A note alone never makes a file disappear."""
    for name, days in (("old", "0"), ("new", "5"), ("changed", "0"), ("gone", "0")):
        assert cli("backup", name, "--keep-days", days).code == 0
    (work / "precious").write_text("precious")
    with (work / "changed").open("ab") as file:
        file.write(b"!")
    (work / "gone").unlink()
    store = opened()
    at = now() - timedelta(days=1)
    copies.note(store.notes, Copy("spoiled", str(work / "precious"), os.uname().nodename, at, at, 8, "00"))
    copies.note(store.notes, Copy("empty", str(work / "precious"), os.uname().nodename, at, at))
    copies.note(store.notes, Copy("elsewhere", str(work / "new"), "another machine", at, at, 8, "00"))
    store.close()
    looked = cli("backup", "--prune", "--dry-run", "--json").json["pruned"]
    outcomes = {(Path(one["path"]).name, one["outcome"]) for one in looked}
    assert outcomes == {
        ("old", "due"), ("changed", "changed"), ("gone", "gone"), ("precious", "changed"), ("new", "elsewhere"),
    }  # fmt: skip
    assert (work / "old").exists()
    ran = cli("backup", "--prune")
    assert ran.code == 1
    assert sorted(path.name for path in work.iterdir()) == ["changed", "new", "precious"]
    assert len(cli("backup", "--list", "--json").json["backups"]) == 5


@pytest.mark.usefixtures("filled")
def test_a_backup_that_fails_is_not_listed(cli: Cli, work: Path) -> None:
    (work / "taken").write_text("precious")
    assert cli("backup", "taken").code == 2
    assert cli("backup", "--list", "--json").json["backups"] == []
    assert cli("backup").code == 2
    assert cli("backup", "copy", "--list").code == 2
    assert cli("backup", "copy", "--keep-days", "-1").code == 2


def test_a_backup_that_was_killed_is_listed(cli: Cli, work: Path, filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noted before it is begun: what may be lying around is known."""
    store = opened()

    def killed(target: Path) -> int:
        assert [copy.path for copy in backups.listed(store)] == [str(target)]
        target.write_bytes(b"half")
        raise OSError

    monkeypatch.setattr(store, "backup", killed)
    with pytest.raises(OSError):  # noqa: PT011 - any
        backups.back_up(store, work / "copy", now, keep_days=1)
    store.close()


def test_a_backup_restores_from_the_command_line(
    cli: Cli, work: Path, filled: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cli("export", "--user", "ann").out.splitlines()[1:]
    made = cli("backup", "copy", "--json").json
    cli("forget", "--all", "--yes", "--user", "ann")
    where = ("--url", postgres_url) if filled else ("--data-dir", "new")
    other = ("--data-dir", "wrong", "--url", "sqlite:///" + str(work / "wrong")) if filled else ("--url", postgres_url)
    refused = cli("restore", "copy", *where, "--sha256", "00" * 32)
    assert (refused.code, made["sha256"] in refused.err) == (2, True)
    assert cli("restore", "copy", *other).code == 2
    ran = cli("restore", "copy", *where, "--sha256", made["sha256"].upper())
    assert ran.code == 0, ran.err
    assert "2 memories" in ran.out
    assert "forgotten after that is in it again" in ran.out
    assert cli("export", "--user", "ann", *where).out.splitlines()[1:] == before
    assert cli("restore", "copy", *where).code == 1


def texts(cli: Cli, *where: str) -> dict[str, list[Any]]:
    found = {}
    for user, tenant in (("ann", "local"), ("bob", "other")):
        lines = cli("export", "--user", user, "--tenant", tenant, *where).out.splitlines()[1:]
        found[user] = [json.loads(line) for line in lines]
    return found


def test_moved_there_and_back_it_is_the_same(
    cli: Cli, work: Path, emptied: Emptied, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = emptied.url(3)
    cli("remember", "the walrus sleeps at noon", "--user", "ann")
    cli("remember", "the penguin is called Erwin", "--user", "bob", "--tenant", "other")
    before = texts(cli)
    planned = cli("move", "--from", "sqlite", "--to", url, "--dry-run")
    assert planned.code == 0
    assert "planned" in planned.out
    assert "Nothing was moved" in planned.out
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", url)
    there = cli("move", "--from", "sqlite", "--to", "postgres", "--json")
    assert there.code == 0, there.err
    assert {one["state"] for one in there.json["owners"]} == {"moved"}
    assert texts(cli) == before
    back = cli("move", "--from", "postgres", "--to", f"sqlite:///{work}/back")
    assert "2 of 2 are the same in both stores" in back.out
    monkeypatch.delenv("RECOLLECT_DATABASE_URL")
    assert texts(cli, "--data-dir", "back") == before
    cli("remember", "newer, and only here", "--user", "ann", "--data-dir", "back")
    refused = cli("move", "--from", url, "--to", f"sqlite:///{work}/back")
    assert refused.code == 1
    assert "refused" in refused.out
    assert "--merge" in refused.err
    assert cli("move", "--from", url, "--to", f"sqlite:///{work}/back", "--merge").code == 0


def test_words_that_name_no_store_are_refused(cli: Cli, work: Path) -> None:
    for words in (
        ["--from", "sqlite", "--to", "nonsense"],
        ["--from", "postgres", "--to", "sqlite"],
        ["--from", f"sqlite:///{work}/nothing", "--to", "sqlite"],
        ["--from", "sqlite"],
        ["--from", "sqlite", "--to", "postgres", "--url", "postgresql://x"],
    ):
        ran = cli("move", *words)
        assert ran.code in (1, 2), words
    assert not (work / "nothing").exists()
