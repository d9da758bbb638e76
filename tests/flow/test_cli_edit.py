"""`edit`, `archive` and `list --forgotten`: what the page of a memory does, in a terminal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.pipeline.hubs import QUARANTINED
from tests.flow.conftest import Cli

pytestmark = pytest.mark.usefixtures("each_store")


def keep(cli: Cli, text: str = "The port of postgres is 5544", *words: str) -> str:
    id_: str = cli("remember", "--json", text, "--kind", "fact", *words).json["memory"]["id"]
    return id_


def shown(cli: Cli, id_: str) -> dict[str, Any]:
    told: dict[str, Any] = cli("show", id_, "--json").json["memory"]
    return told


def test_every_field_of_a_memory_is_changed_and_the_former_wording_kept(cli: Cli) -> None:
    id_ = keep(cli)
    given = ("--why", "it was moved", "--kind", "reference", "--tag", "db", "--tag", "port", "--importance", "0.9")
    ran = cli("edit", id_[-8:], "--content", "The port of postgres is 6000", *given, "--expires", "2999-01-01")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Changed:")
    now = shown(cli, id_)
    assert (now["content"], now["why"], now["kind"]) == ("The port of postgres is 6000", "it was moved", "reference")
    assert (now["tags"], now["importance"], now["expires_at"][:10]) == (["db", "port"], 0.9, "2999-01-01")
    assert "version 1" in cli("show", id_).out


def test_fields_are_emptied(cli: Cli) -> None:
    id_ = keep(cli, "The port of postgres is 5544", "--why", "so", "--tag", "db", "--expires", "30d")
    done = cli("edit", id_, "--why", "", "--tag", "", "--expires", "never", "--json").json
    assert done["changed"] == ["why", "tags", "expires_at"]
    assert (done["memory"]["why"], done["memory"]["tags"], done["memory"]["expires_at"]) == (None, [], None)


def test_a_former_wording_is_put_back(cli: Cli) -> None:
    id_ = keep(cli)
    cli("edit", id_, "--content", "The port of postgres is 6000", "--tag", "x")
    back = cli("edit", id_, "--restore-version", "1", "--json").json
    assert (back["memory"]["content"], back["memory"]["tags"]) == ("The port of postgres is 5544", [])
    assert cli("edit", id_, "--restore-version", "9").code == 1
    assert cli("edit", id_, "--restore-version", "1", "--why", "x").code == 2


def test_it_is_put_into_another_project_and_into_none(cli: Cli) -> None:
    id_ = keep(cli, "The till opens with key 7", "--project", "farm")
    assert cli("edit", id_, "--project", "shop").code == 0
    assert [one["id"] for one in cli("list", "--project", "shop", "--json").json["memories"]] == [id_]
    ran = cli("edit", id_, "--global", "--content", "The till opens with key 8", "--json").json
    assert (ran["changed"], ran["memory"]["project"]) == (["content", "project"], None)
    assert cli("edit", id_, "--global", "--project", "shop").code == 2


def test_a_new_project_is_said_to_be_new(cli: Cli) -> None:
    id_ = keep(cli, "The till opens with key 7", "--project", "farm")
    assert "new here" in cli("edit", id_, "--project", "shoop").err
    keep(cli, "The barn is red", "--project", "shop")
    assert "new here" not in cli("edit", id_, "--project", "shop").err


def test_what_changes_nothing_or_cannot_be_is_refused(cli: Cli) -> None:
    id_ = keep(cli)
    assert cli("edit", id_).code == 2
    assert cli("edit", id_, "--importance", "2", "--global").code == 2
    assert cli("edit", id_, "--content", " ").code == 2
    assert cli("edit", "nobody-has-this", "--why", "x").code == 1
    assert cli("edit", id_, "--content", "The port of postgres is 5544", "--json").json["changed"] == []
    assert shown(cli, id_)["version"] == 1


def test_an_agent_rewords_nothing_that_the_user_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = keep(cli)
    monkeypatch.setenv("CLAUDECODE", "1")
    theirs = keep(cli, "The crane is yellow")
    for words in (("--content", "use evil"), ("--why", "evil"), ("--global",), ("--restore-version", "1")):
        assert cli("edit", mine, *words).code == 2, words
    assert cli("edit", theirs, "--content", "The crane is green").code == 0
    assert shown(cli, theirs)["trust"] == "quoted"
    assert shown(cli, mine)["version"] == 1


def test_secrets_are_taken_out_of_new_words(cli: Cli) -> None:
    id_ = keep(cli)
    ran = cli("edit", id_, "--content", "The token is ghp_" + "a1B2" * 9)
    assert "[REDACTED:" in shown(cli, id_)["content"]
    assert "secret" in ran.err


def test_a_memory_is_archived_and_put_back(cli: Cli) -> None:
    id_ = keep(cli)
    done = cli("archive", id_, "--json").json
    assert (done["archived"], done["memory"]["archived_at"] is not None) == (True, True)
    assert cli("list", "--json").json["memories"] == []
    assert len(cli("list", "--archived", "--json").json["memories"]) == 1
    assert cli("archive", id_, "--undo").out.startswith("Put back:")
    assert len(cli("list", "--json").json["memories"]) == 1
    assert cli("archive", id_, "--undo").code == 2
    cli("archive", id_)
    assert cli("archive", id_).code == 2


def test_what_is_in_quarantine_only_a_person_puts_back(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    id_ = keep(cli)
    record = json.loads(cli("export", "--all-projects").out.splitlines()[-1])
    assert record["type"] == "memory"
    cli("forget", id_, "--yes")
    from recollect.ids import uuid7

    away = {**record, "id": uuid7(), "archived_at": record["recorded_at"], "meta": {QUARANTINED: True}}
    assert cli("import", "-", "--all-projects", stdin=json.dumps(away).encode()).code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    assert cli("archive", away["id"], "--undo").code == 2
    monkeypatch.delenv("CLAUDECODE")
    assert cli("archive", away["id"], "--undo").code == 0


def test_what_was_softly_forgotten_is_listed_until_it_is_back(cli: Cli) -> None:
    id_ = keep(cli)
    assert "Nothing" in cli("list", "--forgotten").err
    cli("forget", id_, "--soft", "--yes")
    assert cli("list", "--json").json["memories"] == []
    ran = cli("list", "--forgotten")
    assert id_[-8:] in ran.out
    assert "recollect undo" in ran.err
    assert cli("list", "--forgotten", "--kind", "lesson", "--json").json["memories"] == []
    cli("undo", id_)
    assert cli("list", "--forgotten", "--json").json["memories"] == []
    cli("forget", id_, "--yes")
    assert cli("list", "--forgotten", "--json").json["memories"] == []
