"""Where memories were put before agents: the lines that hooks leave become injections, and a session's words tell which
of them were used.

In: the file `shown`, one line for each answer of a hook. Out: rows in the store, each once, and the feedback that the
sessions themselves give: `cited` when the agent used the words of a memory it was shown, `success` when that session
succeeded. Lines of sessions that are not there are dropped after a while: what is not captured leaves nothing here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from recollect.distill.digest import Digest
from recollect.errors import InvalidInput
from recollect.hookreply import EVENTS, MAX_SHOWN
from recollect.hookreply import SHOWN as FILE
from recollect.learn.usewords import telling, used
from recollect.model import Event, Memory, Scope, check_id
from recollect.pipeline.told import tidy_told
from recollect.promptindex import name_of
from recollect.settings import Settings
from recollect.store.port import Store
from recollect.store.ports.use import DIGEST, SHOWN, Feedback, Injection

TAKEN = "shown.taken"
GRACE = timedelta(hours=1)  # how long a session that was told of may take to appear
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIELDS = 6


class Line(NamedTuple):
    """What one hook said: when, at what, to whom; `names` are those of the entries, if it named them."""

    at: datetime
    event: str
    host: str
    block: str
    session: str
    names: tuple[int, ...]
    text: str


def take_shown(store: Store, scope: Scope, settings: Settings, now: datetime) -> set[str]:
    """Take in what hooks noted; returns the sessions it tells something new of. Only one may do so at a time."""
    lines = _taken(settings.data_dir)
    if not lines:
        return set()
    scope = scope.within(None)
    before = now - timedelta(days=settings.injections_keep_days)
    here = {session for session in {one.session for one in lines} if store.sessions.get(scope, session) is not None}
    known = [one for one in lines if one.session in here]
    store.use.inject(scope, _injections(store, scope, known), before=before)
    away = [one for one in lines if one.session not in here]
    _put_back(settings.data_dir, [one for one in away if abs(now - one.at) < GRACE])
    late = {one.block for one in away if abs(now - one.at) >= GRACE}
    if late:
        late -= {one.block for one in store.use.injections(scope, limit=2**31)}
    tidy_told(settings.data_dir, before, late)
    (settings.data_dir / TAKEN).unlink(missing_ok=True)
    return here


def forget_shown(settings: Settings, session: str | None = None) -> None:
    """Take away the lines that wait, of a session or all."""
    lines = _taken(settings.data_dir)
    if session is not None:
        _put_back(settings.data_dir, [one for one in lines if one.session != session])
    (settings.data_dir / TAKEN).unlink(missing_ok=True)


def confirm_use(store: Store, scope: Scope, digest: Digest, events: Iterable[Event] | None = None) -> int:
    """Derive from a session what it shows of the memories that were put before its agent; returns how many it used."""
    shown: dict[str, datetime] = {}
    for one in store.use.injections(scope, session=digest.session):
        shown[one.memory] = one.at  # the newest come first: the first time it was shown stays
    if not shown:
        return 0
    memories = [kept for id_ in shown if (kept := store.memories.get(scope, id_)) is not None]
    told = {one.id: (shown[one.id], telling(one.content)) for one in memories if _is_another(one, digest.session)}
    found = used(told, store.sessions.history(scope, digest.session) if events is None else events)
    verdicts = ("cited", "success") if digest.outcome == "success" else ("cited",)
    given = [
        Feedback(id_, verdict, at, digest.session, DIGEST) for id_, at in sorted(found.items()) for verdict in verdicts
    ]
    store.use.derive(scope, digest.session, given)
    return len(found)


def _is_another(memory: Memory, session: str) -> bool:
    """Whether a memory is not the session's own."""
    return memory.session != session and memory.deleted_at is None


def _injections(store: Store, scope: Scope, lines: Sequence[Line]) -> list[Injection]:
    """Each memory in each of the blocks."""
    blocks = store.use.names(scope, [one.block for one in lines if not one.names])
    ids: dict[int, str] = {}
    if any(one.names for one in lines):
        ids = {name_of(id_): id_ for id_ in store.use.ids(scope)}
    found = []
    for one in lines:
        memories = [ids[name] for name in one.names if name in ids] if one.names else blocks.get(one.block, ())
        found += [Injection(id_, one.session, one.at, one.host, one.event, one.block) for id_ in memories]
    return found


# -- the file ----------------------------------------------------------------------------------------------------------


def _taken(data_dir: Path) -> list[Line]:
    """The lines that wait, put aside: what hooks note meanwhile is in a new file. Those left aside come too."""
    aside = data_dir / TAKEN
    if not aside.exists():
        with suppress(FileNotFoundError):
            (data_dir / FILE).rename(aside)
    return [line for text in _content(aside).split("\n") if (line := _line(text)) is not None]


def _put_back(data_dir: Path, lines: Sequence[Line]) -> None:
    if not lines:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(data_dir / FILE, flags, 0o600)
    try:
        os.write(handle, "".join(f"\n{one.text}\n" for one in lines).encode())
    finally:
        os.close(handle)


def _content(path: Path) -> str:
    """All of a plain file that is ours; nothing when it is not there."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
            return ""
        with open(handle, "rb", closefd=False) as file:
            return file.read(2 * MAX_SHOWN).decode("ascii", "replace")
    finally:
        os.close(handle)


def _line(text: str) -> Line | None:
    """A line as the hook writes it, or None."""
    parts = text.split(" ")
    if len(parts) != _FIELDS or parts[1] not in SHOWN or parts[2] not in EVENTS:
        return None
    try:
        at = _EPOCH + timedelta(microseconds=int(parts[0]) // 1000)
        session = check_id(f"{parts[2]}:{bytes.fromhex(parts[4]).decode()}", "session")
        names = tuple(int(name, 16) for name in parts[5].split(",")) if parts[5] else ()
    except (ValueError, OverflowError, InvalidInput):
        return None
    block = parts[3] if len(parts[3]) == 12 and parts[3].isalnum() else ""
    return Line(at, parts[1], parts[2], block, session, names, text)
