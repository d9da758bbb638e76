"""Our own API keys are secrets like any other: found in text wherever they stand; what is shown of one is not (T08)."""

from __future__ import annotations

import json

import pytest

from recollect.capture.redact import Redactor
from recollect.errors import InvalidInput
from recollect.keys import ENVS, digest, id_of, new_text, parse_permissions

PLACES = {
    "alone": "{}",
    "in a sentence": "use the key {}, please.",
    "header": "curl -H 'Authorization: Bearer {}' http://localhost:8377/v1/memories",
    "variable": "export RECOLLECT_API_KEY={}\n",
    "address": "http://localhost:8377/?key={}&x=1",
    "quoted": '{{"key": "{}"}}',
    "escaped": json.dumps(json.dumps({"key": "{}"})),
    "at a line's end": "key:\\n{}\\nnext",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("env", ENVS)
def test_a_key_of_ours_is_taken_out_of_text(env: str, place: str) -> None:
    for _ in range(20):
        text = new_text(env)
        kept, counts = Redactor(b"k" * 32).redact(
            PLACES[place].replace("{}", text).replace("{{", "{").replace("}}", "}")
        )
        assert text[-43:-10] not in kept
        assert sum(counts.values()) == 1


def test_a_key_that_was_cut_is_taken_out_too() -> None:
    text = new_text("live")
    assert text[28:40] not in Redactor(b"k" * 32).redact(f"it is {text[:50]}")[0]


def test_what_is_shown_of_a_key_stays() -> None:
    shown = f"rec_live_{id_of(new_text('live'))}_…"
    assert Redactor(b"k" * 32).redact(f"revoked {shown} today")[0] == f"revoked {shown} today"


def test_every_part_of_a_key_is_in_its_hash() -> None:
    text = new_text("live")
    others = [text.replace("live", "test"), text[:-1] + "_", text.replace(id_of(text), "a" * 16), text + " "]
    assert len({digest(one) for one in [text, *others]}) == 5


def test_the_secret_has_256_bits() -> None:
    import base64

    assert len(base64.urlsafe_b64decode(new_text("live")[-43:] + "=")) == 32


def test_permissions_have_one_order_and_are_known_words() -> None:
    assert parse_permissions([" admin", "read", "read"]) == ("read", "admin")
    with pytest.raises(InvalidInput, match="unknown permission 'root'"):
        parse_permissions(["read", "root"])
