"""`recollect contexts`: two people share on one machine, as they would type it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.main import main

Say = Callable[..., str]


@pytest.fixture
def say(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Say:
    """Types a command as somebody and returns what it printed; it must end as expected."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")

    def run(who: str, *words: str, code: int = 0) -> str:
        assert main([*words, "--user", who, "--data-dir", str(tmp_path / "data"), "--no-project"]) == code
        out, err = capsys.readouterr()
        return out + err

    return run


def asked(say: Say, who: str, *words: str) -> Any:
    return json.loads(say(who, *words, "--json"))


@pytest.fixture
def team(say: Say) -> None:
    say("ann", "contexts", "create", "team")
    say("ann", "contexts", "add", "team", "bob", "--role", "reviewer")
    say("bob", "contexts", "join", "team")


def test_from_a_private_memory_to_a_shared_one_and_back(say: Say, team: None) -> None:
    say("ann", "remember", "Staging Postgres listens on port 5433", "--kind", "fact")
    [mine] = asked(say, "ann", "list")["memories"]
    proposed = say("ann", "contexts", "propose", "team", mine["id"][-8:], "--why", "we all need it")
    assert "[fact] Staging Postgres listens on port 5433" in proposed
    [seen] = asked(say, "bob", "contexts", "proposals", "team")["proposals"]
    assert (seen["proposed_by"], seen["reason"], seen["source"]) == ("ann", "we all need it", "")
    assert "approved by bob: right" in say("bob", "contexts", "approve", "team", seen["id"][-8:], "--why", "right")
    assert "5433" not in say("bob", "recall", "port of staging postgres")
    told = say("bob", "recall", "port of staging postgres", "--context", "team")
    assert "[fact] Staging Postgres listens on port 5433" in told
    assert "- note: shared in team by ann, approved by bob" in told
    assert "shared in team by ann" in say("bob", "context", "port of staging postgres", "--context", "team")
    [hit] = asked(say, "bob", "recall", "port of staging postgres", "--context", "team")["hits"]
    assert hit["context"] == "team"
    assert "5433" in say("bob", "contexts", "show", "team")
    assert "withdrawn by ann" in say("ann", "contexts", "withdraw", "team", seen["id"])
    assert "nothing in team" in say("bob", "contexts", "show", "team")


def test_a_reviewer_says_it_in_other_words_or_says_no(say: Say, team: None) -> None:
    for text in ("The wiki is at wiki.example", "The moon is at moon.example"):
        say("ann", "remember", text, "--kind", "reference")
    for one in asked(say, "ann", "list")["memories"]:
        say("ann", "contexts", "propose", "team", one["id"])
    found = asked(say, "bob", "contexts", "proposals", "team")["proposals"]
    wiki, moon = (next(one for one in found if word in one["content"]) for word in ("wiki", "moon"))
    told = say("bob", "contexts", "approve", "team", wiki["id"], "--content", "Our wiki is at wiki.example")
    assert "approved by bob, in other words" in told
    assert "rejected by bob: not ours" in say("bob", "contexts", "reject", "team", moon["id"], "--why", "not ours")
    assert [one["content"] for one in asked(say, "ann", "contexts", "show", "team")["memories"]] == [
        "Our wiki is at wiki.example"
    ]
    assert {
        one["state"] for one in asked(say, "ann", "contexts", "proposals", "team", "--state", "all")["proposals"]
    } == {
        "approved",
        "rejected",
    }


def test_members_come_and_go(say: Say, team: None) -> None:
    rows = asked(say, "bob", "contexts", "members", "team")["members"]
    assert [(one["user"], one["role"]) for one in rows] == [("ann", "admin"), ("bob", "reviewer")]
    assert "at least one admin" in say("ann", "contexts", "leave", "team", code=1)
    assert "bob is out of team" in say("ann", "contexts", "remove", "team", "bob")
    assert "no context team of yours" in say("bob", "contexts", "show", "team", code=1)
    assert "no context team of yours" in say("bob", "recall", "anything", "--context", "team", code=1)
    assert "You share nothing" in say("bob", "contexts")


def test_writers_put_things_in_without_a_review_where_a_context_lets_them(say: Say, team: None) -> None:
    assert "quoted" in say("bob", "contexts", "remember", "team", "The", "wiki", "is", "at", "wiki.example")
    [there] = asked(say, "ann", "contexts", "show", "team")["memories"]
    say("ann", "contexts", "forget", "team", there["id"])
    assert asked(say, "ann", "contexts", "show", "team")["memories"] == []
    say("ann", "contexts", "create", "careful", "--reviewed")
    assert "takes proposals" in say("ann", "contexts", "remember", "careful", "x", code=2)


def test_a_context_is_ended_on_purpose(say: Say, team: None) -> None:
    say("bob", "contexts", "remember", "team", "The wiki is at wiki.example")
    assert "Give --yes" in say("ann", "contexts", "dissolve", "team", code=2)
    assert "only an admin" in say("bob", "contexts", "dissolve", "team", "--yes", code=1)
    assert "wiki" in say("ann", "contexts", "show", "team")
    assert "team is no more" in say("ann", "contexts", "dissolve", "team", "--yes")
    assert "no context team of yours" in say("bob", "contexts", "show", "team", code=1)


def test_the_commons_is_joined_by_whoever_wants(say: Say) -> None:
    assert "there is no commons here" in say("eve", "contexts", "join", "commons", code=1)
    say("root", "contexts", "create", "commons")
    assert "You are in commons, as writer" in say("eve", "contexts", "join", "commons")
    assert "only its admins" in say("eve", "contexts", "members", "commons", code=1)


@pytest.mark.parametrize(
    "words",
    [
        ("create",),
        ("add", "team"),
        ("join", "team", "extra"),
        ("propose", "team"),
        ("approve", "team", "a", "b"),
        ("dance", "team"),
        ("add", "team", "bob", "--role", "king"),
        ("create", "A Team"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told(say: Say, words: tuple[str, ...]) -> None:
    assert "error: " in say("ann", "contexts", *words, code=2)


@pytest.mark.parametrize("name", ["@team", "@commons"])
def test_nobody_types_their_way_in(say: Say, team: None, name: str) -> None:
    assert "cannot begin with @" in say(name, "list", code=1)
    assert "cannot begin with @" in say("ann", "list", "--tenant", name, code=1)


def test_an_agent_may_look_but_not_share_or_decide(say: Say, team: None, monkeypatch: pytest.MonkeyPatch) -> None:
    say("ann", "remember", "Staging Postgres listens on port 5433", "--kind", "fact")
    monkeypatch.setenv("CLAUDECODE", "1")
    [mine] = asked(say, "ann", "list")["memories"]
    for words in (("propose", "team", mine["id"]), ("create", "x"), ("remember", "team", "x"), ("join", "commons")):
        assert "an agent runs this" in say("ann", "contexts", *words, code=2)
    assert asked(say, "ann", "contexts", "proposals", "team")["proposals"] == []
