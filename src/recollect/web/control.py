"""What the control pages tell: what is captured, taken out, kept and for how long, by which models, for whom.

In: a page, which says who looks. Out: plain values for the templates. What belongs to the machine (settings, agents,
files, jobs over the whole store) is gathered only where the server is its user's own; every caller asks `own` first.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recollect.errors import Conflict, InvalidInput, RecollectError
from recollect.http.errors import Refused
from recollect.settings import SECRETS, Loaded, Settings, environment, load
from recollect.version import __version__

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.cli.findings import Finding
    from recollect.store.ports.stats import Captured, Source, Withheld
    from recollect.web.pages import Page

ADDRESS = "/page/control"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LONGEST_NAME = 500  # characters of an agent, project or directory that is switched
MOST_FILES = 2_000  # of one folder that are added up
JOBS = ("gists", "archive", "expire", "redact", "purge", "quarantine", "vacuum")  # those that end soon


class Section(NamedTuple):
    """One control page: the end of its address, and what it is for."""

    name: str
    title: str
    told: str
    own: bool = False  # only for the user of this machine
    needs: str = "read"
    project: bool = True  # whether a key of one project has it too


SECTIONS = (
    Section("projects", "Capture", "Which agents, projects and directories are captured.", own=True),
    Section("privacy", "Privacy", "What was taken out before it was stored, and what is never kept."),
    Section("keys", "Keys", "Who else may open this memory: make, replace and revoke keys.", needs="admin"),
    Section("quota", "Quota", "How much is used of what may be used."),
    Section("export", "Export", "Everything that is kept, as one file."),
    Section("retention", "Retention", "How long things stay, and what upkeep would do now.", own=True),
    Section("models", "Models", "Which models read and embed, and what they may cost."),
    Section("shared", "Shared", "Contexts you share with others, and what was proposed for them.", project=False),
    Section("agents", "Agents", "Where Recollect is installed, and whether that works.", own=True),
    Section("record", "Record", "What was done to this memory, when and by whom.", project=False),
    Section("settings", "Settings", "Every setting, its value and where it came from.", own=True),
    Section("about", "About", "Version, sizes and health."),
)


def sections(page: Page) -> list[Section]:
    """Those that whoever looks may see."""
    return [
        one
        for one in SECTIONS
        if not (one.own and page.hosted) and page.may(one.needs) and (one.project or page.scope.project is None)
    ]


def section(page: Page, name: str) -> Section:
    """One of them; what is not theirs is not there."""
    found = next((one for one in sections(page) if one.name == name), None)
    if found is None:
        raise Refused(404, "there is no such page")
    return found


def own(page: Page) -> None:
    """Refused on a server for others: what follows is its operator's to see and to change."""
    if page.hosted:
        raise Refused(404, "there is no such page")


# -- what is captured --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Switches:
    """Which agents, projects and directories are captured, as the settings say it now."""

    off: tuple[str, ...]
    only: tuple[str, ...]
    file: Path
    fixed: str | None = None  # what goes before the file, if something does

    def state(self, name: str) -> str:
        """`off`, `on`, or `unnamed`: not among those that alone are captured."""
        if name in self.off:
            return "off"
        return "on" if not self.only or name in self.only else "unnamed"


class Place(NamedTuple):
    """An agent, a project or a directory as the page lists it."""

    name: str
    state: str
    sessions: int = 0
    last: datetime | None = None

    @property
    def row(self) -> str:
        """What its row is called inside the page."""
        return row_of(self.name)


def row_of(name: str) -> str:
    """The row of a name."""
    return f"row-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def switches() -> Switches:
    """As they are in the settings now: the page may have changed them since the server began."""
    loaded = load()
    fixed = [loaded.origins[name] for name in ("capture_off", "capture_only")]
    before = next((one for one in fixed if one not in ("default", str(loaded.config_file))), None)
    return Switches(loaded.settings.capture_off, loaded.settings.capture_only, loaded.config_file, before)


def places(now: Switches, captured: Captured) -> dict[str, list[Place]]:
    """Agents, projects, and what else the settings name."""
    from recollect.capture.sources import FLAVORS

    agents = {one.name: one for one in captured.agents}
    projects = {one.name: one for one in captured.projects}
    known = [*agents, *(flavor for flavor in FLAVORS if flavor not in agents)]
    named = [name for name in dict.fromkeys((*now.off, *now.only)) if name not in {*known, *projects}]
    return {
        "agents": [_place(now, name, agents.get(name)) for name in known],
        "projects": [_place(now, name, one) for name, one in projects.items()],
        "others": [_place(now, name, None) for name in named],
    }


def _place(now: Switches, name: str, used: Source | None) -> Place:
    return Place(name, now.state(name), used.sessions if used else 0, used.last if used else None)


class Switched(NamedTuple):
    """What was switched just before, and whether anything here is called so."""

    name: str
    known: bool


def switched(name: str, said: str | None, now: Switches, listed: Mapping[str, Sequence[Place]]) -> Switched | None:
    """What the page tells of a switch: nothing, unless what stands in the address is so."""
    wanted = {"switched-off": "off", "switched-on": "on"}.get(said or "")
    known = any(place.name == name for kind in ("agents", "projects") for place in listed[kind])
    if not name or wanted != now.state(name) or not (known or name in (*now.off, *now.only)):
        return None
    return Switched(name, known or _is_directory(name))


def _is_directory(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir() if name.startswith(("/", "~")) or Path(name).is_absolute() else False
    except (OSError, RuntimeError):  # nobody's home, or a name that no file can have
        return False


def switch(name: str, on: bool) -> str:
    """Capture an agent, project or directory from now on, or do not; written to config.toml, where each other byte
    stays. Returns the name as it is kept."""
    from recollect.cli.configfile import set_list

    name = name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"name an agent, a project or a directory on one line of at most {LONGEST_NAME} characters")
    now = switches()
    if now.fixed:
        raise Conflict(f"{now.fixed} says what is captured, and goes before the file", hint="Change it there.")
    if not on and name not in now.off:
        set_list(now.file, "capture_off", [*now.off, name])
    elif on and name in now.off:
        set_list(now.file, "capture_off", [one for one in now.off if one != name])
    elif on and now.only and name not in now.only:
        set_list(now.file, "capture_only", [*now.only, name])
    return name


# -- what was taken out ------------------------------------------------------------------------------------------------

_WHY = {
    "private": "Marked by its writer: text between <private> and </private>.",
    "ours": "What Recollect itself had put before the agent.",
    "denied": "Read by a tool from a file on the deny list.",
    "switched off": "Prompts of sessions whose agent, project or directory is switched off.",
    "forgotten": "Prompts of sessions that you had forgotten.",
}
_SECRET = "secret:"  # noqa: S105 (the name of a reason)


class Taken(NamedTuple):
    """One reason why something was not kept, and how often, by agent."""

    what: str
    why: str
    total: int
    agents: Mapping[str, int]


def taken(withheld: Sequence[Withheld]) -> tuple[list[str], list[Taken]]:
    """The agents, and every reason with its counts, secrets first, then what there is most of."""
    found: dict[str, dict[str, int]] = {}
    for one in withheld:
        found.setdefault(one.what, {})[one.agent] = one.times
    rows = [Taken(_named(what), _why(what), sum(by.values()), by) for what, by in found.items()]
    rows.sort(key=lambda row: (not row.why.startswith("A secret"), -row.total, row.what))
    return sorted({one.agent for one in withheld}), rows


def _named(what: str) -> str:
    return what.removeprefix(_SECRET).replace("-", " ")


def _why(what: str) -> str:
    if what.startswith(_SECRET):
        return "A secret, replaced by its type and a keyed fingerprint."
    return _WHY.get(what, "Not to be kept.")


# -- models and what they cost -----------------------------------------------------------------------------------------


def models(page: Page) -> dict[str, Any]:
    """The embedder, the language model, and today's spending against the caps."""
    serving, settings = page.asked.serving, page.asked.serving.settings
    embedder = serving.meaning.embedder()
    stored = serving.store.vectors.model()
    return {
        "embedder": embedder and f"{embedder.name} ({embedder.dim})",
        "missing": None if embedder else serving.meaning.missing,
        "fits": embedder is not None and stored in (None, (embedder.name, embedder.dim)),
        "stored": stored and f"{stored[0]} ({stored[1]})",
        "pending": page.memory.store.stats.held(page.scope).pending if page.scope.project is None else None,
        **_language(settings),
        **_spent(page, settings if page.hosted else load().settings),
    }


def _language(settings: Settings) -> dict[str, Any]:
    from recollect.models.language import choose_language
    from recollect.pipeline.spending import price_of

    try:
        model, why = choose_language(settings)
    except RecollectError as error:
        model, why = None, str(error)
    priced = model is not None and price_of(model.name, 1, 1, settings) is not None
    return {"language": model.name if model else None, "no_language": why, "priced": priced}


def _spent(page: Page, settings: Settings) -> dict[str, Any]:
    rows = page.memory.store.ledger.spent(page.scope, since=page.now)
    tokens, usd = sum(row.input + row.output for row in rows), sum(row.usd for row in rows)
    return {
        "spent": rows,
        "tokens": tokens,
        "usd": usd,
        "tokens_cap": settings.llm_daily_tokens,
        "usd_cap": settings.llm_daily_usd,
        "share": min(1.0, max(_share(tokens, settings.llm_daily_tokens), _share(usd, settings.llm_daily_usd))),
    }


def _share(used: float, cap: float) -> float:
    return used / cap if cap else float(used > 0)


def set_budget(tokens: str, usd: str) -> None:
    """The caps of a day, as `recollect budget` sets them; both or neither."""
    from recollect.cli.configfile import check_setting, set_setting

    loaded, given = load(), {"llm_daily_tokens": tokens.strip(), "llm_daily_usd": usd.strip()}
    given = {name: text for name, text in given.items() if text and text != f"{getattr(loaded.settings, name)}"}
    file = loaded.config_file
    for name in given:
        if loaded.origins[name] not in ("default", str(file)):
            raise Conflict(f"{loaded.origins[name]} says what may be spent, and goes before the file")
    for name, value in given.items():
        check_setting(file, name, value)
    for name, value in given.items():
        set_setting(file, name, value)


# -- how long things stay ----------------------------------------------------------------------------------------------


class Budget(NamedTuple):
    """A limit on what is kept, how much of it is used, and what happens beyond it."""

    name: str
    used: int
    cap: int
    then: str


def budgets(page: Page, captured: Captured) -> list[Budget]:
    """What takes room, against what it may take."""
    settings, store = page.asked.serving.settings, page.memory.store
    kept = store.keeping.health(deep=False).bytes.get("database", 0)
    soft, hard = settings.raw_soft_cap_bytes, settings.raw_hard_cap_bytes
    return [
        Budget("Bodies (long texts and images)", captured.body_bytes, soft, "the oldest that have a digest go"),
        Budget("Bodies, at the very most", captured.body_bytes, hard, "the oldest go, and the loss is told"),
        Budget("Database", kept, settings.distilled_cap_bytes, "there is an alert; nothing goes by itself"),
    ]


def rules(settings: Settings) -> list[tuple[str, str, str]]:
    """What happens by age, and which settings say so."""
    return [
        (
            f"A memory that is older than {settings.archive_after_days} days and was read fewer than "
            f"{settings.archive_reads_below} times is archived.",
            "archive_after_days, archive_reads_below",
            "archive",
        ),
        (
            f"A memory that was softly forgotten can be brought back for {settings.redact_after_days} days. "
            "Then its text is removed.",
            "redact_after_days",
            "redact",
        ),
        (f"Its row is removed after {settings.purge_after_days} days.", "purge_after_days", "purge"),
        (
            f"Bodies of digested sessions go after {settings.raw_max_age_days} days.",
            "raw_max_age_days",
            "after each sweep",
        ),
        (f"A backup is kept for {settings.backup_keep_days} days.", "backup_keep_days", "backup"),
    ]


def jobs(page: Page) -> list[dict[str, Any]]:
    """Every job: what it does, who runs it, how it went the last time."""
    from recollect.pipeline.jobs import statuses
    from recollect.pipeline.maintaining import JOBS as ALL

    found = statuses(page.memory.store.notes, tuple(ALL), page.now)
    return [{"name": one.job, "does": ALL[one.job], "runner": one.runner, "last": one.last} for one in found]


def chosen_jobs(names: Sequence[str]) -> list[str]:
    """The jobs that were ticked, in their order."""
    return [name for name in JOBS if name in names]


# -- what was done -----------------------------------------------------------------------------------------------------


def readable(page: Page, subjects: Sequence[str]) -> set[str]:
    """Which of these are memories that can be read: forgotten ones too, while their text is there."""
    found = page.memory.store.memories.get_many(page.scope, (one for one in subjects if _ID.fullmatch(one)))
    return {memory.id for memory in found.values() if memory.content}


# -- the machine -------------------------------------------------------------------------------------------------------


def agents(page: Page) -> tuple[list[dict[str, Any]], list[str]]:
    """The agents on this machine and how Recollect is installed for each; and those that were not found."""
    from recollect.install.errors import BadSettings
    from recollect.install.hosts import NAMES
    from recollect.install.plan import hook_commands, is_installed
    from recollect.install.run import hosts, machine

    on = machine(Path.home(), environment(), page.asked.serving.settings.data_dir.absolute())
    told = []
    for host in hosts(on):
        one: dict[str, Any] = {"name": host.name, "title": host.title, "sign": host.sign, "agent": host.agent}
        try:
            told.append({**one, "installed": is_installed(host), "hooks": len(hook_commands(host)), "problem": None})
        except BadSettings as error:
            told.append({**one, "installed": False, "hooks": 0, "problem": str(error)})
    return told, [name for name in NAMES if name not in {one["name"] for one in told}]


def check(page: Page) -> list[Finding]:
    """What `recollect doctor` finds."""
    from recollect.cli.opening import Place as Opened
    from recollect.cli.verbs.doctor import findings

    serving = page.asked.serving
    loaded = replace(load(), settings=serving.settings)
    return findings(Opened(loaded, serving.owner, "the page sees every project", None))


def settings_told(page: Page) -> tuple[Path, list[tuple[str, str, str]]]:
    """The file, and every setting as it is in force here: its name, where it came from, its value."""
    loaded = load()
    return loaded.config_file, [_setting(loaded, page.asked.serving.settings, item.name) for item in fields(Settings)]


def _setting(loaded: Loaded, now: Settings, name: str) -> tuple[str, str, str]:
    value, origin = getattr(now, name), loaded.origins[name]
    if name in SECRETS:
        shown = "set" if value else "not set"
    elif isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, Mapping):
        shown = ", ".join(f"{key} = {_words(to)}" for key, to in value.items())
    else:
        shown = "" if value is None else _words(value)
    if value != getattr(loaded.settings, name):
        origin = "given to this server"
    return name, "file" if origin == str(loaded.config_file) else origin, shown


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def about(page: Page) -> dict[str, Any]:
    """The version, what is held, and on one's own machine where and how large it is."""
    serving = page.asked.serving
    held, quota = page.memory.store.stats.held(page.scope), page.memory.store.quotas.get(page.scope)
    told: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "store": "PostgreSQL" if serving.settings.database_url else "SQLite",
        "held": held,
        "memories": quota.memories if page.scope.project is None else None,
        "folder": None,
    }
    if page.hosted:
        return told
    folder = serving.settings.data_dir
    backlog = serving.store.tasks.backlog(at=page.now)
    return {**told, "folder": folder, "parts_of": list(sizes(folder)), "backlog": backlog}


def sizes(folder: Path) -> Iterator[tuple[str, int, bool]]:
    """What the data directory takes: each folder, the database with its log, all other files; and whether that is all
    of it, since a folder with very many files is added up only in part."""
    database = rest = 0
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield entry.name + "/", *_folder_bytes(entry)
        elif entry.name.startswith("recollect.db"):
            database += _bytes(entry)
        else:
            rest += _bytes(entry)
    yield "recollect.db", database, True
    yield "other files", rest, True


def _folder_bytes(folder: Path) -> tuple[int, bool]:
    total = 0
    for number, entry in enumerate(folder.rglob("*")):
        if number >= MOST_FILES:
            return total, False
        total += 0 if entry.is_symlink() or entry.is_dir() else _bytes(entry)
    return total, True


def _bytes(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:  # it went meanwhile
        return 0
