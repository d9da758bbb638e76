"""A word that very many memories hold: the few best are those of the whole list, in its order, whatever narrows it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from tests.contract.samples import ANN, BOB, LATER, NOW, by_words, memory, minute, talk

MANY, BEST = 1_500, 20
FILTERS: dict[str, Filter] = {
    "nothing": NOW,
    "a kind": replace(NOW, kinds=("decision",)),
    "a rare kind": replace(NOW, kinds=("lesson",)),
    "an agent": replace(NOW, flavors=("codex",)),
    "a trust": replace(NOW, trusts=("quoted",)),
    "two of them": replace(NOW, kinds=("decision",), trusts=("quoted",)),
    "a project": replace(NOW, project="shop"),
    "a tag": replace(NOW, tags=("rare",)),
    "a time": replace(NOW, since=minute(MANY - 100)),
    "with archived": replace(NOW, archived=True),
}


def test_the_best_of_very_many_are_the_first_of_all(store: Store) -> None:
    chosen = random.Random(7)
    words = [f"word{number}" for number in range(60)]
    store.sessions.append(ANN, talk("codex:1", "hello"))
    made = []
    for number in range(MANY):
        said = [*chosen.choices(words, k=chosen.randrange(1, 30)), *["harbor"] * chosen.randrange(1, 4)]
        chosen.shuffle(said)
        about = {
            "kind": "lesson" if number % 400 == 0 else chosen.choice(("fact", "fact", "decision")),
            "origin": chosen.choice(("user", "tool")),
            "project": "shop" if number % 7 == 0 else None,
            "session": "codex:1" if number % 5 == 0 else None,
            "tags": ("rare",) if number % 300 == 0 else (),
            "archived_at": LATER if number % 9 == 0 else None,
            "occurred_at": minute(number),
        }
        made.append((memory(f"{' '.join(said)} {number}", **about), ()))
    store.memories.add_many(ANN, made)
    store.memories.add_many(BOB, [(memory(f"harbor {number}"), ()) for number in range(50)])
    for name, where in FILTERS.items():
        for scope in (ANN, ANN.within("shop")):
            for asked in ("harbor", "harbor word1 word2 word3 word4"):
                every = by_words(store, scope, "memory", asked, where, limit=MANY)
                best = by_words(store, scope, "memory", asked, where, limit=BEST)
                assert best == every[:BEST], (name, asked)
                assert len(every) > (BEST if name in ("nothing", "a kind", "an agent", "a project") else 0), name


def test_an_answer_is_the_same_whether_its_words_were_counted_before_or_not(store: Store) -> None:
    """What is common, rare or unknown is asked for together, alone, and again, when the counts are known."""
    chosen = random.Random(3)
    words = [f"word{number}" for number in range(200)]
    made = []
    for number in range(600):
        said = [*chosen.choices(words, k=8), *(["harbor"] if number % 2 else []), *(["mole"] if number % 3 else [])]
        made.append((memory(f"{' '.join(said)} {number}", occurred_at=minute(number)), ()))
    store.memories.add_many(ANN, made)
    store.memories.add_many(BOB, [(memory(f"word1 word2 harbor {number}"), ()) for number in range(50)])
    asked = [
        *(["harbor", "mole", "word1"], ["harbor"], ["harbor", "mole"], ["harbor", "mole", "word2", "word3"]),
        *(
            ["word4"],
            ["word5", "nobodysays"],
            ["harbor", "nobodysays", "neither"],
            ["word6", "word7", "word8", "harbor"],
        ),
    ]
    for rarest in (None, 2):
        for terms in asked:
            fresh = store.search.lexical(ANN, "memory", terms, None, 30, rarest=rarest)
            known = store.search.lexical(ANN, "memory", terms, None, 30, rarest=rarest)
            narrow = store.search.lexical(ANN, "memory", terms, NOW, 30, rarest=rarest)
            assert [one.doc for one in fresh] == [one.doc for one in known] == [one.doc for one in narrow], terms
            assert [one.score for one in fresh] == pytest.approx([one.score for one in known])
            assert fresh or "nobodysays" in terms


def test_a_common_word_finds_what_holds_it_when_all_others_are_unknown(store: Store) -> None:
    said = [memory(f"the harbor of number{number}", occurred_at=minute(number)) for number in range(300)]
    store.memories.add_many(ANN, [(one, ()) for one in said])
    for _ in range(2):  # as they are counted, and when they are known
        for where in (None, NOW):
            found = store.search.lexical(ANN, "memory", ["harbor", "nobodysays", "neither"], where, 10)
            assert len(found) == 10
    few = store.search.lexical(ANN, "memory", ["harbor", "number7", "neither"], None, 10)
    assert len(few) == 1, "a common word is left out beside a rare one"
