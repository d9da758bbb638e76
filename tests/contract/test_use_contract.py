"""How memories were used: a verdict counts once, goes with its memory and its session, and is its owner's own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from recollect.errors import InvalidInput, NotFound
from recollect.model import Memory, Scope
from recollect.store import portable
from recollect.store.moving import Movable
from recollect.store.port import Store
from recollect.store.ports.keeping import Ages
from recollect.store.ports.memories import Filter
from recollect.store.ports.use import MOST_FEEDBACK, Feedback, Injection, OwnRanking, Verdict
from recollect.store.sqlite.salvage import salvage
from recollect.store.sqlite.store import FILE_NAME, SqliteStore
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, memory, minute, talk

ENDLESS_AGO = T0 - timedelta(days=10_000)


def keep(store: Store, content: str = "Postgres listens on 5433", scope: Scope = ANN, **changes: object) -> Memory:
    return store.memories.add(scope, memory(content, **changes))[0]


def said(one: Memory, verdict: str = "helpful", session: str | None = "s1", at: float = 0, **more: object) -> Feedback:
    return Feedback(one.id, verdict, minute(at), session, **more)  # type: ignore[arg-type]


def shown(one: Memory, session: str = "s1", at: float = 0) -> Injection:
    return Injection(one.id, session, minute(at), "claude", "prompt", "0123456789ab")


def left(store: Store, table: str) -> list[str]:
    """Whose rows are really there."""
    movable = cast(Movable, store)
    with movable.database.read(ANN) as tx:
        return [memory_id for (memory_id,) in movable.tables.read(tx, table, ("memory",))]


def test_what_is_said_comes_back_newest_first(store: Store) -> None:
    one = keep(store)
    given = [
        said(one, "helpful", "s1", 0, note="it was the port — “é”"),
        said(one, "harmful", None, 1, source="agent"),
        said(one, "cited", "s2", 2),
    ]
    for each in given:
        store.use.give(ANN, each)
    assert store.use.feedback(ANN, one.id) == given[::-1]
    assert store.use.every(ANN, limit=2) == given[:2]
    assert store.use.every(ANN, limit=2, offset=2) == given[2:]
    verdicts = [Verdict(each.verdict, each.at) for each in given]
    assert store.use.verdicts(ANN, [one.id, "no such"]) == {one.id: verdicts}
    assert store.use.verdicts(ANN, []) == {}


def test_the_same_verdict_of_the_same_session_counts_once_and_is_as_new_as_it_was_last_said(store: Store) -> None:
    one = keep(store)
    for at in (0, 7, 3):
        store.use.give(ANN, said(one, at=at))
    assert store.use.feedback(ANN, one.id) == [said(one, at=7)]
    store.use.give(ANN, said(one, session=None))
    store.use.give(ANN, said(one, session=None))
    assert len(store.use.feedback(ANN, one.id)) == 2


def test_a_verdict_can_be_taken_back(store: Store) -> None:
    one = keep(store)
    store.use.give(ANN, said(one))
    assert not store.use.take_back(ANN, one.id, "helpful", None, at=LATER)
    assert store.use.take_back(ANN, one.id, "helpful", "s1", at=LATER)
    assert not store.use.take_back(ANN, one.id, "helpful", "s1", at=LATER)
    assert store.use.feedback(ANN, one.id) == []
    audited = [(one.action, dict(one.details)) for one in store.audit.find(ANN, limit=9, action="feedback")]
    assert [details["verdict"] for _, details in audited] == ["helpful", "helpful"]


def test_what_the_user_said_is_not_written_over_by_an_agent_nor_by_what_a_session_shows(store: Store) -> None:
    one = keep(store)
    mine = said(one, "harmful", at=1, note="it broke the build")
    store.use.give(ANN, mine)
    for source in ("agent", "digest"):
        store.use.give(ANN, said(one, "harmful", at=2, source=source, note="no"))
    assert store.use.feedback(ANN, one.id) == [mine]


def test_the_users_word_takes_the_place_of_an_agents(store: Store) -> None:
    one = keep(store)
    store.use.give(ANN, said(one, source="agent", note="the agent's reason"))
    store.use.give(ANN, said(one, at=1))
    assert store.use.feedback(ANN, one.id) == [said(one, at=1)], "and nothing of the agent's stays"


def test_an_agent_takes_back_only_what_agents_said(store: Store) -> None:
    one = keep(store)
    store.use.give(ANN, said(one, "harmful"))
    store.use.give(ANN, said(one, "helpful", source="agent"))
    assert not store.use.take_back(ANN, one.id, "harmful", "s1", at=LATER, source="agent")
    assert store.use.take_back(ANN, one.id, "helpful", "s1", at=LATER, source="agent")
    assert store.use.feedback(ANN, one.id) == [said(one, "harmful")]


def test_a_date_that_a_wrong_clock_put_into_the_future_heals(store: Store) -> None:
    one = keep(store)
    store.use.give(ANN, replace(said(one), at=T0 + timedelta(days=100_000)))
    store.use.give(ANN, said(one, at=5))
    assert store.use.feedback(ANN, one.id) == [said(one, at=5)]


@pytest.mark.parametrize("change", [{"verdict": "lovely"}, {"source": "nobody"}], ids=str)
def test_nothing_else_can_be_said(store: Store, change: dict[str, str]) -> None:
    one = keep(store)
    with pytest.raises(InvalidInput):
        store.use.give(ANN, replace(said(one), **change))  # type: ignore[arg-type]


def test_of_many_verdicts_the_newest_are_kept(store: Store) -> None:
    one = keep(store)
    for number in range(MOST_FEEDBACK + 3):
        store.use.give(ANN, said(one, session=f"s{number}", at=number))
    found = store.use.feedback(ANN, one.id)
    assert len(found) == MOST_FEEDBACK
    assert found[-1] == said(one, session="s3", at=3)


def test_however_much_agents_say_what_the_user_said_stays(store: Store) -> None:
    one = keep(store)
    mine = said(one, "harmful")
    store.use.give(ANN, mine)
    for number in range(MOST_FEEDBACK + 3):
        store.use.give(ANN, said(one, session=f"s{number}", at=number + 1, source="agent"))
    found = store.use.feedback(ANN, one.id)
    assert len(found) == MOST_FEEDBACK
    assert mine in found


def test_of_what_is_not_there_nothing_can_be_said(store: Store) -> None:
    one = keep(store)
    for scope in (BOB, EVE, ANN.within("zeus")):
        own = one if scope.user == "ann" and scope.tenant == "acme" else replace(one, id="m-none")
        if scope.project is None:
            with pytest.raises(NotFound):
                store.use.give(scope, said(own))
    with pytest.raises(NotFound):
        store.use.give(ANN, Feedback("no such", "helpful", T0))
    with pytest.raises(NotFound):
        store.use.take_back(BOB, one.id, "helpful", at=T0)


def test_everybody_has_their_own(store: Store) -> None:
    one, here = keep(store), keep(store, "Deploys run on Monday", project="zeus")
    store.sessions.append(ANN.within("zeus"), talk("s1", "hello"))
    for each in (one, here):
        store.use.give(ANN, said(each))
    store.use.inject(ANN, [shown(one), shown(here)], before=ENDLESS_AGO)
    for other in (BOB, EVE):
        assert store.use.feedback(other, one.id) == []
        assert store.use.verdicts(other, [one.id]) == {}
        assert store.use.every(other, limit=9) == []
        assert store.use.injections(other) == []
        assert store.use.ids(other) == []
    assert {each.memory for each in store.use.every(ANN.within("zeus"), limit=9)} == {one.id, here.id}
    assert store.use.every(ANN.within("apollo"), limit=9) == [], "the session is of another project"
    assert store.use.verdicts(ANN.within("apollo"), [one.id, here.id]) == {one.id: [Verdict("helpful", T0)]}
    assert store.use.injections(ANN.within("apollo")) == []
    assert len(store.use.injections(ANN.within("zeus"))) == 2


def test_what_a_session_shows_takes_the_place_of_what_it_showed_before(store: Store) -> None:
    one, two = keep(store), keep(store, "Deploys run on Monday")
    store.sessions.append(ANN, talk("s1", "hello"))
    store.use.give(ANN, said(two, "cited"))
    derived = [said(each, verdict, source="digest") for each in (one, two) for verdict in ("cited", "success")]
    store.use.derive(ANN, "s1", derived)
    assert {(each.verdict, each.source) for each in store.use.feedback(ANN, two.id)} == {
        ("cited", "user"),
        ("success", "digest"),
    }
    store.use.derive(ANN, "s1", derived[:1])
    assert store.use.feedback(ANN, one.id) == derived[:1]
    assert store.use.feedback(ANN, two.id) == [said(two, "cited")], "what somebody said stays"
    store.use.derive(ANN, "no such session", [said(one, "cited", "no such session", source="digest")])
    assert len(store.use.feedback(ANN, one.id)) == 1


def test_where_a_memory_was_shown_is_kept_once_and_only_of_what_is_there(store: Store) -> None:
    one, two = keep(store), keep(store, "Deploys run on Monday")
    store.sessions.append(ANN, talk("s1", "hello"))
    store.sessions.append(ANN, talk("s2", "hello"))
    nowhere = [shown(one, "no such session"), replace(shown(one), memory="no such memory")]
    given = [shown(one), shown(two, at=1), shown(one, "s2", 2)]
    assert store.use.inject(ANN, [*given, *nowhere], before=ENDLESS_AGO) == 3
    assert store.use.inject(ANN, given, before=ENDLESS_AGO) == 0
    assert store.use.injections(ANN) == given[::-1]
    assert store.use.injections(ANN, memory=one.id) == [given[2], given[0]]
    assert store.use.injections(ANN, session="s1") == [given[1], given[0]]
    assert store.use.injections(ANN, memory=one.id, session="s1") == given[:1]
    assert store.use.injections(ANN, limit=1) == given[2:]
    assert store.use.inject(ANN, [], before=minute(1)) == 0
    assert store.use.injections(ANN) == given[:0:-1], "what is too old goes"
    with pytest.raises(InvalidInput):
        store.use.inject(ANN, [replace(shown(one), event="dream")], before=ENDLESS_AGO)


def test_it_is_known_for_a_while_which_memories_stood_in_a_text(store: Store) -> None:
    one, two = keep(store), keep(store, "Deploys run on Monday")
    store.use.laid(ANN, {"a" * 12: [one.id, two.id], "b" * 12: ["gone"]}, at=T0, before=ENDLESS_AGO)
    assert store.use.names(ANN, ["a" * 12, "b" * 12, "c" * 12]) == {"a" * 12: (one.id, two.id)}
    assert store.use.names(BOB, ["a" * 12]) == {}
    store.keeping.forget_memory(ANN, two.id, at=LATER)
    assert store.use.names(ANN, ["a" * 12]) == {"a" * 12: (one.id,)}
    store.use.laid(ANN, {}, at=LATER, before=LATER)
    assert store.use.names(ANN, ["a" * 12]) == {}


def test_the_ids_are_those_of_memories_that_are_not_deleted(store: Store) -> None:
    one, two = keep(store), keep(store, "Deploys run on Monday", project="zeus")
    gone = keep(store, "gone")
    store.memories.update(ANN, replace(gone, deleted_at=LATER), at=LATER, note="delete")
    assert store.use.ids(ANN) == sorted([one.id, two.id])
    assert store.use.ids(ANN.within("apollo")) == [one.id]


def test_forgetting_a_memory_forgets_what_was_said_of_it(store: Store) -> None:
    one, two = keep(store), keep(store, "Deploys run on Monday")
    store.sessions.append(ANN, talk("s1", "hello"))
    for each in (one, two):
        store.use.give(ANN, said(each, note="a secret reason"))
    store.use.inject(ANN, [shown(one), shown(two)], before=ENDLESS_AGO)
    store.keeping.forget_memory(ANN, one.id, at=LATER)
    assert store.use.feedback(ANN, one.id) == []
    assert store.use.every(ANN, limit=9) == [said(two, note="a secret reason")]
    assert store.use.injections(ANN) == [shown(two)]
    assert left(store, "feedback") == left(store, "injections") == [two.id]


def test_forgetting_a_session_forgets_what_was_said_and_shown_in_it(store: Store) -> None:
    one = keep(store)
    for session in ("s1", "s2"):
        store.sessions.append(ANN, talk(session, "hello"))
        store.use.give(ANN, said(one, session=session))
        store.use.inject(ANN, [shown(one, session)], before=ENDLESS_AGO)
    store.keeping.forget_session(ANN, "s1", at=LATER)
    assert store.use.every(ANN, limit=9) == [said(one, session="s2")]
    assert store.use.injections(ANN) == [shown(one, "s2")]


def test_forgetting_everything_forgets_the_weights_too(store: Store, new_store: object) -> None:
    one = keep(store)
    store.use.give(ANN, said(one))
    store.use.laid(ANN, {"a" * 12: [one.id]}, at=T0, before=ENDLESS_AGO)
    store.use.put_ranking(ANN, OwnRanking({"use": 0.1}, T0), at=T0)
    store.keeping.forget_all(ANN, at=LATER)
    again = keep(store)
    assert left(store, "feedback") == []
    assert store.use.names(ANN, ["a" * 12]) == {}
    assert not store.use.put_ranking(ANN, None, at=LATER), "there is none"
    assert store.use.verdicts(ANN, [again.id]) == {}


def test_what_proved_useful_is_not_archived_for_being_read_little(store: Store) -> None:
    old = {"occurred_at": T0 - timedelta(days=400), "recorded_at": T0 - timedelta(days=400)}
    useful, harmful, plain = (keep(store, text, **old) for text in ("useful", "harmful", "plain"))
    store.use.give(ANN, said(useful))
    store.use.give(ANN, said(harmful, "harmful"))
    before = T0 - timedelta(days=365)
    ages = Ages(archive_before=before, archive_reads=5, redact_before=before, purge_before=before)
    assert store.keeping.upkeep(now=T0, ages=ages, steps=("archive",)).archived == 2
    left = store.memories.find(ANN, Filter(now=LATER), limit=9)
    assert [one.id for one in left] == [useful.id]
    assert plain.id != harmful.id


def test_weights_are_kept_for_each_owner_and_taken_away(store: Store) -> None:
    weights = {"similarity": 0.7, "importance": 0.2, "recency": 0.1, "use": 0.05}
    own = OwnRanking(weights, T0, {"examples": 40, "before": 0.5})
    assert store.use.ranking(ANN) is None
    assert store.use.put_ranking(ANN, own, at=T0)
    assert store.use.ranking(ANN) == store.use.ranking(ANN.within("zeus")) == own
    assert store.use.ranking(BOB) is None
    assert store.use.ranking(EVE) is None
    assert store.use.put_ranking(ANN, None, at=LATER)
    assert store.use.ranking(ANN) is None
    assert not store.use.put_ranking(ANN, None, at=LATER)
    changes = [dict(one.details)["change"] for one in store.audit.find(ANN, limit=9, action="ranking")]
    assert sorted(changes) == ["fit", "reset"]


def test_weights_go_with_everything_else_of_their_owner_at_once(store: Store) -> None:
    own = OwnRanking({"use": 0.1}, T0, {"examples": 40})
    for scope in (ANN, BOB):
        store.use.put_ranking(scope, own, at=T0)
    store.keeping.forget_all(ANN, at=LATER)
    assert (store.use.ranking(ANN), store.use.ranking(BOB)) == (None, own)


def test_feedback_is_exported_and_comes_back_once(store: Store, new_store: object) -> None:
    one = keep(store)
    store.sessions.append(ANN, talk("s1", "hello"))
    for each in (said(one, note="so it was"), said(one, "harmful", None, 1, source="agent")):
        store.use.give(ANN, each)
    records = list(portable.export(store, ANN, now=LATER))
    other = new_store()  # type: ignore[operator]
    assert portable.load(other, ANN, records)["feedback"] == 2
    assert other.use.every(ANN, limit=9) == store.use.every(ANN, limit=9)
    assert "feedback" not in portable.load(other, ANN, records)
    other.keeping.forget_memory(ANN, one.id, at=LATER)
    portable.load(other, ANN, records)
    assert other.use.every(ANN, limit=9) == []


def test_a_note_goes_with_the_text_it_is_about(store: Store) -> None:
    """What was softly forgotten is redacted after a while: what was said of it may quote it."""
    one = keep(store)
    store.use.give(ANN, said(one, session=None, note="the port is 5433"))
    store.memories.update(ANN, replace(one, deleted_at=T0), at=T0, note="delete")
    ages = Ages(archive_before=ENDLESS_AGO, archive_reads=0, redact_before=LATER, purge_before=ENDLESS_AGO)
    assert store.keeping.upkeep(now=LATER, ages=ages, steps=("redact",)).redacted == 1
    assert left(store, "feedback") == []


def test_a_repaired_store_has_what_was_said_of_its_memories(tmp_path: Path) -> None:
    damaged, mended = SqliteStore(tmp_path / "damaged"), SqliteStore(tmp_path / "mended")
    one = keep(damaged)
    given = [said(one, note="it was the port"), said(one, "harmful", None, 1, source="agent")]
    for each in given:
        damaged.use.give(ANN, each)
    damaged.close()
    try:
        assert salvage(tmp_path / "damaged" / FILE_NAME, mended)["lost"] == 0
        assert mended.use.every(ANN, limit=9) == given
    finally:
        mended.close()
