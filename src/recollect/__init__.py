"""A memory that lasts for AI agents: capture, distill, store, recall, inject, learn.

>>> from recollect import Recollect, Scope

The names below are the public ones; they are loaded when first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from recollect.version import __version__

TYPE_CHECKING = False  # type checkers know this name; importing `typing` for it would cost every start of the command
if TYPE_CHECKING:
    from recollect.errors import RecollectError
    from recollect.facade import Recollect
    from recollect.model import Context, Event, Gist, Hit, Memory, Recall, Scope, Session

__all__ = [
    "Context",
    "Event",
    "Gist",
    "Hit",
    "Memory",
    "Recall",
    "Recollect",
    "RecollectError",
    "Scope",
    "Session",
    "__version__",
]

_HOMES = {"Recollect": "recollect.facade", "RecollectError": "recollect.errors"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "recollect.model")), name)
