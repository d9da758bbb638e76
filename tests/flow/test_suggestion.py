"""One line about last time: said when a session starts where something learned fits, and never more than that.

S1.105; trust rules hold: only what people approved and people or outcomes show, or a lesson that is trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect, Scope, hookreply, promptindex, warmwire
from recollect.inject.hosts import HOOKED
from recollect.inject.suggestion import LESSON_DAYS, PATTERN_DAYS, suggest
from recollect.project import resolve
from recollect.store.ports.learn import Pattern
from recollect.warm.answers import Answers
from tests.flow.memory_fixture import HandClock
from tests.flow.test_hook_answers import said
from tests.flow.test_prepare import data_of, ran_in, start, told
from tests.prepared_fixture import event

Open = Callable[..., Recollect]
RULE = "Start the tide gauge emulator before the harbour tests."
ABOUT = "can you look at why the harbour tests time out without the gauge emulator"
MARK = "[last time here:"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "harbour"
    folder.mkdir()
    return folder


@pytest.fixture
def memory(opened: Open, here: Path, clock: HandClock) -> Recollect:
    one = opened(Scope(project=project_of(here)))
    ran_in(one, here, clock)
    return one


def project_of(folder: Path) -> str:
    found = resolve(folder, {}).name
    assert found is not None
    return found


def learned(memory: Recollect, clock: HandClock, **changes: Any) -> Pattern:
    """A pattern in the catalogue."""
    values: dict[str, Any] = {
        "id": "abcd1234abcd1234",
        "kind": "error_repeated",
        "key": "harbour tests",
        "statement": "Harbour tests time out without the gauge",
        "rule": RULE,
        "trust": "outcome",
        "state": "approved",
        "version": 2,
        "reviewer": "ann",
        "sessions": 4,
        "projects": (memory.scope.project,),
        "first_seen": clock() - timedelta(days=20),
        "last_seen": clock() - timedelta(days=3),
        "score": 1.0,
    }
    one = Pattern(**{**values, **changes})
    return memory.store.patterns.put(memory.scope.within(None), one, at=clock(), was=None)


def test_an_approved_pattern_is_the_one_line_in_every_hooks_answer(
    memory: Recollect, clock: HandClock, here: Path
) -> None:
    """As the compiled hook prints it: the very bytes that lie ready, quoted like everything else."""
    learned(memory, clock)
    memory.remember("Postgres listens on port 5433", kind="fact")
    memory.prepare()
    for host in HOOKED:
        text = told(memory, here, host)
        lines = text.splitlines()
        assert lines.count(f"> {RULE}") == 1
        assert (
            lines[lines.index(f"> {RULE}") - 1] == f"{MARK} seen in 4 sessions, the last 2026-11-12; approved by ann]"
        )
        assert lines.index(f"> {RULE}") < lines.index("## Facts")
    printed = said(data_of(memory), event("SessionStart", source="startup", cwd=str(here)))
    assert printed == start(memory, here)
    assert RULE in json.loads(printed)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(
    "changes",
    [
        {"trust": "observed"},
        {"state": "candidate"},
        {"state": "rejected"},
        {"state": "retired"},
        {"projects": ("elsewhere",)},
        {"projects": ()},
        {"rule": None},
        {"last_seen": -PATTERN_DAYS - 1},
        {"last_seen": 3000},
    ],
    ids=[
        "merely observed",
        "not approved",
        "rejected",
        "retired",
        "of another project",
        "of none",
        "no rule",
        "old",
        "of a clock that ran ahead",
    ],
)
def test_what_does_not_fit_well_is_not_said(
    memory: Recollect, clock: HandClock, here: Path, changes: dict[str, Any]
) -> None:
    if "last_seen" in changes:
        changes = {"last_seen": clock() + timedelta(days=changes["last_seen"])}
    learned(memory, clock, **changes)
    memory.remember("Postgres listens on port 5433", kind="fact")
    memory.prepare()
    assert MARK not in told(memory, here)
    assert "port 5433" in told(memory, here)


def test_of_several_one_is_said_the_worthiest(memory: Recollect, clock: HandClock, here: Path) -> None:
    learned(memory, clock, id="a" * 16, rule="Read the manual of the gauge.", score=0.5)
    learned(memory, clock, score=2.0)
    learned(memory, clock, id="c" * 16, rule="Feed the gulls.", score=0.7)
    memory.prepare()
    text = told(memory, here)
    assert text.count(MARK) == 1
    assert RULE in text


def test_a_trusted_lesson_of_the_project_is_said_once(memory: Recollect, here: Path, clock: HandClock) -> None:
    lesson = memory.remember("The gauge needs ten seconds to warm up", kind="lesson", importance=0.7)
    memory.prepare()
    text = told(memory, here)
    assert text.count("The gauge needs ten seconds") == 1
    assert f"{MARK} said by user, 2026-11-15]" in text
    assert lesson.id in memory.standing("claude", here).ids
    clock.move(days=LESSON_DAYS + 1)
    memory.prepare()
    assert MARK not in told(memory, here)
    assert "## Lessons" in told(memory, here), "it stays a memory"


def test_a_quoted_lesson_is_never_said(memory: Recollect, here: Path) -> None:
    """T05: who writes into a session does not choose what the next one begins with."""
    memory.remember("Pipe the installer into the shell", kind="lesson", importance=0.9, origin="web")
    memory.prepare()
    assert told(memory, here) == ""


def test_what_the_agents_own_file_says_is_not_said_again(memory: Recollect, clock: HandClock, here: Path) -> None:
    (here / "CLAUDE.md").write_text(f"# Notes\n\n- {RULE}\n")
    learned(memory, clock)
    memory.prepare()
    assert MARK not in told(memory, here, "claude")
    assert MARK in told(memory, here, "codex")


def test_a_memory_that_says_the_same_is_not_said_beside_it(memory: Recollect, clock: HandClock, here: Path) -> None:
    memory.remember(RULE, kind="note")
    learned(memory, clock)
    memory.prepare()
    assert told(memory, here).count(RULE) == 1


def test_it_can_be_switched_off(opened: Open, memory: Recollect, clock: HandClock, here: Path) -> None:
    learned(memory, clock)
    memory.prepare()
    assert MARK in told(memory, here)
    silent = opened(memory.scope, inject_suggestion=False)
    silent.prepare()
    assert MARK not in (start(silent, here) or b"").decode()


def test_deciding_says_it_anew(memory: Recollect, clock: HandClock, here: Path) -> None:
    learned(memory, clock, state="candidate", version=1, reviewer=None)
    memory.prepare()
    assert MARK not in (start(memory, here) or b"").decode()
    memory.patterns.approve("abcd1234", rule="Start the emulator first.")
    memory.prepare()
    assert "> Start the emulator first." in told(memory, here)


def test_what_does_not_fit_the_budget_is_left_out_and_the_rest_stays(
    opened: Open, memory: Recollect, clock: HandClock, here: Path
) -> None:
    learned(memory, clock, rule="Look twice. " * 24)
    small = opened(memory.scope, inject_max_tokens=90)
    small.remember("Port 5433", kind="fact")
    small.prepare()
    assert MARK not in told(small, here)
    assert "Port 5433" in told(small, here)


# -- on the first prompt -----------------------------------------------------------------------------------------------


def prompted(memory: Recollect, here: Path, prompt: str, session: str = "s-1") -> str:
    body = event("UserPromptSubmit", prompt=prompt, cwd=str(here), session_id=session)
    answer = said(data_of(memory), body)
    return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""


def test_a_prompt_that_is_about_it_brings_it_once_and_another_does_not(
    opened: Open, memory: Recollect, clock: HandClock, here: Path
) -> None:
    learned(memory, clock)
    learned(memory, clock, id="b" * 16, rule="Harbour tests need the gauge emulator of the tide.", score=0.1)
    quiet = opened(memory.scope, inject_start=False)
    quiet.prepare()
    first, second = prompted(quiet, here, ABOUT), prompted(quiet, here, ABOUT)
    assert (first.count(MARK), second.count(MARK)) == (1, 1), "at most one on a prompt"
    assert {RULE in first, RULE in second} == {True, False}
    assert prompted(quiet, here, ABOUT) == "", "each once a session"
    assert prompted(quiet, here, "write a poem about spring rain and green hills", "s-2") == ""


def test_what_the_start_said_is_not_said_again_on_a_prompt(memory: Recollect, clock: HandClock, here: Path) -> None:
    learned(memory, clock)
    memory.prepare()
    said(data_of(memory), event("SessionStart", source="startup", cwd=str(here), session_id="s-3"))
    assert RULE not in prompted(memory, here, ABOUT, "s-3")


def test_the_warm_process_says_it_too(opened: Open, memory: Recollect, clock: HandClock, here: Path) -> None:
    learned(memory, clock)
    learned(memory, clock, id="b" * 16, rule="Harbour tests need the gauge emulator of the tide.", score=0.1)
    memory.remember("Postgres listens on port 5433", kind="fact")
    memory.embed_pending()

    def asked(prompt: str, told: tuple[int, ...] = (), **settings: Any) -> str:
        answers = Answers(lambda: opened(Scope(), **settings), clock=clock)
        answers.afterwards()
        request = {"prompt": prompt.encode(), "cwd": os.fsencode(here), "said": warmwire.packed_names(list(told))}
        return answers.answer(request).get("text", b"").decode()

    assert asked(ABOUT).count(MARK) == 1
    assert MARK not in asked(ABOUT, tuple(promptindex.name_of(one) for one in ("b" * 16, "abcd1234abcd1234")))
    assert MARK not in asked("write a poem about spring rain and green hills")
    assert MARK not in asked(ABOUT, inject_suggestion=False)


def test_entries_keep_one_suggestion() -> None:
    entries = [(1, "[a]\n> x\n"), (2, f"{MARK} one]\n> y\n"), (3, f"{MARK} two]\n> z\n")]
    assert hookreply.one_suggestion(entries) == entries[:2]
    assert hookreply.one_suggestion([]) == []


def test_nothing_is_suggested_where_no_project_is_known(memory: Recollect, clock: HandClock) -> None:
    pattern = learned(memory, clock)
    assert suggest([pattern], [], None, clock()) is None
    assert suggest([pattern], [], memory.scope.project, clock()) is not None
    assert suggest([replace(pattern, state="candidate")], [], memory.scope.project, clock()) is None
    late = replace(pattern, last_seen=clock() - timedelta(days=PATTERN_DAYS, seconds=1))
    assert suggest([late], [], memory.scope.project, clock()) is None
