"""Sessions that are due become memories: events in, drafts by rules (and a model where one is set), vetted, settled.

A session that grew is distilled again as a whole; of one that has grown very long, the end of it, and what was made of
the rest before stays as it is. What the rules made of it before and make no longer, because the rest of the session
says otherwise, is retired: it ends as superseded by nothing, and stays in the history. What a person changed or
confirmed is theirs and stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from recollect.clock import Clock
from recollect.distill.draft import RULES, RULES_VERSION, Draft
from recollect.distill.rules.session import distill
from recollect.distill.values.holding import RETIRED
from recollect.distill.vetting.vet import Vetted, vet
from recollect.errors import Conflict, NotFound, StoreError
from recollect.model import Event, Evidence, Memory, Scope, Session
from recollect.pipeline.settling import Judge, settle
from recollect.store.port import Store
from recollect.store.ports.distill import Distillation
from recollect.text import dedup_key

MOST_CHARS = 4_000_000  # of a session, the last so many are read
_PAGE = 500  # events read at a time


class Extractor(Protocol):
    """A language model asked for drafts; `asked` is the position of the last event it was shown before."""

    def drafts(self, session: Session, events: Sequence[Event], asked: int) -> tuple[list[Draft], int]: ...


@dataclass(slots=True)
class Distilled:
    """What one round of distilling did."""

    sessions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)  # added, known, merged, superseding, disputed, retired
    refused: Counter[str] = field(default_factory=Counter)
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return any(count for name, count in self.outcomes.items() if name != "known")


def distill_due(
    store: Store,
    scope: Scope,
    clock: Clock,
    *,
    only: Callable[[str], bool] = lambda session: True,
    extractor: Extractor | None = None,
    judge: Judge | None = None,
) -> Distilled:
    """Distill the sessions that are due and that `only` lets through; one that cannot be costs only itself."""
    due = (session for session in store.distillations.due(scope, version=RULES_VERSION) if only(session))
    return distill_sessions(store, scope, due, clock, extractor=extractor, judge=judge)


def distill_sessions(
    store: Store,
    scope: Scope,
    sessions: Iterable[str],
    clock: Clock,
    *,
    extractor: Extractor | None = None,
    judge: Judge | None = None,
) -> Distilled:
    """Distill these sessions."""
    done = Distilled()
    for session in sessions:
        try:
            _Distilling(store, scope, clock, extractor, judge, done).run(session)
        except StoreError:
            raise
        except (NotFound, Conflict):
            continue  # forgotten or changed meanwhile; it stays due
        except Exception as error:  # a fault in one session must not cost the others
            done.failed[session] = f"it cannot be distilled: {type(error).__name__}"  # its text may quote the session
    return done


@dataclass(slots=True)
class _Distilling:
    """One session on its way to memories."""

    store: Store
    scope: Scope
    clock: Clock
    extractor: Extractor | None
    judge: Judge | None
    done: Distilled

    def run(self, name: str) -> None:
        session = self.store.sessions.get(self.scope, name)
        events = self._newest(name)
        if session is None or not events:
            return
        before = self.store.distillations.get(self.scope, name)
        made = self._vetted(session, events, distill(session, events, self.store.digests.get(self.scope, name)))
        theirs = self._retire(name, made.kept, events)
        kept = [self._settle(memory) for memory in made.kept if memory.evidence not in theirs]
        asked = -1 if before is None else before.asked
        if self.extractor is not None and events[-1].position > asked:
            drafts, asked = self.extractor.drafts(session, events, asked)
            # Noted before anything is made of the answer: whatever fails from here on is not asked, and paid, again.
            covered = -1 if before is None else before.covers
            self.store.distillations.put(self.scope, Distillation(name, RULES_VERSION, covered, self.clock(), asked))
            told = self._vetted(session, events, drafts)
            kept += [self._settle(memory) for memory in told.kept]
            made.refused.update(told.refused)
        self.store.distillations.put(
            self.scope,
            Distillation(name, RULES_VERSION, events[-1].position, self.clock(), asked, sum(kept), dict(made.refused)),
        )
        self.done.sessions += 1
        self.done.refused.update(made.refused)

    def _newest(self, name: str) -> list[Event]:
        """The session, or as much of its end as is read; never more than that is held at once, but for a page."""
        page = self.store.sessions.history(self.scope, name, last=_PAGE)
        newest: list[Event] = []
        chars = 0
        while page:
            for event in reversed(page):
                chars += len(event.text)
                if newest and chars > MOST_CHARS:
                    return newest[::-1]
                newest.append(event)
            before = page[0].position  # positions have no holes
            after = max(-1, before - 1 - _PAGE)
            page = (
                self.store.sessions.history(self.scope, name, after=after, first=before - 1 - after) if before else []
            )
        return newest[::-1]

    def _vetted(self, session: Session, events: Sequence[Event], drafts: Iterable[Draft]) -> Vetted:
        by_key = {event.key: event for event in events}
        return vet(drafts, by_key, session=session.id, project=session.project, now=self.clock())

    def _settle(self, memory: Memory) -> bool:
        settled = settle(self.store, self.scope, memory, self.clock, judge=self.judge)
        self.done.outcomes[settled.outcome] += 1
        return settled.outcome not in ("known", "withheld")

    def _retire(self, session: str, made: Sequence[Memory], events: Sequence[Event]) -> set[tuple[Evidence, ...]]:
        """End what the rules made of this session before and do not make any more; what a person put into other
        words is theirs, and the words it came from are returned, so that it is not made anew beside it. What came from
        a part of the session that was not read is left alone.
        """
        read = {event.key for event in events} if events[0].position else None
        texts = {dedup_key(memory.content) for memory in made}
        sources = {memory.evidence for memory in made}
        theirs: set[tuple[Evidence, ...]] = set()
        for old in self.store.memories.of_session(self.scope, session):
            if old.maker != RULES or old.superseded_at is not None:
                continue
            if read is not None and not any(span.event in read for span in old.evidence):
                continue
            if self.store.memories.versions(self.scope, old.id):
                theirs.add(old.evidence)
            elif old.confirmed_at is None and dedup_key(old.content) not in texts and old.evidence not in sources:
                now = self.clock()
                ended = replace(old, superseded_at=max(now, old.occurred_at), meta={**old.meta, RETIRED: True})
                self.store.memories.update(self.scope, ended, at=now, note="retire")
                self.done.outcomes[RETIRED] += 1
        return theirs
