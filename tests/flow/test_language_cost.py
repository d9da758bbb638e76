"""Cost grows with a session, not with its square (P28): a session twice as long takes about twice the tokens."""

from __future__ import annotations

from itertools import pairwise

import pytest

from recollect.model import Session
from recollect.models.language import MAX_CALL_BYTES
from recollect.pipeline.gists import summarize_due
from tests.contract.samples import talk
from tests.flow.consulting_fixture import ANN, Desk, history
from tests.flow.consulting_fixture import desk as desk
from tests.llm_fixture import Endpoint, completion

LENGTHS = (50, 100, 200, 400)
GIST = "The user asked for many things about the build, and the assistant did them one after the other. " * 6
ANSWER = completion('{"memories": [], "gist": "%s"}' % GIST)  # noqa: UP031


def turn(session: str, number: int) -> list[str]:
    asked = f"Please look at part {number} of the build and tell me what is slow about it. " * 3
    told = f"assistant: Part {number} links everything twice, since its cache is keyed by time. " * 5
    return [asked, told]


def tokens(desk: Desk, endpoint: Endpoint, turns: int, step: int) -> int:
    """What a session takes that grows `step` turns at a time: drafts after each step, gists as they are due."""
    name, asked = f"chat:{turns}", -1
    consultant = desk.consultant(endpoint.openai(), llm_daily_tokens=10**9)
    before = desk.spent()[1]
    for first in range(0, turns, step):
        lines = [line for number in range(first, first + step) for line in turn(name, number)]
        desk.store.sessions.append(ANN, talk(name, *lines, first=first * 2))
        new = history(desk, name)
        _, asked = consultant.drafts(Session(name, "chat"), new, asked)
        summarize_due(desk.store, ANN, consultant.summarizer(), desk.clock, 8)
    return desk.spent()[1] - before


@pytest.mark.timed
@pytest.mark.parametrize("step", [50, 10, pytest.param(1, marks=pytest.mark.soak)])
def test_twice_as_long_costs_about_twice_as_much(desk: Desk, endpoint: Endpoint, step: int) -> None:
    endpoint.answers = [ANSWER]
    took = [tokens(desk, endpoint, turns, step) for turns in LENGTHS]
    ratios = [later / earlier for earlier, later in pairwise(took)]
    assert all(1.8 <= ratio <= 2.2 for ratio in ratios), (took, ratios)
    assert max(endpoint.sizes) <= MAX_CALL_BYTES


@pytest.mark.timed
def test_a_long_session_at_once_is_a_call_for_every_part(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [ANSWER]
    took = [tokens(desk, endpoint, turns, turns) for turns in LENGTHS]
    ratios = [later / earlier for earlier, later in pairwise(took)]
    assert all(1.7 <= ratio <= 2.2 for ratio in ratios), (took, ratios)
