"""A PostgreSQL database looked at, in words: for `recollect database check` and `recollect doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.cli.captured import size
from recollect.cli.findings import Finding
from recollect.errors import RecollectError

if TYPE_CHECKING:
    from recollect.settings import Settings
    from recollect.store.postgres.checkup import Checkup

SLOW_MILLISECONDS = 20.0  # there and back: a recall makes several such trips
FULL_SHARE = 0.9  # of the connections that the server takes
_INIT = "Let the database's owner run `recollect database init`."
_SHOWN = 4  # tables named by their size


def look(settings: Settings) -> tuple[Checkup | None, list[Finding]]:
    """What the database is like, None when it cannot be told; and the same in words."""
    try:
        from recollect.store.opening import require_driver

        require_driver()
        from recollect.store.postgres.checkup import look

        seen = look(settings)
    except RecollectError as error:
        return None, [Finding("database", "bad", str(error), error.hint)]
    return seen, findings(seen)


def is_usable(seen: Checkup | None) -> bool:
    """Whether a store can be opened there without changing anything but its rows."""
    return seen is not None and not seen.too_new and not seen.faults and seen.schema >= seen.newest


def findings(seen: Checkup) -> list[Finding]:
    """One line a matter."""
    return [_schema(seen), _server(seen), _role(seen), *_isolation(seen), _way(seen), _connections(seen), _room(seen)]


def _schema(seen: Checkup) -> Finding:
    where = f"{seen.address}, schema {seen.schema}"
    if seen.partitions:
        where += f" in {seen.partitions} partitions"
    if seen.too_new:
        return Finding("database", "bad", f"{where}; this Recollect knows {seen.newest}", "Upgrade Recollect.")
    if not seen.schema:
        todo = "`recollect database init` makes it; so does the first use, when the login may."
        return Finding("database", "note", f"{seen.address} has no schema yet", todo)
    if seen.schema < seen.newest:
        return Finding("database", "note", f"{where}; this Recollect brings {seen.newest}", _INIT)
    return Finding("database", "ok", where)


def _server(seen: Checkup) -> Finding:
    vectors = f"pgvector {seen.pgvector}" if seen.pgvector else "no pgvector yet"
    return Finding("PostgreSQL", "ok", f"{seen.server}, {vectors}")


def _role(seen: Checkup) -> Finding:
    text = f"{seen.login} works as {seen.role}" if seen.role != seen.login else f"{seen.login}"
    if not seen.owns:
        return Finding("login", "ok", f"{text}; the tables belong to another" if seen.schema else text)
    todo = "For a server, `recollect database init --app-login NAME` makes a login that owns nothing."
    return Finding("login", "note", f"{text}, and owns the tables", todo)


def _isolation(seen: Checkup) -> list[Finding]:
    if not seen.schema or seen.too_new:
        return []
    if seen.faults:
        return [Finding("isolation", "bad", fault, _INIT) for fault in seen.faults]
    return [Finding("isolation", "ok", "row-level security is forced on every table with a tenant")]


def _way(seen: Checkup) -> Finding:
    trip, first = seen.milliseconds["trip"], seen.milliseconds["connect"]
    text = f"{trip:.1f} ms there and back, {first:.0f} ms to connect, {'' if seen.encrypted else 'not '}encrypted"
    if trip > SLOW_MILLISECONDS:
        return Finding("way there", "note", text, "Run Recollect nearer to the database: a recall makes several trips.")
    return Finding("way there", "ok", text)


def _connections(seen: Checkup) -> Finding:
    open_now, most, own = (seen.connections[name] for name in ("open", "most", "own"))
    text = f"{open_now} of {most} on the server are open; one process here holds up to {own}"
    if open_now + own > most * FULL_SHARE:
        return Finding("connections", "note", text, "Lower database_connections, or raise max_connections there.")
    return Finding("connections", "ok", text)


def _room(seen: Checkup) -> Finding:
    tables = [(name, count) for name, count in seen.bytes.items() if name != "database"]
    largest = ", ".join(f"{name} {size(count)}" for name, count in tables[:_SHOWN])
    return Finding("size", "ok", f"{size(seen.bytes['database'])}" + (f": {largest}" if largest else ""))
