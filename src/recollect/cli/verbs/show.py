"""`recollect show`: everything about one memory (versions, evidence, what superseded what), turn or session."""

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

_LOOK_BACK = 5_000  # memories searched for those that this one superseded
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
    from recollect.cli.cards import memory_lines

    versions = memory.versions(kept.id)
    older, newer = _superseded(memory, kept), _successors(memory, kept)
    if console.json:
        console.document({"memory": kept, "versions": versions, "superseded": older, "successors": newer})
        return 0
    console.lines(list(memory_lines(kept)))
    for old in versions:
        console.line("  ", (f"version {old.version}, until {old.until:%Y-%m-%d %H:%M}: ", "dim"), old.content)
    for one in older:
        console.line("  ", (f"superseded {one.id}: ", "dim"), one.content)
    for one in newer:
        console.line("  ", (f"superseded by {one.id}: ", "dim"), one.content)
    return 0


def _successors(memory: Recollect, kept: Memory) -> list[Memory]:
    """What took its place, and what took the place of that."""
    chain: list[Memory] = []
    seen, current = {kept.id}, kept
    while current.superseded_by and current.superseded_by not in seen:
        seen.add(current.superseded_by)
        following = memory.store.memories.get(memory.scope, current.superseded_by)
        if following is None:
            break
        chain.append(following)
        current = following
    return chain


def _superseded(memory: Recollect, kept: Memory) -> list[Memory]:
    """What it took the place of, directly or not, among the newest memories; the latest first."""
    everything: list[Memory] = []
    while len(everything) < _LOOK_BACK:
        page = memory.memories(_PAGE, len(everything), archived=True, history=True)
        everything += page
        if len(page) < _PAGE:
            break
    chain, wanted = [], {kept.id}
    for one in sorted(everything, key=lambda old: old.recorded_at, reverse=True):
        if one.superseded_by in wanted:
            chain.append(one)
            wanted.add(one.id)
    return chain


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
