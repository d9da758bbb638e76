"""Memories: said twice is kept once, changed only by who read the newest version, found as the filter says."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import Conflict, NotFound, ScopeError
from recollect.inject.selection import WEIGHING, ranked
from recollect.model import NO_PROJECT, Evidence, Memory, MemoryVersion, Scope
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.sqlite import database
from tests.contract.samples import ANN, BOB, EVE, LATER, NOW, T0, memory, minute

FULL = memory(
    "Deploys go out on Tuesdays — 火曜日",
    kind="decision",
    project="apollo",
    why="agreed in the retro",
    tags=("deploy", "été"),
    importance=0.9,
    confidence=0.8,
    session="codex:1",
    evidence=(Evidence("codex:1", "ab" * 16, 3, 9), Evidence("codex:2")),
    anchors=("src/app.py", "ünï"),
    meta={"pr": 17, "names": ["Zoë"]},
    accessed_at=minute(3),
    access_count=4,
    expires_at=LATER + timedelta(days=900),
)


def found(store: Store, where: Filter, scope: Scope = ANN, **page: int) -> list[str]:
    return [one.content for one in store.memories.find(scope, where, **{"limit": 50, **page})]


def test_a_memory_comes_back_as_it_was_given(store: Store) -> None:
    assert store.memories.add(ANN, FULL) == (FULL, True)
    assert store.memories.get(ANN, FULL.id) == FULL
    assert store.memories.find(ANN, NOW, limit=5) == [FULL]


def test_many_memories_are_read_at_once_and_only_ones_own(store: Store) -> None:
    mine = [memory(f"note {number}") for number in range(3)]
    elsewhere, theirs = memory("in a project", project="apollo"), memory("of Bob")
    for one in mine:
        store.memories.add(ANN, one)
    store.memories.add(ANN.within("apollo"), elsewhere)
    store.memories.add(BOB, theirs)
    ids = [mine[2].id, "no id", mine[0].id, mine[2].id, elsewhere.id, theirs.id, "'); --"]
    assert store.memories.get_many(ANN, ids) == {one.id: one for one in (mine[0], mine[2], elsewhere)}
    assert store.memories.get_many(ANN.within("zeus"), ids).keys() == {mine[0].id, mine[2].id}
    assert store.memories.get_many(EVE, ids) == store.memories.get_many(ANN, []) == {}


def test_of_very_many_the_few_with_a_tag_are_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an index that has the words of tags: whoever only says the word, or has half of it, is not among them."""
    monkeypatch.setattr(database, "MANY", 0)
    for name, tags in (
        ("with two words", ("blue lantern",)),
        ("with one", ("lantern",)),
        ("with half", ("lanterns-and-more",)),
        ("with another", ("lamp",)),
    ):
        store.memories.add(ANN, memory(name, tags=tags))
    store.memories.add(ANN, memory("the lantern is only mentioned"))
    store.memories.add(BOB, memory("of Bob", tags=("lantern",)))
    assert found(store, replace(NOW, tags=("lantern",))) == ["with one"]
    assert found(store, replace(NOW, tags=("Blue Lantern",))) == []
    assert set(found(store, replace(NOW, tags=("blue lantern", "lamp")))) == {"with two words", "with another"}
    assert found(store, replace(NOW, tags=("…",))) == []


@pytest.mark.parametrize(
    "again",
    [
        pytest.param("The caf\u00e9 opens at nine", id="the same"),
        pytest.param("THE CAF\u00c9 OPENS AT NINE", id="other case"),
        pytest.param("  The caf\u00e9\topens \n at  nine ", id="other white space"),
        pytest.param("The cafe\u0301 opens at nine", id="decomposed accent"),
        pytest.param("The caf\u00e9 opens at n\uff49ne", id="full-width letter"),
        pytest.param("The caf\u00e9\u00a0opens\u3000at nine", id="other spaces"),
    ],
)
def test_the_same_text_is_one_memory(store: Store, again: str) -> None:
    first = memory("The caf\u00e9 opens at nine", tags=("food",))
    store.memories.add(ANN, first)
    assert store.memories.add(ANN, memory(again, kind="note")) == (first, False)
    assert found(store, NOW) == [first.content]


def test_the_same_text_is_one_memory_for_each_project_and_owner(store: Store) -> None:
    places = [(ANN, None), (ANN, "apollo"), (ANN, "zeus"), (BOB, None), (EVE, None), (EVE, "apollo")]
    for scope, project in places:
        _, added = store.memories.add(scope.within(project), memory("tabs, not spaces", project=project))
        assert added
    assert [len(found(store, NOW, scope)) for scope in (ANN, BOB, EVE)] == [3, 1, 2]


def test_the_same_id_is_one_memory(store: Store) -> None:
    first = memory("as it was")
    store.memories.add(ANN, first)
    assert store.memories.add(ANN, replace(first, content="another text")) == (first, False)


@pytest.mark.parametrize(
    "gone", [{"deleted_at": minute(2)}, {"superseded_at": minute(2)}], ids=["deleted", "superseded"]
)
def test_what_was_deleted_or_superseded_may_be_said_again(store: Store, gone: dict[str, Any]) -> None:
    first = memory("we use MySQL")
    store.memories.add(ANN, first)
    store.memories.update(ANN, replace(first, **gone), at=minute(2), note="change")
    again, added = store.memories.add(ANN, memory("We use MySQL"))
    assert added
    assert again.id != first.id


def test_a_memory_is_not_added_to_a_project_outside_the_scope(store: Store) -> None:
    foreign = memory("the launch code", project="zeus", why="told in confidence")
    store.memories.add(ANN.within("zeus"), foreign)
    with pytest.raises(ScopeError):
        store.memories.add(ANN.within("apollo"), memory("The Launch Code", project="zeus"))
    assert store.memories.find(ANN, NOW, limit=5) == [foreign]


def test_an_update_rises_the_version_and_keeps_the_old_wording(store: Store) -> None:
    first = memory("we use MySQL", why="habit", tags=("db",), importance=0.4)
    store.memories.add(ANN, first)
    second = store.memories.update(ANN, replace(first, content="we use PostgreSQL"), at=minute(1), note="edit")
    third = store.memories.update(ANN, replace(second, importance=0.9, why=None), at=minute(2), note="edit")
    assert (second.version, third.version) == (2, 3)
    assert store.memories.get(ANN, first.id) == third
    assert store.memories.versions(ANN, first.id) == [
        MemoryVersion(first.id, 1, "fact", "we use MySQL", "habit", ("db",), 0.4, 1.0, minute(1)),
        MemoryVersion(first.id, 2, "fact", "we use PostgreSQL", "habit", ("db",), 0.4, 1.0, minute(2)),
    ]


def test_a_change_that_rewords_nothing_keeps_no_version(store: Store) -> None:
    first = memory("same words")
    store.memories.add(ANN, first)
    changed = store.memories.update(ANN, replace(first, expires_at=LATER), at=minute(1), note="expire")
    assert (changed.version, store.memories.versions(ANN, first.id)) == (2, [])


def test_who_read_an_old_version_cannot_overwrite(store: Store) -> None:
    first = memory("one")
    store.memories.add(ANN, first)
    store.memories.update(ANN, replace(first, content="two"), at=minute(1), note="edit")
    with pytest.raises(Conflict):
        store.memories.update(ANN, replace(first, content="three"), at=minute(2), note="edit")
    assert found(store, NOW) == ["two"]
    assert len(store.memories.versions(ANN, first.id)) == 1


def test_a_memory_cannot_be_reworded_into_one_that_is_there(store: Store) -> None:
    one, two = memory("one"), memory("two")
    store.memories.add(ANN, one)
    store.memories.add(ANN, two)
    with pytest.raises(Conflict):
        store.memories.update(ANN, replace(two, content="ONE"), at=minute(1), note="edit")
    assert store.memories.get(ANN, two.id) == two
    assert store.memories.versions(ANN, two.id) == []


@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen"), ANN.within("zeus")], ids=repr)
def test_a_memory_of_somebody_else_does_not_exist(store: Store, scope: Scope) -> None:
    mine = memory("mine", project="apollo")
    store.memories.add(ANN.within("apollo"), mine)
    second = store.memories.update(ANN, replace(mine, content="still mine"), at=minute(1), note="edit")
    store.memories.touch(scope, {mine.id: 5}, at=LATER)
    with pytest.raises(NotFound):
        store.memories.update(scope, replace(second, content="yours"), at=LATER, note="edit")
    assert store.memories.get(scope, mine.id) is None
    assert store.memories.versions(scope, mine.id) == []
    assert found(store, Filter(now=LATER, archived=True, history=True), scope) == []
    assert store.memories.get(ANN, mine.id) == second


def test_updating_what_is_not_there_is_not_found(store: Store) -> None:
    store.memories.add(ANN, memory("something"))
    with pytest.raises(NotFound):
        store.memories.update(ANN, memory("never added"), at=T0, note="edit")


def test_imported_versions_are_kept(store: Store) -> None:
    third = memory("third wording", version=3)
    old = [MemoryVersion(third.id, n, "note", f"wording {n}", None, ("t",), 0.5, 1.0, minute(n)) for n in (1, 2)]
    store.memories.add(ANN, third, old)
    assert store.memories.versions(ANN, third.id) == old
    store.memories.update(ANN, replace(third, content="fourth"), at=minute(9), note="edit")
    assert [version.version for version in store.memories.versions(ANN, third.id)] == [1, 2, 3]


def test_touch_counts_reads_and_changes_nothing_else(store: Store) -> None:
    one, two = memory("one"), memory("two")
    store.memories.add(ANN, one)
    store.memories.add(ANN, two)
    store.memories.touch(ANN, {one.id: 2, "no such id": 1}, at=minute(1))
    store.memories.touch(ANN, {one.id: 1}, at=minute(2))
    assert store.memories.get(ANN, one.id) == replace(one, access_count=3, accessed_at=minute(2))
    assert store.memories.get(ANN, two.id) == two


def test_the_newest_memory_comes_first_and_pages_do_not_overlap(store: Store) -> None:
    for number in (2, 0, 3, 1):
        store.memories.add(ANN, memory(f"fact {number}", occurred_at=minute(number)))
    everything = ["fact 3", "fact 2", "fact 1", "fact 0"]
    assert found(store, NOW) == everything
    assert [found(store, NOW, limit=3, offset=offset) for offset in (0, 3, 6)] == [everything[:3], everything[3:], []]


# One memory a row; each filter below says which of them it lets through.
SAMPLES: dict[str, dict[str, Any]] = {
    "plain": {},
    "lesson": {"kind": "lesson"},
    "decision": {"kind": "decision", "importance": 0.9},
    "tagged": {"tags": ("ci", "deploy")},
    "other tag": {"tags": ("été",)},
    "apollo": {"project": "apollo"},
    "zeus": {"project": "zeus"},
    "of session 1": {"session": "chat:1"},
    "of session 2": {"session": "chat:2"},
    "minor": {"importance": 0.1},
    "early": {"occurred_at": minute(-100)},
    "late": {"occurred_at": minute(100)},
    "superseded": {"superseded_at": minute(50), "superseded_by": "x"},
    "expired": {"expires_at": minute(60)},
    "expiring": {"expires_at": LATER + timedelta(days=1)},
    "archived": {"archived_at": minute(70)},
    "deleted": {"deleted_at": minute(80)},
}
LIVE = SAMPLES.keys() - {"superseded", "expired", "archived", "deleted"}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param({}, LIVE, id="nothing asked"),
        pytest.param({"kinds": ("lesson",)}, {"lesson"}, id="one kind"),
        pytest.param({"kinds": ("lesson", "decision", "topic")}, {"lesson", "decision"}, id="several kinds"),
        pytest.param({"tags": ("ci",)}, {"tagged"}, id="one tag"),
        pytest.param({"tags": ("été", "deploy", "nope")}, {"tagged", "other tag"}, id="any of the tags"),
        pytest.param({"tags": ("c",)}, set(), id="a part of a tag is no tag"),
        pytest.param({"tags": ('ci" OR 1=1 --',)}, set(), id="SQL in a tag is a tag"),
        pytest.param({"project": "apollo"}, {"apollo"}, id="one project"),
        pytest.param({"project": "never used"}, set(), id="a project nobody used"),
        pytest.param({"session": "chat:1"}, {"of session 1"}, id="one session"),
        pytest.param({"session": "chat:9"}, set(), id="an unknown session"),
        pytest.param({"exclude_session": "chat:1"}, LIVE - {"of session 1"}, id="not one session"),
        pytest.param({"exclude_session": "chat:9"}, LIVE, id="not an unknown session"),
        pytest.param({"min_importance": 0.9}, {"decision"}, id="important"),
        pytest.param({"min_importance": 0.5}, LIVE - {"minor"}, id="importance on the mark"),
        pytest.param({"min_importance": 0.0}, LIVE, id="any importance"),
        pytest.param({"since": minute(1)}, {"late"}, id="since"),
        pytest.param({"since": minute(100)}, {"late"}, id="since its very time"),
        pytest.param({"until": minute(-1)}, {"early"}, id="until"),
        pytest.param({"until": minute(-100)}, {"early"}, id="until its very time"),
        pytest.param({"since": minute(1), "until": minute(2)}, set(), id="a time with nothing in it"),
        pytest.param({"archived": True}, LIVE | {"archived"}, id="archived too"),
        pytest.param({"history": True}, LIVE | {"superseded", "expired"}, id="history too"),
        pytest.param({"history": True, "archived": True}, SAMPLES.keys() - {"deleted"}, id="all but deleted"),
        pytest.param({"as_of": minute(10)}, LIVE - {"late"} | {"superseded", "expired"}, id="as of before"),
        pytest.param({"as_of": minute(50)}, LIVE - {"late"} | {"expired"}, id="as of when it was superseded"),
        pytest.param({"as_of": minute(55)}, LIVE - {"late"} | {"expired"}, id="as of after it was superseded"),
        pytest.param({"as_of": minute(60)}, LIVE - {"late"}, id="as of when it expired"),
        pytest.param({"as_of": minute(-50)}, {"early"}, id="as of long ago"),
        pytest.param({"now": LATER + timedelta(days=1)}, LIVE - {"expiring"}, id="expires at its very time"),
        pytest.param({"now": LATER + timedelta(days=2)}, LIVE - {"expiring"}, id="expired by then"),
        pytest.param({"kinds": ("decision",), "min_importance": 0.95}, set(), id="two that do not meet"),
        pytest.param({"project": "apollo", "kinds": ("fact",)}, {"apollo"}, id="two that meet"),
    ],
)
def test_find_lets_through_what_the_filter_says(store: Store, where: dict[str, Any], expected: set[str]) -> None:
    for content, changes in SAMPLES.items():
        _, added = store.memories.add(ANN, memory(content, **changes))
        assert added
    assert set(found(store, Filter(**{"now": LATER, **where}))) == set(expected)


@pytest.mark.parametrize(
    ("project", "expected"),
    [("apollo", {"apollo", "none"}), ("zeus", {"zeus", "none"}), ("new", {"none"}), (None, {"apollo", "zeus", "none"})],
)
def test_a_project_sees_itself_and_what_has_no_project(store: Store, project: str | None, expected: set[str]) -> None:
    for name in ("apollo", "zeus", "none"):
        store.memories.add(ANN, memory(name, project=None if name == "none" else name))
    assert set(found(store, NOW, ANN.within(project))) == expected


def test_a_filter_cannot_widen_a_scope(store: Store) -> None:
    store.memories.add(ANN, memory("of zeus", project="zeus"))
    assert found(store, Filter(now=LATER, project="zeus", history=True, archived=True), ANN.within("apollo")) == []


def test_a_deleted_memory_can_still_be_read_by_id_until_it_is_purged(store: Store) -> None:
    first = memory("to be deleted")
    store.memories.add(ANN, first)
    gone = store.memories.update(ANN, replace(first, deleted_at=minute(1)), at=minute(1), note="delete")
    assert store.memories.get(ANN, first.id) == gone
    assert store.memories.update(ANN, replace(gone, deleted_at=None), at=minute(2), note="undelete").deleted_at is None
    assert found(store, NOW) == ["to be deleted"]


def changes_of(one: Memory) -> list[Memory]:
    return [replace(one, content="b"), replace(one, tags=("x",)), replace(one, why="w"), replace(one, meta={"k": 1})]


def test_what_update_returns_is_what_is_kept(store: Store) -> None:
    first = memory("a")
    store.memories.add(ANN, first)
    for number in range(4):
        current = store.memories.get(ANN, first.id)
        assert current is not None
        returned = store.memories.update(ANN, changes_of(current)[number], at=minute(number), note="edit")
        assert store.memories.get(ANN, first.id) == returned


def test_marks_change_with_every_change_and_only_then(store: Store) -> None:
    """Who keeps something made of memories sees by them, without reading any, what is to be made anew."""
    seen: list[str | None] = []

    def mark(at: int = 0) -> str | None:
        return store.memories.marks(ANN, now=minute(at)).get("apollo")

    one = memory("a", project="apollo", expires_at=minute(50))
    steps = [
        lambda: store.memories.add(ANN, one),
        lambda: store.memories.add(ANN, memory("b", project="apollo")),
        lambda: store.memories.update(ANN, replace(one, content="c"), at=minute(1), note="edit"),
        lambda: store.memories.update(
            ANN, replace(one, version=2, archived_at=minute(2)), at=minute(2), note="archive"
        ),
        lambda: store.keeping.forget_memory(ANN, one.id, at=minute(3)),
    ]
    for step in steps:
        seen.append(mark())
        step()
        assert mark() == mark()
        assert mark() not in seen
    store.memories.add(ANN, memory("d", project="apollo", expires_at=minute(60)))
    before = mark(59)
    assert mark(60) != before
    store.memories.touch(ANN, {one.id: 3}, at=minute(4))
    store.memories.add(ANN, memory("of none"))
    store.memories.add(ANN, memory("of zeus", project="zeus"))
    assert mark(59) == before
    assert store.memories.marks(ANN, now=T0).keys() == {None, "apollo", "zeus"}
    assert store.memories.marks(ANN.within("zeus"), now=T0).keys() == {None, "zeus"}
    assert store.memories.marks(BOB, now=T0) == {}


def test_memories_are_found_by_how_their_words_begin(store: Store) -> None:
    texts = ("Deploys run on Monday", "we redeploy at 50% load", "(deploy keys) rotate", "Monday")
    for number, text in enumerate(texts):
        store.memories.add(ANN, memory(text, occurred_at=minute(number)))
    store.memories.add(ANN, memory("deploy: archived", archived_at=T0, occurred_at=minute(9)))
    store.memories.add(ANN, memory("deploy: superseded", superseded_at=T0, occurred_at=minute(9)))
    store.memories.add(ANN, memory("deploy: deleted", deleted_at=T0, occurred_at=minute(9)))

    def found(*words: str, look: int = 100, limit: int = 9) -> list[str]:
        return [one.content for one in store.memories.beginning(ANN, words, look=look, limit=limit)]

    assert found("depl") == ["(deploy keys) rotate", "Deploys run on Monday"]
    assert found("MON", "depl") == ["Deploys run on Monday"]
    assert found("mon", limit=1) == ["Monday"]
    assert found("50%") == ["we redeploy at 50% load"]
    assert found("%") == found("") == found() == found("_eploy") == []
    assert found("depl", look=4) == ["(deploy keys) rotate"]
    for stranger in (BOB, EVE):
        assert store.memories.beginning(stranger, ["depl"], look=100, limit=9) == []


def test_memories_are_narrowed_to_agents_and_to_what_is_pinned(store: Store) -> None:
    for session in ("claude:1", "codex:1"):
        store.sessions.ensure(ANN, session, at=T0)
        store.memories.add(ANN, memory(f"from {session}", session=session))
    store.memories.add(ANN, memory("said", meta={"pinned": "2026-03-01"}))

    def found(**where: Any) -> set[str]:
        return {one.content for one in store.memories.find(ANN, replace(NOW, **where), limit=9)}

    assert found(flavors=("claude",)) == {"from claude:1"}
    assert found(flavors=("claude", "codex")) == {"from claude:1", "from codex:1"}
    assert found(flavors=("grok",)) == set()
    assert found(pinned=True) == {"said"}


def test_the_weightiest_come_as_they_are_ranked_and_nothing_that_may_not_be_told(store: Store) -> None:
    rng = random.Random(7)
    for number in range(60):
        trust = rng.choice(["user", "checked", "quoted"])
        changes: dict[str, Any] = rng.choice(
            [{}, {}, {}, {"confirmed_at": T0}, {"archived_at": T0}, {"superseded_at": T0}, {"expires_at": T0}]
        )
        store.memories.add(
            ANN,
            memory(
                f"fact {number}",
                kind=rng.choice(["preference", "lesson", "note", "topic"]) if trust == "user" else "fact",
                project=rng.choice([None, "apollo", "zeus"]),
                occurred_at=T0 - timedelta(days=rng.randint(0, 900)),
                importance=rng.random(),
                trust=trust,
                **changes,
            ),
        )
    for project in ("apollo", "zeus", NO_PROJECT):
        scope = ANN.within(project)
        every = ranked(store.memories.find(scope, NOW, limit=100), LATER)
        found = store.memories.weightiest(scope, WEIGHING, now=LATER, limit=100)
        assert ranked(found, LATER) == every
        few = store.memories.weightiest(scope, WEIGHING, now=LATER, limit=5)
        assert {one.id for one in few} == {one.id for one in every[:5]}
    for stranger in (BOB, EVE):
        assert store.memories.weightiest(stranger.within("apollo"), WEIGHING, now=LATER, limit=9) == []


def test_a_tag_is_found_by_the_index_as_it_is_by_looking(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ("naïve", "日本語", "c++", "---", "100%", 'a"b', "x OR y")
    tags = ("deploy", "Deploy keys", "deployKeys", "running", "run", *odd)
    for number, tag in enumerate(tags):
        store.memories.add(ANN, memory(f"fact {number} about {tag}", tags=(tag, "every"), why=f"because {tag}"))
    store.memories.add(BOB, memory("mine", tags=tags))

    def found() -> dict[str, list[str]]:
        return {tag: [one.id for one in store.memories.find(ANN, replace(NOW, tags=(tag,)), limit=99)] for tag in asked}

    asked = (*tags, "every", "nobody", "key")
    looked = found()
    monkeypatch.setattr(database, "MANY", 1)
    assert found() == looked
    both = store.memories.find(ANN, replace(NOW, tags=("deploy", "running")), limit=99)
    assert {one.tags[0] for one in both} == {"deploy", "running"}
    monkeypatch.setattr(database, "FEW", 3)
    assert found() == looked
