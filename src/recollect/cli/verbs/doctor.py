"""`recollect doctor`: looks at everything, says what is wrong and what to do; exit 1 when something is.

`--repair` makes the index again; a file that is damaged is moved aside, and every row of it that can still be read
and verified is saved into a fresh one. Nothing is made or changed without it, but for an empty directory that is taken
away at once: nothing else tells whether the data directory can be made.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.cli.findings import Finding, tell
from recollect.cli.opening import Place, config_problem, find_place, open_place
from recollect.cli.wording import counted, in_words
from recollect.errors import RecollectError, StoreCorrupt

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from pathlib import Path

    from recollect.cli.output import Output
    from recollect.facade import Recollect
    from recollect.store.ports.capture import Covered

_NOT_DAMAGE = ("wal", "sqlite", "vector engine")  # what says nothing about the file itself
_ELSEWHERE = "Set data_dir (RECOLLECT_DATA_DIR) to a directory you can write to."


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="check every page, index and hash")
    parser.add_argument(
        "--repair", action="store_true", help="make the index again; save what a damaged database holds"
    )


def run(args: Namespace, console: Output) -> int:
    place = find_place(args, everywhere=True)
    repaired = _repair(place, console) if args.repair and place.has_store else []
    return tell([*repaired, *findings(place, deep=args.deep or args.repair)], console)


def findings(place: Place, *, deep: bool = False) -> list[Finding]:
    """All that is looked at, and how it is; nothing is changed."""
    covered: list[Covered] = []
    looked = [*_settings(), *_directory(place), *_database(place, covered, deep=deep), *_embedder(place)]
    return [*looked, *_language_model(place), *_bus(place), *_agents(place, covered)]


# -- looking -----------------------------------------------------------------------------------------------------------


def _settings() -> list[Finding]:
    problem = config_problem()
    return [] if problem is None else [Finding("settings", "bad", str(problem), problem.hint)]


def _directory(place: Place) -> list[Finding]:
    import stat

    folder = place.loaded.settings.data_dir
    if not folder.exists() and not folder.is_symlink():
        problem = _unmakable(folder)
        if problem:
            return [Finding("data directory", "bad", f"{folder} cannot be made: {problem}", _ELSEWHERE)]
        return [Finding("data directory", "note", f"{folder} is not there yet", "It is made at the first use.")]
    info = folder.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if stat.S_ISLNK(info.st_mode):
        return [Finding("data directory", "bad", f"{folder} is a symbolic link", "Set data_dir to the real directory.")]
    if not stat.S_ISDIR(info.st_mode):
        return [Finding("data directory", "bad", f"{folder} is not a directory", "Set data_dir to another place.")]
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        return [Finding("data directory", "bad", f"{folder} belongs to another user", "Set data_dir to one of yours.")]
    if mode & 0o077:
        return [Finding("data directory", "bad", f"{folder} is open to others ({mode:o})", f"chmod 700 {folder}")]
    if not os.access(folder, os.W_OK | os.X_OK):
        if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY:
            return [Finding("data directory", "bad", f"{folder} is on a read-only file system", _ELSEWHERE)]
        return [Finding("data directory", "bad", f"{folder} cannot be written", f"chmod 700 {folder}")]
    return [Finding("data directory", "ok", f"{folder}, private ({mode:o})"), *_open_files(folder)]


def _unmakable(folder: Path) -> str | None:
    """Why this directory could not be made, if so."""
    from pathlib import Path
    from tempfile import mkdtemp

    place = next(one for one in folder.absolute().parents if one.exists())
    try:
        Path(mkdtemp(prefix=".recollect-", dir=place)).rmdir()
    except OSError as error:
        return f"{place}: {error.strerror}"
    return None


def _open_files(folder: Path) -> list[Finding]:
    shared = [path.name for path in folder.glob("recollect.db*") if path.is_file() and path.lstat().st_mode & 0o077]
    if not shared:
        return []
    return [Finding("permissions", "bad", f"others may read {', '.join(shared)}", f"chmod 600 {folder}/recollect.db*")]


def _database(place: Place, covered: list[Covered], *, deep: bool) -> list[Finding]:
    """The store and what is in it; the sessions it holds go into `covered`."""
    if place.loaded.settings.database_url:
        from recollect.cli.databasecheck import is_usable, look

        seen, found = look(place.loaded.settings)
        return [*found, *(_store(place, covered, deep=deep) if is_usable(seen) else [])]
    if not place.has_store:
        return [Finding("database", "note", "there is none yet", "It is made when something is remembered.")]
    return _store(place, covered, deep=deep)


def _store(place: Place, covered: list[Covered], *, deep: bool) -> list[Finding]:
    try:
        with open_place(place) as memory:
            with suppress(RecollectError):  # told below
                covered += memory.store.captures.coverage(memory.scope)
            found = [] if place.loaded.settings.database_url else _engine(memory, place)
            found += [*_contents(memory, deep=deep), *_capture(memory, covered), *_vectors(memory)]
            return [*found, *_quarantine(memory), *_unanswered(memory)]
    except RecollectError as error:
        return [Finding("database", "bad", str(error), error.hint)]


def _engine(memory: Recollect, place: Place) -> list[Finding]:
    import apsw

    from recollect.store.sqlite.database import is_wal_reset_vulnerable
    from recollect.store.sqlite.store import SqliteStore

    assert isinstance(memory.store, SqliteStore)
    with memory.store.database.reading() as connection:
        journal, schema = connection.pragma("journal_mode"), connection.pragma("user_version")
    version = apsw.sqlite_lib_version()
    slow = is_wal_reset_vulnerable(version)
    verdict = "can lose commits in WAL mode, so WAL is off and writes are slower" if slow else "safe with WAL"
    engine = Finding(
        "SQLite",
        "note" if slow else "ok",
        f"{version}, journal {journal}: {verdict}",
        "Upgrade apsw." if slow else None,
    )
    return [Finding("database", "ok", f"{place.database}, schema {schema}"), engine]


def _capture(memory: Recollect, covered: list[Covered]) -> list[Finding]:
    """What came from agents' files and what hooks left."""
    from recollect.capture.spool import Spool

    spool = Spool(memory.settings.data_dir.absolute())
    waiting, missed, refused = len(spool.waiting()), spool.missed(), spool.refused()
    failed = [each for each in covered if each.seen.state == "failed"]
    found = []
    if waiting > 100:
        found.append(Finding("spool", "bad", f"{waiting:,} records of hooks wait", "Run `recollect sweep --spool`."))
    elif waiting or missed or refused:
        text = f"{waiting:,} records of hooks wait, {missed:,} could not be written, {refused:,} were refused"
        found.append(Finding("spool", "note", text, "`recollect sweep` reads those sessions from their files."))
    if failed:
        text = f"{counted(len(failed), 'transcripts')} could not be read: {failed[0].seen.name}: {failed[0].seen.error}"
        found.append(Finding("transcripts", "note", text, "`recollect coverage` lists them; each sweep tries again."))
    return found


def _contents(memory: Recollect, *, deep: bool) -> list[Finding]:
    health = memory.health(deep)
    found = [Finding("contents", "ok", in_words(health.counts) or "empty")]
    embedded = "wal" in health.bytes
    if embedded:
        sizes = f"database {health.bytes['database']:,} bytes, write-ahead log {health.bytes['wal']:,} bytes"
        found.append(Finding("size", "ok", sizes))
    mend = "Run `recollect doctor --repair`." if embedded else "Restore a backup: somebody changed rows from outside."
    for name, text in health.checks.items():
        if name == "wal":
            found.append(Finding(name, "bad", text, "End the program that reads, then `recollect maintain`."))
        elif name == "vector engine":
            found.append(
                Finding(name, "bad", text, "`recollect maintain` makes it again; until then recall goes without.")
            )
        elif name != "sqlite":
            found.append(Finding(name, "bad", text, mend))
    if deep and all(finding.state == "ok" for finding in found):
        checked = "every page, index and hash" if embedded else "every hash"
        found.append(Finding("deep check", "ok", f"{checked} is as it should be"))
    return [*found, Finding("index", "ok", "made by the rule of this version")]


def _quarantine(memory: Recollect) -> list[Finding]:
    """What was put away because it came up for everything."""
    from recollect.clock import now
    from recollect.pipeline.hubs import quarantined

    try:
        away = quarantined(memory.store, memory.scope, now())
    except RecollectError:
        away = []  # damaged: told elsewhere
    if not away:
        return []
    text = f"{len(away):,} quoted memories came up for nearly everything and were put away: {away[0].id}"
    todo = (
        "`recollect show ID` tells what it is, `recollect forget ID` takes it away, `recollect undo ID` puts it back."
    )
    return [Finding("quarantine", "note", text, todo)]


def _vectors(memory: Recollect) -> list[Finding]:
    model, pending = memory.store.vectors.model(), memory.store.vectors.pending()
    try:
        embedder = memory.embedder()
    except RecollectError:
        embedder = None
    found = [Finding("vectors", "ok", f"of {model[0]} ({model[1]})" if model else "none yet")]
    if embedder is not None and model is not None and model != (embedder.name, embedder.dim):
        text = f"of {model[0]} ({model[1]}), but the embedder is {embedder.name} ({embedder.dim}): words only"
        found = [Finding("vectors", "bad", text, "Run `recollect reembed`, or set the old embedder again.")]
    if pending:
        todo = "`recollect maintain` makes them." if embedder else "They are made when there is an embedder."
        found.append(
            Finding(
                "waiting",
                "note",
                f"{counted(pending, 'texts')} {'waits' if pending == 1 else 'wait'} for a vector",
                todo,
            )
        )
    return found


def _embedder(place: Place) -> list[Finding]:
    from recollect.cli.verbs.model import weights_folder
    from recollect.models import weights
    from recollect.models.choose import choose
    from recollect.models.port import for_questions

    settings = place.loaded.settings
    folder = weights_folder(place)
    if settings.embedder == "minilm" and weights.is_installed(folder) and not weights.is_intact(folder):
        return [Finding("embedder", "bad", f"{weights.NAME} in {folder} is damaged", "Run `recollect model install`.")]
    try:
        embedder, why = choose(settings)
    except RecollectError as error:
        return [Finding("embedder", "bad", str(error), error.hint)]
    if embedder is None:
        return [Finding("embedder", "note", f"none, so recall is by words alone: {why}")]
    told = f"{embedder.name} ({embedder.dim})"
    if settings.embedder != "minilm":
        return [Finding("embedder", "ok", told)]
    try:
        questions = for_questions(embedder)
        questions.embed(["does it work?"])
    except RecollectError as error:
        return [Finding("embedder", "bad", str(error), error.hint)]
    if questions is not embedder:
        return [Finding("embedder", "ok", f"{told}, questions with weights of 8 bits")]
    reason = "as `quick_questions` is set" if not settings.quick_questions else "as this processor needs it"
    return [Finding("embedder", "ok", f"{told}, questions exactly, {reason}: each takes twice as long")]


def _language_model(place: Place) -> list[Finding]:
    """The language model in the settings; nothing is said when none is set."""
    from recollect.models.language import choose_language

    settings = place.loaded.settings
    if settings.llm == "none":
        return []
    try:
        model, why = choose_language(settings)
    except RecollectError as error:
        return [Finding("language model", "bad", str(error), error.hint)]
    if model is None:
        return [Finding("language model", "bad", f"cannot be used: {why}", "`recollect config` shows the settings.")]
    return [Finding("language model", "ok", f"{model.name}; `recollect budget` shows what it may cost")]


def _unanswered(memory: Recollect) -> list[Finding]:
    """Whether the language model answers at all."""
    from datetime import timedelta

    from recollect.clock import now
    from recollect.models.language import choose_language

    try:
        model, _ = choose_language(memory.settings)
    except RecollectError:
        return []
    if model is None:
        return []
    calls, last = memory.store.ledger.unanswered(memory.scope, model=model.name, since=now() - timedelta(days=1))
    if not calls or last is None:
        return []
    text = f"{model.name} has not answered the last {calls:,} calls, the latest at {last:%Y-%m-%d %H:%M} UTC"
    todo = "Check llm, llm_url, llm_model and the key; until it answers, sessions are distilled by rules alone."
    return [Finding("language model", "bad", text, todo)]


def _bus(place: Place) -> list[Finding]:
    """What comes by Redis; nothing is said when none is set."""
    from recollect.cli.buscheck import look

    return look(place.loaded.settings)


def _agents(place: Place, covered: list[Covered]) -> list[Finding]:
    """The agents on this machine: whether Recollect is installed for them, and whether their hooks work."""
    from pathlib import Path

    from recollect.clock import age_label, now
    from recollect.install.check import check, last_told
    from recollect.install.run import machine
    from recollect.settings import environment

    data_dir = place.loaded.settings.data_dir.absolute()
    try:
        on = machine(Path.home(), environment(), data_dir)
        checked = list(check(on, last_told(data_dir, covered)))
    except RecollectError as error:
        return [Finding("agents", "note", str(error), error.hint)]
    found = []
    for each in checked:
        name = each.host.name
        if each.problem:
            found.append(Finding(name, "bad", each.problem, f"Correct it, then `recollect install {name}`."))
        elif each.installed:
            heard = f"last heard of {age_label(each.last, now())}" if each.last else "nothing heard of it yet"
            hooks = f"its {each.hooks} hooks run" if each.hooks else "its plugin is there"
            todo = None if each.last else each.host.then
            found.append(Finding(name, "ok" if each.last else "note", f"{hooks}; {heard}", todo))
    without = [each.host.name for each in checked if not each.installed and not each.problem]
    if without:
        todo = f"`recollect install {' '.join(without)}` tells Recollect at once what happens there."
        found.append(Finding("agents", "note", f"not installed for {', '.join(without)}", todo))
    return found


# -- mending -----------------------------------------------------------------------------------------------------------


def _repair(place: Place, console: Output) -> list[Finding]:
    """Make the index again; when the file itself is damaged, save what can be read of it."""
    try:
        with open_place(place) as memory:
            if not place.loaded.settings.database_url and _has_bad_pages(memory):
                return _salvage_after(memory, place, console, StoreCorrupt("pages"))
            try:
                counts = memory.store.keeping.rebuild()
            except RecollectError as error:
                return _salvage_after(memory, place, console, error)
            left = [name for name in memory.health(deep=True).checks if name not in _NOT_DAMAGE]
            if left and not place.loaded.settings.database_url:  # a server's files are not ours to save
                return _salvage_after(memory, place, console, StoreCorrupt(", ".join(left)))
            return [Finding("repair", "ok", f"the index was made again: {sum(counts.values()):,} texts")]
    except StoreCorrupt:
        if place.loaded.settings.database_url:
            raise
        return _salvage(place, console)


def _has_bad_pages(memory: Recollect) -> bool:
    """Whether the file itself is damaged, and not only an index in it that can be made again: then nothing more is
    written into it.
    """
    found = memory.health(deep=True).checks.get("pages", "")
    return any("FTS5" not in part for part in found.split("; ") if part)


def _salvage_after(memory: Recollect, place: Place, console: Output, error: RecollectError) -> list[Finding]:
    if not isinstance(error, StoreCorrupt) or place.loaded.settings.database_url:
        raise error
    memory.close()
    return _salvage(place, console)


def _salvage(place: Place, console: Output) -> list[Finding]:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from recollect.clock import now
    from recollect.store.sqlite.salvage import quarantine, salvage
    from recollect.store.sqlite.store import SqliteStore

    console.note("The database is damaged. Saving what can be read …")
    with TemporaryDirectory(prefix=".fresh-", dir=place.database.parent) as folder:
        fresh = SqliteStore(Path(folder))
        try:
            counts = salvage(place.database, fresh)
            fresh.database.checkpoint()
        finally:
            fresh.close()
        aside = quarantine(place.database, f"{now():%Y%m%dT%H%M%SZ}")
        fresh.database.path.replace(place.database)
    lost = counts.pop("lost")
    found = [
        Finding("repair", "ok", f"the damaged file is {aside}"),
        Finding("saved", "ok", in_words(counts) or "nothing"),
    ]
    if lost:
        found.append(
            Finding(
                "not saved",
                "note",
                f"{lost:,} rows did not verify",
                "Import an export or restore a backup.",
            )
        )
    return found
