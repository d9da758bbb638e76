"""Trust is data: why a memory is believed, what the user confirmed, and what is left when a source is revoked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect, Scope
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Evidence
from recollect.pipeline.revoking import reinstate, revoke
from recollect.pipeline.settling import settle
from recollect.store.ports.memories import Filter
from recollect.store.sqlite.store import SqliteStore
from tests.flow.memory_fixture import IN_A_FILE, HandClock
from tests.flow.test_supersession import SCOPE, TEXTS, day, held, statement

pytestmark = pytest.mark.usefixtures("each_store")

_NOW = Filter(now=day(300))


def contents(memory: Recollect) -> list[str]:
    return sorted(one.content for one in memory.memories())


def audited(memory: Recollect) -> list[tuple[str, str]]:
    connection = apsw.Connection(str(memory.settings.data_dir / "recollect.db"))
    try:
        return list(connection.execute("SELECT action, subject FROM audit ORDER BY row"))
    finally:
        connection.close()


# -- why it is believed ------------------------------------------------------------------------------------------------


def test_a_memory_tells_the_very_words_it_rests_on(memory: Recollect) -> None:
    said = "Please remember: postgres runs on port 5433 here."
    key = memory.record("s1", "user", said, "2026-01-02T10:00:00Z")
    start = said.index("postgres")
    span = Evidence("s1", key, start, start + 26)
    kept = memory.remember("postgres runs on port 5433", session="s1", evidence=[span, Evidence("s1", "gone")])
    told = memory.belief(kept.id)
    assert [(quote.text, quote.origin, quote.at) for quote in told.quotes] == [
        ("postgres runs on port 5433", "user", datetime(2026, 1, 2, 10, tzinfo=UTC)),
        (None, None, None),
    ]
    assert [saying.trust for saying in told.said] == ["user"]


def test_a_memory_tells_what_it_replaced_what_it_means_too_and_who_says_otherwise(memory: Recollect) -> None:
    for content, at in (("postgres runs on port 1111", "2026-01-01"), ("postgres runs on port 2222", "2026-01-02")):
        memory.remember(content, occurred_at=at)
    memory.remember("the port of postgres is 3333", occurred_at="2026-01-03")
    kept = memory.remember("postgres port: 3333", occurred_at="2026-01-04")
    memory.remember("the postgres port is 4444", origin="web", occurred_at="2026-01-05")
    told = memory.belief(kept.id)
    assert [one.content for one in told.superseded] == ["postgres runs on port 2222", "postgres runs on port 1111"]
    assert [one.content for one in told.merged] == ["the port of postgres is 3333"]
    assert [(one.content, one.origin) for one in told.disputes] == [("the postgres port is 4444", "web")]
    oldest = memory.belief(told.superseded[-1].id)
    assert [one.content for one in oldest.successors] == [
        "postgres runs on port 2222",
        "the port of postgres is 3333",
        "postgres port: 3333",
    ]


# -- confirmed ---------------------------------------------------------------------------------------------------------


def test_what_the_user_confirms_is_trusted_as_their_word_and_may_be_a_preference(
    memory: Recollect, clock: HandClock
) -> None:
    quoted = memory.remember("Answers should be short", origin="assistant")
    with pytest.raises(InvalidInput, match="only what a user said"):
        memory.update(quoted.id, kind="preference")
    clock.move(days=1)
    kept = memory.confirm(quoted.id, kind="preference")
    assert (kept.trust, kept.origin, kept.kind, kept.confirmed_at) == ("user", "assistant", "preference", clock())
    assert kept.occurred_at == quoted.occurred_at
    assert memory.recall("short answers").hits[0].trust == "user"
    assert [saying.confirmed for saying in memory.belief(kept.id).said] == [False, True]


def test_confirming_one_of_two_ends_the_dispute(memory: Recollect, clock: HandClock) -> None:
    mine = memory.remember("postgres runs on port 5433")
    clock.move(days=1)
    theirs = memory.remember("the port of postgres is 5544", origin="tool")
    assert len(memory.memories()) == 2
    clock.move(days=1)
    memory.confirm(theirs.id)
    assert contents(memory) == ["the port of postgres is 5544"]
    assert memory.get(mine.id).superseded_at == clock()
    assert "disputes" not in memory.get(theirs.id).meta
    with pytest.raises(InvalidInput, match="superseded"):
        memory.confirm(mine.id)


def test_a_confirmation_is_kept_by_export_and_import(memory: Recollect, opened: Callable[..., Recollect]) -> None:
    kept = memory.confirm(memory.remember("Answers should be short", origin="assistant").id, kind="preference")
    records = list(memory.export())
    other = opened(Scope("elsewhere", "ann"))
    other.load(records)
    assert other.get(kept.id).trust == "user"
    assert other.confirm(kept.id).confirmed_at == kept.confirmed_at


def test_nobody_is_confirmed_who_is_not_there(memory: Recollect) -> None:
    gone = memory.remember("Gone")
    memory.forget(gone.id, soft=True)
    for id_ in (gone.id, "nobody"):
        with pytest.raises(NotFound):
            memory.confirm(id_)
    with pytest.raises(InvalidInput):
        memory.confirm(memory.remember("Here").id, kind="memoir")


# -- revoked -----------------------------------------------------------------------------------------------------------


@IN_A_FILE
def test_revoking_a_session_takes_all_that_came_from_it_in_one_step(memory: Recollect) -> None:
    memory.remember("Ann owns billing", session="claude:bad")
    memory.remember("Bob owns search", session="claude:bad", origin="assistant")
    memory.remember("Zoë owns the docs", session="claude:good")
    assert dict(memory.revoke("claude:bad", dry_run=True).counts) == {"memories": 2, "lowered": 0}
    assert len(contents(memory)) == 3
    assert dict(memory.revoke("claude:bad").counts) == {"memories": 2, "lowered": 0}
    assert contents(memory) == ["Zoë owns the docs"]
    assert memory.recall("who owns billing").hits == ()
    assert audited(memory)[3:] == [("revoke", "claude:bad")]
    with pytest.raises(NotFound):
        memory.revoke("claude:bad")
    back = memory.reinstate("claude:bad")
    assert sorted(one.content for one in back) == ["Ann owns billing", "Bob owns search"]
    assert audited(memory)[4:] == [("reinstate", "claude:bad")]
    assert len(contents(memory)) == 3
    assert all("revoked" not in one.meta for one in memory.memories())


@pytest.mark.parametrize("source", ["web", "rules"])
def test_an_origin_or_a_maker_can_be_revoked(memory: Recollect, source: str) -> None:
    for content, origin, maker in (("a b c", "web", "said"), ("d e f", "tool", "rules"), ("g h i", "user", "said")):
        trust = "user" if origin == "user" else "quoted"
        one = statement(content, 1, trust, origin=origin, maker=maker)
        settle(memory.store, memory.scope, one, lambda: day(300))
    memory.revoke(source)
    assert contents(memory) == (["d e f", "g h i"] if source == "web" else ["a b c", "g h i"])


def test_what_others_said_too_stays_and_is_trusted_as_they_are(memory: Recollect) -> None:
    evidence = {name: (Evidence(name, "e"),) for name in ("s1", "s2")}
    quoted = statement("Keep the changelog short", 1, "quoted", session="s1", evidence=evidence["s1"])
    mine = statement("Keep the changelog short", 2, kind="preference", session="s2", evidence=evidence["s2"])
    for one in (quoted, mine):
        settle(memory.store, memory.scope, one, lambda: day(300))
    before = memory.get(quoted.id)
    assert (before.trust, before.kind) == ("user", "preference")
    assert dict(memory.revoke("s2").counts) == {"memories": 0, "lowered": 1}
    left = memory.get(quoted.id)
    assert (left.trust, left.origin, left.kind, left.evidence) == ("quoted", "assistant", "note", evidence["s1"])
    memory.reinstate("s2")
    again = memory.get(quoted.id)
    assert (again.trust, again.kind, set(again.evidence)) == ("user", "preference", set(before.evidence))
    memory.revoke("s1")
    assert (memory.get(quoted.id).trust, memory.get(quoted.id).evidence) == ("user", evidence["s2"])


def test_what_the_user_confirmed_stays_when_who_said_it_is_revoked(memory: Recollect, clock: HandClock) -> None:
    kept = memory.remember("Answers should be short", origin="assistant")
    clock.move(days=1)
    memory.confirm(kept.id)
    assert dict(memory.revoke("assistant").counts) == {"memories": 0, "lowered": 1}
    left = memory.get(kept.id)
    assert (left.trust, left.occurred_at, left.confirmed_at) == ("user", clock(), clock())
    assert [one.confirmed for one in memory.belief(kept.id).said][-1]


def test_what_a_revoked_source_had_superseded_holds_again(memory: Recollect) -> None:
    memory.remember("postgres runs on port 5433", session="good", occurred_at="2026-01-01")
    memory.remember("the port of postgres is 6666", session="bad", occurred_at="2026-02-01")
    assert contents(memory) == ["the port of postgres is 6666"]
    memory.revoke("bad")
    assert contents(memory) == ["postgres runs on port 5433"]
    memory.reinstate("bad")
    assert contents(memory) == ["the port of postgres is 6666"]


def test_what_is_distilled_again_from_a_revoked_session_is_withheld(memory: Recollect) -> None:
    made = statement("The user likes tea", 1, session="bad", maker="rules", evidence=(Evidence("bad", "e", 0, 9),))
    settle(memory.store, memory.scope, made, lambda: day(300))
    memory.revoke("bad")
    again = statement("The user likes tea", 1, session="bad", maker="rules", evidence=made.evidence)
    assert settle(memory.store, memory.scope, again, lambda: day(301)).outcome == "withheld"
    assert contents(memory) == []


def test_a_revoked_memory_can_come_back_alone_and_not_after_its_text_is_gone(
    memory: Recollect, clock: HandClock
) -> None:
    one = memory.remember("Ann owns billing", session="bad")
    memory.remember("Bob owns search", session="bad")
    memory.revoke("bad")
    assert memory.reinstate(one.id)[0].content == "Ann owns billing"
    clock.move(days=8)
    memory.maintain()
    with pytest.raises(NotFound):
        memory.reinstate("bad")


def test_revoking_sees_no_further_than_the_scope(opened: Callable[..., Recollect]) -> None:
    mine, theirs = opened(Scope("local", "ann", "app")), opened(Scope("local", "ann", "other"))
    mine.remember("Ann owns billing", origin="web")
    theirs.remember("Bob owns search", origin="web")
    mine.revoke("web")
    assert contents(theirs) == ["Bob owns search"]
    for bad in ("", "x" * 300, "\n"):
        with pytest.raises(InvalidInput):
            mine.revoke(bad)


def test_what_was_softly_forgotten_and_said_again_meanwhile_is_one_memory(memory: Recollect) -> None:
    first = memory.remember("Ann owns billing")
    memory.forget(first.id, soft=True)
    second = memory.remember("ann owns billing")
    assert second.id != first.id
    memory.restore(first.id)
    assert len(contents(memory)) == 1


def test_what_was_superseded_by_hand_comes_back_beside_the_other(memory: Recollect) -> None:
    old = memory.remember("The launch is in spring")
    new = memory.supersede(old.id, "The launch is in autumn")
    assert memory.reinstate(old.id)[0].superseded_by is None
    assert contents(memory) == ["The launch is in autumn", "The launch is in spring"]
    same = memory.supersede(new.id, "The launch is in winter")
    memory.remember("The launch is in autumn")
    with pytest.raises(Conflict):
        memory.reinstate(new.id)
    assert memory.get(same.id).superseded_by is None


TOLD = st.lists(
    st.tuples(
        st.sampled_from((*TEXTS, "Always push tags to the mirror", "Never push tags to the mirror")),
        st.integers(0, 9),
        st.sampled_from(("user", "checked", "quoted")),
        st.sampled_from(("s1", "s2")),
    ),
    min_size=2,
    max_size=8,
)


@IN_A_FILE
@settings(max_examples=40)
@given(TOLD)
def test_a_revoked_source_is_as_if_it_had_said_nothing(told: list[tuple[str, int, str, str]]) -> None:
    def seen(store: SqliteStore) -> list[Any]:
        live = [(one.content, one.trust) for one in store.memories.find(SCOPE, _NOW, limit=50)]
        return [*(held(store, at=at + 0.5) for at in range(10)), sorted(live)]

    with TemporaryDirectory() as folder:
        with_it, without = SqliteStore(Path(folder) / "a"), SqliteStore(Path(folder) / "b")
        for content, at, trust, session in told:
            for store in (with_it, without) if session == "s2" else (with_it,):
                settle(store, SCOPE, statement(content, at, trust, session=session), lambda: day(300))
        before = seen(with_it)
        if any(session == "s1" for *_, session in told):
            revoke(with_it, SCOPE, "s1", lambda: day(301))
            assert seen(with_it) == seen(without)
            reinstate(with_it, SCOPE, "s1", lambda: day(302))
        assert seen(with_it) == before
        with_it.close()
        without.close()
