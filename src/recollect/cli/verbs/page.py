"""`recollect page`: a link that opens the page of a running server once, and a browser on it where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import find_place
from recollect.errors import NotFound

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

SECONDS = 2.0


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="open it in a browser")


def run(args: Namespace, console: Output) -> int:
    from recollect.web.address import link_to, told_address

    data_dir = find_place(args, everywhere=True).loaded.settings.data_dir
    address = told_address(data_dir)
    if address is None or not _answers(address):
        raise NotFound("no server is running for this data directory", hint="Start one: recollect serve --open")
    link = link_to(data_dir, address)
    if args.open:
        import webbrowser

        webbrowser.open(link)
    if console.json:
        console.document({"address": address, "page": link})
        return 0
    console.line(link)
    console.note("This link works once, within an hour.")
    return 0


def _answers(address: str) -> bool:
    """Whether a server is there."""
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlsplit

    place = urlsplit(address)
    link = HTTPConnection(place.hostname or "", place.port or 80, timeout=SECONDS)
    try:
        link.request("GET", "/health")
        return link.getresponse().status > 0
    except (OSError, HTTPException):
        return False
    finally:
        link.close()
