"""Whether somebody stated a thing in their own words: not asked it, denied it, told it of others, or played with it.

Sentences of a user and a draft's content come in; whether every sentence of the draft is stated by them goes out. A
draft says no more than was said: every telling word of it was used, and it denies and limits as much as they did. A
model must take each sentence from one of theirs, and a wish from a wish; rules may join the sentences they cite.
English first, and the plainest words of German, French and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from recollect.stopwords import STOP_WORDS
from recollect.text import one_line

_END = re.compile(r"(?<=[.!?…。！？;])[\"'”’)\]]*\s+|\n\s*\n|\n(?=[ \t]*(?:[-*+•–]|\d{1,2}[.)])[ \t])|\n(?=[A-ZÀ-Þ])")
# A word; where words are not set apart, each sign is one.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+(?:['’][^\W_]+)*")
# What cannot be a matter of wording: code, addresses, paths, identifiers, numbers, flags, signs of a shell.
_EXACT = re.compile(
    r"`[^`\n]+`|\b[a-z][a-z+.-]{1,9}://\S+|(?<![\w/])[~.]?/?[\w.@-]+(?:/[\w.@-]+)+|\b\w+(?:[._-]\w+)+\b"
    r"|\b[a-z]+[A-Z]\w*\b|\b\d+\b|(?<!\S)-{1,2}[A-Za-z][\w-]*|[|;&$<>*]\S*"
)
# Words a draft may use of its own: who speaks, and that it is a wish.
_WISHING = frozenset(
    """prefer prefers preferred preference want wants wanted like likes decided chose agreed wishes expects asked
    asks""".split()
)
_FRAMING = _WISHING | frozenset("user users user's said says told tells their them they one".split())
_DENYING = frozenset(
    """not never no none nobody nothing neither nor without avoid avoids stop stops stopped dont don't doesn't doesnt
    didn't didnt won't wont can't cant cannot isn't isnt aren't wasn't shouldn't shouldnt mustn't mustnt wouldn't
    couldn't hasn't haven't refuse refuses forbid forbids forbidden dislike dislikes hate hates against
    nicht nie niemals kein keine keinen keiner ohne vermeide pas jamais sans aucun aucune nunca jamás sin ningún evita
    tampoco 不 别 没 勿 禁""".split()
)
_LIMITING = frozenset(
    "if unless except only until till when whenever wenn falls außer nur sauf seulement quand cuando excepto".split()
)
_SWEEPING = frozenset("always every all ever everywhere must immer jedes alle toujours chaque siempre cada".split())
_TURNING = _DENYING | _LIMITING | frozenset("instead rather than over but before after statt lieber plutôt".split())
_SMALL = STOP_WORDS - _DENYING - _LIMITING - _SWEEPING
_ANSWERED_NO = re.compile(
    r"^\W*(?:oh,? |ah,? |hm+,? )?(?:no|nope|nah|nein|non)\b"
    r"(?=[,.!;:—–-]| (?:wait|sorry|please|it|it's|its|they|theyre|that|thats|this|you|we|i)\b)",
    re.IGNORECASE,
)
_INSTEAD_OF = re.compile(r"\b(?:instead of|rather than|anstatt|statt|au lieu de|en vez de)\b", re.IGNORECASE)

_SO = r"^\W*(?:(?:and|but|so|also|then|now|just|ok|okay|yes|yeah|no|nope|please|hey|hm+|well|oh|btw)\b[\s,.:!-]+){0,4}"
_WISH = re.compile(
    r"\b(?:i|we)(?:'d|’d| would)? (?:\w+ )?(?:want|wants|prefer|like|love|hate|dislike|need|expect|insist|use|run"
    r"|write|keep"
    r"|work|deploy|call|name|store|go with|stick|decided|agreed|chose|speak|live|have)\b"
    r"|\b(?:always|never|must|should|shall|have to|has to|needs? to|do not|don'?t|don’t|from now on|going forward"
    r"|in future"
    r"|in the future|please|rather|instead|make sure|no more|only|rule|convention|policy|let'?s|my favou?rite"
    r"|by default"
    r"|bitte|immer|nie|niemals|will|möchte|muss|müssen|soll|sollen|lieber|toujours|jamais|veux|voudrais|préfère|faut"
    r"|siempre|nunca|quiero|prefiero|por favor|hay que)\b|请|不要|必须|总是|永远|ください|しないで|必ず",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    _SO
    + r"(?:use|run|write|keep|make|put|add|commit|push|name|call|format|test|check|ask|show|tell|give|open|start|stop"
    r"|avoid|remove|delete|do|go|try|set|leave|skip|prefer|stick|follow|answer|reply|speak|explain|be|wait|read|create"
    r"|build|install|deploy|document|log|print|return|move|rename|replace|split|store|treat|assume|remember|mark"
    r"|sort|wrap"
    r"|indent|update|fix|merge|rebase|squash|tag|sign|review|restart|switch|work|stay|take|pick|choose|pin|quote)\b",
    re.IGNORECASE,
)

_REQUEST = re.compile(
    _SO + r"(?:can|could|would|will|kannst|könntest|pouvez|peux|puedes) (?:you|du|vous|tu|we please)?\b(?!.*\b(?:tell"
    r"|explain"
    r"|check|see|know|say|confirm|verify|find out|look|why|whether|if|what|how|should|think)\b)"
    r"|(?:,| ) ?(?:ok|okay|please|thanks|bitte)\W*\?\W*$|^\W*can we (?:please )?(?:stick to|keep|always|not|avoid"
    r"|stop)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"[?？؟]\W*$|" + _SO + r"(?:(?:should|shall|could|can|may|might|would) (?:we|i|one|it|they|that|this|there|the)\b"
    r"|(?:do|does|did) (?:we|i|they|people|you|it|the|this|that)\b|(?:is|are|was|were) (?:it|we|there|this|that|the"
    r"|they)\b"
    r"|(?:why|who|whose|what if|how about|how come)\b)"
    r"|\b(?:wonder(?:ing)?|not sure|unsure|no idea|do you think|what do you|question is|soll(?:en|te|ten)? (?:wir|ich)"
    r"|ob wir|faut-il|est-ce|deber[ií]amos)\b",
    re.IGNORECASE,
)
_NO_NAME = "|".join(
    """i we you please and also to that who it would will could can should do don't dont did not never always just i'd
    we'd""".split()
)
_OTHERS = rf"(?!(?:{_NO_NAME})\b)[\w.'’-]+"
_REPORTED = re.compile(
    r"\b(?:according to|apparently|supposedly|allegedly|reportedly|as per|as you (?:said|say|wrote|noted|mentioned"
    r"|told)"
    r"|you (?:just |already |also |once )?(?:said|told|wrote|claimed|mentioned|suggested|noted|recommended|remembered)"
    r"|(?<!before )(?<!until )(?<!unless )you (?:just |already |also |once )?(?:say|claim|mention|suggest|recommend"
    r"|remember)|your (?:notes?|memory|summary|message|answer) (?:says?|said|tells?|claims?)"
    r"|(?:it|this|which) (?:says|said|reads|states|tells|told|claims)"
    rf"|{_OTHERS} (?:\w+ly )?(?:says|said|thinks?|told|claims?|claimed|suggests?|suggested|insists?|insisted"
    rf"|recommends?"
    r"|recommended|wrote|wants|prefers|likes|asks|asked|demands|believes|swears)"
    r"|(?:the|a) user (?:\w+ )?(?:always|never|prefers?|wants?|likes?|asked|said|decided|agreed|confirmed)"
    r"|(?:never|\w+n['’]t|not|nobody|no one) (?:ever |really )?(?:said|say|ask(?! for\b)|asked|told|agree|agreed"
    r"|approved?|claimed|meant)"
    r"|saying|stating|titled|that (?:says|reads|states)|along the lines|something like|such as"
    r"|(?:add|write|put|insert|append|include|print|echo|display)\b.{0,60}\b(?:saying|says|that you|that we"
    r"|that users?)"
    r"|laut|angeblich|sagt|sagte|meint|selon|prétend|según|dice|dijo)(?!\w)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    _SO
    + r"(?:i (?:think|guess) )?(?:maybe|perhaps|possibly|suppose|supposing|imagine|hypothetically|in theory|let'?s say"
    r"|(?:it|that|this) (?:would|could|might)|we (?:could|might)|vielleicht|angenommen|peut-être|tal vez|quizás?)\b"
    r"|\b(?:considering|thinking (?:about|of)|used to|if (?:we|i|you|they|it|one|everybody|everyone) (?:ever "
    r"|all )?(?:used|had"
    r"|were|did|went|switched|would|could)|would have|wenn wir .{0,60}(?:würden|hätten)|si (?:on|nous) \w+(?:ait|ions)"
    r"|si (?:usáramos|tuviéramos))\b",
    re.IGNORECASE,
)
_MOCKING = re.compile(
    r"(?:^|\s)/s(?=\W*$)|\b(?:yeah,? (?:right|sure)|oh,? (?:sure|great|brilliant)|sure,? (?:because|why)|as if|lol|lmao"
    r"|haha+|jk|kidding|sarcas\w+|irony|ironic\w*|great idea|what could (?:possibly )?go wrong)\b"
    r"|[🙄😏😂🤣😉🙃]|\bnot!\W*$",
    re.IGNORECASE,
)
_WAYS_OUT = (_REPORTED, _SUPPOSED, _MOCKING)


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text stand; a line that goes on in the next is no end of one."""
    spans, at = [], 0
    for end in _END.finditer(text):
        spans.append((at, end.start()))
        at = end.end()
    return [(start, end) for start, end in [*spans, (at, len(text))] if text[start:end].strip()]


def is_statement(sentence: str) -> bool:
    """Whether a sentence says what its author holds or wants, rather than asking, reporting, supposing or mocking."""
    line = one_line(sentence)
    if any(way.search(line) for way in _WAYS_OUT):
        return False
    return not _ASKING.search(line) or _REQUEST.search(line) is not None


def is_wish(sentence: str) -> bool:
    """Whether a sentence says how something is to be."""
    line = one_line(sentence)
    return _WISH.search(line) is not None or _IMPERATIVE.match(line) is not None


def stating(said: Sequence[str], content: str, *, joined: bool, wish: bool = False) -> set[int] | None:
    """Which of the sentences state a content, as a `wish` if asked; None when they do not say all of it.

    `joined`: they may do so together, if every one of them is a statement.
    """
    meant = {place: one_line(sentence) for place, sentence in enumerate(said) if is_statement(sentence)}
    content = one_line(content)
    used: set[int] = set()
    for start, end in sentences(content):
        part = content[start:end]
        found = [place for place, one in meant.items() if _says(one, part, joined=joined, wish=wish)]
        if found:
            used.add(found[0])
        elif joined and len(meant) == len(said) and _says(" ".join(meant.values()), part, joined=True, wish=wish):
            used |= meant.keys()
        else:
            return None
    return used or None


def unsaid(content: str, said: str) -> bool:
    """Whether a content has a name, number, path, command or address that was not said."""
    said = one_line(said).casefold()
    return any(not _stands_in(exact[0].strip("`.,:;!?()"), said) for exact in _EXACT.finditer(content))


def telling(text: str) -> list[str]:
    """The words of a text that tell something, in order."""
    return [word for word in _words(text) if word not in _SMALL and word not in _FRAMING]


def alike(one: str, other: str) -> bool:
    """Whether two words are forms of one."""
    if one == other:
        return True
    one, other = _stem(one), _stem(other)
    return len(one) >= 3 and one == other


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _TOKEN.findall(text.casefold())]


def _says(said: str, part: str, *, joined: bool, wish: bool) -> bool:
    wishing = not joined and (wish or not _WISHING.isdisjoint(_words(part)))
    return _covers(said, part, joined=joined) and (not wishing or is_wish(said))


def _covers(said: str, part: str, *, joined: bool) -> bool:
    if unsaid(part, said) or _denials(part) != _denials(said):
        return False
    spoken, told = telling(said), telling(part)
    if any(word in spoken and word not in told for word in _LIMITING):
        return False
    told = [word for word in told if word not in _DENYING and not _is_small(word)]
    if not told:
        return False
    if joined or _TURNING.isdisjoint(_words(f"{said} {part}")):
        return all(any(alike(word, other) for other in spoken) for word in told)
    rest = iter(spoken)
    return all(any(alike(word, other) for other in rest) for word in told)  # in the order they were said


def _is_small(word: str) -> bool:
    """Whether a word is a form of one that tells nothing: "needs"; "ts" is none."""
    return len(word) > 4 and word.removesuffix("s") in _SMALL


def _denials(text: str) -> int:
    text = _ANSWERED_NO.sub("", text)
    return len(_INSTEAD_OF.findall(text)) + sum(word in _DENYING for word in _words(text))


def _stands_in(exact: str, said: str) -> bool:
    """Whether something exact was said as a whole, not as a part of something else."""
    exact = exact.casefold()
    for at in _places(exact, said) if exact else ():
        before, after = said[at - 1 : at] if at else "", said[at + len(exact) : at + len(exact) + 1]
        if not (exact[0].isalnum() and before.isalnum()) and not (exact[-1].isalnum() and after.isalnum()):
            return True
    return not exact


def _places(exact: str, said: str) -> Iterator[int]:
    at = said.find(exact)
    while at >= 0:
        yield at
        at = said.find(exact, at + 1)


def _stem(word: str) -> str:
    """A word without its commonest endings."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "ly", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and (word[-1] == word[-2] or (word[-1] == "y" and word[-2] not in "aeiou")):
        word = word[:-1]
    return word
