"""`recollect serve`: the memory over HTTP, on this machine alone or, with --hosted, for others with keys."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.cli.opening import find_place, require_config
from recollect.cli.values import whole
from recollect.errors import InvalidInput
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.settings import Settings

ROLES = ("ingestion", "retrieval", "all")
PORTS = {"ingestion": 8001, "retrieval": 8002, "all": 8010}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_TUNABLES = "GLIBC_TUNABLES"
_NEEDED = ("fastapi", "uvicorn", "httptools", "jinja2", "limits", "prometheus_client")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--role", choices=ROLES, default="all", help="what it answers (default: all)")
    parser.add_argument("--host", metavar="NAME", help="the address (default: 127.0.0.1, this machine only)")
    parser.add_argument(
        "--port", type=whole, metavar="N", help="the port (default: 8001, 8002 or 8010 by its role; 0: a free one)"
    )
    parser.add_argument("--workers", type=whole, metavar="N", help="how many processes answer (default: 1)")
    parser.add_argument("--hosted", action="store_true", help="for others: only API keys open it, and quotas hold")
    parser.add_argument("--no-worker", action="store_true", help="leave tasks and the bus to `recollect worker`")
    parser.add_argument("--log", action="store_true", help="a line of JSON for every request, on standard error")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")


def run(args: Namespace, console: Output) -> int:
    _require_packages()
    require_config()
    settings = find_place(args, everywhere=True).loaded.settings
    settings = _chosen(args, settings)
    if settings.serve_workers > 1:
        _in_large_pages()
    from recollect.http.serve import Plan, serve

    plan = Plan(
        settings=settings,
        role=args.role,
        hosted=args.hosted,
        workers=settings.serve_workers,
        works=not args.no_worker,
        logs=args.log or args.hosted,
        as_json=console.json,
        opens=args.open,
    )
    return serve(plan, console)


def _chosen(args: Namespace, settings: Settings) -> Settings:
    """The settings with what the flags say."""
    host = args.host or settings.serve_host
    if host not in _LOOPBACK and not args.hosted:
        raise InvalidInput(
            f"{host[:60]} can be reached from other machines",
            hint="Add --hosted to serve others, with keys (recollect keys create); or leave --host out.",
        )
    if settings.serve_api_key and len(settings.serve_api_key) < 8:
        raise InvalidInput(
            "the key in serve_api_key is too short", hint="It needs 8 characters; better 32 random ones."
        )
    if args.workers == 0 or settings.serve_workers < 1:
        raise InvalidInput("at least one process must answer", hint="--workers 1")
    port = args.port if args.port is not None else settings.serve_port or PORTS[args.role]
    workers = args.workers or settings.serve_workers
    return replace(settings, serve_host=host, serve_port=port, serve_workers=workers)


def _in_large_pages() -> None:
    """Begin anew as a program whose memory lies in large pages, on Linux, unless somebody said otherwise.

    Every question goes through all of the model's weights, and there they are found quicker. glibc asks the kernel for
    them when it is told so before a program starts.
    """
    if sys.platform == "linux" and _TUNABLES not in environment():
        words = [sys.executable, *sys.orig_argv[1:]]  # exactly as it was called
        os.execve(sys.executable, words, {**environment(), _TUNABLES: "glibc.malloc.hugetlb=1"})  # noqa: S606


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidInput(f"serving needs the package {missing[0]}", hint="pip install 'recollect[server]'")
