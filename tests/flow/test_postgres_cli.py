"""Every verb on a PostgreSQL store: the rows are there, what belongs to this machine stays in the data directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.cli.main import VERBS
from tests.flow.conftest import Cli
from tests.services.stores import Emptied

# Tried elsewhere in this file, or with files and logins of their own.
ELSEWHERE = {"backup", "restore", "move", "install", "uninstall", "demo", "mcp", "hook", "database"}
NEW = {"keys", "quota", "audit", "contexts", "commons", "serve", "page", "bus"}  # their own tests run on both stores


@pytest.fixture
def url(emptied: Emptied, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty store at an address that the settings name."""
    found = emptied.url(0)
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", found)
    return found


@pytest.fixture
def data_dir(own_home: Path) -> Path:
    return own_home / ".local" / "share" / "recollect"


def test_what_is_remembered_is_found_again_and_no_file_is_made(cli: Cli, url: str, data_dir: Path) -> None:
    first = cli("remember", "Staging Postgres listens on port 5433", "--kind", "fact", "--json").json
    assert "5433" in cli("recall", "which port does staging listen on", "--mode", "lexical").out
    second = cli("remember", "Staging Postgres listens on port 5544", "--kind", "fact").out
    assert f"in place of {first['memory']['id']}" in second
    assert "5544" in cli("context", "which port does staging listen on", "--mode", "lexical").out
    assert not (data_dir / "recollect.db").exists()


def test_every_verb_that_looks_works(cli: Cli, url: str) -> None:
    kept = cli("remember", "The harbour crane is yellow", "--kind", "fact", "--json").json["memory"]["id"]
    tried = {
        "whoami": (),
        "sweep": (),
        "backfill": ("claude",),
        "coverage": (),
        "remember": ("Deploys happen on Fridays",),
        "confirm": (kept,),
        "recall": ("crane", "--mode", "lexical"),
        "context": ("--standing",),
        "list": (),
        "show": (kept,),
        "sessions": (),
        "follow": ("--once",),
        "insights": (),
        "feedback": (kept, "helpful"),
        "ranking": (),
        "pin": (kept,),
        "edit": (kept, "--why", "so"),
        "archive": (kept,),
        "forget": (kept, "--soft", "--yes"),
        "undo": (kept,),
        "export": (),
        "import": ("-",),
        "doctor": ("--deep",),
        "config": (),
        "budget": (),
        "model": (),
        "maintain": (),
        "detect": (),
        "patterns": (),
        "consolidate": (),
        "replay": (),
        "tasks": (),
        "worker": ("--once",),
    }
    assert set(tried) | ELSEWHERE | NEW | {"reembed"} >= set(VERBS) - NEW
    for verb, words in tried.items():
        ran = cli(verb, *words, "--json", "--all-projects")
        assert ran.code == 0, (verb, ran.out, ran.err)
        json.loads(ran.out)
    missing = cli("reembed")
    assert (missing.code, "recollect model install" in missing.err) == (1, True)


def test_a_flag_names_the_store_and_the_settings_do_not_matter_then(
    cli: Cli, emptied: Emptied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = emptied.url(0)
    assert cli("--url", url, "remember", "kept on the server").code == 0
    assert "on the server" in cli("list", "--url", url).out
    assert "on the server" not in cli("list").out
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", url)
    assert "on the server" not in cli("list", "--url", f"sqlite:///{tmp_path}/data").out
    assert (tmp_path / "data" / "recollect.db").exists()


def test_export_and_import_carry_everything_to_the_server_and_back(cli: Cli, emptied: Emptied, tmp_path: Path) -> None:
    url, file, back = emptied.url(0), tmp_path / "all.jsonl", tmp_path / "back.jsonl"
    cli("remember", "The harbour crane is yellow", "--why", "it was painted")
    cli("export", str(file))
    assert "1 memory" in cli("import", str(file), "--url", url).out
    cli("export", str(back), "--url", url)
    assert file.read_text().splitlines()[1:] == back.read_text().splitlines()[1:]


def test_a_dry_run_makes_no_data_directory(cli: Cli, url: str, data_dir: Path) -> None:
    assert cli("sweep", "--dry-run").code == 0
    assert not data_dir.exists()


def test_the_demo_never_goes_to_the_server(cli: Cli, url: str) -> None:
    assert cli("demo").code == 0
    assert "No memories" in cli("list", "--all-projects", "--user", "you", "--tenant", "demo").err


def test_doctor_tells_how_the_database_is(cli: Cli, url: str) -> None:
    cli("remember", "something to count")
    found = {one["name"]: one for one in cli("doctor", "--deep", "--json").json["findings"]}
    assert found["isolation"]["state"] == found["PostgreSQL"]["state"] == found["database"]["state"] == "ok"
    assert "1 memory" in found["contents"]["text"]
    assert "hash" in found["deep check"]["text"]


def test_doctor_makes_nothing_in_an_empty_database(
    cli: Cli, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    monkeypatch.setenv("RECOLLECT_DATABASE_URL", postgres_url)
    ran = cli("doctor", "--json")
    found = {one["name"]: one for one in ran.json["findings"]}
    assert (ran.code, found["database"]["state"]) == (0, "note")
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


def test_repair_makes_the_index_again(cli: Cli, url: str) -> None:
    import psycopg

    cli("remember", "The harbour crane is yellow")
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM recollect.words")
    assert "yellow" not in cli("recall", "harbour crane", "--mode", "lexical").out
    assert cli("doctor", "--repair").code == 0
    assert "yellow" in cli("recall", "harbour crane", "--mode", "lexical").out


UNREACHABLE = "postgresql://ann:hunter22@127.0.0.1:1/memory"


@pytest.mark.parametrize("verb", ["recall x", "list", "remember x", "budget", "sweep", "model", "database", "maintain"])
def test_a_server_that_is_not_there_is_told_once_and_without_the_password(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", UNREACHABLE)
    ran = cli(*verb.split())
    assert ran.code == 1
    assert "127.0.0.1:1/memory" in ran.out + ran.err
    assert "hunter22" not in ran.out + ran.err
    said = cli(*verb.split(), "--json")
    assert "hunter22" not in said.out + said.err
    if verb != "database":
        assert said.json["error"]["code"] == "store_unavailable"
        assert "server runs" in said.json["error"]["hint"]


@pytest.mark.parametrize("verb", ["config", "whoami", "doctor", "database url"])
def test_what_only_tells_works_without_a_server_and_shows_no_password(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setenv("RECOLLECT_DATABASE_URL", UNREACHABLE)
    for words in (verb.split(), [*verb.split(), "--json"]):
        ran = cli(*words)
        assert ran.code == (1 if verb == "doctor" else 0)
        assert "hunter22" not in ran.out + ran.err


def test_installing_says_when_agents_would_not_learn_of_the_server(cli: Cli, url: str, own_home: Path) -> None:
    """An agent hands few variables on: what its MCP server must know stands in config.toml."""
    (own_home / ".claude").mkdir()
    assert "config set database_url" in cli("install", "claude-code").err
    assert cli("config", "set", "database_url", "-", stdin=url.encode()).code == 0


@pytest.mark.parametrize("url", ["mysql://ann:hunter22@host/db", "host/db", "sqlite:///"])
def test_an_address_that_is_none_is_refused_and_not_repeated(cli: Cli, url: str) -> None:
    ran = cli("list", "--url", url)
    assert (ran.code, "postgresql://" in ran.err or "sqlite:///" in ran.err) == (2, True)
    assert "hunter22" not in ran.err
