"""`recollect show`: everything about one memory, turn or session. Of a memory: why it is believed.

That is the words it rests on and who said them, how it read before, what it took the place of or was merged with, what
says otherwise, and what became of the files and commands it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.opening import open_memory
from recollect.errors import NotFound
from recollect.model import check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.model import Memory, Session, Turn

_PAGE = 1_000


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of a memory, a turn or a session, as recall and list show it")


def run(args: Namespace, console: Output) -> int:
    id_ = check_id(args.id, "id")
    with open_memory(args) as memory:
        kept = memory.store.memories.get(memory.scope, id_)
        if kept is not None:
            return _show_memory(memory, kept, console)
        turn = memory.turn(id_)
        if turn is not None:
            return _show_turn(turn, console)
        session = memory.store.sessions.get(memory.scope, id_)
        if session is not None:
            return _show_session(memory, session, console)
    raise NotFound(
        f"no memory, turn or session {id_[:60]} in this scope", hint="--all-projects looks in every project."
    )


def _show_memory(memory: Recollect, kept: Memory, console: Output) -> int:
    from recollect.cli.cards import belief_lines, memory_lines

    told = memory.belief(kept.id)
    if console.json:
        console.document(told)
        return 0
    console.lines(list(memory_lines(kept)))
    console.lines(list(belief_lines(told)))
    return 0


def _show_turn(turn: Turn, console: Output) -> int:
    if console.json:
        console.document({"turn": turn})
        return 0
    console.line(("[turn]", "bold cyan"), f" {turn.occurred_at:%Y-%m-%d %H:%M} UTC, session {turn.session}")
    for who, text in (("user", turn.user_text), ("assistant", turn.agent_text)):
        if text:
            console.line((who, "bold green" if who == "user" else "bold blue"))
            console.line(text)
    return 0


def _show_session(memory: Recollect, session: Session, console: Output) -> int:
    from recollect.cli.cards import digest_lines, gist_lines, memory_row, session_lines

    gist, digest = memory.gist(session.id), memory.digest(session.id)
    made: list[Any] = memory.memories(_PAGE, session=session.id, archived=True, history=True)
    if console.json:
        told = None if digest is None else digest.as_dict()
        console.document({"session": session, "digest": told, "gist": gist, "memories": made})
        return 0
    console.lines(list(session_lines(session)))
    if digest is not None:
        console.lines(list(digest_lines(digest)))
    if gist is not None:
        console.lines(list(gist_lines(gist)))
    if made:
        console.table(("id", "kind", "when", "content"), [memory_row(one) for one in made])
    console.note(f"`recollect sessions {session.id}` shows what was said.")
    return 0
