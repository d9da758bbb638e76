"""What is to be said in each project, for one round of `prepare`: read once, ranked once, each memory worded once.

Nothing is read of a project whose texts did not change: `key` tells that from a few numbers of the store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path

from recollect import promptindex
from recollect.clock import iso
from recollect.errors import NotFound
from recollect.inject.hosts import HOSTS, Block, compiled
from recollect.inject.native import Native
from recollect.inject.sameness import Known, repeats, sense
from recollect.inject.selection import INJECTABLE, STANDING, WEIGHING, ranked, select
from recollect.inject.standing import entry
from recollect.inject.suggestion import Suggestion, fitting, of_pattern, suggest
from recollect.model import NO_PROJECT, Memory, Scope
from recollect.pipeline.ailing import ailment
from recollect.recall.repository import Repository
from recollect.recall.usefulness import usefulness
from recollect.recall.validity import Grounds
from recollect.settings import Settings, environment
from recollect.store.port import Store
from recollect.store.ports.memories import Filter, Weighing
from recollect.store.ports.use import Feedback, Verdict

VERSION = 2  # rises when the same memories give another text
MOST_READ, MOST_INDEXED, MOST_SHARED = 5_000, 2_000, 500
MOST_PATTERNS = 1_000
FEW = 400  # memories that are read for one text
MOST_LESSONS = 60  # of the latest
LATEST = Weighing({"lesson": 0.0}, recency=1.0, decay=1.0)
_MOST_CHECKED = 60  # of the best, how many are held against the directory


class Texts:
    """The texts of one owner, as of now."""

    def __init__(
        self, store: Store, scope: Scope, settings: Settings, now: datetime, *, most: int | None = None
    ) -> None:
        """`most`: how many memories of a project are read, the weightiest; few are enough for one text."""
        self._store, self._scope, self._now = store, scope.within(None), now
        self._most = most or MOST_READ
        self._budget, self._half_life = settings.inject_max_tokens, settings.use_half_life_days
        self._shared = self._switched_on(settings)
        self._ailment = ailment(store, self._scope, settings, now)
        self._best: dict[str | None, list[Memory]] = {}
        self._held: dict[tuple[str | None, Path], tuple[list[Memory], dict[str, tuple[str, ...]]]] = {}
        self._entries: dict[tuple[str, datetime | None, bool, tuple[str, ...]], str] = {}
        self._grounds, self._aliases = Grounds(), settings.projects
        self._sense = cache(sense)
        self._suggests = settings.inject_suggestion
        approved = store.patterns.find(self._scope, state="approved", limit=MOST_PATTERNS) if self._suggests else []
        self._patterns = approved
        self.native = Native(environment(), settings.data_dir)

    @cached_property
    def _marks(self) -> dict[str | None, str]:
        """What changes with a project's memories. All of them are gone through for it: one text alone needs none."""
        return self._store.memories.marks(self._scope, now=self._now)

    @cached_property
    def _said(self) -> list[Feedback]:
        """All that was said of the use of memories."""
        found: list[Feedback] = []
        while page := self._store.use.every(self._scope, limit=MOST_READ, offset=len(found)):
            found += page
        return found

    @cached_property
    def _said_mark(self) -> str:
        """What changes with it."""
        return short_hash([one.memory, one.verdict, one.session, iso(one.at)] for one in self._said)

    @cached_property
    def _useful(self) -> dict[str, float]:
        """How useful memories proved, those of which something was said."""
        verdicts: dict[str, list[Verdict]] = {}
        for one in self._said:
            verdicts.setdefault(one.memory, []).append(Verdict(one.verdict, one.at))
        return {id_: usefulness(said, self._now, self._half_life) for id_, said in verdicts.items()}

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
        known = (loaded.theirs, loaded.ours) if ours else (loaded.theirs,)
        last = self._suggestion(project, known) if HOSTS[host].shape else None
        chosen = select(
            best if last is None else self._without(best, last),
            self._now,
            known=loaded.theirs,
            shown=loaded.ours if ours else None,
            ailment=self._ailment if HOSTS[host].shape else None,
            said=self._sense,
        )
        shown = None if last is None else last.text
        made = compiled(replace(chosen, notes=notes, suggestion=shown), HOSTS[host], self._budget, self._told)
        if last is None or last.text not in made.text or not last.is_memory:
            return made
        return replace(made, ids=(last.id, *made.ids))

    def _suggestion(self, project: str | None, known: Sequence[Known]) -> Suggestion | None:
        """What to say of last time in this project, unless the agent reads it anyway."""
        if not self._suggests:
            return None
        return suggest(self._patterns, self.best(project), project, self._now, known=known, said=self._sense)

    def _without(self, best: Iterable[Memory], last: Suggestion) -> Iterator[Memory]:
        """Memories but those that say what is suggested; only as many are looked at as are asked for."""
        said = self._sense(last.said)
        return (one for one in best if one.id != last.id and not repeats(self._sense(one.content), said))

    def everywhere(self) -> Block:
        """What is worth knowing in any project, as a file; each memory names its own."""
        own = (memory for project in self.projects for memory in self.best(project) if memory.project == project)
        best = ranked([*own, *self.best(None)], self._now, self._useful)
        chosen = select(best, self._now, mixed=True, said=self._sense)
        return compiled(chosen, HOSTS["file"], self._budget, self._told)

    def index(self, project: str | None) -> bytes:
        """What may be recalled on a prompt: memories, and patterns of the project that may be suggested."""
        memories = (
            (memory.id, " ".join((memory.content, memory.why or "", *memory.tags)), entry(memory, None, alone=True))
            for memory in self.best(project)[:MOST_INDEXED]
        )
        learned = [(one.statement, of_pattern(one)) for one in fitting(self._patterns, project, self._now)]
        return promptindex.build(
            [*((last.id, f"{last.said} {statement}", last.text) for statement, last in learned), *memories]
        )

    def best(self, project: str | None) -> list[Memory]:
        """What may be said in a project: its own and what belongs to none, the best first."""
        if project not in self._best:
            where = Filter(now=self._now, kinds=STANDING, trusts=INJECTABLE)
            inside = self._scope.within(project or NO_PROJECT)
            found = self._store.memories.weightiest(inside, WEIGHING, now=self._now, limit=self._most)
            if len(found) == self._most:
                known = {memory.id for memory in found}
                found += [one for one in self._besides(inside, where).values() if one.id not in known]
            for context in self._shared:
                with suppress(NotFound):  # left since, or taken out of it
                    inside = context.within(project or NO_PROJECT)
                    found += self._store.memories.find(inside, where, limit=MOST_SHARED)
            self._best[project] = ranked(found, self._now, self._useful)
        return self._best[project]

    def _besides(self, inside: Scope, where: Filter) -> dict[str, Memory]:
        """What is told however little it weighs: what a person pinned, what proved useful, the latest lessons."""
        find = self._store.memories
        pinned = find.find(inside, replace(where, pinned=True), limit=self._most)
        lessons = find.weightiest(inside, LATEST, now=self._now, limit=MOST_LESSONS)
        useful = [id_ for id_, worth in self._useful.items() if worth > 0][:MOST_LESSONS]
        proved = [one for one in (find.get(inside, id_) for id_ in useful) if one is not None]
        return {one.id: one for one in (*pinned, *lessons, *proved)}

    def _grounded(self, project: str | None, directory: Path) -> tuple[list[Memory], dict[str, tuple[str, ...]]]:
        """What may be said in a directory, held against what lies there."""
        if (project, directory) not in self._held:
            best = self.best(project)
            look = self._grounds.look(directory, self._aliases, self._now)
            found = {one.id: look(one) for one in best[:_MOST_CHECKED] if one.anchors}
            gone = {id_ for id_, findings in found.items() if any(each.gone for each in findings)}
            notes = {id_: tuple(each.note for each in findings) for id_, findings in found.items() if findings}
            behind = sorted(best, key=lambda one: one.id in gone and not one.pinned)
            self._held[project, directory] = behind, notes
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
        learned = [
            (one.id, one.version, one.sessions, f"{one.last_seen:%Y-%m-%d}", one.score)
            for one in fitting(self._patterns, project, self._now)
        ]
        marks = (self._marks.get(None), self._marks.get(project))
        return VERSION, project, *marks, self._suggests, learned, self._said_mark, *shared

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
