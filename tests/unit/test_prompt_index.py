"""The prompt index: a prompt finds the memory that it is about, most prompts find nothing, damaged bytes do no harm."""

from __future__ import annotations

import random
from array import array
from binascii import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prompts_fixture import ASKED, ASKED_FROZEN, MEMORIES, UNRELATED, UNRELATED_FROZEN

from recollect import frame, promptindex
from recollect.promptindex import FEW, MAGIC, SHOWN_BYTES, asked_for, build, framed, name_of, search, stem, words

INDEX = build((name, text, name) for name, text in MEMORIES.items())
ABOUT_POSTGRES = "why can't I connect to postgres on my machine? which port was it"


def found(prompt: str, index: bytes = INDEX) -> list[str]:
    return [text.strip() for _, text in search(index, prompt)]


# -- what is found -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "least"), [(ASKED, 0.9), (ASKED_FROZEN, 0.85)], ids=["tuned on", "frozen"])
def test_prompts_find_the_memory_that_they_are_about(asked: list[tuple[str, str]], least: float) -> None:
    hits = [name in found(prompt) for prompt, name in asked]
    assert sum(hits) >= least * len(asked), [prompt for (prompt, _), hit in zip(asked, hits, strict=True) if not hit]


def test_hardly_anything_else_is_found_with_it() -> None:
    asked = ASKED + ASKED_FROZEN
    assert sum(len(set(found(prompt)) - {name}) for prompt, name in asked) <= len(asked) // 20


@pytest.mark.parametrize(("prompts", "most"), [(UNRELATED, 1), (UNRELATED_FROZEN, 0)], ids=["tuned on", "frozen"])
def test_prompts_that_no_memory_is_about_find_nothing(prompts: list[str], most: int) -> None:
    wrong = {prompt: names for prompt in prompts if (names := found(prompt))}
    assert len(wrong) <= most, wrong


def test_the_longer_a_prompt_the_more_it_must_share() -> None:
    """The more is said, the more words are shared by chance."""
    index = build([("a", "alpha beta", "two"), ("b", "gamma delta epsilon", "three")])
    filling = " ".join(f"word{n}" for n in range(55))
    assert found("alpha beta gone", index) == ["two"]
    assert found(f"alpha beta {filling}", index) == []
    assert found(f"gamma delta epsilon {filling}", index) == ["three"]


def test_few_memories_are_not_found_more_easily_than_many() -> None:
    """With only one memory every word is rare in the index; what is usual in requests still tells little."""
    for name, text in MEMORIES.items():
        alone = build([(name, text, name)])
        wrong = [prompt for prompt in UNRELATED + UNRELATED_FROZEN if search(alone, prompt)]
        assert len(wrong) <= 1, (text, wrong)


def test_the_best_comes_first_and_few_come() -> None:
    entries = [(f"{n}", f"The port of postgres for tenant {n} is {5000 + n}", f"tenant {n}") for n in range(6)]
    many = build([*((name, text, name) for name, text in MEMORIES.items()), *entries])
    assert found("which port has postgres for tenant five? is it 5005", many)[0] == "tenant 5"
    assert len(found("which port has postgres for each tenant", many)) == FEW


@pytest.mark.parametrize(
    "prompt", ["", "   ", "yes", "postgres port", "ok, please do that", "the of and to", "?!", "\x00" * 50, "5432 5433"]
)
def test_a_prompt_with_hardly_a_word_is_not_looked_up(prompt: str) -> None:
    assert search(INDEX, prompt) == []


def test_what_a_session_was_told_is_left_out() -> None:
    assert found(ABOUT_POSTGRES) == ["port"]
    assert search(INDEX, ABOUT_POSTGRES, without={name_of("port")}) == []


def test_of_a_long_prompt_both_ends_count() -> None:
    noise = " ".join(f"word{n:05d}" for n in range(1_200))
    for prompt in (f"{ABOUT_POSTGRES} {noise}", f"{noise} {ABOUT_POSTGRES}"):
        assert len(asked_for(prompt)) == 64
        assert "postgr" in " ".join(asked_for(prompt))


# -- words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("migration", "migrations"),
        ("migrate", "migrated"),
        ("migration", "migrating"),
        ("query", "queries"),
        ("deploy", "deployment"),
        ("running", "runs"),
        ("container", "containers"),
        ("test_checkout_timeout", "test checkout timeout"),
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("src/app/main.py", "src app main py"),
        ("Straße café", "Straße cafe"),
        ("ＦＵＬＬ", "full"),
    ],
)
def test_forms_of_a_word_are_one_word(one: str, other: str) -> None:
    assert set(words(other)) <= set(words(one)) or set(words(one)) <= set(words(other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("消費税を", ["消費", "費税", "税を"]),
        ("税", ["税"]),
        ("Docker は 便利", ["は", "便利", "docker"]),
        ("가나다", ["가나", "나다"]),
        ("がぎ", ["がぎ"]),
    ],
)
def test_scripts_without_spaces_are_pairs_of_characters(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_a_key_or_encoded_data_is_no_word() -> None:
    assert words("deadbeef" * 6 + " port") == ["port"]


@given(st.text())
def test_any_text_has_words(text: str) -> None:
    for word in words(text):
        assert word
        assert stem(word) is not None


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_what_is_shown_stands_in_the_frame_that_capture_knows() -> None:
    index = build([("a", "x", "[said by user]\n> the port is 5433"), ("b", "x", "> second\n\n")])
    text, names = framed(index, [(1, "> the port is 5433\n"), (2, "> second\n")])
    assert text == frame.framed("> the port is 5433\n> second\n", promptindex.NOTICE)
    assert names == [1, 2]
    assert frame.without_blocks(f"before\n{text}after", "gone") == ("before\ngone\nafter", 1)


def test_what_is_shown_fits_the_budget() -> None:
    index = build([])
    text, names = framed(index, [(n, f"> {'é' * 150} {n}\n") for n in range(9)])
    assert len(text.encode()) <= SHOWN_BYTES
    assert 1 < len(names) < 9
    assert framed(index, [(1, "x" * SHOWN_BYTES), (2, "> short\n")])[1] == [2]
    assert framed(index, [(1, "x" * SHOWN_BYTES)]) == ("", [])
    assert framed(index, []) == ("", [])


def test_the_same_entries_give_the_same_bytes() -> None:
    entries = [(name, text, name) for name, text in MEMORIES.items()]
    assert build(entries) == build(iter(entries))


def test_an_index_never_grows_beyond_its_limit() -> None:
    places = random.Random(1)
    entries = [(str(n), " ".join(f"w{places.getrandbits(40):x}" for _ in range(30)), "y" * 100) for n in range(2_000)]
    entries[0] = ("0", "alpha beta gamma delta", "first")
    index = build(entries, max_bytes=200_000)
    assert 100_000 < len(index) <= 200_000
    assert found("alpha beta gamma delta", index) == ["first"]


def test_lone_surrogates_and_nul_do_no_harm() -> None:
    index = build([("\ud800", "alpha \ud800 beta \x00 gamma", "> \udfff\x00")])
    assert found("alpha beta gamma \ud800", index) == ["> ?\x00"]


# -- bytes that are not what they should be ----------------------------------------------------------------------------


def damaged(index: bytes, seed: int) -> bytes:
    """Some bytes changed, or a piece taken away or put in."""
    places = random.Random(seed)
    data = bytearray(index)
    for _ in range(places.randint(1, 4)):
        at = places.randrange(len(data))
        match places.randrange(3):
            case 0:
                data[at] ^= 1 << places.randrange(8)
            case 1:
                del data[at : at + places.randint(1, 100)]
            case _:
                data[at:at] = places.randbytes(places.randint(1, 20))
    return bytes(data)


@pytest.mark.parametrize("seed", range(200))
def test_damaged_bytes_find_nothing(seed: int) -> None:
    assert search(damaged(INDEX, seed), ABOUT_POSTGRES) == []
    assert framed(damaged(INDEX, seed), [(1, "> x\n")]) == ("", [])


@pytest.mark.parametrize("size", [0, 1, 15, 16, 20, 47, 48, 49, 100, 1_000, len(INDEX) - 1])
def test_a_torn_index_finds_nothing(size: int) -> None:
    assert search(INDEX[:size], ABOUT_POSTGRES) == []


def forged(index: bytes, seed: int) -> bytes:
    """Numbers in it changed, and the checksum made right again."""
    places = random.Random(seed)
    body = bytearray(index[len(MAGIC) + 4 :])
    for _ in range(places.randint(1, 8)):
        at = 4 * places.randrange(min(2_000, len(body) // 4))
        body[at : at + 4] = array("I", [places.choice([0, 1, 2**31, 2**32 - 1, places.getrandbits(8)])]).tobytes()
    return MAGIC + crc32(body).to_bytes(4, "big") + bytes(body)


@pytest.mark.parametrize("seed", range(300))
def test_a_forged_index_raises_nothing(seed: int) -> None:
    index = forged(INDEX, seed)
    for prompt, _ in ASKED[:5]:
        entries = search(index, prompt)
        assert len(entries) <= FEW
        assert len(framed(index, entries)[0].encode()) <= SHOWN_BYTES


@settings(max_examples=300)
@given(st.binary(max_size=400), st.text(max_size=100))
def test_any_bytes_and_any_prompt_raise_nothing(data: bytes, prompt: str) -> None:
    assert search(data, f"{prompt} alpha beta gamma") == []
    assert search(MAGIC + crc32(data).to_bytes(4, "big") + data, f"{prompt} alpha beta gamma") == []
    assert search(INDEX, prompt) is not None


def test_one_search_looks_at_a_bounded_number_of_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though every word of the prompt stands in every entry."""
    prompt = " ".join(f"common{n}" for n in range(64))
    index = build((str(n), prompt, "> x") for n in range(500))
    assert len(search(index, prompt)) == FEW
    monkeypatch.setattr(promptindex, "_MAX_VISITS", 501)
    assert search(index, prompt) == []


def test_another_version_finds_nothing() -> None:
    assert search(INDEX.replace(MAGIC, b"recollect index2", 1), ABOUT_POSTGRES) == []
