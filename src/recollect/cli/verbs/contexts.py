"""`recollect contexts`: what is shared with others. Lists and makes contexts, their members, proposals and decisions.

An agent may look; what gives something to others, or lets something in, is for a person to do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import open_memory
from recollect.errors import InvalidInput
from recollect.model import KINDS, MEMBER_ROLES

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.store.ports.contexts import Proposal

# Action -> (what it takes behind the name of the context, what it does).
ACTIONS = {
    "list": ("", "the contexts you are in or asked to join"),
    "create": ("", "make one; you are its admin. `create commons`: the one that everybody here may join"),
    "join": ("", "enter one you were asked into, or the commons"),
    "leave": ("", "be a member no more"),
    "dissolve": ("", "end it: all that is in it is forgotten for good"),
    "members": ("", "who is in it"),
    "add": ("MEMBER", "ask somebody to join, or give them another role"),
    "remove": ("MEMBER", "take somebody out"),
    "show": ("", "the memories in it"),
    "remember": ("TEXT", "write into one that takes memories without a review"),
    "forget": ("ID", "take a memory out of it"),
    "propose": ("ID", "lay a copy of a memory of yours before its reviewers"),
    "proposals": ("", "what was proposed: all of it for reviewers, else your own"),
    "approve": ("ID", "let a proposal in, as it is or with --content"),
    "reject": ("ID", "say no to a proposal"),
    "withdraw": ("ID", "take back what you proposed, approved or not: its words go"),
}
_LOOKING = ("list", "members", "show", "proposals")
_STATES = ("open", "approved", "rejected", "withdrawn", "all")
_MOST = 1_000


def configure(parser: ArgumentParser) -> None:
    actions = "; ".join(f"{name}: {told}" for name, (_, told) in ACTIONS.items())
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="list", metavar="ACTION", help=actions)
    parser.add_argument("name", nargs="?", metavar="NAME", help="of the context, or its id")
    parser.add_argument("what", nargs="*", metavar="WHAT", help="a MEMBER, the ID of a memory or proposal, or a TEXT")
    parser.add_argument("--role", choices=MEMBER_ROLES, help="add: what they may do (default: reader)")
    parser.add_argument("--reviewed", action="store_true", help="create: memories come in by approved proposals alone")
    parser.add_argument(
        "--own-approval", action="store_true", help="create: reviewers may approve what they proposed themselves"
    )
    parser.add_argument("--why", metavar="TEXT", help="propose, approve, reject, remember: the reason")
    parser.add_argument("--content", metavar="TEXT", help="approve: in these words instead")
    parser.add_argument("--kind", choices=KINDS, metavar="K", help="approve, remember: of this kind")
    parser.add_argument("--state", choices=_STATES, default="open", help="proposals: which (default: open)")
    parser.add_argument("--yes", action="store_true", help="dissolve: do not ask")
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="show, proposals: leave out the first N")


def run(args: Namespace, console: Output) -> int:
    takes = ACTIONS[args.action][0]
    if args.action != "list" and args.name is None:
        raise InvalidInput(f"which context? recollect contexts {args.action} NAME {takes}".rstrip())
    if bool(args.what) != bool(takes) or (len(args.what) > 1 and takes != "TEXT"):
        raise InvalidInput(f"it goes like this: recollect contexts {args.action} NAME {takes}".rstrip())
    if args.action not in _LOOKING:
        from recollect.cli.agentshell import only_a_person
        from recollect.settings import environment

        only_a_person(environment(), "share or decide what is shared")
    with open_memory(args) as memory:
        return _DOING[args.action](memory, args, console)


def _list(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.contexts.mine()
    if console.json:
        console.document({"contexts": found})
    elif not found:
        console.note("You share nothing. `recollect contexts create NAME` makes a context.")
    else:
        rows = [
            (
                one.name,
                one.role,
                "by review" if one.reviewed else "directly",
                one.added_by,
                _since(one.joined_at),
                one.id,
            )
            for one in found
        ]
        console.table(("name", "your role", "written", "added by", "joined", "id"), rows)
    return 0


def _create(memory: Recollect, args: Namespace, console: Output) -> int:
    made = memory.contexts.create(args.name, reviewed=args.reviewed, own_approval=args.own_approval)
    how = "approved proposals" if made.reviewed else "what its writers put in, and approved proposals"
    return _say(console, {"context": made}, f"Made {made.name} ({made.id}): it takes {how}. You are its admin.")


def _join(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.contexts.join(args.name)
    return _say(
        console,
        {"context": found},
        f"You are in {found.name}, as {found.role}. `recall --context {found.name}` asks it too.",
    )


def _leave(memory: Recollect, args: Namespace, console: Output) -> int:
    memory.contexts.leave(args.name)
    return _say(console, {"left": args.name}, f"You are not in {args.name} any more.")


def _dissolve(memory: Recollect, args: Namespace, console: Output) -> int:
    if not args.yes and not console.can_ask:
        raise InvalidInput(f"this would end {args.name} and forget all that is in it", hint="Give --yes to do it.")
    if not args.yes and not console.confirm(f"End {args.name} and forget all that is in it?"):
        return _say(console, {"dissolved": None}, "Nothing was changed.")
    memory.contexts.dissolve(args.name)
    return _say(console, {"dissolved": args.name}, f"{args.name} is no more.")


def _members(memory: Recollect, args: Namespace, console: Output) -> int:
    found = memory.contexts.members(args.name)
    if console.json:
        console.document({"members": found})
    else:
        rows = [(one.user, one.tenant, one.role, one.added_by, _since(one.joined_at)) for one in found]
        console.table(("member", "tenant", "role", "added by", "joined"), rows)
    return 0


def _add(memory: Recollect, args: Namespace, console: Output) -> int:
    role = args.role or "reader"
    memory.contexts.add(args.name, args.what[0], role)
    told = (
        f"{args.what[0]} may be {role} of {args.name}; who is not in it yet types: recollect contexts join {args.name}"
    )
    return _say(console, {"member": args.what[0], "role": role}, told)


def _remove(memory: Recollect, args: Namespace, console: Output) -> int:
    memory.contexts.remove(args.name, args.what[0])
    return _say(
        console, {"removed": args.what[0]}, f"{args.what[0]} is out of {args.name} and sees nothing of it any more."
    )


def _show(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.recall.credit import credit_of

    found = memory.contexts.memories(args.name, offset=args.offset)
    if console.json:
        console.document({"memories": found})
    elif not found:
        console.note(f"There is nothing in {args.name} yet.")
    else:
        rows = [
            (
                one.id,
                one.kind,
                credit_of(one).get("by", ""),
                credit_of(one).get("approved_by", ""),
                one.trust,
                one.content,
            )
            for one in found
        ]
        console.table(("id", "kind", "by", "approved by", "trust", "content"), rows)
    return 0


def _remember(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.cli.values import text_of

    kept = memory.contexts.remember(args.name, text_of(args.what), args.kind or "note", why=args.why)
    return _say(console, {"memory": kept}, f"Shared in {args.name}: {kept.id} [{kept.kind}], {kept.trust}")


def _forget(memory: Recollect, args: Namespace, console: Output) -> int:
    memory.contexts.forget(args.name, args.what[0])
    return _say(console, {"forgotten": args.what[0]}, f"Taken out of {args.name}.")


def _propose(memory: Recollect, args: Namespace, console: Output) -> int:
    from recollect.cli.memoryids import whole_id

    made = memory.contexts.propose(whole_id(memory, args.what[0]), args.name, args.why)
    if not console.json:
        console.line(f"Proposed for {args.name}, for its reviewers to decide:")
    return _told(console, made)


def _proposals(memory: Recollect, args: Namespace, console: Output) -> int:
    state = None if args.state == "all" else args.state
    found = memory.contexts.proposals(args.name, state, offset=args.offset)
    if console.json:
        console.document({"proposals": found})
    elif not found:
        console.note(f"No proposals {'' if state is None else f'are {state} '}in {args.name} for you to see.")
    for place, one in enumerate([] if console.json else found):
        if place:
            console.line()
        _lines(console, one)
    return 0


def _approve(memory: Recollect, args: Namespace, console: Output) -> int:
    id_ = _whole(memory, args)
    return _told(console, memory.contexts.approve(args.name, id_, args.why, content=args.content, kind=args.kind))


def _reject(memory: Recollect, args: Namespace, console: Output) -> int:
    return _told(console, memory.contexts.reject(args.name, _whole(memory, args), args.why))


def _withdraw(memory: Recollect, args: Namespace, console: Output) -> int:
    return _told(console, memory.contexts.withdraw(args.name, _whole(memory, args)))


def _whole(memory: Recollect, args: Namespace) -> str:
    """The id of the one proposal that begins or ends so; what fits none comes back as it is."""
    piece: str = args.what[0].casefold()
    if len(piece) < 6:
        return piece
    ids = [one.id for one in memory.contexts.proposals(args.name, None, limit=_MOST)]
    fits = [id_ for id_ in ids if id_.startswith(piece) or id_.endswith(piece)]
    if len(fits) > 1:
        raise InvalidInput(f"{piece} fits {len(fits)} proposals", hint="Give more of the id; its end tells more.")
    return fits[0] if fits else piece


def _told(console: Output, proposal: Proposal) -> int:
    if console.json:
        console.document({"proposal": proposal})
    else:
        _lines(console, proposal)
    return 0


def _lines(console: Output, one: Proposal) -> None:
    """A proposal: its words, who proposed it and on what it rests, and what became of it."""
    from recollect.cli.cards import said_by

    places = (
        f", from {one.evidenced} places in sessions"
        if one.evidenced > 1
        else ", from a session"
        if one.evidenced
        else ""
    )
    console.line((f"[{one.kind}]", "bold cyan"), " ", one.content or "(taken back)")
    for name, text in (("why", one.why), ("proposed because", one.reason)):
        if text:
            console.line((f"- {name}: ", "dim"), text)
    console.line((f"  {one.id} · {one.state} · by {one.proposed_by} · {said_by(one.origin, one.trust)}{places}", "dim"))
    if one.decided_by:
        edited = ", in other words" if one.edited else ""
        reason = f": {one.decision}" if one.decision else ""
        console.line(
            (f"  {'rejected' if one.memory is None else 'approved'} by {one.decided_by}{edited}{reason}", "dim")
        )
    if one.withdrawn_by:
        console.line((f"  withdrawn by {one.withdrawn_by}", "dim"))


def _say(console: Output, document: dict[str, Any], text: str) -> int:
    if console.json:
        console.document(document)
    else:
        console.line(text)
    return 0


def _since(moment: Any) -> str:
    return f"{moment:%Y-%m-%d}" if moment else "not yet"


_DOING: dict[str, Callable[[Recollect, Namespace, Output], int]] = {
    "list": _list,
    "create": _create,
    "join": _join,
    "leave": _leave,
    "dissolve": _dissolve,
    "members": _members,
    "add": _add,
    "remove": _remove,
    "show": _show,
    "remember": _remember,
    "forget": _forget,
    "propose": _propose,
    "proposals": _proposals,
    "approve": _approve,
    "reject": _reject,
    "withdraw": _withdraw,
}
