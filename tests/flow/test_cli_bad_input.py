"""Bad input of every sort: a clear message, exit 1 or 2, no traceback, and nothing lost or half done."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import apsw
import pytest

from tests.flow.conftest import Cli

KEPT = "The good memory from before"

WRONG = {
    "empty text": (["remember", ""], 2, "content is empty"),
    "blank text": (["remember", " \n\t "], 2, "content is empty"),
    "no text": (["remember"], 2, "TEXT"),
    "huge text": (["remember", "x" * 10_001], 2, "the limit is 10,000"),
    "huge why": (["remember", "x", "--why", "y" * 1_001], 2, "the limit is 1,000"),
    "NUL is refused": (["remember", "a\x00b"], 2, "U+0000"),
    "lone surrogate": (["remember", "a\udcffb"], 2, "U+DCFF"),
    "wrong kind": (["remember", "x", "--kind", "opinion"], 2, "unknown kind 'opinion'"),
    "importance 7": (["remember", "x", "--importance", "7"], 2, "from 0 to 1"),
    "importance nan": (["remember", "x", "--importance", "nan"], 2, "from 0 to 1"),
    "importance word": (["remember", "x", "--importance", "high"], 2, "--importance"),
    "empty tag": (["remember", "x", "--tag", ""], 2, "a tag must be"),
    "long tag": (["remember", "x", "--tag", "t" * 51], 2, "a tag must be"),
    "21 tags": (["remember", "x", *[w for n in range(21) for w in ("--tag", f"t{n}")]], 2, "the limit is 20"),
    "expired already": (["remember", "x", "--expires", "2020-01-01"], 2, "not in the future"),
    "no date": (["remember", "x", "--expires", "soon"], 2, "not a time"),
    "endless span": (["remember", "x", "--expires", "999999w"], 2, "too long a time"),
    "bad session": (["remember", "x", "--session", "a\nb"], 2, "session must be"),
    "long session": (["remember", "x", "--session", "s" * 256], 2, "session must be"),
    "project and global": (["remember", "x", "--global", "--project", "p"], 2, "--project"),
    "empty project": (["remember", "x", "--project", ""], 2, "project must be"),
    "two scopes": (["recall", "x", "--project", "p", "--all-projects"], 2, "not allowed with"),
    "unknown flag": (["recall", "x", "--fast"], 2, "--fast"),
    "no query": (["recall"], 2, "QUERY"),
    "limit 0": (["recall", "x", "-n", "0"], 2, "limit must be"),
    "limit huge": (["recall", "x", "-n", "99999999999999999999"], 2, "--limit"),
    "limit word": (["recall", "x", "-n", "many"], 2, "--limit"),
    "wrong tier": (["recall", "x", "--tier", "page"], 2, "--tier"),
    "wrong mode": (["recall", "x", "--mode", "psychic"], 2, "--mode"),
    "wrong profile": (["recall", "x", "--profile", "best"], 2, "unknown profile"),
    "wrong since": (["recall", "x", "--since", "2026-13-01"], 2, "not a time"),
    "wrong as-of": (["recall", "x", "--as-of", "once"], 2, "not a time"),
    "bad filter session": (["recall", "x", "--session", "\udcff"], 2, "session must be"),
    "min importance": (["list", "--min-importance", "-1"], 2, "from 0 to 1"),
    "max tokens": (["context", "zebra", "--mode", "lexical", "--max-tokens", "0"], 2, "max_tokens"),
    "unknown id": (["show", "019a0000-0000-7000-8000-000000000000"], 1, "no memory, turn or session"),
    "id with SQL": (["show", "' OR 1=1 --x"], 1, "no memory, turn or session"),
    "id not text": (["show", "\udcff"], 2, "id must be"),
    "unknown forget": (["forget", "nope", "--yes"], 1, "no memory nope"),
    "forget nothing": (["forget"], 2, "forget one of"),
    "forget two": (["forget", "x", "--all"], 2, "forget one of"),
    "soft session": (["forget", "--session", "s", "--soft"], 2, "softly"),
    "unknown undo": (["undo", "nope"], 1, "no memory nope"),
    "import nowhere": (["import", "nowhere.jsonl"], 2, "cannot be read"),
    "import a folder": (["import", "."], 2, "cannot be read"),
    "backup nowhere": (["backup", "no/such/folder/b.db"], 2, "no directory"),
    "restore nothing": (["restore", "nothing.db"], 2, "no backup"),
    "export nowhere": (["export", "no/such/folder/e.jsonl"], 2, "cannot be written"),
    "config unknown": (["config", "set", "colour", "red"], 2, "unknown setting"),
    "config wrong": (["config", "set", "recall_limit", "many"], 2, "not a valid int"),
    "config incomplete": (["config", "set", "recall_limit"], 2, "NAME and VALUE"),
    "model source": (["model", "install", "--from", "nowhere"], 2, "there is no nowhere"),
    "model flags": (["model", "--to", "x"], 2, "belong to"),
    "reembed without a model": (["reembed"], 1, "not installed"),
    "wrong verb": (["remembr", "x"], 2, "no verb"),
}


@pytest.fixture
def kept(cli: Cli) -> None:
    assert cli("remember", KEPT).code == 0


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("words", "code", "message"), WRONG.values(), ids=WRONG)
def test_is_refused_with_a_reason_and_changes_nothing(cli: Cli, words: list[str], code: int, message: str) -> None:
    before = cli("export").out.split("\n", 1)[1]
    ran = cli(*words)
    assert ran.code == code
    assert ran.err.startswith("error: ")
    assert message in ran.err
    assert len(ran.err.splitlines()) <= 2
    assert cli("export").out.split("\n", 1)[1] == before


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(("words", "code", "message"), WRONG.values(), ids=WRONG)
def test_is_refused_as_json_too(cli: Cli, words: list[str], code: int, message: str) -> None:
    ran = cli(*words, "--json")
    assert ran.code == code
    assert ran.json["error"]["code"]
    assert message in ran.json["error"]["message"]


def test_binary_from_standard_input_is_refused(command: Cli) -> None:
    assert command("remember", "-", stdin=b"\xff\xfe\x00binary").code == 2
    assert command("remember", "-", stdin=b"a\x00b").code == 2
    assert command("remember", "-", stdin=b"").code == 2
    assert command("remember", "-", stdin=b"y" * 1_000_001).code == 2
    assert command("remember", b"caf\xe9").code == 2
    assert command("recall", b"caf\xe9 \xff", "--mode", "lexical").code == 0
    assert command("remember", "-", stdin=b"good\n").code == 0


def test_sql_in_tags_is_only_text(cli: Cli) -> None:
    tag = "'); DROP TABLE memories; --"
    assert cli("remember", "tagged", "--tag", tag).code == 0
    found = cli("list", "--json", "--tag", tag).json["memories"]
    assert found[0]["tags"] == [tag]
    assert cli("recall", 'tagged" OR "* NEAR(', "--mode", "lexical").code == 0


def test_future_and_naive_dates_follow_the_rule(cli: Cli) -> None:
    assert cli("remember", "x", "--expires", "2999-01-01T00:00:00").code == 0
    memory = cli("list", "--json").json["memories"][0]
    assert memory["expires_at"] == "2999-01-01T00:00:00.000000Z"
    for when in ("2999-01-01", "2026-01-01T10:00", "2026-01-01T10:00+02:00", "3d", "0001-01-01"):
        assert cli("recall", "x", "--mode", "lexical", "--since", when).code == 0


def test_escape_sequences_do_not_reach_the_terminal(cli: Cli) -> None:
    nasty = "bait \x1b[2J\x1b]0;title\x07 \u202egnp.exe and \u200bhidden"
    assert cli("remember", nasty).code == 0
    for words in (["list"], ["recall", "bait", "--mode", "lexical"], ["recall", "bait", "--json"], ["list", "--json"]):
        out = cli(*words).out
        assert "bait" in out
        assert not set("\x1b\x07\u202e\u200b") & set(out)


def test_a_data_directory_that_cannot_be_used(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    assert cli("remember", "x", "--data-dir", str(file)).code == 1
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(real)
    ran = cli("remember", "x", "--data-dir", str(link))
    assert ran.code == 1
    assert "symbolic link" in ran.err
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    ran = cli("remember", "x", "--data-dir", str(shared))
    assert ran.code == 1
    assert f"chmod 700 {shared}" in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_data_directory(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "readonly"
    folder.mkdir(mode=0o500)
    ran = cli("remember", "x", "--data-dir", str(folder))
    assert ran.code == 1
    assert "cannot be made" in ran.err


def test_a_data_directory_below_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ran = cli("remember", "x", "--data-dir", str(tmp_path / "file" / "below"))
    assert ran.code == 1
    assert "error: the data directory" in ran.err


def test_a_newer_schema_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert cli("remember", KEPT, "--data-dir", str(folder)).code == 0
    connection = apsw.Connection(str(folder / "recollect.db"))
    ours = connection.pragma("user_version")
    connection.pragma("user_version", 99)
    connection.close()
    for words in (["remember", "y"], ["recall", "y"], ["doctor"], ["doctor", "--repair"]):
        ran = cli(*words, "--data-dir", str(folder))
        assert ran.code == 1
        assert "schema 99" in ran.err + ran.out
    connection = apsw.Connection(str(folder / "recollect.db"))
    connection.pragma("user_version", ours)
    connection.close()
    assert KEPT in cli("list", "--data-dir", str(folder)).out


def test_a_database_of_another_program_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    connection = apsw.Connection(str(folder / "recollect.db"))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    for words in (["remember", "y"], ["doctor", "--repair"]):
        ran = cli(*words, "--data-dir", str(folder))
        assert ran.code == 1
        assert "another program" in ran.err + ran.out


def test_a_data_directory_that_became_read_only(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data"
    assert cli("remember", KEPT, "--data-dir", str(folder)).code == 0
    opened = os.open

    def read_only(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path).startswith(str(folder)) and flags & (os.O_RDWR | os.O_WRONLY) and not flags & os.O_EXCL:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, flags, mode, dir_fd=dir_fd)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)
        ran = cli("list", "--data-dir", str(folder))
    assert ran.code == 1
    assert f"error: the data directory {folder} cannot be written: Read-only file system" in ran.err
    assert "RECOLLECT_DATA_DIR" in ran.err
    assert "Remove it" not in ran.err


BROKEN = {
    "no TOML": (b"threads = 1\nrecall_limit = = 3\n", "at line 2"),
    "no UTF-8": (b"threads = 1\nuser = '\xff'\n", "not UTF-8 text (at line 2)"),
    "unknown": (b"threads = 1\n\n'recall_limits' = 3\n", "unknown setting 'recall_limits' (at line 3)"),
    "unknown table": (b"threads = 1\n[llm_model]\n[price]\n", "unknown setting 'price' (at line 3)"),
    "wrong value": (b"llm_url = 'x'\nllm = 3\n", "(at line 2)"),
}


@pytest.mark.parametrize(("content", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_config_file_is_named_with_its_line(cli: Cli, own_home: Path, content: bytes, said: str) -> None:
    file = own_home / ".config" / "recollect" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    for words in (["recall", "x"], ["doctor"], ["config"], ["config", "set", "threads", "2"]):
        ran = cli(*words)
        assert ran.code == 2
        assert str(file) in ran.err
        assert said in ran.err
        assert ran.err.endswith("hint: Correct the file, or move it away.\n")
    assert file.read_bytes() == content


def test_an_unexpected_failure_is_one_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.cli.verbs import whoami

    def fail(args: object, console: object) -> int:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr(whoami, "run", fail)
    ran = cli("whoami")
    assert ran.code == 1
    assert ran.err.splitlines()[0] == "error: unexpected ZeroDivisionError: oh no"
    assert "RECOLLECT_DEBUG=1" in ran.err
    assert cli("whoami", "--json").json["error"]["code"] == "unexpected"
