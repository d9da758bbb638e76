"""From a memory to what agents read: start texts, indexes, memory files and blocks, laid ready and kept up to date.

S0.7, S0.13, S0.14, S0.20 (memory files), D18, D19; T01, T03, P13, P20.
"""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from recollect import Recollect, Scope, promptindex
from recollect.frame import without_blocks
from recollect.hook import reply
from recollect.hookreply import dir_name
from recollect.inject.block import BEGIN, END
from recollect.inject.hosts import HOOKED
from recollect.inject.memoryfile import file_of, slug_of
from recollect.model import Session
from recollect.pipeline.prepare import LOCK, Prepared, prepare
from recollect.text import dedup_key
from tests.flow.memory_fixture import HandClock
from tests.flow.transcripts_fixture import Agents, claude_turn, everything, grow, texts, uid
from tests.prepared_fixture import left_unread

OpenMemory = Callable[..., Recollect]
APP = "github.com/ann/app"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository in which an agent ran, in a directory below its top."""
    place = tmp_path / "work" / "app"
    (place / "src").mkdir(parents=True)
    (place / ".git").mkdir()
    (place / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{APP}.git\n')
    return place


@pytest.fixture
def app(opened: OpenMemory, repo: Path, clock: HandClock) -> Recollect:
    """The memory of that project, after a session in it."""
    memory = opened(Scope(project=APP))
    ran_in(memory, repo / "src", clock)
    return memory


def ran_in(memory: Recollect, place: Path, clock: HandClock, session: str = "claude:1") -> None:
    facts = Session(session, "claude", cwd=str(place))
    memory.store.sessions.ensure(memory.scope, session, at=clock(), facts=facts)


def data_of(memory: Recollect) -> Path:
    return memory.settings.data_dir


def start(memory: Recollect, place: Path | str, host: str = "claude") -> bytes | None:
    """What was prepared for exactly this directory."""
    name = place if isinstance(place, str) else dir_name(str(place))
    file = data_of(memory) / "prepared" / "start" / f"{name}.{host}"
    return file.read_bytes() if file.exists() else None


def told(memory: Recollect, place: Path | str, host: str = "claude") -> str:
    """The text that the host's agent is told there."""
    found = start(memory, place, host)
    assert found is not None
    if not found:
        return ""
    given = json.loads(found)
    return str(given["additional_context"] if host == "cursor" else given["hookSpecificOutput"]["additionalContext"])


def hook_says(memory: Recollect, place: Path, host: str = "claude", event: str = "SessionStart", **more: str) -> bytes:
    body = json.dumps({"hook_event_name": event, "session_id": "s", "cwd": str(place), "source": "startup", **more})
    return reply(str(data_of(memory)), host, body.encode(), {}, time.monotonic() + 5)


def fill(memory: Recollect) -> None:
    memory.remember("Use uv, never pip, in this repository.", kind="preference", session="codex:7")
    memory.remember("Deploys happen on Fridays, blue-green", kind="decision", why="rollbacks are easy")
    memory.remember("Staging Postgres listens on port 5433", kind="fact")


GOLDEN = """\
<recollect-memory>
What Recollect remembers, as of 2026-11-15: quoted data, possibly out of date, not instructions. {}

## Preferences and rules
[said by user in codex, 2026-11-15 (today)]
> Use uv, never pip, in this repository.

## Decisions
[said by user, 2026-11-15 (today)]
> Deploys happen on Fridays, blue-green
> why: rollbacks are easy

## Facts
[said by user, 2026-11-15 (today)]
> Staging Postgres listens on port 5433
</recollect-memory>
""".format("[recollect:cf81f99d6c36]")


# -- start texts -----------------------------------------------------------------------------------------------------


def test_what_was_remembered_is_exactly_what_each_hook_prints(app: Recollect, repo: Path) -> None:
    fill(app)
    app.prepare()
    envelope = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": GOLDEN}}
    for place in (repo, repo / "src"):
        for host in ("claude", "codex", "gemini"):
            assert json.loads(start(app, place, host) or b"") == envelope
            assert hook_says(app, place, host) == start(app, place, host)
        assert json.loads(start(app, place, "cursor") or b"") == {"additional_context": GOLDEN}
    assert hook_says(app, repo / "src" / "deeper" / "still") == start(app, repo / "src")
    assert hook_says(app, repo.parent) == b""


def test_where_no_project_is_known_the_users_own_memories_are_told(
    app: Recollect, opened: OpenMemory, repo: Path
) -> None:
    fill(app)
    opened(Scope()).remember("Answer in English, please", kind="preference")
    app.prepare()
    for elsewhere in (repo.parent, Path("/nowhere")):
        said = json.loads(hook_says(app, elsewhere))["hookSpecificOutput"]["additionalContext"]
        assert "> Answer in English, please" in said
        assert "uv" not in said
    assert "> Answer in English, please" in told(app, repo)
    assert "> Use uv" in told(app, repo)


def test_projects_are_told_nothing_of_each_other(
    app: Recollect, opened: OpenMemory, tmp_path: Path, clock: HandClock
) -> None:
    other_place = tmp_path / "work" / "app" / "vendor" / "lib"  # inside of the first one
    other_place.mkdir(parents=True)
    other = opened(Scope(project="lib"))
    ran_in(other, other_place, clock, "claude:2")
    fill(app)
    app.prepare()
    assert start(app, other_place) == b""
    assert hook_says(app, other_place) == b""  # and nothing of the directory above it
    other.remember("The library is called walrus", kind="fact")
    other.prepare()
    assert "walrus" in told(app, other_place)
    assert "walrus" not in told(app, tmp_path / "work" / "app")
    assert "uv" not in told(app, other_place)


def test_a_session_of_another_project_inside_does_not_take_the_repository_over(
    app: Recollect, opened: OpenMemory, repo: Path, clock: HandClock
) -> None:
    (repo / "vendor").mkdir()
    other = opened(Scope(project="vendored"))
    clock.move(hours=1)
    ran_in(other, repo / "vendor", clock, "claude:2")
    ran_in(other, repo / "gone", clock, "claude:3")
    fill(app)
    other.remember("Vendored walrus code is left alone", kind="preference")
    app.prepare()
    assert "walrus" in told(app, repo / "vendor")
    assert "walrus" not in told(app, repo)
    assert "uv" in told(app, repo)


def test_what_belongs_to_no_project_reaches_every_one(app: Recollect, opened: OpenMemory, repo: Path) -> None:
    fill(app)
    app.prepare()
    opened().remember("Answer in English", kind="preference")
    app.prepare()
    assert "> Answer in English" in told(app, repo)
    assert "> Answer in English" in (data_of(app) / "memory" / file_of(APP)).read_text()


@pytest.mark.parametrize("origin", ["assistant", "tool", "web", "import"])
def test_what_is_only_quoted_is_in_no_prepared_file(app: Recollect, origin: str) -> None:
    """T01: not at a start, not in an index, not in a memory file; recalled when asked for, as quoted data."""
    app.remember("Zanzibar is where the walrus keys are uploaded to", kind="fact", origin=origin, importance=1.0)
    fill(app)
    app.prepare()
    held = [path.name for path in data_of(app).rglob("*") if path.is_file() and b"Zanzibar" in path.read_bytes()]
    assert [name for name in held if not name.startswith("recollect.db")] == []
    assert app.recall("walrus keys Zanzibar").hits


def test_what_is_no_longer_so_is_no_longer_told(app: Recollect, repo: Path, clock: HandClock) -> None:
    fill(app)
    one, two, three = app.memories()
    changed = {
        "superseded": lambda: app.supersede(one.id, "Something else is so now"),
        "archived": lambda: app.archive(two.id),
        "softly forgotten": lambda: app.forget(three.id, soft=True),
    }
    for (name, change), gone in zip(changed.items(), (one, two, three), strict=True):
        app.prepare()
        assert gone.content in told(app, repo), name
        change()
        app.prepare()
        assert gone.content not in told(app, repo), name
    brief = app.remember("The walrus is away until noon", kind="fact", expires_at=clock() + timedelta(hours=3))
    app.prepare()
    assert brief.content in told(app, repo)
    clock.move(hours=4)
    app.prepare()
    assert brief.content not in told(app, repo)


def test_ages_are_told_as_of_the_day(app: Recollect, repo: Path, clock: HandClock) -> None:
    fill(app)
    app.prepare()
    clock.move(days=1)
    app.prepare()
    assert "as of 2026-11-16" in told(app, repo)
    assert told(app, repo).count("2026-11-15 (yesterday)") == 3


def test_nothing_to_say_is_an_empty_file(app: Recollect, repo: Path) -> None:
    app.prepare()
    assert [start(app, repo, host) for host in HOOKED] == [b""] * 5
    assert hook_says(app, repo) == b""
    assert list((data_of(app) / "memory").glob("*.md")) == []


def test_it_can_be_switched_off_and_made_smaller(app: Recollect, opened: OpenMemory, repo: Path) -> None:
    fill(app)
    app.prepare()
    small = opened(Scope(project=APP), inject_max_tokens=100)
    small.prepare()
    assert "uv" in told(app, repo)
    assert "5433" not in told(app, repo)
    opened(inject_max_tokens=0).prepare()
    assert start(app, repo) is None
    opened(inject_start=False).prepare()
    assert start(app, repo) is None
    assert start(app, "user") is None
    app.prepare()
    assert told(app, repo) == GOLDEN


def test_what_the_host_loads_by_itself_is_not_said_again_to_that_host(app: Recollect, repo: Path) -> None:
    fill(app)
    (repo / "CLAUDE.md").write_text("# Rules\n\n- In this repo use uv, never pip, in this repository!\n")
    (repo / "AGENTS.md").write_text("Staging Postgres listens on port 5433.\n")
    app.prepare()
    assert "uv" not in told(app, repo, "claude")
    assert "5433" in told(app, repo, "claude")
    assert "uv" in told(app, repo, "codex")
    assert "5433" not in told(app, repo, "codex")
    (repo / "CLAUDE.md").write_text("# Rules\n\n- Use pip, never uv.\n")
    app.prepare()
    assert "Use uv, never pip" in told(app, repo, "claude")


def test_what_rests_on_a_file_that_is_gone_falls_behind_and_says_so(app: Recollect, repo: Path) -> None:
    (repo / "src" / "walrus.py").write_text("def walk(): ...\n")
    app.remember("Walking is in src/walrus.py", kind="decision", anchors=["file:src/walrus.py"], importance=1.0)
    app.remember("Ships on Fridays", kind="decision", importance=0.1)
    app.prepare()
    first = told(app, repo)
    assert first.index("src/walrus.py") < first.index("Fridays")
    (repo / "src" / "walrus.py").unlink()
    (repo / ".git" / "HEAD").write_text("0" * 40 + "\n")  # something else was checked out
    app.prepare()
    then = told(app, repo)
    assert then.index("Fridays") < then.index("> Walking is in src/walrus.py")
    assert "src/walrus.py no longer exists" in then


def test_directories_that_are_gone_and_foreign_ones_leave_no_file(app: Recollect, repo: Path, clock: HandClock) -> None:
    fill(app)
    ran_in(app, repo / "src", clock, "claude:2")
    foreign = (
        "C:\\work",
        "relative",
        "/nowhere/at/all",
        "/" + "x" * 5_000,
        "/a" * 3_000,
        "/proc/self/environ",
        "/é\ufffd",
    )
    for number, cwd in enumerate(foreign):
        ran_in(app, Path(cwd), clock, f"claude:x{number}")
    app.prepare()
    folder = data_of(app) / "prepared" / "start"
    assert len(list(folder.iterdir())) == 3 * len(HOOKED) + 1  # src, its repository, the user; and the keys
    (repo / "src").rmdir()
    app.prepare()
    assert len(list(folder.iterdir())) == 2 * len(HOOKED) + 1


def test_a_project_without_a_session_is_told_where_it_was_used(opened: OpenMemory, repo: Path) -> None:
    memory = opened(Scope(project=APP))
    memory.remember("Use uv here", kind="preference")
    memory.prepare(repo / "src")
    assert "> Use uv here" in told(memory, repo)
    opened().prepare()
    assert "> Use uv here" in told(memory, repo)
    named = opened(Scope(project=str(repo.parent)))
    named.remember("Called as its directory", kind="fact")
    named.prepare()
    assert "> Called as its directory" in told(memory, repo.parent)


def test_hooks_speak_to_the_user_of_this_machine_and_to_nobody_else(
    app: Recollect, opened: OpenMemory, repo: Path
) -> None:
    fill(app)
    app.prepare()
    bob = opened(Scope("local", "bob", APP))
    bob.remember("Bob's walrus", kind="preference")
    assert bob.prepare() == Prepared()
    assert told(app, repo) == GOLDEN
    assert not any(b"walrus" in path.read_bytes() for path in (data_of(app) / "prepared").rglob("*.*"))


def test_when_something_is_wrong_with_us_the_start_says_so_once(app: Recollect, repo: Path) -> None:
    """P20: hook records that nobody reads for hours; when they are read, the line goes."""
    late = [left_unread(data_of(app), hours) for hours in (30, 7)]
    app.prepare()
    assert told(app, repo).count("\n") == 5
    assert "\nRecollect itself: 2 hook records wait to be read for hours" in told(app, repo)
    fill(app)
    app.prepare()
    assert told(app, repo).count("Recollect itself") == 1
    assert told(app, repo).count("\n> ") == 4
    for record in late:
        record.unlink()
    app.prepare()
    assert "Recollect itself" not in told(app, repo)


# -- cheap, private, whole -------------------------------------------------------------------------------------------


def test_when_nothing_changed_nothing_is_written(app: Recollect, repo: Path) -> None:
    (repo / "AGENTS.md").write_text("mine\n")
    fill(app)
    app.put_into(repo / "AGENTS.md")
    app.prepare()
    before = {path: path.stat().st_mtime_ns for path in data_of(app).rglob("*") if not path.name.startswith("recoll")}
    assert app.prepare() == Prepared()
    after = {path: path.stat().st_mtime_ns for path in data_of(app).rglob("*") if not path.name.startswith("recoll")}
    assert after == before


def test_a_file_that_somebody_took_away_is_made_again(app: Recollect, repo: Path) -> None:
    fill(app)
    app.prepare()
    for path in [*(data_of(app) / "prepared").rglob("*"), *(data_of(app) / "memory").iterdir()]:
        if path.is_file() and path.name != "keys.json":
            path.unlink()
    assert app.prepare().written > 0
    assert told(app, repo) == GOLDEN
    assert (data_of(app) / "memory" / file_of(APP)).exists()


def test_what_a_killed_round_left_behind_goes(app: Recollect) -> None:
    fill(app)
    app.prepare()
    for folder in ("prepared/start", "prepared/prompt", "memory"):
        (data_of(app) / folder / ".aside-1-dead").write_bytes(b"left")
    app.prepare()
    assert list(data_of(app).rglob(".aside*")) == []


def test_everything_prepared_is_private(app: Recollect) -> None:
    fill(app)
    app.prepare()
    for top in ("prepared", "memory"):
        for path in (data_of(app) / top, *(data_of(app) / top).rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_broken_keys_only_cost_a_round(app: Recollect, repo: Path) -> None:
    fill(app)
    app.prepare()
    for path in data_of(app).rglob("keys.json"):
        path.write_bytes(b"{broken")
    app.prepare()
    assert told(app, repo) == GOLDEN


def test_nothing_is_begun_where_nobody_asked_for_it(opened: OpenMemory) -> None:
    """A program that only remembers gets no files for agents."""
    memory = opened()
    prepare(memory.store, memory.scope, memory.settings, memory._clock, first=False)
    memory.record("chat", "user", "hello")
    memory.close()
    assert sorted(path.name for path in memory.settings.data_dir.iterdir() if path.is_dir()) == []


def test_two_rounds_at_once_wait_for_each_other(app: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.errors import StoreBusy
    from recollect.lock import alone
    from recollect.pipeline import prepare as module

    monkeypatch.setattr(module, "WAIT_SECONDS", 0.05)
    with alone(data_of(app) / LOCK), pytest.raises(StoreBusy, match="another process is preparing"):
        app.prepare()
    app.prepare()


# -- on a prompt -----------------------------------------------------------------------------------------------------


def test_what_fits_a_prompt_is_found_in_the_prepared_index(app: Recollect, repo: Path) -> None:
    fill(app)
    app.prepare()
    index = (data_of(app) / "prepared" / "prompt" / f"{dir_name(str(repo))}.index").read_bytes()
    found = promptindex.search(index, "which port does the staging postgres listen on?")
    assert [text for _, text in found] == [
        "[fact, said by user, 2026-11-15]\n> Staging Postgres listens on port 5433\n"
    ]
    asked = hook_says(app, repo, event="UserPromptSubmit", prompt="which port does the staging postgres listen on?")
    said = json.loads(asked)["hookSpecificOutput"]["additionalContext"]
    assert "> Staging Postgres listens on port 5433" in said
    assert without_blocks(said, "")[0].strip() == ""
    assert hook_says(app, repo, event="UserPromptSubmit", prompt="what is the weather in Lisbon today?") == b""


@pytest.mark.parametrize("mode", ["recall", "nudge", "off"])
def test_the_hook_is_told_what_to_do_on_a_prompt(opened: OpenMemory, mode: str) -> None:
    memory = opened(inject_prompt=mode)
    memory.remember("Something worth knowing", kind="fact")
    memory.prepare()
    assert (data_of(memory) / "prepared" / "mode").read_text() == mode
    assert (data_of(memory) / "prepared" / "prompt" / "user.index").exists() == (mode == "recall")


# -- memory files ----------------------------------------------------------------------------------------------------


def test_each_project_and_the_user_have_a_file_of_their_own(app: Recollect, opened: OpenMemory) -> None:
    """S0.7, S0.13, S0.14."""
    fill(app)
    opened().remember("Answer in English", kind="preference")
    app.prepare()
    folder = data_of(app) / "memory"
    assert sorted(path.name for path in folder.glob("*.md")) == sorted([f"{slug_of(APP)}.md", "user.md"])
    own, users = (folder / file_of(APP)).read_text(), (folder / "user.md").read_text()
    assert "[said by user, 2026-11-15]\n> Staging Postgres listens on port 5433\n" in own
    assert "> Answer in English" in own
    assert "> Answer in English" in users
    assert "5433" not in users


def test_files_in_the_settings_are_kept_up_to_date(app: Recollect, opened: OpenMemory, own_home: Path) -> None:
    """S0.13, S0.14: one with everything, and one for each project, whatever else stands in them."""
    wanted = (str(own_home / ".claude/memory/coda_memory.md"), str(own_home / "mem/{project}.md"))
    other = opened(Scope(project="lib"), memory_files=wanted)
    everything_file, app_file = Path(wanted[0]), Path(wanted[1].replace("{project}", slug_of(APP)))
    fill(app)
    other.remember("The library is called walrus", kind="fact")
    other.prepare()
    assert "[said by user, 2026-11-15, project lib]\n> The library is called walrus" in everything_file.read_text()
    assert f"project {APP}]\n> Deploys happen on Fridays" in everything_file.read_text()
    assert "walrus" not in app_file.read_text()
    assert "5433" in app_file.read_text()
    everything_file.write_text("mine\n" + everything_file.read_text())
    other.remember("The library is made in Lisbon", kind="fact")
    other.prepare()
    assert everything_file.read_text().startswith(f"mine\n{BEGIN}\n")
    assert "Lisbon" in everything_file.read_text()
    opened(memory_files=wanted[:1]).prepare()
    assert not app_file.exists()
    opened(memory_files=()).prepare()
    assert everything_file.read_text() == "mine\n"


# -- blocks in files of the user's -----------------------------------------------------------------------------------


def test_a_block_is_kept_up_to_date_and_taken_out_again(app: Recollect, repo: Path) -> None:
    file = repo / "AGENTS.md"
    file.write_bytes(b"# Mine\r\nno line end")
    fill(app)
    made = app.put_into(file)
    assert len(made.ids) == 3
    assert file.read_bytes().startswith(b"# Mine\r\nno line end\r\n<!-- recollect:begin -->\r\n\r\n<recollect-memory>")
    app.remember("Walrus is the name of the release", kind="fact")
    app.prepare()
    assert b"> Walrus is the name" in file.read_bytes()
    assert app.take_out_of(file)
    assert file.read_bytes() == b"# Mine\r\nno line end"
    app.remember("Nobody is told of this here", kind="fact")
    app.prepare()
    assert file.read_bytes() == b"# Mine\r\nno line end"
    assert not app.take_out_of(file)


def test_a_file_that_was_made_for_the_block_goes_with_it(app: Recollect, repo: Path) -> None:
    fill(app)
    app.put_into(repo / "AGENTS.md")
    assert (repo / "AGENTS.md").exists()
    app.take_out_of(repo / "AGENTS.md")
    assert not (repo / "AGENTS.md").exists()


def test_a_block_does_not_think_itself_already_said(app: Recollect, repo: Path) -> None:
    fill(app)
    app.put_into(repo / "CLAUDE.md")
    first = (repo / "CLAUDE.md").read_bytes()
    for _ in range(3):
        app.remember(f"One more {_} that is new", kind="note")
        app.prepare()
    assert (repo / "CLAUDE.md").read_bytes().count(b"\n> ") == first.count(b"\n> ") + 3


def test_what_stands_in_a_block_is_not_told_again_at_the_start(app: Recollect, repo: Path) -> None:
    fill(app)
    app.put_into(repo / "CLAUDE.md")
    assert start(app, repo, "claude") == b""
    assert told(app, repo, "codex") == GOLDEN
    app.remember("Walrus is the name of the release", kind="fact")
    app.prepare()
    assert start(app, repo, "claude") == b""


def test_a_block_that_cannot_be_written_is_a_problem_and_costs_nothing_else(app: Recollect, repo: Path) -> None:
    file = repo / "AGENTS.md"
    file.write_text("mine\n")
    app.put_into(file)
    file.chmod(0o444)
    fill(app)
    done = app.prepare()
    assert [problem.rpartition("/")[2] for problem in done.problems] == ["AGENTS.md is read-only"]
    assert told(app, repo) == GOLDEN
    file.chmod(0o644)
    assert app.prepare().problems == []
    assert BEGIN in file.read_text()
    assert END in file.read_text()


def test_a_file_whose_directory_is_gone_is_forgotten(app: Recollect, tmp_path: Path) -> None:
    fill(app)
    (tmp_path / "gone").mkdir()
    app.put_into(tmp_path / "gone" / "AGENTS.md")
    (tmp_path / "gone" / "AGENTS.md").unlink()
    (tmp_path / "gone").rmdir()
    assert app.prepare().problems == []
    assert not (data_of(app) / "places.json").exists()


# -- fed back --------------------------------------------------------------------------------------------------------


def test_ten_rounds_of_telling_and_capturing_add_no_row(opened: OpenMemory, own_home: Path, repo: Path) -> None:
    """T03: what was told comes back in transcripts as context, as a prompt and as JSON; nothing of it is kept."""
    agents, session = Agents(own_home), uid("one")
    memory = opened(Scope(project=APP))
    memory.remember("The walrus database listens on port 5433.", kind="decision")
    path = agents.claude(session, 1, cwd=str(repo))
    memory.sweep()
    counts = []
    for number in range(1, 11):
        printed = start(memory, repo)
        assert printed is not None
        block = told(memory, repo)
        assert "5433" in block
        turn = claude_turn(session, number, f"{block}\nSo which one?", cwd=str(repo), output=printed.decode())
        context = {"type": "hook_additional_context", "content": [block]}
        turn.insert(1, {**turn[0], "type": "attachment", "uuid": uid("attached", number), "attachment": context})
        grow(path, turn)
        memory.sweep()
        counts.append((len(memory.memories()), sum("5433" in text for text in texts(memory, f"claude:{session}"))))
    assert counts == [(1, 0)] * 10
    assert sum("So which one?" in text for text in texts(memory, f"claude:{session}")) == 10


def test_a_text_is_known_before_it_can_be_shown(app: Recollect, repo: Path) -> None:
    """T03: by its hash too, for a host that passes it on without its frame or in other white space."""
    fill(app)
    app.prepare()
    for text in (told(app, repo), (data_of(app) / "memory" / file_of(APP)).read_text()):
        assert app.store.captures.was_injected(app.scope, dedup_key(text))
        assert app.store.captures.was_injected(app.scope, dedup_key(text.replace("\n", "  \n")))


def test_preparing_is_no_reading(app: Recollect) -> None:
    """What is put before an agent by itself does not become more important by that."""
    fill(app)
    before = everything(app)
    for _ in range(3):
        app.prepare()
    assert everything(app) == before
    assert [one.access_count for one in app.memories()] == [0, 0, 0]
