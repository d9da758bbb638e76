"""Spans for OpenTelemetry, where somebody wants them: requests, recalls and tasks come in, spans with figures go out.

Wanted is what the standard variables say (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_EXPORTER` …) and the package
opentelemetry-sdk can do. Else nothing is imported, and a span costs the making of one small object. A span holds names,
counts and times; never content, a question, an id of a user or a key.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from recollect.settings import environment
from recollect.version import __version__

Figure = str | int | float | bool
LAST_SECONDS = 1.0  # how long the last spans may take on their way
App = Callable[[Any, Any, Any], Awaitable[None]]  # as ASGI has it
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class Span:
    """What is happening; `tell` adds to what is known of it."""

    __slots__ = ("_span",)

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def tell(self, figures: Mapping[str, Figure], *, name: str | None = None, failed: bool = False) -> None:
        """Figures, named as OpenTelemetry names them; a better name for it; whether it failed."""
        if self._span is None:
            return
        if name is not None:
            self._span.update_name(name)
        for key, value in figures.items():
            self._span.set_attribute(key, value)
        if failed:
            from opentelemetry.trace import StatusCode

            self._span.set_status(StatusCode.ERROR)


class Tracing:
    """Makes spans; without a tracer, spans that nobody sees."""

    def __init__(self, provider: Any = None) -> None:
        self._provider = provider
        self._tracer = None if provider is None else provider.get_tracer("recollect", __version__)

    @property
    def wanted(self) -> bool:
        return self._tracer is not None

    @contextmanager
    def request(self, headers: Mapping[str, str]) -> Iterator[Span]:
        """A request is being answered; `headers` may say which span of the caller's it belongs to."""
        if self._tracer is None:
            yield Span()
            return
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        theirs = TraceContextTextMapPropagator().extract(headers)
        with self._tracer.start_as_current_span(
            "request", context=theirs, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            yield Span(span)

    def past(self, name: str, seconds: float, figures: Mapping[str, Figure], *, failed: bool = False) -> None:
        """Something was done and took so long: a recall within a request, or a task."""
        if self._tracer is None:
            return
        end = time.time_ns()
        span = self._tracer.start_span(name, start_time=end - int(seconds * 1e9))
        Span(span).tell(figures, failed=failed)
        span.end(end)

    def close(self) -> None:
        """Send what is left, if whoever takes it answers soon: nothing waits long for a trace."""
        if self._provider is not None:
            ending = threading.Thread(target=self._provider.shutdown, name="recollect-tracing", daemon=True)
            ending.start()
            ending.join(LAST_SECONDS)


def open_tracing(env: Mapping[str, str] | None = None) -> Tracing:
    """Tracing as the environment wants it; none when it says nothing, or when the package is not there."""
    env = environment() if env is None else env
    if not _is_wanted(env):
        return Tracing()
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        return Tracing()
    named = {} if env.get("OTEL_SERVICE_NAME") else {"service.name": "recollect"}
    about = Resource.create({**named, "service.version": __version__})
    provider = TracerProvider(resource=about, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Tracing(provider)


def traced(app: App, tracing: Tracing, template_of: Callable[[str, str], str]) -> App:
    """An ASGI app whose every request is a span, named by its route's template; as it is where nobody wants that."""
    if not tracing.wanted:
        return app

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        status = [500]

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with tracing.request(headers) as span:
            try:
                await app(scope, receive, sent)
            finally:
                method, route = scope["method"], template_of(scope["method"], scope["path"])
                figures = {"http.request.method": method, "http.route": route, "http.response.status_code": status[0]}
                span.tell(figures, name=f"{method} {route}", failed=status[0] >= 500)

    return answer


def _is_wanted(env: Mapping[str, str]) -> bool:
    if env.get("OTEL_SDK_DISABLED", "").casefold() == "true":
        return False
    exporter = env.get("OTEL_TRACES_EXPORTER", "")
    return exporter == "otlp" or (exporter == "" and any(env.get(name) for name in _ENDPOINTS))
