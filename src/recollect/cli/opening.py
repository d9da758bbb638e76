"""From flags and the working directory to an open memory: which settings, whose scope, which project and why.

The project is, in this order: --project, --all-projects (none), the setting `project`, that of the working directory.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import InvalidInput
from recollect.model import Scope, check_id
from recollect.settings import Loaded, load, missing_config

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.facade import Recollect


class Place(NamedTuple):
    """Where a command works: the settings in force, the scope, and which rule gave its project."""

    loaded: Loaded
    scope: Scope
    rule: str
    directory: str | None

    @property
    def database(self) -> Path:
        """The file of the embedded store, there or not."""
        from recollect.store.sqlite.store import FILE_NAME

        return self.loaded.settings.data_dir / FILE_NAME

    @property
    def has_store(self) -> bool:
        """Whether there is a store to look into: the file, or a database at an address, which is told when it fails."""
        return bool(self.loaded.settings.database_url) or self.database.exists()


def add_flags(parser: ArgumentParser) -> None:
    """The flags every verb has."""
    group = parser.add_argument_group("flags of every verb")
    group.add_argument("--json", action="store_true", help="print one JSON document")
    group.add_argument("--data-dir", metavar="DIR", help="where everything is kept")
    group.add_argument("--url", metavar="URL", help="the PostgreSQL database to keep it in instead: postgresql://…")
    group.add_argument("--user", metavar="NAME", help="whose memory: the person")
    group.add_argument("--tenant", metavar="NAME", help="whose memory: the organisation")
    project = group.add_mutually_exclusive_group()
    project.add_argument("--project", metavar="NAME", help="this project instead of the working directory's")
    project.add_argument(
        "--all-projects",
        "--no-project",
        action="store_true",
        help="no project: reads see every project, writes belong to none",
    )


def find_place(args: Namespace, *, everywhere: bool = False) -> Place:
    """Settings and scope from the flags; `everywhere`: in no project unless one is named."""
    from recollect.store.opening import located

    loaded = load(data_dir=args.data_dir, user=args.user, tenant=args.tenant)
    told = {} if args.url is None else {"database_url": "argument"}
    loaded = replace(loaded, settings=located(loaded.settings, args.url), origins={**loaded.origins, **told})
    settings = loaded.settings
    owner = Scope(settings.tenant, settings.user) if settings.user else Scope(settings.tenant)
    if args.project is not None and args.all_projects:
        raise InvalidInput("--project names a project, --global and --all-projects say there is none")
    if args.project is not None:
        project: str | None = check_id(args.project, "project")
        rule, directory = "--project", None
    elif args.all_projects or everywhere:
        project, rule, directory = None, "--all-projects" if args.all_projects else "this verb sees every project", None
    elif settings.project:
        project, rule, directory = settings.project, f"the setting `project` ({loaded.origins['project']})", None
    else:
        project, rule, directory = _of_directory(loaded)
    return Place(loaded, owner.within(project), rule, directory)


def open_memory(args: Namespace, *, everywhere: bool = False) -> Recollect:
    """The memory a command works on. Nothing runs in the background: a command ends when it is done."""
    return open_place(find_place(args, everywhere=everywhere))


def open_to_ask(args: Namespace) -> Recollect:
    """The same for one question: to make the weights for quick ones would take longer than it spares."""
    place = find_place(args)
    settings = replace(place.loaded.settings, quick_questions=False)
    return open_place(place._replace(loaded=replace(place.loaded, settings=settings)))


def open_place(place: Place) -> Recollect:
    """The memory of a place."""
    from recollect.facade import Recollect

    memory = Recollect.open(settings=place.loaded.settings, scope=place.scope, background=False)
    memory.directory = Path(place.directory) if place.directory else None
    return memory


def address_of(place: Place) -> str:
    """Where a place keeps its rows, for people: nothing secret stands in it."""
    from recollect.settings import environment

    settings = place.loaded.settings
    if not settings.database_url:
        return f"sqlite:///{settings.data_dir.absolute().as_posix().lstrip('/')}"
    from recollect.store.opening import require_driver

    require_driver()
    from recollect.store.postgres.address import read_address

    return str(read_address(settings.database_url, environment()))


def _of_directory(loaded: Loaded) -> tuple[str | None, str, str | None]:
    from recollect.project import resolve

    try:
        found = resolve(Path.cwd(), loaded.settings.projects)
    except FileNotFoundError:
        return None, "the working directory is gone", None
    return found.name, found.rule, found.directory


def config_problem() -> InvalidInput | None:
    """What is wrong with where the settings are said to be, if anything."""
    missing = missing_config()
    if missing is None:
        return None
    hint = "Correct the variable, or write the file: `recollect config set NAME VALUE` does."
    return InvalidInput(f"RECOLLECT_CONFIG names {missing}, which is not there", hint=hint)


def require_config() -> None:
    """A service whose settings are not where it was told to look would start with a memory that is not its own."""
    problem = config_problem()
    if problem is not None:
        raise problem
