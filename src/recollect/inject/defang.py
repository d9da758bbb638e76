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

_TAG = re.compile(r"(?<![<＜﹤])([<＜﹤]++)(?=[A-Za-z_/!?|])([^<＜﹤>＞﹥\n]{0,200})([>＞﹥]*)")
_TYPES = re.compile(r"\w[\w ,.:|&?*\[\]']{0,80}|\?")
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

_HEADER = re.compile(r"(?<!=)={2,}+[ \t]{0,20}(relevant context)[ \t]{0,20}={2,}", re.IGNORECASE)
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
# Where a reference link is defined: wherever an address follows, and at the beginning of a line.
_DEFINED = re.compile(r"\](?=:\s{0,20}[<‹]?(?:[/\\]{2}|[\w.+-]{1,20}\[:\]))")
_DEFINITION = re.compile(r"^([ \t>*+-]{0,20}\[(?:[^\[\]\n\\]|\\.){1,999})\](?=:)", re.MULTILINE)

# Within a line, because each line is quoted by itself, and of bounded length, so that all of it is marked.
_S = r"[ \t]{1,8}"
_SHELL = rf"(?:sudo{_S})?(?:(?:ba|z|da|k|fi)?sh|python3?|node|perl|ruby|iex)\b"
_ORDER = re.compile(
    "|".join(
        (
            r"(«quoted: [^»\n]{0,400}»)",
            rf"\b(?:ignore|disregard|forget|override|bypass){_S}"
            rf"(?:(?:all|any|every|each|of|the|these|those|your|my|our){_S}){{0,5}}"
            rf"(?:(?:previous|prior|above|earlier|preceding|foregoing|system|other|existing){_S}){{1,3}}"
            r"(?:instructions?|directives?|prompts?|rules|guidelines|messages?|context)\b",
            rf"\b(?:ignore|disregard|override|bypass){_S}(?:(?:all|any|every|the|these|those|your){_S}){{1,5}}"
            r"(?:instructions?|directives?|prompts?)\b",
            rf"\byou are (?:now|no longer){_S}[^.,;\n]{{1,60}}",
            rf"\b(?:new|updated|real|actual|hidden|secret){_S}(?:system{_S})?(?:instructions?|prompt)[ \t]?:",
            rf"\b(?:do not|don't|never){_S}(?:tell|inform){_S}(?:(?:the|your){_S})?(?:user|human|operator)s?\b",
            rf"\b(?:reveal|print|output|repeat|show|leak){_S}[^.\n]{{0,20}}?\b(?:your|the){_S}"
            r"(?:system prompt|hidden instructions|initial instructions)\b",
            r"\b(?:send|post|upload|exfiltrate|forward|leak)\b[^\n]{0,40}?\b(?:keys?|tokens?|credentials?|secrets?|"
            rf"passwords?|\.env)\b[^\n]{{0,20}}?\bto{_S}[^\s@]{{0,40}}(?:\[:\]//|@)\S{{0,100}}",
            rf"\b(?:curl|wget|iwr|irm|base64)\b[^\n|]{{0,200}}\|[ \t]{{0,8}}{_SHELL}",
            rf"\b{_SHELL}{_S}(?:-c{_S})?[\"']?[<‹$]\((?:curl|wget)\b[^\n)]{{0,200}}\)?",
            rf"\beval{_S}[\"']?\$\((?:curl|wget)\b[^\n)]{{0,200}}\)?",
            rf"\brm{_S}-[a-z]{{0,6}}r[a-z]{{0,6}}{_S}(?:--no-preserve-root{_S})?(?:/|~|\$HOME)(?=[\s*]|/\*|$)",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
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
    text = _without_tags(text)
    text = _RULER.sub("=====", _HEADER.sub(r"== \1 ==", text))
    text = _TURN_MARK.sub(r"(\1)", _OUR_MARK.sub("(", text))
    text = _WWW.sub(r"\1[.]", _BARE_SCHEME.sub(r"\1[:]", _SCHEME.sub("[:]", text)))
    text = _DEFINITION.sub(r"\1] ", _DEFINED.sub("] ", _LINK.sub("] ", text)))
    text = _ROLE.sub(r"\1\2\3 :", text)
    folded = text.casefold()
    return _ORDER.sub(_order, text) if any(word in folded for word in _TELLING) else text


def unimported(text: str) -> str:
    """Text for a file that an agent loads: `@path` imports nothing there, and `!` runs no command."""
    return _RUN.sub("! ", _IMPORT.sub("[@]", text))


def _without_tags(text: str) -> str:
    """The text with the brackets of markup replaced, and those of type parameters left."""
    kept: set[int] = set()  # where a type parameter begins
    parts: list[str] = []
    end = len(text)
    for match in reversed(list(_TAG.finditer(text))):  # backwards, because one can stand in another: `Map<K, V<T>>`
        if _is_generic(match, kept):
            kept.add(match.start())
            continue
        opened, inner, closed = match.groups()
        parts += [text[match.end() : end], f"{'‹' * len(opened)}{inner}{'›' * len(closed)}"]
        end = match.start()
    return "".join([text[:end], *reversed(parts)])


def _is_generic(match: re.Match[str], kept: set[int]) -> bool:
    """Whether this is the type parameter of a language rather than markup: `<T>`, `Vec<String>`."""
    opened, inner, closed = match.groups()
    ended = closed.startswith(">") or match.end() in kept
    if opened != "<" or not ended or not _TYPES.fullmatch(inner):
        return False
    names = re.findall(r"\w+", inner)
    if any(name.casefold() in _NO_TYPES for name in names):
        return False
    if names and all(map(_ALONE.fullmatch, names)):
        return True
    before = match.string[max(0, match.start() - 1) : match.start()]
    attached = before.isalnum() or before in ("_", ":")
    return attached and all(name[:1].isupper() or name in _PLAIN_TYPES for name in names)


def _order(match: re.Match[str]) -> str:
    return match[0] if match[1] else f"«quoted: {match[0]}»"
