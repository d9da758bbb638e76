"""Trust through the command line: why a memory is believed, confirm, revoke a source, undo, and notes in recall."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.model import Evidence, os_user
from recollect.project import resolve
from tests.flow.conftest import Cli

SAID = "We moved it: the port of postgres is 5544 from today."


@pytest.fixture
def story(cli: Cli, work: Path) -> dict[str, str]:
    """A user's word with its evidence, the older value it replaced, and a web page that says otherwise."""
    with Recollect.open(scope=Scope("local", os_user(), resolve(work).name), background=False) as memory:
        key = memory.record("claude:s1", "user", SAID, "2026-01-02T10:00:00Z")
        old = memory.remember("postgres runs on port 5433", occurred_at="2026-01-01")
        span = Evidence("claude:s1", key, SAID.index("the port"), SAID.index(" from"))
        mine = memory.remember(
            "The port of postgres is 5544",
            session="claude:s1",
            evidence=[span],
            anchors=["file:compose.yaml", "command:make db"],
            occurred_at="2026-01-02",
        )
        web = memory.remember("postgres port: 6666", origin="web", session="web:page", occurred_at="2026-01-03")
    return {"old": old.id, "mine": mine.id, "web": web.id}


def test_show_tells_why_a_memory_is_believed(cli: Cli, story: dict[str, str]) -> None:
    shown = cli("show", story["mine"]).out
    assert "evidence    said by user, 2026-01-02 10:00 UTC, session claude:s1" in shown
    assert "“the port of postgres is 5544”" in shown
    assert f"disputed    {story['web']}: postgres port: 6666 (said by web, quoted" in shown
    assert f"superseded  {story['old']}: postgres runs on port 5433" in shown
    assert "note        compose.yaml no longer exists" in shown
    told = cli("show", story["mine"], "--json").json
    assert told["quotes"][0]["text"] == "the port of postgres is 5544"
    assert [one["id"] for one in told["disputes"]] == [story["web"]]
    assert told["findings"] == [{"note": "compose.yaml no longer exists", "gone": True}]
    assert f"superseded by {story['mine']}" in cli("show", story["old"]).out


def test_recall_shows_trust_and_notes(cli: Cli, story: dict[str, str]) -> None:
    shown = cli("recall", "postgres port", "--mode", "lexical").out
    assert "- note: compose.yaml no longer exists" in shown
    assert f"- note: disputed by {story['web']}" in shown
    assert "said by web, quoted" in shown
    hits = {hit["id"]: hit for hit in cli("recall", "postgres port", "--mode", "lexical", "--json").json["hits"]}
    assert hits[story["mine"]]["trust"] == "user"
    assert hits[story["web"]]["trust"] == "quoted"
    assert hits[story["mine"]]["notes"][1:] == ["compose.yaml no longer exists", "score halved"]


def test_confirm_makes_it_the_users_word(cli: Cli, story: dict[str, str]) -> None:
    ran = cli("confirm", story["web"], "--kind", "preference")
    assert ran.out.startswith("Confirmed:\n[preference] postgres port: 6666")
    assert "said by     web, confirmed by user" in ran.out
    assert [one["id"] for one in cli("list", "--json").json["memories"]] == [story["web"]]
    assert cli("confirm", story["old"]).code == 2
    assert cli("confirm", "nobody").code == 1
    assert cli("confirm", story["web"], "--kind", "memoir").code == 2


def test_a_source_is_revoked_and_given_back(cli: Cli, story: dict[str, str]) -> None:
    assert cli("forget", "--source", "web:page", "--dry-run").out.startswith(
        "Would forget what came from web:page (1 memory)"
    )
    assert cli("forget", "--source", "web:page").code == 2  # nobody is there to say yes
    ran = cli("forget", "--source", "web:page", "--yes")
    assert "`recollect undo --source web:page` brings it back" in ran.out
    assert [one["id"] for one in cli("list", "--json").json["memories"]] == [story["mine"]]
    assert "disputed" not in cli("show", story["mine"]).out
    assert cli("forget", "--source", "web:page", "--yes").code == 1
    assert [one["id"] for one in cli("undo", "--source", "web:page", "--json").json["memories"]] == [story["web"]]
    assert len(cli("list", "--json").json["memories"]) == 2
    assert cli("undo", "--source", "web:page").code == 1
    assert cli("undo").code == 2
    assert cli("forget", "--source", "x", "--all").code == 2
    assert cli("forget", "--all", "--soft", "--yes").code == 2


def test_undo_brings_back_what_was_superseded(cli: Cli, story: dict[str, str]) -> None:
    assert cli("undo", story["old"]).out.startswith("Restored:\n[note] postgres runs on port 5433")
    assert {one["id"] for one in cli("list", "--json").json["memories"]} == set(story.values())
    assert cli("undo", story["old"]).code == 1


@pytest.mark.parametrize("verb", ["undo", "confirm"])
def test_what_was_put_away_is_put_back(cli: Cli, work: Path, story: dict[str, str], verb: str) -> None:
    with Recollect.open(scope=Scope("local", os_user(), resolve(work).name), background=False) as memory:
        memory.archive(story["web"])
    assert story["web"] not in [one["id"] for one in cli("list", "--json").json["memories"]]
    assert "`recollect undo` puts it back" in cli("show", story["web"]).out
    ran = cli(verb, story["web"])
    assert ran.code == 0
    assert "archived" not in ran.out
    shown = cli("list", "--json").json["memories"]
    assert [one["trust"] for one in shown if one["id"] == story["web"]] == ["user" if verb == "confirm" else "quoted"]
    assert cli("undo", story["web"]).code == 1


def test_remember_says_what_it_takes_the_place_of(cli: Cli, story: dict[str, str]) -> None:
    shown = cli("remember", "The port of postgres is 7000").out.splitlines()
    assert shown[0].startswith("Remembered: ")
    assert f"  in place of {story['mine']}: The port of postgres is 5544" in shown
    again = cli("remember", "The port of postgres is 7000").out
    assert again.startswith("Known already: ")


def test_hostile_text_in_evidence_and_anchors_is_shown_as_text(cli: Cli, work: Path) -> None:
    with Recollect.open(scope=Scope("local", os_user(), resolve(work).name), background=False) as memory:
        key = memory.record("s", "tool", "\x1b[31mred\x1b[0m\nline two\u202e")
        kept = memory.remember("odd", evidence=[Evidence("s", key)], anchors=["file:\x1b]0;x\x07a/b.py", "a\nb/c"])
    shown = cli("show", kept.id).out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "“red line two”" in shown
