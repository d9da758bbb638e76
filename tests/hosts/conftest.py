"""The fixture `host`: each test runs with every agent there is, by its name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hosts.agents import Agent, find_claude, find_codex, find_gemini, find_opencode
from tests.hosts.host import BRANCH, REMOTE, Host
from tests.hosts.scripted_model import serving

FIND: dict[str, Callable[[], Agent]] = {
    "codex": find_codex,
    "claude": find_claude,
    "gemini": find_gemini,
    "opencode": find_opencode,
}


# These two take seconds to start: what is the agent's own part of the story runs each time, the rest in the soak.
UNHURRIED = ("gemini", "opencode")
EACH_TIME = (
    *("what_hooks_told_of_is_kept_whole", "the_next_run_begins_with"),
    *("a_prompt_is_answered_from_memory", "uninstalled_the_home_is_what_it_was"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        slow = any(f"[{name}" in item.name for name in UNHURRIED)
        if slow and "hosts" in item.path.parts and not any(part in item.name for part in EACH_TIME):
            item.add_marker(pytest.mark.soak)


@pytest.fixture(scope="session", params=FIND)
def agent(request: pytest.FixtureRequest) -> Agent:
    return FIND[request.param]()


@pytest.fixture
def bare(agent: Agent, own_home: Path, tmp_path: Path) -> Iterator[Host]:
    """An agent without our hooks. Nothing of this machine's but the PATH, and no way out but to the scripted model."""
    project = tmp_path / "widget"
    project.mkdir()
    outside = "http://127.0.0.1:9"  # nobody there
    env = {"PATH": os.environ["PATH"], "HOME": str(own_home), "LANG": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
    env |= {"HTTP_PROXY": outside, "HTTPS_PROXY": outside, "NO_PROXY": "127.0.0.1,localhost"}
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q", "-b", BRANCH], ["remote", "add", "origin", REMOTE]):
        subprocess.run([*git, *words], cwd=project, env=env, check=True)
    (project / "README").write_text("Widgets.\n")
    for words in (["add", "README"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *words], cwd=project, env=env, check=True)
    with serving() as model:
        env |= agent.set_up(own_home, model.port)
        yield Host(agent, own_home, project, tmp_path / "data", model, env)


@pytest.fixture
def host(bare: Host) -> Host:
    """An agent with our hooks."""
    bare.agent.add_hooks(bare.home, bare.data_dir)
    return bare
