"""Ids on the command line: some of a memory's id is enough where it is the only one, in any project for show."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.distill.memory import new_memory
from recollect.model import os_user
from recollect.project import resolve
from tests.flow.conftest import Cli


@pytest.fixture
def kept(cli: Cli) -> str:
    id_: str = cli("remember", "--json", "The harbour freezes in winter").json["memory"]["id"]
    cli("remember", "Ferries run until eleven")
    return id_


@pytest.mark.parametrize("piece", [slice(-12, None), slice(-6, None), slice(0, 30)], ids=["end", "least", "beginning"])
def test_some_of_an_id_is_enough(cli: Cli, kept: str, piece: slice) -> None:
    for words in (("show",), ("confirm",), ("forget", "--soft", "--yes"), ("undo",)):
        ran = cli(words[0], kept[piece].upper(), *words[1:])
        assert ran.code == 0, ran.err
        assert "harbour" in ran.out
    assert cli("forget", kept[piece], "--yes").code == 0
    assert len(cli("list", "--json").json["memories"]) == 1


def test_less_than_six_characters_are_not(cli: Cli, kept: str) -> None:
    assert cli("show", kept[-5:]).code == 1
    assert cli("forget", kept[-5:], "--yes").code == 1
    assert cli("show", kept[4:30]).code == 1  # neither its beginning nor its end


@pytest.mark.parametrize("verb", ["show", "confirm", "forget", "undo"])
def test_what_fits_several_is_refused_with_what_it_fits(cli: Cli, work: Path, verb: str) -> None:
    with Recollect.open(scope=Scope("local", os_user(), resolve(work).name), background=False) as memory:
        first = memory.remember("The harbour freezes in winter")
        twin = {"content": "Ferries run until eleven", "kind": "note"}
        second = new_memory(twin, project=memory.scope.project, now=first.recorded_at)
        memory.store.memories.add(memory.scope, second)
        shared = first.id[:8]
        assert second.id.startswith(shared)
    ran = cli(verb, shared, *(["--yes"] if verb == "forget" else []))
    assert ran.code == 2
    assert f"{shared} fits 2 memories: " in ran.err
    assert first.id in ran.err
    assert second.id in ran.err
    assert len(cli("list", "--json").json["memories"]) == 2


def test_show_finds_a_memory_of_another_project(cli: Cli, work: Path) -> None:
    old = cli("remember", "--json", "The port of postgres is 5433", "--project", "elsewhere").json["memory"]["id"]
    new = cli("remember", "--json", "The port of postgres is 5544", "--project", "elsewhere").json["memory"]["id"]
    shown = cli("show", new)
    assert shown.code == 0
    assert "project     elsewhere" in shown.out
    assert f"superseded  {old}" in shown.out
    assert cli("show", new[-8:], "--json").json["memory"]["id"] == new
    assert cli("show", new, "--user", "somebody-else").code == 1


def test_show_finds_a_session_of_another_project_and_says_how_to_read_it(cli: Cli) -> None:
    with Recollect.open(scope=Scope("local", os_user(), "elsewhere"), background=False) as memory:
        key = memory.record("claude:s1", "user", "Why does the foghorn fail?")
    ran = cli("show", "claude:s1")
    assert "project     elsewhere" in ran.out
    assert "`recollect sessions claude:s1 --all-projects` shows what was said." in ran.err
    assert "foghorn" in cli("sessions", "claude:s1", "--all-projects").out
    assert "foghorn" in cli("show", key).out


def test_only_show_reaches_into_another_project(cli: Cli) -> None:
    id_ = cli("remember", "--json", "The harbour freezes", "--project", "elsewhere").json["memory"]["id"]
    for words in (("confirm", id_), ("forget", id_, "--yes"), ("undo", id_), ("forget", id_[-8:], "--yes")):
        assert cli(*words).code == 1
    assert cli("show", id_).code == 0


def test_what_was_softly_forgotten_says_how_it_comes_back(cli: Cli, kept: str) -> None:
    assert f"`recollect undo {kept}` brings it back" in cli("forget", kept, "--soft", "--yes").out
