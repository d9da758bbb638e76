"""Logins for the database: from a file, from a program, kept until shortly before they end; never shown."""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.errors import InvalidInput, RecollectError, StoreUnavailable
from recollect.settings import Settings, load
from recollect.store.postgres.address import Address
from recollect.store.postgres.credentials import (
    Credentials,
    FromFile,
    Kept,
    Login,
    Static,
    credentials_for,
    from_command,
    read_login,
)

SECRET = "hunter2-very-secret"
START = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Hands:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at

    def on(self, **time: float) -> None:
        self.at += timedelta(**time)


def program(code: str) -> str:
    return shlex.join([sys.executable, "-I", "-c", code])


def test_a_login_does_not_show_its_password() -> None:
    assert SECRET not in repr(Login("anna", SECRET))
    assert SECRET not in repr(Static("anna", SECRET))


@pytest.mark.parametrize(
    ("text", "user", "password", "end"),
    [
        (SECRET, "anna", SECRET, None),
        (SECRET + "\n", "anna", SECRET, None),
        (SECRET + "\r\n", "anna", SECRET, None),
        (" " + SECRET + " \n", "anna", " " + SECRET + " ", None),
        ("{not json", "anna", "{not json", None),
        ('{"password": "p"}\n', "anna", "p", None),
        ('{"user": "ben", "password": "p", "expires_in": 60}', "ben", "p", START + timedelta(seconds=60)),
        ('{"token": "t", "expire_time": "2026-11-16T13:00:00Z"}', "anna", "t", START + timedelta(hours=1)),
        ('{"token": "t", "expiration_time": "no time"}', "anna", "t", None),
        ('{"user": 7, "password": "p", "expires_in": true}', "anna", "p", None),
        ('{"password": "p", "expires_in": 1e300}', "anna", "p", None),
    ],
)
def test_a_text_is_a_password_or_json(text: str, user: str, password: str, end: datetime | None) -> None:
    assert read_login(text.encode(), "anna", START, "it") == Login(user, password, end)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"two\nlines",
        b"nul\0byte",
        b"\xff\xfe",
        b'{"user": "ben"}',
        b'{"password": ["hunter2-very-secret"]}',
        b"hunter2-very-secret" * 10_000,
    ],
)
def test_what_is_no_login_is_refused_and_not_quoted(data: bytes) -> None:
    with pytest.raises(StoreUnavailable) as raised:
        read_login(data, "anna", START, "the file")
    assert SECRET not in str(raised.value)


def test_a_file_is_read_at_each_connect(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first\n")
    credentials = FromFile(file, "anna")
    assert credentials.fetch() == Login("anna", "first")
    file.write_text("second\n")
    assert credentials.fetch() == Login("anna", "second")
    replacement = tmp_path / "next"
    replacement.write_text("third")
    replacement.replace(file)
    assert credentials.fetch() == Login("anna", "third")
    file.unlink()
    with pytest.raises(StoreUnavailable, match="FileNotFoundError") as raised:
        credentials.fetch()
    assert "database_credentials_file" in (raised.value.hint or "")


def test_a_program_without_an_end_is_started_for_each_connect(tmp_path: Path) -> None:
    code = f"p = open({str(tmp_path / 'n')!r}, 'a+'); p.write('x'); p.seek(0); print('pass-' + p.read())"
    credentials = from_command(program(code), "anna")
    assert [credentials.fetch().password for _ in range(2)] == ["pass-x", "pass-xx"]


def test_a_program_with_an_end_is_started_again_shortly_before_it(tmp_path: Path) -> None:
    """S0.10, S0.11: a token of an hour is renewed ahead of its end."""
    code = (
        f"import json; p = open({str(tmp_path / 'n')!r}, 'a+'); p.write('x'); p.seek(0); "
        "print(json.dumps({'user': 'u' + p.read(), 'password': 'p', 'expires_in': 3600}))"
    )
    hands = Hands()
    credentials = from_command(program(code), clock=hands)
    assert credentials.fetch().user == "ux"
    hands.on(minutes=54)
    assert credentials.fetch().user == "ux"
    hands.on(minutes=2)
    assert credentials.fetch().user == "uxx", "user and token come from one answer"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no-such-program-anywhere", "is not there"),
        (program(f"import sys; print({SECRET!r}); sys.exit(3)"), "ended with 3"),
        (program("pass"), "not a password"),
    ],
    ids=["missing", "failing", "silent"],
)
def test_a_program_that_fails_is_told_without_its_words(command: str, says: str) -> None:
    with pytest.raises(StoreUnavailable, match=says) as raised:
        from_command(command).fetch()
    assert SECRET not in str(raised.value)


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    sleeps = [sys.executable, "-I", "-c", "import time; time.sleep(30)"]
    code = (
        f"import subprocess, time; from pathlib import Path; started = subprocess.Popen({sleeps!r}); "
        f"Path({str(tmp_path / 'pid')!r}).write_text(str(started.pid)); time.sleep(30)"
    )
    with pytest.raises(StoreUnavailable, match="in time"):
        from_command(program(code), timeout=1.0).fetch()
    until = time.monotonic() + 5
    while is_running(int((tmp_path / "pid").read_text())) and time.monotonic() < until:
        time.sleep(0.02)
    assert not is_running(int((tmp_path / "pid").read_text()))


def is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended but was not yet taken note of does not run."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_program_is_not_given_to_a_shell_and_not_given_our_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_LLM_API_KEY", SECRET)
    shown = "import os, sys; print(os.environ.get('RECOLLECT_LLM_API_KEY', 'none') + ' '.join(sys.argv[1:]))"
    password = from_command(f"{program(shown)} '; touch {tmp_path}/made' '$HOME'").fetch().password
    assert password == f"none; touch {tmp_path}/made $HOME"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("command", ["", "  ", "print 'unended"])
def test_a_command_that_cannot_be_one_is_refused_at_once(command: str) -> None:
    with pytest.raises(InvalidInput, match="database_credentials_command"):
        from_command(command)


def counting(hands: Hands, **lasts: float) -> tuple[Kept, list[Login]]:
    made: list[Login] = []

    def make() -> Login:
        made.append(Login("anna", f"token-{len(made)}", hands() + timedelta(**lasts) if lasts else None))
        return made[-1]

    return Kept(make, bearer=True, clock=hands), made


def test_a_refused_login_is_made_anew_but_not_at_every_refusal() -> None:
    hands = Hands()
    credentials, made = counting(hands, hours=1)
    first = credentials.fetch()
    assert credentials.fetch(refused=first) is first, "just made: another would not be better"
    hands.on(seconds=2)
    second = credentials.fetch(refused=first)
    assert second is not first
    assert credentials.fetch(refused=first) is second, "somebody else has already renewed it"
    assert len(made) == 2


def test_a_short_login_is_kept_for_most_of_its_time() -> None:
    hands = Hands()
    credentials, made = counting(hands, seconds=60)
    credentials.fetch()
    hands.on(seconds=53)
    credentials.fetch()
    assert len(made) == 1
    hands.on(seconds=2)
    credentials.fetch()
    assert len(made) == 2


def test_many_connects_at_once_make_one_login() -> None:
    made = []

    def make() -> Login:
        made.append(1)
        time.sleep(0.05)
        return Login("anna", "token", datetime.now(UTC) + timedelta(hours=1))

    credentials = Kept(make, bearer=True)
    threads = [threading.Thread(target=credentials.fetch) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_a_failed_renewal_is_tried_again_at_the_next_connect() -> None:
    answers: list[Callable[[], Login]] = [lambda: Login("anna", "token")]

    def make() -> Login:
        if not answers:
            raise StoreUnavailable("not now")
        return answers.pop()()

    credentials = Kept(make, bearer=True)
    credentials.fetch()
    with pytest.raises(StoreUnavailable):
        credentials.fetch()
    answers.append(lambda: Login("anna", "next"))
    assert credentials.fetch().password == "next"


ADDRESS = Address({"host": "h"}, "anna", SECRET)


def chosen(**settings: object) -> Credentials:
    return credentials_for(replace(Settings(), **settings), ADDRESS)  # type: ignore[arg-type]


def test_the_settings_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "password").write_text("from-file\n")
    assert chosen().fetch() == Login("anna", SECRET)
    file = tmp_path / "password"
    assert chosen(database_credentials="file", database_credentials_file=file).fetch() == Login("anna", "from-file")
    command = chosen(database_credentials="command", database_credentials_command=program("print('printed')"))
    assert command.fetch() == Login("anna", "printed")
    for name in ("DATABRICKS_HOST", "DATABRICKS_CLIENT_ID", "DATABRICKS_CLIENT_SECRET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InvalidInput, match="token server"):
        chosen(database_credentials="oauth")
    with pytest.raises(InvalidInput, match="database_credentials_file"):
        chosen(database_credentials="file")


def test_what_a_setting_may_be_is_checked_and_secrets_are_not_quoted() -> None:
    env = {"RECOLLECT_CONFIG": "/none", "RECOLLECT_DATABASE_CREDENTIALS": "magic"}
    with pytest.raises(RecollectError, match="static, file, command, oauth"):
        load(env)
    with pytest.raises(RecollectError, match="hidden") as raised:
        load({"RECOLLECT_CONFIG": "/none"}, database_url=[SECRET])
    assert SECRET not in str(raised.value)
