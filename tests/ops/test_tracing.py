"""Traces cost nothing unless they are wanted, and hold nothing that was said."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest

from recollect.metrics import Metrics
from recollect.tracing import Tracing, open_tracing, traced


def test_nothing_is_loaded_unless_it_is_wanted() -> None:
    code = (
        "import sys; from recollect.tracing import open_tracing; t = open_tracing({});\n"
        "with t.request({}) as s: s.tell({'http.route': '/search'}, name='x')\n"
        "print([m for m in sys.modules if m.startswith('opentelemetry')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"OTEL_SERVICE_NAME": "x"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
    ],
    ids=["nothing said", "a name alone", "disabled", "no exporter"],
)
def test_it_is_off_unless_somebody_says_where_to(env: dict[str, str]) -> None:
    assert not open_tracing(env).wanted


@pytest.mark.timed
def test_what_is_not_wanted_costs_next_to_nothing() -> None:
    tracing = Tracing()

    async def app(scope: object, receive: object, send: object) -> None:
        raise AssertionError

    assert traced(app, tracing, lambda method, path: path) is app
    began = time.perf_counter()
    for _ in range(10_000):
        tracing.past("recall", 0.1, {"hits": 3})
    assert time.perf_counter() - began < 0.5


def test_spans_have_figures_belong_to_the_callers_and_hold_no_words() -> None:
    """With the package; whoever has no use for traces need not have it."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    exporter = memory.InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    tracing = Tracing(provider)
    metrics = Metrics(tracing=tracing)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        metrics.recalled("abstained", 0.25)
        await send({"type": "http.response.start", "status": 503, "headers": []})
        raise ValueError("a walrus in the question")

    async def send(message: Any) -> None:
        pass

    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    headers = [(b"traceparent", f"00-{trace}-{parent}-01".encode()), (b"x-api-key", b"walrus key")]
    scope = {"type": "http", "method": "POST", "path": "/memories/walrus", "headers": headers}
    with pytest.raises(ValueError, match="walrus"):
        asyncio.run(traced(app, tracing, lambda method, path: "/memories/{memory_id}")(scope, None, send))  # type: ignore[arg-type]
    recall, asked = exporter.get_finished_spans()
    assert (recall.name, asked.name) == ("recall", "POST /memories/{memory_id}")
    assert f"{asked.context.trace_id:032x}" == trace
    assert f"{asked.parent.span_id:016x}" == parent
    assert recall.parent.span_id == asked.context.span_id
    assert recall.end_time - recall.start_time == 250_000_000
    assert asked.attributes["http.response.status_code"] == 503
    assert not asked.status.is_ok
    assert "walrus" not in asked.to_json() + recall.to_json()
    tracing.close()
