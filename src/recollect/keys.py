"""API keys: `rec_<env>_<id>_<secret>`. The id is public and names the key; only a hash of the whole is ever kept.

In: the text somebody sent. Out: a `Grant`, which says whose memory the key opens and for what. The secret is 256 random
bits, so a fast hash is enough: there is nothing to guess. What is shown of a key is its id, never its secret.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.errors import InvalidInput, NotAllowed, ScopeError
from recollect.model import Scope

ENVS = ("live", "test", "local")
# What a key may be for. `speak`: what it writes may be the user's own words. `act`: it may name any user of its tenant,
# as the backend of an application with many users does. `admin`: keys, quotas and others' tasks.
PERMISSIONS = ("read", "write", "delete", "speak", "act", "admin")
EXPIRES_DAYS = 90  # how long a new key works, when nothing else is said
GRACE_DAYS = 7  # how long the old one still works after a rotation
_LONGEST = 200  # characters of what was sent that are looked at; a key has fewer
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
_FORM = re.compile(r"rec_(live|test|local)_([a-z2-7]{16})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; its secret is not."""

    id: str
    env: str
    name: str
    permissions: tuple[str, ...]
    project: str | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    replaced_by: str | None = None
    last_used_at: datetime | None = None

    @property
    def shown(self) -> str:
        """The key as it may be shown."""
        return f"rec_{self.env}_{self.id}_…"

    def state(self, now: datetime) -> str:
        """Whether it works: `valid`, `replaced` (and works for a while yet), `expired` or `revoked`."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return "valid" if self.replaced_by is None else "replaced"


@dataclass(frozen=True, slots=True)
class Issued:
    """A key just made, and its text: shown once, kept nowhere."""

    key: Key
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Grant:
    """What a valid key opens. Whatever a request asks for can only narrow it."""

    key: str
    scope: Scope
    permissions: tuple[str, ...]
    expires_at: datetime | None = None

    def require(self, permission: str) -> None:
        """NotAllowed when the key is not for that."""
        if permission not in self.permissions:
            raise NotAllowed(
                f"this key may not {permission}", hint=f"It may {', '.join(self.permissions)}. Ask for another key."
            )

    def narrowed(self, *, user: str | None = None, project: str | None = None) -> Scope:
        """The scope of a request that names a user or a project: its own, unless it acts for others of its tenant."""
        if self.scope.project is not None and project not in (None, self.scope.project):
            raise ScopeError("this key belongs to another project")
        own = self.scope.within(project or self.scope.project)
        if user is None or user == own.user:
            return own
        if "act" not in self.permissions:
            raise ScopeError("this key belongs to another user", hint="A key with `act` may name any user it acts for.")
        return replace(own, user=user)


def new_text(env: str) -> str:
    """A new key: 80 random bits of name, 256 of secret."""
    if env not in ENVS:
        raise InvalidInput(f"unknown environment {env[:20]!r}", hint=f"Environments: {', '.join(ENVS)}.")
    name = "".join(secrets.choice(_LETTERS) for _ in range(16))
    return f"rec_{env}_{name}_{secrets.token_urlsafe(32)}"


def id_of(text: object) -> str:
    """The id in what was sent; empty when that is no key."""
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    return "" if match is None else match[2]


def digest(text: object) -> bytes:
    """What is kept of a key: a hash of all of it, so that no part can be put into another."""
    return hashlib.sha256(str(text)[:_LONGEST].encode("utf-8", "surrogatepass")).digest()


def parse_permissions(words: Iterable[str]) -> tuple[str, ...]:
    """Permissions in their order, each once; at least one."""
    given = {word.strip() for word in words}
    unknown = sorted(given - set(PERMISSIONS))
    if unknown or not given:
        what = f"unknown permission {unknown[0][:20]!r}" if unknown else "a key needs a permission"
        raise InvalidInput(what, hint=f"Permissions: {', '.join(PERMISSIONS)}.")
    return tuple(word for word in PERMISSIONS if word in given)
