"""What is too big for a row is kept apart: images, and the whole of a text of which the row shows both ends."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping

from recollect.model import Body

SHOWN_HEAD, SHOWN_TAIL = 6_000, 2_000  # characters of a big text that stay in the row
MAX_BODY = 32 << 20


def body_of(data: bytes, media: str) -> Body:
    """A body named by its own hash."""
    return Body(hashlib.sha256(data).hexdigest(), media, len(data), data)


def image_body(source: object) -> Body | None:
    """The image in a block of the form {"type": "base64", "media_type": …, "data": …}; None for anything else."""
    if not isinstance(source, Mapping) or not isinstance(source.get("data"), str):
        return None
    return decoded(source["data"], source.get("media_type"))


def data_url_body(url: object) -> Body | None:
    """The image in a `data:` URL."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return None
    head, _, data = url[5:].partition(",")
    return decoded(data, head.removesuffix(";base64")) if head.endswith(";base64") else None


def decoded(data: str, media: object) -> Body | None:
    """Bytes out of base64 text; None when it is not that."""
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = media if isinstance(media, str) and 0 < len(media) <= 100 else "application/octet-stream"
    return body_of(raw, kind) if 0 < len(raw) <= MAX_BODY else None


def cut(text: str, limit: int) -> tuple[str, Body | None]:
    """The text as it stands in a row, and its whole as a body when it has more than `limit` bytes."""
    if len(text) <= limit // 4:
        return text, None
    data = text.encode()
    if len(data) <= limit:
        return text, None
    head, tail = min(SHOWN_HEAD, max(limit, 0) * 3 // 4), min(SHOWN_TAIL, max(limit, 0) // 4)
    left = len(text) - head - tail
    if left <= 0:  # few characters of many bytes: nothing to leave out
        return text, None
    shown = f"{text[:head]}\n[… {left:,} characters are kept apart …]\n{text[len(text) - tail :]}"
    if len(data) > MAX_BODY:
        data = data[:MAX_BODY].decode(errors="ignore").encode()
    return shown, body_of(data, "text/plain")
