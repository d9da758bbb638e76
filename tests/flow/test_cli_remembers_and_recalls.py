"""The main path through the real command: remember, recall, context, list, show, forget, undo, whoami."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.flow.conftest import Cli

TEXT = "We use Postgres 16 for the API database"


def remember(cli: Cli, *words: str) -> str:
    ran = cli("remember", "--json", *words)
    assert ran.code == 0
    return str(ran.json["memory"]["id"])


def test_a_memory_is_kept_found_shown_and_forgotten(command: Cli) -> None:
    kept = command("remember", TEXT, "--kind", "decision", "--why", "pgvector", "--tag", "db", "--tag", "api")
    assert (kept.code, kept.err) == (0, "")
    assert kept.out.startswith("Remembered: ")
    id_ = kept.out.split()[1]

    found = command("recall", "which", "Postgres", "--mode", "lexical", "--explain")
    lines = found.out.splitlines()
    assert lines[:3] == [f"[decision] {TEXT}", "- tags: db, api", "- why: pgvector"]
    assert id_ in lines[3]
    assert "said by user" in lines[3]
    assert "score 0." in lines[3]
    assert [line.split()[0] for line in lines[4:]] == ["lexical", "semantic", "importance", "recency", "final"]

    assert id_ in command("list").out
    shown = command("show", id_)
    assert "pgvector" in shown.out
    assert "importance" in shown.out

    gone = command("forget", id_, "--yes")
    assert gone.code == 0
    assert "1 memory" in gone.out
    assert command("show", id_).code == 1
    assert "Nothing recalled" in command("recall", "postgres", "--mode", "lexical").out


def test_the_same_thing_again_is_known_already(cli: Cli) -> None:
    first = remember(cli, TEXT)
    again = cli("remember", TEXT.upper())
    assert again.out.startswith(f"Known already: {first}")


def test_text_comes_from_standard_input(cli: Cli) -> None:
    assert cli("remember", "-", stdin="Über den Wolken 日本\n".encode()).code == 0
    assert "Über den Wolken 日本" in cli("list").out


def test_context_prints_the_text_and_nothing_else(cli: Cli) -> None:
    remember(cli, TEXT)
    made = cli("context", "postgres", "--mode", "lexical")
    assert made.out.startswith("=== Relevant Context ===\n")
    assert made.out.endswith("========================\n")
    none = cli("context", "zebra", "--mode", "lexical")
    assert (none.code, none.out) == (0, "")
    assert "note: " in none.err
    small = cli("context", "postgres", "--mode", "lexical", "--max-tokens", "5")
    assert (small.code, small.out) == (0, "")
    assert "does not fit into 5 tokens" in small.err


def test_nothing_found_says_why(cli: Cli) -> None:
    remember(cli, TEXT)
    ran = cli("recall", "giraffes")
    assert ran.code == 0
    assert ran.out == "Nothing recalled (abstained; searched by words alone).\n"
    assert "recollect model install" in ran.err


def test_a_project_sees_itself_and_what_is_global(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(cli, "deploy here on Fridays")
    remember(cli, "deploy wherever with care", "--global")
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    remember(cli, "deploy there on Mondays")

    def seen(*flags: str) -> set[str]:
        hits = cli("recall", "deploy", "--mode", "lexical", "--json", "--no-abstain", *flags).json["hits"]
        return {hit["content"].split()[1] for hit in hits}

    assert seen() == {"there", "wherever"}
    assert seen("--all-projects") == {"here", "there", "wherever"}
    assert seen("--project", str(tmp_path / "work")) == {"here", "wherever"}
    assert seen("--user", "somebody-else", "--all-projects") == set()


def test_whoami_names_the_rule(cli: Cli, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("whoami", "--json").json["project"] == str(work)
    assert "rule       directory" in cli("whoami").out
    assert cli("whoami", "--json", "--project", "x").json["rule"] == "--project"
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:Ann/Thing.git\n')
    assert cli("whoami", "--json").json["project"] == "github.com/ann/thing"
    monkeypatch.setenv("RECOLLECT_PROJECT", "fixed")
    assert cli("whoami", "--json").json["project"] == "fixed"


def test_whoami_in_a_directory_that_is_gone(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert cli("whoami", "--json").json["rule"] == "the working directory is gone"


def test_soft_forgetting_can_be_undone(cli: Cli) -> None:
    id_ = remember(cli, TEXT)
    assert "undo" in cli("forget", id_, "--soft", "--yes").out
    assert "Nothing recalled" in cli("recall", "postgres", "--mode", "lexical").out
    assert "undo" in cli("show", id_).out
    assert cli("undo", id_).code == 0
    assert TEXT in cli("recall", "postgres", "--mode", "lexical").out
    assert cli("undo", id_).code == 1


def test_forgetting_needs_a_yes(cli: Cli) -> None:
    id_ = remember(cli, TEXT)
    refused = cli("forget", id_)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert "Would forget" in cli("forget", "--all", "--dry-run").out
    assert cli("show", id_).code == 0
    assert "1 memory" in cli("forget", "--all", "--yes").out
    assert cli("show", id_).code == 1


def test_forget_all_in_a_project_leaves_the_rest(cli: Cli) -> None:
    remember(cli, "of the project")
    rest = remember(cli, "of everybody", "--global")
    assert cli("forget", "--all", "--yes", "--json").json["counts"]["memories"] == 1
    assert cli("show", rest).code == 0


def test_common_flags_may_stand_before_the_verb(cli: Cli, tmp_path: Path) -> None:
    data = tmp_path / "elsewhere"
    assert cli("--json", "--data-dir", str(data), "remember", TEXT).json["known"] is False
    assert (data / "recollect.db").exists()


def test_words_and_flags_mix_and_a_dash_can_be_asked_for(cli: Cli) -> None:
    remember(cli, "the flag -x means extract")
    assert "extract" in cli("recall", "flag", "--mode", "lexical", "extract", "-n", "1").out
    assert "extract" in cli("recall", "--mode", "lexical", "--", "-x", "extract").out


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_the_overview_lists_every_verb(cli: Cli, words: tuple[str, ...]) -> None:
    from recollect.cli.main import VERBS

    ran = cli(*words)
    assert ran.code == 0
    assert all(f"\n  {verb} " in ran.out for verb in VERBS)


def test_no_verb_and_a_wrong_verb(cli: Cli) -> None:
    assert cli().code == 2
    wrong = cli("recal", "x")
    assert wrong.code == 2
    assert "`recollect recall`" in wrong.err
    assert cli("help", "recall").out.startswith("usage: recollect recall")
