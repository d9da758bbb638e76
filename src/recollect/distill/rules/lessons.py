"""Lessons: what went wrong, why, and what put it right, as far as it can be told from what was done.

Two ways in. A command that failed and later passed is a lesson when somebody said in between, or right after, what the
cause was: the last such statement holds, earlier ones were guesses. And a plain statement of a cause or a fix is kept
as quoted, unless it was hedged, or found wrong afterwards. Errors are named by their fingerprint.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.distill.draft import MAX_DRAFT_CHARS, Draft
from recollect.distill.rules.story import Run, Said, Story, Told
from recollect.distill.rules.topics import anchors_of
from recollect.distill.sentences import Sentence, plain, whole_words
from recollect.distill.testruns import piped, runner_of, steps
from recollect.model import Evidence

_MAX_EPISODES, _MAX_TOLD, _MAX_SEEN = 4, 3, 2
_LOOKED_AT = 4_000
_TURN = 40  # places: what was said so shortly before is of the same turn
_MAX_CAUSES, _MAX_FAILING = 300, 100  # whoever writes more writes to tire us
_FIRST_WORDS = 2
_AFTER = 4  # places after a run passed in which its fix may be told
_SHORTEST, _LONGEST = 45, 360

# Statements of a cause, and of what put it right.
_FIX = re.compile(
    r"\bkey fix\b|(?:^|[-—:;(] ?)fixed (?:it )?by\b|\bfix(?:ed)?\b.{0,30}\bby (?:using"
    r"|adding|setting|passing|removing|moving|changing|switching|making)\b"
    r"|\b(?:fix|solution|workaround) (?:was|turned out)(?: to be)?(?: to \w+| (?!working"
    r"|missing|pending)\w+ing\b| `)|\b(?:was|is) (?:resolved|solved) by\b",
    re.IGNORECASE,
)
_ROOT = re.compile(
    r"^.{0,40}\broot cause(?: (?:is|was|here|turned|of)\b|\W{0,4}:)|^.{0,40}\bthe (?:real"
    r"|actual|underlying|true) (?:issue|problem|bug|cause|reason)(?: (?:is|was|here)\b"
    r"|\W{0,4}:)"
    r"|\bturns? out\b|\bturned out\b|\bthat's (?:the bug|what was)\b|\bwhich is why\b"
    r"|\b(?:failed|fails|failing|broke|breaks|crashed|crashes|happens|happened) (?:is "
    r"|was )?because\b|^.{0,40}\bthe (?:bug|culprit|cause|reason) (?:is|was)(?! isolated)\b"
    r"|\bso\b.{3,60}\b(?:would not|wouldn't|doesn't|does not|won't|cannot|can't) (?:help"
    r"|work|apply|matter|fire)\b|\bha(?:s|ve) no effect\b",
    re.IGNORECASE,
)
_NOUN = r"(?:issue|problem|bug|cause|culprit|happening|failure|mistake|error|edge case)s?"
_SEEN = re.compile(
    rf"^(?:ah[,!. ]*|ok[,. ]*|good[,. ]*|now )*(?:(?:i (?:can )?(?:now )?(?:see|found|find"
    rf"|understand|spotted)|found) .{{0,50}}\b{_NOUN}\b.{{0,20}}|found it\W*)$",
    re.IGNORECASE,
)
_SEEN_INLINE = re.compile(
    rf"^(?:ah[,!. ]*|ok[,. ]*)*(?:i see(?: now)? ?[-—:,] +|(?:i (?:see|found)|found) .{{0,40}}?"
    rf"\b{_NOUN}\b.{{0,40}}?(?: now)?(?::| - | — )\s*)",
    re.IGNORECASE,
)
_ISSUE = re.compile(
    r"^the (?:issue|problem|failure|error|bug|difference|catch) (?:is|was|here is|comes|came)\b", re.IGNORECASE
)
_EXPLAINS = re.compile(
    r"\b(?:doesn't|does not|didn't|did not|isn't|is not|wasn't|was not|never|without|missing"
    r"|only|instead of|not just|already|still|wrong|incorrectly|silently|both|two|cannot"
    r"|can't|no longer|because|since|so that|so it|which means|meaning|unless|directly"
    r"|rejects?|overwr\w+|ignores?|strips?|returns?)\b",
    re.IGNORECASE,
)
HEDGED = re.compile(
    r"\b(?:might|may be|maybe|perhaps|probably|likely|possibly|suspect|could be|seems?"
    r"|appears?|i think|i guess|i believe|presumably|hopefully|i assume|not sure|if you"
    r"|would you|let me know|i'd)\b",
    re.IGNORECASE,
)
NARRATED = re.compile(
    r"^(?:#?\d+|line \d|asserts?|the tests? (?:verif|check|assert|is now|now)\w*"
    r"|comment \d|now|next|let me|let's|i'll|i will|i'm|i am|i need|i should|i also|i've"
    r"|i have|we need to|we should|going to|first|then|done|all|ready|perfect|great|good)\b"
    r"|\blet me\b|\bi'll\b|\bi (?:hadn't|had not|forgot|didn't|missed|need)\b|\bi'm (?:going"
    r"|now|fixing|switching|adding|removing|checking|reverting|making|tightening)\b|\?$"
    r"|:$",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"`[^`\n]{2,80}`|\b\w+(?:[._/-]\w+)+\b|\b[a-z]+[A-Z]\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|--[a-z][\w-]+|\b[A-Z][A-Z_]{3,}\b"
)
_GOES_ON = re.compile(
    r"(?:when|so|it|this|that|which|because|then|instead|as a result|since|they|both|the \w+|without|`[^`\n]{2,60}`)\b"
    r"|`[^`\n]{2,60}`",
    re.IGNORECASE,
)
_TRIVIAL = re.compile(
    r"\b(?:typo|unused|formatt(?:ing|ed)|gofmt|import|indentation|whitespace|syntax error"
    r"|lint(?:er)? (?:warning|nit)s?|nits?|trailing|line length)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^(?:[*_]{0,2}(?:root cause|cause|problem|issue|fix|the fix|key fix|why|result|note)[^:\n]{0,40}:[*_]{0,2}\s*)",
    re.IGNORECASE,
)
_OF_MYSELF = re.compile(r"\b(?:I'm|I am|I was|I'd|my (?:change|edit|fix|mistake|test)\w*)\b")
_OF_NOW = re.compile(r"\b(?:is|are) (?:failing|broken|missing|wrong|being)\b|\bstill\b", re.IGNORECASE)
_WRONG_AFTER = re.compile(
    r"\b(?:i was wrong|that was (?:wrong|incorrect|an over-?correction|a mistake|the wrong)"
    r"|my (?:earlier|previous) \w+ (?:was|were) (?:wrong|incorrect)|i (?:misread|misunderstood)"
    r"|you're (?:absolutely |completely )?right|good catch|great catch|good eye)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Cause:
    """A statement of what was wrong."""

    said: Said
    sentence: Sentence
    weight: int
    plainly: bool  # it says itself that it is a cause or a fix


@dataclass(slots=True)
class _Episode:
    """A command that failed, and the run with which it passed."""

    failed: Run
    passed: Run
    count: int


def lessons(story: Story) -> Iterator[Draft]:
    """What was learned, the surest first."""
    causes = _causes(story)
    used: set[int] = set()
    made = 0
    for episode in _episodes(story):
        cause = _cause_of(story, episode, causes)
        if cause is None or id(cause) in used:
            continue
        used.add(id(cause))
        yield _checked(story, episode, cause)
        made += 1
        if made == _MAX_EPISODES:
            break
    known = [_names(cause) for cause in causes if id(cause) in used]
    for cause in _worth_telling(story, [cause for cause in causes if id(cause) not in used]):
        names = _names(cause)
        if any(names & others for others in known):
            continue  # another word on the same thing
        known.append(names)
        yield _told(story, cause)
        made += 1
        if made >= _MAX_TOLD:
            break


def _worth_telling(story: Story, causes: list[_Cause]) -> list[_Cause]:
    """Plain statements of a cause or a fix, then of what was seen: of those only the last before a person spoke."""
    plainly = [cause for cause in causes if cause.plainly and cause.weight >= 4 and not cause.said.refuted]
    last: dict[int, _Cause] = {}
    starts = [prompt.place for prompt in story.prompts]
    for cause in causes:
        last[bisect(starts, cause.said.place)] = cause
    seen = [one for one in last.values() if not one.plainly and one.weight >= 4 and not one.said.refuted]
    return [
        *sorted(plainly, key=lambda one: (-one.weight, -one.said.place)),
        *sorted(seen, key=lambda one: (-one.weight, -one.said.place))[:_MAX_SEEN],
    ]


def _names(cause: _Cause) -> set[str]:
    return {name.strip("`()").casefold() for name in NAMES.findall(cause.sentence.text)}


def _causes(story: Story) -> list[_Cause]:
    """Statements of causes, in order; one whose text was taken back by a later one is left out."""
    found: list[_Cause] = []
    for said in story.said:
        if _WRONG_AFTER.search(said.event.text[:160]):
            _take_back(found, said)
        marked = False
        told = said.told()
        for at, (sentence, text) in enumerate(told):
            weight = _weight(text, marked)
            marked = _SEEN.match(text) is not None and len(text) < 90
            if weight:
                plainly = (_ROOT.search(text) or _FIX.search(text)) is not None and _OF_NOW.search(text) is None
                whole = _with_next(said, sentence, told[at + 1] if at + 1 < len(told) else None)
                found.append(_Cause(said, whole, weight + said.final, plainly))
    return found[-_MAX_CAUSES:]


def _with_next(said: Said, sentence: Sentence, following: Told | None) -> Sentence:
    """The statement with the sentence behind it that goes on explaining, if there is one."""
    if following is None or not _GOES_ON.match(following.text):
        return sentence
    text, end = said.event.text, following.sentence.end
    apart = "\n" in text[sentence.end : following.sentence.start] or end - sentence.start > _LONGEST
    if apart or HEDGED.search(following.text) or NARRATED.search(following.text) or following.text.count("`") % 2:
        return sentence
    return Sentence(text[sentence.start : end], sentence.start, end)


def _take_back(found: list[_Cause], said: Said) -> None:
    """What was stated in the turn before was wrong, the agent says now."""
    for cause in reversed(found):
        if cause.said.place < said.place - _TURN:
            break
        if cause.said.final:
            cause.weight = 0


def _weight(text: str, marked: bool) -> int:
    if not _SHORTEST <= len(text) <= _LONGEST or text.count("`") % 2 or HEDGED.search(text) or _TRIVIAL.search(text):
        return 0
    inline = _SEEN_INLINE.match(text)
    rest = text[inline.end() :] if inline else text
    if NARRATED.search(rest) or len(rest) < _SHORTEST or _OF_MYSELF.search(rest):
        return 0
    weight = (
        3 * bool(_ROOT.search(text))
        + 3 * bool(_FIX.search(text))
        + 2 * (marked or inline is not None)
        + 2 * bool(_ISSUE.match(text))
    )
    if not weight:
        return 0
    return weight + bool(_EXPLAINS.search(rest)) + (1 if NAMES.search(rest) else -2)


def _episodes(story: Story) -> Iterator[_Episode]:
    """Commands that failed with an error that can be named, and then passed; the most stubborn first."""
    failing: dict[str, list[Run]] = {}
    found: list[_Episode] = []
    for run in story.runs:
        if run.action != "shell" or run.result is None or not run.target:
            continue
        if run.error is not None:
            failing.setdefault(run.target, []).append(run)
            if len(failing) > _MAX_FAILING:
                del failing[next(iter(failing))]
        elif run.failed is False and run.tests != "failed" and not (piped(run.call.text) and run.tests == "unknown"):
            for target in [
                one for one in failing if one == run.target or steps(one) <= steps(run.target) or _suite(one, run)
            ]:
                runs = failing.pop(target)
                found.append(_Episode(runs[-1], run, len(runs)))
    return iter(sorted(found[-_MAX_CAUSES:], key=lambda one: -one.count))


def _suite(target: str, run: Run) -> bool:
    """Whether all tests passed, where some of them had failed."""
    if run.tests != "passed":
        return False
    runner, whole = runner_of(run.target)
    return bool(runner) and whole and runner_of(target)[0] == runner


def _cause_of(story: Story, episode: _Episode, causes: list[_Cause]) -> _Cause | None:
    """The last statement between the failure and right after the pass."""
    within = [
        cause
        for cause in causes
        if cause.weight >= 3
        and episode.failed.place < cause.said.place <= episode.passed.result_place + _AFTER
        and not cause.said.refuted
        and _about(story, cause, episode.failed)
    ]
    return max(within, key=lambda one: (one.said.place, one.weight), default=None)


def _about(story: Story, cause: _Cause, failed: Run) -> bool:
    """Whether a statement speaks of a failure: among the first words after it, or with one of its names."""
    if failed.result is None:
        return False
    places = story.said_places
    if bisect_left(places, cause.said.place) - bisect(places, failed.result_place) < _FIRST_WORDS:
        return True
    shown = f"{failed.target} {failed.result.text[:_LOOKED_AT]} {failed.result.text[-_LOOKED_AT:]}".casefold()
    return any(len(name) > 4 and name in shown for name in _names(cause))


def _checked(story: Story, episode: _Episode, cause: _Cause) -> Draft:
    error, result = episode.failed.error, episode.failed.result
    assert error is not None
    assert result is not None
    assert episode.passed.result is not None
    statement = _statement(cause)
    command = whole_words(episode.failed.target, 80)
    why = f"it was seen as: {whole_words(error.line, 160)}; `{command}` passed afterwards"
    at = result.text.find(error.line)
    spans = [
        story.cite(cause.said.event, cause.sentence.start, cause.sentence.end),
        story.cite(result, at, at + len(error.line)) if at >= 0 else story.cite(result),
    ]
    return Draft(
        kind="lesson",
        content=statement[:MAX_DRAFT_CHARS],
        evidence=tuple(spans),
        occurred_at=episode.passed.result.occurred_at,
        why=why,
        importance=0.6,
        confidence=0.8,
        tags=(f"error-{error.key}",),
        anchors=(f"command:{command}", *anchors_of(statement)),
        checked=cause.plainly or not _edited(story, episode),
    )


def _edited(story: Story, episode: _Episode) -> bool:
    """Whether files were changed in between: what was merely seen to be wrong in them is so no longer."""
    return any(
        run.action == "edit" and run.failed is not True and episode.failed.place < run.place < episode.passed.place
        for run in story.runs
    )


def _told(story: Story, cause: _Cause) -> Draft:
    statement = _statement(cause)
    spans: tuple[Evidence, ...] = (story.cite(cause.said.event, cause.sentence.start, cause.sentence.end),)
    return Draft(
        kind="lesson",
        content=statement[:MAX_DRAFT_CHARS],
        evidence=spans,
        occurred_at=cause.said.event.occurred_at,
        importance=0.5,
        confidence=0.6,
        anchors=anchors_of(statement),
    )


def _statement(cause: _Cause) -> str:
    text = plain(cause.sentence.text)
    inline = _SEEN_INLINE.match(text)
    text = _LABEL.sub("", text[inline.end() :] if inline else text).strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!")) else f"{text}."
