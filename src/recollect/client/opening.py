"""`Recollect.open` of a server's address: what was given to it, as a client takes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recollect.client.waiting import Client
from recollect.errors import InvalidInput
from recollect.model import Scope
from recollect.settings import Settings
from recollect.settings import load as load_settings

_OWN = ("key", "write_url", "timeout", "tries", "plain_http")
_THEIRS = ("background",)  # a server works in the background as it was told to


def opened(
    url: str, data_dir: str | Path | None, scope: Scope | None, settings: Settings | None, parts: Mapping[str, Any]
) -> Client:
    """The client of this server, narrowed to the scope's user and project. Its tenant is the key's."""
    unknown = sorted(parts.keys() - {*_OWN, *_THEIRS})
    if unknown:
        raise InvalidInput(f"{unknown[0]!r} is chosen by the server", hint=f"A client takes {', '.join(_OWN)}.")
    if settings is None:
        settings = load_settings(data_dir=data_dir).settings
    project = settings.project or None if scope is None else scope.project
    return Client(
        url,
        user=None if scope is None else scope.user,
        project=project,
        data_dir=data_dir or settings.data_dir,
        **{name: value for name, value in parts.items() if name in _OWN},
    )
