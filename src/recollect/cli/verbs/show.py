"""`recollect show`: everything about one memory, turn or session of any project. Of a memory: why it is believed.

That is the words it rests on and who said them, how it read before, what it took the place of or was merged with, what
says otherwise, and what became of the files and commands it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.memoryids import whole_id
from recollect.cli.opening import find_place, open_place
from recollect.errors import NotFound
from recollect.model import Memory, Turn, check_id

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.model import Scope, Session

_PAGE = 1_000


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="ID",
        help="of a memory, a turn or a session, as recall and list show it"
        "; of a memory 6 characters of its beginning or end are enough",
    )


def run(args: Namespace, console: Output) -> int:
    place, id_ = find_place(args), check_id(args.id, "id")
    owner = place.scope.within(None)
    with open_place(place) as memory:
        found = _find(memory, owner, id_) or _find(memory, owner, whole_id(memory, id_, owner))
        if found is None:
            raise NotFound(f"no memory, turn or session {id_[:60]}", hint="`recollect list` shows ids.")
        if place.scope.project is None or found.project in (None, place.scope.project):
            return _show(memory, found, console)
    elsewhere = place._replace(scope=owner.within(found.project), directory=None)
    with open_place(elsewhere) as memory:  # what it is held against is of its own project
        return _show(memory, found, console, more=" --all-projects")


def _find(memory: Recollect, scope: Scope, id_: str) -> Memory | Turn | Session | None:
    store = memory.store
    return store.memories.get(scope, id_) or store.sessions.turn(scope, id_) or store.sessions.get(scope, id_)


def _show(memory: Recollect, found: Memory | Turn | Session, console: Output, more: str = "") -> int:
    if isinstance(found, Memory):
        return _show_memory(memory, found, console)
    return _show_turn(found, console) if isinstance(found, Turn) else _show_session(memory, found, console, more)


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


def _show_session(memory: Recollect, session: Session, console: Output, more: str) -> int:
    from recollect.cli.cards import MEMORY_COLUMNS, digest_lines, gist_lines, memory_row, session_lines

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
        console.table(MEMORY_COLUMNS, [memory_row(one) for one in made])
    console.note(f"`recollect sessions {session.id}{more}` shows what was said.")
    return 0
