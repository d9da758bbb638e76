"""Embeddings from an OpenAI-compatible endpoint: texts in, unit vectors out, over HTTPS.

    POST {base_url}/embeddings   {"model": "...", "input": ["...", ...], "encoding_format": "float"}
    200  {"data": [{"index": 0, "embedding": [0.1, ...]}, ...]}

Nothing of a request or an answer gets into a message: not the key, not the texts, not the server's words.
Redirects are refused, since following one would hand the key to another host.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from recollect.errors import BadVector, InvalidInput, ModelUnavailable
from recollect.models.port import check_vectors

if TYPE_CHECKING:
    import http.client

    import numpy as np
    from numpy.typing import NDArray

BATCH = 64  # inputs in one request
TRIES = 3
BACKOFF_SECONDS = 0.5  # before the second try; doubled before the third
LONGEST_WAIT = 10.0  # of what a server may ask for with Retry-After
BYTES_PER_NUMBER = 64  # generous for a decimal number, its comma and indentation
BYTES_BESIDE = 65_536
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RetryableError(Exception):
    """This try failed in a way that another may not; `wait` is what the server asked for."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait


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
    ) -> None:
        if dim < 1:
            raise InvalidInput("The dimension of an embedder is at least 1.")
        if not api_key.isascii() or not api_key.isprintable():
            raise InvalidInput("The embedding endpoint's key has characters that no key has.")
        self.name = model
        self.dim = dim
        self._url = check_url(base_url)
        self._key = api_key
        self._timeout = timeout
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
        body = json.dumps(asked).encode()
        rows = read_rows(self._try_often(body, len(texts)), len(texts), self.dim)
        return check_vectors(scale(rows), len(texts), self.dim)

    def _try_often(self, body: bytes, count: int) -> bytes:
        for wait in pauses():
            try:
                return self._request(body, BYTES_BESIDE + count * self.dim * BYTES_PER_NUMBER)
            except RetryableError as failure:
                if wait is None:
                    raise unavailable(f"{failure.reason}, {TRIES} times") from None
                self._sleep(wait if failure.wait is None else min(failure.wait, LONGEST_WAIT))
        raise AssertionError("unreachable")

    def _request(self, body: bytes, limit: int) -> bytes:
        import http.client

        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        deadline = time.monotonic() + self._timeout
        connection = connect(self._url, self._timeout)
        try:
            connection.request("POST", f"{self._url.path}/embeddings", body, headers)
            with connection.getresponse() as response:
                check_status(response)
                return read_bounded(response, limit, deadline)
        except TimeoutError:
            raise RetryableError("it did not answer in time") from None
        except (http.client.HTTPException, OSError) as error:
            # The class alone: the text of such an error may quote the address or a header.
            raise unavailable(f"the connection failed ({type(error).__name__})") from None
        finally:
            connection.close()


def check_url(base_url: str) -> SplitResult:
    """Return the parts of a usable address: HTTPS, or plain HTTP to this very machine."""
    try:
        url = urlsplit(base_url.rstrip("/"))
        host, _port = url.hostname, url.port
    except ValueError:
        raise InvalidInput("The embedding endpoint's address is not a URL.") from None
    if url.scheme not in ("http", "https") or not host or url.username or url.query or url.fragment:
        raise InvalidInput("The embedding endpoint's address must look like https://host/v1.")
    if url.scheme == "http" and host not in LOOPBACK:
        raise InvalidInput("The embedding endpoint must be reached over https unless it is on this machine.")
    return url


def sendable(text: str) -> str:
    """Return the text as any server takes it: no half characters, and a space where there is nothing."""
    return text.encode("utf-8", "replace").decode() or " "


def connect(url: SplitResult, timeout: float) -> http.client.HTTPConnection:
    import http.client

    host = url.hostname or ""
    if url.scheme == "https":
        return http.client.HTTPSConnection(host, url.port, timeout=timeout)
    return http.client.HTTPConnection(host, url.port, timeout=timeout)


def pauses() -> Iterator[float | None]:
    """Yield what to wait after each try should it fail, and None after the last."""
    for number in range(TRIES - 1):
        yield BACKOFF_SECONDS * 2**number
    yield None


def check_status(response: http.client.HTTPResponse) -> None:
    status = response.status
    if status == 200:
        return
    if status == 429 or status >= 500:
        raise RetryableError(f"it answered with status {status}", retry_after(response.getheader("Retry-After")))
    if 300 <= status < 400:
        raise unavailable("it answered with a redirect, which is not followed", hint="Set the final address.")
    if status in (401, 403):
        raise unavailable(f"it refused the key (status {status})", hint="Check the embedding endpoint's key.")
    raise unavailable(f"it answered with status {status}")


def retry_after(value: str | None) -> float | None:
    """Read a Retry-After in seconds; the form with a date is left to our own backoff."""
    return float(value) if value and value.isascii() and value.isdigit() else None


def read_bounded(response: http.client.HTTPResponse, limit: int, deadline: float) -> bytes:
    """Read the answer up to a size and a moment: a socket's timeout alone lets a slow drip go on for ever."""
    parts: list[bytes] = []
    left = limit
    while part := response.read1(min(left + 1, 65_536)):
        left -= len(part)
        if left < 0:
            raise unavailable("its answer is larger than the vectors asked for")
        if time.monotonic() > deadline:
            raise TimeoutError
        parts.append(part)
    return b"".join(parts)


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


def unavailable(what: str, hint: str | None = None) -> ModelUnavailable:
    return ModelUnavailable(f"The embedding endpoint cannot be used: {what}.", hint=hint)
