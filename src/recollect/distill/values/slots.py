"""What a statement tells the value of, without a model: "postgres runs on port 5433" tells the port of postgres.

A text comes in; a slot (subject, attribute, value) goes out, or None, which is the answer to most texts. Two statements
that differ in their words meet in one slot when they tell the same thing's value: its key is made of the words of the
subject and of the attribute, folded, in the singular, without articles, in no order. Precise rather than greedy: a word
more on one side is another thing, and whatever is asked, supposed, past, limited or said together with something else
has no slot. English; other languages simply have none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from recollect.distill.values.slotwords import (
    ALONE,
    ATTRIBUTES,
    CHOICES,
    DAYS,
    ENDS_IN_S,
    EVENTS,
    HEDGES,
    HEDGING,
    IMPLIED,
    JOINED,
    LANGUAGES,
    NOBODY,
    NOT_VERSIONED,
    OFTEN,
    OTHERS,
    PURPOSES,
    RUNNERS,
    SAME,
    SMALL,
    STATES,
)

MAX_CHARS = 240
_MAX_WORDS = 8  # of a subject


@dataclass(frozen=True, slots=True)
class Slot:
    """What is told of what; `negated` says that the value is not this."""

    subject: str
    attribute: str
    value: str
    negated: bool = False

    @property
    def key(self) -> str:
        return f"{self.subject}|{self.attribute}"

    def agrees(self, other: Slot) -> bool:
        """Whether both say the same of the same."""
        return self.key == other.key and self.negated == other.negated and self.value == other.value

    def contradicts(self, other: Slot) -> bool:
        """Whether both cannot hold: two values, or one that is both told and denied."""
        if self.key != other.key:
            return False
        if self.negated or other.negated:
            return self.negated != other.negated and self.value == other.value
        return self.value != other.value and not _refines(self.value, other.value)


def _refines(one: str, other: str) -> bool:
    """Whether one value only says the other more exactly: "4 spaces" and "spaces"."""
    return one.endswith(f" {other}") or other.endswith(f" {one}")


@dataclass(frozen=True, slots=True)
class _Said:
    """One plain sentence, whole and without who acts in it; what it rules out ("instead of Y") is apart."""

    whole: str
    text: str
    negated: bool = False
    instead: str | None = None


@lru_cache(maxsize=1_024)  # the same memories are held against each new one
def slot_of(content: str) -> Slot | None:
    """The slot a text tells the value of."""
    said = _plain_sentence(content)
    if said is None:
        return None
    folded = f" {said.whole} {said.text} ".casefold()
    for hints, read in _NEGATABLE if said.negated else _FRAMES:
        found = read(said) if any(hint in folded for hint in hints) else None
        if found is not None:
            return found
    return None


def slot_key(name: str) -> str | None:
    """The key of a slot somebody named, such as "port of postgres"; None when it does not name one."""
    if "|" in name:
        subject, _, attribute = name.partition("|")
        return f"{subject.strip()}|{attribute.strip()}" if attribute.strip() else None
    named = _named(name)
    return f"{named[0]}|{named[1]}" if named else None


# -- the sentence ------------------------------------------------------------------------------------------------------

_CODE = r"`[^`\n]{1,120}`"
_URL = r"[a-z][a-z0-9+.-]{1,12}://[^\s,;]+"
_HOST = r"(?:[\w-]+\.)+[a-z][\w-]*(?::\d+)?(?:/[^\s,;]*)?|localhost(?::\d+)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?"
_PATH = r"(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*|/[\w.@+-]+|\.?[\w-]+\.[a-z][a-z0-9]{0,4}"
_EXACT = re.compile(rf"{_CODE}|{_URL}|{_PATH}", re.IGNORECASE)
_REASON = re.compile(
    r",? (?:because|since|so that|due to|as it|as they)\b.*$"
    r"|\s*\((?:was|not|formerly|previously|instead of)\b[^()]*\)$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^(?:(?:please|note(?: that)?|remember(?: that)?|fyi|btw|actually|ok|okay|so|and|no|yes|from now on|going forward"
    r"|as a rule|in general|just|always|important|we(?: have|'ve)? (?:decided|agreed|chose) (?:to|that|on)"
    r"|make sure(?: that)?)\b[,:]?\s+)+",
    re.IGNORECASE,
)
_NOW = re.compile(r"\s*\b(?:(?<!for )now|currently|nowadays|from now on|going forward|these days)\b", re.IGNORECASE)
_BROKEN = re.compile(r"[;?!(){}\[\]\"“”|<>…&]| [-–—] |[.:,] +[A-Z`]|\.\s+\S")
_WORDS = re.compile(r"[a-z']+")
_ACTOR = re.compile(
    r"^(?:we|i|you|everyone|(?:the|this|our) (?:user|team|project|repo|repository|codebase|app)|agents)\s+"
    r"(?:(?:should|must|will|shall|have to|has to|always|really|strongly|generally|all)\s+)*",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"^(?:should|must|do|does|will|shall|did|has|have)?\s*"
    r"(?:not|never|don't|doesn't|no longer|shouldn't|mustn't|won't|avoid|stop|stopped|quit)\s+(?:ever\s+)?",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|never|no|none|without|avoid|cannot|stop|longer|nor)\b|n['’]t\b", re.IGNORECASE)
_INSTEAD = re.compile(
    r"(?:,\s*(?:and )?(?:not|never)|,?\s+(?:instead|in place|in lieu) of|,?\s+rather than)\s+(?P<y>[^,]+?)"
    r"(?=\s+(?:for|in|on|as)\s|$)",
    re.IGNORECASE,
)
_OVER = re.compile(r"^(prefers?\s+.+?)\s+(?:over|to)\s+(.+)$", re.IGNORECASE)


def _plain_sentence(content: str) -> _Said | None:
    """One sentence that plainly states something, or None."""
    text = content.strip()
    if not text or len(text) > MAX_CHARS or "\n" in text:
        return None
    text = _REASON.sub("", text.replace("’", "'").rstrip(" .!")).removesuffix(" instead")
    text = _OPENING.sub("", _NOW.sub("", " ".join(text.split())))
    if _BROKEN.search(_EXACT.sub("x", text)) or text.count("`") % 2:
        return None
    acted = _OVER.sub(r"\1 instead of \2", _ACTOR.sub("", text))
    denied = _NOT.match(acted)
    if denied:
        rest = acted[denied.end() :]
        bare = denied[0].strip().casefold() == "avoid" and not re.match(r"us(?:e|ing)\b", rest)
        said = _Said("", f"use {rest}" if bare else rest, negated=True)
    else:
        instead = _INSTEAD.search(acted)
        said = _Said(
            _INSTEAD.sub("", text), _INSTEAD.sub("", acted, count=1), instead=instead["y"] if instead else None
        )
    masked = _EXACT.sub("x", f"{said.whole} {said.text}").casefold()
    if not said.text or any(phrase in masked for phrase in HEDGING) or not HEDGES.isdisjoint(_WORDS.findall(masked)):
        return None
    return None if _DENIES.search(masked) else said


# -- words -------------------------------------------------------------------------------------------------------------

_WORD = re.compile(r"`[^`]+`|[^\W_][\w.@/+#:'-]*")
_LEFT_OVER = re.compile(r"[^\s'\".-]")
_MINE = frozenset(("my", "their", "user's", "me"))
_DONE = {
    "built": "build", "started": "start", "deployed": "deploy", "released": "release", "formatted": "format",
    "linted": "lint", "checked": "check", "installed": "install", "generated": "generate", "executed": "run",
}  # fmt: skip


def _fold(word: str) -> str:
    """A word in the singular, under the name that all its names have."""
    word = word.strip("`'.,:").casefold()
    if word in _MINE:
        return "me"
    word = word.removesuffix("'s")
    word = SAME.get(word, word)
    if word not in ENDS_IN_S and len(word) > 3 and word.isalpha():
        if word.endswith("ies"):
            word = word[:-3] + "y"
        elif word.endswith(("ches", "shes", "xes", "sses")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    return SAME.get(word, word)


def _bag(text: str | None) -> list[str] | None:
    """The telling words of a phrase, in order; None when it is no plain phrase or speaks of something else."""
    if not text:
        return []
    words = []
    for match in _WORD.finditer(text):
        word = _fold(match[0])
        if word in OTHERS:
            return None
        if word and word not in SMALL:
            words.append(word)
    return None if _LEFT_OVER.search(_WORD.sub("", text)) or len(words) > _MAX_WORDS else words


def _joined(*bags: Iterable[str]) -> str:
    return " ".join(sorted({word for bag in bags for word in bag}))


_APART = re.compile(r"\s(?:of|for|in|on|at|used by|used for|used in|inside|under|within|from)\s", re.IGNORECASE)


def _named(phrase: str) -> tuple[str, str] | None:
    """Subject and attribute of "the port of the staging postgres", "postgres's port" or "staging postgres port"."""
    head, _, rest = _APART.sub("\0", phrase, count=1).partition("\0")
    left, right = _bag(head), _bag(rest)
    if not left or right is None:
        return None
    length = 2 if tuple(left[-2:]) in JOINED else 1
    attribute = "-".join(left[-length:])
    return (_joined(left[:-length], right), attribute) if attribute in ATTRIBUTES else None


class _Frame:
    """A pattern for whole sentences, compiled when it is first needed: most texts need none of them."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._compiled: re.Pattern[str] | None = None

    def match(self, text: str) -> re.Match[str] | None:
        if self._compiled is None:
            self._compiled = re.compile(self._pattern + "$", re.IGNORECASE)
        return self._compiled.match(text)


# -- values ------------------------------------------------------------------------------------------------------------

_UNITS = {
    "second": "s", "sec": "s", "minute": "min", "hour": "h", "hr": "h", "millisecond": "ms", "msec": "ms",
    "percent": "%", "megabyte": "mb", "gigabyte": "gb", "kilobyte": "kb", "byte": "b", "char": "character",
}  # fmt: skip
_TIME = r"\d{1,2}(?::\d\d)?\s?(?:am|pm|h|utc)?|noon|midnight"
_WHEN = rf"(?:{DAYS}|{OFTEN})(?: at (?:{_TIME}))?|(?:{_TIME})"
_LIMITS = r"(?:\s(?P<q>(?:in|on|for|at|inside|under|within|during|of)\s.{1,60}|locally|by default))?"
_SHAPES = {
    "port": r"(?:port )?(?P<v>\d{2,5})",
    "version": r"v?(?P<v>\d+(?:\.\d+)*(?:\.x|\+|-[\w.]+)?|latest|lts)",
    "amount": r"(?P<v>\d[\d_,.]*(?:\s?%|\s?[a-zµ]+)?(?:\s(?:a|an|per)\s\w+|/\w+)?|unlimited|none)",
    "address": rf"(?P<v>{_CODE}|{_URL}|{_HOST}|{_PATH})",
    "path": rf"(?P<v>{_CODE}|{_URL}|{_PATH})",
    "word": rf"(?P<v>{_CODE}|[\w][\w./-]*)",
    "command": rf"(?P<v>{_CODE}|(?:\./)?[\w.-]+(?: [^\s,]+){{0,8}}?)",
    "name": rf"(?P<v>{_CODE}|[^\W_][\w.+#/-]*(?: [\w.+#/-]+){{0,3}}?)",
    "when": rf"(?:on |at |every |each )?(?P<v>{_WHEN}|\d{{4}}-\d\d-\d\d)",
}
_VALUES = {kind: _Frame(shape + _LIMITS) for kind, shape in _SHAPES.items()}
_ADJECTIVE = re.compile(r"^[a-z]{3,}(?:ing|ed|ly|able|ible|ful|less|ous|ive|ant|ent)$")


def _value(kind: str, text: str) -> tuple[str, list[str]] | None:
    """A value of some kind, folded, and the words that say where it holds; None when it is not of that kind."""
    match = _VALUES[kind].match(text.strip().strip("\"'"))
    if match is None:
        return None
    value, limits = match["v"], _bag(match["q"])
    if limits is None:
        return None
    if kind in ("name", "word") and (value.split()[0].casefold() in STATES or _ADJECTIVE.match(value.split()[0])):
        return None
    if kind == "command" and not _is_command(value):
        return None
    if kind == "amount":
        value = _amount(value)
    if kind == "when":
        value = " ".join(_fold(word) for word in value.split())
    return _plain_value(value), limits


def _plain_value(text: str) -> str:
    value = re.sub(r"^(?:the|a|an|our|my)\s+", "", " ".join(text.strip("`\"' ").split()).casefold())
    return value.rstrip("/") or value


def _amount(text: str) -> str:
    number, _, unit = re.sub(r"^([\d_,.]*)\s?", "\\1\0", text, count=1).partition("\0")
    unit = " ".join(_UNITS.get(_fold(word), _fold(word)) for word in unit.split())
    return f"{number.replace('_', '').replace(',', '').rstrip('.')} {unit}".strip()


def _is_command(text: str) -> bool:
    words = text.strip("`$ ").split()
    return bool(words) and (
        words[0] in RUNNERS or words[0].startswith(("./", "scripts/", "bin/", "tools/")) or words[0].endswith(".sh")
    )


# -- the frames a statement may have -----------------------------------------------------------------------------------


_PORT = r"port (?P<v>\d{2,5})"
_PORTS = (
    _Frame(
        r"(?P<s>.+?)\s(?:runs?|listens?|is|are|serves?|starts?|binds?"
        r"|is (?:listening|running|served|exposed|available|reachable|bound|started))(?: locally)?"
        rf" (?:on|at|to|under) (?:the )?(?:tcp )?{_PORT}{_LIMITS}"
    ),
    _Frame(
        r"(?P<s>.+?)\s(?:listens?|is listening|binds?) (?:on|to) (?:localhost|127\.0\.0\.1|0\.0\.0\.0)?"
        rf":?(?P<v>\d{{2,5}}){_LIMITS}"
    ),
    _Frame(rf"(?P<s>.+?)\suses? {_PORT}{_LIMITS}"),
    _Frame(rf"use {_PORT} for (?P<s>.+)"),
    _Frame(rf"{_PORT} is (?:for|used by|used for|reserved for|that of) (?P<s>.+)"),
)


def _port(said: _Said) -> Slot | None:
    for frame in _PORTS:
        match = frame.match(said.whole)
        if match:
            parts = match.groupdict()
            return _slot((parts["s"], parts.get("q")), "port", parts["v"])
    return None


_THING = r"(?P<s>[a-z][\w+#-]*(?: [a-z][\w+#-]*)?)"
_NUMBERED = r"(?:version )?v?(?P<v>\d+(?:\.\d+)*(?:\.x|\+)?)"
_VERSIONS = (
    ("version", _Frame(rf"(?:uses?|using|runs?|are on|is on|targets?) {_THING} {_NUMBERED}{_LIMITS}")),
    ("version", _Frame(rf"(?P<s>.+?) (?:is|are) (?:at|on|pinned to|pinned at) {_NUMBERED}{_LIMITS}")),
    ("required version", _Frame(rf"(?:requires?|needs?) {_THING} {_NUMBERED}{_LIMITS}")),
)


def _version(said: _Said) -> Slot | None:
    for attribute, frame in _VERSIONS:
        match = frame.match(said.text)
        if match and not NOT_VERSIONED & {_fold(word) for word in match["s"].split()}:
            return _slot((match["s"], match["q"]), attribute, match["v"])
    return None


_BE = r"(?P<be>is|are)"
_FOUND = rf"(?P<v>{_CODE}|{_PATH})"
_PLACES = (
    (
        "place",
        _Frame(
            rf"(?P<s>.+?) (?:(?:{_BE} )?(?:located|stored|kept|found|moved)|is|(?P<many>are|live|sit|go|belong)"
            rf"|lives|sits|goes|belongs) (?:at|in|under|inside|to|into) {_FOUND}"
        ),
    ),
    (
        "definition",
        _Frame(rf"(?P<s>.+?) {_BE} (?:defined|configured|set|declared|implemented) (?:at|in|under|inside|by) {_FOUND}"),
    ),
    ("output", _Frame(rf"(?P<s>.+?) {_BE} (?:written|saved|logged|exported) (?:to|into) {_FOUND}")),
    (
        "address",
        _Frame(
            rf"(?P<s>.+?) (?:{_BE}(?: (?:located|hosted|served|available|reachable|published))?|lives|runs)"
            rf" (?:at|on|under) (?P<v>{_URL}|{_HOST})"
        ),
    ),
)


def _place(said: _Said) -> Slot | None:
    for attribute, frame in _PLACES:
        match = frame.match(said.whole)
        if match and (attribute == "address" or re.search(r"[/.]", match["v"])):
            several = match.groupdict().get("many") and len(_bag(match["s"]) or ()) < 2
            return None if several else _slot((match["s"],), attribute, match["v"])
    return None


_DOING = (
    r"(?P<d>run|start|launch|execute|build|deploy|lint|format|test|check|release|publish|install|compile|migrate|seed"
    r"|serve|generate|regenerate|benchmark|profile)"
)
_DONE_WITH = (
    r"(?:(?:is|are|(?:must|should|has to|have to) be) )?"
    r"(?P<d>runs?|builds?|built|starts?|started|deploys?|deployed|released|executed|generated|formatted|linted|checked|installed)"
)
_BY = r"(?:with|using|via|by running|through)"
_COMMANDS = (
    _Frame(rf"{_DOING}(?P<s>\s.*?)?\s{_BY} (?P<v>.+)"),
    _Frame(rf"(?P<s>.+?) {_DONE_WITH} (?:{_BY}|by) (?P<v>.+)"),
    _Frame(rf"(?:to|for) {_DOING}(?P<s>\s.*?)?,? (?:run|use|call|execute|type) (?P<v>.+)"),
    _Frame(rf"(?:use|run|call|execute) (?P<v>{_CODE}|.+?) (?:to|for) {_DOING}(?P<s>\s.*)?"),
)


def _command(said: _Said) -> Slot | None:
    for frame in _COMMANDS:
        match = frame.match(said.text)
        found = match and _value("command", match["v"])
        if match and found:
            doing = _DONE.get(match["d"].casefold(), _fold(match["d"]))
            about = [] if doing in ("run", "launch", "execute") else [doing]
            return _slot((match["s"], *about, *found[1]), "command", found[0])
    return None


_SPEAKING = _Frame(r"(?P<d>answer|reply|respond|write|talk|speak|explain)(?: to me| me)?(?P<s>\s.+?)? in (?P<v>[a-z]+)")
_CALLED = _Frame(r"call me (?P<v>[^\W\d_][\w-]*(?: [^\W\d_][\w-]*)?)")


def _language(said: _Said) -> Slot | None:
    match = _SPEAKING.match(said.text)
    if not match or match["v"].casefold() not in LANGUAGES:
        return None
    return _slot((match["s"] or match["d"],), "language", match["v"])


def _called(said: _Said) -> Slot | None:
    match = _CALLED.match(said.text)
    return Slot("me", "name", _plain_value(match["v"])) if match else None


_USING = _Frame(
    r"(?P<d>uses?|(?:(?:am|are|is) )?using|prefers?|go with|stick (?:to|with)|switch(?:ed)? to|indent with)\s+"
    r"(?P<x>.+?)"
    r"(?:\s+(?P<p>for|in|on|as|with|to|by|of)\s+(?P<z>.+))?"
)
_SPACED = re.compile(r"(?:(\d)[ -]spaces?|(tab|space)s?)(?: indent(?:ation|s)?)?$", re.IGNORECASE)


def _used(said: _Said) -> Slot | None:
    match = _USING.match(said.text)
    if not match or match["p"] in ("with", "to", "by", "of") or (match["d"].casefold() == "using" and not said.negated):
        return None
    thing, rival, about = _bag(match["x"]), _bag(said.instead), _bag(match["z"])
    if not thing or rival is None or about is None or len(thing) > 4:
        return None
    spaced = _SPACED.match(match["x"])
    if spaced:
        value = f"{spaced[1]} spaces" if spaced[1] else f"{spaced[2].casefold()}s"
        return _chosen("indentation", value, about, said)
    value = " ".join(thing)
    if value[0].isdigit():
        return None
    choice = _choice_of("-".join(thing), "-".join(rival), about)
    if match["p"] == "as":
        return _used_as(match["z"], value, choice, said)
    if choice:
        return _chosen(choice, value, about, said)
    if match["p"] == "for":
        return Slot(_joined(about), "use", value, said.negated) if about and not any(map(_purpose, about)) else None
    if rival:
        return Slot(_joined([value], [" ".join(rival)], about), "choice", value, said.negated)
    if match["d"].casefold().startswith("prefer") or NOT_VERSIONED & set(thing):
        return None
    return Slot(_joined([value], about), "use at all", value, said.negated)


def _purpose(word: str) -> bool:
    """Whether something is used for the sake of this, rather than to do it: many things can be, at once."""
    return word in PURPOSES or (word.endswith(("ity", "ness")) and word not in EVENTS)


def _used_as(role: str, value: str, choice: str | None, said: _Said) -> Slot | None:
    named = _named(role)
    if named is None or said.negated:
        return None
    told = _with_value(*named, value)
    return told or (_chosen(choice, value, named[0].split(), said) if choice else None)


def _chosen(choice: str, value: str, about: Iterable[str], said: _Said) -> Slot:
    return Slot(_joined(set(about) - IMPLIED.get(choice, frozenset())), choice, value, said.negated)


def _choice_of(thing: str, rival: str, about: Iterable[str]) -> str | None:
    """Which choice is made by using a thing, in place of a rival where one is named; None when it is not plain."""
    found = [name for name, things in CHOICES.items() if thing in things]
    ruled_out = [name for name, things in CHOICES.items() if rival in things]
    if found and ruled_out:
        found = [name for name in found if name in ruled_out]
    elif not found:
        found = ruled_out
    if len(found) > 1:
        found = [name for name in found if IMPLIED.get(name, frozenset()) & set(about) - {"python", "javascript"}]
    return found[0] if len(found) == 1 else None


_TIMED = _Frame(
    r"(?P<s>.+?)(?:\s(?P<d>happens?|runs?|goes? out|takes? place|ships?|starts?|begins?|(?:is|are) (?:held|due))"
    rf"|\s(?:is|are))?\s(?P<p>on |at |every |each )?(?P<v>{_WHEN})"
)


def _timed(said: _Said) -> Slot | None:
    match = _TIMED.match(said.text)
    found = match and _value("when", match["v"])
    about = match and _bag(match["s"])
    if not match or not found or not about or not (match["d"] or EVENTS & set(about)):
        return None
    if found[0][0].isdigit() and (match["p"] or "").strip().casefold() != "at":
        return None  # a number is a time only behind "at"
    return _slot((match["s"],), "when", found[0], negated=said.negated)


_TELLING = (
    _Frame(r"(?:set(?! up)|change|bump|raise|lower) (?P<n>.+?) (?:from .+? )?to (?P<v>.+)"),
    _Frame(r"(?P<n>.+?) (?:changed|moved|changes|switched|went)(?: from .+?)? to (?P<v>.+)"),
    _Frame(
        r"(?P<n>.+?)\s(?:is|are|should be|must be|has to be|stays|remains|equals)\s(?:set to |called |named )?(?P<v>.+)"
    ),
    _Frame(r"(?P<n>[^=:]+?)\s*(?:=\s*|:\s)(?P<v>.+)"),
)
_HAVING = _Frame(r"(?P<s>.+?) (?:has|have) (?:a|an|the) (?P<n>[\w -]+?) of (?P<v>.+)")
_BEING = _Frame(r"(?P<v>.+?) (?:is|are) (?P<n>(?:the|our|my|their) .+)")
_IDENTIFIER = _Frame(
    r"`?(?P<n>[a-z]\w*(?:[._]\w+)+|(?-i:[A-Z][A-Z0-9_]{2,}))`?\s*(?:=|is|is set to)\s*"
    rf"(?P<v>{_CODE}|\d[\w.]*|true|false|on|off)"
)


def _told(said: _Said) -> Slot | None:
    having = _HAVING.match(said.whole)
    if having:
        return _valued(f"{having['n']} of {having['s']}", having["v"])
    for frame in _TELLING:
        match = frame.match(said.whole)
        found = match and _valued(match["n"], match["v"])
        if found:
            return found
    being = _BEING.match(said.whole)
    return _valued(being["n"], being["v"]) if being else None


def _valued(phrase: str, text: str) -> Slot | None:
    named = _named(phrase)
    return _with_value(*named, text) if named else None


def _with_value(subject: str, attribute: str, text: str) -> Slot | None:
    """The slot of a named attribute; a tool that is known stands for its choice, however that was called."""
    found = _value(ATTRIBUTES[attribute], text)
    if found is None:
        return None
    about = [*subject.split(), *found[1]]
    choice = _choice_of("-".join(_bag(found[0]) or ()), "", [*about, *attribute.split("-")])
    if choice and IMPLIED.get(choice, frozenset()) & set(attribute.split("-")):
        return Slot(_joined(set(about) - IMPLIED[choice]), choice, found[0])
    if _fold(found[0]) == attribute or (NOBODY.issuperset(about) and attribute not in ALONE):
        return None
    return Slot(_joined(about), attribute, found[0])


def _assigned(said: _Said) -> Slot | None:
    match = _IDENTIFIER.match(said.whole)
    return Slot(match["n"].casefold(), "setting", _plain_value(match["v"])) if match else None


def _slot(about: tuple[str | None, ...], attribute: str, value: str, *, negated: bool = False) -> Slot | None:
    """A slot whose subject is made of these phrases; None when one of them is no plain phrase, or all are empty."""
    bags = [_bag(phrase) for phrase in about]
    words = [word for bag in bags if bag for word in bag]
    if any(bag is None for bag in bags) or not words:
        return None
    return Slot(_joined(words), attribute, _plain_value(value), negated)


Reader = Callable[[_Said], Slot | None]
_DAYTIME = ("day", "daily", "hourly", "nightly", "weekly", "monthly", "quarterly", "yearly", " at ")
_USES = ("use", "using", "prefer", "go with", "stick", "switch", "indent")
# Who reads a sentence, in this order, if it has one of these letters in it: looking is cheaper than matching.
_FRAMES: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (("port", "listen", "bind"), _port),
    (("use", "using", "run", "are ", "is ", "target", "require", "need"), _version),
    (("/", ".", "localhost"), _place),
    (("with", "using", "via", "by", "through", "to ", "for "), _command),
    ((" in ",), _language),
    (("call me",), _called),
    (_USES, _used),
    (_DAYTIME, _timed),
    ((" is ", " are ", " be ", "=", ":", " to ", " has ", " have ", "stays", "remains", "equals"), _told),
    (("=", " is "), _assigned),
)
_NEGATABLE: tuple[tuple[tuple[str, ...], Reader], ...] = ((_USES, _used), (_DAYTIME, _timed))
