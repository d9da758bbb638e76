"""`Client`: a server's memory for a program that waits.

    with Client("https://memory.example.org", key="…") as memory:
        memory.remember("Deploys run on Tuesdays.")
        print(memory.recall("when do we deploy?").hits)

One client may be used by several threads; connections are kept and used again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from recollect.client import wire
from recollect.client.address import locate
from recollect.client.asks import Asks, Steps, named
from recollect.client.wire import Request, Trouble
from recollect.errors import RecollectError

_P = ParamSpec("_P")
_T = TypeVar("_T")


def _done(ask: Callable[Concatenate[Asks, _P], Steps[_T]]) -> Callable[Concatenate[Client, _P], _T]:
    """The method that does all steps of a question."""

    def method(self: Client, /, *args: _P.args, **given: _P.kwargs) -> _T:
        return self._run(ask(self._asks, *args, **given))

    return named(ask, method)


class Client:
    """The memory of a server. Every method has the façade's name, arguments and values."""

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        user: str | None = None,
        project: str | None = None,
        write_url: str | None = None,
        data_dir: str | Path | None = None,
        timeout: float = 30.0,
        tries: int = 3,
        plain_http: bool = False,
    ) -> None:
        """`user` and `project` narrow what the key opens. `timeout` is for one try, in seconds; `tries` is how often a
        request is made that met a broken connection, a server in trouble or a limit.
        """
        httpx = wire.library()
        self._address = locate(url, write_url=write_url, key=key, data_dir=data_dir, plain_http=plain_http)
        self._asks = Asks(user, project)
        self._timeout, self._tries = timeout, max(1, tries)
        self._http = httpx.Client(timeout=timeout, follow_redirects=False, trust_env=not self._address.here)

    @property
    def user(self) -> str | None:
        """The user that is asked for; None: the key's own."""
        return self._asks.user

    @property
    def project(self) -> str | None:
        """The project that is asked for."""
        return self._asks.project

    record = _done(Asks.record)
    record_many = _done(Asks.record_many)
    remember = _done(Asks.remember)
    recall = _done(Asks.recall)
    context = _done(Asks.context)
    messages = _done(Asks.messages)
    prompt = _done(Asks.prompt)
    sessions = _done(Asks.sessions)
    history = _done(Asks.history)
    recent = _done(Asks.recent)
    gist = _done(Asks.gist)
    summarize = _done(Asks.summarize)
    get = _done(Asks.get)
    memories = _done(Asks.memories)
    versions = _done(Asks.versions)
    update = _done(Asks.update)
    archive = _done(Asks.archive)
    confirm = _done(Asks.confirm)
    feedback = _done(Asks.feedback)
    restore = _done(Asks.restore)
    forget = _done(Asks.forget)
    whoami = _done(Asks.whoami)
    health = _done(Asks.health)

    def export(self) -> Iterator[dict[str, Any]]:
        """Everything in scope, as records for JSON Lines, as they come."""
        sent, lines = wire.sent(self._address, self._asks.exporting()), wire.Lines()
        httpx = wire.library()
        try:
            with self._http.stream(sent.method, sent.url, headers=dict(sent.headers)) as response:
                if response.status_code != 200:
                    raise wire.refused(response.status_code, response.headers, self._gathered(response))
                for part in response.iter_raw():
                    yield from lines.add(part)
            yield from lines.end()
        except httpx.HTTPError as error:
            raise wire.failed(error).error from None
        except Trouble as trouble:
            raise trouble.error from None

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._address.read!r})"

    # -- inside --------------------------------------------------------------------------------------------------------

    def _run(self, steps: Steps[_T]) -> _T:
        """Send what the steps ask for, give them the answers, and return what they make of it."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._ask(request)
                except RecollectError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def _ask(self, request: Request) -> Any:
        sent = wire.sent(self._address, request)
        for number in count(1):
            try:
                return self._once(sent)
            except Trouble as trouble:
                wait = wire.pause(number, self._tries, trouble)
                if wait is None:
                    raise trouble.error from None
                time.sleep(wait)
        raise AssertionError

    def _once(self, sent: wire.Sent) -> Any:
        httpx = wire.library()
        try:
            with self._http.stream(sent.method, sent.url, headers=dict(sent.headers), content=sent.content) as response:
                return wire.answered(response.status_code, response.headers, self._gathered(response))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise wire.failed(error) from None

    def _gathered(self, response: Any) -> bytes:
        body = wire.Gathering(time.monotonic() + self._timeout)
        for part in response.iter_raw():
            body.add(part)
        return body.whole()
