"""Where the server is and which key opens it, from what a caller says and what the environment does.

In: an address, a key, a data directory, the environment. Out: an `Address`, whose key no message ever shows. The key is
the caller's; else `RECOLLECT_API_KEY` or `MEMORY_API_KEY`; else, for a server on this machine, the secret that
`recollect serve` wrote into the data directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from recollect.errors import InvalidInput
from recollect.settings import environment
from recollect.settings import load as load_settings

DEFAULT = "http://127.0.0.1:8010"
SECRET_FILE = "serve.token"  # noqa: S105 (a file's name)
KEYS = ("RECOLLECT_API_KEY", "MEMORY_API_KEY")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LONGEST_KEY = 500


@dataclass(frozen=True, slots=True)
class Address:
    """Where things are asked and where they are written, without the slash at the end; and with which key."""

    read: str
    write: str
    key: str | None = field(repr=False)
    here: bool  # on this very machine


def locate(
    url: str | None = None,
    *,
    write_url: str | None = None,
    key: str | None = None,
    data_dir: str | Path | None = None,
    plain_http: bool = False,
    env: Mapping[str, str] | None = None,
) -> Address:
    """The address of a server. With retrieval and ingestion apart, `write_url` is the second of them."""
    env = environment() if env is None else env
    read = url or env.get("RECOLLECT_URL") or env.get("MEMORY_RETRIEVAL_URL") or DEFAULT
    apart = None if url or env.get("RECOLLECT_URL") else env.get("MEMORY_INGESTION_URL")
    write = write_url or apart or read
    near = [_checked(one, plain_http=plain_http) for one in (read, write)]  # both are checked
    here = all(near)
    found = key or next((env[name] for name in KEYS if env.get(name)), None) or (_secret(data_dir) if here else None)
    if found is not None and not (found.isascii() and found.isprintable() and len(found) <= _LONGEST_KEY):
        raise InvalidInput("the key has characters that no key has")
    return Address(read.rstrip("/"), write.rstrip("/"), found, here)


def _checked(url: str, *, plain_http: bool) -> bool:
    """Whether this address is on this machine; InvalidInput when it cannot be used."""
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        raise InvalidInput("the server's address is not a URL") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise InvalidInput("the server's address must look like https://memory.example.org")
    if parts.username or parts.password:
        raise InvalidInput("a key does not belong into an address", hint="Give it as key=, or set RECOLLECT_API_KEY.")
    here = host in _LOOPBACK
    if parts.scheme == "http" and not here and not plain_http:
        raise InvalidInput(
            "without https anybody on the way could read the key",
            hint="Use https://, or plain_http=True inside a network you trust.",
        )
    return here


def _secret(data_dir: str | Path | None) -> str | None:
    """What the server of this machine wrote down, if it did."""
    folder = load_settings(data_dir=data_dir).settings.data_dir
    if not (folder / SECRET_FILE).is_file():
        return None
    from recollect.store.secretfile import own_secret

    return own_secret(folder, SECRET_FILE)
