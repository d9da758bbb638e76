"""`recollect mcp`: memory as tools for agents, over standard input and output or, with --http, a local port."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place
from recollect.cli.values import whole
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

PORT = 8642


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP at /mcp instead of standard input")
    parser.add_argument(
        "--port", type=whole, metavar="N", help=f"with --http: the port (default: {PORT}; 0: a free one)"
    )
    parser.add_argument(
        "--host", metavar="NAME", help="with --http: the address (default: 127.0.0.1, this machine only)"
    )


def run(args: Namespace, console: Output) -> int:
    from recollect.mcp.opened import Opened

    if not args.http and (args.port is not None or args.host is not None):
        raise InvalidInput("--port and --host go with --http")
    opened = Opened(lambda: find_place(args), fixed=args.project is not None or args.all_projects)
    if args.http:
        from recollect.mcp.http import serve as serve_http

        return serve_http(opened, args.host or "127.0.0.1", PORT if args.port is None else args.port, console.note)
    from recollect.mcp.stdio import serve

    if sys.stdin is not None and sys.stdin.isatty():
        console.note("This speaks MCP on standard input: an agent starts it. Ctrl-C ends it.")
    return serve(opened)
