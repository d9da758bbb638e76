"""Our own API keys are secrets like any other: found in text wherever they stand; what is shown of one is not (T08)."""

from __future__ import annotations

import json

import pytest

from recollect.capture.redact import Redactor
from recollect.errors import InvalidInput, ScopeError
from recollect.keys import ENVS, Grant, digest, id_of, new_text, parse_permissions
from recollect.model import Scope

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
    assert parse_permissions(["act", "speak", "delete", "write"]) == ("write", "delete", "speak", "act")
    with pytest.raises(InvalidInput, match="unknown permission 'root'"):
        parse_permissions(["read", "root"])


ANN = Scope("acme", "ann", key="k")


@pytest.mark.parametrize("permissions", [("read", "write"), ("read", "write", "delete", "speak", "admin")])
def test_a_key_names_no_user_but_its_own(permissions: tuple[str, ...]) -> None:
    grant = Grant("k", ANN, permissions)
    assert grant.narrowed(user="ann") == grant.narrowed() == ANN
    with pytest.raises(ScopeError):
        grant.narrowed(user="bob")


def test_a_key_that_acts_names_any_user_of_its_tenant() -> None:
    acting = Grant("k", ANN, ("read", "act"))
    bob = acting.narrowed(user="bob", project="apollo")
    assert (bob, bob.key) == (Scope("acme", "bob", "apollo"), "k")
    for odd in ("@shared", "@commons", "", "a\nb", "x" * 256):
        with pytest.raises(ScopeError):
            acting.narrowed(user=odd)


def test_a_key_of_a_project_stays_in_it_whoever_it_acts_for() -> None:
    fixed = Grant("k", ANN.within("apollo"), ("read", "act"))
    assert fixed.narrowed(user="bob") == Scope("acme", "bob", "apollo")
    with pytest.raises(ScopeError):
        fixed.narrowed(user="bob", project="gemini")
