"""Who signed an event: HMAC-SHA-256 over its canonical JSON, with a secret of the tenant it is for.

In: the file of secrets, `{"acme": {"backend": "…", "worker": {"secret": "…", "speak": false}}}` (tenant → key →
secret). Out: the tenant, and whether what the key signs may be the user's own words. The file is read again when it
changed, so that keys can be added and taken away while everything runs.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from recollect.bus.canonical import canonical, read
from recollect.bus.errors import BadMessage, Forged, KeysUnreadable, Replayed
from recollect.bus.message import Message
from recollect.clock import iso
from recollect.model import check_id
from recollect.settings import Settings

WINDOW = timedelta(minutes=5)  # how far the times of signing and of arrival may be apart
SHORTEST = 32  # characters of a secret
MOUNTED = Path("/run/secrets")  # what a container engine mounts there is for that container alone, whatever its mode
_HEX = re.compile(r"[0-9a-f]{64}")
_FORM = 'redis_keys_file looks like {"acme": {"backend": "a secret of 32 characters or more"}}.'


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs events of one tenant."""

    tenant: str
    key: str
    secret: bytes = field(repr=False)
    speaks: bool = True


class Keyring:
    """The secrets in a file; without a file there are none."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._stamp: tuple[int, ...] | None = None
        self._signers: dict[tuple[str, str], Signer] = {}

    def check(self) -> None:
        """KeysUnreadable when the file cannot be used as it is."""
        self._refresh()

    def find(self, tenant: str, key: str | None = None) -> Signer | None:
        """The key of this name; without a name, the tenant's first."""
        self._refresh()
        if key is not None:
            return self._signers.get((tenant, key))
        return next((signer for signer in self._signers.values() if signer.tenant == tenant), None)

    def _refresh(self) -> None:
        if self._file is None:
            return
        try:
            info = self._file.stat()
            stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
            if stamp == self._stamp:
                return
            text = self._file.read_bytes()
        except OSError as error:
            raise KeysUnreadable(
                f"the file of Redis keys cannot be read: {error.strerror}", hint="See the setting redis_keys_file."
            ) from None
        if os.name == "posix" and stat.S_IMODE(info.st_mode) & (0o022 if self._is_mounted() else 0o027):
            raise KeysUnreadable(
                "others may read or change the file of Redis keys", hint="Make redis_keys_file private: chmod 600."
            )
        self._signers = _signers(text)
        self._stamp = stamp

    def _is_mounted(self) -> bool:
        return self._file is not None and self._file.is_relative_to(MOUNTED)


def takes_signed_only(settings: Settings, *, hosted: bool) -> bool:
    """Whether an event that nobody signed is refused: where others are served it is, unless the operator says so."""
    return settings.redis_require_signature or (hosted and not settings.redis_allow_unsigned)


def sign(event: Mapping[str, Any], signer: Signer, *, at: datetime, nonce: str | None = None) -> dict[str, Any]:
    """The event with what proves who sent it and when; each sending needs a nonce of its own."""
    proven = {
        **event,
        "tenant": signer.tenant,
        "key": signer.key,
        "sent_at": iso(at),
        "nonce": nonce or secrets.token_hex(16),
    }
    return {**proven, "signature": hmac.digest(signer.secret, canonical(proven), "sha256").hex()}


def verify(message: Message, keys: Keyring) -> Signer:
    """The key that signed it; Forged when that cannot be."""
    proof = message.proof
    if proof is None:
        raise Forged("the event is not signed", hint="Only signed events are taken here (redis_require_signature).")
    signer = keys.find(proof.tenant, proof.key)
    # Always one HMAC and one comparison: the time it takes does not tell which keys there are.
    made = hmac.digest(signer.secret if signer else b"\0" * SHORTEST, proof.signed, "sha256").hex()
    given = proof.signature if _HEX.fullmatch(proof.signature) else ""
    if not hmac.compare_digest(made, given) or signer is None:
        raise Forged("the signature is not of a key of this tenant")
    return signer


def check_fresh(message: Message, arrived: datetime) -> None:
    """Replayed when it was signed at quite another time than it got here."""
    assert message.proof is not None
    if abs(message.proof.sent_at - arrived) > WINDOW:
        raise Replayed(f"signed more than {WINDOW.seconds // 60} minutes before or after it got here")


def _signers(text: bytes) -> dict[tuple[str, str], Signer]:
    try:
        given = read(text)
        if not isinstance(given, dict) or not all(isinstance(keys, dict) for keys in given.values()):
            raise BadMessage
        found = [_signer(tenant, key, value) for tenant, keys in given.items() for key, value in keys.items()]
    except (BadMessage, ValueError):
        raise KeysUnreadable("the file of Redis keys is not what it should be", hint=_FORM) from None
    return {(signer.tenant, signer.key): signer for signer in found}


def _signer(tenant: str, key: str, value: object) -> Signer:
    told = value if isinstance(value, dict) else {"secret": value}
    secret, speaks = told.get("secret"), told.get("speak", True)
    fit = isinstance(secret, str) and len(secret) >= SHORTEST and isinstance(speaks, bool)
    if not fit or not told.keys() <= {"secret", "speak"}:
        raise BadMessage
    return Signer(check_id(tenant, "tenant"), check_id(key, "key"), str(secret).encode("utf-8"), bool(speaks))
