"""Recall: the right few things, explained, filtered, in a stable order, or nothing (S1.49–S1.51, S2.16, S4.11, T22)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Recollect, Scope
from recollect.errors import InvalidInput, NotFound
from recollect.models.minilm import MiniLM
from recollect.models.tiny import TinyEmbedder
from tests.flow.memory_fixture import IN_A_FILE, HandClock

pytestmark = pytest.mark.usefixtures("each_store")


def contents(found: Any) -> list[str]:
    return [hit.content for hit in found.hits]


@pytest.fixture
def filled(memory: Recollect) -> Recollect:
    """A few memories and two conversations, all embedded."""
    memory.remember(
        "Staging Postgres listens on port 5433", kind="fact", tags=["db"], why="5432 is taken", importance=0.8
    )
    memory.remember("We deploy on Fridays with blue-green", kind="decision", tags=["deploy"])
    memory.remember("The user prefers tabs over spaces", kind="preference", importance=0.9)
    memory.record_many(
        [
            ("s1", "user", "My cat Miso hates thunderstorms", "2026-01-05"),
            ("s1", "assistant", "Poor Miso, a quiet room helps", "2026-01-05"),
            ("s2", "user", "Which pgbouncer pool size do we need?", "2026-06-01"),
            ("s2", "assistant", "Twenty connections are enough", "2026-06-01"),
        ]
    )
    memory.summarize("s1")
    memory.embed_pending()
    return memory


def test_a_question_finds_its_answer_and_says_why(filled: Recollect) -> None:
    found = filled.recall("which port does staging postgres use?")
    hit = found.hits[0]
    assert (found.mode, found.abstained) == ("hybrid", False)
    assert hit.content == "Staging Postgres listens on port 5433"
    assert (hit.tier, hit.kind, hit.origin, hit.why, hit.age) == ("memory", "fact", "user", "5432 is taken", "just now")
    assert hit.score == hit.parts.final
    assert 0 < hit.parts.lexical <= 1
    assert hit.parts.semantic is not None
    assert hit.parts.importance == 0.8
    assert hit.parts.recency == 1.0


def test_a_turn_is_found_with_its_session_and_evidence(filled: Recollect) -> None:
    hit = next(hit for hit in filled.recall("what does Miso hate", tiers=("turn",)).hits)
    assert (hit.tier, hit.session, hit.evidence[0].event) == ("turn", "s1", hit.id)
    assert hit.content == "user: My cat Miso hates thunderstorms\nassistant: Poor Miso, a quiet room helps"


def test_nothing_close_enough_is_said_as_nothing(filled: Recollect) -> None:
    found = filled.recall("zzz qqq unrelated xylophone", mode="lexical")
    assert (found.hits, found.abstained) == ((), True)
    assert found.note == "nothing here is close enough to the question"


def test_abstention_can_be_switched_off(filled: Recollect) -> None:
    assert filled.recall("xylophone", abstain=False).abstained is False
    assert filled.recall("xylophone", abstain=False).hits


@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        ({"kinds": ["decision"]}, {"We deploy on Fridays with blue-green"}),
        ({"tags": ["db", "nothing"]}, {"Staging Postgres listens on port 5433"}),
        ({"min_importance": 0.85}, {"The user prefers tabs over spaces"}),
        ({"tiers": ("gist",)}, {"gist"}),
        ({"tiers": ("turn",), "session": "s2"}, {"s2"}),
        ({"tiers": ("turn",), "exclude_session": "s2"}, {"s1"}),
        ({"tiers": ("turn",), "since": "2026-03-01"}, {"s2"}),
        ({"tiers": ("turn",), "until": "2026-03-01"}, {"s1"}),
        ({"tiers": ("turn",), "as_of": "2026-03-01"}, {"s1"}),
        ({"session": "no such"}, set()),
        ({"project": "no such"}, set()),
        ({"kinds": ["topic"]}, set()),
    ],
)
def test_filters_narrow_before_the_limit(filled: Recollect, filters: dict[str, Any], allowed: set[str]) -> None:
    for mode in ("lexical", "hybrid"):
        words = "port deploy tabs miso pool cat postgres fridays spaces"
        found = filled.recall(words, limit=1, abstain=False, mode=mode, **filters)
        names = (
            {hit.content for hit in found.hits} | {hit.session for hit in found.hits} | {hit.tier for hit in found.hits}
        )
        assert bool(found.hits) == bool(allowed)
        assert not found.hits or names & allowed


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "the of and",
        '"',
        "NEAR(",
        "a AND",
        "col:x",
        "*",
        "😀😀",
        "\x00",
        "\ud800",
        "x" * 100_000,
        "'; DROP TABLE--",
        "^",
        "-",
    ],
)
def test_no_question_is_an_error(filled: Recollect, query: str) -> None:
    """T22: syntax, stop words only, emoji, 100 kB, NUL, a lone surrogate."""
    assert filled.recall(query).mode == "hybrid"
    assert filled.recall(query, mode="lexical").mode == "lexical"


@IN_A_FILE
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec=None)))
def test_any_question_gets_an_answer(filled: Recollect, query: str) -> None:
    assert filled.recall(query, limit=3).mode == "hybrid"


def test_stop_words_alone_can_be_asked_for(memory: Recollect) -> None:
    memory.record("s", "user", "to be or not to be")
    memory.record("t", "user", "something else entirely")
    assert memory.recall("to be or not to be").hits[0].session == "s"


def test_the_same_question_gives_the_same_order(filled: Recollect) -> None:
    for n in range(30):
        filled.remember(f"Twin note number {n} about ties", kind="note")
    filled.embed_pending()
    first = [hit.id for hit in filled.recall("twin note about ties", limit=20).hits]
    assert all([hit.id for hit in filled.recall("twin note about ties", limit=20).hits] == first for _ in range(3))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("東京タワーに行きました", "東京"),
        ("我们决定使用数据库分区", "数据库"),
        ("일정을 금요일로 옮겼다", "금요일"),
        ("เราตัดสินใจใช้ฐานข้อมูล", "ฐานข้อมูล"),
        ("Η Αθήνα είναι η πρωτεύουσα", "αθηνα"),
        ("Das Café schließt um acht", "cafe"),
        ("Вчера мы обновили сервер", "СЕРВЕР"),
        ("قررنا استخدام قاعدة البيانات", "البيانات"),
        ("हमने सर्वर बदल दिया", "सर्वर"),
        ("call getUserById before parse_config", "user id"),
        ("the path is src/recall/rank.py", "rank.py"),
    ],
)
def test_every_script_is_found_without_an_embedder(opened: Callable[..., Recollect], text: str, query: str) -> None:
    memory = opened(embedder=None)
    memory.remember(text)
    memory.remember("an unrelated line about gardening")
    found = memory.recall(query)
    assert found.mode == "lexical"
    assert contents(found)[:1] == [text]


def test_without_an_embedder_every_answer_says_so(opened: Callable[..., Recollect]) -> None:
    memory = opened(embedder=None)
    memory.remember("words are enough")
    found = memory.recall("words")
    assert (found.mode, found.note) == ("lexical", "no embedder")


def test_text_is_found_before_its_vector_is_made(memory: Recollect) -> None:
    memory.remember("just now written down")
    assert memory.health().pending == 1
    found = memory.recall("written down")
    assert (found.mode, found.note) == ("lexical", "nothing is embedded yet")
    assert contents(found) == ["just now written down"]
    assert memory.embed_pending() == 1
    assert memory.health().pending == 0
    assert memory.recall("written down").mode == "hybrid"


def test_vectors_of_another_model_are_not_mixed_and_reembedding_mends_it(opened: Callable[..., Recollect]) -> None:
    """D7: model and dimension are stored with the vectors."""
    opened().remember("made by the small one")
    opened().embed_pending()
    other = opened(embedder=TinyEmbedder(dim=128))
    found = other.recall("made by")
    assert found.mode == "lexical"
    assert "recollect reembed" in (found.note or "")
    assert other.reembed() == 1
    assert other.recall("made by").mode == "hybrid"
    assert other.health().model == (TinyEmbedder(dim=128).name, 128)


def test_only_what_was_returned_counts_as_read(filled: Recollect) -> None:
    """S1.24; being searched over is not being read."""
    filled.recall("port of staging postgres", limit=1)
    filled.maintain()
    reads = {memory.content: memory.access_count for memory in filled.memories()}
    assert reads["Staging Postgres listens on port 5433"] == 1
    assert sum(reads.values()) == 1


def test_balanced_lifts_the_important_but_never_finds_it_by_that(filled: Recollect) -> None:
    filled.remember("Staging notes: the postgres port is documented in the wiki", importance=0.1)
    filled.embed_pending()
    ranked = contents(filled.recall("staging postgres port", tiers=("memory",), mode="lexical"))
    assert ranked[0] == "Staging Postgres listens on port 5433"
    assert "The user prefers tabs over spaces" not in ranked


def test_old_memories_fade_but_are_not_lost(memory: Recollect, clock: HandClock) -> None:
    memory.remember("The build uses ninja for speed", occurred_at="2024-01-01")
    memory.remember("The build uses ninja for size", occurred_at=clock())
    ranked = contents(memory.recall("what does the build use"))
    assert ranked == ["The build uses ninja for size", "The build uses ninja for speed"]


def test_what_is_true_now_and_what_was_true_then(memory: Recollect, clock: HandClock) -> None:
    """as_of and history: superseded memories are kept, and returned only when asked for."""
    old = memory.remember("The staging port is 5433", occurred_at="2026-01-01")
    new = memory.supersede(old.id, "The staging port is 5544", occurred_at="2026-06-01")
    assert contents(memory.recall("staging port")) == ["The staging port is 5544"]
    assert contents(memory.recall("staging port", as_of="2026-03-01")) == ["The staging port is 5433"]
    history = memory.recall("staging port", history=True)
    assert {hit.content: hit.superseded_by for hit in history.hits} == {
        "The staging port is 5544": None,
        "The staging port is 5433": new.id,
    }


def test_a_changed_memory_reads_as_it_did_then(memory: Recollect, clock: HandClock) -> None:
    kept = memory.remember("The team meets on Monday")
    clock.move(days=10)
    memory.update(kept.id, content="The team meets on Tuesday")
    assert contents(memory.recall("when does the team meet")) == ["The team meets on Tuesday"]
    then = memory.recall("when does the team meet", as_of="2026-11-20")
    assert contents(then) == ["The team meets on Monday"]


def test_expired_and_archived_memories_are_not_returned_unless_asked(memory: Recollect, clock: HandClock) -> None:
    memory.remember("The demo password rotates today", expires_at="2026-11-16")
    away = memory.remember("The demo server is in Oslo")
    memory.archive(away.id)
    clock.move(days=2)
    assert contents(memory.recall("demo")) == []
    assert contents(memory.recall("demo", archived=True)) == ["The demo server is in Oslo"]
    assert contents(memory.recall("demo", history=True)) == ["The demo password rotates today"]


@pytest.mark.parametrize("over", [0, 3, 45, 57], ids=lambda number: f"{number} of 60 are over")
def test_whether_a_filter_narrows_nothing_or_is_not_there_the_answer_is_the_same(
    memory: Recollect, clock: HandClock, over: int
) -> None:
    """Without one the legs look at no rows: what is over is left out after, and what holds comes in its place."""
    for number in range(60):
        kept = memory.remember(f"The walrus number {number:02} likes clams from bay {number * 7}", importance=0.5)
        if number < over:
            memory.archive(kept.id)
    memory.record_many([(f"s{number}", "user", f"walrus watching, day {number}") for number in range(30)])
    memory.embed_pending()
    for limit in (3, 10, 25):
        plain = memory.recall("which clams does the walrus like?", limit, abstain=False)
        asked = memory.recall("which clams does the walrus like?", limit, abstain=False, until=clock.now)
        assert plain.hits == asked.hits
        assert not [hit for hit in plain.hits if hit.tier == "memory" and int(hit.content.split()[3]) < over]
    everything = memory.recall("which clams does the walrus like?", 10, abstain=False, archived=True)
    assert len(everything.hits) == 10


def test_a_project_sees_itself_and_what_belongs_to_none(opened: Callable[..., Recollect]) -> None:
    everything = opened(Scope(user="ann"))
    app, site = opened(Scope(user="ann", project="app")), opened(Scope(user="ann", project="site"))
    everything.remember("Secret ingredient: global paprika")
    app.remember("Secret ingredient: app basil")
    site.remember("Secret ingredient: site cumin")
    assert set(contents(app.recall("secret ingredient"))) == {
        "Secret ingredient: global paprika",
        "Secret ingredient: app basil",
    }
    assert len(contents(everything.recall("secret ingredient"))) == 3
    assert contents(everything.recall("secret ingredient", project="site")) == ["Secret ingredient: site cumin"]
    assert contents(opened(Scope(user="bob")).recall("secret ingredient")) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"limit": 0},
        {"limit": 1_001},
        {"limit": True},
        {"tiers": ()},
        {"tiers": ("memoir",)},
        {"kinds": ["memoir"]},
        {"since": "soon"},
        {"profile": "best"},
        {"min_importance": 7},
        {"tags": "db"},
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(memory: Recollect, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        memory.recall("x", **bad)


def test_a_query_must_be_text(memory: Recollect) -> None:
    with pytest.raises(InvalidInput, match="a query is text"):
        memory.recall(7)  # type: ignore[arg-type]


def test_an_embedder_that_fails_leaves_the_words(opened: Callable[..., Recollect]) -> None:
    class Broken(TinyEmbedder):
        def embed(self, texts: Any) -> Any:
            if texts == ["the question"]:
                return super().embed(["x"]) * float("nan")
            return super().embed(texts)

    memory = opened(embedder=Broken())
    memory.remember("the answer to the question")
    memory.embed_pending()
    found = memory.recall("the question")
    assert found.mode == "lexical"
    assert "the embedder failed" in (found.note or "")
    assert found.hits


def test_the_real_model_finds_what_words_do_not(opened: Callable[..., Recollect], minilm_dir: Path) -> None:
    memory = opened(embedder=MiniLM(minilm_dir))
    memory.remember("New versions go live every Friday evening", kind="decision")
    memory.remember("The cat is called Miso", kind="fact")
    memory.remember("Unit tests run under pytest", kind="fact")
    memory.embed_pending()
    assert contents(memory.recall("when do we release?"))[:1] == ["New versions go live every Friday evening"]
    assert contents(memory.recall("name of the pet"))[:1] == ["The cat is called Miso"]
    assert memory.recall("quantum chromodynamics lecture notes").abstained


def test_every_hit_carries_all_that_was_promised(filled: Recollect) -> None:
    promised = {"id", "tier", "session", "content", "score", "parts", "age", "origin"}
    hit = filled.recall("staging postgres port").hits[0]
    assert promised <= {item.name for item in fields(hit)}


def test_an_unknown_memory_is_not_found(memory: Recollect) -> None:
    with pytest.raises(NotFound, match="no memory"):
        memory.get("0198c0de-0000-7000-8000-000000000000")
