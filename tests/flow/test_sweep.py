"""A sweep takes in what is new, once: whatever was done to the files since, and whatever lies beside them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from recollect import Recollect
from recollect.capture.sources import FLAVORS
from tests.flow.memory_fixture import IN_A_FILE
from tests.flow.transcripts_fixture import (
    Agents,
    as_lines,
    claude,
    claude_turn,
    codex,
    everything,
    fresh,
    grow,
    texts,
    uid,
)

pytestmark = pytest.mark.usefixtures("each_store")

FIXTURES = Path(__file__).parent.parent / "fixtures"
S, T = uid("one"), uid("two")
CLAUDE, CODEX = f"claude:{S}", f"codex:{T}"


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


def prompts(memory: Recollect, session: str) -> list[str]:
    return [event.text for event in memory.history(session) if event.role == "user"]


# -- new, unchanged, grown ---------------------------------------------------------------------------------------------


def test_a_new_file_is_taken_in_and_an_unchanged_one_skipped(memory: Recollect, agents: Agents) -> None:
    agents.claude(S, 3)
    agents.codex(T, 2)
    first = memory.sweep()
    assert (first.discovered, first.ingested, first.skipped_unchanged, first.analyzed) == (2, 2, 0, 2)
    assert (first.events_added, first.turns, first.failed, first.problems) == (16, 5, 0, [])
    assert first.by_agent == {"claude": 1, "codex": 1}
    before = everything(memory)
    again = memory.sweep()
    assert (again.discovered, again.ingested, again.skipped_unchanged, again.analyzed) == (2, 0, 2, 0)
    assert (again.events_added, again.events_changed, again.turns) == (0, 0, 0)
    assert everything(memory) == before


def test_of_a_grown_file_only_what_is_new_is_added(memory: Recollect, agents: Agents) -> None:
    paths = agents.claude(S, 3), agents.codex(T, 2)
    memory.sweep()
    grow(paths[0], claude(S, 2, first=3))
    grow(paths[1], codex(T, 1, first=2))
    report = memory.sweep()
    assert (report.ingested, report.events_added, report.analyzed) == (2, 10, 2)
    assert len(prompts(memory, CLAUDE)) == 5
    assert len(prompts(memory, CODEX)) == 3


def test_growing_line_by_line_gives_what_one_reading_gives(memory: Recollect, agents: Agents) -> None:
    """P29."""
    path = agents.claude(S, 0)
    for line in claude(S, 4):
        grow(path, [line])
        memory.sweep()
    assert everything(memory) == fresh(memory)


def test_the_digest_follows_the_session(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 1)
    memory.sweep()
    grow(path, claude(S, 2, first=1))
    assert memory.sweep().analyzed == 1
    digest = memory.digest(CLAUDE)
    assert digest is not None
    assert digest.turns == 3


# -- written anew ------------------------------------------------------------------------------------------------------


def rewritten_same_size(path: Path) -> None:
    """Other words of the same length in the middle, where neither beginning nor end shows it."""
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2 // 4 * 4
    lines[middle] = lines[middle].replace(uid(S, middle // 4, 0).encode(), uid("else where").encode(), 1)
    lines[middle] = lines[middle].replace(b"Please do thing", b"Please un-thing")
    new = b"".join(lines)
    assert len(new) == len(data)
    assert new[:1024] == data[:1024]
    assert new[-4096:] == data[-4096:]
    path.write_bytes(new)
    os.utime(path, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns + 10**9))


def replaced_and_longer(path: Path) -> None:
    """A file of another inode that begins and goes on as before, but for its middle."""
    rewritten_same_size(path)
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() + as_lines(claude_turn(S, 30)))
    other.replace(path)


def truncated(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]) + as_lines(claude_turn(S, 31)))


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(as_lines(claude(S, 3, first=40)))
    other.replace(path)


def emptied_and_begun_anew(path: Path) -> None:
    path.write_bytes(as_lines(claude(S, 12, first=20)))


@pytest.mark.parametrize(
    "change",
    [rewritten_same_size, replaced_and_longer, truncated, replaced, emptied_and_begun_anew],
    ids=lambda change: change.__name__,
)
def test_a_file_written_anew_is_read_anew_without_doubles(
    memory: Recollect, agents: Agents, change: Callable[[Path], None]
) -> None:
    """P29: all that was there before stays, all that is there now is kept, nothing is there twice."""
    path = agents.claude(S, 12)
    memory.sweep()
    before = {(event.key, event.text) for event in memory.history(CLAUDE)}
    change(path)
    report = memory.sweep()
    assert report.ingested == 1
    assert report.events_added > 0
    events = memory.history(CLAUDE)
    assert len({event.key for event in events}) == len(events)
    assert before <= {(event.key, event.text) for event in events}
    totals = memory.coverage().totals()
    assert (totals["percent"], totals["gaps"], totals["unread_files"]) == (100.0, 0, 0)
    assert memory.sweep().events_added == 0


def test_touching_a_file_adds_nothing(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 3)
    memory.sweep()
    os.utime(path, (0, 0))
    report = memory.sweep()
    assert (report.ingested, report.events_added, report.events_changed, report.analyzed) == (1, 0, 0, 0)


def test_packing_and_unpacking_a_session_adds_nothing(memory: Recollect, agents: Agents) -> None:
    """Codex packs cold sessions and unpacks them on resume: .jsonl, .jsonl.zst, and back."""
    plain = agents.codex(T, 6)
    memory.sweep()
    before = everything(memory)
    packed = plain.with_name(plain.name + ".zst")
    packed.write_bytes(zstandard.compress(plain.read_bytes()))
    plain.unlink()
    assert memory.sweep().events_added == 0
    assert memory.sweep().skipped_unchanged == 1
    assert everything(memory) == before
    plain.write_bytes(zstandard.decompress(packed.read_bytes()))
    packed.unlink()
    grow(plain, codex(T, 1, first=6))
    assert memory.sweep().events_added == 2
    totals = memory.coverage().totals()
    assert (totals["turns_on_disk"], totals["turns_stored"], totals["sessions"]) == (7, 7, 1)


# -- torn --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [1, 8], ids=["small file", "large file"])
def test_a_torn_last_line_is_taken_when_it_is_whole(memory: Recollect, agents: Agents, turns: int) -> None:
    """P19: cut in the middle of a character, inside an inner object, before the newline, everywhere."""
    path = agents.claude_path(S)
    whole = as_lines(claude(S, turns))
    last = claude_turn(S, turns, "Grüße, 你好 👋 bitte", answer="Fertig 🎉")
    line = as_lines([last[0]])
    cuts = {1, len(line) // 2, len(line) - 1, len(line)}
    cuts |= {at for at in range(1, len(line)) if line[at] & 0xC0 == 0x80}  # inside a character
    cuts |= {at + 1 for at, byte in enumerate(line) if byte in b"}]"}  # where something inside it ends
    for cut in sorted(cuts):
        path.write_bytes(whole + line[:cut])
        memory.sweep()
    assert prompts(memory, CLAUDE)[-1] == "Grüße, 你好 👋 bitte"
    path.write_bytes(whole + line + as_lines(last[1:]))
    memory.sweep()
    result = f"1 passed in turn {turns}"
    assert texts(memory, CLAUDE)[-4:] == ["Grüße, 你好 👋 bitte", f"pytest -k turn_{turns}", result, "Fertig 🎉"]
    assert len(memory.history(CLAUDE)) == 4 * (turns + 1)


@IN_A_FILE
def test_every_cut_of_the_last_line_loses_and_doubles_nothing(memory: Recollect, agents: Agents) -> None:
    """P19: a live file seen at every seventh byte of its last turn, which is appended in place."""
    path = agents.claude(S, 8)
    rest = as_lines(claude_turn(S, 8, "¿Qué tal? 👋"))
    memory.sweep()
    with path.open("ab", buffering=0) as file:
        for at in range(0, len(rest), 7):
            file.write(rest[at : at + 7])
            memory.sweep()
    assert everything(memory) == fresh(memory)


def test_a_record_glued_to_a_line_without_end_is_kept(memory: Recollect, agents: Agents) -> None:
    """A process died between a record and its newline; the next one went on in the same line."""
    path = agents.claude(S, 5)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    memory.sweep()
    grow(path, claude_turn(S, 5, "glued behind"))
    memory.sweep()
    assert prompts(memory, CLAUDE)[-1] == "glued behind"
    assert len(memory.history(CLAUDE)) == 24


# -- bad files ---------------------------------------------------------------------------------------------------------


def bad_files(agents: Agents) -> dict[str, Path]:
    """What must not stop a sweep; those that are no sessions at all are empty, the others are failures."""
    folder = agents.claude_path("x").parent
    made = {name: folder / f"{uid(name)}.jsonl" for name in ("link", "pipe", "folder", "garbage", "zeros", "nothing")}
    made["link"].symlink_to("/etc/passwd")
    os.mkfifo(made["pipe"])
    made["folder"].mkdir()
    made["garbage"].write_bytes(os.urandom(100_000))
    made["zeros"].write_bytes(bytes(10_000))
    made["nothing"].write_bytes(b"")
    made["deep"] = folder / f"{uid('deep')}.jsonl"
    made["deep"].write_bytes(b'{"a":' * 50_000 + b"\n" + b"[" * 100_000 + b"\n")
    made["hostile"] = folder / f"{uid('hostile')}.jsonl"
    made["hostile"].write_bytes(
        b'{"type":"user","uuid":{},"sessionId":[],"timestamp":1e999,"cwd":3,"message":{"content":[1,null,{}]}}\n'
        b'{"type":"assistant","message":{"content":[{"type":"tool_use","input":"x","id":7,"name":[]}],"usage":[]}}\n'
        b'{"type":"user","sessionId":"\\ud800","timestamp":"9999-99-99","message":{"content":"\\u0000\\udfff"}}\n'
    )
    made["packed"] = agents.codex_path(uid("packed")).with_suffix(".jsonl.zst")
    made["packed"].write_bytes(zstandard.compress(as_lines(codex(uid("packed"), 3)))[:-5] + b"\xff" * 3)
    return made


def test_bad_files_cost_only_themselves(memory: Recollect, agents: Agents) -> None:
    made = bad_files(agents)
    agents.claude(S, 2)
    agents.codex(T, 2)
    report = memory.sweep()
    assert len(prompts(memory, CLAUDE)) == len(prompts(memory, CODEX)) == 2
    failed = {problem["transcript"] for problem in report.problems}
    assert failed == {str(made[name]) for name in ("link", "pipe", "folder")}
    assert report.failed == 3
    assert all(problem["error"] for problem in report.problems)
    assert "root:" not in str(everything(memory))
    again = memory.sweep()
    assert again.failed == 3  # tried again every time
    assert again.ingested == 0


def test_a_failed_file_is_read_as_soon_as_it_can_be(memory: Recollect, agents: Agents) -> None:
    path = agents.claude_path(S)
    path.mkdir()
    assert memory.sweep().failed == 1
    assert memory.coverage().failed[0]["transcript"] == str(path)
    path.rmdir()
    agents.claude(S, 2)
    report = memory.sweep()
    assert (report.failed, report.ingested) == (0, 1)
    assert memory.coverage().failed == []


def test_a_file_that_fails_later_keeps_what_was_read_of_it(memory: Recollect, agents: Agents) -> None:
    path = agents.claude(S, 2)
    memory.sweep()
    before = everything(memory)
    path.unlink()
    path.mkdir()
    assert memory.sweep().failed == 1
    assert everything(memory) == before


def test_a_damaged_database_of_one_agent_stops_no_other(memory: Recollect, agents: Agents) -> None:
    """Its sessions cannot even be listed; that is a failure by name until it can be read again."""
    folder = agents.home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.db").write_bytes(b"SQLite format 3\x00" + os.urandom(5_000))
    agents.claude(S, 1)
    report = memory.sweep()
    assert (report.ingested, report.failed) == (1, 1)
    assert "opencode.db" in report.problems[0]["error"]
    assert "opencode.db" in memory.coverage().failed[0]["error"]
    (folder / "opencode.db").unlink()
    assert memory.sweep().failed == 0
    assert memory.coverage().failed == []


def test_a_digest_that_cannot_be_made_costs_only_itself(
    memory: Recollect, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P26: it is named, stays due, and is made as soon as it can be."""
    from recollect.pipeline import digests

    made = digests.digest_of

    def failing(session, events, costs):  # type: ignore[no-untyped-def]
        if session.id == CLAUDE:
            raise RuntimeError("the distiller is out")
        return made(session, events, costs)

    monkeypatch.setattr(digests, "digest_of", failing)
    agents.claude(S, 1)
    agents.codex(T, 1)
    report = memory.sweep()
    assert (report.ingested, report.failed, report.analyzed) == (2, 0, 1)
    assert [problem["transcript"] for problem in report.problems] == [CLAUDE]
    assert memory.digest(CLAUDE) is None
    assert memory.digest(CODEX) is not None
    monkeypatch.undo()
    assert memory.sweep().analyzed == 1


# -- fed back ----------------------------------------------------------------------------------------------------------


def test_recalled_text_that_comes_back_adds_no_words(memory: Recollect, agents: Agents) -> None:
    """T03: ten rounds of recall, injection and capture; what was injected is never stored again."""
    memory.remember("The walrus database listens on port 5433.", kind="decision")
    path = agents.claude(S, 1)
    memory.sweep()
    counts = []
    for number in range(1, 11):
        block = memory.context("walrus database port").text
        assert "5433" in block
        shown = memory.context("walrus database port", max_tokens=300).text
        grow(path, claude_turn(S, number, f"{block}\nSo which one?", command="recollect recall walrus", output=shown))
        memory.sweep()
        hits = memory.recall("walrus database port 5433", abstain=False, limit=50).hits
        counts.append(sum("5433" in hit.content for hit in hits))
    kept = texts(memory, CLAUDE)
    assert sum("5433" in text for text in kept) == 0
    assert sum("So which one?" in text for text in kept) == 10
    assert counts == [1] * 10
    assert len(memory.memories()) == 1


def test_an_injected_block_is_known_without_its_frame(memory: Recollect, agents: Agents) -> None:
    """T03: a host that passes our text on by itself, as additional context of a hook."""
    memory.remember("The walrus database listens on port 5433.")
    block = memory.context("walrus database port").text
    path = agents.claude(S, 1)
    context = {"type": "hook_additional_context", "content": [block]}
    line = {**claude_turn(S, 1)[0], "type": "attachment", "uuid": uid("attached"), "attachment": context}
    grow(path, [line])
    memory.sweep()
    assert not [text for text in texts(memory, CLAUDE) if "5433" in text]


# -- every agent -------------------------------------------------------------------------------------------------------


def touch_all(folder: Path, moment: int) -> None:
    for path in folder.rglob("*"):
        os.utime(path, (moment, moment))


@IN_A_FILE
@pytest.mark.parametrize("agent", sorted(path.name for path in FIXTURES.iterdir() if path.name in FLAVORS))
def test_real_sessions_of_every_agent_are_there_once(memory: Recollect, tmp_path: Path, agent: str) -> None:
    """P29: swept, touched and swept ten times; what is on disk is covered."""
    folder = tmp_path / agent
    shutil.copytree(FIXTURES / agent, folder)
    touch_all(folder, 0)
    first = memory.sweep({agent: [folder]})
    assert first.failed == 0
    assert first.events_added > 0
    rows = everything(memory)
    for number in range(1, 11):
        touch_all(folder, number)
        again = memory.sweep({agent: [folder]})
        assert (again.events_added, again.events_changed, again.analyzed) == (0, 0, 0)
    assert everything(memory) == rows
    totals = memory.coverage({agent: [folder]}).totals()
    assert (totals["percent"], totals["gaps"], totals["unread_files"]) == (100.0, 0, 0)
