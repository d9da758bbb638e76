"""What an agent was told is kept word for word as long as it is known where, and goes with whatever is forgotten."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Recollect, hookreply
from recollect.frame import block_name
from recollect.pipeline.showing import GRACE
from recollect.pipeline.told import forget_told, text_of
from tests.flow.memory_fixture import HandClock
from tests.flow.test_use_in_sessions import PORT, ask, known, work
from tests.flow.transcripts_fixture import Agents


@pytest.fixture
def agents(own_home: Path) -> Agents:
    return Agents(own_home)


@pytest.fixture(autouse=True)
def real_times(clock: HandClock) -> None:
    """Hooks note the time of this machine."""
    clock.now = datetime.now(UTC) + timedelta(minutes=5)


def kept(memory: Recollect) -> set[str]:
    folder = memory.settings.data_dir / hookreply.TOLD
    return {file.name for file in folder.iterdir()} if folder.is_dir() else set()


def test_the_very_text_is_kept_whatever_becomes_of_the_memory(memory: Recollect, agents: Agents) -> None:
    one = known(memory)
    at_start, on_prompt = ask(memory, "SessionStart", source="startup"), ask(memory, session="another")
    work(memory, agents)
    memory.update(one, content="The port is another one now")
    data_dir = memory.settings.data_dir
    assert PORT in at_start
    assert at_start != on_prompt
    assert [text_of(data_dir, block_name(text)) for text in (at_start, on_prompt)] == [at_start, on_prompt]


def test_the_form_of_every_host_is_read_again(memory: Recollect) -> None:
    known(memory)
    said = ask(memory, "sessionStart", agent="cursor", workspace_roots=["/srv/app"])
    assert text_of(memory.settings.data_dir, block_name(said)) == said


def test_a_text_is_kept_once_and_only_for_its_owner(memory: Recollect) -> None:
    known(memory)
    block = block_name(ask(memory, "SessionStart", source="startup"))
    file = memory.settings.data_dir / hookreply.TOLD / block
    before = file.stat().st_mtime_ns
    ask(memory, "SessionStart", session="again", source="startup")
    assert (kept(memory), file.stat().st_mtime_ns, file.stat().st_mode & 0o777) == ({block}, before, 0o600)


def test_when_anything_is_forgotten_no_text_stays(memory: Recollect) -> None:
    one = known(memory)
    block = block_name(ask(memory, "SessionStart", source="startup"))
    memory.forget(one)
    assert kept(memory) == set()
    assert text_of(memory.settings.data_dir, block) is None


def test_what_was_softly_forgotten_goes_with_its_text(memory: Recollect, clock: HandClock) -> None:
    one = known(memory)
    ask(memory, "SessionStart", source="startup")
    memory.forget(one, soft=True)
    clock.move(days=memory.settings.redact_after_days + 1)
    memory.maintain()
    assert kept(memory) == set()


def test_a_hook_that_was_at_it_meanwhile_leaves_nothing(memory: Recollect) -> None:
    """It opened the directory, read what lay ready, and only then was it forgotten."""
    known(memory)
    data_dir = memory.settings.data_dir
    with hookreply._Folder(str(data_dir)) as data, hookreply._Told(data.handle) as texts:
        forget_told(data_dir)
        texts.keep("0123456789ab", b"{}")
    assert kept(memory) == set()


def test_what_was_said_in_a_session_that_is_not_kept_goes(memory: Recollect, agents: Agents, clock: HandClock) -> None:
    known(memory)
    ask(memory, "SessionStart", session="not captured", source="startup")
    on_prompt = block_name(ask(memory))
    clock.now = datetime.now(UTC) + 2 * GRACE
    work(memory, agents)
    assert kept(memory) == {on_prompt}


def test_it_is_kept_as_long_as_it_is_known_where(memory: Recollect, agents: Agents) -> None:
    known(memory)
    old = block_name(ask(memory, "SessionStart", session="another", source="startup"))
    long_ago = time.time() - (memory.settings.injections_keep_days + 1) * 86_400
    os.utime(memory.settings.data_dir / hookreply.TOLD / old, (long_ago, long_ago))
    new = block_name(ask(memory))
    work(memory, agents)
    assert kept(memory) == {new}


@pytest.mark.parametrize("name", ["", "..", "../said", "x" * 12, "0123456789ab"])
def test_what_is_no_text_of_ours_is_none(memory: Recollect, name: str) -> None:
    known(memory)
    ask(memory, "SessionStart", source="startup")
    (memory.settings.data_dir / hookreply.TOLD / "0123456789ab").write_bytes(b'{"hookSpecificOutput": "torn')
    assert text_of(memory.settings.data_dir, name) is None
