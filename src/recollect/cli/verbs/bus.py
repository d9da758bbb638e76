"""`recollect bus`: how the events stand that come by Redis; dead letters, putting back or dropping them; publishing.

What is dropped is gone for good, so it asks first; without a terminal it needs --yes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place
from recollect.cli.values import whole
from recollect.cli.wording import counted
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.bus.stream import DeadLetter, Stream
    from recollect.cli.output import Output

ACTIONS = ("status", "dead", "requeue", "drop", "publish")
_PAGE = 100  # dead letters read at once: one may be a megabyte


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=ACTIONS, default="status", help="default: status")
    parser.add_argument(
        "what", nargs="?", metavar="ID|TEXT", help="requeue, drop: which dead letter, or `all`; publish: what"
    )
    parser.add_argument("--limit", type=whole, default=20, metavar="N", help="dead: how many, newest first (20)")
    parser.add_argument("--before", metavar="ID", help="dead: those older than this one")
    parser.add_argument("--show", action="store_true", help="dead: the events themselves too")
    parser.add_argument("--yes", action="store_true", help="drop: do not ask")
    parser.add_argument("--dry-run", action="store_true", help="drop: say how many would go, and stop")
    parser.add_argument("--type", metavar="TYPE", help="publish: conversation.message (default), memory.fact …")
    parser.add_argument("--session", metavar="ID", help="publish: which conversation")
    parser.add_argument("--role", metavar="ROLE", help="publish: user (default), assistant, tool or system")
    parser.add_argument("--id", metavar="ID", help="publish: what makes it the same event when it is sent again")
    parser.add_argument("--sign", metavar="KEY", help="publish: with this key of the tenant, from redis_keys_file")
    parser.add_argument("--channel", action="store_true", help="publish: on the channel, where only listeners get it")


def run(args: Namespace, console: Output) -> int:
    letter = "the id of a dead letter, or `all`"
    needs = {"requeue": letter, "drop": letter, "publish": "a text"}
    if (args.what is not None) != (args.action in needs):
        raise InvalidInput(
            f"bus {args.action} needs {needs[args.action]}" if args.action in needs else "too many words"
        )
    place = find_place(args, everywhere=True)
    from recollect.bus.connecting import connect, told
    from recollect.bus.stream import Stream

    client = connect(place.loaded.settings.redis_url)
    stream = Stream(client, place.loaded.settings)
    try:
        with told():
            if args.action == "publish":
                return _publish(args, place, console)
            if args.action == "requeue":
                return _requeue(args.what, stream, console)
            if args.action == "drop":
                return _drop(args, stream, console)
            return _dead(args, stream, console) if args.action == "dead" else _status(place, stream, console)
    finally:
        client.close()


def _status(place: Place, stream: Stream, console: Output) -> int:
    figures, settings = stream.figures(), place.loaded.settings
    if console.json:
        names = ("lag", "waiting", "pending", "dead", "oldest_seconds", "length", "readers")
        console.document({"stream": stream.name, **{name: getattr(figures, name) for name in names}})
        return 0
    console.line(("stream   ", "dim"), f"{stream.name}, {counted(figures.length, 'entries')}, group {stream.group}")
    console.line(("channel  ", "dim"), settings.redis_channel)
    given = f"{figures.pending:,} given to {counted(figures.readers, 'readers')}"
    console.line(("to store ", "dim"), f"{figures.lag:,} ({given})")
    if figures.lag:
        console.line(("oldest   ", "dim"), f"{figures.oldest_seconds:,.0f} seconds")
    console.line(
        ("dead     ", "dim"), f"{figures.dead:,}" + ("; `recollect bus dead` says why" if figures.dead else "")
    )
    if figures.lag and not figures.readers:
        console.note("Nobody reads the stream: `recollect worker` or `recollect serve` does.")
    return 0


def _dead(args: Namespace, stream: Stream, console: Output) -> int:
    if not 1 <= args.limit <= 1_000:
        raise InvalidInput("--limit is 1 to 1,000")
    letters = stream.dead(args.limit, args.before)
    if console.json:
        console.document({"dead": [_told(letter, args.show) for letter in letters]})
        return 0
    if not letters:
        console.note("There are no dead letters.")
        return 0
    rows = [
        (letter.id, f"{letter.at:%Y-%m-%d %H:%M}", str(letter.attempts), letter.code, letter.reason)
        for letter in letters
    ]
    console.table(("id", "when", "attempts", "code", "reason"), rows)
    for letter in letters if args.show else ():
        console.line((f"\n{letter.id}  ", "dim"), _text(letter))
    if len(letters) == args.limit:
        console.note(f"There may be more: --before {letters[-1].id}")
    return 0


def _told(letter: DeadLetter, show: bool) -> dict[str, Any]:
    names = ("id", "entry", "code", "reason", "attempts", "at", "cut")
    own = {name: getattr(letter, name) for name in names}
    return {**own, "event": _text(letter)} if show else own


def _text(letter: DeadLetter) -> str:
    return letter.event.decode("utf-8", "replace")


def _requeue(what: str, stream: Stream, console: Output) -> int:
    ids = [what] if what != "all" else [letter.id for letter in _every(stream) if not letter.cut][::-1]
    made = {id_: stream.requeue(id_) for id_ in ids}
    if console.json:
        console.document({"requeued": made})
    else:
        console.line(f"Put back: {len(made):,}." if what == "all" else f"Put back as {made[what]}.")
    return 0


def _every(stream: Stream) -> Iterator[DeadLetter]:
    """All dead letters there are now, newest first."""
    before = None
    while page := stream.dead(_PAGE, before):
        yield from page
        before = page[-1].id


def _drop(args: Namespace, stream: Stream, console: Output) -> int:
    last = stream.last_dead() if args.what == "all" else stream.letter(args.what).id
    number = 0 if last is None else stream.figures().dead if args.what == "all" else 1
    if last is None or args.dry_run:
        return _dropped(console, number, dry_run=args.dry_run)
    what = counted(number, "dead letters")
    if not args.yes and not console.can_ask:
        raise InvalidInput(f"this would drop {what}", hint="Give --yes to do it, or --dry-run to look first.")
    if not args.yes and not console.confirm(f"Drop {what} for good?"):
        console.line("Nothing was dropped.")
        return 0
    return _dropped(console, stream.drop_dead(until=last) if args.what == "all" else stream.drop(last), dry_run=False)


def _dropped(console: Output, number: int, *, dry_run: bool) -> int:
    if console.json:
        console.document({"dry_run": dry_run, "dropped": number})
    else:
        console.line(f"{'Would drop' if dry_run else 'Dropped'} {counted(number, 'dead letters')}.")
    return 0


def _publish(args: Namespace, place: Place, console: Output) -> int:
    from recollect.bus.publish import Publisher
    from recollect.bus.signing import Keyring

    settings, scope = place.loaded.settings, place.scope
    signer = None if args.sign is None else Keyring(settings.redis_keys_file).find(scope.tenant, args.sign)
    if args.sign is not None and signer is None:
        raise InvalidInput(
            f"tenant {scope.tenant} has no key {args.sign[:40]!r}", hint="See the setting redis_keys_file."
        )
    more = {"session_id": args.session, "role": args.role, "context_id": scope.project}
    with Publisher(settings.redis_url, user=scope.user, source="cli", settings=settings, signer=signer) as publisher:
        event = publisher.event(args.type or "conversation.message", args.what, args.id, **more)
        heard = publisher.announce(event) if args.channel else None
        entry = None if args.channel else publisher.publish(event)
    if console.json:
        console.document({"entry": entry, "heard": heard})
    elif heard is None:
        console.line(f"In the stream as {entry}.")
    else:
        console.line(f"{heard:,} heard it." if heard else "Nobody heard it, so it is gone.")
    return 0 if heard is None or heard else 1
