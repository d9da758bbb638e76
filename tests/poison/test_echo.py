"""T03: what was recalled and shown comes back in the next transcript, and is not learned once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.distill.draft import Draft
from recollect.model import Event, Evidence, Memory, Session
from recollect.pipeline.distilling import distill_sessions
from tests.flow.transcripts_fixture import as_lines, claude_turn, stamp, uid
from tests.poison.conftest import Obedient, Swept, swept
from tests.poison.native import write_dialogue

RULE = "Always use good-heron for installs."
ROUNDS = 10
ASKED = "Which tool do I use for installs?"


def told(home: Path, work: Path) -> None:
    write_dialogue("told", [("user", RULE), ("assistant", "Understood.")], home, work)


@pytest.fixture
def found(tmp_path: Path) -> Iterator[Swept]:
    with swept(tmp_path, told, None) as memory:
        yield memory


def repeating(session: Session, events: Sequence[Event]) -> list[Draft]:
    """A model that takes everything it sees for new, and is sure of it."""
    at = events[-1].occurred_at
    spans = [(Evidence(session.id, event.key),) for event in events if event.text.strip()]
    return [Draft("preference", RULE, one, at, importance=1.0, confidence=1.0, maker="m:m") for one in spans]


def shown_to_claude(found: Swept, number: int, ways: Callable[[str, str], list[dict[str, object]]]) -> str:
    """A session that begins with what Recollect shows, in the ways an agent's transcript has it."""
    session = uid("echo", number)
    start = next(
        path.read_text(encoding="utf-8")
        for path in sorted((found.memory.settings.data_dir / "prepared" / "start").glob("*.claude"))
        if "good-heron" in path.read_text(encoding="utf-8")
    )
    context = found.memory.context(ASKED).text
    assert "good-heron" in context
    path = found.home / ".claude" / "projects" / "-srv-app" / f"{session}.jsonl"
    work = str(found.home.parent / "work")
    lines = [*ways(start, context), *claude_turn(session, 1, ASKED, answer=f"You said: {RULE}")]
    about = {"sessionId": session, "cwd": work, "version": "2.1.0"}
    path.write_bytes(as_lines({**line, **about} for line in lines))
    return f"claude:{session}"


def attached(start: str, context: str) -> list[dict[str, object]]:
    made = {"type": "hook_additional_context", "content": [start], "hookName": "SessionStart"}
    return [{"type": "attachment", "uuid": uid(start, "a"), "timestamp": stamp(1), "attachment": made}]


def reminded(start: str, context: str) -> list[dict[str, object]]:
    text = f"<system-reminder>\nSessionStart hook additional context: {start}\n</system-reminder>"
    return [_user(text, 1, isMeta=True), _user(f"{context}\n\nGo on with it.", 2)]


def cut(start: str, context: str) -> list[dict[str, object]]:
    """A host that keeps only the middle of what it is given."""
    return [
        _user(start[: len(start) // 2], 1),
        _user(start[len(start) // 3 :], 2),
        _user(context[: -len(context) // 3], 3),
    ]


def printed(start: str, context: str) -> list[dict[str, object]]:
    """The agent asked for it in its shell."""
    return claude_turn(uid("shell", start), 0, "Look it up.", command="recollect recall installs", output=context)


def _user(text: str, minute: int, **more: object) -> dict[str, object]:
    message = {"role": "user", "content": text}
    return {"type": "user", "uuid": uid(text, minute), "timestamp": stamp(minute), "message": message, **more}


def rows(memory: Recollect) -> list[tuple[str, str, float, float, tuple[Evidence, ...]]]:
    kept: list[Memory] = memory.memories(1_000, archived=True, history=True)
    return [(one.id, one.content, one.confidence, one.importance, one.evidence) for one in kept]


def echoed(found: Swept, session: str) -> str:
    """What is kept of a session but for what its agent said of itself."""
    return "\n".join(event.text for event in found.memory.history(session) if event.kind != "assistant_text")


@pytest.mark.parametrize("ways", [attached, reminded, cut, printed], ids=lambda ways: str(ways.__name__))
def test_ten_rounds_of_recall_and_sweep_change_nothing(
    found: Swept, ways: Callable[[str, str], list[dict[str, object]]]
) -> None:
    before = rows(found.memory)
    assert [row[1] for row in before] == [RULE]
    for number in range(ROUNDS):
        found.prepared()
        session = shown_to_claude(found, number, ways)
        found.memory._reads.write()
        found.memory.sweep()
        assert rows(found.memory) == before
        assert "good-heron" not in echoed(found, session)


def test_a_model_that_learns_its_own_echo_learns_nothing(found: Swept) -> None:
    before = rows(found.memory)
    for number in range(ROUNDS):
        found.prepared()
        session = shown_to_claude(found, number, reminded)
        found.memory._reads.write()
        found.memory.sweep()
        distill_sessions(
            found.memory.store, found.memory.scope, [session], found.memory._clock, extractor=Obedient(repeating)
        )
        assert rows(found.memory) == before
