"""What people said that holds beyond the moment: rules, preferences, corrections, facts about them and their project.

A story comes in; candidates go out, each in its author's words. A wish is told from a request by how it is put: what
ought to be, what is never wanted, what is usual, what somebody prefers; a request names a thing to do once. Plain
patterns in English, German, French and Spanish, on sentences the author typed; a doubtful sentence is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.draft import MAX_DRAFT_CHARS, Draft
from recollect.distill.rules.cues import (
    ANSWERING,
    ASKED,
    BROKEN,
    CUES,
    DENIAL,
    DONT,
    FILLER,
    FOR_THIS,
    GENERAL,
    HERE,
    INVERTED,
    LAST,
    MOMENT,
    NEEDS,
    NOT_TRUE,
    ON,
    ONLY_CHOICE,
    POINTING,
    POLITELY,
    PROCESS,
    PRONOUN,
    RAMBLING,
    REASON,
    REQUEST,
    RUN_ON,
    SLASH,
    STANDING_QUESTION,
    TAG_QUESTION,
    THIS,
    WISHING_QUESTION,
    WITHDRAWN,
    WORD,
)
from recollect.distill.rules.standing import AFTER, MARKERS, STANDING, WISHES, Cue
from recollect.distill.rules.story import Prompt, Story
from recollect.distill.rules.things import PERSON, STATUS, THINGS
from recollect.distill.sentences import Sentence, plain, sentence_case
from recollect.distill.thirdperson import third_person

_SHORTEST, _LONGEST = 10, 420
_OPINIONS = tuple(cue for cue in CUES if cue.kind == "decision")  # what somebody thinks or would do
_INSTEAD = re.compile(
    r"\b(?:instead of|rather than|statt|anstatt|au lieu|en (?:vez|lugar) de)\b|, not\b", re.IGNORECASE
)
_CODE = re.compile(r"`[^`]*`")
_LOOK = re.compile(r"(?:please )?(?:keep|follow|use|see|check|look|read|open|copy|take)\b", re.IGNORECASE)
_WE = re.compile(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
_JOINED = 360
_LONG_FEEDBACK = 500
_OF_A_PERSON = re.compile(r"\b(?:my|our) \w+|\b[A-Z][a-z]+\b")  # somebody is named, whatever else is said
_OR_ELSE = re.compile(r"\b(?:or|otherwise|because|sonst|sinon|si no)\b", re.IGNORECASE)
_THINKING = re.compile(
    r"^(?:i (?:think|guess|feel like|believe)|i'd say|feel like|maybe|probably)\s+(?:that )?", re.IGNORECASE
)
_PLAIN_END = re.compile(r"[:,;–—-]\s*$|\b(?:that|dass|que)\s*$", re.IGNORECASE)
_VAGUE = re.compile(
    r"\b(?:run|use|do|keep|have|make|add|put|change|drop|like|with|of|for|about|from|to|call|set\w*) (?:it|this"
    r"|them)\b",
    re.IGNORECASE,
)
_TURNED_OUT = re.compile(r"it turn(?:s|ed) out\b", re.IGNORECASE)
_ERRAND = re.compile(
    r"(?:\W|also |and |please )*(?:put|make|add|save|write|create|move|copy|store|send) (?:the|this|that|it|an?)\b",
    re.I,
)
_NAMING = re.compile(r"`|\b\d|\b\w+[._/-]\w+|\b[A-Z][A-Z_]{2,}|\b[a-z]+[A-Z]|(?<=[a-z,] )[A-Z][a-z]+")
_POINTS = re.compile(
    r"^(?:(?:this|that|it|them|these|those)\b(?! (?:repo\w*|project|code ?base|machine|server|team|app|service|module"
    r"|package)\b)"
    r"|the (?:above|following|latter)\b|(?:to|what|how|why|when)\b(?! \w+ \w+ \w+))",
    re.IGNORECASE,
)


def wishes(story: Story) -> Iterator[Draft]:
    """What people wish, in order."""
    for number, prompt in enumerate(story.prompts):
        following = story.prompts[number + 1] if number + 1 < len(story.prompts) else None
        if following is not None and WITHDRAWN.match(following.text[:200]):
            continue
        yield from _of_prompt(story, prompt, feedback=number > 0)


def _of_prompt(story: Story, prompt: Prompt, *, feedback: bool) -> Iterator[Draft]:
    """`feedback`: work was done before. What a first or a long prompt says ought to be is the task itself."""
    own = [_without_command(one) for one in prompt.own()]
    feedback = feedback and sum(len(one.text) for one in own) <= _LONG_FEEDBACK
    done = -1
    for at, sentence in enumerate(own):
        if at <= done:
            continue
        cue = _cue(sentence.text, prompt)
        if cue is None or (cue.importance < 0.7 and cue.kind == "preference" and not feedback):
            continue
        first, last = _with_neighbours(prompt.text, own, at)
        done = last
        whole = plain(prompt.text[own[first].start : own[last].end])
        if RAMBLING.search(_CODE.sub("", whole)) or not _stands_alone(own, first, last, prompt, cue):
            continue
        yield _draft(story, prompt, own[first].start, own[last].end, cue)


def _without_command(sentence: Sentence) -> Sentence:
    """The sentence without a command before it, and without a request at its end."""
    text, start, end = sentence
    slash = SLASH.match(text)
    if slash:
        text, start = text[slash.end() :], start + slash.end()
    on = RUN_ON.match(text)
    if on:
        text, start = text[on.end() :], start + on.end()
    asked = ASKED.search(text)
    if asked and asked.start() > 30:
        text, end = text[: asked.start()], start + asked.start()
    return Sentence(text, start, end)


def _cue(text: str, prompt: Prompt) -> Cue | None:
    said = plain(text).replace("’", "'")
    if not _SHORTEST <= len(said) <= _LONGEST or len(WORD.findall(said)) < 2:
        return None
    if said.count("`") % 2 or said.count('"') % 2 or said.endswith((":", "(", ",")):
        return None  # it goes on where the author does not
    marked = announced(said)
    if marked is not None:
        return marked
    asked = said.rstrip().endswith("?")
    standing = STANDING_QUESTION.search(said) or WISHING_QUESTION.search(said)
    if asked and not standing and (INVERTED.match(said) or not TAG_QUESTION.search(said)):
        return None
    if ONLY_CHOICE.match(said) or said[:9].casefold() == "should be" or MOMENT.search(said):
        return None
    for cue in STANDING:
        if _fits(cue, said, prompt):
            return cue
    if not standing and REQUEST.search(said):
        return None
    for cue in (*CUES, *THINGS, *NEEDS):
        if _fits(cue, said, prompt):
            return None if _of_the_day(cue, said) else cue
    if prompt.refused is None and NOT_TRUE.search(said) and not BROKEN.search(said) and len(WORD.findall(said)) >= 5:
        return Cue("fact", 0.7, NOT_TRUE)
    return None


def announced(said: str) -> Cue | None:
    """What a sentence says of itself that it is, if it says so and something comes with it."""
    for kind, marker in MARKERS:
        found = marker.match(said)
        if found:
            payload = said[found.end() :].strip(" .!")
            if (
                len(WORD.findall(payload)) < 2
                or payload.endswith("?")
                or _POINTS.match(payload)
                or MOMENT.search(payload)
            ):
                return None
            return Cue(kind or _kind_of(payload), 0.85, marker)
    found = AFTER.search(said)
    if found and found.start() > 12 and not _ERRAND.match(said) and not (said.endswith("?") or MOMENT.search(said)):
        return Cue(_kind_of(said[: found.start()]), 0.85, AFTER)
    return None


def _kind_of(payload: str) -> str:
    """Whether what was announced is a rule, a decision, a lesson, or how things are."""
    if WISHES.search(payload):
        return "preference"
    return next((cue.kind for cue in STANDING if cue.pattern.search(payload)), "fact")


def _fits(cue: Cue, said: str, prompt: Prompt) -> bool:
    found = cue.pattern.search(said)
    if found is None:
        return False
    pointing = POINTING.match(said[found.end() :].strip(" .!,"))
    return not (pointing and prompt.refused is None and len(said) < 40)


def _of_the_day(cue: Cue, said: str) -> bool:
    """Whether it tells of a thing that is broken, of one place in the work, or of the course of the work."""
    if cue.kind in ("fact", "reference"):
        said = _OR_ELSE.split(said)[0]  # what would be broken otherwise is not
        return STATUS.search(said) is not None or BROKEN.search(said) is not None or HERE.search(said) is not None
    if cue.importance >= 0.8 or cue.kind == "lesson":
        return False
    if cue.kind == "decision" and _VAGUE.search(said) and not _NAMING.search(said):
        return True
    process = cue.kind == "decision" and PROCESS.search(said)
    return bool(process) or BROKEN.search(said) is not None or HERE.search(said) is not None


def _with_neighbours(text: str, own: list[Sentence], at: int) -> tuple[int, int]:
    """The sentence with those that only go on with it, as people who type without stops do."""
    first = last = at
    while last + 1 < len(own) and own[last + 1].end - own[first].start <= _JOINED:
        gap = text[own[last].end : own[last + 1].start]
        on = own[last + 1].text
        dotted = own[last].text.endswith("..")
        if "\n\n" in gap or (not dotted and not ON.match(on)) or (on.endswith("?") and not dotted):
            break
        last += 1
    while first > 0 and own[last].end - own[first - 1].start <= _JOINED:
        before, now = own[first - 1].text, FILLER.sub("", own[first].text)
        goes_on = before.endswith("..") or ON.match(own[first].text) or PRONOUN.match(now)
        if (
            not goes_on
            or (REQUEST.search(before) and not (PERSON.match(now) and _OF_A_PERSON.search(before)))
            or before.endswith("?")
            or "\n\n" in text[own[first - 1].end : own[first].start]
        ):
            break
        first -= 1
    return first, last


def _stands_alone(own: list[Sentence], first: int, last: int, prompt: Prompt, cue: Cue) -> bool:
    """Whether somebody who was not there would know what it is about."""
    said = _unmarked(FILLER.sub("", plain(own[first].text)))
    if not PRONOUN.match(_THINKING.sub("", said)) or _TURNED_OUT.match(said):
        return True
    words = sum(len(WORD.findall(one.text)) for one in own[first : last + 1])
    told = last > first or (cue.kind == "lesson" and cue.importance > 0.7)
    return told and words >= 7 and cue.importance >= 0.7 and _NAMING.search(prompt.text, own[first].start) is not None


def _draft(story: Story, prompt: Prompt, start: int, end: int, cue: Cue) -> Draft:
    said = LAST.sub("", _unmarked(FILLER.sub("", plain(prompt.text[start:end]))))
    said = said[1:-1] if said.startswith("(") and said.endswith(")") else said
    said = POLITELY.sub("", said).rstrip(" ?") + "." if POLITELY.match(said) else said
    said = DONT.sub("don't", re.sub(r"\bi\b(?=[ '’])", "I", said))
    said, why = _with_reason(said)
    content = _of_the_user(said)
    return Draft(
        kind=cue.kind,
        content=content[:MAX_DRAFT_CHARS],
        evidence=(story.cite(prompt.event, start, end),),
        occurred_at=prompt.event.occurred_at,
        why=why,
        importance=cue.importance,
        confidence=0.9 if cue.importance >= 0.8 else 0.75,
        passing=_in_passing(cue, said, prompt),
    )


def _in_passing(cue: Cue, said: str, prompt: Prompt) -> bool:
    """Whether it may have been said of the task at hand, or as an opinion: worth finding, not worth showing unasked."""
    if cue in (*STANDING, *CUES) and (THIS.search(said) or (FOR_THIS.search(said) and not GENERAL.search(said))):
        return True
    if cue.importance >= 0.85:
        return False  # said outright
    if said.endswith("?") or ANSWERING.search(said) or cue.pattern is NOT_TRUE or cue in _OPINIONS:
        return True
    if cue not in NEEDS and not (cue.kind == "reference" and _LOOK.match(said)):
        return False
    return not (GENERAL.search(said) or (prompt.correction and _INSTEAD.search(said)))


def _unmarked(said: str) -> str:
    """Without the words that only announced it, where they do not deny anything."""
    for _, marker in MARKERS:
        found = marker.match(said)
        if found and _PLAIN_END.search(found[0]) and not DENIAL.search(found[0]):
            said = said[found.end() :]
            break
    found = AFTER.search(said)
    return f"{said[: found.start()]}." if found and found.start() > _SHORTEST and not DENIAL.search(found[0]) else said


def _of_the_user(said: str) -> str:
    """In the third person, where the author speaks of themselves."""
    if _WE.search(said):
        return sentence_case(said)  # "the user … we" would be two tellers in one sentence
    if re.search(r"\bI\b", said):
        return third_person(said)
    said = re.sub(r"\bmy\b", "their", re.sub(r"\bmy\b", "the user's", said, count=1, flags=re.I), flags=re.I)
    return sentence_case(said)


def _with_reason(said: str) -> tuple[str, str | None]:
    """What is wished, and why; a reason that limits or denies stays where it was said."""
    found = REASON.search(said)
    if found is None or found.start() < 15:
        return said, None
    wish, why = said[: found.start()].rstrip(" ,;("), said[found.end() :].strip(" .!)")
    if len(why) < 8 or DENIAL.search(why) or len(WORD.findall(wish)) < 3:
        return said, None
    return f"{wish}.", why
