"""Every dependency has its reason on one page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_dependency_is_on_the_page() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.split(r"[\[<>=;\s]", one)[0] for one in wanted} - {"recollect"}
    page = (ROOT / "docs" / "dependencies.md").read_text().casefold()
    assert {name for name in names if name.casefold() not in page} == set()
