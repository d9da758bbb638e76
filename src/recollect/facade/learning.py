"""What an opened memory makes of all it holds: patterns, weights, what proved useful, what is one and the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from recollect.clock import TimeLike, parse_time
from recollect.facade.opened import Opened
from recollect.model import check_id

if TYPE_CHECKING:
    from recollect.learn.replay import Replay
    from recollect.learn.values import Detection
    from recollect.pipeline.consolidating import Consolidated, Consolidation
    from recollect.pipeline.curating import Patterns
    from recollect.pipeline.insights import Insights
    from recollect.pipeline.ranking import Ranking
    from recollect.recall.related import Related
    from recollect.recall.usefulness import Usage


class Learning(Opened):
    """Learns across sessions and agents."""

    def detect(
        self,
        *,
        since: TimeLike | None = None,
        project: str | None = None,
        min_frequency: int = 3,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Detection:
        """What repeats across sessions and agents: candidates for patterns, the most worthwhile first."""
        from recollect.pipeline.detecting import detect

        after = None if since is None else parse_time(since)
        named = None if project is None else check_id(project, "project")
        ways: dict[str, Any] = {"since": after, "project": named, "min_frequency": min_frequency, "progress": progress}
        return detect(self.store, self.scope, now=self._clock(), **ways)

    def replay(
        self,
        *,
        since: TimeLike | None = None,
        project: str | None = None,
        limit: int = 500,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Replay:
        """How often memory would have told in time what later sessions found out again; changes nothing."""
        from recollect.pipeline.replaying import replay

        after = None if since is None else parse_time(since)
        named = None if project is None else check_id(project, "project")
        ways: dict[str, Any] = {"since": after, "project": named, "limit": limit, "progress": progress}
        embed = partial(self._meaning.of, mode="auto", whose=self.scope.tenant)
        return replay(self.store, self.scope, self.settings, embed, now=self._clock(), **ways)

    @property
    def patterns(self) -> Patterns:
        """What repeats, as a person reviewed it: the catalogue, where its rules were put, and what became of it."""
        from recollect.pipeline.curating import Patterns

        parts = (self.store, self.scope, self.settings, self._clock, self._changed, self._require_speech)
        return Patterns(*parts, hosted=self._hosted)

    def insights(
        self, days: int = 30, *, project: str | None = None, agent: str | None = None, whole: bool = False
    ) -> Insights:
        """What was kept, asked, run and spent in so many days, by day; `whole` tells what the whole store takes."""
        from recollect.pipeline.insights import gather

        what = (self.store, self.scope, self.settings, self._clock())
        return gather(*what, days, project=project, agent=agent, whole=whole)

    @property
    def ranking(self) -> Ranking:
        """The weights hits are ranked by: fitted to what was used, shown, or reset."""
        from recollect.pipeline.ranking import Ranking

        return Ranking(self.store, self.scope, self.settings, self._clock, self._meaning.of)

    @property
    def consolidation(self) -> Consolidation:
        """Near-duplicates, what is stale, relations, roll-ups: plan it, run it, undo a run, look at what came of it."""
        from recollect.pipeline.consolidating import Consolidation

        return Consolidation(self.store, self.scope, self.settings, self._clock, self._changed)

    def consolidate(self, *, dry_run: bool = False, share: float | None = None) -> Consolidated:
        """Merge near-duplicates, put away what is stale, relate memories, roll gists up; `consolidation.undo` can."""
        from recollect.pipeline.consolidating import Consolidated

        self._reads.write()
        return Consolidated(self.consolidation.plan()) if dry_run else self.consolidation.run(share)

    def relations(self, memory_id: str) -> tuple[Related, ...]:
        """What a memory has to do with others, one step far."""
        return self.consolidation.relations(memory_id)

    def feedback(
        self,
        memory_id: str,
        verdict: str,
        session: str | None = None,
        *,
        note: str | None = None,
        undo: bool = False,
        source: str = "user",
    ) -> Usage:
        """Say that a memory was helpful, harmful or cited, in a session or at all; `undo` takes that back.

        Said again of the same session it counts once. Being recalled or shown counts for nothing.
        """
        from recollect.pipeline.feedback import give

        who = source if self._speaks else "agent"
        given: dict[str, Any] = {"session": session, "note": note, "undo": undo, "source": who}
        told = give(self.store, self.scope, self.settings, self._clock(), self.get(memory_id).id, verdict, **given)
        self._changed()
        return told

    def usage(self, memory_id: str) -> Usage:
        """How useful a memory proved, what was said of it, and where it was put before an agent lately."""
        from recollect.recall.usefulness import usage

        return usage(self.store, self.scope, memory_id, self._clock(), self.settings.use_half_life_days)
