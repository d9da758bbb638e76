"""What is too big for a row is kept apart whole, named by its hash, and the row shows both ends of it."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture import bodies
from recollect.capture.bodies import SHOWN_HEAD, SHOWN_TAIL, body_of, cut, data_url_body, decoded, image_body

LIMIT = 65_536


@pytest.mark.parametrize("text", ["", "x", "x" * (LIMIT // 4), "x" * LIMIT, "é" * (LIMIT // 2), "𝄞" * (LIMIT // 4)])
def test_what_fits_stays_in_its_row(text: str) -> None:
    kept, body = cut(text, LIMIT)
    assert kept is text
    assert body is None


@pytest.mark.parametrize("text", ["x" * (LIMIT + 1), "é" * (LIMIT // 2) + "x", "𝄞" * (LIMIT // 4) + "x"])
def test_one_byte_more_is_kept_apart(text: str) -> None:
    shown, body = cut(text, LIMIT)
    data = text.encode()
    assert body == (hashlib.sha256(data).hexdigest(), "text/plain", len(data), data)
    assert shown.startswith(text[:SHOWN_HEAD] + "\n[… ")
    assert shown.endswith(" …]\n" + text[-SHOWN_TAIL:])
    assert f"[… {len(text) - SHOWN_HEAD - SHOWN_TAIL:,} characters are kept apart …]" in shown
    assert len(shown.encode()) < LIMIT


def test_bytes_count_and_not_characters() -> None:
    assert cut("x" * 40_000, LIMIT)[1] is None
    assert cut("𝄞" * 40_000, LIMIT)[1] is not None


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=400), st.integers(-5, 500))
def test_with_any_limit_the_whole_is_there_once(text: str, limit: int) -> None:
    """A small limit in the settings neither repeats nor loses what stands between the ends."""
    shown, body = cut(text, limit)
    if body is None:
        assert shown == text
        return
    assert body.data == text.encode()
    head, _, rest = shown.partition("\n[… ")
    left, _, tail = rest.partition(" characters are kept apart …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(left.replace(",", "")) + len(tail) == len(text)


def test_few_characters_of_many_bytes_stay_whole() -> None:
    assert cut("𝄞" * 60, 100) == ("𝄞" * 60, None)


def test_a_body_beyond_the_limit_is_cut_between_two_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 10_001)
    _, body = cut("é" * 20_000, 100)
    assert body is not None
    assert body.data == ("é" * 5_000).encode()


def test_the_same_bytes_have_the_same_name() -> None:
    assert body_of(b"x", "a/b").hash == body_of(b"x", "c/d").hash != body_of(b"y", "a/b").hash


def test_an_image_in_a_block() -> None:
    raw = bytes(range(256))
    block = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(raw).decode()}
    assert image_body(block) == (hashlib.sha256(raw).hexdigest(), "image/png", 256, raw)


@pytest.mark.parametrize(
    "block", [None, 7, "x", [], {}, {"data": 7}, {"data": ""}, {"data": "a b"}, {"data": "é"}, {"data": "abc"}]
)
def test_what_is_no_image_is_none(block: object) -> None:
    assert image_body(block) is None


@pytest.mark.parametrize("media", [None, 7, "", "x" * 101])
def test_an_image_of_an_unknown_kind_is_just_bytes(media: object) -> None:
    body = decoded("AAAA", media)
    assert body is not None
    assert body.media == "application/octet-stream"


def test_an_image_beyond_the_limit_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "MAX_BODY", 8)
    assert decoded(base64.b64encode(b"12345678").decode(), "a/b") is not None
    assert decoded(base64.b64encode(b"123456789").decode(), "a/b") is None


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("data:image/gif;base64,AAAA", ("image/gif", b"\0\0\0")),
        ("data:;base64,AAAA", ("application/octet-stream", b"\0\0\0")),
        ("data:text/plain,AAAA", None),
        ("data:image/gif;base64", None),
        ("https://x.test/a.gif", None),
        (7, None),
    ],
)
def test_an_image_in_a_url(url: object, found: tuple[str, bytes] | None) -> None:
    body = data_url_body(url)
    assert (body and (body.media, body.data)) == found
