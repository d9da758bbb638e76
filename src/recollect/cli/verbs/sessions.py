"""`recollect sessions`: the sessions, newest first; with an id what was said in it; with --gist its gist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.cli.values import whole
from recollect.errors import InvalidInput, NotFound
from recollect.model import check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.model import Session

_FIRST = 50  # events in which the first prompt is looked for


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="show what was said in this session")
    parser.add_argument("--gist", action="store_true", help="show the session's gist, made now if it is out of date")
    parser.add_argument("-n", "--limit", type=whole, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--offset", type=whole, default=0, metavar="N", help="leave out the first N")


def run(args: Namespace, console: Output) -> int:
    if args.gist and args.id is None:
        raise InvalidInput("--gist needs the id of a session", hint="`recollect sessions` lists them.")
    with open_memory(args) as memory:
        if args.id is None:
            return _list(memory, args, console)
        session = check_id(args.id, "session")
        if memory.store.sessions.get(memory.scope, session) is None:
            raise NotFound(f"no session {session[:60]} in this scope", hint="`recollect sessions` lists them.")
        return _gist(memory, session, console) if args.gist else _history(memory, session, console)


def _list(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.cli.cards import session_row

    found = memory.sessions(args.limit, args.offset)
    about = {} if console.json else {one.id: _about(memory, one) for one in found}
    table = (("id", "last active", "turns", "title"), lambda one: session_row(one, about[one.id]))
    empty = "No sessions here. --all-projects looks in every project."
    console.page("sessions", found, (args.limit, args.offset), table, empty)
    return 0


def _about(memory: Recollect, session: Session) -> str:
    """Its title, else what it was for, else the first thing that was asked."""
    if session.title:
        return session.title
    digest = memory.digest(session.id)
    if digest is not None and digest.goal:
        return digest.goal
    events = memory.store.sessions.history(memory.scope, session.id, first=_FIRST)
    return next((event.text for event in events if event.kind == "user_prompt"), "")


def _history(memory: Recollect, session: str, console: Output) -> int:
    from recollect.cli.cards import event_lines

    events = memory.history(session)
    if console.json:
        console.document({"session": session, "events": events})
        return 0
    for event in events:
        console.lines(list(event_lines(event)))
    return 0


def _gist(memory: Recollect, session: str, console: Output) -> int:
    from recollect.cli.cards import gist_lines

    gist = memory.gist(session)
    if gist is None or memory.unsummarized(session):
        gist = memory.summarize(session) or gist
    if console.json:
        console.document({"session": session, "gist": gist})
    elif gist is None:
        console.line("This session has no gist: nothing was said in it.")
    else:
        console.lines(list(gist_lines(gist)))
    return 0
