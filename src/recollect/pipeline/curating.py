"""The catalogue of patterns: what detecting found is kept, and a person says what becomes of it.

A detection goes into the store as candidates, under ids that stay; from then on every word on a pattern is a version
with who said it and why. What was rejected stays so until twice as many sessions or another agent show it. Counts are
refreshed each time; wording that a person decided on is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from recollect.clock import Clock
from recollect.errors import Conflict, InvalidInput, NotFound, ScopeError
from recollect.learn.cluster import candidates_of
from recollect.learn.rank import ranked
from recollect.learn.sightings import Sightings, first_of
from recollect.learn.values import RULE_CHARS, STATEMENT_CHARS, Candidate, Signal, Waste
from recollect.model import Scope, check_id
from recollect.pipeline.cleaning import without_secrets
from recollect.pipeline.detecting import Progress, survey
from recollect.settings import Settings
from recollect.settings import load as load_settings
from recollect.store.port import Store
from recollect.store.ports.learn import (
    LEAST_USERS,
    PATTERN_STATES,
    CommonPattern,
    Pattern,
    PatternVersion,
    Rollout,
    Sighting,
)
from recollect.text import one_line, require_text

if TYPE_CHECKING:
    from recollect.pipeline.measuring import Measured
    from recollect.pipeline.rolling import Change

REASON_CHARS = 1_000
_MOST = 10_000
_SHORTEST_ID = 4


@dataclass(slots=True)
class Refreshed:
    """What looking again came to, as ids of patterns."""

    sessions: int = 0
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    reopened: list[str] = field(default_factory=list)  # rejected once, and shown by much more since
    gone: list[str] = field(default_factory=list)  # candidates that nothing shows often enough any more


class Patterns:
    """The patterns of one user."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        settings: Settings,
        clock: Clock,
        changed: Callable[[], None] = lambda: None,
        require_speech: Callable[[], None] = lambda: None,
        hosted: bool = False,
    ) -> None:
        self._store, self._scope, self._settings, self._clock = store, scope, settings, clock
        self._changed, self._require_speech, self._hosted = changed, require_speech, hosted

    def agree(self) -> None:
        """Let the store know what the user's settings say of sharing: from then on they count, or do not any more."""
        self._agree()

    # -- finding -------------------------------------------------------------------------------------------------------

    def refresh(self, progress: Progress = lambda done, total: None) -> Refreshed:
        """Look at every session, and keep what repeats."""
        if self._scope.project is not None:
            raise ScopeError("patterns are found over all projects", hint="Open the memory without a project.")
        self._agree()
        seen = survey(self._store, self._scope, progress=progress)
        found = ranked(candidates_of(seen.signals, parents=seen.parents), self._clock())
        known = self._store.patterns.find(self._scope, limit=_MOST)
        done = Refreshed(sessions=len(seen.sessions))
        homes, sightings = _homes(known, found), Sightings(seen.signals)
        for pattern, candidates in homes:
            try:
                self._keep(pattern, candidates, sightings, done)
            except (Conflict, NotFound):
                continue  # somebody just decided on it: the next time
        kept = {pattern.id for pattern, _ in homes if pattern is not None}
        for one in known:
            if one.id not in kept and one.state == "candidate" and one.version == 1:
                self._store.patterns.drop(self._scope, one.id)
                done.gone.append(one.id)
        return done

    def _keep(
        self, known: Pattern | None, candidates: Sequence[Candidate], sightings: Sightings, done: Refreshed
    ) -> None:
        now = self._clock()
        pattern = _as_found(candidates, known)
        if known is not None and _weakest((known.trust, pattern.trust)) != pattern.trust and self._was_joined(known):
            pattern = replace(pattern, trust=known.trust)
        told: list[PatternVersion] = []
        if known is not None and known.state == "rejected" and _is_much_more(pattern):
            reason = f"shown by {pattern.sessions} sessions since, in {', '.join(pattern.flavors)}"
            pattern = replace(pattern, state="candidate", version=known.version + 1, reviewer=None, reason=None)
            told = [_version(pattern, "reopened", None, reason, now)]
            done.reopened.append(pattern.id)
        if pattern == known:
            return
        evidence = _sightings(sightings.of(pattern.ids), {one for each in candidates for one in each.sessions})
        was = None if known is None else known.version
        self._store.patterns.put(self._scope, pattern, at=now, was=was, told=told, evidence=evidence)
        (done.new if known is None else done.changed).append(pattern.id)

    def _was_joined(self, known: Pattern) -> bool:
        """Whether another was merged into it: what that rests on may not show now, and it is vouched for no better."""
        return any(one.change == "merge" for one in self._store.patterns.versions(self._scope, known.id))

    # -- looking -------------------------------------------------------------------------------------------------------

    def find(self, state: str | None = None) -> list[Pattern]:
        """The patterns, of one state or all: what spans agents first, then what is worth most."""
        if state is not None and state not in PATTERN_STATES:
            raise InvalidInput(f"patterns are never {state[:40]!r}", hint="States: " + ", ".join(PATTERN_STATES))
        found = self._store.patterns.find(self._scope, state=state, limit=_MOST)
        return sorted(found, key=lambda one: (not one.cross_flavor, -one.score, one.id))

    def get(self, name: str) -> Pattern:
        """The pattern of this id, or whose id begins so; NotFound."""
        check_id(name, "pattern")
        exact = self._store.patterns.get(self._scope, name)
        if exact is not None:
            return exact
        fits = [one for one in self._store.patterns.find(self._scope, limit=_MOST) if _fits(one, name)]
        named = [one for one in fits if one.state != "merged"] or fits
        if len(named) > 1:
            raise InvalidInput(f"{name} fits {len(named)} patterns", hint="Give more of the id.")
        if not named:
            raise NotFound(f"no pattern {name[:60]}", hint="`recollect patterns list` shows ids.")
        return named[0]

    def history(self, name: str) -> list[PatternVersion]:
        """What was done to a pattern, oldest first; nothing while nobody decided on it."""
        return self._store.patterns.versions(self._scope, self.get(name).id)

    def evidence(self, name: str, limit: int = 20) -> list[Sighting]:
        """The sessions that show it, the newest first."""
        return self._store.patterns.evidence(self._scope, self.get(name).id, limit=limit)

    # -- deciding ------------------------------------------------------------------------------------------------------

    def approve(
        self, name: str, reason: str | None = None, *, rule: str | None = None, statement: str | None = None
    ) -> Pattern:
        """Say that it is so, as it is or in other words."""
        pattern = self._own(name)
        return self._decide(pattern, "approve", reason, state="approved", **self._words(rule, statement))

    def edit(
        self, name: str, *, rule: str | None = None, statement: str | None = None, reason: str | None = None
    ) -> Pattern:
        """Say it in other words; where it was rolled out, it stands as before until it is rolled out again."""
        words = self._words(rule, statement)
        if not words:
            raise InvalidInput("nothing to change", hint="Give a rule or a statement.")
        return self._decide(self._own(name), "edit", reason, **words)

    def reject(self, name: str, reason: str | None = None) -> Pattern:
        """Say no; it stays away until much more shows it."""
        pattern = self._own(name)
        self._require_home(pattern)
        return self._decide(pattern, "reject", reason, state="rejected")

    def retire(self, name: str, reason: str | None = None) -> Pattern:
        """It held once and is of no use any more."""
        pattern = self.get(name)
        if pattern.state != "approved":
            raise Conflict(f"{pattern.id} is {pattern.state}, not approved", hint="`patterns reject` says no to it.")
        self._require_home(pattern)
        return self._decide(pattern, "retire", reason, state="retired")

    def merge(self, name: str, into: str, reason: str | None = None) -> Pattern:
        """The first is the second in other words: from now on what shows it counts there. Returns the second."""
        gone, home = self.get(name), self.get(into)
        if gone.id == home.id:
            raise InvalidInput("a pattern cannot be merged into itself")
        for one in (gone, home):
            if one.state == "merged":
                raise Conflict(f"{one.id} was merged into {one.merged_into} before")
        self._require_home(gone)
        ids = tuple(sorted((gone.ids | home.ids) - {home.id}))
        evidence = {one.session: one for each in (gone, home) for one in self.evidence(each.id, limit=_MOST)}
        joined = replace(_joined(home, gone), aliases=ids, sessions=max(len(evidence), home.sessions, gone.sessions))
        kept = self._decide(joined, "merge", reason, evidence=list(evidence.values()))
        self._decide(gone, "merge", reason, state="merged", merged_into=home.id)
        return kept

    def _own(self, name: str) -> Pattern:
        """The pattern, which stands for itself; Conflict when it was merged: then another stands for it."""
        pattern = self.get(name)
        if pattern.state == "merged":
            raise Conflict(f"{pattern.id} was merged into {pattern.merged_into}", hint="Decide on that one.")
        return pattern

    def _require_home(self, pattern: Pattern) -> None:
        """What still stands in files is not to be forgotten there."""
        places = [one.place for one in self._store.patterns.rollouts(self._scope, pattern.id) if one.state != "out"]
        if places:
            raise Conflict(
                f"{pattern.id} is rolled out to {places[0]}",
                hint=f"First take it back: recollect patterns roll-back {pattern.id}",
            )

    def _words(self, rule: str | None, statement: str | None) -> dict[str, Any]:
        given = {"rule": (rule, RULE_CHARS), "statement": (statement, STATEMENT_CHARS)}
        words = {
            name: self._clean(one_line(require_text(text, name, limit)), name)
            for name, (text, limit) in given.items()
            if text is not None
        }
        return {**words, "edited": True} if words else {}

    def _clean(self, text: str, name: str) -> str:
        clean, _ = without_secrets({"content": text}, self._settings)
        return require_text(clean["content"], name)

    def _decide(
        self,
        pattern: Pattern,
        change: str,
        reason: str | None,
        *,
        evidence: Sequence[Sighting] | None = None,
        **fields: Any,
    ) -> Pattern:
        """A new version; the first decision keeps how it was found too."""
        self._require_speech()
        self._agree()
        now, by = self._clock(), self._scope.user
        said = None if reason is None else self._clean(require_text(reason, "reason", REASON_CHARS), "reason")
        told = [] if pattern.version > 1 else [_version(pattern, "found", None, None, pattern.last_seen)]
        rests = replace(pattern, decided_sessions=pattern.sessions, decided_flavors=pattern.flavors, decided_at=now)
        new = replace(rests, version=pattern.version + 1, reviewer=by, reason=said, **fields)
        told.append(_version(new, change, by, said, now))
        kept = self._store.patterns.put(self._scope, new, at=now, was=pattern.version, told=told, evidence=evidence)
        self._changed()  # what agents are shown may name it
        return kept

    # -- with others ---------------------------------------------------------------------------------------------------

    def common(self, k: int = LEAST_USERS) -> list[CommonPattern]:
        """What at least `k` users of this store have seen, five at the least, among those who share their patterns.

        Told are kind, fingerprint and numbers; words only where so many approved the very same ones.
        """
        if isinstance(k, bool) or not isinstance(k, int) or not LEAST_USERS <= k <= _MOST:
            raise InvalidInput(f"k is a whole number from {LEAST_USERS}: what fewer have seen is told to nobody else")
        if self._agree() and not self._settings.share_patterns:
            raise InvalidInput(
                "only who shares their patterns is told what others' have in common",
                hint="Switch it on: recollect config set share_patterns true",
            )
        return self._store.patterns.common(self._scope.within(None), k)

    def _agree(self) -> bool:
        """Let the store know what the user's own settings say; whether they are the user's own.

        Not so where a server works for others, or somebody names another user: nobody agrees for somebody else.
        """
        if self._hosted:
            return False
        try:
            usual = load_settings().settings
        except InvalidInput:
            return False
        owner = Scope(usual.tenant, usual.user) if usual.user else Scope(usual.tenant)
        if (owner.tenant, owner.user) != (self._scope.tenant, self._scope.user):
            return False
        self._store.patterns.share(self._scope.within(None), self._settings.share_patterns, at=self._clock())
        return True

    # -- using ---------------------------------------------------------------------------------------------------------

    def export(self, state: str | None = "approved") -> dict[str, bytes]:
        """The catalogue as files for a repository, by name; the same catalogue gives the same bytes."""
        from recollect.pipeline.cataloguing import files_of

        found = sorted(self.find(state), key=lambda one: one.id)
        return files_of([(one, self._store.patterns.versions(self._scope, one.id)) for one in found])

    def roll_out(self, name: str, to: str, **where: Any) -> Change:
        """Put an approved pattern before agents; `rolling.roll_out` tells how."""
        from recollect.pipeline.rolling import Rolling

        self._require_speech()
        change = Rolling(self._store, self._scope, self._settings, self._clock).roll_out(self.get(name), to, **where)
        if change.target == "memory" and change.changed:
            self._changed()
        return change

    def roll_back(self, name: str, **which: Any) -> list[Change]:
        """Take it back from where it was put: every other byte there is as it was."""
        from recollect.pipeline.rolling import Rolling

        self._require_speech()
        done = Rolling(self._store, self._scope, self._settings, self._clock).roll_back(self.get(name), **which)
        if any(one.target == "memory" and one.changed for one in done):
            self._changed()
        return done

    def rollouts(self, name: str | None = None) -> list[Rollout]:
        """Where patterns were put, the oldest first."""
        return self._store.patterns.rollouts(self._scope, None if name is None else self.get(name).id)

    def measure(self, name: str | None = None, progress: Progress = lambda done, total: None) -> list[Measured]:
        """What became of what was rolled out: how often it happened before and after."""
        from recollect.pipeline.measuring import measure

        wanted = self.find() if name is None else [self.get(name)]
        return measure(self._store, self._scope, wanted, self._clock(), progress)


def _fits(pattern: Pattern, name: str) -> bool:
    """Whether this is one of its ids, or the beginning of its own."""
    return name in pattern.aliases or (len(name) >= _SHORTEST_ID and pattern.id.startswith(name.casefold()))


def _homes(known: Iterable[Pattern], found: Iterable[Candidate]) -> list[tuple[Pattern | None, list[Candidate]]]:
    """Each candidate with the pattern it is known as; several may be one by now."""
    by_id: dict[str, Pattern] = {}
    for pattern in known:
        if pattern.state != "merged":
            for id_ in pattern.ids:
                by_id.setdefault(id_, pattern)
            by_id[pattern.id] = pattern
    homes: dict[str, tuple[Pattern | None, list[Candidate]]] = {}
    for one in found:
        home = next((by_id[id_] for id_ in (one.id, *one.aliases) if id_ in by_id), None)
        homes.setdefault(one.id if home is None else home.id, (home, []))[1].append(one)
    return list(homes.values())


def _as_found(candidates: Sequence[Candidate], known: Pattern | None) -> Pattern:
    """What is known, with what these candidates show now."""
    first = candidates[0]
    sessions = {session for one in candidates for session in one.sessions}
    waste = sum((one.waste for one in candidates), Waste())
    id_ = first.id if known is None else known.id
    aliases = {alias for one in candidates for alias in (one.id, *one.aliases)} | set(known.aliases if known else ())
    facts: dict[str, Any] = {
        "trust": first.trust if len(candidates) == 1 or known is None else _weakest(one.trust for one in candidates),
        "signals": sum(one.signals for one in candidates),
        "sessions": len(sessions),
        "flavors": tuple(sorted({flavor for one in candidates for flavor in one.flavors})),
        "projects": tuple(sorted({project for one in candidates for project in one.projects})),
        "first_seen": min(one.first_seen for one in candidates),
        "last_seen": max(one.last_seen for one in candidates),
        "seconds": waste.seconds,
        "tokens": waste.tokens,
        "usd": waste.usd,
        "score": round(max(one.score for one in candidates), 6),
        "aliases": tuple(sorted(aliases - {id_})),
    }
    if known is None:
        return Pattern(id=id_, kind=first.kind, key=first.key, statement=first.statement, rule=first.rule, **facts)
    if known.state == "candidate" and not known.edited:
        facts |= {"statement": first.statement, "rule": first.rule}
    return replace(known, **facts)


def _weakest(trusts: Iterable[str]) -> str:
    return max(trusts, key=("user", "outcome", "observed").index)


def _is_much_more(pattern: Pattern) -> bool:
    """Whether a pattern rests on much more than when it was decided on."""
    return pattern.sessions >= 2 * max(pattern.decided_sessions, 1) or bool(
        set(pattern.flavors) - set(pattern.decided_flavors)
    )


def _joined(home: Pattern, gone: Pattern) -> Pattern:
    """The facts of both."""
    waste = Waste(home.seconds, home.tokens, home.usd) + Waste(gone.seconds, gone.tokens, gone.usd)
    return replace(
        home,
        signals=home.signals + gone.signals,
        flavors=tuple(sorted({*home.flavors, *gone.flavors})),
        projects=tuple(sorted({*home.projects, *gone.projects})),
        first_seen=min(home.first_seen, gone.first_seen),
        last_seen=max(home.last_seen, gone.last_seen),
        seconds=waste.seconds,
        tokens=waste.tokens,
        usd=waste.usd,
        score=max(home.score, gone.score),
        trust=_weakest((home.trust, gone.trust)),
    )


def _sightings(found: Mapping[str, list[Signal]], sessions: set[str]) -> list[Sighting]:
    made = []
    for session, signals in found.items():
        if session in sessions:
            one = first_of(signals)
            about = (one.flavor, one.project, one.at, one.origin)
            made.append(Sighting(session, *about, sum(each.count for each in signals), one.statement, one.events))
    return made


def _version(pattern: Pattern, change: str, by: str | None, reason: str | None, at: datetime) -> PatternVersion:
    return PatternVersion(pattern.version, change, pattern.state, pattern.statement, pattern.rule, by, reason, at)
