"""Where a server of this machine's user listens, for `recollect page`; and links to its page."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import orjson

from recollect.store import datadir
from recollect.web.visits import links

FILE = "serve.address"


def tell_address(data_dir: Path, address: str) -> None:
    """Note where it listens; the server that started last is the one that is found."""
    file = datadir.prepare(data_dir) / FILE
    aside = file.with_name(f"{FILE}.{os.getpid()}")
    with suppress(OSError):
        aside.unlink()
    datadir.create_private(aside)
    aside.write_bytes(orjson.dumps({"address": address, "pid": os.getpid()}))
    aside.replace(file)


def forget_address(data_dir: Path) -> None:
    """It listens no more; another one that was noted since stays."""
    with suppress(OSError, ValueError):
        if orjson.loads((data_dir / FILE).read_bytes())["pid"] == os.getpid():
            (data_dir / FILE).unlink()


def told_address(data_dir: Path) -> str | None:
    """Where the last one listens, or listened."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        return str(orjson.loads((data_dir / FILE).read_bytes())["address"])
    return None


def link_to(data_dir: Path, address: str) -> str:
    """A link that opens the page once."""
    return f"{address}/page/enter?link={links(data_dir).issue()}"
