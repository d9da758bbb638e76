"""What every test stands on: a home of its own, no settings from outside, the same random choices every time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.flow.memory_fixture import clock as clock
from tests.flow.memory_fixture import memory as memory
from tests.flow.memory_fixture import opened as opened
from tests.llm_fixture import endpoint as endpoint
from tests.services.fixtures import each_store as each_store
from tests.services.fixtures import emptied as emptied
from tests.services.fixtures import postgres as postgres
from tests.services.fixtures import postgres_url as postgres_url
from tests.services.fixtures import redis as redis
from tests.services.fixtures import redis_url as redis_url
from tests.services.fixtures import run_folder as run_folder
from tests.weights_fixture import minilm_dir as minilm_dir

settings.register_profile(
    "recollect", derandomize=True, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("recollect")

OUTSIDE = (  # variables that could lead a test to somebody's real memory or sessions
    *(
        "RECOLLECT_",
        "XDG_",
        "PG",
        "DB_",
        "MEMORY_",
        "CLAUDE",
        "CODEX_",
        "GROK_",
        "GEMINI_",
        "COPILOT_",
        "QWEN_",
        "KIMI_",
    ),
    *("PI_CODING_", "FACTORY_", "OPENCODE_", "CURSOR_", "ANTHROPIC_", "OPENAI_", "AI_AGENT"),
    *("API_KEY", "EMBEDDING_", "REDIS_", "OTEL_", "PROMETHEUS_"),
)
# Files whose tests start servers and processes, or try very many things: left out of `make quick`.
SLOW = frozenset(
    """contract/test_engines_contract contract/test_foreign_is_unknown_contract contract/test_isolation_contract
    contract/test_unknown_owner_contract
    contract/test_portable_contract
    flow/test_cli_bad_input flow/test_cli_demo
    flow/test_cli_doctor flow/test_cli_terminal flow/test_cli_text_paths flow/test_coverage flow/test_hook_answer_fuzz
    flow/test_hook_bench flow/test_install_faults flow/test_language_cost flow/test_mcp_bench flow/test_mcp_client
    flow/test_mcp_hostile flow/test_mcp_http flow/test_mcp_keeper flow/test_mcp_stdio flow/test_warm_answers
    flow/test_warm_server flow/test_watch_warm unit/test_command_model unit/test_install_json unit/test_redact_recall
    unit/test_rules_hostile unit/test_weights_install""".split()
)

LONGEST = {
    "test_typescript",
    "test_moving",
    "test_isolation_contract",
    "test_unknown_owner_contract",
    "test_pages_isolation",
    "test_route_isolation",
    "test_text_stays_text",
    "test_raw_sql",
    "test_undone_isolation",
    "test_serve",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/".join(item.path.with_suffix("").parts[-2:]) in SLOW:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("timed"):
            item.add_marker(pytest.mark.flaky(reruns=2, only_rerun=["AssertionError"]))
    # Real agents and Node take minutes, and a file is one worker's: whoever began one last would hold up the end.
    items.sort(key=lambda item: item.path.parent.name != "hosts" and item.path.stem not in LONGEST)


def pytest_collection_finish() -> None:
    """Twenty thousand tests stay until the end: they need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session", autouse=True)
def nothing_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """For what is made once for many tests, too: an empty HOME, and no variable that could steer Recollect."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(OUTSIDE) and not name.startswith("RECOLLECT_TEST_"):
                patch.delenv(name)
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME of each test's own, empty."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home
