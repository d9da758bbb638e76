"""Whatever is sent, by the rules or against them: no fault of the server, and every answer fits the OpenAPI (P43).

Requests are made from the document itself, half of them as it allows, half as it does not, the same ones on every run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.flow.memory_fixture import HandClock
from tests.http.api_fixture import ANN, BOB, opened_api

EACH = 14  # cases of each kind for each operation; each is sent with every key
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.mark.slow
def test_no_request_is_a_fault_and_every_answer_fits_its_schema(tmp_path: Path, clock: HandClock) -> None:
    statuses: Counter[int] = Counter()
    with opened_api(tmp_path / "data", clock) as api:
        ann = api.caller(ANN)
        ann.keep("The build takes ten minutes")
        ann.say("chat:1", "hello", "hi")
        keys = (ann.key, api.caller(BOB, ("read",)).key)
        told = deepcopy(api.app.openapi())
        del told["security"], told["components"]["securitySchemes"]  # the keys are ours, not made up
        schema = schemathesis.openapi.from_dict(told)
        schema.app = api.app
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) >= 35
        for operation in operations:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                _tried(operation, mode, keys, statuses)
        assert ann.get("/memory/stats")["memories"] >= 1, "it still answers"
    assert statuses.total() >= 2_000
    assert not [status for status in statuses if status >= 500]
    assert {200, 201, 202, 403, 404, 422} <= statuses.keys()
    assert statuses[401] == 0, "every request was let in"


def _tried(operation: Any, mode: GenerationMode, keys: Sequence[str], statuses: Counter[int]) -> None:
    @seed(2026)
    @settings(
        max_examples=EACH,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Any) -> None:
        for key in keys:
            response = case.call(headers={"X-API-Key": key})
            statuses[response.status_code] += 1
            case.validate_response(response, checks=CHECKS)

    with suppress(Unsatisfiable):  # what takes nothing cannot be asked wrongly
        one()
