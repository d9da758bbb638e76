"""What holds now, then, and ever: newer values take the place of older ones, whatever order they were learned in.

Item 4: same slot with another value, "use X" and "use Y instead", corrections, near-duplicates, contradictions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect, Scope
from recollect.distill.values import holding
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.ids import uuid7
from recollect.model import Evidence, Memory
from recollect.pipeline import settling
from recollect.pipeline.settling import Settled, settle
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.store import SqliteStore
from tests.flow.memory_fixture import IN_A_FILE, HandClock

pytestmark = pytest.mark.usefixtures("each_store")

DAY0 = datetime(2026, 1, 1, tzinfo=UTC)
SCOPE = Scope("local", "ann")


def day(number: float) -> datetime:
    return DAY0 + timedelta(days=number)


def statement(content: str, at: float, trust: str = "user", **changes: Any) -> Memory:
    values: dict[str, Any] = {"id": uuid7(), "kind": "fact", "content": content, "project": None, "trust": trust}
    values["origin"] = "user" if trust == "user" else "assistant"
    return Memory(**{**values, "occurred_at": day(at), "recorded_at": day(300), **changes})


def settled(memory: Recollect, content: str, at: float, trust: str = "user", **changes: Any) -> Settled:
    return settle(memory.store, memory.scope, statement(content, at, trust, **changes), lambda: day(300))


def held(store: Store, scope: Scope = SCOPE, at: float | None = None) -> list[str]:
    """What holds, now or as of a day."""
    where = Filter(now=day(300), as_of=None if at is None else day(at))
    return sorted(one.content for one in store.memories.find(scope, where, limit=100))


def everything(memory: Recollect) -> list[Memory]:
    return memory.memories(history=True, archived=True)


# -- newer values ------------------------------------------------------------------------------------------------------


def test_a_newer_value_supersedes_and_the_history_is_kept(memory: Recollect) -> None:
    old = memory.remember("postgres runs on port 5433", kind="fact", occurred_at="2026-01-01")
    new = memory.remember("The port of postgres is 5544", kind="fact", occurred_at="2026-06-01")
    hits = memory.recall("port of postgres").hits
    assert [hit.content for hit in hits] == ["The port of postgres is 5544"]
    then = memory.recall("port of postgres", as_of="2026-03-01")
    assert [hit.content for hit in then.hits] == ["postgres runs on port 5433"]
    ever = memory.recall("port of postgres", history=True)
    assert {hit.id: hit.superseded_by for hit in ever.hits} == {old.id: new.id, new.id: None}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("use npm", "use pnpm instead of npm"),
        ("We use pnpm for the frontend", "use yarn for the frontend instead of pnpm"),
        ("prefer tabs over spaces", "The user prefers spaces over tabs"),
        ("use httpx instead of requests", "use requests instead of httpx"),
        ("deploys happen on Fridays", "We deploy on Tuesdays"),
        ("deploys happen on Fridays", "Never deploy on Fridays"),
        ("use feature flags", "Don't use feature flags"),
        ("Never push to main", "Push to main"),
        ("tests run with `make test`", "Run the tests with `make check`"),
        ("We use Python 3.11", "the Python version is 3.12"),
        ("answer in English", "Always answer in German"),
    ],
)
def test_what_is_said_otherwise_later_takes_the_place(memory: Recollect, old: str, new: str) -> None:
    settled(memory, old, 1)
    after = settled(memory, new, 2)
    assert (after.outcome, [one.content for one in after.others]) == ("superseding", [old])
    assert held(memory.store, memory.scope) == [new]
    assert held(memory.store, memory.scope, at=1.5) == [old]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the API runs on port 8001", "the worker runs on port 8002"),
        ("use pytest for unit tests", "use playwright for browser tests"),
        ("use tabs in Go", "use spaces in Python"),
        ("do not use npm", "use pnpm"),
        ("use 4 spaces", "prefer spaces over tabs"),
    ],
)
def test_what_can_hold_together_does(memory: Recollect, one: str, other: str) -> None:
    settled(memory, one, 1)
    assert settled(memory, other, 2).outcome == "added"
    assert held(memory.store, memory.scope) == sorted((one, other))


def test_an_older_statement_that_arrives_later_is_history_at_once(memory: Recollect) -> None:
    newer = settled(memory, "the port of postgres is 5544", 10).memory
    late = settled(memory, "postgres runs on port 5433", 2)
    assert (late.outcome, late.others[0].id, late.memory.superseded_by) == ("added", newer.id, newer.id)
    middle = settled(memory, "postgres port is 6000", 5)
    assert middle.memory.superseded_at == day(10)
    views = {at: held(memory.store, memory.scope, at) for at in (1, 3, 6, 11)}
    assert views == {
        1: [],
        3: ["postgres runs on port 5433"],
        6: ["postgres port is 6000"],
        11: ["the port of postgres is 5544"],
    }


def test_a_value_that_came_back_held_twice(memory: Recollect) -> None:
    """Said on days 1 and 9; that it was something else on day 5 is learned last."""
    settled(memory, "postgres runs on port 5433", 1)
    assert settled(memory, "postgres runs on port 5433", 9).outcome == "known"
    between = settled(memory, "postgres runs on port 5544", 5)
    assert between.memory.superseded_at == day(9)
    views = [held(memory.store, memory.scope, at) for at in (2, 6, 10)]
    assert views == [["postgres runs on port 5433"], ["postgres runs on port 5544"], ["postgres runs on port 5433"]]
    assert len(everything(memory)) == 3


def test_the_same_text_learned_to_be_older_holds_from_then_on(memory: Recollect) -> None:
    settled(memory, "postgres runs on port 5433", 9)
    settled(memory, "postgres runs on port 5433", 1)
    assert held(memory.store, memory.scope, at=2) == ["postgres runs on port 5433"]
    assert len(everything(memory)) == 1


def test_lessons_and_events_tell_no_value(memory: Recollect) -> None:
    settled(memory, "postgres runs on port 5433", 1, kind="event")
    settled(memory, "postgres runs on port 5544", 2, kind="lesson")
    assert len(held(memory.store, memory.scope)) == 2


# -- trust -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trust", ["user", "checked"])
def test_what_is_merely_quoted_never_takes_the_place_of_more(memory: Recollect, trust: str) -> None:
    """T01: it is kept beside the other, and both are shown as disputed."""
    mine = settled(memory, "postgres runs on port 5433", 1, trust).memory
    quoted = settled(memory, "the port of postgres is 6666", 2, "quoted")
    assert (quoted.outcome, [one.id for one in quoted.others]) == ("disputed", [mine.id])
    found = memory.recall("the port of postgres is 6666").hits
    assert [hit.id for hit in found] == [mine.id, quoted.memory.id]
    hits = {hit.id: hit for hit in found}
    assert hits[mine.id].notes == (f"disputed by {quoted.memory.id}",)
    assert hits[quoted.memory.id].notes == (f"disputed by {mine.id}",)
    assert {hit.trust for hit in hits.values()} == {trust, "quoted"}
    again = settled(memory, "postgres port is 7777", 3, "quoted")
    assert again.outcome == "superseding"
    assert memory.get(mine.id).meta["disputes"] == [again.memory.id]


def test_a_later_word_of_the_user_ends_a_dispute(memory: Recollect) -> None:
    settled(memory, "postgres runs on port 5433", 1)
    settled(memory, "the port of postgres is 6666", 2, "quoted")
    settled(memory, "postgres port is 7000", 3)
    assert held(memory.store, memory.scope) == ["postgres port is 7000"]
    assert "disputes" not in memory.memories()[0].meta


def test_two_values_said_at_once_by_equals_are_disputed(memory: Recollect) -> None:
    settled(memory, "postgres runs on port 5433", 1)
    assert settled(memory, "postgres runs on port 5544", 1).outcome == "disputed"
    assert len(held(memory.store, memory.scope)) == 2


@pytest.mark.parametrize(
    ("verdict", "outcome", "left"),
    [
        ("newer", "superseding", ["postgres runs on port 5544"]),
        ("same", "merged", ["postgres runs on port 5544"]),
        ("unrelated", "added", ["postgres runs on port 5433", "postgres runs on port 5544"]),
        ("contradiction", "disputed", ["postgres runs on port 5433", "postgres runs on port 5544"]),
        (None, "disputed", ["postgres runs on port 5433", "postgres runs on port 5544"]),
    ],
)
def test_a_judge_is_asked_only_where_the_rules_cannot_tell(
    memory: Recollect, verdict: str | None, outcome: str, left: list[str]
) -> None:
    asked: list[tuple[str, str]] = []

    def judge(older: Memory, newer: Memory) -> str | None:
        asked.append((older.content, newer.content))
        return verdict

    def tell(content: str, at: float, trust: str = "user") -> Settled:
        return settle(memory.store, memory.scope, statement(content, at, trust), lambda: day(300), judge)

    tell("redis runs on port 1111", 1)
    tell("redis runs on port 2222", 2)
    tell("redis runs on port 3333", 3, "quoted")
    tell("postgres runs on port 5433", 1)
    assert asked == []
    after = tell("postgres runs on port 5544", 1)
    assert asked == [("postgres runs on port 5433", "postgres runs on port 5544")]
    assert after.outcome == outcome
    assert [text for text in held(memory.store, memory.scope) if "postgres" in text] == left
    if verdict:
        tell("postgres runs on port 5433", 1)
        assert len(asked) == 1  # what was judged is not judged again


def test_said_again_by_somebody_trusted_more_a_memory_rises(memory: Recollect) -> None:
    quoted = settled(memory, "Keep the changelog in plain words", 1, "quoted", kind="note", confidence=0.6).memory
    risen = settled(memory, "keep the changelog in plain words", 2, kind="preference", evidence=(Evidence("s2", "e"),))
    assert (risen.outcome, risen.memory.id) == ("known", quoted.id)
    kept = memory.get(quoted.id)
    assert (kept.trust, kept.origin, kept.kind, kept.confidence) == ("user", "user", "preference", 0.6)
    assert kept.evidence == (Evidence("s2", "e"),)
    assert [old.kind for old in memory.versions(kept.id)] == ["note"]


def test_our_own_citations_raise_nothing(memory: Recollect) -> None:
    """T03: ten rounds of recall and re-extraction leave the rows, the trust and the confidence as they were."""
    mine = settled(memory, "Invoices go out on the last day of a month", 1, confidence=0.7).memory
    longer = "Invoices always go out on the last day of a month"
    for number in range(10):
        source = (Evidence(f"s{number}", "e"),)
        settled(memory, mine.content, 2 + number, "quoted", evidence=source, session=f"s{number}")
        settled(memory, longer, 2 + number, "quoted", evidence=source, session=f"s{number}")
    kept = memory.get(mine.id)
    assert (kept.trust, kept.origin, kept.confidence, kept.superseded_at) == ("user", "user", 0.7, None)
    assert len(everything(memory)) == 2


# -- the same in other words -------------------------------------------------------------------------------------------


def test_near_duplicates_are_merged_and_can_be_taken_apart(memory: Recollect) -> None:
    short = settled(memory, "Run the linter before committing", 1, evidence=(Evidence("s1", "a"),)).memory
    text = "Always run the linter before you commit"
    longer = settled(memory, text, 2, evidence=(Evidence("s2", "b"),))
    assert (longer.outcome, longer.memory.content) == ("merged", text)
    assert held(memory.store, memory.scope) == [text]
    assert set(memory.get(longer.memory.id).evidence) == {Evidence("s1", "a"), Evidence("s2", "b")}

    back = memory.reinstate(short.id)[0]
    assert (back.superseded_by, back.superseded_at) == (None, None)
    assert memory.get(longer.memory.id).evidence == (Evidence("s2", "b"),)
    assert len(held(memory.store, memory.scope)) == 2
    settled(memory, "You must run the linter before committing", 3)
    assert memory.get(short.id).superseded_at is None  # it stands apart from now on


def test_the_shorter_of_two_is_merged_even_if_it_is_newer(memory: Recollect) -> None:
    longer = settled(memory, "Always run the linter before you commit your changes", 1).memory
    short = settled(memory, "Run the linter before committing changes", 2)
    assert (short.outcome, short.memory.id) == ("merged", longer.id)
    assert settled(memory, "Run the linter before committing changes", 3).memory.id == longer.id
    assert len(everything(memory)) == 2


def test_what_is_trusted_more_is_never_merged_into_what_is_trusted_less(memory: Recollect) -> None:
    mine = settled(memory, "Run the linter before committing changes", 1).memory
    settled(memory, "Always run the linter before you commit your changes", 2, "quoted")
    assert memory.get(mine.id).superseded_at is None
    assert held(memory.store, memory.scope) == [mine.content]


def test_one_value_in_two_wordings_is_one_memory(memory: Recollect) -> None:
    settled(memory, "postgres runs on port 5433", 1)
    again = settled(memory, "the port of postgres is 5433", 2)
    assert (again.outcome, [one.content for one in again.others]) == ("merged", ["postgres runs on port 5433"])
    assert held(memory.store, memory.scope) == ["the port of postgres is 5433"]


# -- projects ----------------------------------------------------------------------------------------------------------


def test_a_project_and_its_user_each_keep_their_own_value(opened: Callable[..., Recollect], clock: HandClock) -> None:
    personal, project = opened(SCOPE), opened(SCOPE.within("app"))
    personal.remember("prefer spaces over tabs", kind="preference", importance=0.9)
    clock.move(days=1)
    project.remember("use tabs, not spaces", kind="decision", importance=0.5)
    clock.move(days=1)
    other = opened(SCOPE.within("other"))
    other.remember("use 2 spaces", kind="decision")
    clock.move(days=1)
    personal.remember("prefer spaces over tabs", kind="preference")
    assert len(everything(personal)) == 3
    assert all(one.superseded_at is None for one in everything(personal))
    hits = project.recall("tabs or spaces").hits
    assert [hit.content for hit in hits] == ["use tabs, not spaces", "prefer spaces over tabs"]


# -- by hand, twice, at once -------------------------------------------------------------------------------------------


def test_settling_the_same_twice_changes_nothing(memory: Recollect) -> None:
    told = [
        statement("postgres runs on port 5433", 1),
        statement("postgres runs on port 5544", 2),
        statement("postgres runs on port 5433", 3, "quoted"),
        statement("Run the linter before committing changes", 1),
        statement("Always run the linter before you commit your changes", 2),
        statement("Never push to main", 1),
        statement("Push to main", 2),
        statement("Ephemera", 2),
    ]
    for one in told:
        settle(memory.store, memory.scope, one, lambda: day(300))
    before = everything(memory)
    for one in told:
        settle(memory.store, memory.scope, one, lambda: day(301))
        new_id = statement(one.content, 0, one.trust, occurred_at=one.occurred_at)
        assert settle(memory.store, memory.scope, new_id, lambda: day(301)).outcome == "known"
    assert everything(memory) == before


def test_what_was_ended_stays_ended_when_what_ended_it_is_forgotten(memory: Recollect) -> None:
    old = settled(memory, "postgres runs on port 5433", 2).memory
    new = settled(memory, "postgres runs on port 5544", 3).memory
    memory.forget(new.id, soft=True)
    settled(memory, "postgres runs on port 1111", 1)
    assert memory.get(old.id).superseded_by == new.id
    views = [held(memory.store, memory.scope, at) for at in (1.5, 2.5, 4)]
    assert views == [["postgres runs on port 1111"], ["postgres runs on port 5433"], []]


def test_what_somebody_replaced_is_not_distilled_anew_but_what_rules_took_back_may_be(memory: Recollect) -> None:
    made = statement("Beacons are lit at dusk", 1, maker="rules", session="s")
    settle(memory.store, memory.scope, made, lambda: day(300))
    memory.supersede(made.id, "Beacons are lit by Ann")
    again = statement("Beacons are lit at dusk", 1, maker="rules", session="s")
    assert settle(memory.store, memory.scope, again, lambda: day(301)).outcome == "known"
    assert held(memory.store, memory.scope) == ["Beacons are lit by Ann"]

    retired = statement("Lamps burn oil", 1, maker="rules", session="s")
    settle(memory.store, memory.scope, retired, lambda: day(300))
    gone = replace(memory.get(retired.id), superseded_at=day(200), meta={"retired": True})
    memory.store.memories.update(memory.scope, gone, at=day(200), note="retire")
    back = settle(memory.store, memory.scope, replace(retired, id=uuid7()), lambda: day(301))
    assert back.outcome == "added"
    assert "Lamps burn oil" in held(memory.store, memory.scope)


def test_who_supersedes_by_hand_decides(memory: Recollect) -> None:
    old = memory.remember("The launch is planned for spring", occurred_at="2026-05-01")
    new = memory.supersede(old.id, "We launch when it is done", occurred_at="2026-01-01")
    memory.remember("The launch is planned for spring", occurred_at="2026-05-01")
    assert memory.get(old.id).superseded_by == new.id
    assert memory.get(new.id).superseded_at is None
    with pytest.raises(InvalidInput, match="take the place"):
        memory.supersede(new.id, "We launch never", origin="assistant")
    with pytest.raises(InvalidInput, match="no 'colour'"):
        memory.supersede(new.id, "x", colour="red")


@pytest.mark.parametrize("first", [True, False], ids=["a value was there", "the slot was empty"])
def test_somebody_elses_change_in_between_is_read_again(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    if first:
        settled(memory, "postgres runs on port 5433", 1)
    once = [lambda: settled(memory, "postgres runs on port 6000", 2)]
    plain = holding.hold

    def meanwhile(*args: Any, **named: Any) -> Any:
        done = plain(*args, **named)
        if once:
            once.pop()()
        return done

    monkeypatch.setattr(settling, "hold", meanwhile)
    assert settled(memory, "postgres runs on port 5544", 3).outcome == ("superseding" if first else "added")
    assert held(memory.store, memory.scope) == ["postgres runs on port 5544"]
    assert held(memory.store, memory.scope, at=2.5) == ["postgres runs on port 6000"]


def test_after_three_conflicts_it_says_so(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def conflict(*args: Any, **named: Any) -> bool:
        calls.append(1)
        raise Conflict

    monkeypatch.setattr(type(memory.store.memories), "change", conflict)
    with pytest.raises(Conflict):
        settled(memory, "postgres runs on port 5433", 1)
    assert len(calls) == 4


def test_many_threads_leave_one_value_for_each_slot(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")

    def say(worker: int) -> None:
        for number in range(6):
            said = statement(f"postgres runs on port {5000 + worker * 10 + number}", worker + number / 10)
            while True:
                with suppress(Conflict):  # four that write at once may meet more than three times
                    settle(store, SCOPE, said, lambda: day(300))
                    break

    threads = [threading.Thread(target=say, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held(store) == ["postgres runs on port 5035"]
    assert len(store.memories.in_slot(SCOPE, "postgres|port", history=True)) == 24
    store.close()


# -- in any order ------------------------------------------------------------------------------------------------------

PORTS = ("postgres runs on port {}", "the port of postgres is {}", "Postgres port: {}")
TEXTS = [
    *(wording.format(port) for wording in PORTS for port in (5433, 5544)),
    *("use npm", "use pnpm instead of npm", "do not use npm", "the package manager is yarn"),
    *("deploys happen on Fridays", "never deploy on Fridays", "We deploy on Tuesdays"),
]
TOLD = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.integers(0, 9), st.sampled_from(("user", "user", "checked", "quoted"))),
    min_size=2,
    max_size=9,
)


def views(told: list[tuple[str, int, str]]) -> list[list[str]]:
    """What holds as of each day, and now, after all of it was learned in this order."""
    with TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "data")
        for content, at, trust in told:
            settle(store, SCOPE, statement(content, at, trust), lambda: day(300))
        found = [*(held(store, at=at + 0.5) for at in range(10)), held(store)]
        store.close()
    return found


@IN_A_FILE
@settings(max_examples=40)
@given(TOLD, st.randoms(use_true_random=False))
def test_the_order_of_learning_does_not_matter(told: list[tuple[str, int, str]], random: Any) -> None:
    in_time = sorted(told, key=lambda one: one[1])
    shuffled = list(told)
    random.shuffle(shuffled)
    assert views(shuffled) == views(in_time)


def test_a_slot_named_by_a_model_is_not_taken_at_its_word(memory: Recollect) -> None:
    """T04: a model cannot bring one fact to take the place of another by giving both a slot."""
    settled(memory, "The lighthouse is painted white", 1, slot="lighthouse|name", maker="openai:m")
    settled(memory, "The keeper lives on the island", 2, slot="lighthouse|name", maker="openai:m")
    assert len(held(memory.store, memory.scope)) == 2
    settled(memory, "Beacons are lit by Ann", 1, slot="owner of the beacon", maker="rules")
    assert (
        settled(memory, "Beacons are lit by Bob", 2, slot="owner of the beacon", maker="rules").outcome == "superseding"
    )


def test_nobody_can_write_how_a_memory_stands_into_its_meta(memory: Recollect) -> None:
    forged = {"said": [{"at": "2026-01-01", "trust": "user", "origin": "user", "maker": "said"}], "disputes": ["x"]}
    kept = memory.remember("Trust me", origin="web", meta={**forged, "apart": True, "note": "kept"})
    assert (kept.trust, dict(kept.meta)) == ("quoted", {"note": "kept"})


def test_reinstating_what_is_not_gone_is_not_found(memory: Recollect, clock: HandClock) -> None:
    kept = memory.remember("Here to stay")
    with pytest.raises(NotFound):
        memory.reinstate(kept.id)
    with pytest.raises(NotFound):
        memory.reinstate("nobody")
