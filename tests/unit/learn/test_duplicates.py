"""What says the same in other words is merged; what differs in anything that matters is not."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.samples import LATER, T0, memory, minute

from recollect.distill.values.likeness import duties, nearly_same
from recollect.distill.values.sayings import rank_of
from recollect.learn.duplicates import duplicates
from recollect.model import TRUSTS, Memory


def pairs(*memories: Memory, cosine: float | None = None) -> list[tuple[str, str]]:
    found = duplicates(memories, lambda one, other: cosine)
    return [(loser.content, kept.content) for loser, kept in found]


def two(one: str, other: str, **changes: Any) -> tuple[Memory, Memory]:
    return memory(one, **changes), memory(other, occurred_at=minute(1), **changes)


PARROT = "Always run the whole test suite before a release is tagged"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run the tests before pushing to main", "Always run the test before pushing to main."),
        ("The deploy script lives in `ops/deploy.sh`", "Deploy script lives in `ops/deploy.sh`"),
        (PARROT, "Run the whole test suite before releases are tagged, please"),
    ],
)
def test_the_same_in_other_words_is_merged_into_the_newer(one: str, other: str) -> None:
    assert pairs(*two(one, other)) == [(one, other)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("Deploy to staging on every merge", "Deploy to production on every merge", id="another place"),
        pytest.param("The build takes 10 minutes on CI", "The build takes 20 minutes on CI", id="another number"),
        pytest.param("Push to main without a review", "Never push to main without a review", id="a denial"),
        pytest.param("We prefer tabs over spaces here", "We prefer spaces over tabs here", id="another order"),
        pytest.param("Ann reviews the pull requests", "Bob reviews the pull requests", id="another name"),
        pytest.param("The port is 5433", "The port is 5433 only on CI machines", id="a limit"),
        pytest.param("Postgres runs on port 5433", "Postgres runs on port 5432", id="another value of one slot"),
        pytest.param("yes", "yes please", id="too little to say"),
        pytest.param(
            "Agents may force push to feature branches after review",
            "Agents must force push to feature branches after review",
            id="leave and duty",
        ),
        pytest.param(
            "Agents should force push to feature branches after review",
            "Agents must force push to feature branches after review",
            id="two duties",
        ),
        pytest.param(
            "Agents force push to feature branches after review",
            "Agents must force push to feature branches after review",
            id="a duty and what is so",
        ),
        pytest.param(
            "The importer can hardly parse quoted commas in customer files",
            "The importer can parse quoted commas in customer files",
            id="hardly",
        ),
        pytest.param(
            "Deploy the billing service to production every week after the standup",
            "Deploy the billing service to production twice every week after the standup",
            id="how often",
        ),
        pytest.param(
            "Data is encrypted at rest and in transit everywhere",
            "Data is encrypted at rest and in transit",
            id="where",
        ),
        pytest.param(
            "The old gateway is still used by partners", "The old gateway is used by partners", id="what is over"
        ),
        pytest.param("Keep backups of the ledger tables", "Keep two backups of the ledger tables", id="how many"),
        pytest.param("Scale the worker pool on Fridays", "Scale the worker pool down on Fridays", id="which way"),
        pytest.param(
            "The nightly export job mails customers a summary",
            "The nightly export job failed mailing customers a summary",
            id="a failure",
        ),
    ],
)
def test_what_differs_in_what_matters_is_not(one: str, other: str) -> None:
    """However near two vectors are."""
    assert pairs(*two(one, other), cosine=1.0) == []


def test_vectors_let_one_say_a_little_more_and_never_decide_alone() -> None:
    one, other = two("Logs of failed jobs lie under spool", "Logs of failed nightly jobs lie under the spool")
    longer = replace(other, content="Logs of failed jobs lie under the big spool")
    assert pairs(one, longer, cosine=0.96) == [(one.content, longer.content)]
    assert pairs(one, longer, cosine=0.9) == []
    assert pairs(one, longer, cosine=None) == []
    assert pairs(one, other, cosine=0.99) == [], "a word that tells things apart"
    assert pairs(*two("Logs of jobs lie under spool", "Completely different words stand here"), cosine=1.0) == []


@pytest.mark.parametrize(
    ("loser", "kept"),
    [
        pytest.param({"trust": "quoted", "occurred_at": LATER}, {"trust": "user"}, id="more trusted, though older"),
        pytest.param({"trust": "checked"}, {"trust": "user"}, id="the user's own"),
        pytest.param({"importance": 0.3, "occurred_at": LATER}, {"importance": 0.8}, id="more important"),
        pytest.param({}, {"occurred_at": LATER}, id="newer"),
        pytest.param({"kind": "note", "occurred_at": LATER}, {"kind": "decision"}, id="weightier"),
        pytest.param({"occurred_at": LATER}, {"meta": {"pinned": "x"}}, id="pinned"),
    ],
)
def test_which_of_two_stays(loser: dict[str, Any], kept: dict[str, Any]) -> None:
    one = memory("Run the tests before pushing to main", **loser)
    other = memory("Run the test before pushing to main", **kept)
    for order in ((one, other), (other, one)):
        assert pairs(*order) == [(one.content, other.content)]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"project": "tide"}, id="of another project"),
        pytest.param({"kind": "decision"}, id="of another kind"),
        pytest.param({"superseded_at": LATER}, id="superseded"),
        pytest.param({"archived_at": LATER}, id="archived"),
        pytest.param({"deleted_at": LATER}, id="deleted"),
        pytest.param({"meta": {"apart": True}}, id="stands apart, since somebody took them apart"),
        pytest.param({"meta": {"disputes": ["x"]}}, id="disputed"),
        pytest.param({"expires_at": LATER, "occurred_at": LATER}, id="would end sooner"),
    ],
)
def test_these_are_left_alone(changes: dict[str, Any]) -> None:
    one = memory("Run the tests before pushing to main")
    assert pairs(one, memory("Run the test before pushing to main", **changes)) == []


def test_what_a_pattern_was_rolled_out_as_is_not_merged_away() -> None:
    one = memory("Run the tests before pushing to main", meta={"pattern": "p1"})
    assert pairs(one, memory("Run the test before pushing to main", occurred_at=LATER)) == []


def test_nothing_is_merged_over_a_third() -> None:
    """Each says one word more than the one before: the first and the last are not alike."""
    words = ["walrus", "tulip", "harbour", "lantern", "copper", "meadow", "violin", "granite", "saddle", "thunder"]
    texts = [" ".join(words), " ".join([*words, "feather"]), " ".join([*words, "feather", "ladder"])]
    found = pairs(*(memory(text, occurred_at=minute(at)) for at, text in enumerate(texts)))
    assert found == [(texts[1], texts[2])]


WORDS = "harbour lantern copper meadow violin granite saddle thunder may must twice not if".split()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=3, max_size=14), max_size=14), st.randoms())
def test_of_what_is_left_no_two_would_be_merged_alone(texts: list[list[str]], chance: random.Random) -> None:
    """However the candidates are found: nothing that is the same is missed, be it one word or several apart."""
    told = [*texts, *(without_some(one, chance) for one in texts)]
    memories = [memory(" ".join(one), occurred_at=minute(at)) for at, one in enumerate(told)]
    losers = {loser.id for loser, _ in duplicates(memories, near)}
    left = [one for one in memories if one.id not in losers]
    for one, other in combinations(left, 2):
        assert duplicates([one, other], near) == []
        alike = nearly_same(one.content, other.content) and duties(one.content) == duties(other.content)
        assert not alike, "and by words alone they are not the same"


def without_some(words: list[str], chance: random.Random) -> list[str]:
    """The words in their order, some of them left out."""
    places = sorted(chance.sample(range(len(words)), len(words) - chance.randint(0, max(1, len(words) // 5))))
    return [words[place] for place in places]


def near(one: str, other: str) -> float:
    return 1.0


@pytest.mark.slow
@pytest.mark.timed
def test_few_words_in_many_memories_take_no_more_than_their_number() -> None:
    """Four times as many take about four times as long: not sixteen."""

    def seconds(count: int) -> float:
        memories = of_few_words(count)
        started = time.process_time()
        duplicates(memories)
        return time.process_time() - started

    assert min(seconds(2_400) for _ in range(2)) < 9 * max(seconds(600) for _ in range(2))


def of_few_words(count: int) -> list[Memory]:
    chance = random.Random(1)
    who, done = ["ann", "bob", "carl", "dora", "emil"], "deployed tested checked released reverted restarted".split()
    what, where = "billing search orders inventory gateway frontend reports".split(), "staging canary nightly".split()

    def said() -> str:
        first, second = (f"{chance.choice(done)} the {chance.choice(what)} service" for _ in range(2))
        return f"{chance.choice(who)} {first} in {chance.choice(where)} after {second} with {chance.choice(who)}"

    return [memory(said(), kind="event") for _ in range(count)]


KINDS = st.sampled_from(["fact", "note", "decision", "lesson"])
TEXTS = st.sampled_from(
    [
        "Run the tests before pushing to main",
        "Run the test before pushing to main",
        "Always run tests before pushing to main",
        "Run no tests before pushing to main",
        "The deploy script lives in `ops/deploy.sh`",
        "Deploy script lives in `ops/deploy.sh`",
        "The port is 5433",
        "Port is 5433",
    ]
)
MEMORIES = st.lists(
    st.builds(
        lambda text, kind, trust, project, importance, at: memory(
            text, kind=kind, trust=trust, project=project, importance=importance, occurred_at=T0 + timedelta(hours=at)
        ),
        TEXTS,
        KINDS,
        st.sampled_from(TRUSTS),
        st.sampled_from([None, "tide", "moon"]),
        st.sampled_from([0.2, 0.5, 0.9]),
        st.integers(0, 5),
    ),
    max_size=14,
)


@given(MEMORIES)
def test_whatever_there_is_no_trust_is_raised_and_no_project_crossed(memories: list[Memory]) -> None:
    found = duplicates(memories)
    losers, kept = [loser.id for loser, _ in found], {one.id for _, one in found}
    assert len(set(losers)) == len(losers)
    assert not kept & set(losers), "what stays is there"
    for loser, stays in found:
        assert loser.project == stays.project
        assert rank_of(stays.trust) >= rank_of(loser.trust)
    left = [one for one in memories if one.id not in losers]
    assert duplicates(left) == [], "and nothing is left to merge"
    turned = duplicates(list(reversed(memories)))
    assert {(a.id, b.id) for a, b in turned} == {(a.id, b.id) for a, b in found}, "in whatever order they come"
