"""`recollect forget`: a memory, a session or everything in scope, gone for good; says first what goes, and asks.

Without a terminal it needs --yes. The receipt tells what was taken away and whether no byte of it is left. A source
that proved wrong is revoked: every memory from it is softly forgotten, in one step that `recollect undo` takes back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.cli.wording import counted, in_words
from recollect.errors import InvalidInput, NotFound
from recollect.model import check_id
from recollect.text import one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.store.ports.keeping import Receipt

_PAGE = 1_000
_NAMED = 5  # other wordings that are told


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="the memory to forget")
    parser.add_argument("--session", metavar="S", help="forget a session, what was said in it and what was made of it")
    parser.add_argument(
        "--source",
        metavar="S",
        help="revoke a source: softly forget every memory from a session, an origin (web, tool, import) or a maker",
    )
    parser.add_argument("--all", action="store_true", help="forget everything of the project; outside one, of the user")
    parser.add_argument("--soft", action="store_true", help="a memory only: it can be brought back for some days")
    parser.add_argument(
        "--with-merged", action="store_true", help="a memory only: the other wordings that were merged into it go too"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="say what would go, and stop")


def run(args: Namespace, console: Output) -> int:
    if [args.id is not None, args.session is not None, args.source is not None, args.all].count(True) != 1:
        raise InvalidInput("forget one of: ID, --session S, --source S, --all", hint="`recollect list` shows ids.")
    if args.soft and (args.session is not None or args.all):
        raise InvalidInput("only memories can be forgotten softly", hint="Leave out --soft, or give an ID or --source.")
    if args.with_merged and args.id is None:
        raise InvalidInput("only a memory has other wordings that were merged into it", hint="Leave out --with-merged.")
    soft = args.soft or args.source is not None
    with open_memory(args) as memory:
        if args.id is not None:
            args.id = whole_id(memory, args.id)
        counts, what = _subject(memory, args)
        if args.dry_run:
            return _answer(console, counts, f"Would forget {what}.", dry_run=True)
        if not args.yes and not _agreed(console, what, soft=soft):
            return _answer(console, {}, "Nothing was forgotten.", dry_run=False)
        if args.source is not None:
            receipt = memory.revoke(args.source)
        else:
            ways = {"soft": args.soft, "with_merged": args.with_merged}
            receipt = memory.forget(args.id, session=args.session, everything=args.all, **ways)
    return _report(console, receipt, what, soft=soft, back=f"--source {args.source}" if args.source else str(args.id))


def _subject(memory: Recollect, args: Namespace) -> tuple[dict[str, int], str]:
    """What would go: counts, and in words."""
    from recollect.pipeline.changing import wordings

    if args.id is not None:
        kept = memory.store.memories.get(memory.scope, args.id)
        if kept is None:
            raise NotFound(f"no memory {args.id[:60]} in this scope", hint="`recollect list` shows ids.")
        others = wordings(memory.store, memory.scope, args.id)
        what = f"the {kept.kind} “{one_line(kept.content, 100)}”"
        if not others:
            return {"memories": 1}, what
        named = ", ".join(f"{one.id[-8:]} “{one_line(one.content, 60)}”" for one in others[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        if args.with_merged:
            return {"memories": 1 + len(others)}, f"{what} and what was merged into it ({named}{more})"
        return {"memories": 1}, f"{what} (not what was merged into it, which holds again: {named}{more}; --with-merged)"
    if args.session is not None:
        session = memory.store.sessions.get(memory.scope, check_id(args.session, "session"))
        if session is None:
            raise NotFound(f"no session {args.session[:60]} in this scope", hint="`recollect sessions` lists them.")
        counts = {"sessions": 1, "turns": session.turns, "memories": _count(memory, session=session.id)}
        return counts, f"session {one_line(session.title or session.id, 80)} ({in_words(counts) or 'nothing'})"
    if args.source is not None:
        counts = dict(memory.revoke(args.source, dry_run=True).counts)
        return counts, f"what came from {one_line(args.source, 80)} ({in_words(counts) or 'nothing'})"
    project = memory.scope.project
    counts = {
        "sessions": _number(memory.sessions, lambda one: project is None or one.project == project),
        "memories": _count(memory, project=project),
    }
    place = f"of project {project}" if project else f"of user {memory.scope.user}, in every project"
    return counts, f"everything {place} ({in_words(counts) or 'nothing'})"


def _count(memory: Recollect, **where: Any) -> int:
    return _number(lambda limit, offset: memory.memories(limit, offset, archived=True, history=True, **where))


def _number(find: Callable[[int, int], list[Any]], wanted: Callable[[Any], bool] = lambda one: True) -> int:
    """How many there are, page by page."""
    number = offset = 0
    while page := find(_PAGE, offset):
        number += sum(map(wanted, page))
        offset += len(page)
    return number


def _agreed(console: Output, what: str, *, soft: bool) -> bool:
    if not console.can_ask:
        raise InvalidInput(f"this would forget {what}", hint="Give --yes to do it, or --dry-run to look first.")
    return console.confirm(f"Forget {what}" + ("?" if soft else " for good?"))


def _answer(console: Output, counts: dict[str, int], text: str, *, dry_run: bool) -> int:
    if console.json:
        console.document({"dry_run": dry_run, "counts": counts})
    else:
        console.line(text)
    return 0


def _left(place: str) -> str:
    """What remains, in words: another memory that says the same, or bytes in a file."""
    return f"There is still {place}." if place.startswith("memory ") else f"Bytes of it may be left in {place}."


def _report(console: Output, receipt: Receipt, what: str, *, soft: bool, back: str) -> int:
    if console.json:
        told = {"counts": receipt.counts, "complete": receipt.complete, "remains": receipt.remains}
        console.document({"dry_run": False, **told, "backups": receipt.backups, "soft": soft})
        return 0
    console.line(f"Forgot {what}: {in_words(receipt.counts) or 'nothing was there'}.")
    if soft:
        console.line(f"`recollect undo {back}` brings it back until its text is removed.")
        for place in receipt.remains:
            console.line(_left(place))
    elif receipt.complete:
        console.line("No byte of it is left in the store. Backups and exports you made are not touched.")
    elif receipt.remains:
        for place in receipt.remains:
            console.line(_left(place))
    else:
        console.line("Something of it may be left: a reader holds the write-ahead log, or a file that tells of it")
        console.line("cannot be written. Run `recollect maintain` when that is over.")
    if receipt.backups and not soft:
        last = max(held.expires_at for held in receipt.backups)
        number = counted(len(receipt.backups), "backups")
        console.line(f"{number} may hold it, to be deleted by {last:%Y-%m-%d}: `recollect backup --list`.")
    return 0
