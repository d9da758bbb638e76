"""JSON over HTTPS to a model's server: one request, one bounded answer.

In: an address, the headers with the key, a body. Out: the bytes of a 200, or an error that says what went wrong and
nothing else: not the key, not the texts, not the server's words. Redirects are refused, since following one would hand
the key to another host. Nothing is tried twice here; a `RetryableError` says that another try may go better.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

from recollect.errors import InvalidInput, ModelRefused, ModelUnavailable

if TYPE_CHECKING:
    import http.client

TRIES = 3
BACKOFF_SECONDS = 0.5  # before the second try; doubled before the third
LONGEST_WAIT = 10.0  # of what a server may ask for with Retry-After
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RetryableError(Exception):
    """This try failed in a way that another may not; `wait` is what the server asked for."""

    def __init__(self, reason: str, wait: float | None = None, *, spent: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait
        self.spent = spent  # whether a model may have worked for it

    def pause(self, backoff: float) -> float:
        """How long to wait before the next try."""
        return backoff if self.wait is None else min(self.wait, LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server, and how its errors name it. Address and headers are never shown: the key is in them."""

    what: str
    url: SplitResult = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    timeout: float = 30.0

    def post(self, path: str, asked: Mapping[str, Any], limit: int) -> bytes:
        """The body of the answer, of at most `limit` bytes; raises `RetryableError` or `ModelUnavailable`."""
        import http.client

        body = encoded(asked)
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.headers}
        deadline = time.monotonic() + self.timeout
        connection = connect(self.url, self.timeout)
        try:
            self._open(connection)
            connection.request("POST", f"{self.url.path}{path}", body, headers)
            with connection.getresponse() as response:
                self._check_status(response)
                return self._read(response, limit, deadline)
        except TimeoutError:
            raise RetryableError("it did not answer in time") from None
        except (http.client.HTTPException, OSError) as error:
            # The class alone: the text of such an error may quote the address or a header.
            raise self.unavailable(f"the connection failed ({type(error).__name__})") from None
        finally:
            connection.close()

    def unavailable(self, reason: str) -> ModelUnavailable:
        return ModelUnavailable(f"The {self.what} cannot be used: {reason}.")

    def refused(self, reason: str, status: int | None = None, hint: str | None = None) -> ModelRefused:
        return ModelRefused(f"The {self.what} cannot be used: {reason}.", hint=hint, status=status)

    def _open(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except TimeoutError:
            raise RetryableError("it cannot be reached in time", spent=False) from None
        except OSError as error:
            raise self.refused(f"the connection failed ({type(error).__name__})") from None

    def _check_status(self, response: http.client.HTTPResponse) -> None:
        status = response.status
        if status == 200:
            return
        if status == 429 or status >= 500:
            raise RetryableError(f"it answered with status {status}", retry_after(response.getheader("Retry-After")))
        if 300 <= status < 400:
            reason = "it answered with a redirect, which is not followed"
            raise self.refused(reason, status, hint="Set the final address.")
        if status in (401, 403):
            raise self.refused(f"it refused the key (status {status})", status, hint=f"Check the {self.what}'s key.")
        raise self.refused(f"it answered with status {status}", status)

    def _read(self, response: http.client.HTTPResponse, limit: int, deadline: float) -> bytes:
        """The answer up to a size and a moment: a socket's timeout alone lets a slow drip go on for ever."""
        parts: list[bytes] = []
        left = limit
        while part := response.read1(min(left + 1, 65_536)):
            left -= len(part)
            if left < 0:
                raise self.unavailable(f"its answer is larger than {limit:,} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError
            parts.append(part)
        return b"".join(parts)


def check_url(base_url: str, what: str, plain: Sequence[str] = ()) -> SplitResult:
    """Return the parts of a usable address: HTTPS, or plain HTTP to this very machine or a host in `plain`."""
    from recollect.models.address import is_closed

    try:
        url = urlsplit(base_url.rstrip("/"))
        host, _port = url.hostname, url.port
    except ValueError:
        raise InvalidInput(f"The {what}'s address is not a URL.") from None
    if url.scheme not in ("http", "https") or not host or url.username or url.query or url.fragment:
        raise InvalidInput(f"The {what}'s address must look like https://host/v1.")
    if is_closed(host):
        raise InvalidInput(f"The {what}'s address is of this link, or of a cloud's own service: no model is there.")
    if url.scheme == "http" and host not in (*LOOPBACK, *map(str.casefold, plain)):
        raise InvalidInput(f"The {what} must be reached over https unless it is on this machine.")
    return url


def check_key(key: str, what: str) -> str:
    """Return the key if it can stand in a header."""
    if not key.isascii() or not key.isprintable():
        raise InvalidInput(f"The {what}'s key has characters that no key has.")
    return key


def bearer(key: str) -> dict[str, str]:
    """The header with the key, where there is one."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def encoded(asked: Mapping[str, Any]) -> bytes:
    """The body of a request; characters beyond ASCII as themselves, which is shorter."""
    return json.dumps(asked, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def sendable(text: str) -> str:
    """Return the text as any server takes it: no half characters, and a space where there is nothing."""
    return text.encode("utf-8", "replace").decode() or " "


def connect(url: SplitResult, timeout: float) -> http.client.HTTPConnection:
    """A connection to be opened, which leads to no address that `check_url` would refuse."""
    from recollect.models.address import Plain, Secure

    kind = Secure if url.scheme == "https" else Plain
    return kind(url.hostname or "", url.port, timeout=timeout)


def backoffs() -> Iterator[float | None]:
    """Yield what to wait after each try should it fail, and None after the last."""
    for number in range(TRIES - 1):
        yield BACKOFF_SECONDS * 2**number
    yield None


def retry_after(value: str | None) -> float | None:
    """Read a Retry-After in seconds; the form with a date is left to our own backoff."""
    return float(value) if value and value.isascii() and value.isdigit() else None
