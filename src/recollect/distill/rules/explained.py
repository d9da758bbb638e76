"""What the agent explained in passing: how a thing works, what it needs, why it was done so and not otherwise.

They are the agent's words and stay quoted: recalled when asked for, never put before anybody by themselves. A statement
is a sentence with what goes on from it in the same paragraph. It must name something and stand alone; narration,
status, plans, guesses and what was only weighed do not count. The rest are ranked by what they hold, by how much the
session was about it, and by what speaks for their being true at the end: told again, committed afterwards, said after
the last edit, in the last turn. The first few that do not say the same are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log

from recollect.distill.draft import Draft
from recollect.distill.rules.lessons import HEDGED, NAMES, NARRATED
from recollect.distill.rules.story import Said, Story, Told
from recollect.distill.sentences import Sentence, plain, sentence_case
from recollect.stopwords import STOP_WORDS

_MAX_EXPLAINED = 6
_MAX_CANDIDATES = 2_000
_SHORTEST, _LONGEST = 50, 400
_SENTENCES = 3  # of one statement
_SHARED = 0.5  # of the words of two that makes one of them enough
_LONG = 130  # says more than one thing
_LEAST = 1.4  # a lower score is not worth a memory
_MAX_COMMITS, _COMMIT_CHARS = 60, 4_000
_POSTINGS = 30  # earlier sentences with a name that are looked up: more of them say no more
_AGAIN = 3
_FEW = 4  # messages: with fewer of them, that a word is in all says little

_GOES_ON = re.compile(
    r"^\W*(?:this|that|it|they|these|those|so|which|because|without|otherwise|instead|both|its|their|as a result|then"
    r"|hence|therefore|but|however)\b",
    re.IGNORECASE,
)
# It begins by pointing or by answering: nobody knows to what who was not there.
_POINTING = re.compile(
    r"^(?-i:are|is|was|were|and|or|with|to|of|for|in|by|as)\b"
    r"|^\W*(?:this|that|it|they|these|those|he|she|its|their|here|there|both|also|same|which|then|yes|no|ok|good|right"
    r"|great|perfect|done|all|everything|correct|exactly|you're|you|your|if you)\b",
    re.IGNORECASE,
)
# It tells where the work stands or what to do next, offers, weighs what was not done, or reads something out.
_OF_THE_WORK = re.compile(
    r"\b(?:is|are) (?:now )?(?:running|ready|done|open|pushed|committed|merged|complete)\b|\bspot-?check"
    r"|^\W*(?:committed|pushed|opened|merged)\b|^\W*(?:run|re-?run|fix|check|commit|push|open|create|rebase|retry) "
    r"|\b(?:tests?|suite|build|checks?|lint)\b.{0,20}\bpass|\bpass(?:es|ed|ing)?\b.{0,24}\b(?:tests?|suite|checks?)\b"
    r"|\b(?:all|suite|still|is|are|everything) green\b|^\W*(?:[\w-]+ ){0,3}(?:diff|worktree|working tree)\b"
    r"|\b(?:want me|shall i|should i|would you|if you(?:'d)? (?:want|like|prefer))\b"
    r"|\b(?:let me|let's|i'll|i will|i'm|i am going|i need to|i'd|i can|i could)\b"
    r"|\boption \w\b|\bapproach \w\b|\bpros?\b|\bcons?\b|\bcould\b|^\W*the (?:issue|problem) (?:is|here)\b"
    r"|\bwould (?:be|require|need)\b|\bthe (?:(?:cleanest|simplest|right|best|proper) )?fix(?:(?: is)?:| is| would)"
    r"|\blines? ~?\d|\.\w{1,4}:\d|[?:]\W*$|…\W*$|^\W*(?:\w+ ){1,4}(?:says?|reads?|states?|shows?)\W{0,3}:",
    re.IGNORECASE,
)
# A line of a list of changes: the history of the repository has it.
_DONE = re.compile(
    r"^\W*(?:added|updated|created|removed|renamed|verified|moved|refactored|replaced|implemented|wrote|extracted"
    r"|introduced|changed|fixed|dropped|deleted|rewrote|cleaned|switched|bumped|converted|made|ran|tightened|collapsed"
    r"|documented)\b",
    re.IGNORECASE,
)
# Without one of these it is an entry of a list, not a statement.
_SAYS = re.compile(
    r"\b(?:is|are|was|were|be|been|does|do|did|has|have|had|can|cannot|must|should|will|may|needs?|requires?|uses?"
    r"|means?|returns?|keeps?|makes?|gives?|reads?|writes?|runs?|goes|falls?|stays?|takes?|holds?|works?|fails?|skips?"
    r"|drops?|sets?|calls?|checks?|treats?|covers?|handles?|stores?|stored|lives?|implies|strips?|points?|rejects?"
    r"|accepts?|ignores?|expects?|produces?|loses?|breaks?|leaves?|hides?|matches?|never|only|not|because|since|unless|instead"
    r"|kept|chose|avoided|skipped|decided|would)\b|n't\b",
    re.IGNORECASE,
)
_WELL = re.compile(r"[`\w(.-]")
_CHOICE = re.compile(
    r"\b(?:kept|chose|avoided|went with|skipped|deliberate(?:ly)?|intentional(?:ly)?|on purpose|by design|decided"
    r"|opted)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b(?:root cause|bug|culprit|mistake|fail(?:s|ed|ure)?|broke|breaks|crash\w*|fix(?:ed|es)?|race|missing|wrong"
    r"|leak\w*|silently|lost|loses|drops?)\b",
    re.IGNORECASE,
)
# What a statement holds. The weights were fitted to labelled sessions, half against half, and rounded.
_SIGNS = (
    (0.85, re.compile(r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b")),
    (0.35, re.compile(r"https?://")),
    (
        1.2,
        re.compile(
            r"\b(?:root cause|the (?:real|actual|underlying) (?:issue|problem|bug|cause|reason)|culprit|turns out"
            r"|which is why)\b",
            re.IGNORECASE,
        ),
    ),
    (
        0.35,
        re.compile(
            r"\b(?:because|since|so that|therefore|due to|which means|meaning|otherwise|as a result)\b", re.IGNORECASE
        ),
    ),
    (
        0.2,
        re.compile(
            r"\b(?:instead of|rather than|no longer|not just|but not|whereas|unlike|while)\b|, not\b"
            r"|\bnot\b.{1,60}\bbut\b",
            re.IGNORECASE,
        ),
    ),
    (0.4, _CHOICE),
    (0.2, _WRONG),
    (
        -0.7,
        re.compile(
            r"\b(?:next step|follow-?up|todo|remaining|remain|later|pending|open question|worth|nit|minor|optional)\b",
            re.IGNORECASE,
        ),
    ),
)
_COMMITS = re.compile(r"\bgit\b[^\n]{0,60}\bcommit\b|\bgh pr (?:create|edit)\b")
_WORD = re.compile(r"[^\W\d_]{4,}")


@dataclass(slots=True)
class _Statement:
    said: Said
    sentence: Sentence
    text: str
    words: frozenset[str]
    names: frozenset[str]
    again: int  # earlier sentences about the same things
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class _Session:
    """What the statements are measured by."""

    often: Counter[str]
    many: float
    last: Said
    turn: int  # where the last turn began
    edited: int  # where something was edited last: what was said before may be so no longer
    commits: list[tuple[int, frozenset[str], frozenset[str]]]


def explained(story: Story) -> Iterator[Draft]:
    """The most telling statements, the best first."""
    if not story.said:
        return
    session = _session(story)
    found = _statements(story)
    for one in found:
        one.score = _score(one, session)
    kept: list[_Statement] = []
    for one in sorted(found, key=lambda one: (-one.score, -one.said.place)):
        if len(kept) == _MAX_EXPLAINED or one.score < _LEAST:
            break
        if all(len(one.words & other.words) <= _SHARED * min(len(one.words), len(other.words)) for other in kept):
            kept.append(one)
    yield from (_draft(story, one) for one in kept)


def _session(story: Story) -> _Session:
    often: Counter[str] = Counter()
    for said in story.said:
        often.update(_words(said.event.text))
    committed = [run for run in story.runs if run.action == "shell" and _COMMITS.search(run.call.text[:_COMMIT_CHARS])]
    told = [(run.place, run.call.text[:_COMMIT_CHARS]) for run in committed[-_MAX_COMMITS:]]
    return _Session(
        often=often,
        many=log(1 + max(_FEW, len(story.said))),
        last=story.said[-1],
        turn=max((prompt.place for prompt in story.prompts), default=-1),
        edited=max((run.place for run in story.runs if run.action == "edit" and run.failed is not True), default=-1),
        commits=[(place, _words(text), _names(text)) for place, text in told],
    )


def _statements(story: Story) -> list[_Statement]:
    found: list[_Statement] = []
    named: dict[str, list[int]] = {}
    number = 0
    for said in story.said:
        for sentence, text in () if said.refuted else _joined(said):
            if _SHORTEST <= len(text) <= _LONGEST and _tells(text):
                names = _names(text)
                again = Counter(one for name in names for one in named.get(name, ()))
                told = sum(shared > 1 for shared in again.values())
                found.append(_Statement(said, sentence, text, _words(text), names, min(told, _AGAIN)))
        for _, text in said.told():
            number += 1
            for name in _names(text):
                places = named.setdefault(name, [])
                if len(places) < _POSTINGS:
                    places.append(number)
    return found[-_MAX_CANDIDATES:]


def _joined(said: Said) -> Iterator[Told]:
    """Its sentences, each with those behind it that go on with it."""
    told, text = said.told(), said.event.text
    at = 0
    while at < len(told):
        start, end, following = told[at].sentence.start, told[at].sentence.end, at + 1
        while following < len(told) and following - at < _SENTENCES:
            more, reads = told[following]
            if "\n" in text[end : more.start] or more.end - start > _LONGEST or not _goes_on(reads):
                break
            end = more.end
            following += 1
        if following == at + 1:
            yield told[at]
        else:
            yield Told(Sentence(text[start:end], start, end), plain(text[start:end]).replace("’", "'"))
        at = following


def _goes_on(text: str) -> bool:
    return (
        _GOES_ON.match(text) is not None
        and not text.endswith(("?", ":"))
        and text.count("`") % 2 == 0
        and not (NARRATED.search(text) or HEDGED.search(text))
    )


def _tells(text: str) -> bool:
    """Whether it says something of what it names, plainly, and stands alone."""
    return (
        _WELL.match(text) is not None
        and text.count("`") % 2 == 0
        and NAMES.search(text) is not None
        and _SAYS.search(text) is not None
        and (len(text) >= _LONG or not _DONE.match(text))
        and not (_POINTING.match(text) or NARRATED.search(text) or HEDGED.search(text) or _OF_THE_WORK.search(text))
    )


def _score(one: _Statement, session: _Session) -> float:
    text, known, place = one.text, max(3, len(one.words)), one.said.place
    score = sum(weight for weight, sign in _SIGNS if sign.search(text)) - 0.8
    score += 0.4 * len(text) / 100 + 0.5 * (len(text) >= _LONG) + 0.3 * (len(one.names) > 1)
    score += 1.4 * sum(log(1 + session.often[word]) for word in one.words) / session.many / known
    score += 0.65 * one.again / _AGAIN + 0.2 * place / max(1, session.last.place)
    score += 0.6 * (place > session.turn) + 0.25 * (one.said is session.last) - 0.5 * (place < session.edited)
    score += 0.35 * any(
        place < commit and names & one.names and len(words & one.words) >= 0.4 * known
        for commit, words, names in session.commits
    )
    return score


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - STOP_WORDS


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip("`()*").casefold() for name in NAMES.findall(text))


def _draft(story: Story, one: _Statement) -> Draft:
    kind = "decision" if _CHOICE.search(one.text) else "lesson" if _WRONG.search(one.text) else "fact"
    text = sentence_case(one.text)
    return Draft(
        kind=kind,
        content=text if text.endswith((".", "!", "`", ")")) else f"{text}.",
        evidence=(story.cite(one.said.event, one.sentence.start, one.sentence.end),),
        occurred_at=one.said.event.occurred_at,
        importance=round(min(0.48, 0.36 + 0.025 * one.score), 2),
        confidence=0.6,
    )
