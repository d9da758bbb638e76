"""`recollect list` says of each memory who said it, how far that is trusted, and of which project it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.model import os_user
from recollect.project import resolve
from tests.flow.conftest import Cli


@pytest.fixture
def listed(cli: Cli, work: Path) -> None:
    with Recollect.open(scope=Scope("local", os_user(), resolve(work).name), background=False) as memory:
        memory.remember("Deploys go out on Tuesdays")
        memory.remember("The harbour freezes in winter", origin="web")


@pytest.mark.usefixtures("listed")
def test_who_said_it_and_how_far_it_is_trusted(cli: Cli) -> None:
    shown = cli("list").out.splitlines()
    assert shown[0].split() == ["id", "kind", "when", "said", "by", "content"]
    by_text = {line.split("  ")[-1].strip(): line for line in shown[1:]}
    assert "  user  " in by_text["Deploys go out on Tuesdays"]
    assert "  web, quoted  " in by_text["The harbour freezes in winter"]


@pytest.mark.usefixtures("listed")
def test_trusted_lists_only_what_may_be_put_before_agents(cli: Cli) -> None:
    found = cli("list", "--trusted", "--json").json["memories"]
    assert [one["content"] for one in found] == ["Deploys go out on Tuesdays"]
    cli("confirm", cli("list", "--json", "--kind", "note").json["memories"][0]["id"])
    cli("confirm", cli("list", "--json", "--kind", "note").json["memories"][1]["id"])
    assert len(cli("list", "--trusted", "--json").json["memories"]) == 2


@pytest.mark.usefixtures("listed")
def test_a_column_for_the_project_where_there_are_several(cli: Cli) -> None:
    name = "github.com/somebody/a-project-of-a-very-long-name"
    cli("remember", "Ferries run until eleven", "--project", name)
    cli("remember", "Tea, not coffee", "--global")
    assert "project" not in cli("list").out
    assert "project" not in cli("list", "--project", name).out
    shown = cli("list", "--all-projects").out
    assert "project" in shown.splitlines()[0]
    assert "…a-project-of-a-very-long-name  Ferries" in shown
    assert next(line for line in shown.splitlines() if "Tea" in line).split()[-4] == "none"
