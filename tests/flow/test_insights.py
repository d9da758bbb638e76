"""Insights: what was kept, asked, run and spent, in figures; as a call and as a command (S4.19)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.ids import stable_key
from recollect.model import Cost, Session
from recollect.pipeline.digests import digest_due
from recollect.pipeline.insights import BARS, LONGEST, OTHERS, Bars
from recollect.store.ports.capture import Seen
from recollect.store.ports.distill import Caps, Charge
from tests.contract.samples import event
from tests.flow.conftest import Cli
from tests.flow.memory_fixture import HandClock

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)  # of the clock by hand


def filled(memory: Recollect, now: datetime = NOW) -> None:
    """Two agents' sessions with what they cost, two memories, and a question that had no answer."""
    for number, (flavor, project) in enumerate((("claude", "shop"), ("claude", "farm"), ("codex", None))):
        session, at = f"{flavor}:{number}", now - timedelta(days=number)
        key = stable_key("prompt", str(number))
        said = replace(event(session, 0, "hello", key=key, occurred_at=at), kind="user_prompt", way="sweep")
        cost = Cost(stable_key("cost", str(number)), session, at, "opus", input=1_000, output=50, usd=0.5)
        seen = Seen(f"/logs/{number}", flavor, session, "read", at, turns=(key, stable_key("lost", str(number))))
        about = Session(session, flavor, project=project)
        memory.store.captures.ingest(memory.scope, about, [said], [cost], transcript=seen)
    digest_due(memory.store, memory.scope, lambda: now)
    memory.remember("The deploy key lies in the vault", "fact", tags=["deploy"], occurred_at=now)
    memory.remember("We deploy on Mondays", "decision", tags=["deploy"], occurred_at=now - timedelta(days=1))


def test_the_figures_of_some_days(memory: Recollect) -> None:
    filled(memory)
    found = memory.insights(7, whole=True)
    assert (found.step, len(found.bars), found.bars[-1]) == (1, 7, "2026-11-15")
    assert {kind: sum(values) for kind, values in found.memories.items()} == {"fact": 1, "decision": 1}
    assert found.newest.tags == {"deploy": 2}
    assert found.sessions["claude"][-2:] == (1, 1)
    assert sum(found.sessions["codex"]) == 1
    assert found.mean_health == 85, "each was abandoned: nobody answered"
    assert found.health["codex"][-3] == found.agents_health["codex"] == 85
    assert [(one.flavor, one.turns, one.stored, one.missing) for one in found.coverage] == [
        ("claude", 4, 2, 2),
        ("codex", 2, 1, 1),
    ]
    assert found.costs.total.usd == 1.5
    assert found.costs.total.tokens == 3_150
    assert found.costs.kinds == {"input": 3_000, "cache read": 0, "cache write": 0, "output": 150}
    assert {one.name for one in found.costs.projects} == {"shop", "farm", "no project"}
    assert found.kept.database
    assert found.kept.storage.tiers[0].documents == 2
    assert found.names.flavors == ("claude", "codex")


def test_a_project_and_an_agent_narrow_them(memory: Recollect) -> None:
    filled(memory)
    of_project = memory.insights(7, project="shop")
    assert of_project.sessions == {"claude": (0, 0, 0, 0, 0, 0, 1)}
    assert of_project.costs.total.usd == 0.5
    assert of_project.kept.database is None, "what the whole store takes is told only to whom it is"
    of_agent = memory.insights(7, agent="codex")
    assert set(of_agent.sessions) == set(of_agent.costs.usd) == {"codex"}
    assert [one.flavor for one in of_agent.coverage] == ["codex"]


@pytest.mark.parametrize("days", [0, -1, LONGEST + 1, True, "7"])
def test_only_so_many_days_are_told(memory: Recollect, days: object) -> None:
    with pytest.raises(InvalidInput):
        memory.insights(days)  # type: ignore[arg-type]


def test_many_days_are_told_by_the_week() -> None:
    few, many = Bars(NOW, BARS), Bars(NOW, 90)
    assert (few.step, len(few.names)) == (1, BARS)
    assert (many.step, len(many.names)) == (7, 13)
    assert many.until == few.until == datetime(2026, 11, 16, tzinfo=UTC)
    assert many.place("2026-11-15") == 12
    assert many.place("2026-11-08") == 11


def test_an_empty_memory_has_figures_too(memory: Recollect) -> None:
    found = memory.insights()
    assert found.memories == found.sessions == found.health == {}
    assert found.mean_health is None
    assert len(found.recalls) == 30


def test_questions_are_counted_and_those_without_an_answer(opened: Callable[..., Recollect], clock: HandClock) -> None:
    """What is counted is written down when the memory is closed, never while it answers."""
    memory = opened()
    filled(memory)
    memory.embed_pending()
    assert memory.recall("Where is the deploy key?").hits
    assert memory.recall("zebra quagga okapi").abstained
    memory.context("Where is the deploy key?")
    memory.recall("Where is the deploy key?", count=False)
    assert sum(one.recalls for one in memory.insights(1).recalls) == 0
    memory.close()
    clock.move(days=1)
    other = opened()
    other.recall("zebra quagga okapi")
    other._reads.write()
    days = {one.day: one for one in other.insights(7).recalls}
    assert (days["2026-11-15"].recalls, days["2026-11-15"].abstained) == (3, 1)
    assert days["2026-11-15"].memories >= 2
    assert (days["2026-11-16"].recalls, days["2026-11-16"].abstained) == (1, 1)


def test_many_projects_are_told_together(memory: Recollect) -> None:
    for number in range(20):
        session = f"claude:{number}"
        said = replace(event(session, 0, "hi", occurred_at=NOW), kind="user_prompt", way="sweep")
        cost = Cost(stable_key("cost", str(number)), session, NOW, "opus", input=1, usd=1.0 + number)
        memory.store.captures.ingest(memory.scope, Session(session, "claude", project=f"p{number:02}"), [said], [cost])
    shares = memory.insights(7).costs.projects
    assert (len(shares), shares[0].name, shares[-1].name) == (12, "p19", OTHERS)
    assert sum(one.usd for one in shares) == memory.insights(7).costs.total.usd


def test_what_language_models_were_paid_is_told_by_use(memory: Recollect) -> None:
    caps = Caps(1_000_000, 10.0)
    for use, usd in (("gist", 0.25), ("turn", 0.5), ("turn", 0.25)):
        assert memory.store.ledger.reserve(memory.scope, Charge(use, "some", 100, 10, usd, NOW), caps)
    found = memory.insights(7).budget
    assert [(one.use, one.calls, one.usd) for one in found.uses] == [("turn", 2, 0.75), ("gist", 1, 0.25)]
    assert found.usd["turn"][-1] == 0.75
    assert (found.tokens_today, found.usd_today) == (330, 1.0)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.fixture
def data_dir(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


def test_the_command_tells_the_same_figures(cli: Cli, data_dir: Path) -> None:
    with Recollect.open(data_dir, background=False, embedder=None) as memory:
        filled(memory, datetime.now(UTC))
    shown = cli("insights", "--days", "7")
    assert shown.code == 0
    assert "Memories by kind" in shown.out
    assert "fact                     ########################            1" in shown.out
    assert "1.50" not in shown.out.split("USD by agent")[0]
    assert "1 of 2" in shown.out
    told = cli("insights", "--days", "7", "--agent", "codex", "--json").json["insights"]
    assert told["costs"]["total"]["usd"] == 0.5
    assert told["kept"]["storage"]["tiers"][0] == {"tier": "memory", "documents": 2, "pending": 2}
    assert list(told["sessions"]) == ["codex"]
    assert cli("insights", "--project", "shop", "--json").json["insights"]["project"] == "shop"


@pytest.mark.parametrize("days", ["x", "0", "9999", "-3"])
def test_days_that_are_none_are_refused(cli: Cli, days: str) -> None:
    assert cli("insights", f"--days={days}").code == 2


def test_the_command_on_nothing(cli: Cli) -> None:
    shown = cli("insights")
    assert shown.code == 0
    assert "No memory is of these days." in shown.out
