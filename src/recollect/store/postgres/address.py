"""Which database: what an address, libpq's `PG*` variables and the `DB_*` names say together.

In: `postgresql://…`, as libpq reads it. Out: the parameters of a connection, with user and password apart, so that
nothing that is shown can have a password in it. What the address does not say, libpq looks up itself (`PG*`, the
service file, `.pgpass`); an empty `postgresql://` means just that. `DB_HOST`, `DB_PORT`, `DB_NAME`, `DB_USER` and
`DB_PASSWORD` are asked only when neither the address nor `PG*` names a server: they are common names, and another
program's password must not go to the server of this address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from recollect.errors import InvalidInput, StoreUnavailable

SCHEMES = ("postgresql://", "postgres://")
LOCAL = ("localhost", "127.0.0.1", "::1")
_HINT = "It looks like postgresql://user@host:5432/database; special characters in it are written as %40."
_FALLBACKS = (  # parameter, libpq's variable, the other name
    ("host", "PGHOST", "DB_HOST"),
    ("port", "PGPORT", "DB_PORT"),
    ("dbname", "PGDATABASE", "DB_NAME"),
    ("user", "PGUSER", "DB_USER"),
    ("password", "PGPASSWORD", "DB_PASSWORD"),
)


@dataclass(frozen=True, slots=True)
class Address:
    """A database and how to reach it; shown without anything secret."""

    parameters: Mapping[str, str] = field(repr=False)  # as libpq names them; neither user nor password
    user: str = ""  # empty: libpq's own choice
    password: str = field(default="", repr=False)  # empty: libpq's own choice, such as .pgpass

    def __str__(self) -> str:
        """Where it is, for people: nothing but user, host, port and database."""
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or ""
        port = f":{self.parameters['port']}" if self.parameters.get("port") else ""
        user = f"{self.user}@" if self.user else ""
        return f"postgresql://{user}{host}{port}/{self.parameters.get('dbname', '')}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def is_local(self) -> bool:
        """Whether nothing goes over a network: this machine, or a socket in its file system."""
        hosts = (self.parameters.get("hostaddr") or self.parameters.get("host") or "").split(",")
        return all(not host or host.startswith("/") or host in LOCAL for host in hosts)


def is_postgres(url: str) -> bool:
    """Whether an address is one of ours."""
    return url.startswith(SCHEMES)


def read_address(url: str, env: Mapping[str, str]) -> Address:
    """The address in a URL, completed from the variables in `env`."""
    if not is_postgres(url):
        raise InvalidInput("this is not the address of a PostgreSQL database", hint=_HINT)
    found = _parsed(url)
    if not _names_a_server(found, env):
        for parameter, libpq, other in _FALLBACKS:
            value = env.get(other, "").rstrip("\r\n")  # secrets from files often end with a line break
            if value and not found.get(parameter) and not env.get(libpq):
                found[parameter] = value
    user, password = found.pop("user", ""), found.pop("password", "")
    return Address(found, user, password)


def _parsed(url: str) -> dict[str, str]:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise StoreUnavailable(
            "PostgreSQL needs the package psycopg", hint="Install it: pip install 'recollect[postgres]'."
        ) from None
    try:
        return {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
    except (ProgrammingError, UnicodeError, ValueError):  # the message may quote the address, and the password in it
        raise InvalidInput("the database's address cannot be read", hint=_HINT) from None


def _names_a_server(found: Mapping[str, str], env: Mapping[str, str]) -> bool:
    told = any(found.get(name) for name in ("host", "hostaddr", "service"))
    return told or any(env.get(name) for name in ("PGHOST", "PGHOSTADDR", "PGSERVICE"))
