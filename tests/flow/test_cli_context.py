"""`recollect context`: what agents are told before they ask, shown, kept in a file and taken out again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.hookreply import dir_name
from recollect.inject.block import BEGIN, END
from tests.flow.conftest import Cli

PROJECT = "Deploys happen on Fridays, blue-green"


@pytest.fixture
def filled(cli: Cli) -> Cli:
    assert cli("remember", PROJECT, "--kind", "decision", "--why", "rollbacks are easy").code == 0
    assert cli("remember", "Answer in English", "--kind", "preference", "--global").code == 0
    return cli


def test_what_agents_are_told_is_shown_and_nothing_else(filled: Cli) -> None:
    ran = filled("context", "--standing")
    lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert (lines[0], lines[-1]) == ("<recollect-memory>", "</recollect-memory>")
    assert [line for line in lines if line.startswith(("## ", "> "))] == [
        *("## Preferences and rules", "> Answer in English"),
        *("## Decisions", f"> {PROJECT}", "> why: rollbacks are easy"),
    ]


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "opencode", "cursor", "grok", "file", "prompt"])
def test_each_host_has_its_form(filled: Cli, host: str) -> None:
    shown = filled("context", "--standing", "--host", host, "--json").json
    assert (shown["host"], len(shown["memories"])) == (host, 2)
    assert shown["text"] == filled("context", "--standing", "--host", host).out
    assert PROJECT in shown["text"]
    given = json.loads(shown["output"]) if host in ("claude", "codex", "gemini", "opencode", "cursor") else {}
    said = given.get("hookSpecificOutput", {"additionalContext": given.get("additional_context", shown["output"])})
    assert said["additionalContext"] == shown["text"]


def test_what_the_host_loads_here_is_not_shown_again(filled: Cli, work: Path) -> None:
    (work / "AGENTS.md").write_text(f"- {PROJECT}.\n")
    assert PROJECT not in filled("context", "--standing", "--host", "codex").out
    assert PROJECT in filled("context", "--standing", "--host", "gemini").out


def test_nothing_to_say_prints_nothing(cli: Cli) -> None:
    ran = cli("context", "--standing")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing is worth saying" in ran.err


def test_a_whole_prompt_has_the_context_and_the_message(filled: Cli) -> None:
    """S1.58: the context in its frame, then `User: …`."""
    for flags in (["--standing"], ["--mode", "lexical"]):
        ran = filled("context", "when do deploys happen on Fridays", "--host", "prompt", *flags)
        lines = ran.out.splitlines()
        assert lines[0] == "=== Relevant Context ==="
        assert f"> {PROJECT}" in lines
        assert lines[-3:] == ["========================", "", "User: when do deploys happen on Fridays"]
    assert (
        filled("context", "zebra xylophone", "--host", "prompt", "--mode", "lexical").out == "User: zebra xylophone\n"
    )


def test_a_file_is_kept_up_to_date_and_given_back_as_it_was(filled: Cli, work: Path) -> None:
    file = work / "AGENTS.md"
    file.write_bytes(b"# Mine\r\n\xef\xbb\xbfodd \xff bytes")
    before = file.read_bytes()
    ran = filled("context", "--into", "AGENTS.md")
    assert (
        ran.out == f"AGENTS.md tells 2 memories ({ran.out.split('(')[1].split()[0]} tokens) and is kept up to date.\n"
    )
    assert file.read_bytes().startswith(before)
    filled("remember", "Walrus is the name of the release", "--kind", "fact")
    assert b"> Walrus is the name" in file.read_bytes()
    id_ = filled("recall", "walrus release", "--mode", "lexical", "--json").json["hits"][0]["id"]
    filled("forget", id_, "--yes")
    assert b"Walrus" not in file.read_bytes()
    again = filled("context", "--into", "AGENTS.md", "--json").json
    assert len(again["memories"]) == 2
    assert file.read_bytes().count(BEGIN.encode()) == file.read_bytes().count(END.encode()) == 1
    assert filled("context", "--remove-from", "AGENTS.md").out == "AGENTS.md is as it was.\n"
    assert file.read_bytes() == before
    filled("remember", "Nobody is told of this", "--kind", "fact")
    assert file.read_bytes() == before
    assert filled("context", "--remove-from", "AGENTS.md", "--json").json == {"file": "AGENTS.md", "removed": False}


def test_a_file_can_be_named_before_there_is_anything_to_say(cli: Cli, work: Path) -> None:
    ran = cli("context", "--into", str(work / "AGENTS.md"))
    assert "nothing to say yet" in ran.out
    assert not (work / "AGENTS.md").exists()
    cli("remember", "Use uv here", "--kind", "preference")
    assert "> Use uv here" in (work / "AGENTS.md").read_text()
    cli("forget", "--all", "--yes")
    assert not (work / "AGENTS.md").exists()


def test_what_was_said_on_the_command_line_is_told_at_the_next_start(filled: Cli, work: Path) -> None:
    """Once something is prepared at all; here a file was named."""
    filled("context", "--into", "AGENTS.md")
    filled("remember", "Walrus is the name of the release", "--kind", "fact")
    data = Path(filled("whoami", "--json").json["data_dir"])
    prepared = data / "prepared" / "start" / f"{dir_name(str(work))}.gemini"  # which loads no AGENTS.md
    assert "Walrus is the name" in prepared.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a question is needed"),
        (["--standing", "--into", "x.md"], "give one of"),
        (["x", "--host", "claude"], "goes with --standing"),
        (["--standing", "--host", "emacs"], "invalid choice"),
        (["--into", "missing/x.md"], "there is no directory"),
        (["--into", "."], "is not a plain file"),
        (["--remove-from", "/proc/self/fd"], "is"),
        (["--into", "x.md", "--user", "bob"], "only your own memory"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(filled: Cli, words: list[str], said: str) -> None:
    ran = filled("context", *words)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


def test_a_read_only_file_is_refused_and_not_named(filled: Cli, work: Path) -> None:
    (work / "AGENTS.md").write_text("mine\n")
    (work / "AGENTS.md").chmod(0o444)
    ran = filled("context", "--into", "AGENTS.md")
    assert ran.code == 2
    assert "is read-only" in ran.err
    assert "chmod u+w" in ran.err
    (work / "AGENTS.md").chmod(0o644)
    filled("remember", "Nobody is told of this", "--kind", "fact")
    assert (work / "AGENTS.md").read_text() == "mine\n"
