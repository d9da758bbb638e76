"""What programs record is checked, cleaned and kept, in one transaction with the names of its sessions.

Every way in goes through here: the library, HTTP, Redis, and the wrappers around chat clients. So nothing that was
recorded is in the store with a secret in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.capture.exchange import Exchange, events_of
from recollect.model import Scope, check_id
from recollect.pipeline.cleaning import privacy_of
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.text import require_text

if TYPE_CHECKING:
    from recollect.capture.privacy import Privacy

MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Recorded:
    """The ids of what was recorded, in the order given, and how many secrets and private parts were taken out."""

    ids: tuple[str, ...] = ()
    redacted: int = 0


def record(
    store: Store,
    scope: Scope,
    settings: Settings,
    exchanges: Iterable[Exchange],
    *,
    now: datetime,
    titles: Mapping[str, str] | None = None,
    speaks: bool = True,
) -> Recorded:
    """Keep messages, and what their sessions are called: all of it or nothing."""
    privacy = privacy_of(settings)
    events = events_of(exchanges, now=now, privacy=privacy, speaks=speaks)
    named = {check_id(session, "session"): clean_title(title, privacy) for session, title in (titles or {}).items()}
    if events:
        store.sessions.append(scope, events, named)
    return Recorded(tuple(event.id for event in events), privacy.taken)


def clean_title(title: str, privacy: Privacy) -> str:
    """The name of a session as it may be kept."""
    return privacy.text(require_text(title, "title", MAX_TITLE_CHARS))
