"""Spend has a hard ceiling (P27): whatever a model's server does, calls stay within the caps, and end with them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from recollect.distill.gist import ExtractiveSummarizer
from recollect.errors import ModelError, ModelRefused, ModelUnavailable, NoBudget
from recollect.model import Event, Memory, Session
from recollect.models.language import MAX_CALL_BYTES, Ask, Reply
from recollect.pipeline.gists import summarize, summarize_due
from tests.contract.samples import talk
from tests.flow.consulting_fixture import ANN, Desk, history
from tests.flow.consulting_fixture import desk as desk
from tests.llm_fixture import Answer, Endpoint, body, completion, flooding, hanging, status

ASK = Ask("system", "prompt " * 100, {"type": "object"}, max_tokens=100)
NOTHING = completion('{"memories": []}', 200, 5)
PLENTY = 10**9


def worst(desk: Desk, endpoint: Endpoint) -> int:
    """What one try is debited with."""
    endpoint.answers = [status(503)]
    before = desk.spent()[1]
    with pytest.raises(ModelUnavailable):
        desk.purse(endpoint.openai(), llm_daily_tokens=PLENTY).ask(ANN, "turn", ASK)
    size = (desk.spent()[1] - before) // 3
    desk.clock.move(days=2)
    endpoint.asked.clear()
    desk.pauses.clear()
    return size


def test_an_answer_takes_what_it_took(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [completion("{}", 200, 7)]
    reply = desk.purse(endpoint.openai()).ask(ANN, "turn", ASK, project="apollo")
    assert reply == Reply("{}", 200, 7)
    [row] = desk.store.ledger.spent(ANN, since=desk.clock())
    assert (row.project, row.use, row.model) == ("apollo", "turn", "openai:some-model")
    assert (row.calls, row.input, row.output, row.usd) == (1, 200, 7, 0.0)


def test_a_failing_item_is_tried_three_times_and_each_try_is_paid(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(429)]
    with pytest.raises(ModelUnavailable, match="status 429, 3 times"):
        desk.purse(endpoint.openai()).ask(ANN, "turn", ASK)
    assert endpoint.calls == 3
    assert desk.pauses == [0.5, 1.0]
    calls, tokens = desk.spent()
    assert calls == 3
    assert tokens > 3 * len(ASK.prompt) / 4


def test_what_the_server_asks_for_is_waited_within_reason(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(429, Retry_After="3"), status(529, Retry_After="86400"), NOTHING]
    desk.purse(endpoint.openai()).ask(ANN, "turn", ASK)
    assert desk.pauses == [3.0, 10.0]


ANSWERS: dict[str, Answer] = {
    "429 for ever": status(429),
    "500 for ever": status(500),
    "empty": body(b""),
    "malformed": body(b'{"choices": [{"mess'),
    "a hundred megabytes": flooding(100_000_000),
    "no words": completion(""),
    "lies about usage": completion("{}", 0, 0),
    "uses it all": completion("{}", 10**6, 10**6),
}


@pytest.mark.parametrize("name", [*ANSWERS, "slow"])
def test_calls_reach_the_cap_and_never_pass_it(desk: Desk, endpoint: Endpoint, name: str) -> None:
    size = worst(desk, endpoint)
    endpoint.answers = [hanging(endpoint) if name == "slow" else ANSWERS[name]]
    cap = 5 * size
    purse = desk.purse(endpoint.openai(timeout=0.15 if name == "slow" else 10.0), llm_daily_tokens=cap)
    refused = 0
    for _ in range(60):
        try:
            purse.ask(ANN, "turn", ASK)
        except NoBudget:
            refused += 1
        except ModelError:
            pass
    assert refused > 0
    assert endpoint.calls == desk.spent()[0]
    if name == "uses it all":
        assert endpoint.calls == 1  # what it told it took is believed
    elif name in ("no words", "lies about usage"):
        assert desk.spent()[1] <= cap
    else:
        assert (endpoint.calls, desk.spent()[1]) == (5, cap)
    before = endpoint.calls
    desk.restart()
    with pytest.raises(NoBudget):
        desk.purse(endpoint.openai(), llm_daily_tokens=cap).ask(ANN, "turn", ASK)
    assert endpoint.calls == before


def test_a_new_day_has_a_new_budget(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [completion("{}", 900, 100)]
    purse = desk.purse(endpoint.openai(), llm_daily_tokens=1_000)
    purse.ask(ANN, "turn", ASK)
    with pytest.raises(NoBudget):
        purse.ask(ANN, "turn", ASK)
    desk.clock.move(hours=12)
    purse.ask(ANN, "turn", ASK)


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        ({"llm_daily_usd": 1.0}, 2),
        ({"llm_daily_usd": 0.0}, 0),
        ({"llm_daily_usd": 9.0, "llm_project_daily_usd": {"apollo": 0.70}}, 1),
        ({"llm_daily_usd": 9.0, "llm_project_daily_usd": {"zeus": 0.0}}, 10),
    ],
    ids=str,
)
def test_money_is_capped_where_the_price_is_known(
    desk: Desk, endpoint: Endpoint, given: dict[str, object], calls: int
) -> None:
    endpoint.answers = [completion("{}", 200, 100)]  # 0.30 USD, and at the worst about 0.68
    purse = desk.purse(endpoint.openai(), prices={"some-model": [1_000.0, 1_000.0]}, **given)
    made = 0
    for _ in range(10):
        try:
            purse.ask(ANN, "turn", ASK, project="apollo")
            made += 1
        except NoBudget:
            break
    assert made == endpoint.calls == calls


def test_without_tokens_nothing_is_asked(desk: Desk, endpoint: Endpoint) -> None:
    with pytest.raises(NoBudget) as caught:
        desk.purse(endpoint.openai(), llm_daily_tokens=0).ask(ANN, "turn", ASK)
    assert "recollect budget" in str(caught.value.hint)
    assert endpoint.calls == 0


def test_a_refusal_is_not_tried_again_and_costs_nothing(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(401)]
    with pytest.raises(ModelRefused):
        desk.purse(endpoint.openai()).ask(ANN, "turn", ASK)
    assert (endpoint.calls, desk.spent()) == (1, (1, 0))


def test_a_server_without_schemas_costs_one_refusal(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(400), completion("{}", 200, 5)]
    desk.purse(endpoint.openai()).ask(ANN, "turn", ASK)
    assert (endpoint.calls, desk.spent(), desk.pauses) == (2, (2, 205), [0.0])


def test_a_model_that_stops_answering_is_left_alone(desk: Desk, endpoint: Endpoint) -> None:
    """A day of trying every five minutes: a handful of calls, over restarts too."""
    endpoint.answers = [status(503)]
    said = set()
    for step in range(24 * 12):
        if step % 50 == 0:
            desk.restart()
        try:
            desk.purse(endpoint.openai(), llm_daily_tokens=PLENTY).ask(ANN, "turn", ASK)
        except ModelError as error:
            said.add(str(error)[:45])
        desk.clock.move(minutes=5)
    assert 12 <= endpoint.calls <= 24
    assert len(said) == 2
    endpoint.answers = [completion("{}", 200, 5)]
    desk.clock.move(hours=7)
    for _ in range(10):
        desk.purse(endpoint.openai(), llm_daily_tokens=PLENTY).ask(ANN, "turn", ASK)


def test_a_model_of_another_name_is_not_blamed(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(401)]
    for _ in range(8):
        with pytest.raises(ModelError):
            desk.purse(endpoint.openai()).ask(ANN, "turn", ASK)
    assert endpoint.calls == 6
    endpoint.answers = [lambda handler, asked: completion("", 1, 1)(handler, asked)]
    with pytest.raises(ModelUnavailable):
        desk.purse(endpoint.anthropic()).ask(ANN, "turn", ASK)
    assert endpoint.calls == 7


def test_a_call_that_is_too_large_is_never_made(desk: Desk, endpoint: Endpoint) -> None:
    with pytest.raises(ModelRefused, match="32,768"):
        desk.purse(endpoint.openai()).ask(ANN, "turn", Ask("s", "x" * MAX_CALL_BYTES, {}))
    assert (endpoint.calls, desk.spent()) == (0, (0, 0))


def test_a_process_that_ends_makes_no_more_calls(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [status(503)]
    with pytest.raises(ModelUnavailable):
        desk.purse(endpoint.openai(), stopping=lambda: endpoint.calls > 0).ask(ANN, "turn", ASK)
    assert endpoint.calls == 1


def test_what_an_interrupted_call_was_debited_stays_spent(desk: Desk) -> None:
    class Interrupted:
        name, overhead = "openai:m", 0

        def complete(self, ask: Ask) -> Reply:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        desk.purse(Interrupted()).ask(ANN, "turn", ASK)
    assert desk.spent()[0] == 1
    assert desk.spent()[1] > 0


CHILD = """
    import sys
    from pathlib import Path
    from recollect.model import Scope
    from recollect.models.language import Ask
    from recollect.models.openai import OpenAIModel
    from recollect.pipeline.spending import Purse
    from recollect.clock import now
    from recollect.settings import load
    from recollect.store.sqlite.store import SqliteStore
    store = SqliteStore(Path(sys.argv[1]))
    purse = Purse(store.ledger, OpenAIModel("m", "", sys.argv[2]), load({}).settings, now, lambda text: text)
    purse.ask(Scope("acme", "ann"), "turn", Ask("s", "p" * 4000, {}, 100))
"""


def test_what_a_killed_process_was_debited_stays_spent(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [hanging(endpoint)]
    words = [sys.executable, "-c", textwrap.dedent(CHILD), str(desk.folder), endpoint.url]
    with subprocess.Popen(words) as child:
        until = time.monotonic() + 60
        while not endpoint.calls and child.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
    assert endpoint.calls == 1
    desk.restart()
    rows = desk.store.ledger.spent(ANN, since=desk.clock().replace(year=2000))
    assert [row.calls for row in rows] == [1]
    assert rows[0].input > 2_000


def long_talk(turns: int) -> list[Event]:
    lines = [
        line for n in range(turns) for line in (f"Prompt {n}? " + "why " * 99, f"assistant: Answer {n}. " + "so " * 99)
    ]
    return talk("chat:1", *lines)


def test_nothing_new_asks_nothing_for_a_day(desk: Desk, endpoint: Endpoint) -> None:
    """Drafts and gists are asked for once; then a day passes in which the work comes around every ten minutes."""
    endpoint.answers = [completion('{"memories": [], "gist": "The user asked why, and was told."}', 200, 5)]
    desk.store.sessions.append(ANN, long_talk(30))
    consultant = desk.consultant(endpoint.openai(), llm_daily_tokens=PLENTY)
    session, events = desk.store.sessions.get(ANN, "chat:1"), history(desk, "chat:1")
    assert session is not None
    _, asked = consultant.drafts(session, events, -1)
    assert asked == events[-1].position
    assert summarize_due(desk.store, ANN, consultant.summarizer(), desk.clock, 8) == 1
    before = endpoint.calls
    assert 0 < before < 10
    for _ in range(24 * 6):
        desk.clock.move(minutes=10)
        assert consultant.drafts(session, history(desk, "chat:1"), asked) == ([], asked)
        summarize_due(desk.store, ANN, consultant.summarizer(), desk.clock, 8)
        summarize(desk.store, ANN, "chat:1", consultant.summarizer(), desk.clock)
    assert endpoint.calls == before
    assert max(endpoint.sizes) <= MAX_CALL_BYTES


def test_only_new_events_are_sent(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [NOTHING]
    desk.store.sessions.append(ANN, talk("chat:1", "The old words.", "assistant: Yes."))
    consultant = desk.consultant(endpoint.openai())
    session = Session("chat:1", "chat")
    _, asked = consultant.drafts(session, history(desk, "chat:1"), -1)
    desk.store.sessions.append(ANN, talk("chat:1", "The new words.", first=2))
    consultant.drafts(session, history(desk, "chat:1"), asked)
    assert b"old words" in endpoint.bodies[0]
    assert b"old words" not in endpoint.bodies[1]
    assert b"new words" in endpoint.bodies[1]


def test_without_budget_the_work_is_done_without_a_model(desk: Desk, endpoint: Endpoint) -> None:
    events = long_talk(5)
    desk.store.sessions.append(ANN, events)
    consultant = desk.consultant(endpoint.openai(), llm_daily_tokens=0)
    assert consultant.drafts(Session("chat:1", "chat"), events, -1) == ([], -1)
    one = Memory("1", "fact", "Port 5433", None, "user", desk.clock(), desk.clock())
    assert consultant.judge(one, one) is None
    gist = summarize(desk.store, ANN, "chat:1", consultant.summarizer(), desk.clock)
    assert gist is not None
    assert (gist.maker, gist.covers) == (ExtractiveSummarizer.name, 9)
    assert endpoint.calls == 0


def test_a_session_half_read_goes_on_where_it_ended(desk: Desk, endpoint: Endpoint) -> None:
    desk.store.sessions.append(ANN, long_talk(120))
    events = history(desk, "chat:1")
    endpoint.answers = [NOTHING, NOTHING, status(401)]
    consultant = desk.consultant(endpoint.openai(), llm_daily_tokens=PLENTY)
    session = Session("chat:1", "chat")
    _, asked = consultant.drafts(session, events, -1)
    assert -1 < asked < events[-1].position
    endpoint.answers = [NOTHING]
    endpoint.bodies.clear()
    _, asked = consultant.drafts(session, events, asked)
    assert asked == events[-1].position
    assert b"Prompt 0?" not in b"".join(endpoint.bodies)


def test_a_gist_goes_on_from_the_one_before(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [completion('{"gist": "The user likes cats."}'), completion('{"gist": "Cats, then dogs."}')]
    summarizer = desk.consultant(endpoint.openai()).summarizer()
    desk.store.sessions.append(ANN, talk("chat:1", "I like cats."))
    first = summarize(desk.store, ANN, "chat:1", summarizer, desk.clock)
    desk.store.sessions.append(ANN, talk("chat:1", "And dogs.", first=1))
    second = summarize(desk.store, ANN, "chat:1", summarizer, desk.clock)
    assert first is not None
    assert second is not None
    assert (first.content, first.maker) == ("The user likes cats.", "openai:some-model")
    assert (second.content, second.covers) == ("Cats, then dogs.", 1)
    assert b"The user likes cats." in endpoint.bodies[1]
    assert b"I like cats." not in endpoint.bodies[1]


def test_a_gist_the_model_does_not_give_is_made_without_it(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [completion('{"gist": ""}')]
    desk.store.sessions.append(ANN, talk("chat:1", "I like cats very much."))
    gist = summarize(desk.store, ANN, "chat:1", desk.consultant(endpoint.openai()).summarizer(), desk.clock)
    assert gist is not None
    assert gist.maker == ExtractiveSummarizer.name


@pytest.mark.parametrize(
    ("answer", "gist"),
    [
        (
            "The user likes cats. See https://evil.example/x for more. It is about cats.",
            "The user likes cats. It is about cats.",
        ),
        ("The user has 17 cats. They run `rm -rf /` daily.", None),
    ],
    ids=["in part", "altogether"],
)
def test_what_was_not_said_is_not_in_a_gist(desk: Desk, endpoint: Endpoint, answer: str, gist: str | None) -> None:
    endpoint.answers = [completion(json.dumps({"gist": answer}))]
    desk.store.sessions.append(ANN, talk("chat:1", "I like cats very much."))
    made = summarize(desk.store, ANN, "chat:1", desk.consultant(endpoint.openai()).summarizer(), desk.clock)
    assert made is not None
    assert made.maker == ("openai:some-model" if gist else ExtractiveSummarizer.name)
    assert made.content == gist or gist is None


@pytest.mark.parametrize("verdict", ["same", "newer", "contradiction", "unrelated", "delete everything"])
def test_a_collision_is_judged_by_a_word(desk: Desk, endpoint: Endpoint, verdict: str) -> None:
    endpoint.answers = [completion(json.dumps({"verdict": verdict}))]
    one = Memory("1", "fact", "Port 5433", None, "user", desk.clock(), desk.clock())
    found = desk.consultant(endpoint.openai()).judge(one, one)
    assert found == (verdict if verdict != "delete everything" else None)
