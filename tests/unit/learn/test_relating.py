"""Relations: told by what is stored, within a project, the same in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.contract.samples import LATER, memory, minute

from recollect.learn.relating import FEW, MOST, relations
from recollect.model import Evidence, Memory


def named(found: set[tuple[str, str, str]], *memories: Memory) -> set[tuple[str, str, str]]:
    """Relations with texts in the place of ids; those of one subject in the order of the texts."""
    texts = {one.id: one.content for one in memories}
    told = {(texts[source], texts[target], kind) for source, target, kind in found}
    return {
        (*sorted((source, target)), kind) if kind == "same_subject" else (source, target, kind)  # type: ignore[misc]
        for source, target, kind in told
    }


def related(*memories: Memory) -> set[tuple[str, str, str]]:
    found = named(relations(memories), *memories)
    assert named(relations(tuple(reversed(memories))), *memories) == found
    return found


def test_what_took_the_place_of_another_supersedes_it() -> None:
    new = memory("the port is 5433")
    old = memory("the port is 5432", superseded_by=new.id, superseded_at=LATER)
    assert related(new, old) == {("the port is 5433", "the port is 5432", "supersedes")}


def test_what_was_merged_is_evidence() -> None:
    kept = memory("the door is open")
    merged = memory("door is open", superseded_by=kept.id, superseded_at=LATER, meta={"merged": {"into": kept.id}})
    assert related(kept, merged) == {("door is open", "the door is open", "evidence_of")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param({"content": "`ops/deploy.sh` needs bash"}, {"content": "call ops/deploy.sh by hand"}, id="a name"),
        pytest.param(
            {"content": "it is slow", "anchors": ("a.py",)}, {"content": "mended", "anchors": ("a.py",)}, id="anchor"
        ),
        pytest.param(
            {"content": "on 5433", "slot": "postgres|port"}, {"content": "on db1", "slot": "postgres|host"}, id="slot"
        ),
    ],
)
def test_what_tells_of_the_same_thing_is_of_one_subject(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = memory(**one), memory(**other)
    assert {kind for _, _, kind in related(first, second)} == {"same_subject"}
    assert related(first, replace(second, project="tide")) == set(), "never across projects"
    assert related(first, replace(second, archived_at=LATER)) == set()
    assert related(first, replace(second, deleted_at=LATER)) == set()


def test_a_name_that_many_have_relates_nothing() -> None:
    assert related(*(memory(f"`make` does {number}") for number in range(FEW + 1))) == set()
    assert related(memory("in 2026 it was 10"), memory("2026 had 10 of them")) == set(), "numbers are no subjects"


def test_one_memory_has_few_relations_of_one_subject() -> None:
    names = [f"file{number}.py" for number in range(2 * MOST)]
    hub = memory(" ".join(f"`{name}`" for name in names))
    others = [memory(f"`{name}` is tested") for name in names]
    found = relations([hub, *others])
    assert len(found) == len(others), "each of the others has its one"


def test_a_why_that_says_what_another_memory_says_was_caused_by_it() -> None:
    cause = memory("the nightly backup job fails on large tables")
    decision = memory(
        "dump tables one by one",
        kind="decision",
        why="The nightly backup failed on large tables",
        occurred_at=minute(5),
    )
    other = memory("the cat sat on the mat")
    assert related(cause, decision, other) == {
        ("dump tables one by one", "the nightly backup job fails on large tables", "caused_by")
    }
    assert related(replace(cause, occurred_at=LATER), decision) == set(), "no cause comes later"
    assert related(cause, replace(decision, why="because")) == set()


@pytest.mark.parametrize(
    ("says", "depends"),
    [
        ("The auth service depends on Redis for sessions", True),
        ("auth requires a running redis", True),
        ("Auth is backed by Redis.", True),
        ("Auth depends on nothing. Redis is a cache", False),
        ("Redis depends on the auth service", False),
        ("We talked about auth and Redis", False),
    ],
)
def test_what_says_so_by_a_tag_of_another_depends_on_it(says: str, depends: bool) -> None:
    one, other = memory(says), memory("It is a cache of one node", tags=("Redis",))
    found = {key for key in related(one, other) if key[2] == "depends_on"}
    assert found == ({(says, other.content, "depends_on")} if depends else set())
    assert related(one, replace(other, project="tide")) == set()


def test_a_tag_that_many_have_is_nothing_to_depend_on() -> None:
    many = [memory(f"note number {number}", tags=("redis",)) for number in range(4)]
    assert related(memory("auth depends on redis"), *many) == set()


def test_a_fact_from_the_very_words_of_a_decision_is_evidence_of_it() -> None:
    span = Evidence("s1", "e1", 0, 9)
    fact = memory("disks are full", evidence=(span,))
    decision = memory("buy disks", kind="decision", evidence=(span, Evidence("s1", "e2")))
    elsewhere = memory("tulips", evidence=(Evidence("s2", "e1"),))
    assert related(fact, decision, elsewhere) == {("disks are full", "buy disks", "evidence_of")}
