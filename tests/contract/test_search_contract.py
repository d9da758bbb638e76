"""Search: each leg finds what its scope may see and its filter lets through, in every script, in a stable order."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recollect.ids import stable_key
from recollect.model import TIERS, Scope, Tier
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Match
from recollect.store.searchtext import index_text, query_terms
from tests.contract.samples import (
    ANN,
    BOB,
    EVE,
    LATER,
    MODEL,
    NOW,
    T0,
    TINY,
    by_meaning,
    by_words,
    embed_waiting,
    event,
    gist,
    memory,
    minute,
    shown,
    talk,
    texts,
)

LEGS = {"lexical": by_words, "semantic": by_meaning}
each_leg = pytest.mark.parametrize("leg", sorted(LEGS))
each_tier = pytest.mark.parametrize("tier", TIERS)


def keep(store: Store, scope: Scope, tier: Tier, name: str, text: str, minutes: float = 0) -> None:
    """One searchable thing of any tier; `name` tells its session apart."""
    if tier == "memory":
        store.memories.add(scope, memory(text, project=scope.project, session=name, occurred_at=minute(minutes)))
        return
    number = int(minutes)
    store.sessions.append(scope, [event(name, number, text if tier == "turn" else "nothing to see")])
    if tier == "gist":
        store.gists.put(scope, gist(name, text, occurred_at=minute(minutes)))


def look(
    store: Store, scope: Scope, tier: Tier, leg: str, query: str, where: Filter = NOW, limit: int = 50
) -> list[str]:
    return texts(shown(store, scope, tier, LEGS[leg](store, scope, tier, query, where, limit)))


@each_tier
@each_leg
def test_a_scope_finds_only_its_own(store: Store, tier: Tier, leg: str) -> None:
    places = {
        "ann-none": ANN,
        "ann-apollo": ANN.within("apollo"),
        "ann-zeus": ANN.within("zeus"),
        "bob-apollo": BOB.within("apollo"),
        "eve-none": EVE,
    }
    for name, scope in places.items():
        keep(store, scope, tier, f"chat:{name}", f"walrus of {name}")
    embed_waiting(store)
    expected = {
        ANN: {"ann-none", "ann-apollo", "ann-zeus"},
        ANN.within("apollo"): {"ann-none", "ann-apollo"},
        ANN.within("unused"): {"ann-none"},
        BOB: {"bob-apollo"},
        BOB.within("zeus"): set(),
        EVE.within("apollo"): {"eve-none"},
        Scope("never", "seen"): set(),
    }
    for scope, names in expected.items():
        assert set(look(store, scope, tier, leg, "walrus")) == {f"walrus of {name}" for name in names}


@each_tier
def test_document_numbers_of_others_show_nothing(store: Store, tier: Tier) -> None:
    keep(store, ANN.within("zeus"), tier, "chat:1", "walrus of zeus")
    keep(store, BOB, tier, "chat:2", "walrus of bob")
    keep(store, ANN.within("apollo"), tier, "chat:3", "walrus of apollo")
    embed_waiting(store)
    docs = [match.doc for scope in (ANN, BOB) for match in by_words(store, scope, tier, "walrus")]
    query = TINY.embed(["walrus"])[0]
    assert len(docs) == 3
    for scope, seen in ((ANN.within("apollo"), ["walrus of apollo"]), (EVE, []), (BOB, ["walrus of bob"])):
        assert texts(store.search.documents(scope, tier, docs)) == seen
        assert len(store.search.cosines(scope, tier, query, docs)) == len(seen)
        assert len(store.search.vectors(scope, tier, docs)) == len(seen)


@each_tier
def test_documents_come_in_the_order_asked(store: Store, tier: Tier) -> None:
    for number in range(5):
        keep(store, ANN, tier, f"chat:{number}", f"walrus {number}", number)
    docs = [match.doc for match in by_words(store, ANN, tier, "walrus")]
    for order in (docs, docs[::-1], docs[2:] + docs[:2], docs[1::2]):
        assert [document.doc for document in store.search.documents(ANN, tier, order)] == order
    assert store.search.documents(ANN, tier, [docs[0], 10**9]) == store.search.documents(ANN, tier, docs[:1])
    assert store.search.documents(ANN, tier, []) == []


def test_documents_say_what_they_are(store: Store) -> None:
    scope = ANN.within("apollo")
    kept = memory("a walrus", project="apollo", session="chat:1", importance=0.7, origin="web")
    store.memories.add(scope, kept)
    events = talk("chat:1", "a walrus?", "assistant: yes, a walrus", "tool: walrus.txt")
    store.sessions.append(scope, events)
    store.gists.put(scope, gist("chat:1", "About a walrus.", occurred_at=minute(7)))
    found = {tier: shown(store, scope, tier, by_words(store, scope, tier, "walrus"))[0] for tier in TIERS}
    assert found["memory"].memory == kept
    assert {tier: (one.id, one.session, one.project, one.occurred_at) for tier, one in found.items()} == {
        "memory": (kept.id, "chat:1", "apollo", T0),
        "gist": ("chat:1", "chat:1", "apollo", minute(7)),
        "turn": (events[0].key, "chat:1", "apollo", minute(0)),
    }
    assert (found["memory"].origin, found["memory"].importance) == ("web", 0.7)
    assert found["turn"].content == "user: a walrus?\nassistant: yes, a walrus\nwalrus.txt"
    assert (found["gist"].content, found["turn"].origin) == ("About a walrus.", "user")


# Which of these (all of them about a walrus) each filter lets through.
MEMORIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "lesson": {"kind": "lesson"},
    "tagged": {"tags": ("ci", "été")},
    "apollo": {"project": "apollo"},
    "of chat 1": {"session": "chat:1"},
    "minor": {"importance": 0.1},
    "early": {"occurred_at": minute(-100)},
    "late": {"occurred_at": minute(100)},
    "superseded": {"superseded_at": minute(50)},
    "expired": {"expires_at": minute(60)},
    "archived": {"archived_at": minute(70)},
    "deleted": {"deleted_at": minute(80)},
}
LIVE = MEMORIES.keys() - {"superseded", "expired", "archived", "deleted"}


@each_leg
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param({}, LIVE, id="nothing asked"),
        pytest.param({"kinds": ("lesson", "topic")}, {"lesson"}, id="kinds"),
        pytest.param({"tags": ("été", "zzz")}, {"tagged"}, id="tags"),
        pytest.param({"project": "apollo"}, {"apollo"}, id="project"),
        pytest.param({"project": "unused"}, set(), id="unused project"),
        pytest.param({"session": "chat:1"}, {"of chat 1"}, id="session"),
        pytest.param({"session": "chat:9"}, set(), id="unknown session"),
        pytest.param({"exclude_session": "chat:1"}, LIVE - {"of chat 1"}, id="exclude_session"),
        pytest.param({"min_importance": 0.5}, LIVE - {"minor"}, id="min_importance"),
        pytest.param({"since": minute(1)}, {"late"}, id="since"),
        pytest.param({"until": minute(-1)}, {"early"}, id="until"),
        pytest.param({"as_of": minute(10)}, LIVE - {"late"} | {"superseded", "expired"}, id="as_of"),
        pytest.param({"archived": True}, LIVE | {"archived"}, id="archived"),
        pytest.param({"history": True}, LIVE | {"superseded", "expired"}, id="history"),
        pytest.param({"pinned": True}, set(), id="pinned"),
        pytest.param({"flavors": ("chat",)}, set(), id="no session that is here"),
    ],
)
def test_each_leg_lets_through_what_the_filter_says(
    store: Store, leg: str, where: dict[str, Any], expected: set[str]
) -> None:
    for name, changes in MEMORIES.items():
        store.memories.add(ANN, memory(f"walrus {name}", **changes))
    embed_waiting(store)
    found = look(store, ANN, "memory", leg, "walrus", Filter(**{"now": LATER, **where}))
    assert {text.removeprefix("walrus ") for text in found} == set(expected)


@each_leg
@pytest.mark.parametrize("tier", ["gist", "turn"])
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param({"session": "chat:1"}, {1}, id="session"),
        pytest.param({"flavors": ("chat", "grok")}, {0, 1, 2, 3}, id="agents"),
        pytest.param({"flavors": ("grok",)}, set(), id="another agent"),
        pytest.param({"session": "chat:9"}, set(), id="unknown session"),
        pytest.param({"exclude_session": "chat:1"}, {0, 2, 3}, id="exclude_session"),
        pytest.param({"exclude_session": "chat:9"}, {0, 1, 2, 3}, id="exclude unknown session"),
        pytest.param({"since": minute(2)}, {2, 3}, id="since"),
        pytest.param({"until": minute(1)}, {0, 1}, id="until"),
        pytest.param({"as_of": minute(2)}, {0, 1, 2}, id="as_of"),
        pytest.param({"project": "apollo"}, {3}, id="project"),
    ],
)
def test_filters_of_gists_and_turns(
    store: Store, leg: str, tier: Tier, where: dict[str, Any], expected: set[int]
) -> None:
    for number in range(4):
        keep(store, ANN.within("apollo") if number == 3 else ANN, tier, f"chat:{number}", f"walrus {number}", number)
    embed_waiting(store)
    found = look(store, ANN, tier, leg, "walrus", Filter(**{"now": LATER, **where}))
    assert set(found) == {f"walrus {number}" for number in expected}


@each_leg
def test_a_narrow_filter_still_gets_the_best_it_lets_through(store: Store, leg: str) -> None:
    """The filter comes before the limit: 400 better matches of other kinds do not push the one lesson out."""
    for number in range(400):
        store.memories.add(ANN, memory(f"walrus walrus {number}"))
    store.memories.add(ANN, memory("gardening, and far below in the text some walrus", kind="lesson"))
    embed_waiting(store)
    found = look(store, ANN, "memory", leg, "walrus", Filter(now=LATER, kinds=("lesson",)), limit=3)
    assert found == ["gardening, and far below in the text some walrus"]
    assert len(look(store, ANN, "memory", leg, "walrus", limit=7)) == 7


@each_leg
def test_another_project_does_not_push_matches_out(store: Store, leg: str) -> None:
    for number in range(300):
        store.memories.add(ANN, memory(f"walrus walrus {number}", project="zeus"))
    store.memories.add(ANN, memory("one walrus among the tulips", project="apollo"))
    embed_waiting(store)
    assert look(store, ANN.within("apollo"), "memory", leg, "walrus", limit=2) == ["one walrus among the tulips"]


@each_tier
@each_leg
def test_the_same_question_gives_the_same_order(store: Store, tier: Tier, leg: str) -> None:
    for number in range(12):  # equal words: every score is the same
        text = "walrus and penguin" + " " * number if tier == "memory" else "walrus and penguin"
        scope = ANN.within(f"p{number}") if tier == "memory" else ANN
        keep(store, scope, tier, f"chat:{number}", text)
    embed_waiting(store)
    first = LEGS[leg](store, ANN, tier, "walrus", NOW, 50)
    assert len(first) == 12
    assert [match.score for match in first] == sorted((match.score for match in first), reverse=True)
    for limit in (50, 5, 5, 1):
        assert LEGS[leg](store, ANN, tier, "walrus", NOW, limit) == first[:limit]


@each_tier
@each_leg
def test_nothing_asked_or_nothing_there_is_nothing(store: Store, tier: Tier, leg: str) -> None:
    assert LEGS[leg](store, ANN, tier, "walrus") == []
    keep(store, ANN, tier, "chat:1", "penguin")
    assert by_words(store, ANN, tier, "walrus") == []
    assert store.search.lexical(ANN, tier, [], NOW, 5) == []
    assert by_meaning(store, ANN, tier, "penguin") == []  # no vectors yet


@each_tier
def test_it_can_be_asked_by_the_rarest_words_alone(store: Store, tier: Tier) -> None:
    for number, text in enumerate(("walrus ice", "ice fish", "ice floe", "grass")):
        keep(store, ANN, tier, f"chat:{number}", text)
    asked = ("unheard", "ice", "walrus", "fish")
    found = {
        most: sorted(texts(shown(store, ANN, tier, store.search.lexical(ANN, tier, asked, NOW, 9, rarest=most))))
        for most in (1, 2, 3)
    }
    assert found == {1: ["walrus ice"], 2: ["ice fish", "walrus ice"], 3: ["ice fish", "ice floe", "walrus ice"]}
    assert store.search.lexical(ANN, tier, ["unheard"], NOW, 9, rarest=2) == []


@each_tier
@each_leg
def test_without_a_filter_the_same_is_found_and_nothing_else_is_told_of_it(store: Store, tier: Tier, leg: str) -> None:
    for number in range(12):
        keep(store, ANN, tier, f"chat:{number}", f"walrus {'and penguin ' * number}")
    keep(store, BOB, tier, "chat:other", "walrus")
    embed_waiting(store)
    found = LEGS[leg](store, ANN, tier, "walrus penguin", NOW, 9)
    assert LEGS[leg](store, ANN, tier, "walrus penguin", None, 9) == [Match(one.doc, one.score) for one in found]
    keep(store, ANN.within("apollo"), tier, "chat:apollo", "walrus of apollo")
    embed_waiting(store)
    elsewhere = LEGS[leg](store, ANN.within("gemini"), tier, "walrus", None, 50)
    assert "walrus of apollo" not in texts(store.search.documents(ANN, tier, [one.doc for one in elsewhere]))


def test_more_of_the_words_is_better(store: Store) -> None:
    for text in ("the walrus", "the walrus eats", "the walrus eats clams", "tulips", "roses", "lilies", "grass"):
        store.memories.add(ANN, memory(text))
    assert look(store, ANN, "memory", "lexical", "walrus eats clams")[0] == "the walrus eats clams"


def test_what_the_user_said_counts_more_than_the_answer(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "tell me", "assistant: walrus"))
    store.sessions.append(ANN, talk("chat:2", "walrus", "assistant: tell me"))
    store.sessions.append(ANN, [event("chat:3", n, f"filler {n}") for n in range(8)])
    found = shown(store, ANN, "turn", by_words(store, ANN, "turn", "walrus"))
    assert [one.session for one in found] == ["chat:2", "chat:1"]


def test_a_memory_is_found_by_its_reason_and_its_tags(store: Store) -> None:
    store.memories.add(ANN, memory("deploy on Tuesday", why="the walrus said so", tags=("harbour",)))
    assert look(store, ANN, "memory", "lexical", "walrus") == look(store, ANN, "memory", "lexical", "Harbour") != []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("the walrus sleeps", "WALRUS", id="case"),
        pytest.param("she was running home", "run", id="stem"),
        pytest.param("un café crème", "cafe", id="accent in the text"),
        pytest.param("un cafe creme", "café", id="accent in the question"),
        pytest.param("un cafe\u0301 noir", "café", id="decomposed accent in the text"),
        pytest.param("un café noir", "cafe\u0301", id="decomposed accent in the question"),
        pytest.param("Straße nach Köln", "koln", id="German"),
        pytest.param("Привет, мир", "привет", id="Cyrillic, case"),
        pytest.param("Η Αθήνα είναι πόλη", "αθηνα", id="Greek, accent"),
        pytest.param("我们在星期二部署应用程序", "星期二", id="Chinese"),
        pytest.param("我们在星期二部署应用程序", "部署", id="Chinese, two characters"),
        pytest.param("我爱猫", "猫", id="Chinese, one character"),
        pytest.param("東京でラーメンを食べた", "ラーメン", id="Japanese, katakana"),
        pytest.param("東京でラーメンを食べた", "東京", id="Japanese, kanji"),
        pytest.param("서울에서 만나요", "서울", id="Korean, part of a word"),
        pytest.param("ฉันชอบกินข้าวผัด", "ข้าวผัด", id="Thai"),
        pytest.param("我们用 PostgreSQL 数据库", "postgresql", id="Latin among Chinese"),
        pytest.param("مرحبا بالعالم", "مرحبا", id="Arabic"),
        pytest.param("שלום עולם", "שלום", id="Hebrew"),
        pytest.param("नमस्ते दुनिया", "दुनिया", id="Hindi"),
        pytest.param("call getUserName first", "user name", id="camelCase, by its words"),
        pytest.param("call getUserName first", "getUserName", id="camelCase, whole"),
        pytest.param("call getUserName first", "getusername", id="camelCase, lower"),
        pytest.param("parse HTTPServerError now", "server", id="camelCase with capitals"),
        pytest.param("set max_retry_count to 5", "retry", id="snake_case, by a word"),
        pytest.param("set max_retry_count to 5", "max_retry_count", id="snake_case, whole"),
        pytest.param("see src/app/main.py", "main.py", id="path"),
        pytest.param("release v2.10.3 is out", "2.10.3", id="version"),
        pytest.param("error E1234 at line 7", "e1234", id="code"),
        pytest.param("mail ann@example.org", "ann@example.org", id="address"),
        pytest.param("what is it then", "what is it", id="stop words only"),
    ],
)
@each_tier
def test_every_script_and_spelling_is_found(store: Store, tier: Tier, text: str, query: str) -> None:
    keep(store, ANN, tier, "chat:1", text)
    keep(store, ANN, tier, "chat:2", "zzz qqq")
    assert look(store, ANN, tier, "lexical", query) == [text]


@pytest.mark.parametrize("run", ["x", "0", "aB", "é", "猫", "a_", "ab "], ids=ascii)
def test_a_long_run_costs_no_more_than_its_length(store: Store, run: str) -> None:
    """Four times the text takes about four times as long to index: base64 or minified code must not stop a store."""
    spent = []
    for size in (4_000, 16_000, 64_000):
        text = run * (size // len(run))
        started = time.process_time()
        query_terms(text)
        index_text(text)
        spent.append(time.process_time() - started)
    assert spent[2] < 16 * max(spent[1], 0.02)
    assert spent[2] < 2
    store.sessions.append(ANN, [event("chat:1", 0, "walrus " + run * (64_000 // len(run)))])
    assert len(by_words(store, ANN, "turn", "walrus")) == 1


def test_no_index_words_of_the_store_are_found(store: Store) -> None:
    """However a store marks whose a row is, those marks are not words of the text."""
    store.memories.add(ANN.within("apollo"), memory("walrus", project="apollo"))
    for query in ("o1", "o1p1", "o1p0", "scope", "acme", "apollo", "ann", "fact"):
        assert by_words(store, ANN, "memory", query) == []


@pytest.mark.parametrize(
    "query",
    [
        '"', '""', "NEAR(", "NEAR(a b, 2)", "content:walrus", "col:x", "*", "walrus*", "^walrus", "- scope : o1",
        "walrus AND", "OR", "NOT walrus", "(walrus", "walrus)", "{walrus}", "'; DROP TABLE memories; --", "%", "_",
        "\x00", "wal\x00rus", "\ud800", "a\ud800b", "🦭", "🦭" * 500, "👩‍👩‍👧", "the of and", " ", "\n\t",
        "walrus " * 20_000,
        "x" * 100_000, "\u202ewalrus", "\ufeff", "a" * 300, "é" * 99 + "walrus", "ﷺ", "ß", "İstanbul", "\U0003ffff",
    ],
    ids=lambda query: ascii(query[:20]),
)  # fmt: skip
@each_tier
def test_no_question_is_an_error(store: Store, tier: Tier, query: str) -> None:
    """T22."""
    keep(store, ANN, tier, "chat:1", "a walrus")
    assert len(by_words(store, ANN, tier, query)) <= 1
    weights = store.search.weigh(ANN, tier, query_terms(query))
    assert weights.asked >= weights.known >= 0


@given(st.text(max_size=60), st.sampled_from(TIERS))
@example("a\ud800b", "turn")
@example('walrus" OR "x', "memory")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_question_has_an_answer(store: Store, query: str, tier: Tier) -> None:
    """T22: 500 strings, 0 errors, at most 32 terms."""
    if store.keeping.health(deep=False).counts["memories"] == 0:
        for each in TIERS:
            keep(store, ANN, each, f"chat:{each}", "the only one here")
    terms = query_terms(query)
    assert len(terms) <= 32
    assert len(by_words(store, ANN, tier, query)) <= 1
    store.search.weigh(ANN, tier, terms)


SPEECH = st.text(st.characters(categories=("L", "N", "M", "P", "Z", "S")), min_size=1, max_size=40)


@given(SPEECH)
@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_text_is_found_by_itself(store: Store, text: str) -> None:
    scope = Scope("acme", stable_key(text))
    store.memories.add(scope, memory(text))
    words = query_terms(text)
    plain = [word for word in words if word.isascii()]
    if plain:
        assert look(store, scope, "memory", "lexical", " ".join(plain)) == [text]


@each_leg
@pytest.mark.parametrize(
    "change",
    [{"superseded_at": minute(5)}, {"expires_at": minute(5)}, {"deleted_at": minute(5)}, {"archived_at": minute(5)}],
    ids=lambda change: next(iter(change)),
)
def test_what_is_no_longer_true_is_not_returned(store: Store, leg: str, change: dict[str, Any]) -> None:
    first = memory("the walrus lives in pool 3")
    store.memories.add(ANN, first)
    embed_waiting(store)
    assert len(LEGS[leg](store, ANN, "memory", "walrus")) == 1
    store.memories.update(ANN, replace(first, **change), at=minute(5), note="change")
    embed_waiting(store)
    assert LEGS[leg](store, ANN, "memory", "walrus") == []
    assert LEGS[leg](store, ANN, "memory", "walrus", Filter(now=minute(5))) == []


@each_leg
def test_a_changed_memory_is_found_by_its_new_words_only(store: Store, leg: str) -> None:
    first = memory("walrus")
    store.memories.add(ANN, first)
    store.memories.add(ANN, memory("tulip"))
    embed_waiting(store)
    LEGS[leg](store, ANN, "memory", "walrus")
    store.memories.update(ANN, replace(first, content="penguin", tags=("ice",)), at=minute(5), note="edit")
    embed_waiting(store)
    assert look(store, ANN, "memory", leg, "penguin")[0] == "penguin"
    if leg == "lexical":
        assert by_words(store, ANN, "memory", "walrus") == []
        assert look(store, ANN, "memory", leg, "ice") == ["penguin"]


def test_a_turn_that_grew_is_found_by_all_its_words_at_once(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "walrus"))
    store.sessions.append(ANN, talk("chat:1", "assistant: penguin", first=1))
    store.sessions.append(ANN, talk("chat:1", "tool: harbour", first=2))
    for word in ("walrus", "penguin", "harbour"):
        assert look(store, ANN, "turn", "lexical", word) == ["user: walrus\nassistant: penguin\nharbour"]


def test_matches_say_their_session_and_place(store: Store) -> None:
    store.sessions.append(ANN, talk("chat:1", "walrus one", "tulip", "walrus two"))
    store.sessions.append(ANN, talk("chat:2", "walrus three"))
    embed_waiting(store)
    for leg in LEGS:
        matches = [m for m in LEGS[leg](store, ANN, "turn", "walrus") if m.score > 0.1 or leg == "lexical"]
        found = dict(zip(texts(shown(store, ANN, "turn", matches)), matches, strict=True))
        one, two, three = (found[f"walrus {word}"] for word in ("one", "two", "three"))
        assert one.group == two.group != three.group
        assert [one.place, two.place, three.place] == [0, 2, 0]


def test_weights_tell_common_words_from_rare_ones(store: Store) -> None:
    for number in range(20):
        store.memories.add(ANN, memory(f"walrus number {number}" + (" tulip" if number == 7 else "")))
    rare, common, unknown = (store.search.weigh(ANN, "memory", [word]) for word in ("tulip", "walrus", "zebra"))
    assert rare.scored > common.scored
    assert rare.known > common.known > 0
    assert (unknown.scored, unknown.known) == (0, 0)
    assert unknown.asked > rare.asked


def test_cosines_and_vectors_are_of_the_documents_asked(store: Store) -> None:
    for text in ("walrus", "penguin", "tulip"):
        store.memories.add(ANN, memory(text))
    embed_waiting(store)
    store.memories.add(ANN, memory("no vector yet"))
    query = TINY.embed(["penguin"])[0]
    docs = {text: by_words(store, ANN, "memory", text)[0].doc for text in ("walrus", "penguin", "yet")}
    cosines = store.search.cosines(ANN, "memory", query, list(docs.values()))
    assert set(cosines) == {docs["walrus"], docs["penguin"]}
    assert cosines[docs["penguin"]] == pytest.approx(1, abs=1e-3)
    assert cosines[docs["walrus"]] < 0.9
    assert set(store.search.vectors(ANN, "memory", [*docs.values(), 10**9])) == set(cosines)


@pytest.mark.slow
def test_searching_while_vectors_are_replaced_gives_true_scores(store: Store) -> None:
    """Threads that search see each document with the old or the new vector, never another document's."""
    names = [f"topic{number}" for number in range(40)]
    for number, name in enumerate(names):
        store.sessions.append(ANN, [event(f"chat:{number}", number, name)])
    embed_waiting(store)
    query = TINY.embed(["walrus"])[0]
    true = store.search.cosines(ANN, "turn", query, [m.doc for m in by_meaning(store, ANN, "turn", "walrus")])
    wrong: list[Match] = []
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            found = store.search.semantic(ANN, "turn", query, NOW, 50)
            wrong.extend(m for m in found if min(abs(m.score - true[m.doc]), abs(m.score - 1)) > 1e-2)
            if len({match.doc for match in found}) != len(names):
                wrong.extend(found[:1])

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(0, 40, 2):
        store.sessions.append(ANN, [event(f"chat:{number}", 100 + number, "grown", "assistant")])
        store.vectors.put(MODEL, [(item, query[None]) for item in store.vectors.waiting(9)])
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_times_far_away_are_found_too(store: Store) -> None:
    """T32: a date of 1969 or 9999 hides nothing."""
    for year in (1969, 9999):
        store.memories.add(ANN, memory(f"walrus of {year}", occurred_at=T0.replace(year=year)))
        keep(store, ANN, "turn", f"chat:{year}", f"walrus of {year}")
    assert len(by_words(store, ANN, "memory", "walrus")) == 2
    assert len(by_words(store, ANN, "memory", "walrus", Filter(now=LATER, until=LATER + timedelta(days=9)))) == 1
