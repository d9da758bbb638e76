"""The anchor of the audit: how far each owner's chain had come, in a file outside the database.

A chain alone cannot tell that its end was cut off, nor that all of it was written anew by who has the key. A line here
says: this chain had so many rows, and the last one had this hash. Lines are only added, each signed. Who copies the
file to a place that the database's administrators cannot write to has a witness.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.store import datadir
from recollect.store.signing import Signer

FILE_NAME = "audit.anchor"
Owner = tuple[str, str]  # tenant, user


class Point(NamedTuple):
    """A chain as it was: its last row and that row's hash."""

    tenant: str
    user: str
    number: int
    hash: str
    at: str


class Anchors(NamedTuple):
    """What a file of anchors holds; `faults` are its lines that nobody with the key wrote."""

    points: Mapping[Owner, Mapping[int, Point]]
    faults: tuple[str, ...] = ()


def read(file: Path, signer: Signer, *, must_exist: bool = False) -> Anchors:
    """Every line of a file; one that is not there holds nothing."""
    if not file.exists() and not must_exist:
        return Anchors({})
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the anchor {file} cannot be read: {error}") from None
    points: dict[Owner, dict[int, Point]] = {}
    faults = []
    for place, line in enumerate(lines, 1):
        point = _point(line, signer)
        if isinstance(point, str):
            faults.append(f"line {place} of {file.name} {point}")
        else:
            points.setdefault((point.tenant, point.user), {})[point.number] = point
    return Anchors(points, tuple(faults))


def append(file: Path, points: Iterable[Point], signer: Signer) -> None:
    """Add lines, durably, in one write."""
    text = "".join([_line(point, signer) for point in points])
    if not text:
        return
    if not file.parent.exists():
        datadir.prepare(file.parent)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
        try:
            os.write(handle, text.encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise StoreUnavailable(
            f"the anchor {file} cannot be written: {error.strerror}", hint="The setting audit_anchor_file names it."
        ) from None


def _line(point: Point, signer: Signer) -> str:
    said = point._asdict()
    mac = signer.sign(_told(point)).hex()
    return json.dumps({**said, "signed_by": signer.name, "mac": mac}) + "\n"


def _told(point: Point) -> bytes:
    return b"anchor" + json.dumps(point, separators=(",", ":")).encode()


def _point(line: str, signer: Signer) -> Point | str:
    """A line as a point, or what is wrong with it."""
    try:
        given = json.loads(line)
        point = Point(*(given[name] for name in Point._fields))
        key, mac = given["signed_by"], bytes.fromhex(given["mac"])
    except (ValueError, KeyError, TypeError):
        return "is no anchor"
    if key not in signer.keys:
        return f"is signed with the key {str(key)[:20]}, which is not here"
    if not hmac.compare_digest(hmac.digest(signer.keys[key], _told(point), "sha256"), mac):
        return "was changed"
    return point
