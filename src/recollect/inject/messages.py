"""`messages`: a chat request in tiers, from the general to the particular.

persona → gists of other sessions → sharp details from other sessions → this session's recent turns → the new message.
What the window already shows is not repeated as a detail.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.inject.quote import NOTICE, entry, quote
from recollect.model import Event, Gist, Hit

Message = dict[str, str]


def build(
    persona: str, gists: Sequence[Gist], details: Sequence[Hit], recent: Sequence[Event], message: str
) -> list[Message]:
    """The messages, tier by tier; an empty tier leaves no heading behind."""
    shown = {event.text.strip() for event in recent} | {message.strip()}
    fresh = [hit for hit in details if hit.content.strip() not in shown]
    system = [persona] if persona.strip() else []
    if gists or fresh:
        system.append(NOTICE)
    if gists:
        system.append("Earlier conversations, in short:\n" + "\n".join(map(_gist, gists)))
    if fresh:
        system.append("Details from earlier conversations:\n" + "\n".join(entry(hit, message) for hit in fresh))
    head = [{"role": "system", "content": "\n\n".join(system)}] if system else []
    talk = [{"role": event.role, "content": event.text} for event in recent if event.role in ("user", "assistant")]
    return [*head, *talk, {"role": "user", "content": message}]


def _gist(gist: Gist) -> str:
    return f"[{gist.occurred_at:%Y-%m-%d}, session {gist.session}]\n{quote(gist.content)}"
