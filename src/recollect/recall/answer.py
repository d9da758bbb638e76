"""Recall from question to answer: search each tier, fuse, rank, keep variety, explain, or abstain.

The same question over the same store gives the same hits in the same order. Nothing in a question is syntax.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from recollect.clock import age_days, age_label, iso
from recollect.distill.values.sayings import rank_of
from recollect.model import Evidence, Hit, Memory, Parts, Recall, Scope, Tier
from recollect.recall import diversify, silence
from recollect.recall.caveats import disputes, grounded
from recollect.recall.dates import Window, window
from recollect.recall.fuse import Blend, Scored, beside, dated, normalising, own_scores
from recollect.recall.names import Words, words_of
from recollect.recall.profile import Profile
from recollect.recall.usefulness import usefulness
from recollect.store.port import Store
from recollect.store.ports.memories import Filter
from recollect.store.ports.search import Document
from recollect.store.searchtext import query_terms

if TYPE_CHECKING:
    from recollect.recall.meaning import Meant
    from recollect.recall.validity import Look
    from recollect.store.ports.search import Matrix

CANDIDATES = 64  # of each leg and tier, at least
FEWEST = 20  # … of which so many are read and ranked, at least
_BEHIND = 0.99  # of the score of what weighs more is left to what says something else of the same
_HOPS = 3  # memories that are looked behind, and as many that come by it
POOL = 2  # times the limit: how many of the best variety is chosen from


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which tiers, and how the answer is to be made."""

    text: str
    tiers: tuple[Tier, ...]
    where: Filter
    limit: int
    profile: Profile
    abstain: bool = True
    blend: Blend = field(default_factory=Blend)


class _Read(NamedTuple):
    """The question as it is read: what is looked for in it is looked for once."""

    question: Question
    vector: Matrix | None
    terms: Sequence[str]
    span: Window | None  # the time it names
    words: Words


class _Searched(NamedTuple):
    """Every document either leg found, best first, and what each is scored by; few of them are looked at."""

    docs: Sequence[int] = ()
    words: Mapping[int, float] = {}
    cosines: Mapping[int, float] = {}
    own: Mapping[int, float] = {}
    more: Mapping[int, float] = {}  # what stands around it adds

    def scored(self, doc: int) -> Scored:
        own = self.own[doc]
        return Scored(doc, self.words.get(doc, 0.0), self.cosines.get(doc), own, own + self.more.get(doc, 0.0))


class _Candidate(NamedTuple):
    document: Document
    scored: Scored
    parts: Parts
    named: bool  # the question says one of its tags
    needed_by: str | None = None  # the memory that depends on it, when it was found by that alone


def answer(store: Store, scope: Scope, question: Question, meant: Meant, look: Look | None = None) -> Recall:
    """The best hits.

    `look` checks a memory against the repository at hand: what rests on something that is gone falls behind.
    """
    return store.ask(scope, partial(_answer, store, scope, question, meant, look))


def _answer(store: Store, scope: Scope, question: Question, meant: Meant, look: Look | None) -> Recall:
    vector, note, _ = meant.among(store.vectors.model()) if meant.vector is not None else meant
    mode: Literal["hybrid", "lexical"] = "lexical" if vector is None else "hybrid"
    read = _Read(question, vector, query_terms(question.text), window(question.text), words_of(question.text))
    ranked: list[_Candidate] = []
    for tier in question.tiers:
        ranked += _best_of(store, scope, tier, read)
    ranked = _weightiest_first(ranked)
    ranked.sort(key=lambda one: (-one.parts.final, -one.scored.similarity, one.document.occurred_at, one.document.id))
    good = _close_enough(store, scope, ranked, hybrid=vector is not None) if question.abstain else ranked
    good = _one_hop(store, scope, _from_many(good, question), question)
    chosen = _vary(store, scope, good[: question.limit * POOL], question, by_meaning=vector is not None)
    hits = tuple(_hit(store, scope, one, question) for one in chosen)
    if look is not None and question.where.as_of is None:
        memories = {one.document.id: one.document.memory for one in chosen}
        hits = grounded(hits, memories, look)
    abstained = bool(question.abstain and not hits)
    said = [silence.NOTE] if abstained else []
    return Recall(question.text, hits, abstained, mode, "; ".join([*said, *([note] if note else [])]) or None)


def _best_of(store: Store, scope: Scope, tier: Tier, read: _Read) -> list[_Candidate]:
    """The best of a tier, with their final scores.

    Where nothing narrows, nearly all that is found holds: it is enough to look at the few that count. When too few of
    them hold, the legs are asked again, for what does.
    """
    question = read.question
    wanted = max(FEWEST, question.limit * POOL)
    if scope.project is None and not question.where.narrows and read.span is None:
        searched = _search(store, scope, tier, read, None)
        found: list[Document] = []
        for at in range(0, len(searched.docs), wanted):
            some = store.search.documents(scope, tier, searched.docs[at : at + wanted])
            found += [one for one in some if one.memory is None or question.where.holds(one.memory)]
            if len(found) >= wanted:
                break
        if len(found) >= min(wanted, len(searched.docs)):
            return _rank(store, scope, found[:wanted], searched, read)
    searched = _search(store, scope, tier, read, question.where)
    found = store.search.documents(scope, tier, searched.docs[:wanted])
    return _rank(store, scope, found, searched, read)


def _search(store: Store, scope: Scope, tier: Tier, read: _Read, where: Filter | None) -> _Searched:
    """Ask both legs."""
    question, vector, terms = read.question, read.vector, read.terms
    wanted = max(CANDIDATES, question.limit * POOL)
    lexical = store.search.lexical(scope, tier, terms, where, wanted)
    semantic = [] if vector is None else store.search.semantic(scope, tier, vector, where, wanted)
    if not lexical and not semantic:
        return _Searched()
    share = normalising(store.search.weigh(scope, tier, terms))
    words = {match.doc: match.score * share for match in lexical}
    cosines = {match.doc: match.score for match in semantic}
    if vector is not None:
        cosines |= store.search.cosines(scope, tier, vector, [doc for doc in words if doc not in cosines])
    own = own_scores(words, cosines, hybrid=vector is not None, blend=question.blend)
    more = _beside(store, scope, own, question, vector) if tier == "turn" else {}
    if read.span is not None:
        first, last = read.span
        for doc, gain in dated([*lexical, *semantic], iso(first), iso(last), question.blend).items():
            more[doc] = more.get(doc, 0.0) + gain
    if more:
        order = sorted([(-score - more.get(doc, 0.0), doc) for doc, score in own.items()])
    else:
        order = sorted([(-score, doc) for doc, score in own.items()])
    return _Searched([doc for _, doc in order], words, cosines, own, more)


def _beside(
    store: Store, scope: Scope, own: dict[int, float], question: Question, vector: Matrix | None
) -> dict[int, float]:
    """What their neighbours add to the best turns."""
    best = sorted(own, key=lambda doc: (-own[doc], doc))[: question.limit * POOL + 20]
    surroundings = store.search.around(scope, best)
    unknown = {doc for one in surroundings for doc in (one.before, one.after) if doc is not None and doc not in own}
    cosines = {} if vector is None else store.search.cosines(scope, "turn", vector, sorted(unknown))
    missing = own_scores(dict.fromkeys(unknown, 0.0), cosines, hybrid=vector is not None, blend=question.blend)
    return beside({**missing, **own}, surroundings, question.blend)


def _rank(
    store: Store, scope: Scope, documents: Sequence[Document], searched: _Searched, read: _Read
) -> list[_Candidate]:
    """Documents with their final scores. Importance, recency and use lift a hit, never find one."""
    question = read.question
    profile, now = question.profile, question.where.as_of or question.where.now
    memories = [one.id for one in documents if one.memory is not None]
    verdicts = store.use.verdicts(scope, memories) if memories else {}
    found = []
    for document in documents:
        one = searched.scored(document.doc)
        named = document.memory is not None and any(map(read.words.says, document.memory.tags))
        similarity = one.similarity + (question.blend.named if named else 0.0)
        recency = profile.recency_of(age_days(document.occurred_at, now))
        said = verdicts.get(document.id)
        use = usefulness(said, now, profile.use_half_life) if said else 0.0
        final = profile.final(min(1.0, max(0.0, similarity)), document.importance, recency, use)
        parts = Parts(min(1.0, one.lexical), one.semantic, document.importance, recency, final, use)
        found.append(_Candidate(document, one, parts, named))
    return found


def _weightiest_first(ranked: list[_Candidate]) -> list[_Candidate]:
    """Of those that tell the value of one slot, a project's before its user's own, and what is trusted more first.

    What is only quoted of a project comes before nothing.
    """
    told: dict[str, dict[tuple[bool, int], float]] = {}
    for one in ranked:
        memory = one.document.memory
        if memory is not None and memory.slot is not None and memory.superseded_at is None:
            best = told.setdefault(memory.slot, {})
            best[_weight(memory)] = max(best.get(_weight(memory), 0.0), one.parts.final)
    return [_behind(one, told) for one in ranked]


def _behind(one: _Candidate, told: Mapping[str, Mapping[tuple[bool, int], float]]) -> _Candidate:
    memory = one.document.memory
    if memory is None or memory.slot is None or memory.slot not in told:
        return one
    above = [score for weight, score in told[memory.slot].items() if weight > _weight(memory)]
    if not above:
        return one
    return one._replace(parts=replace(one.parts, final=min(one.parts.final, max(above) * _BEHIND)))


def _weight(memory: Memory) -> tuple[bool, int]:
    return memory.project is not None and memory.trust != "quoted", rank_of(memory.trust)


def _close_enough(store: Store, scope: Scope, ranked: list[_Candidate], *, hybrid: bool) -> list[_Candidate]:
    """Those likely enough to be said; what the question names is always let in."""
    floors = {}
    for tier in {one.document.tier for one in ranked}:
        same = [one for one in ranked if one.document.tier == tier]
        near = silence.near_best(named=any(one.named for one in same)) * max(one.scored.own for one in same)
        floors[tier] = max(near, silence.floor(store.search.population(scope, tier) if hybrid else None))
    return [one for one in ranked if one.named or one.scored.own >= floors[one.document.tier]]


def _from_many(ranked: list[_Candidate], question: Question) -> list[_Candidate]:
    """Without the rest of what one session has that nobody vouches for: who plants ten texts is heard twice."""
    if question.where.session is not None:
        return ranked
    memories = [one.document.memory for one in ranked]
    sources = [memory.session if memory is not None and memory.trust == "quoted" else None for memory in memories]
    return [ranked[place] for place in diversify.no_flood(sources, question.limit)]


def _one_hop(store: Store, scope: Scope, good: list[_Candidate], question: Question) -> list[_Candidate]:
    """What the best memories depend on comes right behind them, where it is trusted as much as they are."""
    best = {one.document.id: one for one in good[:_HOPS] if one.document.memory is not None}
    if not best:
        return good
    steps = store.consolidations.beyond(scope, list(best), question.where, _HOPS)
    if not steps:
        return good
    there = {one.document.id for one in good}
    sources: dict[int, _Candidate] = {}
    for source, doc in sorted(steps, key=lambda step: (-best[step[0]].parts.final, step)):
        sources.setdefault(doc, best[source])
    found = [
        _needed(document, sources[document.doc], question)
        for document in store.search.documents(scope, "memory", list(sources))
        if document.id not in there and _trust(document) >= _trust(sources[document.doc].document)
    ]
    return sorted([*good, *found], key=lambda one: -one.parts.final)


def _trust(document: Document) -> int:
    return rank_of(document.memory.trust) if document.memory is not None else 0


def _needed(document: Document, source: _Candidate, question: Question) -> _Candidate:
    recency = question.profile.recency_of(age_days(document.occurred_at, question.where.as_of or question.where.now))
    parts = Parts(0.0, None, document.importance, recency, source.parts.final * _BEHIND)
    scored = Scored(document.doc, 0.0, None, 0.0, source.scored.similarity)
    return _Candidate(document, scored, parts, named=False, needed_by=source.document.id)


def _vary(
    store: Store, scope: Scope, pool: list[_Candidate], question: Question, *, by_meaning: bool
) -> list[_Candidate]:
    if question.profile.mmr >= 1.0 or len(pool) <= question.limit:
        return pool[: question.limit]
    vectors: dict[int, Matrix] = {}
    for tier in question.tiers if by_meaning else ():
        places = {one.document.doc: i for i, one in enumerate(pool) if one.document.tier == tier}
        vectors |= {places[doc]: rows for doc, rows in store.search.vectors(scope, tier, list(places)).items()}
    scores = [one.parts.final for one in pool]
    texts = [one.document.content for one in pool]
    picked = diversify.pick(scores, texts, vectors, question.limit, question.profile.mmr)
    return [pool[i] for i in sorted(picked)]


def _hit(store: Store, scope: Scope, one: _Candidate, question: Question) -> Hit:
    document, memory = one.document, one.document.memory
    if document.tier == "turn":
        evidence: tuple[Evidence, ...] = (Evidence(document.session or "", document.id),)
    elif document.tier == "gist":
        evidence = (Evidence(document.session or ""),)
    else:
        evidence = memory.evidence if memory else ()
    return Hit(
        id=document.id,
        tier=document.tier,
        session=document.session,
        content=_content(store, scope, document, memory, question),
        score=one.parts.final,
        parts=one.parts,
        age=age_label(document.occurred_at, question.where.now),
        origin=document.origin,
        occurred_at=document.occurred_at,
        project=document.project,
        kind=memory.kind if memory else None,
        why=memory.why if memory else None,
        tags=memory.tags if memory else (),
        evidence=evidence,
        superseded_by=memory.superseded_by if memory else None,
        trust=memory.trust if memory else "quoted",
        notes=_notes(store, scope, one),
        recorded_at=memory.recorded_at if memory else None,
    )


def _notes(store: Store, scope: Scope, one: _Candidate) -> tuple[str, ...]:
    """What to know of a hit before relying on it, and why it is there when the question did not find it."""
    told = () if one.document.memory is None else disputes(store, scope, one.document.memory)
    return (*told, f"{one.needed_by} depends on this") if one.needed_by else told


def _content(store: Store, scope: Scope, document: Document, memory: Memory | None, question: Question) -> str:
    """The text as it read at the time asked about."""
    if memory is not None and question.where.as_of is not None and memory.version > 1:
        for old in store.memories.versions(scope, memory.id):
            if old.until > question.where.as_of:
                return old.content
    return document.content
