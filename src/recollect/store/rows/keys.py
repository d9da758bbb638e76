"""API keys in a store: made, listed, revoked, rotated in a scope; checked before there is one.

Checking does the same work whatever is wrong with a key, and says the same: who guesses learns neither that an id
exists nor that a key was good once.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from recollect.clock import from_iso, iso
from recollect.errors import Conflict, InvalidInput, InvalidKey, NotFound, ScopeError, StoreError
from recollect.keys import Grant, Issued, Key, digest, id_of, new_text, parse_permissions
from recollect.model import Scope
from recollect.store.rows.audit import audit
from recollect.store.rows.tx import Database, Tx

MAX_NAME = 100
_TOUCH = timedelta(minutes=1)  # how often it is written down that a key was used


class _Found(NamedTuple):
    """What a store knows of an id; `NOBODY` for one it does not know, so that both are held against the same things."""

    hash: bytes = bytes(32)
    tenant: str = ""
    username: str = ""
    env: str = ""
    permissions: str = ""
    project: str | None = None
    expires_at: str | None = None
    revoked_at: str | None = None
    last_used_at: str | None = None


_NOBODY = _Found()


class RowKeys:
    """The keys of owners."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(
        self,
        scope: Scope,
        *,
        at: datetime,
        env: str = "live",
        permissions: Sequence[str] = ("read", "write"),
        name: str = "",
        expires_at: datetime | None = None,
    ) -> Issued:
        """A new key for the scope: for its project alone, if it has one."""
        if len(name) > MAX_NAME or not name.isprintable():
            raise InvalidInput(f"the name of a key is at most {MAX_NAME} characters, on one line")
        if expires_at is not None and expires_at <= at:
            raise InvalidInput("a key cannot expire before it is made")
        key = Key("", env, name, parse_permissions(permissions), scope.project, at, expires_at)
        with self._db.write(scope) as tx:
            if scope.by is not None:
                raise ScopeError("a shared context has no keys: its members have theirs")
            return _issue(tx, tx.ensure().owner, key, "key.create")

    def find(self, scope: Scope) -> list[Key]:
        """Every key of the scope, the newest first; in a project, those for it alone."""
        with self._db.read(scope) as tx:
            rows = tx.rows
            if rows is None:
                return []
            return [_key(row) for row in tx.run("keys.find", {"owner": rows.owner, "project": scope.project})]

    def revoke(self, scope: Scope, key_id: str, *, at: datetime) -> Key:
        """From now on the key opens nothing; the first time holds."""
        with self._db.write(scope) as tx:
            owner, _ = _own(tx, scope, key_id)
            tx.run("keys.revoke", {"owner": owner, "id": key_id, "at": iso(at)})
            audit(tx, owner, at, "key.revoke", key_id, {})
            return _own(tx, scope, key_id)[1]

    def rotate(
        self, scope: Scope, key_id: str, *, at: datetime, until: datetime, expires_at: datetime | None = None
    ) -> Issued:
        """A new key for the same things; the old one works `until` then, if it does not end before."""
        with self._db.write(scope) as tx:
            owner, old = _own(tx, scope, key_id)
            if old.state(at) != "valid":
                raise Conflict(f"the key {key_id} is {old.state(at)}", hint="Make a new one: recollect keys create.")
            new = Key("", old.env, old.name, old.permissions, old.project, at, expires_at)
            issued = _issue(tx, owner, new, "key.rotate")
            end = min(max(until, at), old.expires_at or max(until, at))
            tx.run("keys.replace", {"owner": owner, "id": key_id, "by": issued.key.id, "until": iso(end)})
            return issued

    def check(self, text: str, *, at: datetime, env: str | None = None) -> Grant:
        """What the key opens; InvalidKey, and nothing about why, when it opens nothing (here, in this environment)."""
        given, key_id = digest(text), id_of(text)
        row = self._db.alone("keys.of", {"id": key_id})
        found = _NOBODY if row is None else _Found(*row)
        now = iso(at)
        held = (
            hmac.compare_digest(given, bytes(found.hash)),
            row is not None,
            found.revoked_at is None,
            now < (found.expires_at or "9"),
            env in (None, found.env),
        )
        if not all(held):
            raise InvalidKey
        scope = Scope(found.tenant, found.username, found.project, key=key_id)
        if (found.last_used_at or "") <= iso(at - _TOUCH):
            self._touch(scope, key_id, at)
        expires = None if found.expires_at is None else from_iso(found.expires_at)
        return Grant(key_id, scope, tuple(found.permissions.split()), expires)

    def _touch(self, scope: Scope, key_id: str, at: datetime) -> None:
        """Write down that it was used, unless somebody just did; a key is as good when that cannot be written."""
        with suppress(StoreError), self._db.touch(scope) as tx:
            params = {"id": key_id, "at": iso(at), "before": iso(at - _TOUCH)}
            if tx.rows is not None:
                tx.run("keys.used", {"owner": tx.rows.owner, **params})


def _issue(tx: Tx, owner: int, key: Key, action: str) -> Issued:
    text = new_text(key.env)
    issued = Issued(replace(key, id=id_of(text)), text)
    expires = None if key.expires_at is None else iso(key.expires_at)
    tx.run(
        "keys.add",
        {
            "owner": owner,
            "id": issued.key.id,
            "hash": digest(text),
            "env": key.env,
            "name": key.name,
            "permissions": " ".join(key.permissions),
            "project": key.project,
            "created_at": iso(key.created_at),
            "expires_at": expires,
        },
    )
    expires = None if key.expires_at is None else iso(key.expires_at)
    details = {"env": key.env, "permissions": list(key.permissions), "expires_at": expires}
    audit(tx, owner, key.created_at, action, issued.key.id, details)
    return issued


def _own(tx: Tx, scope: Scope, key_id: str) -> tuple[int, Key]:
    """A key of this scope by its id; another's does not exist."""
    owner = tx.rows.owner if tx.rows else 0
    found = tx.run("keys.find", {"owner": owner, "project": scope.project})
    for row in found:
        if row[0] == key_id:
            return owner, _key(row)
    raise NotFound(f"no key {key_id[:40]}", hint="`recollect keys list` shows yours.")


def _key(row: Sequence[Any]) -> Key:
    key_id, env, name, permissions, project, created, expires, revoked, replaced_by, used = row
    times = [time and from_iso(time) for time in (expires, revoked, used)]
    return Key(
        *(key_id, env, name, tuple(permissions.split()), project, from_iso(created), times[0], times[1]),
        replaced_by=replaced_by,
        last_used_at=times[2],
    )
