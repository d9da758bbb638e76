"""`recollect sessions`: the sessions, newest first; with an id what was said in it; with --gist its gist.

Filters narrow the list; --find looks for words inside one session, --distill makes memories of one again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.opening import open_memory
from recollect.cli.values import time_ago, whole
from recollect.errors import InvalidInput, NotFound
from recollect.model import OUTCOMES, check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.store.ports.browse import Listed

_FIRST = 50  # events in which the first prompt is looked for
_FOUND = 50  # places that are told of a search in a session


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="show what was said in this session")
    parser.add_argument("--gist", action="store_true", help="show the session's gist, made now if it is out of date")
    parser.add_argument("--find", metavar="WORDS", help="with an id: the places in it that have all of these words")
    parser.add_argument("--markdown", action="store_true", help="with an id: the whole session as Markdown")
    parser.add_argument("--distill", action="store_true", help="with an id: make memories of it again")
    group = parser.add_argument_group("which are listed")
    group.add_argument("--agent", metavar="A", help="only sessions of this agent")
    group.add_argument("--outcome", choices=OUTCOMES, help="only those that ended so")
    group.add_argument("--since", metavar="WHEN", help="not older: a date, 12h, 30d, 2w, yesterday, 3 days ago")
    group.add_argument("--until", metavar="WHEN", help="not newer: the same words; a day is its beginning, in UTC")
    group.add_argument("--title", metavar="WORDS", help="only with all of these words in the title, goal or id")
    parser.add_argument("-n", "--limit", type=whole, default=50, metavar="N", help="at most this many (default: 50)")
    parser.add_argument("--offset", type=whole, default=0, metavar="N", help="leave out the first N")


def run(args: Namespace, console: Output) -> int:
    for flag in ("gist", "find", "markdown", "distill"):
        if getattr(args, flag) and args.id is None:
            raise InvalidInput(f"--{flag} needs the id of a session", hint="`recollect sessions` lists them.")
    with open_memory(args) as memory:
        if args.id is None:
            return _list(memory, args, console)
        session = check_id(args.id, "session")
        if memory.store.sessions.get(memory.scope, session) is None:
            raise NotFound(f"no session {session[:60]} in this scope", hint="`recollect sessions` lists them.")
        if args.find:
            return _find(memory, session, args.find, console)
        if args.markdown:
            return _markdown(memory, session, console)
        if args.distill:
            return _distill(memory, session, console)
        return _gist(memory, session, console) if args.gist else _history(memory, session, console)


def _list(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.cli.cards import session_row
    from recollect.recall.asking import check_limit
    from recollect.store.ports.browse import SessionFilter

    where = SessionFilter(
        flavor=args.agent,
        outcome=args.outcome,
        since=time_ago(args.since),
        until=time_ago(args.until),
        words=tuple((args.title or "").split()),
    )
    limit, offset = check_limit(args.limit), max(0, args.offset)
    found = memory.store.browse.sessions(memory.scope, where, limit=limit, offset=offset)
    about = {} if console.json else {one.session.id: _about(memory, one) for one in found}
    table = (("id", "last active", "turns", "title"), lambda one: session_row(one, about[one.id]))
    narrowed = where != SessionFilter()
    empty = "No session fits." if narrowed else "No sessions here. --all-projects looks in every project."
    console.page("sessions", [one.session for one in found], (args.limit, args.offset), table, empty)
    return 0


def _about(memory: Recollect, listed: Listed) -> str:
    """Its title, else what it was for, else the first thing that was asked."""
    session, digest, _ = listed
    if session.title or (digest is not None and digest.goal):
        return session.title or (digest.goal if digest is not None else None) or ""
    events = memory.store.sessions.history(memory.scope, session.id, first=_FIRST)
    return next((event.text for event in events if event.kind == "user_prompt"), "")


def _find(memory: Recollect, session: str, words: str, console: Output) -> int:
    from recollect.cli.cards import around

    found = memory.store.browse.matching(memory.scope, session, words.split()[:8], limit=_FOUND)
    if console.json:
        events = [{"turn": one.turn + 1, "event": one.event} for one in found]
        console.document({"session": session, "words": words, "found": events})
    elif not found:
        console.note("Nothing in this session has all of these words.")
    for one in () if console.json else found:
        head = f"turn {one.turn + 1}, {one.event.kind.replace('_', ' ')}: "
        console.line((head, "bold"), around(one.event.text, words, max(40, console.width - len(head))))
    return 0


def _markdown(memory: Recollect, session: str, console: Output) -> int:
    from recollect.pipeline.transcribing import markdown_of

    about = memory.store.sessions.get(memory.scope, session)
    assert about is not None
    pieces = markdown_of(memory.store, memory.scope, about)
    if console.json:
        console.document({"session": session, "markdown": "".join(pieces)})
        return 0
    for piece in pieces:
        console.raw(piece)
    return 0


def _distill(memory: Recollect, session: str, console: Output) -> int:
    done = memory.distill([session])
    if console.json:
        console.document({"session": session, "outcomes": dict(done.outcomes), "failed": done.failed})
    else:
        console.line("Memories were made of it." if done.changed else "There is nothing new in it.")
    return 0


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
