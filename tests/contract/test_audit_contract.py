"""The audit: who did what, when, how it went; whatever is done to its rows afterwards shows (P49, T27, S1s.6)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import InvalidInput, QuotaExceeded, ScopeError, StoreError, StoreUnavailable
from recollect.model import Scope, Session
from recollect.store.port import Store
from recollect.store.ports.access import Limits
from recollect.store.ports.audit import Chain
from recollect.store.ports.keeping import Ages
from recollect.store.rows.audit import Note, audit_many
from recollect.store.signing import Signer
from recollect.store.sqlite.store import SqliteStore
from tests.contract.samples import ANN, BOB, EVE, LATER, T0, memory, minute, talk
from tests.contract.terms_fixture import Hold, Outside
from tests.contract.terms_fixture import hold as hold
from tests.contract.terms_fixture import outside as outside

pytestmark = pytest.mark.usefixtures("hold")


def fill(store: Store, count: int = 5, scope: Scope = ANN, words: str = "fact") -> None:
    for number in range(count):
        store.memories.add(scope, memory(f"{words} {number}"))


def chain(store: Store, scope: Scope = ANN, **given: Any) -> Chain:
    (found,) = store.audit.verify(scope, **given).chains
    return found


def test_what_is_done_is_noted_with_who_when_how_it_went_and_how_long_it_took(store: Store) -> None:
    kept, _ = store.memories.add(Scope("acme", "ann", key="k" * 16), memory("walrus"))
    store.keeping.forget_memory(ANN, kept.id, at=minute(5))
    forgotten, remembered = store.audit.find(ANN, limit=10)
    assert (remembered.number, remembered.action, remembered.subject) == (1, "remember", kept.id)
    assert (remembered.actor, remembered.key, remembered.result) == ("ann", "k" * 16, "done")
    assert remembered.duration_ms is not None
    assert 0 <= remembered.duration_ms < 60_000
    assert (forgotten.number, forgotten.action, forgotten.at, forgotten.key) == (2, "forget", minute(5), None)


def test_no_content_stands_in_the_audit(store: Store, outside: Outside) -> None:
    store.memories.add(ANN, memory("the walrus sings", why="because", tags=("tusk",), slot="animal"))
    rows = repr(outside("SELECT * FROM audit"))
    assert "remember" in rows
    assert not [word for word in ("walrus", "because", "tusk", "animal") if word in rows]


def test_what_is_recorded_is_noted_once_a_session_with_its_key_and_how_much_it_was(store: Store) -> None:
    """Whoever has to know what a leaked key recorded finds it here, also when it went into many sessions."""
    keyed = Scope("acme", "ann", key="k" * 16)
    first, second = talk("chat:1", "hello", "assistant: hi"), talk("chat:2", "the walrus sings")
    store.sessions.append(keyed, [*first, *second], {"chat:1": "Greetings"})
    store.sessions.append(keyed, first)
    (one, other) = reversed(store.audit.find(ANN, limit=10))
    assert (one.action, one.subject, one.details) == ("record", first[0].key, {"events": 2, "title": True})
    assert (other.action, other.subject, other.details) == ("record", second[0].key, {"events": 1})
    assert {(entry.actor, entry.key) for entry in (one, other)} == {("ann", "k" * 16)}
    assert (one.session, other.session) == ("chat:1", "chat:2")
    assert store.audit.verify().whole


def test_a_session_that_is_only_renamed_is_noted_and_one_that_stays_as_it_is_is_not(store: Store) -> None:
    said = talk("chat:1", "hello")
    for title in ("One", "One", "Two"):
        store.sessions.append(ANN, said, {"chat:1": title})
    noted = [(entry.subject, entry.details) for entry in store.audit.find(ANN, limit=10)]
    assert noted == [("session", {"events": 0, "title": True}), (said[0].key, {"events": 1, "title": True})]


def test_what_is_swept_of_agents_own_files_is_not_noted_here(store: Store) -> None:
    """The transcripts are noted, file by file; a sweep of a year must not bury what keys did."""
    about = Session("claude:one", "claude", started_at=T0, ended_at=T0)
    store.captures.ingest(ANN, about, talk("claude:one", "hello", "assistant: hi"))
    assert store.audit.find(ANN, limit=10) == []


def test_of_a_forgotten_session_the_audit_holds_neither_words_nor_its_name(store: Store, outside: Outside) -> None:
    store.sessions.append(ANN, talk("ann's divorce", "the walrus sings"), {"ann's divorce": "of the tusk"})
    assert store.audit.find(ANN, limit=1)[0].session == "ann's divorce"
    store.keeping.forget_session(ANN, "ann's divorce", at=T0)
    rows = repr(outside("SELECT * FROM audit"))
    assert not [word for word in ("walrus", "tusk", "divorce") if word in rows]
    assert [(entry.action, entry.session) for entry in store.audit.find(ANN, limit=9)] == [
        ("forget", None),
        ("record", None),
    ]
    assert store.audit.verify().whole


def test_a_recording_that_fails_is_not_noted(store: Store, hold: Hold) -> None:
    store.sessions.append(ANN, talk("chat:1", "hello"))
    hold(limits=Limits(ingests=1))
    with pytest.raises(QuotaExceeded):
        store.sessions.append(ANN, talk("chat:2", "more"), {"chat:2": "More"})
    assert len(store.audit.find(ANN, limit=9)) == 1
    assert store.sessions.get(ANN, "chat:2") is None


def test_what_the_store_does_by_itself_is_nobodys(store: Store) -> None:
    kept, _ = store.memories.add(ANN, memory("old"))
    store.keeping.upkeep(now=LATER, ages=Ages(LATER, 5, T0, T0))
    archived = store.audit.find(ANN, limit=1)[0]
    assert (archived.action, archived.subject, archived.actor) == ("archive", kept.id, "upkeep")


def test_reads_and_refusals_can_be_noted_too(store: Store) -> None:
    scope = Scope("acme", "ann", key="a" * 16)
    store.audit.note(scope, "recall", "memories", at=T0, result="refused", duration_ms=12, details={"hits": 0})
    noted = store.audit.find(ANN, limit=1)[0]
    assert (noted.action, noted.result, noted.duration_ms, noted.key) == ("recall", "refused", 12, "a" * 16)
    assert noted.details == {"hits": 0}
    assert store.audit.verify().whole


def test_it_is_read_newest_first_and_narrowed(store: Store) -> None:
    fill(store, 4)
    first = store.audit.find(ANN, limit=10)[-1]
    store.keeping.forget_memory(ANN, first.subject, at=T0)
    assert [one.number for one in store.audit.find(ANN, limit=2)] == [5, 4]
    assert [one.number for one in store.audit.find(ANN, limit=2, offset=2)] == [3, 2]
    assert [one.number for one in store.audit.find(ANN, limit=9, action="forget")] == [5]
    assert [one.number for one in store.audit.find(ANN, limit=9, subject=first.subject)] == [5, 1]
    assert [one.number for one in store.audit.find(ANN, limit=9, subject=first.subject, look=4)] == [5]
    assert [one.number for one in store.audit.find(ANN, limit=9, look=2)] == [5, 4]


@pytest.mark.parametrize("scope", [BOB, EVE, Scope("never", "seen")], ids=["user", "tenant", "nobody"])
def test_nobody_reads_anothers_audit(store: Store, scope: Scope) -> None:
    fill(store, 2)
    assert store.audit.find(scope, limit=10) == []


def test_a_projects_scope_does_not_see_the_owners_audit(store: Store) -> None:
    with pytest.raises(ScopeError):
        store.audit.find(ANN.within("apollo"), limit=10)


def test_a_whole_audit_is_said_to_be_whole_with_its_counts(store: Store) -> None:
    fill(store, 5)
    fill(store, 3, BOB)
    assert store.audit.anchor(at=T0) == 2
    fill(store, 2, words="more")
    verdict = store.audit.verify()
    assert verdict.whole
    assert {(one.user, one.rows, one.anchored) for one in verdict.chains} == {("ann", 7, 5), ("bob", 3, 3)}


TAMPERINGS = {
    "a subject changed": ("UPDATE audit SET subject = 'x' WHERE number = 3", "row 3 was changed"),
    "an actor changed": ("UPDATE audit SET actor = 'eve' WHERE number = 3", "row 3 was changed"),
    "a key id changed": ("UPDATE audit SET key_id = 'x' WHERE number = 1", "row 1 was changed"),
    "a result changed": ("UPDATE audit SET result = 'refused' WHERE number = 5", "row 5 was changed"),
    "a duration changed": ("UPDATE audit SET duration_ms = 77777 WHERE number = 2", "row 2 was changed"),
    "a time changed": ("UPDATE audit SET at = '2026-01-01T00:00:00.000000Z' WHERE number = 4", "row 4 was changed"),
    "details changed": ("UPDATE audit SET details = '[]' WHERE number = 4", "row 4 was changed"),
    "a hash changed": ("UPDATE audit SET hash = prev WHERE number = 4", "row 4 was changed"),
    "a row deleted": ("DELETE FROM audit WHERE number = 3", "row 3 is missing"),
    "the first deleted": ("DELETE FROM audit WHERE number = 1", "row 1 is missing"),
    "a row deleted and the rest moved up": (
        "DELETE FROM audit WHERE number = 3; UPDATE audit SET number = number - 1 WHERE number = 4;"
        "UPDATE audit SET number = number - 1 WHERE number = 5",
        "row 3 does not follow the one before it",
    ),
    "two rows swapped": (
        "UPDATE audit SET number = 99 WHERE number = 2; UPDATE audit SET number = 2 WHERE number = 3;"
        "UPDATE audit SET number = 3 WHERE number = 99",
        "row 2 does not follow the one before it",
    ),
    "a row forged at the end": (
        "INSERT INTO audit ({columns}) SELECT {copied} FROM audit WHERE number = 5",
        "row 6 was changed",
    ),
    "a row put in without a number": (
        "INSERT INTO audit ({plain}) SELECT {plain} FROM audit WHERE number = 5",
        "what was noted before the chain began was changed",
    ),
    "a chained row made an old one": (
        "UPDATE audit SET number = NULL WHERE number = 1",
        "row 1 is missing",
    ),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_whatever_is_done_to_the_rows_shows_and_the_first_bad_one_is_named(
    store: Store, outside: Outside, what: str
) -> None:
    """P49: edited, deleted, inserted, reordered, all without the key."""
    fill(store, 5)
    assert chain(store).fault is None
    plain = f"{_tenant(store)}owner, at, action, subject, details"
    columns = f"{plain}, number, prev, hash, actor, key_id, result, duration_ms, signed_by"
    copied = f"{plain}, 6, hash, hash, actor, key_id, result, duration_ms, signed_by"
    statement, fault = TAMPERINGS[what]
    for one in statement.format(plain=plain, columns=columns, copied=copied).split(";"):
        outside(one)
    assert chain(store).fault == fault
    assert not store.audit.verify().whole


def _tenant(store: Store) -> str:
    return "" if isinstance(store, SqliteStore) else "tenant, "


def test_rows_cut_off_at_the_end_are_missed_by_the_anchor(store: Store, outside: Outside) -> None:
    fill(store, 5)
    store.audit.anchor(at=T0)
    outside("DELETE FROM audit WHERE number > 3")
    found = chain(store)
    assert (found.rows, found.anchored) == (3, 5)
    assert found.fault == "rows 4 to 5 are missing at the end: the anchor of 2026-03-01T12:00:00.000000Z has them"


def test_rows_cut_off_and_written_anew_are_not_the_anchored_ones(store: Store, outside: Outside) -> None:
    fill(store, 5)
    store.audit.anchor(at=T0)
    outside("DELETE FROM audit WHERE number > 3")
    fill(store, 4, words="other")
    assert chain(store).fault == "row 5 is not the one that was anchored at 2026-03-01T12:00:00.000000Z"


def test_a_chain_rewritten_whole_with_the_key_is_not_the_anchored_one(store: Store, outside: Outside) -> None:
    """P49: who has the database and the key can sign anything, but not what was witnessed elsewhere."""
    fill(store, 3)
    store.audit.anchor(at=T0)
    outside("DELETE FROM audit")
    fill(store, 8, words="other")
    assert "row 3 is not the one that was anchored" in str(chain(store).fault)


def test_an_owner_whose_rows_are_all_gone_is_missed(store: Store, outside: Outside) -> None:
    fill(store, 3)
    fill(store, 2, BOB)
    store.audit.anchor(at=T0)
    outside("DELETE FROM audit WHERE actor = 'bob'")
    faults = {one.user: one.fault for one in store.audit.verify().chains}
    assert faults["ann"] is None
    assert "rows 1 to 2 are missing at the end" in str(faults["bob"])


def test_a_copy_of_the_anchor_kept_elsewhere_sees_what_the_own_one_no_longer_does(
    store: Store, outside: Outside, tmp_path: Path
) -> None:
    fill(store, 5)
    elsewhere = tmp_path / "elsewhere"
    store.audit.anchor(at=T0)
    elsewhere.write_bytes((tmp_path / "audit.anchor").read_bytes())
    outside("DELETE FROM audit WHERE number > 2")
    (tmp_path / "audit.anchor").unlink()
    assert chain(store).fault is None
    assert "rows 3 to 5 are missing" in str(chain(store, anchor=elsewhere).fault)
    with pytest.raises(InvalidInput):
        store.audit.verify(anchor=tmp_path / "not there")


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda line: line.replace('"number": 5', '"number": 3'), "line 1 of audit.anchor was changed"),
        (lambda line: line.replace('"user": "ann"', '"user": "bob"'), "line 1 of audit.anchor was changed"),
        (lambda line: "{}\n", "line 1 of audit.anchor is no anchor"),
        (lambda line: "not JSON\n", "line 1 of audit.anchor is no anchor"),
        (lambda line: line.replace('"signed_by": "', '"signed_by": "0'), "which is not here"),
    ],
    ids=["number", "owner", "empty", "text", "key"],
)
def test_an_anchor_that_nobody_with_the_key_wrote_is_not_believed(
    store: Store, tmp_path: Path, change: Callable[[str], str], fault: str
) -> None:
    fill(store, 5)
    store.audit.anchor(at=T0)
    file = tmp_path / "audit.anchor"
    file.write_text(change(file.read_text()))
    verdict = store.audit.verify()
    assert not verdict.whole
    assert fault in verdict.faults[0]


def test_an_anchor_grows_only_when_a_chain_did(store: Store, tmp_path: Path) -> None:
    fill(store, 2)
    assert [store.audit.anchor(at=T0), store.audit.anchor(at=T0)] == [1, 0]
    fill(store, 1, words="more")
    assert store.audit.anchor(at=T0) == 1
    lines = [json.loads(line) for line in (tmp_path / "audit.anchor").read_text().splitlines()]
    assert [(line["tenant"], line["user"], line["number"]) for line in lines] == [
        ("acme", "ann", 2),
        ("acme", "ann", 3),
    ]


def test_rows_signed_with_another_key_are_told_from_changed_ones(store: Store, hold: Hold, tmp_path: Path) -> None:
    """A forger has a key of their own, or none."""
    fill(store, 2)
    own = tmp_path / "audit.key"
    hold(signer=Signer(tmp_path / "other.key"))
    fill(store, 1, words="forged")
    hold(signer=Signer(own))
    assert str(chain(store).fault).startswith("row 3 is signed with the key ")
    assert str(chain(store).fault).endswith(", which is not here")


def test_a_key_is_exchanged_by_putting_the_new_one_first(store: Store, hold: Hold, tmp_path: Path) -> None:
    fill(store, 2)
    own = tmp_path / "audit.key"
    own.write_text("ab" * 32 + "\n" + own.read_text())
    hold(signer=Signer(own))
    fill(store, 2, words="more")
    assert (chain(store).rows, chain(store).fault) == (4, None)
    assert len({signed for (signed,) in _signed(store)}) == 2


def _signed(store: Store) -> list[Any]:
    with store.database.read(ANN) as tx:  # type: ignore[attr-defined]
        return [(row[9],) for row in tx.run("audit.page", {"owner": tx.rows.owner, "number": 0, "row": 0, "limit": 9})]


@pytest.mark.parametrize("text", ["", "short\n", "zz" * 32, "ab" * 31])
def test_a_key_file_that_holds_no_key_is_refused(store: Store, hold: Hold, tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine"
    file.write_text(text)
    hold(signer=Signer(file, ours=False))
    with pytest.raises(StoreUnavailable, match="does not hold the audit's keys"):
        fill(store, 1)


def test_the_key_is_made_once_and_only_its_user_can_read_it(store: Store, hold: Hold, tmp_path: Path) -> None:
    file = tmp_path / "audit.key"
    assert not file.exists()
    fill(store, 1)
    made = file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    hold(signer=Signer(file))
    fill(store, 1, words="more")
    assert file.read_text() == made
    file.chmod(0o644)
    hold(signer=Signer(file))
    with pytest.raises(StoreUnavailable, match="others may read"):
        fill(store, 1, words="again")


def test_a_key_file_an_operator_names_must_be_there(store: Store, hold: Hold, tmp_path: Path) -> None:
    hold(signer=Signer(tmp_path / "named", ours=False))
    with pytest.raises(StoreUnavailable, match="cannot be read"):
        fill(store, 1)
    assert not (tmp_path / "named").exists()


def test_what_was_noted_before_there_was_a_chain_is_signed_by_its_first_row(store: Store, outside: Outside) -> None:
    with store.database.write(ANN) as tx:  # type: ignore[attr-defined]
        tx.ensure()
    tenant = _tenant(store)
    for subject in ("a", "b"):
        outside(
            f"INSERT INTO audit ({tenant}owner, at, action, subject) "
            f"SELECT {tenant}row, '2025-01-01T00:00:00.000000Z', 'remember', '{subject}' FROM owners"
        )
    fill(store, 2)
    found = chain(store)
    assert (found.rows, found.before, found.fault) == (2, 2, None)
    assert [one.number for one in store.audit.find(ANN, limit=9)] == [2, 1, None, None]
    outside("UPDATE audit SET subject = 'c' WHERE subject = 'a'")
    assert chain(store).fault == "what was noted before the chain began was changed"


@pytest.mark.parametrize("statement", ["UPDATE audit SET subject = 'x'", "DELETE FROM audit"])
def test_the_store_itself_cannot_change_the_audit(store: Store, statement: str) -> None:
    """T27: append-only, for us too."""
    fill(store, 2)
    with pytest.raises(StoreError), store.database.write(ANN) as tx:  # type: ignore[attr-defined]
        tx.connection.execute(statement)
    assert chain(store) == Chain("acme", "ann", 2)


def test_many_writers_make_one_chain_each_owner(store: Store) -> None:
    def write(scope: Scope, words: str) -> None:
        fill(store, 6, scope, words)

    threads = [
        threading.Thread(target=write, args=(scope, f"{number}")) for scope in (ANN, BOB, EVE) for number in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    verdict = store.audit.verify()
    assert verdict.whole
    assert [one.rows for one in verdict.chains] == [18, 18, 18]


def test_a_write_that_fails_leaves_no_gap(store: Store) -> None:
    fill(store, 2)

    def fail() -> None:
        with store.database.write(ANN):  # type: ignore[attr-defined]
            store.memories.add(ANN, memory("lost"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    fill(store, 1, words="more")
    assert chain(store) == Chain("acme", "ann", 3)


def test_within_one_transaction_the_chain_goes_on(store: Store) -> None:
    with store.database.write(ANN):  # type: ignore[attr-defined]
        fill(store, 3)
        fill(store, 3, words="more")
    assert chain(store) == Chain("acme", "ann", 6)


@pytest.mark.timed
@pytest.mark.slow
def test_a_hundred_thousand_rows_are_verified_in_seconds(store: Store) -> None:
    notes = [Note(T0, "remember", f"m{number}", {"kind": "fact"}) for number in range(10_000)]
    for _ in range(10):
        with store.database.write(ANN) as tx:  # type: ignore[attr-defined]
            audit_many(tx, tx.ensure().owner, notes)
    started = time.monotonic()
    assert chain(store) == Chain("acme", "ann", 100_000)
    assert time.monotonic() - started < 15
