"""What is odd about the settings of the bus, for whoever starts it or asks the doctor; it changes nothing.

Each is what the operator may not have meant, and what to do about it. None of them holds a secret.
"""

from __future__ import annotations

from typing import NamedTuple

from recollect.bus.errors import KeysUnreadable
from recollect.bus.signing import Keyring, takes_signed_only
from recollect.settings import Settings


class Caution(NamedTuple):
    """Something odd, and what to do about it; whether events cannot be taken for it."""

    text: str
    todo: str
    stops: bool = False


def cautions(settings: Settings, *, hosted: bool = False) -> list[Caution]:
    """What somebody should know before events come; nothing while all is as it is meant."""
    return [*_channel(settings), *_signing(settings, hosted=hosted), *_keys(settings)]


def _channel(settings: Settings) -> list[Caution]:
    usual = Settings()
    if settings.redis_stream == usual.redis_stream or settings.redis_channel != usual.redis_channel:
        return []
    text = (
        f"The stream is {settings.redis_stream}, but the channel is still {settings.redis_channel}: what is published "
        "there is taken in by everyone who listens on this Redis, whatever their stream or database."
    )
    return [Caution(text, "Set redis_channel to a name of its own, here and in the publishers.")]


def _signing(settings: Settings, *, hosted: bool) -> list[Caution]:
    if takes_signed_only(settings, hosted=hosted):
        if settings.redis_keys_file is not None:
            return []
        text = "Only signed events are taken, and there are no keys: every event becomes a dead letter."
        return [Caution(text, "Set redis_keys_file (docs/redis.md, Signing).", stops=True)]
    if not hosted:
        return []
    text = (
        f"Unsigned events are taken (redis_allow_unsigned) as tenant {settings.tenant}'s: "
        "whoever reaches Redis writes into anybody's memory there, though not as their own words."
    )
    return [Caution(text, "Let the publishers sign, then set redis_allow_unsigned to false.")]


def _keys(settings: Settings) -> list[Caution]:
    try:
        Keyring(settings.redis_keys_file).check()
    except KeysUnreadable as error:
        return [Caution(f"Signed events wait: {error}.", error.hint or "", stops=True)]
    return []
