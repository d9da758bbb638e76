"""Decisions people made by answering: the option they chose, the proposal they agreed to, the call they refused.

What was decided stands in the agent's words and that it was decided in the person's, so a decision cites both. It is
computed from the conversation, not told by anyone. Questions of procedure ("shall I go on?") decide nothing that lasts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from recollect.distill.draft import MAX_DRAFT_CHARS, Draft
from recollect.distill.rules.cues import GENERAL
from recollect.distill.rules.lessons import NAMES
from recollect.distill.rules.story import Prompt, Run, Story
from recollect.distill.rules.subjects import subject_of
from recollect.distill.sentences import Sentence, plain, sentences, whole_words
from recollect.distill.vetting.stated import telling
from recollect.model import Event, Evidence

_TAIL = 6_000  # characters at the end of an answer in which its questions stand
_QUESTION_CHARS, _ASKED_CHARS, _WORDS_CHARS, _WHY_CHARS = 160, 240, 200, 460
_LABEL_CHARS, _OTHER_CHARS = 180, 60
_MAX_OPTIONS = 12
_TOLD_CHARS = 40  # of a description that tells by itself what was chosen
_TOLD_WORDS = 3  # without which a proposal says nothing
_RIGHT_BEFORE = 4  # sentences: what was proposed earlier was not answered
_TELLING = 2  # words without which a question tells nothing

_OPTION = re.compile(
    r"^[ \t]*(?:[-*•][ \t]+)?(?:#{1,4}[ \t]+)?[*_(]{0,3}(?:Option[ \t]+|Approach[ \t]+)?\(?([A-Ha-h]"
    r"|\d{1,2})[*_]{0,2}[).:](?=[*_\s])[*_]{0,2}[ \t]*(\S[^\n]{2,600})",
    re.MULTILINE,
)
_NAMED_OPTION = re.compile(
    r"^[ \t]*[-*•]?[ \t]*[*_]{0,3}(?:Option|Approach)[ \t]+([A-Ha-h]|\d{1,2})\b"
    r"[*_]{0,2}[ \t]*[-:—–)][ \t]*(\S[^\n]{2,600})",
    re.MULTILINE | re.IGNORECASE,
)
_INLINE = re.compile(
    r"(?<![\w`])[*_]{0,2}\(([a-h])\)[*_]{0,2}[ \t:]+([^\n]{8,300}?)(?=[;.]?[ \t]+[*_]{0,2}\([a-h]\)|[.?\n]|$)"
)
_CHOICE = re.compile(
    r"(?:(?:i think|i guess|ok(?:ay)?|yes|yeah|yep|so|hm+|cool|great|maybe|then|let'?s"
    r"|we|i|please|just|go|do|with|for|take|use|try"
    r"|choose|pick|prefer|like|want|vote|say|option|approach|number|number|my pick is|nimm"
    r"|ich nehme|prenons|je prends|opción|variante)\b[\s,:]*){0,6}"
    r"[(#]?([A-Ha-h]|\d{1,2})[)]?(?=[\s).,:;!?-]|$)(?!\s*(?:%|minutes?|seconds?|hours?"
    r"|days?|times|x\b|files?|lines?|commits?|tests?|percent|more|of|question|problem|issue"
    r"|bug|thing|few|couple|lot|bit|new|quick|good|small|big|way|test|look|simple|different))",
    re.IGNORECASE,
)
_RIDER = re.compile(
    r"^\W*(?:option |approach )?[(#]?(?:[A-Ha-h]|\d{1,2})[).]?,? ((?:but|except|without|with)\b [^?]{8,160})$",
    re.IGNORECASE,
)
_MARK_BEFORE = re.compile(r"(?:^|\n)[ \t]*([A-Ha-h1-9][.)])[ \t]*$")
_REPLIES = re.compile(
    r"(?:[\w/'-]+ ){0,4}?(?:yes|yeah|no|nope|ok|okay|fine|good|great|skip|agreed?|sounds"
    r"|should|let'?s|i (?:like|prefer|want|think|would|don'?t)|it'?s|is|are|seems|makes sense"
    r"|leave|keep|do|use|drop|i(?:'ve| have))\b",
    re.IGNORECASE,
)
_ANSWERS = re.compile(r"(?:^|(?<=\s))\(?([A-Ha-h]|\d{1,2})[).](?=\s)", re.MULTILINE)
_POINT = re.compile(r"^\W*\(?(?:[A-Ha-h]|\d{1,2})[).:]\s*")
_OTHER_MARK = re.compile(
    r"(\b(?:not|over|than|instead of|without|against)\s+(?:option |approach )?)?(?<![\w./#-])[(#]?([B-Hb-h]|A|\d{1,2})"
    r"(?![\w/-]|\.\w)"
)
_BARE_A = re.compile(r"^\W*(?:[ai]\s+\w|A\s+(?!(?:for|is|sounds|seems|please|then|but|and|with|works|looks)\b)\w)")
_AGREED = re.compile(
    r"(?:(?:ok(?:ay)?|cool|great|perfect|nice|right|exactly|absolutely|definitely|sure"
    r"|yes|yep|yeah|yup|ja|genau|oui|d'accord|s[ií]|vale|claro|agreed|sounds? (?:good|great"
    r"|right)"
    r"|(?:that|this|it)(?:'s| is| looks| sounds| seems)? (?:good|great|right|fine|perfect"
    r"|correct)|looks? (?:good|great|right)|do (?:it|that|this)|go (?:ahead|for it)|let'?s (?:do (?:it"
    r"|that|this)|go)|please do|makes sense|good idea|i agree|why not)\b[\s,.!:-]*){1,5}",
    re.IGNORECASE,
)
_BUT = re.compile(r"\b(?:but|except|instead|actually|however|though|wait|not yet|no,|aber|mais|pero)\b", re.IGNORECASE)
# What is asked about the work, not about the thing.
_PROCEDURE = re.compile(
    r"\b(?:commit|push|pull request|\bpr\b|merge|rebase|proceed|continue|next|move on|go (?:ahead"
    r"|on)|start|begin|ready|feedback"
    r"|look (?:at|into)|show you|explain|walk you|draft|sketch|write (?:it|this|up|the (?:doc"
    r"|design|plan))|run (?:it|the|this)|try it|test it|re-?run|dig|investigate|explore"
    r"|brainstorm"
    r"|todo|task list|quick fix|(?:seconds|minutes|min|hours?)\)|loop|autonom\w+|which (?:claims"
    r"|items|comments|issues|findings|ones)|stop here|wait|review|refine|clarif\w+|anything else"
    r"|help|more detail|this session|now or later|open (?:an? )?(?:pr|issue)|follow-?up)\b",
    re.IGNORECASE,
)
_PROPOSAL = re.compile(
    r"\b(?:i(?:'d| would| am|'m) (?:suggest|recommend|lean(?:ing)?|propose|go with|prefer"
    r"|vote|pick|opt)|i (?:recommend|suggest|propose|lean)"
    r"|my (?:recommendation|suggestion|pick|vote|preference)|(?:suggestion|recommendation|proposal):"
    r"|one option is)(?!\w)",
    re.IGNORECASE,
)
# What may be one: agreed to, it is worth finding, and no more.
_IN_PASSING = re.compile(
    r"\b(?:the (?:best|cleanest|simplest|right|better) (?:approach|option|way|fix|place|choice)|should we|becomes"
    r"|recommended)\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:done|fixed|pushed|committed|merged|passes|passing|green|works now|created|updated|added)\b", re.IGNORECASE
)
_AGAINST = re.compile(
    r"\b(?:don'?t|do not|not|never|no|instead|without|avoid|nicht|kein\w*|pas|nunca)\b(?!.*\b(?:prefer|should)\b)",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"\b(?:wait|hold on|first|yet|talk|discuss|later|now|i did not (?:say|ask)|i didn'?t (?:say|ask)|stop)\b",
    re.IGNORECASE,
)
_DECLINED = re.compile(
    r"^\W*(?:\w[.)]|option \w)?\W*(?:no\b|nope|skip|not this)|\blet'?s skip\b|\bskip (?:it"
    r"|this|that)\b|\b(?:do not|don'?t) (?:want|like|do|need) (?:this|that|it)\b",
    re.IGNORECASE,
)
_WHAT_NEXT = re.compile(
    r"\b(?:proceed|next|today|brainstorm|sequence|in (?:this|that|which) order|work on)\b", re.IGNORECASE
)
# Asked of the one who is asked, or of how to do what is being done: the answer is of no use afterwards.
_OF_THE_TASK = re.compile(
    r"\b(?:(?:do|would|did) you (?:mean|think)|would you like|you(?:r| are|'re)? (?:thinking|goal|primary|priority"
    r"|intent)"
    r"|are you|your (?:\w+ )?(?:goal|thinking|priority|intent\w*)|should i\b|shall i|how much|most valuable|want me"
    r"|which is correct|does (?:that|this) (?:match|sound|look)|what (?:typically|kind of)|how do you|this (?:tool\w*"
    r"|skill)"
    r"|the skill know)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(?:option|approach) \w\s*(?:[-–—:]\s*)", re.IGNORECASE)
_MID_SENTENCE = re.compile(r"(?:is|are|was|would|and|or|but|with|to|for|of|which)\b")  # the option is in a sentence
_DESCRIBED = re.compile(r"\s+[-–—]\s+|:\s+|(?<=\w)\.\s+|\s+\((?!s\))|,\s+(?:so|which|as|for|because)\b\s*")
_CONDITIONAL = re.compile(r"^(?:if|unless|when|once)\b|\bone option\b|\bif you\b", re.IGNORECASE)
_ONE_OPTION = re.compile(
    r"^if you (?:want|like|prefer)[^,]{0,80}, (?:one option is|i(?:'d| would) (?:suggest|recommend)) to ", re.IGNORECASE
)
_PROPOSING = re.compile(
    r"^(?:(?:so|then|and|ok(?:ay)?),? )+|^(?:(?:so|then|and|ok(?:ay)?),? )?(?:i(?:'d| would)? (?:suggest|recommend"
    r"|propose|go with|prefer|pick)|my (?:recommendation"
    r"|suggestion|pick|preference)(?: is| would be)?:?|i'm leaning towards?|i(?:'d)? lean towards?)\s+(?:to |that |we"
    r" )*",
    re.IGNORECASE,
)
_ONLY_ON = re.compile(r"\b(?:continue|go (?:ahead|on)|proceed|carry on|keep going|weiter)\b", re.IGNORECASE)
# A remark, or what points to something else: no proposal, whatever words are in it.
_COMMENTING = re.compile(
    r"\W*(?:my (?:take|view|read)|that(?:'s|’s| is| was)?|this|it(?:'s|’s)?|they|these|those|yes|no|here|there"
    r"|exactly|so|which|both|either|same|as (?:is|above|before))\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_YES_OR_NO = re.compile(r"(?:yes|no|ja|nein|oui|non|sí)\b", re.IGNORECASE)
_PAIR = re.compile(r'"([^"\n]{4,300})"\s*=\s*"([^"\n]{1,300})"')
_LABEL_END = re.compile(r"\s*\((?:recommended|current config|default|suggested)\)\s*$", re.IGNORECASE)
_VERB_ALONE = re.compile(r"^(?:yes|no|ok|cancel|skip|continue|proceed|none|other|stop)\b.{0,5}$", re.IGNORECASE)


class Option(NamedTuple):
    """One line of a menu, and where it stands."""

    mark: str
    text: str
    start: int
    end: int


def decisions(story: Story) -> Iterator[Draft]:
    """What was decided by answering, in order."""
    for prompt in story.prompts:
        if prompt.refused is not None:
            yield from _refusal(story, prompt, prompt.refused)
        elif prompt.before is not None:
            yield from _answer(story, prompt)
    for run in story.runs:
        if run.action == "ask" and run.result is not None:
            yield from _asked(story, run)


def _answer(story: Story, prompt: Prompt) -> Iterator[Draft]:
    own = prompt.own()
    if not own or prompt.before is None or len(prompt.text) > 1_500:
        return
    menu = options(prompt.before.text)
    marked = list(_marked(prompt, own))
    chosen = [(one, option) for one in marked if menu and (option := _chosen(one.text, menu)) is not None]
    if len({mark[1] for mark in _ANSWERS.finditer(prompt.text)}) > 1:  # each point is answered: none is chosen of them
        chosen = [(one, option) for one, option in chosen if _settles(one.text)]
    if chosen:
        several = len(chosen) > 1
        for sentence, option in chosen[:4]:
            yield from _choice(story, prompt, sentence, option, menu, several=several)
    elif len(prompt.text) < 200:
        yield from _agreement(story, prompt, own[0])


def _marked(prompt: Prompt, own: list[Sentence]) -> Iterator[Sentence]:
    """Sentences with the mark they answer by: "2. let's skip that" is an answer to the second."""
    for one in own:
        mark = _MARK_BEFORE.search(prompt.text, max(0, one.start - 8), one.start)
        if mark is None:
            yield one
        elif _REPLIES.match(one.text) or len(one.text) < 30:  # else it is a list of the author's own
            yield Sentence(prompt.text[mark.start(1) : one.end], mark.start(1), one.end)


def options(text: str) -> list[Option]:
    """The menu at the end of a text: lines marked A), 1., (b), Option 2; of two menus the later."""
    base = max(0, len(text) - _TAIL)
    tail = text[base:]
    found = [Option(m[1].casefold(), m[2], base + m.start(2), base + m.end(2)) for m in _OPTION.finditer(tail)]
    found += [Option(m[1].casefold(), m[2], base + m.start(2), base + m.end(2)) for m in _NAMED_OPTION.finditer(tail)]
    if not found:
        found = [Option(m[1].casefold(), m[2], base + m.start(2), base + m.end(2)) for m in _INLINE.finditer(tail)]
    return sorted(found, key=lambda one: one.start)[-_MAX_OPTIONS:]


def _chosen(said: str, menu: list[Option]) -> Option | None:
    """The option a sentence chooses."""
    found = _CHOICE.match(said)
    if found is None or _BARE_A.match(said) or said.rstrip().endswith("?"):
        return None
    mark = found[1].casefold()
    if _names_others(said, mark, {option.mark for option in menu}):
        return None
    named = [option for option in reversed(menu) if option.mark == mark]
    return next((option for option in named if not _MID_SENTENCE.match(plain(option.text))), None)


def _names_others(said: str, mark: str, marks: set[str]) -> bool:
    """Whether a sentence names more options than the one, other than to say that they are not meant."""
    named = _OTHER_MARK.finditer(said)
    return any((one[2] or "").casefold() in marks - {mark} and not one[1] for one in named)


def _settles(said: str) -> bool:
    """Whether an answer to one point of several says yes or no to it."""
    said = _POINT.sub("", plain(said))
    return _AGREED.match(said) is not None or _DECLINED.search(said) is not None


def _choice(
    story: Story, prompt: Prompt, sentence: Sentence, option: Option, menu: list[Option], *, several: bool
) -> Iterator[Draft]:
    before = prompt.before
    assert before is not None
    text = plain(option.text)
    rider = _RIDER.match(plain(sentence.text))
    if rider is not None:  # the option was offered, and taken with a change
        text = text.rstrip(" ?")
    question = _question(before.text, menu[0].start) or _question(before.text, len(before.text))
    if _procedural(text) or len(text) < 12 or text.endswith(("?", ":")) or _MID_SENTENCE.match(text):
        return
    if _WHAT_NEXT.search(question) or _OF_THE_TASK.search(question):
        return
    if question and (_procedural(question) or len(set(telling(question))) < _TELLING):
        question = ""
    rest = plain(sentence.text)
    against = _DECLINED.search(rest) is not None
    others = [] if against or several or rider else [plain(one.text) for one in _beside(menu, option)]
    subject = "" if several else subject_of(question)
    told = _told(text, others, subject, against=against)
    yield _decision(
        story,
        f"{told[:-1]}, {rider[1].rstrip(' .!')}." if rider else told,
        prompt,
        (story.cite(before, option.start, option.end), story.cite(prompt.event, sentence.start, sentence.end)),
        0.65,
        _why(_rest(text), question, rest if len(rest) > 12 else ""),
        named=bool(subject) and _is_whole(text) and rider is None,
    )


def _beside(menu: list[Option], option: Option) -> list[Option]:
    """The other options of the same list: those whose marks go on from one to the next."""
    at, found = menu.index(option), list[Option]()
    for step in (-1, 1):
        place, mark = at + step, option.mark
        while 0 <= place < len(menu) and _order(menu[place].mark) == _order(mark) + step:
            found.append(menu[place])
            mark = menu[place].mark
            place += step
    return sorted(found, key=lambda one: one.start)


def _order(mark: str) -> int:
    return int(mark) if mark.isdecimal() else 1_000 + ord(mark)


def _told(text: str, others: list[str], subject: str = "", *, against: bool = False) -> str:
    """What was decided, as one sentence that begins with what it is about, where that is known."""
    label = _label(text, _LABEL_CHARS).rstrip(" .,;")
    passed = (_parts(other)[0].rstrip(" .,;") for other in others if not other.endswith("?"))
    other = next((one for one in passed if _is_brief(one) and one != label), "")
    about = f"{subject}: {'not ' if against else ''}" if subject else f"Decided{' against' if against else ''}: "
    return f"{about}{label}{f', not {other}' if other else ''}."


def _is_brief(label: str) -> bool:
    """Whether the name of an option can be told beside another: it is whole, and no list."""
    return 0 < len(label) <= _OTHER_CHARS and "," not in label and label.count('"') % 2 == 0


def _is_whole(text: str) -> bool:
    return len(_parts(text)[0]) <= _LABEL_CHARS


def _label(text: str, limit: int) -> str:
    """The name of an option: what stands before its description."""
    return whole_words(_parts(text)[0], limit)


def _rest(text: str) -> str:
    """Its description."""
    return whole_words(_parts(text)[1], _WORDS_CHARS)


def _parts(text: str) -> tuple[str, str]:
    text = _NUMBERED.sub("", text)
    found = _DESCRIBED.search(text)
    if found is None or found.start() < 6:
        return text, ""
    rest = text[found.end() :]
    if text.count('"', 0, found.start()) % 2:
        return text, ""
    if "(" not in found[0]:
        return text[: found.start()], rest
    return (text[: found.start()], rest[:-1]) if rest.endswith(")") and rest.count(")") == 1 else (text, "")


def _why(described: str, question: str, words: str) -> str | None:
    said = f'the user said: "{whole_words(words, _WORDS_CHARS)}"' if words and "?" not in words else ""
    parts = (described.rstrip(" .;"), f"asked: {question}" if question else "", said)
    return "; ".join(part for part in parts if part)[:_WHY_CHARS] or None


def _agreement(story: Story, prompt: Prompt, first: Sentence) -> Iterator[Draft]:
    """A proposal that was agreed to without reserve."""
    before = prompt.before
    agreed = _AGREED.match(prompt.text.lstrip()[:200])
    if before is None or agreed is None or _BUT.search(prompt.text[:200]):
        return
    tail = list(sentences(before.text, max(0, len(before.text) - 1_200)))
    only_on = _ONLY_ON.search(prompt.text) is not None  # that answers what stands last, not what was told before
    asked = bool(tail) and tail[-1].text.endswith("?")
    for one in reversed(tail[-(1 + asked if only_on else _RIGHT_BEFORE) :]):
        said = plain(one.text)
        if not 30 <= len(said) <= 320 or _procedural(said) or _DONE.search(said):
            continue
        explicit = _PROPOSAL.search(said) is not None
        if not explicit and (only_on or not _IN_PASSING.search(said)):
            continue
        said = _ONE_OPTION.sub("", said)
        if _CONDITIONAL.search(said) or said.endswith(("?", ":")):
            continue
        said = _PROPOSING.sub("", said)
        if _COMMENTING.match(said) or len(set(telling(said))) < _TOLD_WORDS or not telling(_CODE.sub("", said)):
            continue
        yield _decision(
            story,
            f"Decided: {said}",
            prompt,
            (story.cite(before, one.start, one.end), story.cite(prompt.event, first.start, first.end)),
            0.6,
            named=explicit,
        )
        return


def _refusal(story: Story, prompt: Prompt, call: Event) -> Iterator[Draft]:
    said = whole_words(plain(prompt.text), _WORDS_CHARS)
    what = whole_words(plain(call.text), 120)
    if (
        "?" in said
        or len(said) < 8
        or len(prompt.text) > 300
        or not what
        or not _AGAINST.search(said)
        or _WAIT.search(said)
    ):
        return
    action = "run" if call.meta.get("action") == "shell" else str(call.meta.get("tool") or "use a tool")[:40]
    yield _decision(
        story,
        f'The user refused to let the agent {action} `{what}`: "{said}"'
        if action == "run"
        else f'The user refused {action} of `{what}`: "{said}"',
        prompt,
        (story.cite(prompt.event, 0, len(prompt.text)), story.cite(call, 0, min(len(call.text), 160))),
        0.72,
        named=GENERAL.search(said) is not None,  # else it was this one call that was not wanted
    )


def _asked(story: Story, run: Run) -> Iterator[Draft]:
    """Answers given in a dialog of the host."""
    result = run.result
    assert result is not None
    for pair in _PAIR.finditer(result.text[:4_000]):
        question, answer = plain(pair[1]), _LABEL_END.sub("", plain(pair[2]))
        if _procedural(answer) or _VERB_ALONE.match(answer) or answer.endswith("?") or len(question) > _ASKED_CHARS:
            continue
        described, others, header = _described(run.call.text, pair[2])
        of_the_task = _procedural(question) or _OF_THE_TASK.search(question) is not None
        if of_the_task and (len(described) < _TOLD_CHARS or not NAMES.search(described)):
            continue  # else the dialog says what was chosen, whatever it asked
        subject = subject_of(question) or header
        if header not in ("", subject) and len(telling(subject)) < _TELLING:
            subject = f"{subject} ({header})"
        named = bool(subject) and _is_whole(answer) and not of_the_task
        if _YES_OR_NO.match(answer):  # tells nothing without what it was said to
            if len(described) < 20:
                continue
            answer, described, others = described, "", list[str]()
        yield Draft(
            kind="decision",
            content=whole_words(_told(answer, others, subject), MAX_DRAFT_CHARS),
            evidence=(story.cite(result, pair.start(), pair.end()),),
            occurred_at=result.occurred_at,
            why=_why(described, question, ""),
            importance=0.65,
            confidence=0.9,
            checked=named,
            passing=not named,
        )


def _described(call: str, label: str) -> tuple[str, list[str], str]:
    """What the dialog said about the option that was chosen, the options that were not, and its heading."""
    try:
        given: Any = orjson.loads(call)
    except ValueError:
        return "", [], ""
    for question in given.get("questions", ()) if isinstance(given, dict) else ():
        options = question.get("options", ()) if isinstance(question, dict) else ()
        named = [one for one in options if isinstance(one, dict) and isinstance(one.get("label"), str)]
        chosen = next((one for one in named if one["label"] == label), None)
        if chosen is not None:
            told = chosen.get("description")
            others = [_LABEL_END.sub("", plain(one["label"])) for one in named if one is not chosen]
            headed = question.get("header")
            header = plain(headed) if isinstance(headed, str) and len(headed) <= _OTHER_CHARS else ""
            header = header if len(telling(header)) >= _TELLING else ""  # one word is no subject
            return whole_words(plain(told), _WORDS_CHARS) if isinstance(told, str) else "", others, header
    return "", [], ""


def _question(text: str, end: int) -> str:
    """The last question before a place, where it is short enough to be told with its answer."""
    last = ""
    for one in sentences(text, max(0, end - _TAIL), end):
        said = plain(one.text)
        if said.endswith("?") and 12 <= len(said) <= _QUESTION_CHARS:
            last = said
    return last


def _procedural(text: str) -> bool:
    return _PROCEDURE.search(text) is not None


def _decision(
    story: Story,
    content: str,
    prompt: Prompt,
    evidence: tuple[Evidence, ...],
    importance: float,
    why: str | None = None,
    *,
    named: bool = True,
) -> Draft:
    """`named`: it says what it is about, so that somebody who was not there understands it."""
    return Draft(
        kind="decision",
        content=whole_words(content, MAX_DRAFT_CHARS),
        evidence=evidence,
        occurred_at=prompt.event.occurred_at,
        why=why,
        importance=importance,
        confidence=0.8,
        checked=named,
        passing=not named,
    )
