"""The flags that narrow recall, context and list, and their values as the façade's keywords."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.values import time_ago
from recollect.model import TIERS, check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def add_filters(parser: ArgumentParser) -> None:
    """What recall, context and list have in common."""
    group = parser.add_argument_group("what may be found")
    group.add_argument("--kind", action="append", metavar="K", help="only this kind of memory (may be repeated)")
    group.add_argument("--tag", action="append", metavar="T", help="only memories with this tag (may be repeated)")
    group.add_argument("--agent", action="append", metavar="A", help="only from sessions of this agent (repeatable)")
    group.add_argument("--pinned", action="store_true", help="only memories that you pinned")
    group.add_argument("--session", metavar="S", help="only from this session")
    group.add_argument("--exclude-session", metavar="S", help="not from this session")
    group.add_argument("--since", metavar="WHEN", help="not older: a date, 12h, 30d, 2w, yesterday, 3 days ago")
    group.add_argument("--until", metavar="WHEN", help="not newer: the same words; a day is its beginning, in UTC")
    group.add_argument("--as-of", metavar="WHEN", help="what was true then: the same words")
    group.add_argument("--min-importance", type=float, metavar="N", help="at least this important, 0 to 1")
    group.add_argument("--archived", action="store_true", help="archived memories too")
    group.add_argument("--history", action="store_true", help="superseded and expired memories too")


def add_recall_flags(parser: ArgumentParser, query: str = "+") -> None:
    """What recall and context have in common beyond the filters; `query` says how many words there must be."""
    parser.add_argument("query", nargs=query, metavar="QUERY", help="the question; `-` reads it from standard input")
    add_filters(parser)
    group = parser.add_argument_group("how it is searched")
    group.add_argument(
        "--context", action="append", metavar="NAME", help="ask this shared context too (may be repeated)"
    )
    group.add_argument("--tier", action="append", choices=TIERS, help="only this tier (may be repeated)")
    group.add_argument("--profile", metavar="NAME", help="balanced or relevance; how the parts of a score are weighed")
    group.add_argument("--no-abstain", action="store_true", help="show what is found however unlikely it is")
    group.add_argument(
        "--mode", choices=("auto", "lexical", "hybrid"), default="auto", help="words alone, or words and meaning"
    )


def filters_of(args: Namespace) -> dict[str, Any]:
    """The filters given, as keywords of `recall` and `memories`."""
    return {
        "kinds": args.kind,
        "tags": args.tag,
        "flavors": args.agent or (),
        "pinned": args.pinned,
        "session": None if args.session is None else check_id(args.session, "session"),
        "exclude_session": None if args.exclude_session is None else check_id(args.exclude_session, "session"),
        "since": time_ago(args.since),
        "until": time_ago(args.until),
        "as_of": time_ago(args.as_of),
        "min_importance": args.min_importance,
        "archived": args.archived,
        "history": args.history,
    }


def recall_options(args: Namespace) -> dict[str, Any]:
    """The filters and the way of searching, as keywords of `recall`."""
    return {
        **filters_of(args),
        "tiers": tuple(args.tier or TIERS),
        "profile": args.profile,
        "abstain": False if args.no_abstain else None,
        "mode": args.mode,
        "contexts": tuple(args.context or ()),
    }
