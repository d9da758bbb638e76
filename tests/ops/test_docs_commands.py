"""S1.83: every command that operators are shown is one there is, with flags it takes; every job and figure too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.cli.main import VERBS
from recollect.metrics import NAMES
from recollect.pipeline.maintaining import JOBS
from recollect.settings import Settings
from tests.ops.files import COMPOSE, PAGES, ROOT, commands, read_yaml, understood, words_of

UNITS = {file.name for file in (ROOT / "ops" / "systemd").iterdir()}


def shown() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for command in dict.fromkeys(commands(page)):
            yield page.stem, command
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"docker compose run --rm admin ([^\n`]*)", text):
            yield page.stem, line.split(" && ")[0]


@pytest.mark.parametrize(("page", "command"), list(shown()), ids=lambda value: value[:60])
def test_a_command_is_one_that_there_is(page: str, command: str) -> None:
    words = words_of(command)
    if words[1:] == []:
        assert words[0] in VERBS, command
    else:
        understood(words)


def test_the_pages_show_many() -> None:
    assert len(list(shown())) > 100


def pages_text() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_a_job_that_is_named_is_there() -> None:
    named = set(re.findall(r"--job (\w+)", pages_text()))
    assert named <= {*JOBS, "NAME"}


def test_a_figure_that_is_named_is_told() -> None:
    for name in set(re.findall(r"recollect_((?!owner|web|app|backup|data)\w+)", pages_text())):
        short = re.sub(r"_(bucket|sum|count)$", "", name)
        assert name in NAMES or short in NAMES or name.startswith(("queue", "ingestion", "retrieval")), name


def test_a_setting_that_is_named_is_there() -> None:
    known = set(Settings.__dataclass_fields__)
    prefixes = ("serve_", "database_", "redis_", "quota_", "health_", "embedding_", "metrics_", "audit_", "raw_")
    for name in set(re.findall(r"`([a-z]+_[a-z_]+)(?: = [^`]*)?`", pages_text())):
        if name.startswith(prefixes) and not name.endswith(("_key", "_password")):
            assert name in known, name


def test_a_service_or_unit_that_is_named_is_there() -> None:
    services = set(read_yaml(COMPOSE)["services"])
    text = pages_text()
    for word in set(re.findall(r"(?<![#-])\b(?:memory|database)-[a-z]+\b(?!-)", text)):
        assert word in services | {"database-login"}, word
    for unit in set(re.findall(r"(recollect-[a-z]+\.(?:service|timer))", text)):
        assert unit in UNITS | {"recollect-sweep.service"}, unit


def test_a_file_that_is_named_is_there() -> None:
    for name in set(re.findall(r"`((?:ops|tests|docs)/[\w./-]+)`", pages_text())):
        if not name.startswith(("ops/.env", "ops/secrets")):
            assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_link_into_a_page_leads_to_a_part_of_it(page: Path) -> None:
    from tests.ops.test_monitoring import anchors

    for target, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", page.read_text(encoding="utf-8")):
        path = (page.parent / target).resolve() if target else page
        assert anchor in anchors(str(path)), f"{page.name}: {target}#{anchor}"


def test_operators_find_the_pages() -> None:
    start = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.stem != "operations":
            assert f"({page.name})" in start, page.name
