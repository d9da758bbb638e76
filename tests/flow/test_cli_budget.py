"""`recollect budget`: what language models cost today, by project and use, what is left, and how to set it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.model import Scope
from recollect.store.ports.distill import Caps, Charge
from recollect.store.sqlite.store import SqliteStore
from tests.flow.conftest import Cli

PLENTY = Caps(10**9, 10**6)


@pytest.fixture
def file(own_home: Path) -> Path:
    return own_home / ".config" / "recollect" / "config.toml"


@pytest.fixture
def data(own_home: Path) -> Path:
    """A data directory in which ann's models were paid today."""
    folder = own_home / ".local" / "share" / "recollect"
    store = SqliteStore(folder)
    now = datetime.now(UTC)
    for scope, use, project, usd in (
        (Scope("local", "ann"), "session", "apollo", 0.25),
        (Scope("local", "ann"), "gist", "apollo", 0.05),
        (Scope("local", "ann"), "turn", None, 0.10),
        (Scope("local", "bob"), "turn", "apollo", 9.0),
    ):
        charge = Charge(use, "anthropic:claude-haiku-4-5", 1_000, 100, usd, now, project)
        ticket = store.ledger.reserve(scope, charge, PLENTY)
        assert ticket is not None
        store.ledger.settle(scope, ticket, charge)
    store.close()
    return folder


def test_by_default_there_is_no_model_and_nothing_is_spent(cli: Cli, own_home: Path) -> None:
    ran = cli("budget")
    assert ran.code == 0
    assert "none: no language model is set" in ran.out
    assert "0 of 200,000, 200,000 left" in ran.out
    assert "0.0000 of 1.0000, 1.0000 left" in ran.out
    assert list(own_home.iterdir()) == []


def test_what_was_spent_is_shown_by_project_and_use(cli: Cli, data: Path) -> None:
    ran = cli("budget", "--user", "ann")
    assert "3,300 of 200,000, 196,700 left" in ran.out
    assert "0.4000 of 1.0000, 0.6000 left" in ran.out
    rows = [line.split() for line in ran.out.splitlines() if "haiku" in line]
    model = "anthropic:claude-haiku-4-5"
    assert rows == [
        ["-", "turn", model, "1", "1,100", "0.1000"],
        ["apollo", "gist", model, "1", "1,100", "0.0500"],
        ["apollo", "session", model, "1", "1,100", "0.2500"],
    ]


def test_json_has_every_figure(cli: Cli, data: Path) -> None:
    found = cli("budget", "--user", "ann", "--json").json
    assert found["tokens"] == {"spent": 3_300, "cap": 200_000, "left": 196_700}
    assert found["usd"] == {"spent": 0.4, "cap": 1.0, "left": 0.6}
    assert found["projects"] == {"apollo": {"spent": 0.3, "cap": None, "left": None}}
    assert (found["model"], found["price_known"], found["silent_until"], found["changed"]) == (None, False, None, [])
    assert found["spent"][0]["calls"] == 1


def test_a_project_is_shown_alone_and_held_against_its_own_cap(cli: Cli, data: Path) -> None:
    assert cli("budget", "--user", "ann", "--project", "apollo", "--usd", "0.5").code == 0
    found = cli("budget", "--user", "ann", "--project", "apollo", "--json").json
    assert found["projects"] == {"apollo": {"spent": 0.3, "cap": 0.5, "left": 0.2}}
    assert [row["use"] for row in found["spent"]] == ["gist", "session"]
    assert found["usd"]["spent"] == 0.4
    assert "0.3000 of 0.5000, 0.2000 left  apollo" in cli("budget", "--user", "ann").out


def test_caps_are_written_to_the_config_file(cli: Cli, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text('# mine\nuser = "ann"\n[prices]\n"m" = [1.0, 2.0]\n')
    ran = cli("budget", "--tokens", "50000", "--usd", "0.25")
    assert ran.code == 0
    assert "llm_daily_tokens is set in" in ran.out
    assert "0 of 50,000, 50,000 left" in ran.out
    assert cli("budget", "--project", "a b", "--usd", "0.1").code == 0
    assert cli("budget", "--project", "x", "--usd", "0.2").code == 0
    assert cli("budget", "--project", "a b", "--usd", "3").code == 0
    assert file.read_text() == (
        '# mine\nuser = "ann"\nllm_daily_tokens = 50000\nllm_daily_usd = 0.25\n[prices]\n"m" = [1.0, 2.0]\n\n'
        '[llm_project_daily_usd]\n"x" = 0.2\n"a b" = 3.0\n'
    )


def test_a_cap_by_variable_goes_before_the_file_and_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LLM_DAILY_USD", "7")
    ran = cli("budget", "--usd", "0.25")
    assert "RECOLLECT_LLM_DAILY_USD goes before it" in ran.err
    assert "of 7.0000" in ran.out


@pytest.mark.parametrize(
    "words",
    [
        ("--usd", "-1"),
        ("--usd", "nan"),
        ("--usd", "inf"),
        ("--usd", "much"),
        ("--tokens", "-5"),
        ("--usd", "-1", "--tokens", "5"),
        ("--tokens", "1.5"),
        ("--tokens", "5", "--project", "x"),
        ("--usd", "-1", "--project", "x"),
        ("--usd", "nan", "--project", "x"),
    ],
    ids=" ".join,
)
def test_what_is_no_amount_is_refused_and_nothing_is_written(cli: Cli, file: Path, words: tuple[str, ...]) -> None:
    ran = cli("budget", *words)
    assert ran.code == 2
    assert f"{words[0]} '{words[1]}' is not an amount" in ran.err or "over all projects" in ran.err
    assert "hint: " in ran.err
    assert not file.exists()


def test_the_model_in_force_is_named_and_an_unknown_price_is_said(cli: Cli) -> None:
    cli("config", "set", "llm", "openai")
    cli("config", "set", "llm_model", "my-model")
    ran = cli("budget")
    assert "openai:my-model" in ran.out
    assert "price of this model is not known" in ran.err
    cli("config", "set", "llm_model", "gpt-4o-mini")
    assert "not known" not in cli("budget").err


def test_settings_that_cannot_be_used_are_told_not_raised(cli: Cli) -> None:
    cli("config", "set", "llm", "openai")
    cli("config", "set", "llm_model", "m")
    cli("config", "set", "llm_url", "http://example.com")
    ran = cli("budget")
    assert ran.code == 0
    assert "none: The language model must be reached over https" in ran.out


def test_a_key_is_not_shown(cli: Cli) -> None:
    cli("config", "set", "llm", "openai")
    cli("config", "set", "llm_api_key", "sk-very-secret")
    shown = cli("budget").out + cli("budget", "--json").out + cli("config").out + cli("config", "--json").out
    assert "sk-very-secret" not in shown


def test_a_model_that_is_left_alone_is_told(cli: Cli, data: Path) -> None:
    cli("config", "set", "llm", "anthropic")
    cli("config", "set", "llm_model", "m")
    store = SqliteStore(data)
    for _ in range(6):
        store.ledger.reserve(Scope("local", "ann"), Charge("turn", "anthropic:m", 1, 1, 0, datetime.now(UTC)), PLENTY)
    store.close()
    assert "left alone until" in cli("budget", "--user", "ann").err
