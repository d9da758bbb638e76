"""`recollect database`: the PostgreSQL database in use: make or renew its schema, look at it, tell its address."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.cli.opening import Place, address_of, find_place
from recollect.cli.values import read_stdin, whole
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output
    from recollect.store.postgres.administering import AppLogin

STDIN = "-"
_HINT = "Give --url postgresql://…, or `recollect config set database_url`; docs/postgres.md tells more."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("check", "init", "url"),
        default="check",
        help="init: make or renew schema, roles and policies, as the owner; url: its address; default: check",
    )
    group = parser.add_argument_group("init")
    group.add_argument("--partitions", type=whole, metavar="N", help="divide new tables by tenant into N partitions")
    group.add_argument(
        "--app-login", metavar="NAME", help="let this login use the store; it is made where it is missing"
    )
    group.add_argument(
        "--password-file",
        metavar="FILE",
        help="its password: read from FILE (`-`: standard input); where FILE is missing, made up and written there",
    )


def run(args: Namespace, console: Output) -> int:
    given = (args.partitions, args.app_login, args.password_file)
    if args.action != "init" and any(value is not None for value in given):
        raise InvalidInput("--partitions, --app-login and --password-file go with `recollect database init`")
    if args.password_file is not None and args.app_login is None:
        raise InvalidInput("--password-file goes with --app-login")
    place = find_place(args, everywhere=True)
    if args.action == "url":
        return _url(place, console)
    if not place.loaded.settings.database_url:
        raise InvalidInput(f"no database is set: everything is kept in {place.loaded.settings.data_dir}", hint=_HINT)
    return _init(args, place, console) if args.action == "init" else _check(place, console)


def _check(place: Place, console: Output) -> int:
    from recollect.cli.databasecheck import look
    from recollect.cli.findings import tell

    seen, findings = look(place.loaded.settings)
    return tell(findings, console, database=seen)


def _url(place: Place, console: Output) -> int:
    """Where everything is kept and how it is logged in to, without any secret; nothing is opened."""
    settings, origin = place.loaded.settings, place.loaded.origins["database_url"]
    shown = address_of(place)
    credentials = settings.database_credentials if settings.database_url else None
    if console.json:
        console.document({"url": shown, "origin": origin, "credentials": credentials, "data_dir": settings.data_dir})
        return 0
    console.line(shown)
    if settings.database_url:
        from recollect.cli.verbs.config import origin_of

        told = {"static": "in the address, or where libpq finds it"}.get(credentials or "", str(credentials))
        console.note(f"set by: {origin_of(place, 'database_url')}; login: {told}; of this machine: {settings.data_dir}")
    return 0


def _init(args: Namespace, place: Place, console: Output) -> int:
    from recollect.store.opening import require_driver

    require_driver()
    from recollect.store.postgres.administering import initialise

    login, made_up = _login(args)
    done = initialise(place.loaded.settings, parts=args.partitions, login=login)
    if console.json:
        told = {"url": done.address, "before": done.before, "schema": done.schema, "partitions": done.partitions}
        file = args.password_file if made_up else None
        console.document({**told, "app_login": args.app_login, "made": done.made_login, "password_file": file})
        return 0
    now = "is made" if not done.before else "was renewed" if done.before < done.schema else "was there already"
    parts = f", in {done.partitions} partitions" if done.partitions else ""
    console.line(f"{done.address}: schema {done.schema} {now}{parts}; roles, policies and grants are set.")
    if done.made_login is not None:
        console.line(f"{args.app_login} {'was made and ' if done.made_login else ''}may use it.")
    if made_up:
        console.line(f"Its password was made up; it is in {args.password_file}, which only you can read.")
    return 0


def _login(args: Namespace) -> tuple[AppLogin | None, bool]:
    """The login to let in, and whether its password was made up here; it is in its file before it is the login's."""
    from recollect.store.postgres.administering import AppLogin

    if args.app_login is None or args.password_file is None:
        return AppLogin(args.app_login) if args.app_login is not None else None, False
    file = Path(args.password_file)
    if args.password_file == STDIN:
        password = read_stdin()
    elif file.exists():
        password = _read(file)
    else:
        import secrets

        from recollect.cli.files import write_private

        password = secrets.token_urlsafe(32)
        write_private(file, [password.encode() + b"\n"])
        return AppLogin(args.app_login, password), True
    password = password.rstrip("\r\n")
    if not password or not password.isprintable():
        raise InvalidInput("the password is empty, or holds a character that nobody can type")
    return AppLogin(args.app_login, password), False


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {type(error).__name__}") from None
