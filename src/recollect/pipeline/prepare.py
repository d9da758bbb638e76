"""What hooks and agents will read, laid ready: start texts, prompt indexes, memory files, marked blocks.

From the store to files under the data directory (and those the user named), so that no hook has to open the store. It
runs after everything that changes memories, does little when nothing changed, and leaves no file behind for a directory
or a project that is gone. Every text is known to `capture` before it can be shown.

    prepared/start/<directory>.<host>   exactly what that host's hook prints; `user.<host>` where no directory is known
    prepared/prompt/<directory>.index   what may be recalled on a prompt; `user.index` likewise
    prepared/mode                       what to do on a prompt: recall, nudge or off
    memory/user.md, memory/<project>.md the same memories as Markdown
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

from recollect.clock import Clock
from recollect.errors import InvalidInput, RecollectError, StoreBusy
from recollect.frame import block_name
from recollect.hookreply import MODE, PREPARED, dir_name
from recollect.inject import block, memoryfile, userfile
from recollect.inject.hosts import HOOKED, Block, host_of
from recollect.inject.native import Native
from recollect.lock import waiting
from recollect.model import Scope
from recollect.pipeline import places
from recollect.pipeline.folder import Folder
from recollect.pipeline.places import Marked, Places
from recollect.pipeline.texts import FEW, Texts, checked_out, short_hash
from recollect.pipeline.told import forget_told
from recollect.project import resolve, top_of
from recollect.settings import Settings, environment
from recollect.settings import load as load_settings
from recollect.store.opening import located
from recollect.store.port import Store
from recollect.text import dedup_key

LOCK, KEYS = "prepare.lock", "keys.json"
MOST_DIRECTORIES = 500
WAIT_SECONDS = 10.0
_LAID = timedelta(days=14)  # how long it is known which memories stood in a text
_HOST_OF_FILE = {"CLAUDE.md": "claude", "CLAUDE.local.md": "claude", "AGENTS.md": "codex", "GEMINI.md": "gemini"}


@dataclass(slots=True)
class Prepared:
    """What one round changed."""

    written: int = 0
    removed: int = 0
    problems: list[str] = field(default_factory=list)  # files of the user's that could not be changed


def prepare(
    store: Store,
    scope: Scope,
    settings: Settings,
    clock: Clock,
    *,
    directory: Path | None = None,
    first: bool = True,
) -> Prepared:
    """Lay ready what the store knows now; `directory` is one of this scope's project that no session ran in yet.

    Without `first`, nothing is begun: only what was prepared before, or has something to say, is brought up to date.
    """
    if not _is_ours(scope, settings):
        return Prepared()  # hooks serve the user whose machine it is, and nobody else
    with _alone(settings):
        known = places.load(settings.data_dir)
        if directory is not None and scope.project is not None:
            known.directories[str(top_of(directory) or directory)] = scope.project
        return _Round(store, scope, settings, clock(), known).run(first=first)


def forget(store: Store, scope: Scope, settings: Settings, clock: Clock, *, everything: bool = False) -> Prepared:
    """After something was forgotten: nothing that was prepared before stays, not even when preparing anew fails.

    With `everything`, the places of the scope's project (or of all) are forgotten too.
    """
    if not _is_ours(scope, settings):
        return Prepared()
    clear(settings.data_dir)  # at once: whoever holds the lock may do so for long
    with _alone(settings):
        clear(settings.data_dir)
        known = places.load(settings.data_dir)
        gone = known.forget(scope.project) if everything else {}
        round_ = _Round(store, scope, settings, clock(), known)
        round_.take_out(gone)
        places.save(settings.data_dir, known)
        return round_.run(first=False)


def clear(data_dir: Path) -> None:
    """Take away everything that was prepared in the data directory, and then what was told of it."""
    for inside in ((PREPARED, "start"), (PREPARED, "prompt"), (PREPARED,), (memoryfile.FOLDER,)):
        if data_dir.joinpath(*inside).is_dir():
            with Folder(data_dir, *inside) as folder:
                folder.keep_only(set())
    forget_told(data_dir)


def put_into(store: Store, scope: Scope, settings: Settings, clock: Clock, file: Path) -> Block:
    """Keep a marked block about the scope's project in this file from now on; InvalidInput when that cannot be."""
    if not _is_ours(scope, settings):
        raise InvalidInput("only your own memory is kept in files", hint="Leave out --user and --tenant.")
    path = userfile.real_path(file)
    with _alone(settings):
        known = places.load(settings.data_dir)
        before = known.files.get(str(path))
        known.files[str(path)] = Marked(scope.project, before.created if before else not path.exists())
        round_ = _Round(store, scope, settings, clock(), known)
        made = round_.put_block(path, round_.text_in(path))
        round_.run(first=True)
        return made


def take_out_of(settings: Settings, file: Path) -> bool:
    """Take the block out of this file and keep none there any more; whether there was one."""
    path = userfile.real_path(file)
    with _alone(settings):
        known = places.load(settings.data_dir)
        marked = known.files.pop(str(path), None)
        changed = userfile.change(path, block.removed, drop_empty=bool(marked and marked.created))
        places.save(settings.data_dir, known)
    return changed


def standing(
    store: Store, scope: Scope, settings: Settings, now: datetime, host: str, directory: Path | None = None
) -> Block:
    """What would be put before this host's agent now, in this directory of the scope's project."""
    host_of(host)
    texts = Texts(store, scope, settings, now, most=FEW)
    native = texts.native.texts(host, directory, top_of(directory)) if directory else []
    return texts.block(scope.project, host, native, directory=directory)


def _is_ours(scope: Scope, settings: Settings) -> bool:
    """Whether this is the memory of the user to whom hooks speak: the one that the settings name without any flag."""
    try:
        usual = located(load_settings(data_dir=settings.data_dir).settings)
    except InvalidInput:
        return False  # nobody can say whose machine it is
    owner = Scope(usual.tenant, usual.user) if usual.user else Scope(usual.tenant)
    mine = (scope.tenant, scope.user, settings.database_url)
    return mine == (owner.tenant, owner.user, usual.database_url)


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    with waiting(settings.data_dir / LOCK, WAIT_SECONDS) as free:
        if not free:
            raise StoreBusy("another process is preparing texts for agents", hint="Try again in a moment.")
        yield


class _Wanted(NamedTuple):
    """A file that is wanted: what it is made of, in short, and how."""

    key: str
    make: Callable[[], Block]


class _Round:
    """One round of bringing everything up to date."""

    def __init__(self, store: Store, scope: Scope, settings: Settings, now: datetime, known: Places) -> None:
        self._store, self._scope, self._settings, self._now, self._known = store, scope, settings, now, known
        self._data_dir = settings.data_dir
        self._texts = Texts(store, scope, settings, now)
        self.done = Prepared()

    def run(self, *, first: bool) -> Prepared:
        begun = (self._data_dir / PREPARED).is_dir() or self._known != Places()
        if first or begun or self._texts.has_something:
            self._own_files()  # before the starts: what stands there is not said twice
            directories = self._directories()
            self._starts(directories)
            self._indexes(directories)
            with Folder(self._data_dir, PREPARED) as folder:
                self.done.written += folder.put(MODE, self._settings.inject_prompt.encode())
            places.save(self._data_dir, self._known)
        return self.done

    def _directories(self) -> dict[Path, str | None]:
        """Every directory that has a project, and the top of its repository; only those that are there."""
        named = {path: project for path, project in self._known.directories.items() if _is_directory(Path(path))}
        self._known.directories = named
        found: dict[Path, str | None] = {}
        ran = self._store.sessions.directories(self._scope.within(None))
        called = [(project, project) for project in self._texts.projects]  # many are called as their directory
        for project, path in [*ran, *((project, path) for path, project in named.items()), *called]:
            if len(found) < MOST_DIRECTORIES and Path(path).is_absolute():
                with suppress(OSError, ValueError):  # an agent wrote it down: it need not be a path here
                    self._add_directory(Path(os.path.normpath(path)), project, found)
        return found

    def _add_directory(self, place: Path, project: str | None, found: dict[Path, str | None]) -> None:
        if place.is_dir():
            found.setdefault(place, project)
        top = top_of(place)
        if top is not None and top not in found and resolve(top, self._settings.projects).name == project:
            found[top] = project

    # -- for hooks ---------------------------------------------------------------------------------------------------

    def _starts(self, directories: Mapping[Path, str | None]) -> None:
        wanted: dict[str, _Wanted] = {}
        spots = [(dir_name(str(place)), place, project) for place, project in directories.items()]
        wants = self._settings.inject_start and self._settings.inject_max_tokens  # where not, hooks find no file
        for spot, place, project in [*spots, ("user", Path.home(), None)] if wants else ():
            top, head = top_of(place), checked_out(place)
            for host in HOOKED:
                native = self._texts.native.texts(host, place, top)
                make = partial(self._texts.block, project, host, native, directory=place)
                wanted[f"{spot}.{host}"] = _Wanted(self._texts.key(project, host, head, *native), make)
        # A directory with nothing to say has an empty file: what was prepared for one above it is not meant for it.
        self._lay((PREPARED, "start"), wanted, lambda made: made.output.encode(), keep_empty=True)

    def _indexes(self, directories: Mapping[Path, str | None]) -> None:
        """One index for each project, under the name of each of its directories."""
        names: dict[str | None, set[str]] = defaultdict(set)
        if self._settings.inject_prompt == "recall":
            names[None].add("user.index")
            for place, project in directories.items():
                names[project].add(f"{dir_name(str(place))}.index")
        with Folder(self._data_dir, PREPARED, "prompt") as folder:
            there, keys = folder.names(), _keys(folder)
            fresh: dict[str, str] = {}
            for project, wanted in names.items():
                key = self._texts.key_of_index(project)
                fresh |= dict.fromkeys(wanted, key)
                if not wanted <= there or any(keys.get(name) != key for name in wanted):
                    self.done.written += folder.put_all(wanted, self._texts.index(project))
            self.done.removed += folder.keep_only({*fresh, KEYS})
            folder.put(KEYS, _as_json(fresh))

    # -- files -------------------------------------------------------------------------------------------------------

    def _own_files(self) -> None:
        """Memory files in the data directory, those that the settings name, and blocks in files that the user named."""
        texts, projects = self._texts, (None, *self._texts.projects)
        wanted = {
            memoryfile.file_of(project): _Wanted(texts.key(project, "file"), partial(texts.block, project, "file"))
            for project in projects
        }
        self._lay((memoryfile.FOLDER,), wanted, lambda made: made.text.encode())
        blocks: dict[Path, _Wanted] = {}
        before, self._known.kept = self._known.kept, {}
        for template in self._settings.memory_files:
            for project in projects:
                path = memoryfile.named_file(template, project)
                if path is not None:
                    everywhere = _Wanted(texts.key_of_everywhere(), texts.everywhere)
                    blocks[path] = wanted[memoryfile.file_of(project)] if project else everywhere
                    self._known.kept[str(path)] = before.get(str(path)) or Marked(project, not path.exists())
        self.take_out({path: one for path, one in before.items() if path not in self._known.kept})
        for path in map(Path, list(self._known.files)):
            if _is_directory(path.parent):
                blocks[path] = self.text_in(path)
            else:
                del self._known.files[str(path)]  # gone with its directory
        self._blocks(blocks)

    def text_in(self, path: Path) -> _Wanted:
        """What belongs into the block of a file that the user named."""
        project = self._known.files[str(path)].project
        host, folder = _HOST_OF_FILE.get(path.name, "grok"), path.parent
        native = self._texts.native.texts(host, folder, top_of(folder))
        make = partial(self._texts.block, project, "file", native, ours=False, directory=folder)
        return _Wanted(self._texts.key(project, "block", checked_out(folder), *native), make)

    def _blocks(self, wanted: Mapping[Path, _Wanted]) -> None:
        with Folder(self._data_dir, PREPARED) as folder:
            keys, fresh = _keys(folder), {}
            for path, each in wanted.items():
                name = short_hash([str(path)])
                if keys.get(name) != each.key or not path.exists():
                    try:
                        self.put_block(path, each)
                    except (RecollectError, OSError) as error:
                        self.done.problems.append(str(error))
                        continue  # and again the next time
                fresh[name] = each.key
            folder.put(KEYS, _as_json(fresh))

    def put_block(self, path: Path, wanted: _Wanted) -> Block:
        """Bring the block in a file up to date; a file that was made for it goes when nothing is left to say."""
        made = wanted.make()
        text = made.text
        if text and str(path) in self._known.kept:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
        self._tell([made])
        created = (self._known.files | self._known.kept)[str(path)].created
        if userfile.change(path, lambda content: block.spliced(content, text), drop_empty=created):
            self.done.written += 1
            self._texts.native = Native(environment(), self._data_dir)
        return made

    def take_out(self, files: Mapping[str, Marked]) -> None:
        """Take the blocks out of these files."""
        for path, marked in files.items():
            try:
                self.done.removed += userfile.change(Path(path), block.removed, drop_empty=marked.created)
            except (RecollectError, OSError) as error:
                self.done.problems.append(str(error))
                self._known.kept[path] = marked  # so that it is tried again

    def _lay(
        self,
        inside: tuple[str, ...],
        wanted: Mapping[str, _Wanted],
        content: Callable[[Block], bytes],
        *,
        keep_empty: bool = False,
    ) -> None:
        """Bring the files of a folder up to date: what is made of other things now is made anew, what is left goes."""
        with Folder(self._data_dir, *inside) as folder:
            there, keys = folder.names(), _keys(folder)
            made = {
                name: each.make() for name, each in wanted.items() if keys.get(name) != each.key or name not in there
            }
            self._tell(made.values())
            for name, each in made.items():
                if each.text or keep_empty:
                    self.done.written += folder.put(name, content(each))
                else:
                    self.done.removed += folder.remove(name)
            self.done.removed += folder.keep_only({*wanted, KEYS})
            folder.put(KEYS, _as_json({name: each.key for name, each in wanted.items()}))

    def _tell(self, made: Iterable[Block]) -> None:
        """These will be shown: when they come back in a transcript they are nothing new; what is in them is noted."""
        said = [each for each in made if each.text]
        hashes = sorted({dedup_key(each.text) for each in said})
        if hashes:
            self._store.captures.injected(self._scope, hashes, at=self._now)
        blocks = {name: each.ids for each in said if each.ids and (name := block_name(each.text))}
        if blocks:
            self._store.use.laid(self._scope, blocks, at=self._now, before=self._now - _LAID)


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _as_json(keys: Mapping[str, str]) -> bytes:
    return json.dumps(keys, indent=0).encode()


def _keys(folder: Folder) -> dict[str, str]:
    """What the files were made of."""
    try:
        found = json.loads(folder.read(KEYS) or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
