"""A shelf: texts kept under names, word for word, each as one memory of its own.

In: names, texts and further tags. Out: the same again, by name, by tag or by a question. What is on a shelf is an
ordinary memory (quoted, said by the assistant), so that recall finds it, versions tell how it read before, and
forgetting takes it away. It is never made one with another: the first line of its content has its name and a mark that
no other name has. A name is looked up by that mark, which is a tag as well.

Several programs may use one shelf: a text is changed only as it was read, and of two that take one name at once the
first keeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.model import Memory, check_id
from recollect.text import MAX_MEMORY_CHARS

if TYPE_CHECKING:
    from recollect.client.api import MemoryAPI

KIND = "topic"  # of no slot: what a text says of some value ends no memory that says otherwise
MOST = 1_000  # texts on one shelf
_PAGE = 100
_TRIES = 4


@dataclass(frozen=True, slots=True)
class Paper:
    """One text on a shelf, as it was read. One that was searched for has version 0, and is not to be changed."""

    name: str
    text: str
    id: str
    version: int
    tags: tuple[str, ...]
    made_at: datetime


class Shelf:
    """The texts of one shelf, in the project the memory is opened in."""

    def __init__(self, memory: MemoryAPI, name: str) -> None:
        self._memory = memory
        self._tag = check_id(name, "shelf")
        if len(name) > 40:
            raise InvalidInput("the name of a shelf has at most 40 characters")
        self._project = project_of(memory)

    @property
    def room(self) -> int:
        """How many characters a text and its name may have together."""
        return MAX_MEMORY_CHARS - len(self._head("")) - 1

    def get(self, name: str) -> Paper | None:
        """What is kept under this name."""
        found = self._find(self.mark(name))
        return found[0] if found else None

    def all(self, tag: str | None = None) -> list[Paper]:
        """Everything on the shelf, or what has this tag, in the order of names; of one name the first."""
        papers: dict[str, Paper] = {}
        for paper in self._find(tag or self._tag):
            papers.setdefault(paper.name, paper)
        return [papers[name] for name in sorted(papers)]

    def add(self, name: str, text: str, tags: Iterable[str] = ()) -> Paper:
        """Keep a text under a new name; Conflict when it is taken."""
        if (there := self.get(name)) is not None:
            if there.text == text and there.tags == self._tags(name, tags):
                return there
            raise Conflict(f"{name} is there already")
        content = self._content(name, text)
        kept = self._memory.remember(content, kind=KIND, tags=self._tags(name, tags), origin="assistant")
        paper = self._of(kept)
        if paper is None or paper.name != name:
            self._memory.forget(kept.id)
            raise InvalidInput("this name reads like a secret", hint="Take another.")
        first = next(iter(self._find(self.mark(name))), paper)
        if first.id != paper.id:  # two took the name at once
            self._memory.forget(paper.id)
            raise Conflict(f"{name} is there already")
        return paper

    def change(
        self, paper: Paper, *, name: str | None = None, text: str | None = None, tags: Iterable[str] | None = None
    ) -> Paper:
        """Write a paper anew, or give it another name; Conflict when somebody changed it since it was read."""
        name, text = paper.name if name is None else name, paper.text if text is None else text
        wanted = paper.tags[2:] if tags is None else tags
        changes = {"content": self._content(name, text), "tags": self._tags(name, wanted)}
        kept = self._of(self._memory.update(paper.id, expected_version=paper.version, **changes))
        if kept is None or kept.name != name:
            self._memory.update(paper.id, content=self._content(paper.name, paper.text), tags=list(paper.tags))
            raise InvalidInput("this name reads like a secret", hint="Take another.")
        return kept

    def drop(self, paper: Paper) -> None:
        """Take a paper away; it can be restored for a while, like any memory that is softly forgotten."""
        with suppress(NotFound):
            self._memory.forget(paper.id, soft=True)

    def search(self, question: str, tag: str | None = None, *, limit: int) -> list[tuple[Paper, float]]:
        """The papers that fit a question best, with their scores."""
        chosen = (tag or self._tag,)
        found = self._memory.recall(question, limit, tags=chosen, tiers=("memory",), abstain=False, archived=True)
        hits = [hit for hit in found.hits if self._is_here(hit.project)]
        papers = [(self._read(hit.content, hit.id, 0, hit.tags, hit.occurred_at), hit.score) for hit in hits]
        return [(paper, score) for paper, score in papers if paper is not None]

    # -- how a paper is a memory -------------------------------------------------------------------------------------

    def _find(self, tag: str) -> list[Paper]:
        found: list[Memory] = []
        while True:  # archived ones too: what was not read for a year is still on the shelf
            page = self._memory.memories(_PAGE, len(found), tags=(tag,), archived=True)
            found += page
            if len(page) < _PAGE or len(found) > 2 * MOST:
                break
        own = sorted((memory for memory in found if self._is_here(memory.project)), key=lambda memory: memory.id)
        return [paper for memory in own if (paper := self._of(memory)) is not None]

    def _is_here(self, project: str | None) -> bool:
        return project == self._project

    def _tags(self, name: str, more: Iterable[str]) -> tuple[str, ...]:
        return (self._tag, self.mark(name), *more)

    def mark(self, name: str) -> str:
        """A short word that stands for this name on this shelf, and for no other on any."""
        # A figure in front, so that it is compared letter for letter wherever texts are held against each other.
        return "0" + hashlib.sha256(f"{self._tag}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:15]

    def _head(self, name: str) -> str:
        return f"{name} [{self.mark(name)}]"

    def _content(self, name: str, text: str) -> str:
        if not name.strip() or "\n" in name or "\r" in name:
            raise InvalidInput("a name is one line of text")
        content = f"{self._head(name)}\n{text}"
        if len(content) > MAX_MEMORY_CHARS:
            raise InvalidInput(
                f"{len(text):,} characters; the limit is {self.room - len(name):,}", hint="Split it into several."
            )
        return content

    def _of(self, memory: Memory) -> Paper | None:
        return self._read(memory.content, memory.id, memory.version, memory.tags, memory.occurred_at)

    def _read(self, content: str, id_: str, version: int, tags: tuple[str, ...], at: datetime) -> Paper | None:
        head, _, text = content.partition("\n")
        name = head.rpartition(" [")[0]
        if not name or head != self._head(name):
            return None  # somebody wrote into it by another way: it is a memory like any other now
        return Paper(name, text, id_, version, tags, at)


def project_of(memory: object) -> str | None:
    """The project a memory is opened in."""
    found = getattr(getattr(memory, "scope", memory), "project", None)
    return found if isinstance(found, str) else None


def retried(once: Callable[[], Any]) -> Any:
    """Do something that reads and then writes; when another writes in between, again."""
    for _ in range(_TRIES - 1):
        try:
            return once()
        except (Conflict, NotFound):
            continue
    return once()
