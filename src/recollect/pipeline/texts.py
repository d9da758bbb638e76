"""What is to be said in each project, for one round of `prepare`: read once, ranked once, each memory worded once.

Nothing is read of a project whose texts did not change: `key` tells that from a few numbers of the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache
from pathlib import Path

from recollect import promptindex
from recollect.errors import NotFound
from recollect.inject.hosts import HOSTS, Block, compiled
from recollect.inject.native import Native
from recollect.inject.sameness import sense
from recollect.inject.selection import INJECTABLE, STANDING, ranked, select
from recollect.inject.standing import entry
from recollect.model import NO_PROJECT, Memory, Scope
from recollect.pipeline.ailing import ailment
from recollect.recall.repository import Repository
from recollect.recall.validity import Grounds
from recollect.settings import Settings, environment
from recollect.store.port import Filter, Store

VERSION = 1  # rises when the same memories give another text
MOST_READ, MOST_INDEXED, MOST_SHARED = 5_000, 2_000, 500
_MOST_CHECKED = 60  # of the best, how many are held against the directory


class Texts:
    """The texts of one owner, as of now."""

    def __init__(self, store: Store, scope: Scope, settings: Settings, now: datetime) -> None:
        self._store, self._scope, self._now = store, scope.within(None), now
        self._budget = settings.inject_max_tokens
        self._marks = store.memories.marks(self._scope, now=now)
        self._shared = self._switched_on(settings)
        self._ailment = ailment(store, self._scope, settings, now)
        self._best: dict[str | None, list[Memory]] = {}
        self._held: dict[tuple[str | None, Path], tuple[list[Memory], dict[str, tuple[str, ...]]]] = {}
        self._entries: dict[tuple[str, datetime | None, bool, tuple[str, ...]], str] = {}
        self._grounds, self._aliases = Grounds(), settings.projects
        self._sense = cache(sense)
        self.native = Native(environment(), settings.data_dir)

    @property
    def projects(self) -> list[str]:
        """The projects that have memories, of whatever kind."""
        return sorted(project for project in self._marks if project is not None)

    @property
    def has_something(self) -> bool:
        """Whether there is any memory."""
        return bool(self._marks)

    def block(
        self,
        project: str | None,
        host: str,
        native: Sequence[str] = (),
        *,
        ours: bool = True,
        directory: Path | None = None,
    ) -> Block:
        """The text for a host; `native` is what it loads by itself, with or without what is `ours` there.

        In a directory, what rests on files that are gone from it falls behind, and says so.
        """
        loaded = self.native.loaded(native)
        best, notes = self._grounded(project, directory) if directory else (self.best(project), {})
        chosen = select(
            best,
            self._now,
            known=loaded.theirs,
            shown=loaded.ours if ours else None,
            ailment=self._ailment if HOSTS[host].shape else None,
            said=self._sense,
        )
        return compiled(replace(chosen, notes=notes), HOSTS[host], self._budget, self._told)

    def everywhere(self) -> Block:
        """What is worth knowing in any project, as a file; each memory names its own."""
        own = (memory for project in self.projects for memory in self.best(project) if memory.project == project)
        best = ranked([*own, *self.best(None)], self._now)
        chosen = select(best, self._now, mixed=True, said=self._sense)
        return compiled(chosen, HOSTS["file"], self._budget, self._told)

    def index(self, project: str | None) -> bytes:
        """What may be recalled on a prompt."""
        return promptindex.build(
            (memory.id, " ".join((memory.content, memory.why or "", *memory.tags)), entry(memory, None, alone=True))
            for memory in self.best(project)[:MOST_INDEXED]
        )

    def best(self, project: str | None) -> list[Memory]:
        """What may be said in a project: its own and what belongs to none, the best first."""
        if project not in self._best:
            where = Filter(now=self._now, kinds=STANDING, trusts=INJECTABLE)
            found = self._store.memories.find(self._scope.within(project or NO_PROJECT), where, limit=MOST_READ)
            for context in self._shared:
                with suppress(NotFound):  # left since, or taken out of it
                    inside = context.within(project or NO_PROJECT)
                    found += self._store.memories.find(inside, where, limit=MOST_SHARED)
            self._best[project] = ranked(found, self._now)
        return self._best[project]

    def _grounded(self, project: str | None, directory: Path) -> tuple[list[Memory], dict[str, tuple[str, ...]]]:
        """What may be said in a directory, held against what lies there."""
        if (project, directory) not in self._held:
            best = self.best(project)
            look = self._grounds.look(directory, self._aliases, self._now)
            found = {one.id: look(one) for one in best[:_MOST_CHECKED] if one.anchors}
            gone = {id_ for id_, findings in found.items() if any(each.gone for each in findings)}
            notes = {id_: tuple(each.note for each in findings) for id_, findings in found.items() if findings}
            self._held[project, directory] = sorted(best, key=lambda one: one.id in gone), notes
        return self._held[project, directory]

    def key(self, project: str | None, *of: str | None) -> str:
        """What a text is made of: it is made anew when that changes, and each day, because it tells ages."""
        return short_hash([*self._of(project), f"{self._now:%Y-%m-%d}", self._budget, self._ailment, *of])

    def key_of_index(self, project: str | None) -> str:
        """The same of an index, which tells no ages."""
        return short_hash([*self._of(project), repr(promptindex.MAGIC)])

    def key_of_everywhere(self) -> str:
        """The same of the text of all projects."""
        return short_hash([self.key(project) for project in (None, *self.projects)])

    def _of(self, project: str | None) -> tuple[object, ...]:
        shared = [(context.user, marks.get(None), marks.get(project)) for context, marks in self._shared.items()]
        return VERSION, project, self._marks.get(None), self._marks.get(project), *shared

    def _switched_on(self, settings: Settings) -> dict[Scope, dict[str | None, str]]:
        """The shared contexts that the user wants agents to be shown, each with its marks."""
        if not settings.contexts:
            return {}
        from recollect.pipeline.sharing import Contexts

        contexts = Contexts(self._store, self._scope, settings, lambda: self._now).switched_on()
        found: dict[Scope, dict[str | None, str]] = {}
        for scope in (self._scope.in_context(one.id) for one in contexts):
            with suppress(NotFound):
                found[scope] = self._store.memories.marks(scope, now=self._now)
        return found

    def _told(self, memory: Memory, at: datetime | None, *, mixed: bool = False, notes: tuple[str, ...] = ()) -> str:
        key = (memory.id, at, mixed, notes)
        if key not in self._entries:
            self._entries[key] = entry(memory, at, mixed=mixed, notes=notes)
        return self._entries[key]


def checked_out(directory: Path) -> str:
    """What changes when something else is checked out there."""
    try:
        return Repository.around(directory).head()
    except (OSError, ValueError):
        return ""


def short_hash(values: Iterable[object]) -> str:
    """A short name for these values."""
    return hashlib.sha256(json.dumps(list(values)).encode("utf-8", "surrogatepass")).hexdigest()[:32]
