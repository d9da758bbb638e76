"""What the warm process answers: the few memories that fit a prompt, found by words and meaning, as a block to show.

In: working directory, prompt, and what the session was told before. Out: a framed block of about 400 tokens; or that
nothing fits; or that the hook should take what its prepared index has, which is so until the memory and its model are
loaded (done after the first answer, so that no hook waits for it) and where there is no model at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from recollect import clock as times
from recollect import hookreply, promptindex, warmwire

if TYPE_CHECKING:
    from recollect.clock import Clock
    from recollect.facade import Recollect
    from recollect.model import Hit
    from recollect.pipeline.reads import Reads
    from recollect.recall.meaning import Meaning
    from recollect.recall.validity import Grounds
    from recollect.store.ports.learn import Pattern

IDLE_SECONDS = 900.0
_SCOPES = 16  # projects whose counters are kept open
_PATTERNS = 200  # approved ones that may be suggested
_POOL = 12  # hits that are looked at more closely
_ASKED_CHARS = 500  # of a long prompt, half from each end: to embed more takes longer than a hook waits
# A meaning this close is enough; with words in common that tell enough, this is. Measured on 300 real prompts that no
# memory was about (98 in 100 stay below the first) and 39 that one was about (90 in 100 reach it).
_CLOSE, _AGREES = 0.5, 0.35
_LATIN = 0.7  # the share of letters from which on the model can be relied on: it knows English


class Answers:
    """Answers prompts from one data directory. The memory is opened when first asked and closed when long unused."""

    def __init__(
        self, open_memory: Callable[[], Recollect], *, clock: Clock = times.now, idle: float = IDLE_SECONDS
    ) -> None:
        self._open, self._clock, self._idle = open_memory, clock, idle
        self._memory: Recollect | None = None
        self._meaning: Meaning | None = None
        self._grounds: Grounds | None = None
        self._reads: dict[str, Reads] = {}
        self._learned: tuple[str, list[Pattern], bytes] = ("", [], b"")  # of a project: patterns, and their index
        self._asked_at = time.monotonic()

    def answer(self, request: Mapping[str, bytes]) -> Mapping[str, bytes]:
        """The fields of an answer."""
        self._asked_at = time.monotonic()
        prompt = request.get("prompt", b"").decode("utf-8", "replace")
        if self._memory is None or self._meaning is None:
            return {"state": warmwire.PASS}
        if len(promptindex.asked_for(prompt)) < promptindex.MIN_WORDS:
            return {"state": warmwire.NOTHING}
        from recollect.inject.quote import entry

        directory = os.fsdecode(request.get("cwd", b""))
        project = self._project(directory)
        hits = self._hits(prompt, project, directory)
        if hits is None:
            return {"state": warmwire.PASS}
        told = frozenset(warmwire.names(request.get("said", b"")))
        fresh = [(hit, entry(hit, prompt) + "\n") for hit in hits if promptindex.name_of(hit.id) not in told]
        start = request.get("start", b"")
        last = self._suggested(prompt, project, told, start)
        return self._shown([(hit, text) for hit, text in fresh if not hookreply.is_in(start, text)], project, last)

    def afterwards(self) -> None:
        """Open what was missing; write down what was shown, so that capture knows it again."""
        if self._memory is None:
            from recollect.recall.meaning import Meaning
            from recollect.recall.validity import Grounds

            self._memory, self._grounds = self._open(), Grounds()
            self._meaning = Meaning(self._memory.store, self._memory.settings, self._memory.embedder())
            self._meaning.of("warm up", "auto")
        for reads in self._reads.values():
            reads.write()

    def rest(self) -> None:
        """Nobody asks at the moment: after a while, let go of the memory and its model."""
        if self._memory is not None and time.monotonic() - self._asked_at >= self._idle:
            self.close()

    def close(self) -> None:
        """Let go of everything; the next request opens it again."""
        memory, self._memory, self._meaning = self._memory, None, None
        self._reads.clear()
        if memory is not None:
            memory.close()

    def _project(self, directory: str) -> str:
        """The project of a directory, unless the settings fix one."""
        from recollect.model import NO_PROJECT
        from recollect.project import resolve

        assert self._memory is not None
        settings = self._memory.settings
        if settings.project:
            return settings.project
        found = resolve(Path(directory), settings.projects).name if directory.startswith("/") else None
        return found if found and found.isprintable() else NO_PROJECT

    def _hits(self, prompt: str, project: str, directory: str) -> list[Hit] | None:
        """The memories that fit, best first; None when there is nothing to tell their meaning by."""
        from recollect.inject.selection import INJECTABLE, STANDING
        from recollect.recall.answer import answer
        from recollect.recall.asking import filter_of, question_of

        assert self._memory is not None
        assert self._meaning is not None
        assert self._grounds is not None
        memory, half = self._memory, _ASKED_CHARS // 2
        asked = prompt if len(prompt) <= _ASKED_CHARS else f"{prompt[:half]}\n{prompt[-half:]}"
        meant = self._meaning.of(asked, "auto")
        if meant.vector is None:
            return None
        where = filter_of(self._clock(), {"trusts": INJECTABLE, "kinds": STANDING})
        own = memory.store.use.ranking(memory.scope)
        weights = own.weights if own else None
        question = question_of(asked, where, ("memory",), _POOL, memory.settings, abstain=True, weights=weights)
        look = self._grounds.look(Path(directory), memory.settings.projects, self._clock())
        scope = memory.scope.within(project)
        found = answer(memory.store, scope, question, meant, look)
        if found.mode == "lexical":
            return None
        if memory.settings.contexts:
            from recollect.pipeline.sharing import Contexts

            contexts = Contexts(memory.store, scope, memory.settings, self._clock)
            found = contexts.beside(found, [one.id for one in contexts.switched_on()], question, meant)
        return fitting(list(found.hits), prompt)

    def _suggested(self, prompt: str, project: str, told: frozenset[int], start: bytes) -> tuple[int, str] | None:
        """The name and text of the one approved pattern of the project that fits the prompt best."""
        from recollect.inject.suggestion import fitting, of_pattern

        assert self._memory is not None
        memory = self._memory
        if not memory.settings.inject_suggestion:
            return None
        found = memory.store.patterns.find(memory.scope.within(None), state="approved", limit=_PATTERNS)
        learned = fitting(found, project, self._clock())
        if not learned:
            return None
        if self._learned[:2] != (project, learned):
            shown = ((one.statement, of_pattern(one)) for one in learned)
            entries = ((last.id, f"{last.said} {statement}", last.text) for statement, last in shown)
            self._learned = (project, learned, promptindex.build(entries))
        fits = promptindex.search(self._learned[2], prompt, without=told)
        return next((one for one in fits if not hookreply.is_in(start, one[1])), None)

    def _shown(
        self, entries: list[tuple[Hit, str]], project: str, last: tuple[int, str] | None = None
    ) -> Mapping[str, bytes]:
        from recollect.frame import framed

        room = promptindex.SHOWN_BYTES - len(framed("", promptindex.NOTICE).encode())
        kept: list[Hit] = []
        content = "" if last is None else last[1]
        for hit, text in entries:
            if len((content + text).encode()) <= room and len(kept) < promptindex.FEW:
                content += text
                kept.append(hit)
        if not kept and last is None:
            return {"state": warmwire.NOTHING}
        block = framed(content, promptindex.NOTICE)
        reads = self._reads_of(project)
        reads.add(hit.id for hit in kept)
        reads.shown(block)
        names = [promptindex.name_of(hit.id) for hit in kept]
        told = warmwire.packed_names(names if last is None else [last[0], *names])
        return {"state": warmwire.SHOW, "text": block.encode(), "told": told}

    def _reads_of(self, project: str) -> Reads:
        from recollect.pipeline.reads import Reads

        assert self._memory is not None
        while len(self._reads) >= _SCOPES and project not in self._reads:
            self._reads.pop(next(iter(self._reads))).write()
        if project not in self._reads:
            self._reads[project] = Reads(self._memory.store, self._memory.scope.within(project), self._clock)
        return self._reads[project]


def fitting(hits: list[Hit], prompt: str) -> list[Hit]:
    """Those that are close enough in meaning to be shown unasked, or near it and with words in common."""
    index = promptindex.build((hit.id, " ".join((hit.content, *hit.tags)), hit.id) for hit in hits)
    worded = {text.strip() for _, text in promptindex.search(index, prompt, few=len(hits))}
    latin = sum(letter.isascii() for letter in prompt) >= _LATIN * len(prompt)
    return [hit for hit in hits if _fits(hit, worded=hit.id in worded, latin=latin)]


def _fits(hit: Hit, *, worded: bool, latin: bool) -> bool:
    meaning = hit.parts.semantic if latin else None
    if meaning is None:
        return worded
    return meaning >= _CLOSE or (worded and meaning >= _AGREES)
