"""`recollect feedback`: say that a memory was helpful, harmful or cited; how useful it proved moves its rank a little.

Said by an agent it is the agent's word. Being recalled or shown alone never counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.agentshell import speaker
from recollect.cli.memoryids import whole_id
from recollect.cli.opening import open_memory
from recollect.settings import environment

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output

_VERDICTS = ("helpful", "harmful", "cited")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="of the memory, as recall and list show it")
    parser.add_argument("verdict", choices=_VERDICTS, help="harmful weighs as much against it as four helpful for it")
    parser.add_argument("--session", metavar="S", help="the session it was so in; once a session and verdict counts")
    parser.add_argument("--note", metavar="TEXT", help="what it was helpful or harmful for; kept beside it")
    parser.add_argument("--undo", action="store_true", help="take that back")


def run(args: Namespace, console: Output) -> int:
    from recollect.cli.cards import usage_lines

    source = "user" if speaker(environment()) == "user" else "agent"
    with open_memory(args) as memory:
        id_ = whole_id(memory, args.id)
        given = {"note": args.note, "undo": args.undo, "source": source}
        told = memory.feedback(id_, args.verdict, args.session, **given)
    if console.json:
        console.document(told)
        return 0
    console.line("Taken back." if args.undo else "Noted:")
    console.lines(list(usage_lines(told)))
    return 0
