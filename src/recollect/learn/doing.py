"""What a wish wants done: its verb, as the way in which it goes, so that opposite wishes about one thing stay apart.

`read the description` and `write the description` share all their telling nouns. A wish comes in; one word goes out:
`look` for verbs that take in, `make` for those that bring forth, `drop` for those that take away, else the verb itself;
with `not` before it where it forbids.
"""

from __future__ import annotations

import re

_LOOK = frozenset(
    """read review look check see inspect examine compare verify validate explain describe summarize show list find
    search study analyze analyse investigate understand tell audit""".split()
)
_MAKE = frozenset(
    """do make write create give generate put group add split commit open prepare draft produce build implement cut
    squash break keep have use bundle separate organize organise structure provide compose update""".split()
)
_DROP = frozenset("remove delete drop revert undo close discard strip clear get-rid".split())
_NOT = re.compile(r"(?:please |just )*(?:never|do(?:n['’]?t| not)|no|stop|avoid|skip)\s+", re.IGNORECASE)
_BEFORE = re.compile(r"(?:(?:always|also|just|please|maybe|now|then|again|really|quickly)\s+)+", re.IGNORECASE)
_VERB = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
# Wishes that steer the conversation: they say that the agent is to go on, not with what.
STEERING = frozenset(
    """ahead begin carry continue continuing do finish forward go going keep move moving next on proceed proceeding
    resume start step stop try wait work working""".split()
)


def doing(wish: str) -> str:
    """What a wish wants done, in one word."""
    text = _BEFORE.sub("", wish.strip(), count=1)
    forbids = _NOT.match(text)
    if forbids:
        text = text[forbids.end() :]
    found = _VERB.match(_BEFORE.sub("", text, count=1).casefold())
    verb = found[0] if found else ""
    way = "look" if verb in _LOOK else "make" if verb in _MAKE else "drop" if verb in _DROP else verb
    return f"not {way}" if forbids else way
