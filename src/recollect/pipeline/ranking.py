"""The weights of ranking, fitted to the user's own history: what they asked, and what was then used.

Two kinds of examples are made, both as of the moment of the question, with nothing from after it. Feedback that names a
session: the question is the last prompt before it. History replayed: the question is a prompt, and what was used is a
memory whose words the agent then said though nobody had told it. New weights are kept only when they are better on the
newest examples, which were not looked at; they are the owner's, and one call takes them away again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from recollect.clock import Clock
from recollect.learn.usewords import telling, used
from recollect.learn.weighing import Example, Fit, default, fit
from recollect.model import Event, Hit, Scope, Session
from recollect.recall.answer import answer
from recollect.recall.asking import filter_of, question_of
from recollect.recall.profile import Profile
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.use import Feedback, OwnRanking

if TYPE_CHECKING:
    from recollect.recall.meaning import Meant

Progress = Callable[[int, int], None]
CANDIDATES = 30  # of each question
MOST_SESSIONS, MOST_PROMPTS = 300, 600  # the newest
_LONGEST, _SHORTEST = 2_000, 12  # characters of a prompt that is a question
_BEFORE = 300  # events of a session before a prompt in which words may have been said
_ASKED_CHARS = 500
_PAGE = 500
_EVER = datetime.min.replace(tzinfo=UTC)
# Similarity alone: then a hit's score is its similarity, and the other parts stand beside it.
_BARE = Profile(similarity=1.0, importance=0.0, recency=0.0, mmr=1.0, use=0.0)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit came to, and whether its weights are in force now."""

    fit: Fit
    adopted: bool
    weights: dict[str, float]  # in force after it
    from_feedback: int = 0
    from_history: int = 0
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Standing:
    """The weights in force, those everybody begins with, and what the own ones were taken on for."""

    default: dict[str, float]
    own: dict[str, float] | None = None
    at: datetime | None = None
    figures: dict[str, object] = field(default_factory=dict)


class Ranking:
    """The weights of one owner."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        clock: Clock,
        meaning: Callable[[str, str, str], Meant],
    ) -> None:
        self._store, self._scope, self._settings, self._clock = store, scope.within(None), settings, clock
        self._meaning = meaning

    def show(self) -> Standing:
        """What is in force now."""
        own = self._store.use.ranking(self._scope)
        if own is None:
            return Standing(default())
        return Standing(default(), dict(own.weights), own.at, dict(own.figures))

    def reset(self) -> bool:
        """Go back to the weights everybody begins with; whether there were own ones."""
        return self._store.use.put_ranking(self._scope, None, at=self._clock())

    def fit(self, *, dry_run: bool = False, progress: Progress = lambda done, total: None) -> Fitted:
        """Fit the weights anew, and keep them if they are better on what was held out."""
        made = self.examples(progress)
        own = self._store.use.ranking(self._scope)
        in_force = dict(own.weights) if own else default()
        found = fit([one for one, _ in made], in_force)
        said = sum(source == "feedback" for _, source in made)
        adopted = found.better and not dry_run
        if adopted:
            now = self._clock()
            figures = {
                **{name: getattr(found, name) for name in _FIGURES},
                "from_feedback": said,
                "from_history": len(made) - said,
            }
            self._store.use.put_ranking(self._scope, OwnRanking(found.weights, now, figures), at=now)
        weights = dict(found.weights) if adopted else in_force
        return Fitted(found, adopted, weights, said, len(made) - said, dry_run)

    # -- examples ------------------------------------------------------------------------------------------------------

    def examples(self, progress: Progress = lambda done, total: None) -> list[tuple[Example, str]]:
        """Every question that something was used after, with where it is from: feedback or history."""
        said = self._feedback()
        sessions = self._sessions(said)
        found: list[tuple[Example, str]] = []
        asked = 0
        for number, session in enumerate(sessions):
            progress(number, len(sessions))
            if asked >= MOST_PROMPTS:
                break
            for example, source in self._of_session(session, said.get(session.id, [])):
                found.append((example, source))
            asked += session.turns
        progress(len(sessions), len(sessions))
        return found

    def _feedback(self) -> dict[str, list[Feedback]]:
        """What was said of memories in a session, or is shown by it."""
        found: dict[str, list[Feedback]] = {}
        offset = 0
        while page := self._store.use.every(self._scope, limit=_PAGE, offset=offset):
            for one in page:
                if one.session is not None:
                    found.setdefault(one.session, []).append(one)
            offset += len(page)
        return found

    def _sessions(self, said: dict[str, list[Feedback]]) -> list[Session]:
        """The newest sessions, and all that feedback is about."""
        newest = self._store.sessions.find(self._scope, limit=MOST_SESSIONS)
        named = {one.id: one for one in newest}
        for session in said:
            if session not in named and (one := self._store.sessions.get(self._scope, session)) is not None:
                named[session] = one
        return list(named.values())

    def _of_session(self, session: Session, said: Sequence[Feedback]) -> Iterator[tuple[Example, str]]:
        events = self._store.sessions.history(self._scope, session.id)
        prompts = [place for place, event in enumerate(events) if _is_question(event)]
        if not prompts:
            return
        of_prompt: dict[int, list[Feedback]] = {}
        times = [events[place].occurred_at for place in prompts]
        for one in said:
            of_prompt.setdefault(prompts[max(0, bisect_right(times, one.at) - 1)], []).append(one)
        for place in prompts:
            until = bisect_left(prompts, place + 1)
            end = prompts[until] if until < len(prompts) else len(events)
            around = events[max(0, place - _BEFORE) : place + 1], events[place + 1 : end]
            example = self._example(session, *around, of_prompt.get(place, ()))
            if example is not None:
                yield example, "feedback" if place in of_prompt else "history"

    def _example(
        self, session: Session, before: Sequence[Event], after: Sequence[Event], said: Sequence[Feedback]
    ) -> Example | None:
        """One question, the last `before`: what recall would have found then, and what of it was used right after."""
        prompt = before[-1]
        hits = self._found(session, prompt)
        heard = used({hit.id: (_EVER, telling(hit.content)) for hit in hits}, after, before)
        good = {*heard, *(one.memory for one in said if one.verdict != "harmful")}
        bad = {one.memory for one in said if one.verdict == "harmful"}
        places = {hit.id: place for place, hit in enumerate(hits)}
        used_at = tuple(sorted(places[id_] for id_ in good - bad if id_ in places))
        harmed = tuple(sorted(places[id_] for id_ in bad if id_ in places))
        if (not used_at and not harmed) or len(hits) < 2:
            return None
        rows = tuple((hit.score, hit.parts.importance, hit.parts.recency, hit.parts.use) for hit in hits)
        return Example(prompt.occurred_at, session.id, rows, used_at, harmed)

    def _found(self, session: Session, prompt: Event) -> tuple[Hit, ...]:
        """What recall finds for a prompt with what was known then, by similarity alone."""
        half = _ASKED_CHARS // 2
        asked = prompt.text if len(prompt.text) <= _ASKED_CHARS else f"{prompt.text[:half]}\n{prompt.text[-half:]}"
        where = filter_of(self._clock(), {"as_of": prompt.occurred_at, "exclude_session": session.id, "archived": True})
        question = question_of(asked, where, ("memory",), CANDIDATES, self._settings, abstain=False)
        shape = {name: getattr(question.profile, name) for name in ("decay", "decay_factor", "use_half_life")}
        meant = self._meaning(question.text, "auto", self._scope.tenant)
        scope = self._scope.within(session.project) if session.project else self._scope
        found = answer(self._store, scope, replace(question, profile=replace(_BARE, **shape)), meant)
        return found.hits


_FIGURES = ("examples", "trained", "held_out", "train_before", "train_after", "before", "after", "wins", "losses")


def _is_question(event: Event) -> bool:
    return event.kind == "user_prompt" and event.origin == "user" and _SHORTEST <= len(event.text) <= _LONGEST
