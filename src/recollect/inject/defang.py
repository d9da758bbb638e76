"""Text from memory as harmless text: nothing in it is rendered, fetched, imported or taken for the host's own words.

What comes in is any stored text; what goes out reads the same to a person. Invisible characters go. Markup cannot open
or close anything (`‹system-reminder›`), addresses are shown but not live (`https[:]//…`), Markdown links and images
fall apart into text, the signs by which hosts and we ourselves mark turns and blocks are changed, and what reads like
an order to the agent is marked as quoted. Honest text stays as it is: `Vec<T>`, `a < b`, `make test && make lint`.
Doing it twice changes nothing more.
"""

from __future__ import annotations

import re

from recollect.text import present

# Invisible characters that no terminal reads as an order, but a model may read: soft hyphen, Hangul and other fillers,
# Mongolian separators, the Arabic letter mark, annotations.
_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufff9-\ufffb]")

_TAG = re.compile(r"([<＜﹤]+)(?=[A-Za-z_/!?|])([^<＜﹤>＞﹥\n]{0,200})([>＞﹥]*)")
_TYPES = re.compile(r"[\w ,.:|&?*\[\]']{1,80}")
_ALONE = re.compile(r"[A-Z][0-9]?")
_PLAIN_TYPES = frozenset(
    """any bool boolean byte bytes char const dict double dyn extends f32 f64 float fn i8 i16 i32 i64 impl int isize
    list long mut never null number object option out path set short str string super tuple u8 u16 u32 u64 undefined
    unknown usize void
    """.split()
)
_NO_TYPES = frozenset(  # HTML elements of one letter, elements that swallow what follows, names that hosts use
    """a b i p q s u base body embed form frameset head html iframe img math noembed noframes noscript plaintext script
    select style svg table template textarea title xmp admin assistant command context developer document documents
    function functions human important inst instruction instructions invoke memory policy private prompt result results
    reminder rule rules sys system think thinking tool tools user
    """.split()
)

_HEADER = re.compile(r"={2,}[ \t]*(relevant context)[ \t]*={2,}", re.IGNORECASE)
_RULER = re.compile(r"={8,}")
_OUR_MARK = re.compile(r"\[(?=recollect:)", re.IGNORECASE)
_TURN_MARK = re.compile(r"\[(/?(?:INST|SYS|SYSTEM|USER|ASSISTANT))\]", re.IGNORECASE)
_ROLE = re.compile(
    r"^([ \t>*#_-]*)(Human|User|Assistant|System|Developer|Tool|HUMAN|USER|ASSISTANT|SYSTEM|DEVELOPER|TOOL)([*_]*):",
    re.MULTILINE,
)

_SCHEME = re.compile(r":(?=//)")
_BARE_SCHEME = re.compile(
    r"\b(mailto|xmpp|tel|javascript|vbscript|data(?=:[a-z]+/[\w.+-]+[;,])):(?=[^\s\]])", re.IGNORECASE
)
_WWW = re.compile(r"\b(www)\.(?=[A-Za-z0-9-])", re.IGNORECASE)
_LINK = re.compile(r"\](?=\()")
_DEFINITION = re.compile(r"\](?=:\s{0,20}[<＜‹]?[/\\]{2})")

_SHELL = r"(?:sudo\s+)?(?:(?:ba|z|da|k|fi)?sh|python3?|node|perl|ruby|iex)\b"
_ORDER = re.compile(
    "|".join(
        (
            r"(«quoted: [^»\n]{0,400}»)",
            r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|each|of|the|these|those|your|my|our)\s+)*"
            r"(?:(?:previous|prior|above|earlier|preceding|foregoing|system|other|existing)\s+){1,3}"
            r"(?:instructions?|directives?|prompts?|rules|guidelines|messages?|context)\b",
            r"\b(?:ignore|disregard|override|bypass)\s+(?:(?:all|any|every|the|these|those|your)\s+)+"
            r"(?:instructions?|directives?|prompts?)\b",
            r"\byou are (?:now|no longer)\s+[^.,;\n]{1,60}",
            r"\b(?:new|updated|real|actual|hidden|secret)\s+(?:system\s+)?(?:instructions?|prompt)\s*:",
            r"\b(?:do not|don't|never)\s+(?:tell|inform)\s+(?:the\s+|your\s+)?(?:user|human|developer|operator)s?\b",
            r"\b(?:reveal|print|output|repeat|show|leak)\s+[^.\n]{0,20}?\b(?:your|the)\s+"
            r"(?:system prompt|hidden instructions|initial instructions)\b",
            r"\b(?:send|post|upload|exfiltrate|forward|leak)\b[^\n]{0,60}?\b(?:keys?|tokens?|credentials?|secrets?|"
            r"passwords?|\.env)\b[^\n]{0,60}?\bto\s+\S{0,40}?(?:\[:\]//|@)\S{0,100}",
            rf"\b(?:curl|wget|iwr|irm|base64)\b[^\n|]{{0,200}}\|\s*{_SHELL}",
            rf"\b{_SHELL}\s+(?:-c\s+)?[\"']?[<‹$]\((?:curl|wget)\b[^\n)]{{0,200}}\)?",
            r"\beval\s+[\"']?\$\((?:curl|wget)\b[^\n)]{0,200}\)?",
            r"\brm\s+-[a-z]{0,6}r[a-z]{0,6}\s+(?:--no-preserve-root\s+)?(?:/|~|\$HOME)(?=[\s*]|/\*|$)",
        )
    ),
    re.IGNORECASE,
)

# One of these is in every order; to look for them first takes a tenth of the time.
_TELLING = (
    *("ignore", "disregard", "forget", "override", "bypass", "you are no", "instruction", "prompt", "tell", "inform"),
    *("key", "token", "credential", "secret", "password", ".env", "curl", "wget", "iwr", "irm", "base64", "rm "),
)

_IMPORT = re.compile(r"(?<![\w@])@(?=[\w~./\\])")
_RUN = re.compile(r"!(?=`)")


def defang(text: str) -> str:
    """The text as it may stand before an agent or in a Markdown file."""
    text = present(_INVISIBLE.sub("", text))
    text = _TAG.sub(_tag, text)
    text = _RULER.sub("=====", _HEADER.sub(r"== \1 ==", text))
    text = _TURN_MARK.sub(r"(\1)", _OUR_MARK.sub("(", text))
    text = _WWW.sub(r"\1[.]", _BARE_SCHEME.sub(r"\1[:]", _SCHEME.sub("[:]", text)))
    text = _DEFINITION.sub("] ", _LINK.sub("] ", text))
    text = _ROLE.sub(r"\1\2\3 :", text)
    folded = text.casefold()
    return _ORDER.sub(_order, text) if any(word in folded for word in _TELLING) else text


def unimported(text: str) -> str:
    """Text for a file that an agent loads: `@path` imports nothing there, and `!` runs no command."""
    return _RUN.sub("! ", _IMPORT.sub("[@]", text))


def _tag(match: re.Match[str]) -> str:
    opened, inner, closed = match.groups()
    if _is_generic(match):
        return match[0]
    return f"{'‹' * len(opened)}{inner}{'›' * len(closed)}"


def _is_generic(match: re.Match[str]) -> bool:
    """Whether this is the type parameter of a language rather than markup: `<T>`, `Vec<String>`, `Map<K, V<T>>`."""
    opened, inner, closed = match.groups()
    before = match.string[match.start() - 1 : match.start()]
    ended = closed.startswith(">") or match.string[match.end() : match.end() + 1] == "<"
    if opened != "<" or not ended or not _TYPES.fullmatch(inner):
        return False
    names = re.findall(r"\w+", inner)
    if any(name.casefold() in _NO_TYPES for name in names):
        return False
    if names and all(map(_ALONE.fullmatch, names)):
        return True
    attached = before.isalnum() or before in ("_", ":") if before else False
    return attached and all(name[:1].isupper() or name in _PLAIN_TYPES for name in names)


def _order(match: re.Match[str]) -> str:
    return match[0] if match[1] else f"«quoted: {match[0]}»"
