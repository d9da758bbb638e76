"""Embeddings from an OpenAI-compatible endpoint: texts in, unit vectors out, over HTTPS.

    POST {base_url}/embeddings   {"model": "...", "input": ["...", ...], "encoding_format": "float"}
    200  {"data": [{"index": 0, "embedding": [0.1, ...]}, ...]}

Nothing of a request or an answer gets into a message: not the key, not the texts, not the server's words.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from recollect.errors import BadVector, InvalidInput, ModelUnavailable
from recollect.models.port import check_vectors
from recollect.models.wire import TRIES, Endpoint, RetryableError, backoffs, bearer, check_key, check_url, sendable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WHAT = "embedding endpoint"
BATCH = 64  # inputs in one request
BYTES_PER_NUMBER = 64  # generous for a decimal number, its comma and indentation
BYTES_BESIDE = 65_536


class RemoteEmbedder:
    """An embedder behind HTTP; safe to share between threads (each request has its own connection)."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        dim: int,
        *,
        timeout: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        plain: Sequence[str] = (),
    ) -> None:
        """`plain`: hosts that may be asked over plain HTTP, beside this machine."""
        if dim < 1:
            raise InvalidInput("The dimension of an embedder is at least 1.")
        self.name = model
        self.dim = dim
        self._endpoint = Endpoint(WHAT, check_url(base_url, WHAT, plain), bearer(check_key(api_key, WHAT)), timeout)
        self._sleep = sleep

    def __repr__(self) -> str:
        return f"RemoteEmbedder(model={self.name!r}, dim={self.dim})"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, in order; raises `ModelUnavailable` or `BadVector`."""
        import numpy as np

        parts = [self._embed_batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        asked = {"model": self.name, "input": [sendable(text) for text in texts], "encoding_format": "float"}
        rows = read_rows(self._try_often(asked, len(texts)), len(texts), self.dim)
        return check_vectors(scale(rows), len(texts), self.dim)

    def _try_often(self, asked: dict[str, Any], count: int) -> bytes:
        for backoff in backoffs():
            try:
                return self._endpoint.post("/embeddings", asked, BYTES_BESIDE + count * self.dim * BYTES_PER_NUMBER)
            except RetryableError as failure:
                if backoff is None:
                    raise unavailable(f"{failure.reason}, {TRIES} times") from None
                self._sleep(failure.pause(backoff))
        raise AssertionError("unreachable")


def read_rows(answer: bytes, n: int, dim: int) -> list[list[Any]]:
    """Return the embeddings in the order of the inputs, each of the dimension in the settings."""
    try:
        data = json.loads(answer)["data"]
        rows = {int(item.get("index", place)): list(item["embedding"]) for place, item in enumerate(data)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise unavailable("its answer is not a list of embeddings") from None
    if sorted(rows) != list(range(n)) or len(data) != n:
        raise unavailable("it did not answer with one embedding for each text")
    for row in rows.values():
        if len(row) != dim:
            raise BadVector(
                f"The embedding endpoint answers with {len(row)} dimensions, the setting says {dim}.",
                hint="Set the dimension that the endpoint's model has.",
            )
    return [rows[place] for place in range(n)]


def scale(rows: list[list[Any]]) -> Any:
    """Bring honest vectors to length one (many models do not); what is not finite or zero stays as it is."""
    import numpy as np

    try:
        array = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadVector("The embedding endpoint answered with something that is not a number.") from None
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(array, axis=1, keepdims=True)
        return np.where((norms > 0) & np.isfinite(norms), array / norms, array)


def unavailable(reason: str) -> ModelUnavailable:
    return ModelUnavailable(f"The {WHAT} cannot be used: {reason}.")
