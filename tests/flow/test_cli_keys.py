"""`recollect keys`, `quota` and `audit`: what an operator makes, sets and checks, and what is never shown twice."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from recollect.errors import InvalidKey
from recollect.model import Scope
from recollect.store.sqlite.store import SqliteStore
from tests.flow.conftest import Cli

ANN = ("--user", "ann")


@pytest.fixture
def data(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


def opened(data: Path, text: str, *, days: int = 0) -> Scope:
    """What a key opens, so many days from now."""
    store = SqliteStore(data)
    try:
        return store.keys.check(text, at=datetime.now(UTC) + timedelta(days=days)).scope
    finally:
        store.close()


def test_a_key_is_shown_once_on_standard_output_alone(cli: Cli, data: Path) -> None:
    made = cli("keys", "create", "--name", "laptop", *ANN)
    text = made.out.strip()
    assert (made.code, opened(data, text)) == (0, Scope("local", "ann"))
    assert text not in made.err
    assert "For local/ann: read, write; until" in made.err
    listed = cli("keys", *ANN)
    assert text.split("_")[2] in listed.out
    assert "laptop" in listed.out
    later = listed.out + listed.err + cli("keys", "--json", *ANN).out + cli("audit", *ANN).out
    assert text[-43:] not in later


def test_a_key_has_what_was_asked_for(cli: Cli, data: Path) -> None:
    words = ("--permissions", "delete,read", "--env", "test", "--expires", "30d", "--project", "apollo")
    made = cli("keys", "create", *words, *ANN, "--json").json
    assert made["text"].startswith("rec_test_")
    assert made["key"]["permissions"] == ["read", "delete"]
    assert (made["key"]["project"], made["key"]["state"]) == ("apollo", "valid")
    assert opened(data, made["text"]) == Scope("local", "ann", "apollo")
    with pytest.raises(InvalidKey):
        opened(data, made["text"], days=31)


def test_a_key_lasts_ninety_days_unless_it_is_said_otherwise(cli: Cli, data: Path) -> None:
    text = cli("keys", "create", *ANN).out.strip()
    assert opened(data, text, days=89)
    with pytest.raises(InvalidKey):
        opened(data, text, days=90)
    assert opened(data, cli("keys", "create", "--expires", "never", *ANN).out.strip(), days=9_999)


def test_a_rotated_key_works_for_a_week_and_a_revoked_one_no_more(cli: Cli, data: Path) -> None:
    old = cli("keys", "create", *ANN).out.strip()
    ran = cli("keys", "rotate", old.split("_")[2], *ANN)
    new = ran.out.strip()
    assert "works until" in ran.err
    assert opened(data, old, days=6) == opened(data, new, days=80)
    with pytest.raises(InvalidKey):
        opened(data, old, days=7)
    revoked = cli("keys", "revoke", new.split("_")[2], *ANN)
    assert revoked.out.strip() == f"rec_live_{new.split('_')[2]}_… opens nothing any more."
    with pytest.raises(InvalidKey):
        opened(data, new)
    assert {row["state"] for row in cli("keys", "--json", *ANN).json["keys"]} == {"replaced", "revoked"}


def test_without_grace_the_old_key_ends_at_once(cli: Cli, data: Path) -> None:
    old = cli("keys", "create", *ANN).out.strip()
    cli("keys", "rotate", old.split("_")[2], "--grace", "none", *ANN)
    with pytest.raises(InvalidKey):
        opened(data, old)


def test_another_users_key_is_not_found(cli: Cli) -> None:
    text = cli("keys", "create", *ANN).out.strip()
    ran = cli("keys", "revoke", text.split("_")[2], "--user", "bob")
    assert (ran.code, ran.out) == (1, "")
    assert "error: no key" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "revoke"),
        ("keys", "list", "x"),
        ("keys", "create", "--permissions", "root"),
        ("keys", "create", "--expires", "2020-01-01"),
        ("quota", "set"),
        ("quota", "--memories", "5"),
        ("quota", "set", "--memories", "-1"),
        ("quota", "set", "--ingests", "many"),
        ("audit", "verify"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused_and_nothing_is_made(cli: Cli, own_home: Path, words: tuple[str, ...]) -> None:
    ran = cli(*words)
    assert ran.code == 2
    assert "error: " in ran.err
    assert list(own_home.iterdir()) == []


def test_looking_for_keys_makes_nothing(cli: Cli, own_home: Path) -> None:
    assert cli("keys").code == 0
    assert list(own_home.iterdir()) == []


def test_a_quota_set_for_one_user_is_held_to_and_shown(cli: Cli) -> None:
    cli("quota", "set", "--memories", "1", *ANN)
    assert cli("remember", "the first", *ANN).code == 0
    refused = cli("remember", "the second", *ANN)
    assert refused.code == 1
    assert "error: the limit is 1 for memories; 0 left" in refused.err
    assert "hint: Forget what is not needed" in refused.err
    assert cli("remember", "the second", "--user", "bob").code == 0
    shown = cli("quota", *ANN, "--json").json
    assert shown["memories"] == {"used": 1, "limit": 1, "left": 0, "own": True, "hosted_limit": 1}
    assert shown["ingests"] == {"used": 1, "limit": None, "left": None, "own": False, "hosted_limit": 1_000}
    assert "1 of 1, 0 left (set for this user)" in cli("quota", *ANN).out
    cli("quota", "set", "--memories", "default", "--ingests", "1", *ANN)
    assert "the limit is 1 for ingests a day" in cli("remember", "the second", *ANN).err


def test_a_quota_tells_what_holds_here_and_on_a_server_for_others(cli: Cli) -> None:
    """The same store has limits when it is served to others, unless somebody said that there are none."""
    told = cli("quota", *ANN).out
    assert "0, without a limit here; `serve --hosted` lets in 50,000" in told
    assert "0, without a limit here; `serve --hosted` lets in 1,000" in told
    cli("quota", "set", "--memories", "0", *ANN)
    assert "0, without a limit (set for this user)" in cli("quota", *ANN).out
    assert cli("quota", *ANN, "--json").json["memories"]["hosted_limit"] is None


def test_settings_limit_everybody(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_QUOTA_MEMORIES", "1")
    for user in ("ann", "bob"):
        assert [cli("remember", text, "--user", user).code for text in ("one", "two")] == [0, 1]


def test_the_audit_tells_what_was_done_and_that_it_is_whole(cli: Cli) -> None:
    kept = cli("remember", "the walrus sings", *ANN, "--json").json
    memory_id = kept["memory"]["id"]
    cli("forget", memory_id, "--yes", *ANN)
    ran = cli("audit", *ANN)
    assert "walrus" not in ran.out
    assert [line.split()[5] for line in ran.out.splitlines()[1:]][-1] == "remember"
    assert {row["subject"] for row in cli("audit", *ANN, "--only", "remember", "--json").json["entries"]} == {memory_id}
    found = cli("audit", "verify")
    assert found.code == 0
    assert "Nothing is anchored" in found.err
    cli("audit", "anchor")
    assert "of 1 user; 2 of them anchored" in cli("audit", "verify").out


def test_a_changed_audit_exits_2_and_names_the_row(cli: Cli, data: Path) -> None:
    """P49."""
    for text in ("one", "two", "three"):
        cli("remember", text, *ANN)
    cli("remember", "theirs", "--user", "bob")
    cli("audit", "anchor")
    with apsw.Connection(str(data / "recollect.db")) as connection:
        connection.execute("DROP TRIGGER audit_is_not_changed")
        connection.execute("UPDATE audit SET subject = 'x' WHERE number = 2")
    ran = cli("audit", "verify")
    assert ran.code == 2
    assert "broken  local/ann: row 2 was changed" in ran.out
    assert "whole   1 row of 1 user" in ran.out
    assert cli("audit", "verify", "--user", "bob").code == 0
    told = cli("audit", "verify", "--json")
    assert (told.code, told.json["whole"]) == (2, False)
    assert {one["user"]: one["fault"] for one in told.json["chains"]} == {"ann": "row 2 was changed", "bob": None}


def test_a_copy_of_the_anchor_is_a_witness(cli: Cli, data: Path, tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        cli("remember", text, *ANN)
    witness = tmp_path / "witness"
    assert cli("audit", "anchor", "--anchor", str(witness)).code == 0
    with apsw.Connection(str(data / "recollect.db")) as connection:
        connection.execute("DROP TRIGGER audit_is_not_cut")
        connection.execute("DELETE FROM audit WHERE number > 1")
    assert cli("audit", "verify").code == 0
    ran = cli("audit", "verify", "--anchor", str(witness))
    assert ran.code == 2
    assert "rows 2 to 3 are missing at the end" in ran.out


def test_maintenance_anchors(cli: Cli, data: Path) -> None:
    cli("remember", "one", *ANN)
    cli("maintain", *ANN)
    assert (data / "audit.anchor").stat().st_mode & 0o777 == 0o600
    assert "1 of them anchored" in cli("audit", "verify").out


def test_the_key_may_be_kept_elsewhere(cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "secrets" / "key"
    elsewhere.parent.mkdir()
    elsewhere.write_text("0f" * 32)
    monkeypatch.setenv("RECOLLECT_AUDIT_KEY_FILE", str(elsewhere))
    assert cli("remember", "one", *ANN).code == 0
    assert not os.path.lexists(data / "audit.key")
    assert cli("audit", "verify").code == 0
    monkeypatch.delenv("RECOLLECT_AUDIT_KEY_FILE")
    ran = cli("audit", "verify")
    assert ran.code == 2
    assert "which is not here" in ran.out


def test_it_all_works_on_postgresql(cli: Cli, postgres_url: str) -> None:
    here = ("--url", postgres_url, *ANN)
    text = cli("keys", "create", *here).out.strip()
    assert text.split("_")[2] in cli("keys", *here).out
    assert cli("quota", "set", "--memories", "1", *here).code == 0
    assert [cli("remember", said, *here).code for said in ("one", "two")] == [0, 1]
    assert cli("audit", "anchor", "--url", postgres_url).code == 0
    ran = cli("audit", "verify", "--url", postgres_url)
    assert (ran.code, ran.out.strip()) == (0, "whole   3 rows of 1 user; 3 of them anchored")
