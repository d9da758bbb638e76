"""What the warm process says to a prompt: what fits, as a framed block, told once; otherwise that nothing does."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect, Scope, frame, hook, promptindex, warmwire
from recollect.models.minilm import MiniLM
from recollect.project import resolve
from recollect.text import dedup_key
from recollect.warm import warm_server
from recollect.warm.answers import Answers
from recollect.warm.server import WarmServer
from tests.flow.memory_fixture import HandClock
from tests.prepared_fixture import Prepared, event
from tests.prompts_fixture import ASKED, ASKED_FROZEN, MEMORIES, UNRELATED, UNRELATED_FROZEN

Open = Callable[..., Recollect]
PORT = "Postgres for local development listens on port 5433."
ASKING = "on which port does postgres listen for local development"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def scope_of(folder: Path) -> Scope:
    return Scope(project=resolve(folder).name)


@pytest.fixture
def answers(opened: Open, clock: HandClock) -> Answers:
    """Warm already."""
    one = Answers(opened, clock=clock)
    one.afterwards()
    return one


def remember(opened: Open, folder: Path | None, *contents: str, origin: str = "user") -> list[str]:
    """Keep these in the folder's project, with their vectors; returns their ids."""
    memory = opened(scope_of(folder) if folder else Scope())
    ids = [memory.remember(content, origin=origin).id for content in contents]
    memory.embed_pending()
    return ids


def ask(
    answers: Answers, folder: Path | str, prompt: str = ASKING, told: tuple[int, ...] = (), start: bytes = b""
) -> str:
    """The text that is shown; empty when nothing is."""
    request = {"agent": b"claude", "prompt": prompt.encode(), "cwd": os.fsencode(folder), "start": start}
    answer = answers.answer({**request, "said": warmwire.packed_names(list(told))})
    assert (answer["state"] == warmwire.SHOW) is ("text" in answer)
    assert answer["state"] != warmwire.PASS
    return answer.get("text", b"").decode()


def test_what_fits_is_shown_in_the_frame_that_capture_knows(opened: Open, answers: Answers, here: Path) -> None:
    remember(opened, here, PORT, "Invoices are numbered by a sequence.")
    text = ask(answers, here)
    assert f"> {PORT}\n" in text
    assert "Invoices" not in text
    assert promptindex.NOTICE in text
    assert frame.without_blocks(text, "gone") == ("gone\n", 1)
    assert len(text.encode()) <= promptindex.SHOWN_BYTES


@pytest.mark.parametrize("prompt", ["write a haiku about autumn rain in the mountains", "yes", ""])
def test_nothing_is_said_when_nothing_fits(opened: Open, answers: Answers, here: Path, prompt: str) -> None:
    remember(opened, here, PORT)
    assert ask(answers, here, prompt) == ""


def test_a_project_sees_its_own_and_what_belongs_to_none(opened: Open, answers: Answers, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    remember(opened, one, PORT)
    remember(opened, None, "The user wants local postgres to listen on a port above 5400 in development.")
    assert PORT in ask(answers, one)
    assert PORT not in ask(answers, other)
    assert "above 5400" in ask(answers, other)


def test_outside_of_any_project_those_of_projects_are_not_seen(
    opened: Open, answers: Answers, here: Path, own_home: Path
) -> None:
    remember(opened, here, PORT)
    assert ask(answers, own_home) == ask(answers, "") == ""
    remember(opened, None, "Postgres listens on port 5500 for local development of the user.")
    assert "5500" in ask(answers, own_home)
    assert PORT not in ask(answers, own_home)


@pytest.mark.parametrize("kind", ["event", "topic", "skill_idea"])
def test_what_is_not_worth_standing_knowledge_is_not_shown(
    opened: Open, answers: Answers, here: Path, kind: str
) -> None:
    memory = opened(scope_of(here))
    memory.remember(PORT, kind=kind)
    memory.embed_pending()
    assert ask(answers, here) == ""


def test_what_rests_on_something_that_is_gone_says_so(opened: Open, answers: Answers, here: Path) -> None:
    (here / ".git").mkdir()
    memory = opened(scope_of(here))
    memory.remember(PORT, anchors=["file:compose/dev.yaml"])
    memory.embed_pending()
    assert "compose/dev.yaml no longer exists" in ask(answers, here)


@pytest.mark.parametrize("origin", ["assistant", "tool", "web", "import"])
def test_what_is_only_quoted_is_never_put_before_an_agent(
    opened: Open, answers: Answers, here: Path, origin: str
) -> None:
    """Whatever words it shares with the prompt."""
    remember(opened, here, PORT, origin=origin)
    assert ask(answers, here) == ""


def test_what_a_session_was_told_is_left_out(opened: Open, answers: Answers, here: Path) -> None:
    (name,) = remember(opened, here, PORT)
    assert ask(answers, here, told=(promptindex.name_of(name),)) == ""
    said = json.dumps({"additionalContext": f"## Facts\n[said by user]\n> {PORT}\n"}, ensure_ascii=False).encode()
    assert ask(answers, here, start=said) == ""
    assert ask(answers, here, start=b"{}") != ""


def test_the_names_of_what_was_shown_come_with_it(opened: Open, answers: Answers, here: Path) -> None:
    (name,) = remember(opened, here, PORT)
    answer = answers.answer({"prompt": ASKING.encode(), "cwd": os.fsencode(here)})
    assert warmwire.names(answer["told"]) == [promptindex.name_of(name)]


def test_what_was_shown_is_known_again_and_counted_as_read(opened: Open, answers: Answers, here: Path) -> None:
    (name,) = remember(opened, here, PORT)
    text = ask(answers, here)
    answers.afterwards()
    memory = opened(scope_of(here))
    assert memory.store.captures.was_injected(memory.scope, dedup_key(text))
    assert memory.get(name).access_count == 1


def test_a_forgotten_memory_is_not_shown(opened: Open, answers: Answers, here: Path) -> None:
    (name,) = remember(opened, here, PORT)
    opened(scope_of(here)).forget(name)
    assert ask(answers, here) == ""


def test_at_most_a_few_are_shown(opened: Open, answers: Answers, here: Path) -> None:
    remember(
        opened, here, *(f"Postgres of tenant {n} listens on port {5400 + n} in local development." for n in range(9))
    )
    text = ask(answers, here)
    assert 1 < text.count("\n> ") <= promptindex.FEW
    assert len(text.encode()) <= promptindex.SHOWN_BYTES


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"prompt": b"\xff" * 100},
        {"prompt": ASKING.encode(), "cwd": b"\xff\x00"},
        {"prompt": ASKING.encode(), "cwd": b"relative"},
        {"prompt": ASKING.encode(), "cwd": b"/\x00"},
        {"prompt": ASKING.encode(), "cwd": b"/nowhere/at/all", "said": b"odd"},
        {"prompt": ASKING.encode() * 400, "cwd": b"/"},
        {"prompt": b"'; DROP TABLE memories; -- port postgres OR NEAR( \"", "cwd": b"/"},
    ],
    ids=["empty", "no text", "no path", "relative", "nul", "odd", "long", "syntax"],
)
def test_odd_requests_are_answered_with_nothing(opened: Open, answers: Answers, request_: dict[str, bytes]) -> None:
    remember(opened, None, "The user likes tea.")
    assert answers.answer(request_)["state"] == warmwire.NOTHING


# -- cold and without a model ------------------------------------------------------------------------------------------


@pytest.mark.timed
def test_until_it_is_warm_hooks_are_sent_to_the_index(opened: Open, clock: HandClock, here: Path) -> None:
    remember(opened, here, PORT)
    answers = Answers(opened, clock=clock)
    request = {"prompt": ASKING.encode(), "cwd": os.fsencode(here)}
    began = time.monotonic()
    assert answers.answer(request) == {"state": warmwire.PASS}
    assert time.monotonic() - began < 0.1
    answers.afterwards()
    assert answers.answer(request)["state"] == warmwire.SHOW


def test_without_a_model_hooks_are_sent_to_the_index(opened: Open, clock: HandClock, here: Path) -> None:
    """Words alone say too little about when to be silent; the index is made for that."""
    remember(opened, here, PORT)
    answers = Answers(lambda: opened(embedder=None), clock=clock)
    answers.afterwards()
    assert answers.answer({"prompt": ASKING.encode(), "cwd": os.fsencode(here)}) == {"state": warmwire.PASS}


def test_when_nobody_asks_for_long_the_memory_is_let_go(opened: Open, clock: HandClock, here: Path) -> None:
    opens: list[Recollect] = []

    def counted() -> Recollect:
        opens.append(opened())
        return opens[-1]

    remember(opened, here, PORT)
    answers = Answers(counted, clock=clock, idle=0.1)
    answers.afterwards()
    answers.rest()
    assert ask(answers, here) != ""
    time.sleep(0.15)
    answers.rest()
    assert answers.answer({"prompt": ASKING.encode()}) == {"state": warmwire.PASS}
    answers.afterwards()
    assert ask(answers, here) != ""
    assert len(opens) == 2


# -- with the hook, and with the real model ----------------------------------------------------------------------------


def test_the_hook_shows_what_the_warm_process_says(opened: Open, clock: HandClock, here: Path, tmp_path: Path) -> None:
    remember(opened, here, PORT)
    Prepared(tmp_path / "data").mode("recall").index([])
    answers = Answers(opened, clock=clock)
    answers.afterwards()
    body = event("UserPromptSubmit", prompt=ASKING, cwd=str(here))

    def prompted(session: bytes) -> bytes:
        given = body.replace(b"s-1", session)
        return hook.reply(str(tmp_path / "data"), "claude", given, {}, time.monotonic() + 5)

    with WarmServer(tmp_path / "data", lambda: answers) as warm:
        assert warm.listens(5)
        said = [prompted(b"s-%d" % number) for number in range(20)]
        text = max(said)
        assert f"> {PORT}" in json.loads(text)["hookSpecificOutput"]["additionalContext"]
        assert {one for one in said if one} == {text}  # a busy machine may miss some, in time or not at all
        number = said.index(text)
        assert prompted(b"s-%d" % number) == b""  # told once


def test_a_server_of_ones_own_starts_and_stops(opened: Open, here: Path) -> None:
    memory = opened()
    with warm_server(memory.settings, memory.scope) as warm:
        assert warm.listens(5)
        request = warmwire.pack({"prompt": ASKING.encode(), "cwd": os.fsencode(here)})
        path = str(memory.settings.data_dir / warmwire.SOCKET)
        assert warmwire.ask(path, request, time.monotonic() + 5) == {"state": warmwire.PASS}
    assert not any(thread.name == "recollect-warm" for thread in threading.enumerate())


@pytest.mark.slow
def test_with_the_real_model_prompts_find_what_they_are_about(
    opened: Open, clock: HandClock, minilm_dir: Path, here: Path
) -> None:
    model = MiniLM(minilm_dir)
    memory = opened(scope_of(here), embedder=model)
    names = {memory.remember(text).id: name for name, text in MEMORIES.items()}
    memory.embed_pending()
    answers = Answers(lambda: opened(embedder=model), clock=clock)
    answers.afterwards()

    def found(prompt: str) -> set[str]:
        answer = answers.answer({"prompt": prompt.encode(), "cwd": os.fsencode(here)})
        told = warmwire.names(answer.get("told", b""))
        return {name for each, name in names.items() if promptindex.name_of(each) in told}

    asked = ASKED + ASKED_FROZEN
    hits = [prompt for prompt, name in asked if name in found(prompt)]
    assert len(hits) >= 0.9 * len(asked), [prompt for prompt, _ in asked if prompt not in hits]
    assert sum(len(found(prompt) - {name}) for prompt, name in asked) <= len(asked) // 10
    unrelated = [prompt for prompt in UNRELATED + UNRELATED_FROZEN if found(prompt)]
    assert len(unrelated) <= 1, unrelated
