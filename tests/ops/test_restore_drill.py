"""S1.89, S1s.11: a backup that was never restored is a hope. Backed up, encrypted, restored: the same answers."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.conftest import Cli
from tests.ops.files import OPS
from tests.services.stores import Emptied

pytestmark = pytest.mark.slow
SAID = (
    ("The staging database listens on port 5433", "ann"),
    ("We ship on Thursdays because the on-call rota starts on Friday", "ann"),
    ("Erwin prefers tabs over spaces", "bob"),
)
QUESTIONS = (("which port has the staging database", "ann"), ("when do we ship", "ann"), ("tabs or spaces", "bob"))


def program(tmp_path: Path) -> Path:
    """The command as a script finds it."""
    file = tmp_path / "recollect"
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m recollect "$@"\n')
    file.chmod(0o755)
    return file


def made(folder: Path, tmp_path: Path, **given: str) -> Path:
    """What backup.sh makes in this folder."""
    environment = {**os.environ, "RECOLLECT": str(program(tmp_path)), **given}
    ended = subprocess.run(
        ["sh", str(OPS / "backup.sh"), str(folder)], env=environment, capture_output=True, text=True, check=True
    )
    return Path(ended.stdout.strip())


def answers(cli: Cli, *where: str) -> list[list[str]]:
    found = []
    for question, user in QUESTIONS:
        hits = cli("recall", question, "--user", user, "--json", *where).json["hits"]
        found.append([hit["text"] if "text" in hit else hit["content"] for hit in hits])
    assert all(found), "nothing was recalled"
    return found


def elsewhere(address: str, tmp_path: Path, emptied: Emptied | None) -> tuple[str, ...]:
    """An empty store of the same kind."""
    if not address:
        return ("--data-dir", str(tmp_path / "restored"))
    assert emptied is not None
    return ("--url", emptied.url(2))


@pytest.fixture
def empty(request: pytest.FixtureRequest, each_store: str, tmp_path: Path) -> tuple[str, ...]:
    stores: Emptied | None = request.getfixturevalue("emptied") if each_store else None
    return elsewhere(each_store, tmp_path, stores)


def test_the_nightly_backup_restores_to_the_same_answers(
    cli: Cli, tmp_path: Path, empty: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And to the same audit, where its key is: that is kept apart from backups."""
    (tmp_path / "audit.key").write_text("ab" * 32 + "\n")
    monkeypatch.setenv("RECOLLECT_AUDIT_KEY_FILE", str(tmp_path / "audit.key"))
    for text, user in SAID:
        assert cli("remember", text, "--user", user).code == 0
    before = answers(cli)
    folder = tmp_path / "backups"
    folder.mkdir()
    file = made(folder, tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [noted] = cli("backup", "--list", "--json").json["backups"]
    assert noted["path"] == str(file)
    assert cli("restore", str(file), "--sha256", noted["sha256"], *empty).code == 0
    assert cli("maintain", *empty).code == 0
    assert answers(cli, *empty) == before
    assert cli("audit", "verify", *empty).code == 0


@pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not here")
def test_an_encrypted_backup_is_no_use_without_the_key_and_whole_with_it(
    cli: Cli, tmp_path: Path, empty: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S1s.11: nothing plain is left beside it, and `forget` still tells that a backup may hold it."""
    home = tmp_path / "gnupg"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    # Unattended, so without a passphrase; the agent would outlive the test.
    quiet = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    key = ["--quick-generate-key", "backup@recollect.test", "rsa2048", "encrypt", "never"]
    try:
        subprocess.run([*quiet, *key], check=True, capture_output=True)
        for text, user in SAID:
            assert cli("remember", text, "--user", user).code == 0
        before = answers(cli)
        folder = tmp_path / "backups"
        folder.mkdir()
        file = made(folder, tmp_path, BACKUP_GPG_RECIPIENT="backup@recollect.test")
        assert [one.name for one in folder.iterdir()] == [file.name]
        assert file.name.endswith(".rec.gpg")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert b"staging database" not in file.read_bytes()
        [noted] = cli("backup", "--list", "--json").json["backups"]
        assert "1 backup may hold it" in cli("forget", "--all", "--yes", "--user", "bob").out
        plain = tmp_path / "plain.rec"
        subprocess.run([*quiet, "--output", str(plain), "--decrypt", str(file)], check=True, capture_output=True)
        assert cli("restore", str(plain), "--sha256", noted["sha256"], *empty).code == 0
        assert answers(cli, *empty) == before
    finally:
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False)


def test_old_encrypted_backups_go_and_nothing_else_does(cli: Cli, tmp_path: Path) -> None:
    assert cli("remember", SAID[0][0]).code == 0
    folder, tools = tmp_path / "backups", tmp_path / "tools"
    folder.mkdir()
    tools.mkdir()
    age = tools / "age"  # as age takes its arguments; what it does is not ours to test
    age.write_text(
        '#!/bin/sh\nwhile [ $# -gt 1 ]; do case $1 in --output) out=$2;; esac; shift; done\ncp "$1" "$out"\n'
    )
    age.chmod(0o755)
    names = ("recollect-20200101T000000Z.rec.age", "recollect-20200101T000000Z.rec.gpg", "precious.age", "notes.txt")
    for name in names:
        (folder / name).write_text("x")
        os.utime(folder / name, (1, 1))
    path = f"{tools}:{os.environ['PATH']}"
    file = made(folder, tmp_path, BACKUP_AGE_RECIPIENTS="keys.txt", PATH=path, BACKUP_KEEP_DAYS="5")
    assert {one.name for one in folder.iterdir()} == {file.name, "precious.age", "notes.txt"}


def test_a_backup_that_fails_leaves_nothing_and_says_so(cli: Cli, tmp_path: Path) -> None:
    assert cli("remember", SAID[0][0]).code == 0
    folder = tmp_path / "backups"
    folder.mkdir()
    with pytest.raises(subprocess.CalledProcessError):
        made(folder, tmp_path, BACKUP_AGE_RECIPIENTS="keys.txt", PATH="/usr/bin:/bin")  # there is no age here
    assert not list(folder.iterdir())
