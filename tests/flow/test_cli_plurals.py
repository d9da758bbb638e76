"""One thing is said in the singular."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.cli.wording import counted, in_words
from tests.flow.conftest import Cli
from tests.flow.transcripts_fixture import Agents, uid


@pytest.mark.parametrize(
    ("number", "names", "said"),
    [
        (0, "files", "0 files"),
        (1, "files", "1 file"),
        (1, "memories", "1 memory"),
        (1, "entries", "1 entry"),
        (1_200, "turns", "1,200 turns"),
    ],
)
def test_a_number_of_things(number: int, names: str, said: str) -> None:
    assert counted(number, names) == said


def test_what_there_is_none_of_is_left_out() -> None:
    assert in_words({"sessions": 1, "events": 0, "memories": 2}) == "1 session, 2 memories"


def test_a_memory_that_was_read_once(cli: Cli) -> None:
    id_ = cli("remember", "--json", "The harbour freezes in winter").json["memory"]["id"]
    assert "read        0 times" in cli("show", id_).out
    cli("recall", "harbour", "--mode", "lexical")
    assert "read        1 time\n" in cli("show", id_).out


def test_one_file_that_is_not_read_yet(cli: Cli, own_home: Path) -> None:
    agents = Agents(own_home)
    agents.claude(uid("one"), 1)
    assert "(1 file is not read yet)" in cli("coverage").out
    cli("sweep")
    assert "of 1 turn in 1 session\n" in cli("coverage").out
    agents.claude(uid("two"), 1)
    agents.claude(uid("three"), 1)
    assert "(2 files are not read yet)" in cli("coverage").out
