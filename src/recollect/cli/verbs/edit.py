"""`recollect edit`: a memory as it ought to read: its words, kind, why, tags, importance, end or project.

The wording it had is kept as a version, and can be put back. What the user said only the user can word anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.agentshell import only_a_person
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.cli.values import text_of, time_ahead, whole
from recollect.errors import InvalidInput
from recollect.model import KINDS
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.model import Memory

_WORDS = {"content", "kind", "why"}  # what agents are told of it


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory, as recall and list show it")
    parser.add_argument("--content", metavar="TEXT", help="what is so; `-` reads it from standard input")
    parser.add_argument("--why", metavar="W", help="the reason, kept with it; an empty one takes it away")
    parser.add_argument("--kind", metavar="K", help="one of: " + ", ".join(KINDS))
    parser.add_argument(
        "--tag", action="append", metavar="T", help="its tags from now on (may be repeated; an empty one: none)"
    )
    parser.add_argument("--importance", type=float, metavar="N", help="0 to 1")
    parser.add_argument("--expires", metavar="WHEN", help="until when it is true: a date, a span such as 30d, or never")
    parser.add_argument("--restore-version", type=whole, metavar="N", help="as it read in version N, which show tells")
    parser.add_argument(
        "--global", dest="nowhere", action="store_true", help="it belongs to no project, so it is told in every one"
    )


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import memory_lines

    changes, project = _changes(args), args.project
    moved = args.nowhere or project is not None
    if args.nowhere and project is not None:
        raise InvalidInput("--project names a project, --global says there is none")
    if not changes and not moved and args.restore_version is None:
        raise InvalidInput("say what is to be different", hint="`recollect edit --help` lists what can be.")
    if args.restore_version is not None and (changes or moved):
        raise InvalidInput("a former wording is put back as it was", hint="Give --restore-version alone.")
    args.project = None  # it is found in whatever project it is
    with open_memory(args, everywhere=True) as memory:
        before = memory.get(whole_id(memory, args.id))
        if before.trust == "user" and (moved or args.restore_version is not None or changes.keys() & _WORDS):
            only_a_person(environment(), "word anew what the user said")
        if args.restore_version is not None:
            changes = _former(memory, before, args.restore_version)
        changes = {name: value for name, value in changes.items() if value != getattr(before, name)}
        moves = moved and before.project != project
        known = project is None or _is_known(memory, project)
        kept = _done(memory, before, changes, project, moves=moves)
    names = [*changes, *(["project"] if moves else [])]
    if console.json:
        console.document({"memory": kept, "changed": names})
        return 0
    _note(console, kept, changes, new=project if moves and not known else None)
    console.line("Changed:" if names else "Nothing was different:")
    console.lines(list(memory_lines(kept)))
    return 0


def _done(memory: Recollect, before: Memory, changes: dict[str, Any], project: str | None, *, moves: bool) -> Memory:
    """Changes that cannot be are refused before anything is done; then it is put there, and changed there."""
    from recollect.pipeline.changing import changed

    changed(before, changes, memory.settings)
    kept = memory.to_project(before.id, project, expected_version=before.version) if moves else before
    return memory.update(kept.id, expected_version=kept.version, **changes) if changes else kept


def _changes(args: Namespace) -> dict[str, Any]:
    """What was given, as the façade takes it."""
    given: dict[str, Any] = {"kind": args.kind, "importance": args.importance}
    changes = {name: value for name, value in given.items() if value is not None}
    if args.content is not None:
        changes = {"content": text_of([args.content]), **changes}
    if args.why is not None:
        changes["why"] = args.why.strip() or None
    if args.tag is not None:
        changes["tags"] = tuple(tag for tag in args.tag if tag.strip())
    if args.expires is not None:
        changes["expires_at"] = None if args.expires == "never" else time_ahead(args.expires)
    return changes


def _former(memory: Recollect, kept: Memory, number: int) -> dict[str, Any]:
    from recollect.pipeline.changing import former

    return former(kept, memory.versions(kept.id), number)


def _is_known(memory: Recollect, project: str) -> bool:
    return project in memory.store.stats.named(memory.scope, project, look=1, most=1_000).projects


def _note(console: Output, kept: Memory, changes: dict[str, Any], *, new: str | None) -> None:
    if "content" in changes and kept.content != changes["content"] and "[REDACTED:" in kept.content:
        console.note("A secret was taken out of it: what is remembered is put before agents and into files.")
    if new is not None:
        console.note(f"The project {new} is new here: no session or other memory belongs to it.")
    if changes and kept.trust != "user":
        console.note(f"It is {kept.trust}, not your own word: `recollect confirm {kept.id}` changes that.")
