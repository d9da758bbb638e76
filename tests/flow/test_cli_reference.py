"""The generated reference is up to date, and there is something to generate it from: every flag and setting speaks."""

from __future__ import annotations

import runpy
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from recollect.cli.main import VERBS, parser_of
from recollect.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "write_reference.py"))


@pytest.mark.parametrize("name", ["cli", "settings", "mcp"])
def test_the_reference_is_up_to_date(tool: dict[str, Any], name: str) -> None:
    written = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert written == tool[f"{name}_reference"](), "run `make docs`"


@pytest.mark.parametrize(("file", "maker"), [("http.md", "http_reference"), ("openapi.json", "openapi_reference")])
def test_the_reference_of_the_service_is_up_to_date(tool: dict[str, Any], file: str, maker: str) -> None:
    written = (ROOT / "docs" / "reference" / file).read_text(encoding="utf-8")
    assert written == tool[maker](), "run `make docs`"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_and_flag_has_help(verb: str) -> None:
    parser = parser_of(verb)
    assert parser.description
    assert [action.dest for action in parser._actions if not action.help] == []


def test_every_setting_has_its_comment(tool: dict[str, Any]) -> None:
    assert tool["setting_comments"]().keys() == {item.name for item in fields(Settings)}


def test_every_verb_has_a_module_and_every_module_a_verb() -> None:
    folder = ROOT / "src" / "recollect" / "cli" / "verbs"
    assert {file.stem for file in folder.glob("*.py")} == {module for module, _ in VERBS.values()} | {"__init__"}
