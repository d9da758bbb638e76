"""The memory of a server as if it were here: `Client` waits for answers, `AsyncClient` is awaited.

Both have the names and the values of the façade, so that one program runs on a data directory or on an address.
`MemoryAPI` is what the two have in common, for whoever writes down types. It needs the extra `client`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.client.api import MemoryAPI
    from recollect.client.awaited import AsyncClient
    from recollect.client.waiting import Client

__all__ = ["AsyncClient", "Client", "MemoryAPI"]

_HOMES = {"AsyncClient": "awaited", "Client": "waiting", "MemoryAPI": "api"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'recollect.client' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"recollect.client.{_HOMES[name]}"), name)
