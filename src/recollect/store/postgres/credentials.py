"""Who connects: a login for each new connection, from wherever the deployment keeps it.

`Credentials` is the port. A login is in the address (`Static`), in a file that something else keeps up to date
(`FromFile`), printed by a program (`FromCommand`), or minted by an OAuth server (minting.py). It is asked for at each
connect, so a rotated password or a token that lives an hour is simply the next answer. A text is a password, with or
without a line break at its end, or JSON such as `{"user": "...", "password": "...", "expires_in": 3600}`; what the
Databricks CLI prints (`token`, `expire_time`) is understood too. No secret is ever shown.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from recollect.clock import Clock, now, parse_time
from recollect.errors import InvalidInput, StoreUnavailable
from recollect.settings import PREFIX, Settings, environment
from recollect.store.postgres.address import Address

MAX_BYTES = 65_536
COMMAND_SECONDS = 30.0
EARLY = timedelta(minutes=5)  # how long before its end a login is not given out any more ...
EARLY_SHARE = 0.1  # ... or this part of its whole time, if that is less
RENEW_AFTER = timedelta(seconds=1)  # a refused login is made anew at most this often


@dataclass(frozen=True, slots=True)
class Login:
    """Who, with what, and until when."""

    user: str  # empty: libpq's own choice
    password: str = field(repr=False)
    expires_at: datetime | None = None


class Credentials(Protocol):
    """Where logins come from; safe to share between threads."""

    changing: bool  # whether asking again may give another answer
    bearer: bool  # whether the password alone lets anyone in elsewhere, so that it must not cross a network unencrypted

    def fetch(self, refused: Login | None = None) -> Login:
        """The login of now; `refused` is one the server has just not taken. Raises StoreUnavailable."""
        ...


class Static:
    """What the address says, or what libpq finds."""

    changing = False
    bearer = False

    def __init__(self, user: str = "", password: str = "") -> None:
        self._login = Login(user, password)

    def fetch(self, refused: Login | None = None) -> Login:
        return self._login


class FromFile:
    """A file with the password, read at each connect: it may be a mounted secret that is replaced at any time."""

    changing = True
    bearer = False

    def __init__(self, path: Path, user: str = "", *, clock: Clock = now) -> None:
        self._path, self._user, self._clock = path, user, clock

    def fetch(self, refused: Login | None = None) -> Login:
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise StoreUnavailable(
                f"the file with the database's password cannot be read ({type(error).__name__})",
                hint="Check the setting database_credentials_file.",
            ) from None
        return read_login(data, self._user, self._clock(), "the file with the database's password")


class Kept:
    """A login that is made when needed, and kept until shortly before it ends."""

    changing = True

    def __init__(self, make: Callable[[], Login], *, bearer: bool, clock: Clock = now) -> None:
        self.bearer = bearer
        self._make, self._clock = make, clock
        self._turn = threading.Lock()
        self._login: Login | None = None
        self._made_at = clock()

    def fetch(self, refused: Login | None = None) -> Login:
        with self._turn:  # one at a time: the others take what the first has made
            at = self._clock()
            if self._login is not None and not self._is_over(self._login, at):
                fresh = at - self._made_at < RENEW_AFTER
                if refused is not self._login or fresh:
                    return self._login
            self._login, self._made_at = self._make(), at
            return self._login

    def _is_over(self, login: Login, at: datetime) -> bool:
        if login.expires_at is None:
            return True
        early = min(EARLY, (login.expires_at - self._made_at) * EARLY_SHARE)
        return at >= login.expires_at - early


def from_command(command: str, user: str = "", *, timeout: float = COMMAND_SECONDS, clock: Clock = now) -> Kept:
    """A program that prints the login; it is started again when that has ended, or at each connect if it has no end."""
    try:
        words = shlex.split(command)
    except ValueError:
        raise InvalidInput("the setting database_credentials_command has a quote that does not end") from None
    if not words:
        raise InvalidInput("the setting database_credentials_command is empty")

    def make() -> Login:
        return read_login(_output(words, timeout), user, clock(), "what the database's credentials program printed")

    return Kept(make, bearer=False, clock=clock)


def read_login(data: bytes, user: str, at: datetime, what: str) -> Login:
    """A login out of a text: a password alone, or JSON with more."""
    try:
        text = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise StoreUnavailable(f"{what} is not text") from None
    found = _json(text)
    secret = text if found is None else found.get("password", found.get("token"))
    if not isinstance(secret, str) or not secret or len(data) > MAX_BYTES or any(end in secret for end in "\r\n\0"):
        raise StoreUnavailable(f"{what} is not a password of one line, nor JSON with one")
    if found is None:
        return Login(user, secret)
    named = found.get("user", found.get("username"))
    return Login(named if isinstance(named, str) and named else user, secret, read_end(found, at))


def read_end(found: Mapping[str, Any], at: datetime) -> datetime | None:
    """When a login ends, however it is said; None when nothing readable is."""
    seconds = found.get("expires_in")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 10**9:
        return at + timedelta(seconds=seconds)
    for name in ("expires_at", "expire_time", "expiration_time"):
        if isinstance(found.get(name), str):
            with suppress(InvalidInput):
                return parse_time(found[name])
    return None


def _json(text: str) -> dict[str, Any] | None:
    """The object in a text; a password may begin with a brace too."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _output(words: list[str], timeout: float) -> bytes:
    """What a program prints, started without a shell and without our own secrets in its environment."""
    program = shutil.which(words[0])
    if program is None:
        raise _failed("is not there")
    kept = {name: value for name, value in environment().items() if not name.startswith(PREFIX)}
    try:
        process = subprocess.Popen(
            [program, *words[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=kept,
            start_new_session=True,
        )
    except OSError as error:
        raise _failed(f"cannot be started ({type(error).__name__})") from None
    with process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise _failed("did not answer in time") from None
    if process.returncode:
        raise _failed(f"ended with {process.returncode}")
    return said


def _failed(what: str) -> StoreUnavailable:
    return StoreUnavailable(
        f"the database's credentials program {what}", hint="Check the setting database_credentials_command."
    )


def credentials_for(settings: Settings, address: Address) -> Credentials:
    """What the settings choose."""
    if settings.database_credentials == "file":
        if settings.database_credentials_file is None:
            raise InvalidInput("the setting database_credentials_file is empty")
        return FromFile(settings.database_credentials_file, address.user)
    if settings.database_credentials == "command":
        return from_command(settings.database_credentials_command, address.user)
    if settings.database_credentials == "oauth":
        from recollect.store.postgres.minting import minted, oauth_client

        return minted(oauth_client(settings, environment(), address.user))
    return Static(address.user, address.password)
