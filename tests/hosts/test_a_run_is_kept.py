"""What a real agent did is kept: told of by its hooks or found by the sweep, all of it, once."""

from __future__ import annotations

import pytest

from recollect import Event
from tests.hosts.host import BRANCH, PROJECT, Host, await_line, kill, only, said
from tests.hosts.scripted_model import Call, Hang, Say

pytestmark = pytest.mark.slow

# What stands in a transcript once the result of a command does.
RESULT = {
    "codex": "marzipan\\n",
    "claude": '"tool_result"',
    "gemini": '"functionResponse"',
    "opencode": '"status":"completed"',
}
PROMPT = 'Make  a "file"\nwith the word für \\marzipan\\ in it: 🍬 $HOME `x` <b>&amp;</b>'
COMMAND = "echo marzipan > made.txt && cat made.txt"


def test_what_hooks_told_of_is_kept_whole(host: Host) -> None:
    """P14: prompt, call, result, answer, cost and project, by the hooks alone."""
    host.run(PROMPT, host.agent.shell(COMMAND), Say("The file is there."))
    assert (host.project / "made.txt").read_text() == "marzipan\n"
    assert host.waiting()
    assert host.drain()["ingested"] == 1

    session, events = only(host.sessions()), host.events()
    assert session.id.startswith(f"{host.agent.flavor}:")
    assert (session.project, session.cwd) == (PROJECT, str(host.project))
    assert session.branch == (BRANCH if host.agent.flavor in ("codex", "claude") else None)
    assert session.agent_version == (None if host.agent.flavor == "gemini" else host.agent.version)
    assert session.interactive is (None if host.agent.flavor == "gemini" else False)
    assert said(events, "user_prompt") == [PROMPT]
    assert said(events, "assistant_text") == ["The file is there."]
    call, result = (only([event for event in events if event.kind == kind]) for kind in ("tool_call", "tool_result"))
    assert (call.text, call.meta["action"]) == (COMMAND, "shell")
    assert (result.text.strip(), result.meta["exit"], result.meta["error"]) == ("marzipan", 0, False)
    assert result.meta["call"] == call.meta["call"]
    assert {event.way for event in events} == {"hook"}
    assert [event.occurred_at for event in events] == sorted(event.occurred_at for event in events)
    assert host.covered()

    digest = host.digest(session.id)
    assert digest
    assert digest.goal == " ".join(PROMPT.split())
    assert (digest.prompts, digest.actions, digest.last_words) == (1, {"shell": 1}, "The file is there.")


def test_what_the_model_said_it_used_is_the_cost(host: Host) -> None:
    host.run("Make a file.", host.agent.shell(COMMAND), host.agent.shell("true"), Say("Done."))
    host.drain()
    costs, used = host.costs(), host.model.total()
    assert len(costs) == len(host.model.used) == 3
    assert sum(cost.input for cost in costs) == used.input
    assert sum(cost.cache_read for cost in costs) == used.cached
    assert sum(cost.output for cost in costs) == used.output
    assert sum(cost.tokens for cost in costs) == sum(used)


def test_reading_it_again_by_any_way_adds_nothing(host: Host) -> None:
    """P14: drain, sweep and backfill know what they read before."""
    host.run(PROMPT, host.agent.shell(COMMAND), Say("The file is there."))
    assert host.drain()["events_added"] > 0
    before = host.events(), host.costs(), only(host.sessions())

    assert host.drain()["records"] == 0
    for words in (("sweep",), ("backfill", host.agent.flavor)):
        report = host.recollect(*words)
        assert (report["discovered"], report["events_added"], report["events_changed"]) == (1, 0, 0), words
    assert (host.events(), host.costs(), only(host.sessions())) == before


def test_a_command_that_failed_is_kept_with_its_exit_code(host: Host) -> None:
    host.run("Try it.", host.agent.shell("echo no such luck; exit 3"), Say("It failed."))
    host.drain()
    result = only([event for event in host.events() if event.kind == "tool_result"])
    assert "no such luck" in result.text
    assert (result.meta["exit"], result.meta["error"]) == (3, True)


def test_what_it_wrote_is_an_edit_of_that_file(host: Host) -> None:
    """By the agent's own tool, or a patch it was handed as a command."""
    (host.project / "src").mkdir()
    host.run("Write it down.", host.agent.write(host.project / "src" / "new.py", "print(7)"), Say("Written."))
    assert (host.project / "src" / "new.py").read_text() == "print(7)\n"
    host.drain()
    session, events = only(host.sessions()), host.events()
    edit, result = (only([event for event in events if event.kind == kind]) for kind in ("edit", "tool_result"))
    assert edit.meta["files"] == [str(host.project / "src" / "new.py")]
    assert (result.meta["call"], result.meta["error"]) == (edit.meta["call"], False)
    digest = host.digest(session.id)
    assert digest
    assert (digest.edits, dict(digest.files_edited), digest.commands) == (1, {"src/new.py": 1}, ())


def test_a_killed_agent_leaves_what_it_had_done(host: Host) -> None:
    """T13: no Stop, no SessionEnd; what it wrote until then is found."""
    process = host.begin(PROMPT, host.agent.shell(COMMAND), Hang())
    try:
        assert host.model.hanging.wait(90)
        await_line(host, COMMAND, RESULT[host.agent.flavor])
    finally:
        kill(process)

    assert host.recollect("sweep")["failed"] == 0
    events = host.events()
    assert said(events, "user_prompt") == [PROMPT]
    assert said(events, "tool_call") == [COMMAND]
    assert [text.strip() for text in said(events, "tool_result")] == ["marzipan"]
    assert said(events, "assistant_text") == []
    assert host.waiting() == []
    assert host.covered()


def test_without_hooks_the_sweep_finds_it(bare: Host) -> None:
    bare.run(PROMPT, bare.agent.shell(COMMAND), Say("The file is there."))
    assert bare.recollect("sweep")["ingested"] == 1
    assert said(bare.events(), "user_prompt") == [PROMPT]
    assert {event.way for event in bare.events()} == {"sweep"}
    assert only(bare.sessions()).project == PROJECT
    assert bare.covered()


def test_a_resumed_session_grows_by_the_new_turn(host: Host) -> None:
    host.run("Make a file.", host.agent.shell(COMMAND), Say("The file is there."))
    host.drain()
    session, before = only(host.sessions()).id, host.events()

    host.run("And now look at it.", host.agent.shell("cat made.txt"), Say("It says marzipan."), resume=_native(session))
    assert host.drain()["events_changed"] == 0
    after = host.events()
    assert only(host.sessions()).id == session
    assert after[: len(before)] == before
    assert said(after, "user_prompt") == ["Make a file.", "And now look at it."]
    assert said(after, "tool_call") == [COMMAND, "cat made.txt"]
    assert said(after, "assistant_text") == ["The file is there.", "It says marzipan."]
    assert sum(cost.tokens for cost in host.costs()) == sum(host.model.total())
    assert host.covered()


@pytest.mark.parametrize("agent", ["codex", "claude", "opencode"], indirect=True)
def test_a_forked_session_repeats_nothing(host: Host) -> None:
    """Claude Code and OpenCode copy the history into the fork, Codex points at it; it is kept, and paid for, once."""
    host.run("Make a file.", host.agent.shell(COMMAND), Say("The file is there."))
    host.drain()
    first = only(host.sessions()).id

    host.run("Try another word.", Say("Nougat, then."), resume=_native(first), fork=True)
    host.drain()
    assert len(host.sessions()) == 2
    events = host.events()
    assert said(events, "user_prompt") == ["Make a file.", "Try another word."]
    assert said(events, "assistant_text") == ["The file is there.", "Nougat, then."]
    assert [event.session == first for event in events if event.role == "user"] == [True, False]
    assert sum(cost.tokens for cost in host.costs()) == sum(host.model.total())
    assert host.covered()


@pytest.mark.parametrize("agent", ["codex", "claude", "opencode"], indirect=True)
def test_a_subagent_is_a_session_of_its_own(host: Host) -> None:
    """Its records name the parent's session; its prompt is the model's, not the person's."""
    host.model.asides["Look for widgets."] = Say("No widgets here.")
    host.run("Send somebody.", *host.agent.delegate("Look for widgets."), Say("There are none."))
    host.drain()
    child, parent = sorted(host.sessions(), key=lambda session: session.parent is None)
    assert (child.parent, child.relation, child.project) == (parent.id, "subagent", PROJECT)
    theirs, mine = ([event for event in host.events() if event.session == each.id] for each in (child, parent))
    assert [(e.text, e.origin) for e in mine if e.kind == "user_prompt"] == [("Send somebody.", "user")]
    assert [(e.text, e.origin) for e in theirs if e.kind == "user_prompt"] == [("Look for widgets.", "assistant")]
    assert said(mine, "assistant_text") == ["There are none."]
    assert said(theirs, "assistant_text") == ["No widgets here."]
    assert {event.way for event in (*mine, *theirs)} == {"hook"}
    assert [digest.goal for each in (child, parent) if (digest := host.digest(each.id))] == [
        "Look for widgets.",
        "Send somebody.",
    ]
    assert sum(cost.tokens for cost in host.costs()) == sum(host.model.total())
    assert host.covered()


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_a_prompt_given_as_an_argument_is_kept_as_it_was_typed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """As most people do; OpenCode puts quotes around it."""
    prompt = 'Call the "widget" a gadget.'
    words = host.agent.words
    monkeypatch.setattr(host.agent, "words", lambda *given, **how: [*words(*given, **how), prompt])
    monkeypatch.setattr(host.agent, "typed", lambda _: "")
    host.run(prompt, Say("So be it."))
    host.drain()
    assert said(host.events(), "user_prompt") == [prompt]


@pytest.mark.parametrize("agent", ["gemini"], indirect=True)
def test_a_subagent_of_gemini_is_found_by_the_sweep(host: Host) -> None:
    """No hook tells of it, and it hands in its result by a tool."""
    host.model.asides["Look for widgets."] = Call("complete_task", {"result": {"response": "No widgets here."}})
    host.run("Send somebody.", *host.agent.delegate("Look for widgets."), Say("There are none."))
    host.drain()
    parent = only(host.sessions())
    host.recollect("sweep")
    child = only([session for session in host.sessions() if session.id != parent.id])
    assert (child.parent, child.relation, child.project) == (parent.id, "subagent", PROJECT)
    theirs = [event for event in host.events() if event.session == child.id]
    assert [(e.text, e.origin) for e in theirs if e.kind == "user_prompt"] == [("Look for widgets.", "assistant")]
    assert "No widgets here." in only([event for event in theirs if event.kind == "tool_call"]).text
    assert sum(cost.tokens for cost in host.costs()) == sum(host.model.total())
    assert host.covered()


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_codex_packing_its_context_loses_nothing(host: Host) -> None:
    host.run(
        "Look around.",
        host.agent.shell("echo marzipan"),
        Say("The word is marzipan."),  # what is left of the context
        Say("Done."),
        options=["-c", "model_auto_compact_token_limit=1000"],
    )
    host.drain()
    check_packed(host.events(), ["Look around."])
    assert sum(cost.tokens for cost in host.costs()) == sum(host.model.total())
    assert host.covered()


@pytest.mark.parametrize("agent", ["claude"], indirect=True)
def test_claude_packing_its_context_loses_nothing(host: Host) -> None:
    host.run("Look around.", host.agent.shell("echo marzipan"), Say("Done."))
    host.drain()
    native = _native(only(host.sessions()).id)
    host.run("/compact", Say("<summary>The word is marzipan.</summary>"), resume=native)
    host.drain()
    check_packed(host.events(), ["Look around.", "/compact"])
    assert host.covered()


def check_packed(events: list[Event], prompts: list[str]) -> None:
    """All that was before is there, and that it was packed, and into what."""
    assert said(events, "user_prompt") == prompts
    assert said(events, "tool_call") == ["echo marzipan"]
    assert [text.strip() for text in said(events, "tool_result")] == ["marzipan"]
    assert said(events, "assistant_text")[-1] == "Done."  # before it Codex has the summary, as the model wrote it
    assert len(said(events, "compaction")) == 1
    assert "The word is marzipan." in only(said(events, "summary"))
    assert {event.way for event in events} == {"hook"}


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_a_session_without_a_transcript_is_kept_by_what_its_hooks_said(host: Host) -> None:
    """Once, in its project, and with its digest."""
    host.run("Make a file.", host.agent.shell(COMMAND), Say("The file is there."), options=["--ephemeral"])
    assert host.agent.transcripts(host.home) == []
    assert host.drain()["events_added"] == 2
    session, events = only(host.sessions()), host.events()
    assert session.project == PROJECT
    assert [(event.kind, event.text) for event in events] == [
        ("user_prompt", "Make a file."),
        ("assistant_text", "The file is there."),
    ]
    digest = host.digest(session.id)
    assert digest
    assert digest.goal == "Make a file."


def _native(session: str) -> str:
    return session.partition(":")[2]
