"""A pin: agents are told a memory before all else, upkeep leaves it alone, and it makes nothing more trusted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import Recollect, Scope
from recollect.errors import InvalidInput, NotAllowed
from recollect.model import PINNED, os_user
from recollect.pipeline import prepare, texts
from tests.flow.conftest import Cli

SHOP = Scope("local", "ann", "shop")


def fill(memory: Recollect, number: int = 60) -> None:
    """More than is ever told."""
    for each in range(number):
        memory.remember(f"Always wear hat number {each} on floor {each}", "preference", importance=1.0 - each / 200)


def test_what_is_pinned_is_told_first_among_many(opened: Callable[..., Recollect]) -> None:
    memory = opened(SHOP)
    minor = memory.remember("The till key hangs behind the door", "reference", importance=0.0)
    fill(memory)
    assert minor.id not in memory.standing().ids
    memory.pin(minor.id)
    assert memory.standing().ids[0] == minor.id
    assert memory.get(minor.id).pinned
    memory.pin(minor.id, on=False)
    assert minor.id not in memory.standing().ids
    assert not memory.get(minor.id).pinned


def test_what_is_pinned_is_told_however_old_it_is(
    opened: Callable[..., Recollect], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "FEW", 5)
    memory = opened(SHOP)
    old = memory.remember("The till key hangs behind the door", "note", occurred_at="2020-01-01")
    memory.pin(old.id)
    fill(memory, 9)
    assert memory.standing().ids[0] == old.id


def test_one_text_reads_the_same_from_few_memories_as_from_all(opened: Callable[..., Recollect]) -> None:
    memory = opened(SHOP)
    fill(memory)
    minor = memory.remember("The till key hangs behind the door", "reference", importance=0.0)
    memory.pin(minor.id)
    useful = memory.remember("The bell rings twice for a delivery", "note", importance=0.1)
    memory.feedback(useful.id, "helpful")
    memory.remember("The oven needs ten minutes before it is hot", "lesson", importance=0.6)
    made = [
        texts.Texts(memory.store, memory.scope, memory.settings, memory.filter().now, most=most).block("shop", "claude")
        for most in (None, 30)
    ]
    assert made[0] == made[1]
    assert {minor.id, useful.id} & set(made[0].ids)


def test_a_pin_is_kept_through_an_edit_and_ends_with_no_version(memory: Recollect) -> None:
    kept = memory.remember("The door is blue", "fact")
    memory.pin(kept.id)
    assert memory.versions(kept.id) == []
    memory.update(kept.id, content="The door is green")
    assert memory.get(kept.id).pinned


def test_what_is_only_quoted_cannot_be_pinned_until_it_is_confirmed(memory: Recollect) -> None:
    """T05: a pin is no way around trust."""
    kept = memory.remember("The door is blue", "fact", origin="web")
    with pytest.raises(InvalidInput, match="only quoted"):
        memory.pin(kept.id)
    memory.confirm(kept.id)
    assert memory.pin(kept.id).pinned


@pytest.mark.parametrize("kind", ["topic", "event", "skill_idea"])
def test_what_agents_are_never_told_before_they_ask_cannot_be_pinned(memory: Recollect, kind: str) -> None:
    kept = memory.remember("Doors and their colours", kind)
    with pytest.raises(InvalidInput, match="before they ask"):
        memory.pin(kept.id)


def test_what_was_superseded_cannot_be_pinned(memory: Recollect) -> None:
    old = memory.remember("The door is blue", "fact")
    memory.supersede(old.id, "The door is green")
    with pytest.raises(InvalidInput, match="superseded"):
        memory.pin(old.id)


def test_only_who_speaks_for_the_user_pins(opened: Callable[..., Recollect]) -> None:
    memory = opened()
    kept = memory.remember("The door is blue", "fact")
    silent = Recollect(memory.store, memory.scope, memory.settings, hosted=True, speaks=False, background=False)
    with pytest.raises(NotAllowed):
        silent.pin(kept.id)


def test_nobody_pins_by_writing_it_into_a_memory(memory: Recollect) -> None:
    kept = memory.remember("The door is blue", "fact", meta={PINNED: "2026-01-01", "colour": "blue"})
    assert not kept.pinned
    assert kept.meta["colour"] == "blue"


def test_what_is_pinned_comes_back_from_the_archive(memory: Recollect) -> None:
    kept = memory.remember("The door is blue", "fact")
    memory.archive(kept.id)
    assert memory.pin(kept.id).archived_at is None


def test_looking_without_counting_counts_nothing(opened: Callable[..., Recollect]) -> None:
    memory = opened()
    kept = memory.remember("The door is blue", "fact")
    assert [hit.id for hit in memory.recall("blue door", count=False).hits] == [kept.id]
    memory._reads.write()
    assert memory.get(kept.id).access_count == 0
    memory.recall("blue door")
    memory._reads.write()
    assert memory.get(kept.id).access_count == 1


def test_pin_on_the_command_line(cli: Cli) -> None:
    kept = cli("remember", "Deploys run on Monday", "--kind", "decision", "--json").json["memory"]
    other = cli("remember", "The bell is loud", "--json").json["memory"]
    assert "pinned      agents are told it before all else" in cli("pin", kept["id"][-8:]).out
    assert [one["id"] for one in cli("list", "--pinned", "--json").json["memories"]] == [kept["id"]]
    assert cli("pin", kept["id"], "--off", "--json").json["pinned"] is False
    assert cli("list", "--pinned", "--json").json["memories"] == []
    assert {one["id"] for one in cli("list", "--json").json["memories"]} == {kept["id"], other["id"]}


def test_list_and_recall_are_narrowed_to_an_agent(cli: Cli) -> None:
    with Recollect.open(scope=Scope("local", os_user()), background=False) as memory:
        for agent in ("claude", "codex"):
            memory.ensure_session(f"{agent}:1")
            memory.remember(f"{agent} likes long walks", session=f"{agent}:1")
    listed = cli("list", "--all-projects", "--agent", "codex", "--json").json["memories"]
    assert [one["content"] for one in listed] == ["codex likes long walks"]
    hits = cli("recall", "long walks", "--all-projects", "--agent", "claude", "--mode", "lexical", "--json").json[
        "hits"
    ]
    assert [one["content"] for one in hits] == ["claude likes long walks"]
