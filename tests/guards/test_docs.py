"""The docs keep their word: every promise names a test that exists, links lead somewhere, the README's Python runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def named_tests() -> list[str]:
    return re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", (REPOSITORY / "docs" / "promises.md").read_text())


@pytest.mark.parametrize("name", named_tests())
def test_a_promise_names_a_test_that_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert (REPOSITORY / path).is_file()
    assert not function or f"def {function}(" in (REPOSITORY / path).read_text()


def test_there_are_promises() -> None:
    assert len(named_tests()) > 50


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(REPOSITORY)) for page in PAGES])
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_no_page_names_a_folder_of_the_machine_it_was_written_on() -> None:
    for page in PAGES:
        text = page.read_text()
        assert str(REPOSITORY) not in text, page.name
        assert not re.search(r"(?<![\w.~])/(?:root|tmp|private)/", text), page.name


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_the_python_shown_runs(page: str, own_home: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], check=True, capture_output=True, cwd=own_home)


def test_the_readme_shows_the_two_commands() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    assert "make demo" in readme
    assert "make test" in readme
