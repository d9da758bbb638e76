"""How a refusal reads to a person: what is wrong in the words of the form they filled in, and the way back to it.

In: the message of an error, which names fields as programs do, and the address it was sent to. Out: text and addresses.
Nothing here decides what is refused.
"""

from __future__ import annotations

import re

from recollect.http.errors import Refused

_TITLES = {
    401: "Your visit is over",
    403: "This is not open to you",
    404: "There is nothing here",
    409: "Nothing was changed",
    413: "This is too much at once",
    429: "One moment, please",
    503: "Not just now",
}
# What the fields of forms are called on their pages.
_LABELS = {
    "content": "What is so",
    "why": "Why",
    "tags": "Tags",
    "importance": "Importance",
    "project": "Project",
    "name": "Name",
    "user": "User",
    "days": "How long it works",
    "llm_daily_tokens": "Tokens",
    "llm_daily_usd": "USD",
    "key": "Key",
    "statement": "Statement",
    "rule": "Rule",
    "reason": "Reason",
}
_CALLED = {"/page/remember": {"content": "What is worth knowing"}, "/page/control/keys": {"name": "What it is for"}}
_FIELD = re.compile(rf"^({'|'.join(sorted(_LABELS, key=len, reverse=True))})(?= (?:is|has|must|needs|=) )")
_NUMBER = re.compile(r" = ('.*') is not a valid (?:int|float)$")
# What a key may be for, as people say it.
_MAY = {
    "read": "look at memories",
    "write": "change or keep anything",
    "delete": "forget anything",
    "speak": "say something in the user’s own name",
    "act": "act for other users",
    "admin": "manage keys and settings",
}
_MAY_NOT = re.compile(r"this key may not (\w+)\b")
_MAY_ONLY = re.compile(r"It may ([a-z, ]+)\. Ask for another key\.")
_REQUEST = re.compile(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE) /(\w*)")  # in a hint it is advice for programs
_COMMAND = re.compile(r"[:;,]? (?:run )?`recollect [^`]*`")
_PLACES = {
    "memories": "It may be forgotten, or in a project that is not open to you. The memory page finds what there is.",
    "sessions": "It may be forgotten, or in a project that is not open to you. The sessions page lists what there is.",
    "tasks": "The live page shows what is being done.",
}
# Addresses that people type: the page that shows what is there.
_TYPED = {
    **{name: f"/page/{name}" for name in ("sessions", "live", "patterns", "insights", "control", "next", "memories")},
    "search": "/memory",
    "settings": "/page/control/settings",
    "keys": "/page/control/keys",
}
_LISTED = {"/page/memories": "/memory"}
_TITLED = {"/memory": "the memory", "/page/sessions": "the sessions", "/page/patterns": "the patterns"}


def title_of(status: int) -> str:
    """The heading of a refusal."""
    return _TITLES.get(status) or ("This failed here" if status >= 500 else "This cannot be done")


def in_its_words(message: str, path: str) -> str:
    """A message with fields as their form names them; one sentence."""
    labels = {**_LABELS, **_CALLED.get(path, {})}
    told = _FIELD.sub(lambda found: f"“{labels[found[1]]}”", message)
    told = _NUMBER.sub(r" must be a number, not \1", told)
    told = _MAY_NOT.sub(lambda found: f"your key does not let you {_MAY.get(found[1], found[1])}", told)
    told = f"{told[:1].upper()}{told[1:]}"
    return told if told.endswith((".", "!", "?")) else f"{told}."


def hint_for_people(hint: str | None) -> str | None:
    """The hint, unless it is a request that programs make: then where a person finds the same, if anywhere."""
    request = _REQUEST.search(hint or "")
    if request is not None:
        return _PLACES.get(request[1])
    return _MAY_ONLY.sub(lambda found: _let(found[1]), hint) if hint else hint


def _let(words: str) -> str:
    named = [_MAY.get(word, word) for word in words.split(", ")]
    last = f" and {named[-1]}" if len(named) > 1 else named[-1]
    return f"It lets you {', '.join(named[:-1])}{last}. Ask whoever gave it to you for another."


def without_command(text: str | None) -> str | None:
    """A remark for people who cannot do what it advises: the command goes, what is so stays."""
    return _COMMAND.sub("", text) if text else text


def page_for(path: str) -> str | None:
    """The page that somebody means who typed an address by hand; None when that is none."""
    if path.rstrip("/") in _LISTED:
        return _LISTED[path.rstrip("/")]
    first, _, rest = path.strip("/").partition("/")
    found = _TYPED.get(first)
    if found is None or not re.fullmatch(r"[A-Za-z0-9/_.:@-]{0,300}", rest):
        return None
    address = f"{found}/{rest}".rstrip("/") if rest and found.startswith("/page/") else found
    return _LISTED.get(address, address)


def way_back(method: str, path: str) -> tuple[str, str]:
    """Where a form stands that was sent to this address, and what the link there says; of a page, where it hangs."""
    if method == "POST" and path in ("/page/remember", "/page/leave"):
        return "/memory", "Back to the form"
    if method == "POST" and path.startswith("/page/control/"):
        return "/".join(path.split("/")[:4]), "Back to the form"
    parts = path.split("/")
    above = "/".join(parts[:-1])
    if method == "POST" and len(parts) > 4:  # what is done to one thing: /page/memories/ID/edit
        return above, "Back to the form"
    listed = _LISTED.get("/".join(parts[:3]), "/".join(parts[:3]))
    return (listed, f"Back to {_TITLED[listed]}") if listed in _TITLED else ("/memory", "Back to the memory")


def is_inside(refused: Refused, path: str) -> bool:
    """Whether whoever is refused came in: then the page has its usual head."""
    return refused.status != 401 and refused.code != "foreign" and not path.startswith(("/page/enter", "/page/static"))
