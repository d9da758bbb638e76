"""What a person's words are to the agent's work: a correction, an approval, a mere answer, or a command to the host.

Told by plain patterns in English, German, French and Spanish. A correction is said after work was done, and near the
beginning of a prompt; a "no" that answers a question is none. What is not clearly one of these is just a prompt: a
correction that was never made does more harm than one that was missed.
"""

from __future__ import annotations

import re

from recollect.text import one_line

_LONGEST = 1_200  # characters: longer prompts are pasted reports, which speak of other things
_OPENING = 240

_HOST = frozenset(
    """add-dir agents allowed-tools approvals bashes bug clear compact config context copy cost diff doctor effort exit
    experimental export extra-usage fast feedback fork help history hooks ide init-verifiers install-github-app
    keybindings login logout mcp memory mention model new output-style permissions personality plugin plugins
    privacy-settings ps quit rate-limit-options release-notes reload remote-env rename resume rewind sandbox
    sessions settings share skills stats status statusline tasks terminal-setup theme todos undo update upgrade
    usage vim voice""".split()
)
_CLOSING = frozenset(("exit", "quit", "logout"))
_REWINDING = frozenset(("rewind", "undo"))
_SLASH = re.compile(r"/([a-z][\w.:-]*)(?:\s+(.*))?$", re.IGNORECASE | re.DOTALL)
_GREETING = re.compile(
    r"(?:hi|hello|hey|yo|hallo|moin|guten (?:tag|morgen)|bonjour|salut|hola|buenas|good (?:morning|evening)|test|ping)"
    r"(?: (?:there|claude|codex|again|all))?[\s.!,]*$",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"(?:yes|yep|yeah|yup|y|no|nope|n|ok|okay|oki|sure|continue|go on|go ahead|proceed|do it|next|retry|both|all|ja"
    r"|nein|weiter|oui|non|s[ií]|please|commit|push|\d{1,2}|[a-d]\)?|option \d)"
    r"(?:[\s,.!]+(?:please|continue|go ahead|bitte))?[\s.!]*$",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"(?:\[image[^\]]*\]\s*)+", re.IGNORECASE)

_NO = re.compile(
    r"(?:no|nope|nah|na|nein|nee|non)(?:[,.!:;]|\s+(?:wait|that|it|you|i|the|not|das|so|c'est|il|eso)\b)(?!\s*$)",
    re.IGNORECASE,
)
_FINE = re.compile(
    r"\b(?:fine|ok(?:ay)?|good|great|worries|problem|need|thanks|all good|passt|schon gut|c'est bon|está bien)\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    "|".join(
        (
            # That is not it.
            r"\b(?:that|this|it|which|what you \w+)(?:'?s| is| was|) (?:still |just |clearly )?"
            r"(?:wrong|incorrect|not (?:right|correct|true|it\b|what (?:i|we)\b|how (?:i|we)\b|the (?:right|correct)))",
            r"\b(?:that|this|it)(?: is|'?s|) ?n[o']t (?:right|correct|what (?:i|we))",
            r"\bnot what i (?:asked|meant|want|said)",
            r"\bis not correct\b|^wrong\b|^not (?:like that|that (?:one|way)|there|this (?:one|way))\b",
            r"\byou(?:'re| are| were|'ve| have)? (?:got (?:it|this|that) )?(?:wrong|mistaken|misunderst\w+|forg[eo]t\w*"
            r"|ignored|broke|supposed to)\b|\bgot (?:it|this|that) wrong\b",
            r"\byou (?:should(?: not|n't) have|were not supposed|deleted|removed|overwrote) ",
            # I said so.
            r"\bi (?:already |just |did not |didn't |never )?(?:said|told you|say|asked (?:you )?(?:for|to|not))\b"
            r"(?! (?:above|that i))",
            r"^(?:as|like) i (?:said|told)|\bi (?:meant|mean) (?!we |that )",
            r"^what (?:are|were) you doing|^why (?:did|are|would) you (?!think|say|ask|suggest|prefer|recommend)",
            # Do it otherwise.
            r"^(?:please |just |ok,? )?(?:do not|don'?t|never) "
            r"(?!worry|forget|know|think|we|you|mind|see|have|need|i\b)",
            r"^(?:ok,? )?let'?s not\b|^(?:no,? )?(?:stop|wait|hold on)(?:[,.!]|$| (?:please|that|doing|it)\b)",
            r"^(?:(?:can|could|would) you |please |just )*(?:undo|revert|roll ?back|back out) "
            r"(?:this|that|it|these|those|your|the (?:last|change|edit))",
            # It does not work.
            r"\bstill (?:not (?:work|right|correct|fixed|there|what)|isn'?t"
            r"|doesn'?t|does not|don'?t|fails\b|failing\b|broken|wrong"
            r"|the same (?:error|problem|issue))",
            r"\b(?:that|this|it) (?:did ?n[o']t|does ?n[o']?t|did not|does not) (?:work|help|fix)",
            # German
            r"^(?:falsch|stopp?|halt)\b|\bdas (?:ist|war) (?:falsch|nicht (?:richtig|korrekt|das|was|so))",
            r"^(?:so nicht|nicht so)\b|\bich (?:habe?|hatte) (?:doch )?(?:\w+ ){0,3}(?:gesagt|gemeint)\b",
            r"\b(?:mach|nimm|dreh)\w* (?:\w+ )?(?:rückgängig|zurück)",
            r"\b(?:funktioniert|geht|klappt) (?:immer )?(?:noch )?nicht\b",
            r"\bdu hast (?:\w+ ){0,4}(?:vergessen|falsch|übersehen|missverstanden)",
            r"^(?:bitte )?(?:nicht|lass das)\b|\bstattdessen\b",
            # French
            r"\bc'(?:est|était) (?:faux|pas (?:ça|bon|correct|juste|ce que))",
            r"\bce n'est pas (?:ça|bon|correct|juste|ce que)",
            r"\bj'ai dit\b|^(?:annule|arrête)\b|^ne (?:fais|fait|touche|change|supprime)\w* pas\b",
            r"\bà la place\b|\b(?:ça )?ne marche (?:toujours )?pas\b",
            # Spanish
            r"\b(?:eso|esto) (?:no es (?:lo que|correcto|as[ií])|est[áa] mal)",
            r"\b(?:te|ya) (?:lo )?dije\b|^(?:deshaz|revierte|para[,.!])",
            r"^no (?:hagas|toques|cambies|borres|quiero|es (?:eso|lo que|as[ií]))\b",
            r"\ben (?:su lugar|vez de eso)\b|\b(?:sigue sin|no) funciona\b",
        )
    ),
    re.IGNORECASE,
)
# What an answer to a question may say too.
_OTHERWISE = re.compile(
    r"^[^.?!]{0,60}\b(?:use|do|make|try|put|go with|keep|call|want|prefer|should be|write|move) "
    r"[^.?!]{1,80} instead[.!]*$",
    re.IGNORECASE,
)
_PASTED = re.compile(r"[/!❯$>{\[<`#*•|=]|\d+[.)] |- ")
_QUESTION = re.compile(
    r"^(?:is|are|was|does|do|did|why|what|how|when|where|which|should|could|can|would|will)\b", re.IGNORECASE
)

_STRONG = frozenset(
    """thanks thank thx ty perfect great awesome excellent amazing lgtm brilliant fantastic wonderful nice love works
    danke super perfekt klasse merci parfait gracias perfecto genial""".split()
)
_WITH_PRAISE = _STRONG | frozenset(
    """a all and as charm done expected fine for good i is it it's its job like look looks lot much now ok okay so that
    that's the this very well work working yes you your cool vielen dank sehr gut beaucoup bien muchas todo""".split()
)
_PLAIN_PRAISE = re.compile(
    r"(?:(?:ok|okay|yes|cool),? )?(?:(?:this|that|it|all) )?looks? (?:good|great|right)"
    r"|(?:all )?good(?: job| work)|well done"
)
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def host_command(text: str) -> str | None:
    """The name of a command to the agent's host, such as `exit`: nothing the agent was asked."""
    if text.strip().casefold() in _CLOSING:
        return text.strip().casefold()
    found = _SLASH.match(text.strip()) if text.lstrip()[:1] == "/" else None
    return found[1].casefold() if found and found[1].casefold() in _HOST else None


def closes(command: str) -> bool:
    return command in _CLOSING


def rewinds(command: str) -> bool:
    return command in _REWINDING


def tells(text: str) -> bool:
    """Whether a prompt says what somebody wants: no greeting, no bare command, no mere answer."""
    text = _IMAGE.sub("", text[:_LONGEST]).strip()
    if len(text) < 4 or text[:1] == "!" or _GREETING.match(text) or _ANSWER.match(text):
        return False
    slash = _SLASH.match(text)
    return slash is None or bool(slash[2])


def is_correction(text: str, answering: bool = False) -> bool:
    """Whether a prompt says that what was done is wrong; `answering` when the agent had asked a question."""
    if len(text) > _LONGEST:
        return False
    opening = one_line(_IMAGE.sub("", text)[:_OPENING]).replace("’", "'")
    first = re.split(r"(?<=[.!?])\s", opening, maxsplit=1)[0]
    if _PASTED.match(opening) or _FINE.search(first):
        return False
    found = _WRONG.search(opening)
    if found and not (found.start() > 0 and opening.rstrip().endswith("?") and _QUESTION.match(opening)):
        return True
    return not answering and (_NO.match(opening) or _OTHERWISE.match(opening)) is not None


def is_approval(text: str) -> bool:
    """Whether a prompt is thanks or praise and nothing else."""
    if len(text) > 120 or "?" in text:
        return False
    words = [word.casefold().replace("’", "'") for word in _TOKEN.findall(text)]
    if words and not _STRONG.isdisjoint(words) and _WITH_PRAISE.issuperset(words):
        return True
    return _PLAIN_PRAISE.fullmatch(text.strip(" .!\n").casefold()) is not None


def asks(text: str) -> bool:
    """Whether what the agent said last is a question to the person."""
    return "?" in text[-200:]
