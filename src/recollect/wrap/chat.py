"""`remembering`: somebody's chat client as it was, with a memory beside it.

In: a client made like OpenAI's or Anthropic's, blocking or awaited, and a memory (of a data directory or of a server).
Out: a stand-in that passes everything on. Calls that carry a conversation are given what is known about the user's last
words, as quoted data within a number of tokens, and what was said and answered is recorded; streams are recorded when
they end. Everything else (tools, images, other calls, errors of the service) is as without it.

    client = remembering(OpenAI(), memory, session="support-42")
    client.chat.completions.create(model=..., messages=[...])
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

from recollect.clock import now
from recollect.errors import InvalidInput
from recollect.wrap.beside import Beside
from recollect.wrap.dialects import CALLS, Dialect, asked, with_context

_Client = TypeVar("_Client")
_COPIES = ("with_options", "copy")  # what makes another client of one


def remembering(
    client: _Client,
    memory: Any,
    session: str | Callable[[], str],
    *,
    max_tokens: int = 2_000,
    patience: float = 2.0,
    record: bool = True,
    **asking: Any,
) -> _Client:
    """The client with this memory beside it; `session` is the conversation's name, or gives it at each call.

    `asking` narrows what is recalled, as `context` takes it: kinds=, tags=, limit=, tiers=, project= …
    """
    if not any(_reach(client, path) for path in CALLS):
        raise InvalidInput(
            "this client has neither chat.completions, messages nor responses",
            hint="Give the client itself, such as OpenAI() or Anthropic().",
        )
    beside = Beside(memory, session, max_tokens=max_tokens, patience=patience, record=record, asking=asking)
    if beside.awaits and not _is_async_client(client):
        raise InvalidInput("a client that blocks cannot use a memory that is awaited", hint="Use Client.")
    return _StandIn(client, beside)  # type: ignore[return-value]


def _reach(client: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        client = getattr(client, name, None)
    return callable(client)


def _is_async_client(client: Any) -> bool:
    return any(kind.__name__.startswith("Async") for kind in type(client).__mro__) or any(
        _reach(client, path) and _is_awaited(_found(client, path)) for path in CALLS
    )


def _found(client: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        client = getattr(client, name)
    return client


def _is_awaited(call: Any) -> bool:
    """Whether calling this gives something to wait for; libraries put plain functions around such."""
    return inspect.iscoroutinefunction(inspect.unwrap(call))


class _StandIn:
    """A client, or a part of one, with the calls that carry a conversation replaced."""

    def __init__(self, inner: Any, beside: Beside, path: tuple[str, ...] = ()) -> None:
        self.__dict__.update(_inner=inner, _beside=beside, _path=path)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        path = (*self._path, name)
        if path in CALLS and callable(found):
            return _call(found, CALLS[path], self._beside, streams=name == "stream")
        if any(call[: len(path)] == path for call in CALLS):
            return _StandIn(found, self._beside, path)
        if name in _COPIES and not self._path:
            return lambda *args, **given: _StandIn(found(*args, **given), self._beside)
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._inner)

    def __repr__(self) -> str:
        return f"remembering({self._inner!r})"

    def __enter__(self) -> _StandIn:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        self._beside.close()
        return self._inner.__exit__(*raised)

    async def __aenter__(self) -> _StandIn:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        await self._beside.close_soon()
        return await self._inner.__aexit__(*raised)


def _call(found: Callable[..., Any], dialect: Dialect, beside: Beside, *, streams: bool) -> Callable[..., Any]:
    """The call with the memory before and after it."""
    if streams:
        return lambda *args, **given: _Opening(found, args, given, dialect, beside)

    def call(*args: Any, **given: Any) -> Any:
        said, began = _said(dialect, given), now()
        answer = found(*args, **_enriched(dialect, given, beside.recall(said)))
        if given.get("stream"):
            return _Stream(answer, dialect, beside, said, began)
        beside.keep(said, _read(dialect.answer, answer), began)
        return answer

    async def call_soon(*args: Any, **given: Any) -> Any:
        said, began = _said(dialect, given), now()
        answer = await found(*args, **_enriched(dialect, given, await beside.recall_soon(said)))
        if given.get("stream"):
            return _Stream(answer, dialect, beside, said, began)
        await beside.keep_soon(said, _read(dialect.answer, answer), began)
        return answer

    return call_soon if _is_awaited(found) else call


def _said(dialect: Dialect, given: dict[str, Any]) -> str | None:
    """What the user says; of what is written in some other way, nothing. The service is to judge it, not we."""
    try:
        return asked(dialect, given)
    except Exception:
        return None


def _enriched(dialect: Dialect, given: dict[str, Any], context: str) -> dict[str, Any]:
    return with_context(dialect, given, context) if context else given


def _read(how: Callable[[Any], str], answer: Any) -> str:
    """The words of an answer; of one that is made in some other way, none."""
    try:
        return how(answer)
    except Exception:
        return ""


class _Stream:
    """A stream as it was, whose words are recorded when it ends, or when it is closed."""

    def __init__(self, inner: Any, dialect: Dialect, beside: Beside, said: str | None, began: datetime) -> None:
        self._inner = inner
        self._dialect = dialect
        self._beside = beside
        self._said = said
        self._began = began
        self._came: list[str] = []
        self._kept = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __iter__(self) -> Iterator[Any]:
        for chunk in self._inner:
            self._came.append(_read(self._dialect.chunk, chunk))
            yield chunk
        self._keep()

    def __next__(self) -> Any:
        try:
            chunk = next(self._inner)
        except StopIteration:
            self._keep()
            raise
        self._came.append(_read(self._dialect.chunk, chunk))
        return chunk

    def __enter__(self) -> _Stream:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: Any) -> Any:
        if raised[0] is None:
            self._keep()
        return self._inner.__exit__(*raised)

    def close(self) -> Any:
        """End it here; what came is recorded. Of a stream that is awaited, to be awaited."""
        if _is_awaited(self._inner.close):
            return self._close_soon()
        self._keep()
        return self._inner.close()

    async def _close_soon(self) -> Any:
        await self._keep_soon()
        return await self._inner.close()

    def _keep(self) -> None:
        if not self._kept:
            self._kept = True
            self._beside.keep(self._said, "".join(self._came), self._began)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for chunk in self._inner:
            self._came.append(_read(self._dialect.chunk, chunk))
            yield chunk
        await self._keep_soon()

    async def __anext__(self) -> Any:
        try:
            chunk = await self._inner.__anext__()
        except StopAsyncIteration:
            await self._keep_soon()
            raise
        self._came.append(_read(self._dialect.chunk, chunk))
        return chunk

    async def __aenter__(self) -> _Stream:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> Any:
        if raised[0] is None:
            await self._keep_soon()
        return await self._inner.__aexit__(*raised)

    async def _keep_soon(self) -> None:
        if not self._kept:
            self._kept = True
            await self._beside.keep_soon(self._said, "".join(self._came), self._began)


class _Opening:
    """`with client.messages.stream(…) as stream`: asked when it opens, recorded when it closes."""

    def __init__(
        self, found: Callable[..., Any], args: Any, given: dict[str, Any], dialect: Dialect, beside: Beside
    ) -> None:
        self._found, self._args, self._given = found, args, given
        self._dialect, self._beside = dialect, beside
        self._said, self._began = _said(dialect, given), now()
        self._manager: Any = None
        self._stream: Any = None

    def __enter__(self) -> Any:
        context = self._beside.recall(self._said)
        self._manager = self._found(*self._args, **_enriched(self._dialect, self._given, context))
        self._stream = self._manager.__enter__()
        return self._stream

    def __exit__(self, *raised: Any) -> Any:
        if raised[0] is None:
            self._beside.keep(self._said, self._came(), self._began)
        return self._manager.__exit__(*raised)

    async def __aenter__(self) -> Any:
        context = await self._beside.recall_soon(self._said)
        self._manager = self._found(*self._args, **_enriched(self._dialect, self._given, context))
        self._stream = await self._manager.__aenter__()
        return self._stream

    async def __aexit__(self, *raised: Any) -> Any:
        if raised[0] is None:
            await self._beside.keep_soon(self._said, self._came(), self._began)
        return await self._manager.__aexit__(*raised)

    def _came(self) -> str:
        """What the stream has put together so far."""
        try:
            return self._dialect.answer(getattr(self._stream, self._dialect.snapshot, None))
        except Exception:  # before its first word a stream has nothing to show, and says so by an error
            return ""
