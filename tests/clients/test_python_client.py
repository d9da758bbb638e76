"""One program, three places: what is promised of a memory holds for a data directory and for both clients of a server.

Each test runs on `Recollect` (a data directory), on `Client` and on `AsyncClient` (the real server, in a process of its
own), with the same assertions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Context, Event, Gist, Memory, MemoryVersion, Recall, Session
from recollect.store.ports.keeping import Health, Receipt
from recollect.text import estimate_tokens

pytestmark = pytest.mark.slow

LONG_AGO = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
TEXTS = {
    "plain": "Deploys run on Tuesdays.",
    "lines": "first line\n\n  third line, indented\r\nfourth\ttabbed\n",
    "unicode": "Grüße, 你好, שלום, 👩‍👩‍👧‍👦, e\u0301, \U0001f600",
    "quotes": 'she said "it\'s <b>fine</b>" & {"json": [1]} \\ %20 \' OR 1=1; --',
    "separators": "a\u2028b\u2029c\u00a0d\u200be",
}


# -- remember and recall -----------------------------------------------------------------------------------------------


def test_what_is_remembered_is_recalled_and_explained(memory: Any) -> None:
    kept = memory.remember(
        "The staging database listens on port 6543.", kind="fact", tags=["db"], why="the other is taken"
    )
    found = memory.recall("which port does the staging database use?")
    assert isinstance(found, Recall)
    assert (found.abstained, found.mode, found.query) == (False, "lexical", "which port does the staging database use?")
    hit = found.hits[0]
    assert (hit.id, hit.tier, hit.kind, hit.content) == (kept.id, "memory", "fact", kept.content)
    assert (hit.why, hit.tags, hit.origin, hit.trust, hit.age) == (
        "the other is taken",
        ("db",),
        "user",
        "user",
        "just now",
    )
    assert 0 < hit.score == hit.parts.final <= 1
    assert hit.parts.semantic is None


def test_everything_that_was_said_of_a_memory_comes_back(memory: Any) -> None:
    ends = datetime(2030, 1, 1, tzinfo=UTC)
    kept = memory.remember(
        "The release is cut on the first Monday.",
        kind="decision",
        why="agreed with support",
        tags=["release", "process"],
        importance=0.875,
        confidence=0.5,
        origin="assistant",
        occurred_at=LONG_AGO,
        expires_at=ends,
        meta={"ticket": 17, "nested": {"list": [1, "two", None]}},
    )
    for one in (kept, memory.get(kept.id)):
        assert isinstance(one, Memory)
        assert (one.content, one.kind, one.why) == (
            "The release is cut on the first Monday.",
            "decision",
            "agreed with support",
        )
        assert (one.tags, one.importance, one.confidence) == (("release", "process"), 0.875, 0.5)
        assert (one.origin, one.trust, one.occurred_at, one.expires_at) == ("assistant", "quoted", LONG_AGO, ends)
        assert {name: one.meta[name] for name in ("ticket", "nested")} == {
            "ticket": 17,
            "nested": {"list": [1, "two", None]},
        }
        assert (one.version, one.project, one.session, one.evidence, one.anchors) == (1, None, None, (), ())


def test_what_is_known_is_not_kept_twice(memory: Any) -> None:
    first = memory.remember("Invoices are archived for ten years.")
    assert memory.remember("Invoices are archived for ten years.").id == first.id
    assert [one.id for one in memory.memories()] == [first.id]


def test_what_is_said_anew_takes_the_place_of_what_was(memory: Any) -> None:
    old = memory.remember("The deploy day is Tuesday.", kind="fact")
    new = memory.remember("The deploy day is Friday.", kind="fact")
    assert [one.id for one in memory.memories()] == [new.id]
    assert memory.get(old.id).superseded_by == new.id


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_come_back_as_they_were(memory: Any, text: str) -> None:
    assert memory.get(memory.remember(text).id).content == text
    memory.record("s", "user", text)
    assert memory.history("s")[0].text == text


def test_what_no_store_can_hold_of_a_message_is_replaced(memory: Any) -> None:
    memory.record("s", "user", "a\x00b\ud800c")
    assert memory.history("s")[0].text == "a\ufffdb\ufffdc"
    assert memory.recall("a\ud800 question").query == "a\ufffd question"


def test_secrets_are_taken_out_before_anything_is_kept(memory: Any) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    kept = memory.remember(f"The bot logs in with {token[:40]} for now.")
    assert token[:40] not in kept.content
    assert "REDACTED" in memory.get(kept.id).content


def test_it_says_nothing_rather_than_something_unlikely(memory: Any) -> None:
    memory.remember("The staging database listens on port 6543.")
    found = memory.recall("favourite colour of the neighbour's cat")
    assert (found.hits, found.abstained) == ((), True)
    assert found.note


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_question_has_an_empty_answer(memory: Any, query: str) -> None:
    memory.remember("The staging database listens on port 6543.")
    assert (memory.recall(query).hits, memory.recall(query).abstained) == ((), True)
    assert str(memory.context(query)) == ""


def test_recall_is_narrowed_by_what_is_asked(memory: Any) -> None:
    memory.remember("Berlin office: badge readers are on the left.", kind="fact", tags=["berlin"], importance=0.9)
    memory.remember("Paris office: badge readers are on the right.", kind="note", tags=["paris"], importance=0.2)
    memory.remember("Oslo office: badge readers were moved.", kind="event", tags=["oslo"], occurred_at=LONG_AGO)
    memory.record("talk", "user", "Where are the badge readers in the Rome office?")

    def found(**asked: Any) -> set[str]:
        hits = memory.recall("badge readers office", abstain=False, **asked).hits
        return {hit.content.split()[0] if hit.tier == "memory" else hit.tier for hit in hits}

    assert found() == {"Berlin", "Paris", "Oslo", "turn"}
    assert found(limit=1) < found()
    assert found(kinds=["fact", "event"]) == {"Berlin", "Oslo"}
    assert found(tags=["paris", "oslo"]) == {"Paris", "Oslo"}
    assert found(tiers=("turn",)) == {"turn"}
    assert found(tiers=("memory",), min_importance=0.5) >= {"Berlin"}
    assert "Paris" not in found(min_importance=0.5)
    assert found(until="2025-12-31") == {"Oslo"}
    assert found(since=datetime(2026, 1, 1, tzinfo=UTC)) == {"Berlin", "Paris", "turn"}
    assert found(session="talk") == {"turn"}
    assert found(exclude_session="talk") == {"Berlin", "Paris", "Oslo"}
    assert found(mode="lexical", profile="relevance", as_of="2025-06-01") == {"Oslo"}


def test_recall_is_narrowed_by_trust_history_agent_and_pins(memory: Any) -> None:
    memory.remember("Berlin office: badge readers are on the left.", origin="assistant")
    memory.remember("Paris office: badge readers are on the right.")
    memory.remember(
        "Oslo office: badge readers were moved.", expires_at=LONG_AGO + timedelta(days=1), occurred_at=LONG_AGO
    )
    memory.record("claude:1", "user", "Where are the badge readers in the Rome office?")
    memory.record("codex:1", "user", "Are there badge readers in the Prague office?")

    def found(**asked: Any) -> set[str]:
        hits = memory.recall("badge readers office", abstain=False, **asked).hits
        return {hit.content.split()[0] if hit.tier == "memory" else str(hit.session) for hit in hits}

    assert found(tiers=("memory",)) == {"Berlin", "Paris"}
    assert found(tiers=("memory",), history=True) == {"Berlin", "Paris", "Oslo"}
    assert found(trusts=["quoted"], tiers=("memory",)) == {"Berlin"}
    assert found(trusts=["user", "checked"], tiers=("memory",)) == {"Paris"}
    assert found(flavors=["codex"], tiers=("turn",)) == {"codex:1"}
    assert found(pinned=True) == set()
    assert "Berlin" not in str(memory.context("badge readers office", trusts=["user"]))


def test_context_is_quoted_and_keeps_to_its_size(memory: Any) -> None:
    for number in range(12):
        memory.remember(f"Rack {number} in the server room holds {number + 3} disks.")
    whole = memory.context("how many disks does a rack in the server room hold?", 2_000)
    assert isinstance(whole, Context)
    assert whole.text.startswith("=== Relevant Context ===\n")
    assert whole.text.endswith("========================\n")
    assert all(line[:1] in "=W[>" for line in whole.text.splitlines())
    assert whole.tokens == estimate_tokens(whole.text) <= 2_000
    assert set(whole.ids) <= {one.id for one in memory.memories()}
    small = memory.context("how many disks does a rack in the server room hold?", 150)
    assert 0 < small.tokens <= 150
    assert len(small.ids) < len(whole.ids)
    assert memory.context("nothing of the kind", 2_000).text == ""


# -- conversations -----------------------------------------------------------------------------------------------------


def test_a_conversation_is_kept_in_order(memory: Any) -> None:
    first = memory.record("chat:1", "user", "Which port?", LONG_AGO)
    more = memory.record_many(
        [
            ("chat:1", "assistant", "6543.", LONG_AGO + timedelta(seconds=1)),
            {"session": "chat:1", "role": "user", "content": "Thanks!", "occurred_at": "2025-03-04T05:06:09Z"},
        ]
    )
    said = memory.history("chat:1")
    assert all(isinstance(event, Event) for event in said)
    assert [event.id for event in said] == [first, *more]
    assert [(event.role, event.text) for event in said] == [
        ("user", "Which port?"),
        ("assistant", "6543."),
        ("user", "Thanks!"),
    ]
    assert [event.occurred_at for event in said] == [LONG_AGO + timedelta(seconds=n) for n in range(3)]
    assert [event.text for event in memory.recent("chat:1", 2)] == ["6543.", "Thanks!"]
    assert memory.recent("chat:1", 0) == []


def test_the_same_message_is_one_event(memory: Any) -> None:
    assert memory.record("s", "user", "hello", LONG_AGO) == memory.record("s", "user", "hello", LONG_AGO)
    assert memory.record("s", "user", "again", key="k1") == memory.record("s", "user", "again", key="k1")
    assert memory.record("s", "user", "new") != memory.record("s", "user", "new")
    assert len(memory.history("s")) == 4


def test_very_many_messages_are_kept_at_once(memory: Any) -> None:
    said = [
        ("long", "user" if n % 2 else "assistant", f"message {n} " + "x" * 900, LONG_AGO + timedelta(seconds=n))
        for n in range(1_205)
    ]
    ids = memory.record_many(said)
    assert len(set(ids)) == 1_205
    history = memory.history("long")
    assert [event.id for event in history] == ids
    assert [event.text for event in memory.recent("long", 150)] == [text for _, _, text, _ in said[-150:]]
    assert memory.record_many([]) == []


@pytest.mark.parametrize("name", ["a/b/c", "with space", "100%25", "päth?x=1#y", "..", "chat:2026-11-16T10:00"])
def test_a_session_may_have_any_name(memory: Any, name: str) -> None:
    memory.record(name, "user", "The kettle is in the kitchen on floor two.")
    assert [event.session for event in memory.history(name)] == [name]
    assert [session.id for session in memory.sessions()] == [name]
    assert memory.gist(name) is None or memory.gist(name).session == name


def test_a_session_nobody_had_is_empty(memory: Any) -> None:
    assert (memory.history("nobody"), memory.recent("nobody"), memory.gist("nobody")) == ([], [], None)
    with pytest.raises(NotFound):
        memory.summarize("nobody")


def test_sessions_come_the_latest_first(memory: Any) -> None:
    for number in range(5):
        memory.record(f"s{number}", "user", f"about topic {number}", LONG_AGO + timedelta(days=number))
    found = memory.sessions()
    assert all(isinstance(session, Session) for session in found)
    assert [session.id for session in found] == ["s4", "s3", "s2", "s1", "s0"]
    assert [session.id for session in memory.sessions(2, 1)] == ["s3", "s2"]
    assert (found[0].turns, found[0].flavor, found[0].started_at) == (1, "chat", LONG_AGO + timedelta(days=4))


def test_a_session_is_summed_up(memory: Any) -> None:
    memory.record_many([("s", "user", "From now on we always deploy on Fridays."), ("s", "assistant", "Understood.")])
    made = memory.summarize("s")
    assert isinstance(made, Gist)
    assert "deploy on Fridays" in made.content
    assert memory.gist("s") == made


def test_a_chat_request_and_a_prompt_are_made_of_what_is_known(memory: Any) -> None:
    memory.record_many([("old", "user", "My sister Anna lives in Lisbon."), ("old", "assistant", "Noted.")])
    memory.record_many([("now", "user", "Good morning."), ("now", "assistant", "Good morning!")])
    built = memory.messages("You are kind.", "now", "Where does my sister Anna live?", recent=2)
    assert [one["role"] for one in built] == ["system", "user", "assistant", "user"]
    assert built[0]["content"].startswith("You are kind.")
    assert "> user: My sister Anna lives in Lisbon." in built[0]["content"]
    assert built[-1]["content"] == "Where does my sister Anna live?"
    prompt = memory.prompt("now", "Where does my sister Anna live?")
    assert prompt.startswith("User: Good morning.\nAssistant: Good morning!")
    assert prompt.endswith("User: Where does my sister Anna live?\n")
    assert "=== Relevant Context ===" in prompt


# -- memories ----------------------------------------------------------------------------------------------------------


def test_a_change_keeps_how_it_read_before(memory: Any) -> None:
    kept = memory.remember("The gate code is changed monthly.", kind="fact", tags=["gate"])
    new = memory.update(kept.id, content="The gate code is changed weekly.", tags=["gate", "weekly"], importance=0.75)
    assert (new.id, new.version, new.content) == (kept.id, 2, "The gate code is changed weekly.")
    assert memory.get(kept.id) == new
    old = memory.versions(kept.id)
    assert all(isinstance(one, MemoryVersion) for one in old)
    assert [(one.memory, one.version, one.content, one.tags) for one in old] == [
        (kept.id, 1, "The gate code is changed monthly.", ("gate",))
    ]
    assert memory.update(kept.id, why="asked for", expires_at="2031-01-01").why == "asked for"
    assert memory.update(kept.id, why=None).why is None


def test_what_somebody_else_changed_is_not_overwritten(memory: Any) -> None:
    kept = memory.remember("The gate code is changed monthly.")
    memory.update(kept.id, content="The gate code is changed weekly.", expected_version=1)
    with pytest.raises(Conflict):
        memory.update(kept.id, content="The gate code is changed daily.", expected_version=1)
    assert memory.get(kept.id).content == "The gate code is changed weekly."


def test_a_memory_is_put_away_and_back(memory: Any) -> None:
    kept = memory.remember("The old printer is in the cellar.")
    assert memory.archive(kept.id).archived_at is not None
    assert memory.memories() == []
    assert [one.id for one in memory.memories(archived=True)] == [kept.id]
    assert memory.recall("where is the old printer?").hits == ()
    assert memory.recall("where is the old printer?", archived=True).hits[0].id == kept.id
    assert memory.archive(kept.id, False).archived_at is None
    assert [one.id for one in memory.memories()] == [kept.id]


def test_what_is_confirmed_is_the_users_own_word(memory: Any) -> None:
    kept = memory.remember("Reports are wanted in metric units.", origin="assistant")
    assert kept.trust == "quoted"
    confirmed = memory.confirm(kept.id, "preference")
    assert (confirmed.id, confirmed.trust, confirmed.kind) == (kept.id, "user", "preference")
    assert confirmed.confirmed_at is not None


def test_only_what_was_read_is_confirmed(memory: Any) -> None:
    kept = memory.remember("Reports are wanted in metric units.", origin="assistant")
    memory.update(kept.id, importance=0.9)
    with pytest.raises(Conflict):
        memory.confirm(kept.id, expected_version=kept.version)
    assert memory.get(kept.id).trust == "quoted"
    assert memory.confirm(kept.id, expected_version=kept.version + 1).trust == "user"


def test_a_text_that_nothing_fits_into_is_no_silence(memory: Any) -> None:
    memory.remember("The staging database listens on port 6543.")
    small = memory.context("which port does the staging database use?", 5)
    assert (str(small), small.abstained, small.note) == ("", False, "the first hit alone does not fit into 5 tokens")
    assert memory.context("favourite colour of the neighbour's cat").abstained


@pytest.mark.parametrize("opening", ["client", "async-client"], indirect=True)
@pytest.mark.parametrize(
    "asked", [{"at": "."}, {"contexts": ["team"]}, {"count": False}], ids=["at", "contexts", "count"]
)
def test_what_only_a_memory_in_this_process_can_do_is_refused_in_words(
    opening: Callable[..., Any], asked: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput, match=f"'{next(iter(asked))}' cannot be asked of a server"):
        opening().recall("anything", **asked)


def test_what_proved_useful_is_said_once_and_taken_back(memory: Any) -> None:
    kept = memory.remember("Deploys run on Mondays")
    for _ in range(2):
        told = memory.feedback(kept.id, "helpful", "chat:1", note="so it was")
    assert told.usefulness == pytest.approx(1 / 3, abs=1e-4)
    (said,) = told.feedback
    assert (said.memory, said.verdict, said.session, said.source, said.note) == (
        *(kept.id, "helpful", "chat:1", "user"),
        "so it was",
    )
    assert memory.recall("deploys Mondays", abstain=False, tiers=("memory",)).hits[0].parts.use > 0.3
    assert memory.feedback(kept.id, "helpful", "chat:1", undo=True).feedback == ()
    with pytest.raises(InvalidInput):
        memory.feedback(kept.id, "lovely")


def test_what_was_forgotten_softly_comes_back_and_what_was_not_does_not(memory: Any) -> None:
    kept = memory.remember("The spare key is under the mat.")
    receipt = memory.forget(kept.id, soft=True)
    assert isinstance(receipt, Receipt)
    assert (receipt.counts, receipt.complete) == ({"memories": 1}, False)
    with pytest.raises(NotFound):
        memory.get(kept.id)
    assert memory.restore(kept.id).content == kept.content
    assert memory.forget(kept.id).counts == {"memories": 1}
    for gone in (memory.get, memory.restore, memory.forget):
        with pytest.raises(NotFound):
            gone(kept.id)
    assert memory.recall("where is the spare key?").hits == ()


def test_a_session_is_forgotten_with_all_that_was_said(memory: Any) -> None:
    memory.record_many([("s", "user", "The vault opens at nine."), ("t", "user", "The vault closes at five.")])
    assert memory.forget(session="s").counts["events"] == 1
    assert memory.history("s") == []
    assert [session.id for session in memory.sessions()] == ["t"]
    with pytest.raises(NotFound):
        memory.forget(session="s")


def test_memories_are_listed_the_newest_first_and_filtered(memory: Any) -> None:
    for number in range(6):
        memory.remember(
            f"Ticket {number} was filed by team {number % 3}.",
            kind=("event", "fact")[number % 2],
            tags=[f"team{number % 3}"],
            importance=number / 10,
            occurred_at=LONG_AGO + timedelta(days=number),
        )

    def listed(*args: int, **filters: Any) -> list[int]:
        return [int(one.content.split()[1]) for one in memory.memories(*args, **filters)]

    assert listed() == [5, 4, 3, 2, 1, 0]
    assert listed(2, 3) == [2, 1]
    assert listed(kinds=["event"]) == [4, 2, 0]
    assert listed(kinds=["event", "fact"]) == [5, 4, 3, 2, 1, 0]
    assert listed(tags=["team0", "team2"]) == [5, 3, 2, 0]
    assert listed(2, 1, tags=["team0", "team2"]) == [3, 2]
    assert listed(since=LONG_AGO + timedelta(days=2), until=LONG_AGO + timedelta(days=4)) == [4, 3, 2]
    assert listed(min_importance=0.4) == [5, 4]
    assert listed(trusts=["quoted"]) == []


def test_a_long_list_is_whole(memory: Any) -> None:
    for number in range(130):
        memory.remember(
            f"Locker {number} belongs to employee {number * 7}.", occurred_at=LONG_AGO + timedelta(hours=number)
        )
    numbers = [int(one.content.split()[1]) for one in memory.memories(1_000)]
    assert numbers == list(range(129, -1, -1))
    assert [int(one.content.split()[1]) for one in memory.memories(20, 105)] == list(range(24, 4, -1))


BAD: dict[str, Callable[[Any], Any]] = {
    "empty content": lambda memory: memory.remember(""),
    "content of spaces": lambda memory: memory.remember(" \n"),
    "long content": lambda memory: memory.remember("x" * 10_001),
    "NUL": lambda memory: memory.remember("a\x00b"),
    "half a character": lambda memory: memory.remember("a\ud800b"),
    "half a character in why": lambda memory: memory.remember("fine", why="a\ud800b"),
    "unknown kind": lambda memory: memory.remember("fine", kind="poem"),
    "a preference of another": lambda memory: memory.remember("fine", kind="preference", origin="tool"),
    "unknown origin": lambda memory: memory.remember("fine", origin="injected"),
    "importance": lambda memory: memory.remember("fine", importance=1.5),
    "tags as text": lambda memory: memory.remember("fine", tags="deploy"),
    "a long tag": lambda memory: memory.remember("fine", tags=["x" * 51]),
    "many tags": lambda memory: memory.remember("fine", tags=[str(n) for n in range(21)]),
    "no time": lambda memory: memory.remember("fine", occurred_at="yesterday-ish"),
    "unknown role": lambda memory: memory.record("s", "wizard", "hello"),
    "empty session": lambda memory: memory.record("", "user", "hello"),
    "empty message": lambda memory: memory.record("s", "user", "  "),
    "half an exchange": lambda memory: memory.record_many([("s", "user")]),
    "limit 0": lambda memory: memory.recall("hello", limit=0),
    "limit too large": lambda memory: memory.recall("hello", limit=1_001),
    "list of none": lambda memory: memory.memories(0),
    "unknown tier": lambda memory: memory.recall("hello", tiers=("dream",)),
    "no tiers": lambda memory: memory.recall("hello", tiers=()),
    "unknown profile": lambda memory: memory.recall("hello", profile="wild"),
    "unknown kind asked": lambda memory: memory.recall("hello", kinds=["poem"]),
    "unknown trust asked": lambda memory: memory.recall("hello", trusts=["gossip"]),
    "query is no text": lambda memory: memory.recall(7),
    "tokens": lambda memory: memory.context("hello", 0),
    "unknown filter": lambda memory: memory.memories(colour="red"),
    "unknown change": lambda memory: memory.update(memory.remember("fine").id, colour="red"),
    "nothing to forget": lambda memory: memory.forget(),
    "two to forget": lambda memory: memory.forget("x", session="s"),
}


@pytest.mark.parametrize("ask", BAD.values(), ids=BAD)
def test_what_cannot_be_kept_or_asked_is_refused_in_the_same_way(memory: Any, ask: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidInput):
        ask(memory)
    assert memory.memories(kinds=["note", "preference"]) == [] or "fine" in memory.memories()[0].content


@pytest.mark.parametrize("id_", ["", "nobody", "../../etc", "00000000-0000-7000-8000-000000000000", "x" * 300])
@pytest.mark.parametrize("verb", ["get", "update", "archive", "confirm", "restore", "forget"])
def test_what_is_not_there_is_not_found(memory: Any, verb: str, id_: str) -> None:
    given = {"content": "new words"} if verb == "update" else {}
    with pytest.raises(NotFound):
        getattr(memory, verb)(id_, **given)


def test_a_project_has_its_own(opening: Callable[..., Any]) -> None:
    home, work = opening("home"), opening("work")
    kept = home.remember("The bicycle stands in the shed.")
    assert kept.project == "home"
    assert home.recall("where does the bicycle stand?").hits[0].project == "home"
    assert work.recall("where does the bicycle stand?").hits == ()
    assert work.memories() == []
    with pytest.raises(NotFound):
        work.get(kept.id)
    assert opening().recall("where does the bicycle stand?", project="home").hits[0].id == kept.id


def test_everything_can_be_taken_along(memory: Any) -> None:
    memory.remember("The bicycle stands in the shed.")
    memory.record_many([("s", "user", "Where is the bicycle?"), ("s", "assistant", "In the shed.")])
    records = list(memory.export())
    assert [record["type"] for record in records] == ["recollect", "session", "event", "event", "memory"]
    assert [record["text"] for record in records if record["type"] == "event"] == [
        "Where is the bicycle?",
        "In the shed.",
    ]
    assert records[-1]["content"] == "The bicycle stands in the shed."


def test_health_tells_what_is_there(memory: Any) -> None:
    memory.remember("The bicycle stands in the shed.")
    memory.record("s", "user", "Where is the bicycle?")
    health = memory.health()
    assert isinstance(health, Health)
    assert (health.counts["memories"], health.counts["sessions"], health.model) == (1, 1, None)


@pytest.mark.parametrize("opening", ["data-dir", "client"], indirect=True)  # an event loop has one thread
def test_several_threads_may_use_one(opening: Callable[..., Any]) -> None:
    memory = opening()
    told: list[Any] = []

    def work(name: int) -> None:
        for number in range(5):
            told.append(memory.record(f"thread-{name}", "user", f"{name} says {number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(told)) == 20
    assert [len(memory.history(f"thread-{name}")) for name in range(4)] == [5, 5, 5, 5]
