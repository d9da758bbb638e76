"""API keys: kept as hashes, bound to a scope, ended by time or by hand; a bad one is told nothing (T24, S1s.1)."""

from __future__ import annotations

import hmac
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import Conflict, InvalidInput, InvalidKey, NotAllowed, NotFound, ScopeError
from recollect.keys import ENVS, PERMISSIONS, Issued, digest, id_of
from recollect.model import Scope
from recollect.store.port import Store
from recollect.store.rows import keys as row_keys
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, BOB, EVE, T0, memory, minute
from tests.contract.terms_fixture import Hold, Outside
from tests.contract.terms_fixture import hold as hold
from tests.contract.terms_fixture import outside as outside

DAY = timedelta(days=1)


def made(store: Store, scope: Scope = ANN, **given: Any) -> Issued:
    return store.keys.create(scope, **{"at": T0, **given})


@pytest.mark.parametrize("env", ENVS)
def test_a_key_opens_the_scope_it_was_made_in(store: Store, env: str) -> None:
    issued = made(store, env=env, permissions=("write", "read"), name="laptop")
    assert re.fullmatch(rf"rec_{env}_[a-z2-7]{{16}}_[A-Za-z0-9_-]{{43}}", issued.text)
    grant = store.keys.check(issued.text, at=minute(1), env=env)
    assert (grant.scope, grant.scope.key) == (ANN, issued.key.id)
    assert grant.permissions == ("read", "write")
    grant.require("read")
    with pytest.raises(NotAllowed, match="may not delete"):
        grant.require("delete")


def test_two_keys_are_never_alike(store: Store) -> None:
    texts = [made(store).text for _ in range(20)]
    assert len({id_of(text) for text in texts}) == len({text[-43:] for text in texts}) == 20


def test_of_a_key_only_its_hash_is_kept(store: Store, outside: Outside) -> None:
    issued = made(store, name="laptop")
    store.keys.check(issued.text, at=minute(1))
    secret = issued.text[-43:]
    kept = repr([*outside("SELECT * FROM api_keys"), *outside("SELECT * FROM audit"), *store.audit.find(ANN, limit=10)])
    assert issued.key.id in kept
    assert secret not in kept
    assert secret[:12] not in kept


def test_no_text_about_a_key_has_its_secret(store: Store) -> None:
    """T08, T25: neither repr, nor what is shown, nor an error."""
    issued = made(store)
    broken = issued.text[:-1] + ("A" if issued.text[-1] != "A" else "B")
    with pytest.raises(InvalidKey) as raised:
        store.keys.check(broken, at=T0)
    said = [repr(issued), str(issued), repr(issued.key), issued.key.shown, repr(store.keys.find(ANN))]
    said += [repr(raised.value), str(raised.value), repr(store.keys.check(issued.text, at=T0))]
    assert issued.key.shown == f"rec_live_{issued.key.id}_…"
    assert not [text for text in said if issued.text[-43:-5] in text]


def bad_keys(store: Store) -> dict[str, str]:
    """Keys that open nothing at T0 + 2 days, each for another reason."""
    good = made(store).text
    known, secret = good[:-43], good[-43:]
    ended = made(store, expires_at=T0 + DAY).text
    revoked = made(store)
    store.keys.revoke(ANN, revoked.key.id, at=minute(5))
    rotated = made(store)
    store.keys.rotate(ANN, rotated.key.id, at=minute(5), until=T0 + DAY)
    return {
        "unknown id": f"rec_live_{'a' * 16}_{secret}",
        "wrong secret": known + secret[::-1],
        "expired": ended,
        "revoked": revoked.text,
        "rotated, grace over": rotated.text,
        "another environment": made(store, env="test").text,
        "environment exchanged": good.replace("rec_live", "rec_test"),
        "cut": good[:-1],
        "longer": good + "A",
        "another form": "sk-ant-" + secret,
        "empty": "",
        "very long": "rec_live_" + "a" * 100_000,
        "NUL and surrogate": "rec_live_\0\ud800",
        "SQL": f"rec_live_' OR 1=1 --_{secret}",
    }


def test_every_bad_key_is_told_the_same_after_the_same_work(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """T24: who guesses learns nothing, neither from words nor from what was done to find out."""
    work: Counter[str] = Counter()

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **more: Any) -> Any:
            work[name] += 1
            return real(*given, **more)

        return call

    bad = bad_keys(store)
    database: Any = store.database  # type: ignore[attr-defined]
    monkeypatch.setattr(hmac, "compare_digest", counted("compared", hmac.compare_digest))
    monkeypatch.setattr(row_keys, "digest", counted("hashed", digest))
    for name in ("alone", "read", "write", "touch", "snapshot"):
        monkeypatch.setattr(database, name, counted(name, getattr(database, name)))
    answers, works = set(), set()
    for text in bad.values():
        work.clear()
        with pytest.raises(InvalidKey) as raised:
            store.keys.check(text, at=T0 + 2 * DAY, env="live")
        answers.add((str(raised.value), raised.value.hint, raised.value.code, repr(raised.value.__cause__)))
        works.add(tuple(sorted(work.items())))
    assert answers == {("not a valid key", None, "invalid_key", "None")}
    (done,) = map(dict, works)
    done.pop("read", None)  # what one query is on a store in a file
    assert done == {"alone": 1, "compared": 1, "hashed": 1}


@pytest.mark.parametrize("text", [None, 5, b"rec_live_", ["rec"]], ids=repr)
def test_what_is_no_text_is_no_key(store: Store, text: Any) -> None:
    with pytest.raises(InvalidKey):
        store.keys.check(text, at=T0)


def test_a_key_works_until_it_expires_and_not_a_moment_longer(store: Store) -> None:
    issued = made(store, expires_at=T0 + DAY)
    assert store.keys.check(issued.text, at=T0 + DAY - timedelta(microseconds=1)).expires_at == T0 + DAY
    with pytest.raises(InvalidKey):
        store.keys.check(issued.text, at=T0 + DAY)
    assert store.keys.find(ANN)[0].state(T0 + DAY) == "expired"


def test_a_revoked_key_opens_nothing_from_then_on(store: Store) -> None:
    issued = made(store)
    assert store.keys.revoke(ANN, issued.key.id, at=minute(5)).revoked_at == minute(5)
    assert store.keys.revoke(ANN, issued.key.id, at=minute(9)).revoked_at == minute(5)
    with pytest.raises(InvalidKey):
        store.keys.check(issued.text, at=minute(1))


def test_after_a_rotation_the_old_key_works_until_the_grace_is_over(store: Store) -> None:
    old = made(store, permissions=("read", "admin"), name="ci")
    new = store.keys.rotate(ANN, old.key.id, at=T0 + DAY, until=T0 + 8 * DAY, expires_at=T0 + 90 * DAY)
    assert (new.key.permissions, new.key.name, new.key.env) == (("read", "admin"), "ci", "live")
    for text in (old.text, new.text):
        assert store.keys.check(text, at=T0 + 7 * DAY).scope == ANN
    with pytest.raises(InvalidKey):
        store.keys.check(old.text, at=T0 + 8 * DAY)
    assert store.keys.check(new.text, at=T0 + 80 * DAY).key == new.key.id
    listed = {key.id: key for key in store.keys.find(ANN)}
    assert listed[old.key.id].replaced_by == new.key.id
    assert listed[old.key.id].state(T0 + 2 * DAY) == "replaced"


def test_grace_makes_no_key_live_longer_than_it_would_have(store: Store) -> None:
    old = made(store, expires_at=T0 + 2 * DAY)
    store.keys.rotate(ANN, old.key.id, at=T0 + DAY, until=T0 + 8 * DAY)
    with pytest.raises(InvalidKey):
        store.keys.check(old.text, at=T0 + 3 * DAY)


@pytest.mark.parametrize("state", ["revoked", "expired", "replaced"])
def test_what_does_not_work_any_more_is_not_rotated(store: Store, state: str) -> None:
    issued = made(store, expires_at=T0 + DAY)
    if state == "revoked":
        store.keys.revoke(ANN, issued.key.id, at=T0)
    if state == "replaced":
        store.keys.rotate(ANN, issued.key.id, at=T0, until=T0 + DAY)
    with pytest.raises(Conflict, match=state):
        store.keys.rotate(ANN, issued.key.id, at=T0 + (DAY if state == "expired" else timedelta(0)), until=T0 + 2 * DAY)


@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen"), ANN.within("apollo")], ids=str)
def test_another_scopes_key_does_not_exist(store: Store, scope: Scope) -> None:
    issued = made(store)
    for action in (
        lambda: store.keys.revoke(scope, issued.key.id, at=T0),
        lambda: store.keys.rotate(scope, issued.key.id, at=T0, until=T0 + DAY),
        lambda: store.keys.revoke(scope, "a" * 16, at=T0),
    ):
        with pytest.raises(NotFound, match="no key"):
            action()
    assert store.keys.find(scope) == []
    assert store.keys.check(issued.text, at=minute(1)).scope == ANN


def test_a_projects_key_opens_that_project_alone(store: Store) -> None:
    issued = made(store, ANN.within("apollo"))
    grant = store.keys.check(issued.text, at=minute(1))
    assert grant.scope == ANN.within("apollo")
    assert grant.narrowed() == grant.narrowed(user="ann", project="apollo") == ANN.within("apollo")
    for asked in ({"project": "zeus"}, {"user": "bob"}):
        with pytest.raises(ScopeError):
            grant.narrowed(**asked)
    whole = store.keys.check(made(store).text, at=minute(1))
    assert whole.narrowed(project="zeus") == ANN.within("zeus")
    assert whole.narrowed(project="zeus").key == whole.key


def test_what_a_key_did_is_noted_with_its_id(store: Store) -> None:
    """S1s.6."""
    grant = store.keys.check(made(store).text, at=minute(1))
    store.memories.add(grant.scope.within("apollo"), memory("the deploy key is rotated monthly", project="apollo"))
    done = store.audit.find(ANN, limit=1)[0]
    assert (done.action, done.actor, done.key, done.result) == ("remember", "ann", grant.key, "done")


def test_that_a_key_was_used_is_written_once_a_minute(store: Store) -> None:
    issued = made(store)
    used = []
    for seconds in (0, 30, 59, 61, 90, 122):
        store.keys.check(issued.text, at=T0 + timedelta(seconds=seconds))
        last = store.keys.find(ANN)[0].last_used_at
        assert last is not None
        used.append((last - T0).seconds)
    assert used == [0, 0, 0, 61, 61, 122]


def test_in_between_checking_writes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = made(store)
    store.keys.check(issued.text, at=T0)
    database: Any = store.database  # type: ignore[attr-defined]
    for name in ("write", "touch"):
        monkeypatch.delattr(type(database), name)
    assert store.keys.check(issued.text, at=T0 + timedelta(seconds=59)).scope == ANN


def test_a_bad_key_leaves_no_trace_of_use(store: Store) -> None:
    issued = made(store)
    with pytest.raises(InvalidKey):
        store.keys.check(issued.text[:-43] + issued.text[-43:][::-1], at=minute(1))
    assert store.keys.find(ANN)[0].last_used_at is None


@pytest.mark.timed
def test_checking_waits_for_no_writer_of_the_same_owner(store: Store) -> None:
    """A file has one writer, so there it may wait once a minute, when it notes that the key was used."""
    seconds = 10 if isinstance(store, SqliteStore) else 120
    issued = made(store)
    store.keys.check(issued.text, at=T0)
    entered, checked = threading.Event(), threading.Event()

    def write() -> None:
        with store.database.write(ANN):  # type: ignore[attr-defined]
            entered.set()
            checked.wait(6)

    writer = threading.Thread(target=write)
    writer.start()
    entered.wait(20)
    started = time.monotonic()
    try:
        assert store.keys.check(issued.text, at=T0 + timedelta(seconds=seconds)).scope == ANN
    finally:
        checked.set()
        writer.join()
    assert time.monotonic() - started < 5
    assert store.keys.find(ANN)[0].last_used_at == T0 + timedelta(seconds=seconds if seconds > 60 else 0)


@pytest.mark.parametrize(
    "given",
    [
        {"env": "prod"},
        {"permissions": ()},
        {"permissions": ("read", "root")},
        {"expires_at": T0},
        {"name": "x" * 101},
        {"name": "two\nlines"},
    ],
    ids=repr,
)
def test_what_no_key_can_be_made_of_is_refused(store: Store, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        made(store, **given)
    assert store.keys.find(ANN) == []


def test_a_shared_context_has_no_keys(store: Store) -> None:
    context = store.contexts.create(ANN, "team", at=T0)
    with pytest.raises(ScopeError):
        made(store, ANN.in_context(context.id))


def test_making_rotating_and_revoking_are_noted(store: Store, hold: Hold) -> None:
    old = made(store, permissions=PERMISSIONS)
    new = store.keys.rotate(ANN, old.key.id, at=minute(1), until=minute(2))
    store.keys.revoke(ANN, new.key.id, at=minute(3))
    noted = [(one.action, one.subject) for one in store.audit.find(ANN, limit=10)]
    assert noted == [("key.revoke", new.key.id), ("key.rotate", new.key.id), ("key.create", old.key.id)]
    assert store.audit.verify(ANN).whole
