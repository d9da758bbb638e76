"""The tools of the MCP server on a real store: short rows first, full text by id, writes that stay the agent's."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope
from recollect.errors import StoreFull
from recollect.inject.quote import NOTICE
from recollect.mcp.tools import TOOLS
from recollect.model import Evidence
from tests.flow.mcp_fixture import Tools

pytestmark = pytest.mark.usefixtures("each_store")

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def ids(text: str) -> list[str]:
    return ID.findall(text)


@pytest.fixture
def known(tools: Tools) -> Tools:
    """A few things to find."""
    memory = tools.memory
    memory.remember("Deploys happen on Fridays, blue-green", kind="decision", why="rollbacks are easy", tags=["deploy"])
    memory.remember("Staging Postgres listens on port 5433", kind="fact", tags=["db", "staging"])
    memory.record("s1", "user", "When is the next deploy of the shop?", "2026-01-05T10:00:00Z")
    memory.record("s1", "assistant", "The shop is deployed on Friday.", "2026-01-05T10:01:00Z")
    memory.record("s1", "user", "And who approves it?", "2026-01-05T10:05:00Z")
    memory.record("s1", "assistant", "Nobody has to.", "2026-01-05T10:06:00Z")
    return tools


# -- memory_search -----------------------------------------------------------------------------------------------------


def test_a_search_gives_short_rows_with_what_the_rest_costs(known: Tools) -> None:
    text = known.text("memory_search", query="when do we deploy", tier="memory")
    first, row, content, last = text.split("\n")
    assert first.startswith(NOTICE)
    assert re.fullmatch(rf"\[{ID.pattern} · decision · just now · said by user · ~15 tokens\]", row)
    assert content == "> Deploys happen on Fridays, blue-green"
    assert "memory_get" in last


def test_a_long_text_is_one_line_in_a_row(tools: Tools) -> None:
    tools.memory.remember("The deploy of the shop.\n" + "It is long. " * 200)
    row = tools.text("memory_search", query="deploy of the shop").split("\n")[2]
    assert len(row) <= 165


def test_all_tiers_are_searched_and_one_can_be_chosen(known: Tools) -> None:
    assert " · turn · " in known.text("memory_search", query="deploy of the shop")
    assert " · turn · " not in known.text("memory_search", query="deploy of the shop", tier="memory")
    assert " · decision · " not in known.text("memory_search", query="deploy", tier="turn")


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"kind": "fact"}, ["5433"]),
        ({"tags": ["deploy"]}, ["Fridays"]),
        ({"kind": "lesson"}, []),
        ({"since": "2999-01-01"}, []),
        ({"until": "2000-01-01"}, []),
        ({"session": "s9"}, []),
        ({"kind": "", "tags": [], "since": "", "tier": "memory"}, ["Fridays", "5433"]),
    ],
    ids=str,
)
def test_filters_narrow_and_empty_ones_do_not(known: Tools, filters: dict[str, object], found: list[str]) -> None:
    text = known.text("memory_search", query="deploys on staging port", **filters)
    assert [word for word in ("Fridays", "5433") if word in text] == found


def test_without_a_query_the_newest_memories_come(known: Tools) -> None:
    text = known.text("memory_search", query="", limit=1)
    assert "5433" in text
    assert "Fridays" not in text


def test_nothing_found_says_so(known: Tools) -> None:
    assert known.text("memory_search", query="zebra crossing").startswith("[nothing is remembered about that")


def test_an_unknown_tier_or_kind_is_told_with_a_hint(known: Tools) -> None:
    assert "tiers are memory, gist and turn" in known.error("memory_search", query="x", tier="page")
    assert "hint: Kinds: fact" in known.error("memory_search", query="x", kind="poem")
    assert "hint: Use ISO 8601" in known.error("memory_search", query="x", since="last week")


# -- memory_get --------------------------------------------------------------------------------------------------------


def test_the_full_text_comes_with_why_evidence_and_history(tools: Tools) -> None:
    memory = tools.memory
    event = memory.record("s1", "user", "Please deploy on Fridays from now on.")
    kept = memory.remember("Deploy on Fridays", kind="decision", why="said so", evidence=[Evidence("s1", event, 7, 24)])
    memory.update(kept.id, content="Deploy on Fridays before noon")
    text = tools.text("memory_get", ids=[kept.id])
    assert "> Deploy on Fridays before noon\n> why: said so" in text
    assert f"[evidence: session s1, event {event}]" in text
    assert "> deploy on Fridays\n" in text
    assert "[version 1, until" in text


def test_what_took_its_place_is_shown(tools: Tools) -> None:
    old = tools.memory.remember("The port is 5433", kind="fact")
    new = tools.memory.supersede(old.id, "The port is 5544")
    assert f"[superseded by {new.id}" in tools.text("memory_get", ids=[old.id])


def test_turns_and_sessions_are_read_by_their_ids(known: Tools) -> None:
    row = known.text("memory_search", query="who approves the deploy", tier="turn")
    turn = re.findall(r"\[([0-9a-f]{20,}) · turn", row)[0]
    text = known.text("memory_get", ids=[turn, "s1", "no-such-id"])
    assert "> user: " in text
    assert "[s1 · session · 2026-01-05 10:00 UTC · 2 turns]" in text
    assert "[nothing here has the id no-such-id]" in text


def test_a_text_that_is_cut_can_be_read_on(tools: Tools) -> None:
    memory = tools.memory
    words = " ".join(f"word{n}" for n in range(5_000))
    memory.record("s1", "user", words)
    turn = re.findall(r"\[([0-9a-f]{20,}) · turn", tools.text("memory_search", query="word17"))[0]
    read, start = "", 0
    for _ in range(20):
        text = tools.text("memory_get", ids=[turn], start=start)
        read += "".join(line[2:] for line in text.split("\n") if line.startswith("> "))
        more = re.findall(r"start=(\d+) reads on", text)
        if not more:
            break
        start = int(more[0])
    assert read == f"user: {words}"


@pytest.mark.parametrize("text", ["\n" * 9_000, "https://a.example/ " * 500, "é\n" * 4_000], ids=["lines", "urls", "é"])
def test_a_text_that_grows_when_it_is_quoted_is_still_read(tools: Tools, text: str) -> None:
    kept = tools.memory.remember("kestrel " + text[:9_900] + " end")
    assert "kestrel" in tools.text("memory_get", ids=[kept.id])


def test_what_was_forgotten_is_not_read(tools: Tools) -> None:
    kept = tools.memory.remember("A thing that is wrong")
    tools.text("memory_forget", ids=[kept.id])
    text = tools.text("memory_get", ids=[kept.id])
    assert "was forgotten" in text
    assert "wrong" not in text


# -- memory_save and memory_forget -------------------------------------------------------------------------------------


def test_what_an_agent_saves_is_the_assistants_word(tools: Tools) -> None:
    text = tools.text("memory_save", content="Builds need Node 22", kind="fact", why="20 fails", tags=["build"])
    kept = tools.memory.get(ids(text)[0])
    assert text.startswith("[added: ")
    assert (kept.origin, kept.trust, kept.kind, kept.why, kept.tags) == (
        "assistant",
        "quoted",
        "fact",
        "20 fails",
        ("build",),
    )
    assert kept.project == tools.place.scope.project


def test_saving_it_again_changes_nothing(tools: Tools) -> None:
    first = tools.text("memory_save", content="Builds need Node 22")
    again = tools.text("memory_save", content="builds need  node 22")
    assert again.startswith("[known already: ")
    assert ids(first) == ids(again)


@pytest.mark.parametrize(
    ("origin", "became"),
    [
        ("assistant", "[added, in place of an older one: "),
        ("user", "[added, but disputed: another memory says otherwise"),
    ],
)
def test_saving_another_value_says_what_becomes_of_the_old(tools: Tools, origin: str, became: str) -> None:
    """What an agent said gives way; what the user said does not."""
    old = tools.memory.remember("Staging Postgres listens on port 5433", kind="fact", origin=origin)
    text = tools.text("memory_save", content="Staging Postgres listens on port 5544", kind="fact")
    assert became in text
    assert NOTICE in text
    assert f"{old.id}]\n> Staging Postgres listens on port 5433" in text
    assert (tools.memory.get(old.id).superseded_by is None) is (origin == "user")


def test_an_agent_cannot_make_a_preference(tools: Tools) -> None:
    for kind in ("preference", "rule", "user"):
        text = tools.error("memory_save", content="The user always wants tabs", kind=kind)
        assert "only what a user said" in text
    assert tools.memory.memories() == []


def test_secrets_are_taken_out_before_it_is_kept(tools: Tools) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    text = tools.text("memory_save", content=f"The token is {key}", why=f"{key} works")
    kept = tools.memory.get(ids(text)[0])
    assert key not in kept.content + str(kept.why) + text
    assert "secrets were taken out" in text


def test_an_agent_says_how_memories_served_it(tools: Tools) -> None:
    one, two = (tools.memory.remember(text) for text in ("Builds need Node 22", "Deploys run on Monday"))
    text = tools.text("memory_save", content="both were so", ids=[one.id, two.id], verdict="helpful")
    assert text.split("\n") == [f"[helpful: {kept.id} · useful +0.33 of 1]" for kept in (one, two)]
    tools.text("memory_save", content="it still is", ids=[one.id], verdict="helpful")
    (said,) = tools.memory.usage(one.id).feedback
    assert (said.verdict, said.source, said.note) == ("helpful", "agent", "it still is")
    assert len(tools.memory.memories()) == 2, "what it says of them is no memory"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"verdict": "helpful"}, "needs ids"),
        ({"ids": ["no such"]}, "needs ids"),
        ({"ids": ["no such"], "verdict": "helpful"}, "no memory"),
        ({"ids": ["no such"], "verdict": "lovely"}, "lovely"),
        ({"ids": ["no such"], "verdict": "helpful", "kind": "fact"}, "has no kind"),
    ],
    ids=["no ids", "no verdict", "no memory", "odd verdict", "a kind"],
)
def test_a_verdict_that_makes_no_sense_is_refused(tools: Tools, given: dict[str, object], told: str) -> None:
    one = tools.memory.remember("Builds need Node 22")
    assert told in tools.error("memory_save", content="so it was", **given)
    if given.get("verdict") == "helpful" and "ids" in given:
        tools.error("memory_save", content="so it was", **{**given, "ids": [one.id, "no such"]})
    assert tools.memory.usage(one.id).feedback == ()


def test_forgetting_is_soft_and_can_be_done_twice(tools: Tools) -> None:
    kept = tools.memory.remember("A thing that is wrong")
    text = tools.text("memory_forget", ids=[kept.id])
    assert f"recollect undo {kept.id}" in text
    assert tools.memory.memories() == []
    tools.text("memory_forget", ids=[kept.id])
    assert tools.memory.restore(kept.id).content == "A thing that is wrong"


def test_an_id_that_is_not_there_cannot_be_forgotten(tools: Tools) -> None:
    tools.memory.record("s1", "user", "hello")
    assert "no memory s1 here" in tools.error("memory_forget", ids=["s1"])
    assert tools.memory.history("s1")


def test_a_thousand_writes_are_limited_and_reading_is_not(make_tools: Callable[..., Tools]) -> None:
    """T30: a clear error, and nothing written beyond it."""
    tools = make_tools(mcp_writes_per_hour=20)
    refused = [
        result for n in range(1_000) if (result := tools.call("memory_save", content=f"Fact number {n}")).is_error
    ]
    assert len(refused) == 980
    assert "too_many_writes: agents may write 20 times an hour" in refused[0].text
    assert "hint: Try again in 60 minutes" in refused[0].text
    assert len(tools.memory.memories()) == 20
    assert "Fact number" in tools.text("memory_search", query="fact number")
    assert "too_many_writes" in tools.error("memory_forget", ids=[tools.memory.memories(1)[0].id])
    assert "[writes by agents: 0 of 20 left this hour]" in tools.text("memory_status")


# -- memory_context, memory_timeline, memory_status, recall ------------------------------------------------------------


def test_the_context_stays_within_its_tokens(known: Tools) -> None:
    text = known.text("memory_context", query="when do we deploy", max_tokens=120)
    assert "Fridays" in text
    assert NOTICE in text
    assert len(text) <= 120 * 4


def test_without_a_query_the_context_is_what_is_always_worth_knowing(known: Tools) -> None:
    """Only what a user said or what was checked; an agent's own word is not among it."""
    known.memory.remember("Answer in short sentences", kind="preference")
    known.text("memory_save", content="The moon is made of cheese", kind="fact")
    text = known.text("memory_context", query="")
    assert "Answer in short sentences" in text
    assert "5433" in text
    assert "cheese" not in text
    assert "## " in text


def test_without_a_query_the_best_comes_before_the_newest(tools: Tools) -> None:
    """As at the start of a session: a rule of long ago is not pushed out by many notes of today."""
    tools.memory.remember("Never push to main", kind="preference", importance=1.0)
    for number in range(30):
        tools.memory.remember(f"Room {number} has a window to the {number}th yard", kind="note", importance=0.1)
    assert "Never push to main" in tools.text("memory_context", query="")


def test_with_nothing_worth_knowing_the_context_says_so(tools: Tools) -> None:
    assert tools.text("memory_context").startswith("[nothing is always worth knowing here yet")


def test_the_timeline_around_a_turn_is_in_order(known: Tools) -> None:
    row = known.text("memory_search", query="who approves it", tier="turn")
    turn = re.findall(r"\[([0-9a-f]{20,}) · turn", row)[0]
    text = known.text("memory_timeline", around=turn)
    asked = [text.index(words) for words in ("When is the next deploy", "deployed on Friday", "And who", "Nobody has")]
    assert asked == sorted(asked)
    for found in re.findall(r"turn ([0-9a-f]{20,})", text):
        assert known.memory.turn(found) is not None


def test_the_timeline_around_a_time_finds_the_session(known: Tools) -> None:
    known.memory.record("s2", "user", "Much later", "2026-06-01T10:00:00Z")
    text = known.text("memory_timeline", around="2026-01-05T10:04", limit=2)
    assert "When is the next deploy" in text
    assert "And who approves it" in text
    assert "Much later" not in text


def test_the_timeline_around_a_memory_shows_where_it_comes_from(tools: Tools) -> None:
    memory = tools.memory
    event = memory.record("s1", "user", "Use port 5433 for staging", "2026-01-05T10:00:00Z")
    kept = memory.remember("Staging is on 5433", session="s1", evidence=[Evidence("s1", event)])
    assert "Use port 5433 for staging" in tools.text("memory_timeline", around=kept.id)


def test_the_timeline_of_nothing_and_of_nonsense(tools: Tools) -> None:
    assert tools.text("memory_timeline") == "[nothing happened around that]"
    assert "neither a time nor an id" in tools.error("memory_timeline", around="yesterday evening")
    for far in ("0001-01-01", "9999-12-31T23:59:59"):
        tools.text("memory_timeline", around=far)


def test_the_status_counts_and_says_how_it_searches(known: Tools) -> None:
    text = known.text("memory_status")
    assert "[memory: 2 memories; the newest just now; 1 session, 2 turns]" in text
    assert "[capture: 0 records of hooks wait; the last session was active" in text
    assert "by words alone" in text
    assert "60 of 60 left this hour" in text


def test_a_record_is_its_type_its_content_its_tags_and_its_why(known: Tools) -> None:
    """S4.11, S4.12."""
    text = known.text("recall", query="when do we deploy?", limit=3, record_type="decision", project_tag="")
    assert text.split("\n", 1)[1] == (
        "[decision] Deploys happen on Fridays, blue-green\n- tags: deploy\n- why: rollbacks are easy"
    )


def test_a_project_tag_is_a_tag_or_a_project(known: Tools) -> None:
    assert "5433" in known.text("recall", query="which port", project_tag="staging")
    assert "5433" in known.text("recall", query="which port", project_tag=known.place.scope.project)
    assert "nothing is remembered" in known.text("recall", query="which port", project_tag="shop")


# -- scope and failures ------------------------------------------------------------------------------------------------


def test_another_project_and_another_user_are_not_seen(tools: Tools, tmp_path: Path) -> None:
    """P34: every tool, by words and by id."""
    memory = tools.memory
    places = [Scope().within("another"), Scope("local", "somebody", tools.place.scope.project)]
    hidden = []
    for scope in places:
        with Recollect.open(settings=memory.settings, scope=scope, background=False) as other:
            kept = other.remember("The CANARY sings in the mine", tags=["canary"])
            other.record("canary-session", "user", "The CANARY sings")
            hidden += [kept.id, "canary-session"]
    for given in (
        {"name": "memory_search", "query": "canary sings"},
        {"name": "memory_search", "query": ""},
        {"name": "memory_get", "ids": hidden},
        {"name": "memory_context", "query": "canary sings"},
        {"name": "memory_timeline"},
        {"name": "memory_timeline", "around": "2026-11-15"},
        {"name": "memory_status"},
        {"name": "recall", "query": "canary", "project_tag": "another"},
        {"name": "memory_forget", "ids": hidden[:1]},
    ):
        assert "CANARY" not in tools.call(**given).text
    assert "1 memory" not in tools.text("memory_status")


def test_what_belongs_to_no_project_is_seen(tools: Tools) -> None:
    with Recollect.open(settings=tools.memory.settings, scope=Scope(), background=False) as mine:
        mine.remember("I like short answers", kind="preference")
    assert "short answers" in tools.text("memory_search", query="short answers")


def test_a_failing_store_is_told_without_its_place(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise StoreFull(f"no space in {tools.data_dir}/recollect.db")

    monkeypatch.setattr(tools.memory, "recall", full)
    text = tools.error("memory_search", query="x")
    assert text.startswith("store_full: The disk is full")
    assert "hint: " in text
    assert str(tools.data_dir) not in text


def test_a_mistake_of_ours_is_told_without_its_words(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise KeyError("what was remembered")

    monkeypatch.setattr(tools.memory, "recall", broken)
    assert tools.error("memory_search", query="x").startswith("unexpected KeyError")
    assert "remembered" not in tools.error("recall", query="x")
    said = capsys.readouterr().err
    assert "unexpected KeyError" in said
    assert "remembered" not in said


def test_a_store_that_cannot_be_opened_is_told_and_tried_again(tools: Tools) -> None:
    tools.data_dir.parent.mkdir(exist_ok=True)
    tools.data_dir.write_text("a file")
    text = tools.error("memory_status")
    assert text.startswith("store_unavailable: The data directory or the database cannot be used.")
    tools.data_dir.unlink()
    tools.text("memory_status")


def test_nothing_that_takes_everything_away_or_out_is_offered() -> None:
    """T30."""
    for tool in TOOLS:
        assert not {"everything", "all", "path", "file"} & tool["inputSchema"]["properties"].keys()
        assert not {"export", "import", "restore", "backup"} & set(tool["name"].split("_"))
