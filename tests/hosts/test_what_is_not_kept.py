"""What nobody wants kept of a real agent's session is in no file of ours: secrets, private words, our own tasks."""

from __future__ import annotations

import random
import re
import string

import pytest

from tests.hosts.host import Host, only, said
from tests.hosts.scripted_model import Say

pytestmark = pytest.mark.slow


def made_up_token() -> str:
    """A token of the right form, made here, so that no scanner takes this file for a leak."""
    return "ghp_" + "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=36))


def test_a_secret_that_a_tool_printed_is_in_no_file(host: Host) -> None:
    """T14: neither where the tool printed it nor where the model repeated it."""
    token = made_up_token()
    (host.project / "notes.txt").write_text(f"token: {token}\n")
    host.run("What does it say?", host.agent.shell("cat notes.txt"), Say(f"It says {token}, all of it."))
    assert any(token.encode() in path.read_bytes() for path in host.agent.transcripts(host.home))
    host.drain()

    assert host.files_with(token) == []
    (result,), (answer,) = (said(host.events(), kind) for kind in ("tool_result", "assistant_text"))
    assert re.fullmatch(r"token: \[REDACTED:[^]]+]", result.strip())
    assert re.fullmatch(r"It says \[REDACTED:[^]]+], all of it\.", answer)
    assert host.covered()


def test_a_secret_in_a_command_is_in_no_file(host: Host) -> None:
    token = made_up_token()
    host.run(f"Use {token}.", host.agent.shell(f"echo {token}"), Say("Done."))
    host.drain()
    assert host.files_with(token) == []
    assert "[REDACTED:" in only(said(host.events(), "tool_call"))
    assert "[REDACTED:" in only(said(host.events(), "user_prompt"))


def test_private_words_in_a_prompt_are_in_no_file(host: Host) -> None:
    host.run("Open the gate. <private>Its code is tulip-4711.</private> Then stop.", Say("It is open."))
    host.drain()
    assert host.files_with("tulip-4711") == []
    assert said(host.events(), "user_prompt") == ["Open the gate. [private] Then stop."]
    assert host.covered()


def test_hooks_are_silent_inside_a_call_of_our_own(host: Host) -> None:
    """With RECOLLECT_INNER in its environment an agent leaves no record."""
    host.run("Sum it up.", Say("It is short."), env={"RECOLLECT_INNER": "1"})
    assert not host.data_dir.exists()


@pytest.mark.parametrize("way", ["hooks", "sweep"])
def test_a_task_we_gave_to_a_model_is_withheld_entirely(way: str, host: Host) -> None:
    """Should the variable get lost, the prompt still says whose it is."""
    host.run("<recollect-task kind=digest>\nSum up the tulips.", host.agent.shell("echo crocus"), Say("Daffodils."))
    report = host.drain() if way == "hooks" else host.recollect("sweep")
    assert (report["ingested"], report["events_added"]) == (0, 0)
    assert host.sessions() == []
    for word in ("tulips", "crocus", "Daffodils"):
        assert host.files_with(word) == []
    found = host.recollect("coverage")
    assert (found["turns_withheld"], found["withheld"], found["gaps"]) == (1, {"ours": 1}, 0)


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_a_task_of_ours_without_a_transcript_is_withheld_too(host: Host) -> None:
    """Its prompt comes in one record and its answer in another."""
    host.run("<recollect-task kind=digest>\nSum up the tulips.", Say("Daffodils."), options=["--ephemeral"])
    assert host.drain()["events_added"] == 0
    assert host.files_with("Daffodils") == []
    assert host.sessions() == []
