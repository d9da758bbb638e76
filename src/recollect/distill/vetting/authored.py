"""Which words of a prompt its author typed: what stands in fences, quotes, tags or pastes is somebody else's.

A preference may only be taken from these. Doubt counts against: a sentence that was really typed and is left out costs
a memory, a pasted one that is taken for the user's own would let anybody's text speak for them. So behind what looks
like the beginning of a paste nothing is the author's, unless the paste has a plain end (a closed fence or tag).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONG_PROMPT = 1_500  # characters: a longer prompt is a paste, perhaps with an introduction
_EDGE = 600  # how long such an introduction may be
_LONG_LINE = 600  # nobody types such a paragraph without a break
_FENCE = re.compile(r"[ \t>*+-]*(?:\d{1,2}[.)][ \t]*)?(`{3,}|~{3,}|｀{3,}|\"{3}|'{3})")
_FENCED = re.compile(r"`{3}.*?(?:`{3}|\Z)", re.DOTALL)  # wherever in a line it begins
_SEPARATOR = re.compile(r"[ \t]*(?:[-=_*~─━═]{3,}|[-=*]{2,}.{1,40}[-=*]{2,})[ \t]*$")
_TAG = re.compile(r"<([A-Za-z][\w.:-]{0,40})(?:\s[^<>]{0,400})?>")
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<\|.*\Z|\[(?:quote|INST)\].*\Z", re.DOTALL | re.IGNORECASE)
_IMAGE = re.compile(r"[ \t]*\[image[^\]\n]{0,80}\]", re.IGNORECASE)
# Lines of a quotation, a log, a table, a diff, a traceback, a document, data, a chat, a mail, or another tool's output.
_FOREIGN_LINE = re.compile(
    r"[ \t]*[>|│┃⎿⏺●❯$#%+@»›＞▎▌{}\[\]\\]|\t| {4,}\S|[-+]{3} |[ \t]*(?:at \S+\(|\"[^\"\n]{1,60}\"\s*:|//|/\*)"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:|[ \t]*\d\d:\d\d"
    r"|\W{0,3}(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|E|W)\b[ \t]*[:|\]]"
    r"|(?:npm|pip|cargo|yarn|git|remote|fatal|error|diff|commit|Traceback|Exception)\b[^\n]{0,20}[:!]"
    r"|[^\n]{0,200}\*\*[^*\n]+\*\*"
    r"|[ \t*_]*(?i:human|user|assistant|system|developer|tool|model|ai|bot|claude|codex|grok|gemini|chatgpt|gpt[\w.-]*)"
    r"[*_]*[ \t]*[:：>]"
    r"|(?i:from|to|cc|subject|date|sent|von|betreff|de|asunto|objet)[ \t]*:[ \t]*\S"
    r"|[ \t]*`?[\w./\\-]*[\w-]\.[a-z]{1,5}`?[ \t]*:?[ \t]*$"
    r"|[ \t]*(?i:readme|changelog|license|contributing)\b[^\n]{0,20}$"
)
# A line that somebody's name heads, as in a chat; what people head their own lines with is not a name.
_NAMED = re.compile(r"[ \t]*([^\W\d_][\w.-]{1,20}(?: [^\W\d_][\w.-]{0,20})?)[ \t]*:[ \t]+\S")
_OWN_HEADS = frozenset(
    """note notes important rule rules remember reminder also todo ps fyi warning context goal goals task tasks hint btw
    requirement requirements constraint constraints preference preferences first second third finally question idea bug
    edit update general please ok okay yes no sorry well so now today next and but or wichtig hinweis regel nota regla
    règle importante remarque problem expected actual example background summary caution attention always never one two
    three another decision decided convention conventions style new lesson lessons gotcha careful caution settled agreed
    policy tip heads takeaway conclusion achtung vorsicht merk merke retiens recuerda ojo nb info root
    cause fix solution workaround reason we""".split()
)
_QUOTED = re.compile(
    r"(?<!\w)\"(?=\S)[^\"]{1,2000}?\"(?!\w)|[“”„«»‹›「『]\s?[^“”„«»‹›「」『』]{1,2000}?[“”«»‹›」』]"
    r"|(?<!\w)['‘‚](?=\S)[^'‘’\n]{1,400}?['’](?!\w)"
)
_WORD = re.compile(r"\w+")
_QUOTED_WORDS = 3  # of so many words it is a sentence, of fewer a name
_CODE = re.compile(r"(`{1,2})(?!`)([^`\n]{1,400})\1")
_ANY_CODE = re.compile(r"(`{1,2})(?!`)([^`\n]{8,400})\1")
_APOSTROPHE = re.compile(r"(?<=\w)`(?=\w)")
_ORDERING = re.compile(
    r"\b(?:always|never|prefers?|must|should|remember|ignore|immer|nie|toujours|jamais|siempre|nunca)\b", re.IGNORECASE
)
# What announces somebody else's words: everything behind it. Either its line ends, or there is a colon.
_ASKED_OF = (
    r"summari[sz]e|translate|explain|proofread|rephrase|paraphrase|interpret|parse|analy[sz]e|reply to|respond to"
    r"|what (?:does|do|is|are|about)"
)
_ANNOUNCED = re.compile(
    r"\b(?:here(?:'s|’s| is| are)|hier ist|voici|aqu[ií] (?:est[aá]|tienes))\b[^\n]{0,80}(?:\n|\Z)"
    r"|\b(?:below|following|underneath|pasted?|pasting|forwarded|forwarding|attached|quoted?|quoting|verbatim"
    r"|folgende[snmr]?"
    r"|unten|suivante?s?|siguientes?)\b[^\n]{0,80}(?:\n|\Z)"
    rf"|\b(?:{_ASKED_OF}|review|answer|read|check|look at|tl;?dr)\b[^\n.]{{0,40}}"
    r"\b(?:this|that|these|those|it|mean|say|tl;?dr)[^\n\w]{0,3}(?:\n|\Z)",
    re.IGNORECASE,
)
_ANNOUNCED_BY_COLON = re.compile(
    r"\b(?:here(?:'s|’s| is| are)|this is|see|got|received|says?|said|saying|wrote|writes|written|reads?|states?"
    r"|outputs?|prints?|printed|shows?|e-?mail|mail|message|comments?|review|feedback|logs?|issue|ticket|description"
    rf"|from \w+|{_ASKED_OF}|reply|respond|answer|means?|errors?|readme|changelog|docs?|document|documentation|text"
    rf"|title|page"
    r"|article|post|thread|tweet|quote|snippet|paste|response|results?|commit|diff|patch|file|prompt|instructions"
    r"|transcript|conversation|chat|web ?site|spec|pdf|ocr|hier|schreibt|schrieb|sagt|meldung|ausgabe|voici|dit|écrit"
    r"|aquí|dice|escribió|mensaje)\b[^\n:]{0,60}[:：](?!//)",
    re.IGNORECASE,
)

# A sentence of its own that its author heads: what was named in the sentence before is not announced by its colon.
_OWN_COLON = re.compile(
    r"[.!?]\s+(?:(?:and|also|please|ok(?:ay)?|good|great|right|so|then|but|btw)\b[\s,]*){0,3}(?:remember|note|important|fyi"
    r"|keep in mind|(?:we|i) (?:have )?(?:decided|agreed)|decided|settled|agreed|let'?s (?:decide|agree|settle)(?: on)?"
    r"(?: (?:that|this|it))?|(?:the |new |my |our )?(?:decision|rule|convention|lesson|preference))(?: that)?[:：]$",
    re.IGNORECASE,
)


def own_words(text: str) -> list[tuple[int, int]]:
    """The spans of a prompt that are its author's own, in order."""
    foreign = sorted(_foreign(text))
    spans: list[tuple[int, int]] = []
    at = 0
    for start, end in [*foreign, (len(text), len(text))]:
        if start > at and text[at:start].strip():
            spans.append((at, start))
        at = max(at, end)
    return spans


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    if len(text) > LONG_PROMPT:
        head = text.find("\n\n")
        introduced = 0 < head <= _EDGE and text[:head].rstrip().endswith((":", "："))
        yield (head if introduced else 0), len(text)
        text = text[:LONG_PROMPT]
    yield from _tagged(text)
    yield from (match.span() for match in _MARKUP.finditer(text))
    yield from (match.span() for match in _FENCED.finditer(text))
    yield from _code(text)
    for match in _QUOTED.finditer(text):
        if len(_WORD.findall(match[0])) >= _QUOTED_WORDS:
            yield match.span()
    if announced := _ANNOUNCED.search(text):
        yield announced.end(), len(text)
    for announced in _ANNOUNCED_BY_COLON.finditer(text):
        if not _OWN_COLON.search(announced[0]):
            yield announced.end(), len(text)
            break
    yield from _lines(text)


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Orders in backticks. Which two belong together is only sure where none is left over; else any two may."""
    start = 0
    for line in text.splitlines(keepends=True):
        paired = _APOSTROPHE.sub("'", line)
        spans = _CODE if paired.count("`") % 2 == 0 else _ANY_CODE
        for match in spans.finditer(paired if spans is _CODE else line):
            if _ORDERING.search(match[2]):
                yield start + match.start(), start + match.end()
        start += len(line)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Fences, what stands between separators, and everything from the first line on that nobody types."""
    at, fence = 0, ""
    separators: list[int] = []
    for line in text.split("\n"):
        end = at + len(line) + 1
        opening = _FENCE.match(line)
        if fence:
            if opening and opening[1].startswith(fence) and not line[opening.end() :].strip():
                fence = ""
            yield at, end
        elif opening:
            fence = "" if opening[1] in line[opening.end() :] else opening[1]
            yield at, end
        elif _SEPARATOR.match(line) and line.strip():
            separators += [at, end]
        elif (len(line) > _LONG_LINE or _FOREIGN_LINE.match(line) or _is_named(line)) and not _IMAGE.match(line):
            yield at, len(text)
            break
        at = end
    if separators:
        yield separators[0], separators[-1] if len(separators) > 2 else len(text)


def _is_named(line: str) -> bool:
    found = _NAMED.match(line)
    return found is not None and found[1].casefold().split()[0] not in _OWN_HEADS


def _tagged(text: str) -> Iterator[tuple[int, int]]:
    """Elements, each up to the last closing tag of its name; one that is never closed goes to the end."""
    at = 0
    while opened := _TAG.search(text, at):
        closed = text.rfind(f"</{opened[1]}", opened.end())
        if closed >= 0:
            at = text.find(">", closed) + 1 or len(text)
            yield opened.start(), at
        elif opened.start() and (text[opened.start() - 1].isalnum() or text[opened.start() - 1] in "_/-"):
            at = opened.end()  # a type such as List<int>, a place to fill in such as feature/<name>
        else:
            yield opened.start(), len(text)
            return
