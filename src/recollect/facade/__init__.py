"""Recollect: the memory a program opens. One method a thing one can do; the stages do the work.

Opened on a data directory it is the embedded store, opened on the address of a PostgreSQL database it is that one;
every call stays inside the scope it was opened with.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from recollect.facade.changing import Changing
from recollect.facade.keeping import Keeping
from recollect.facade.recalling import Recalling
from recollect.model import Scope
from recollect.settings import Settings
from recollect.settings import load as load_settings


class Recollect(Recalling, Changing, Keeping):
    """A memory in one scope. Use `Recollect.open`, as a context manager."""

    @classmethod
    def open(
        cls,
        data_dir: str | Path | None = None,
        url: str | None = None,
        scope: Scope | None = None,
        *,
        settings: Settings | None = None,
        **parts: Any,
    ) -> Self:
        """Open the memory in a data directory (default: the one of this user), or at an address.

        `url` is `postgresql://…` or `sqlite:///DIR`; without it the setting `database_url` decides. What belongs to
        this machine (spool, locks, what hooks are shown) stays in the data directory. `parts` may replace the embedder,
        summarizer, clock or token counter, or switch the background worker off. With the `https://…` of a server it is
        a `recollect.client.Client`, which has the methods of `recollect.client.MemoryAPI`.
        """
        from recollect.store.opening import located, open_store

        if (server := url or str(data_dir)).startswith(("http://", "https://")):
            found = import_module("recollect.client.opening")  # by name: it stands around this, not before it
            return found.opened(server, None if url is None else data_dir, scope, settings, parts)  # type: ignore[no-any-return]
        if settings is None:
            settings = load_settings(data_dir=data_dir).settings
        elif data_dir is not None:
            settings = replace(settings, data_dir=Path(data_dir))
        settings = located(settings, url)
        if scope is None:
            owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
            scope = owner.within(settings.project or None)
        return cls(open_store(settings), scope, settings, **parts)
