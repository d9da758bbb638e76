"""The SQL that operators are shown runs on a real server, as it stands on the page."""

from __future__ import annotations

import re

import psycopg
import pytest

from tests.ops.files import ROOT
from tests.services.stores import Emptied

pytestmark = pytest.mark.slow
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
STATEMENTS = [
    statement.strip()
    for block in re.findall(r"^```sql\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    for statement in re.sub(r"--.*", "", block).split(";")
    if statement.strip()
]


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda text: text[:40])
def test_a_statement_runs(emptied: Emptied, statement: str) -> None:
    with psycopg.connect(emptied.url(1)) as connection:
        database = connection.info.dbname
        connection.execute(statement.replace("DATABASE memory ", f"DATABASE {database} "))  # type: ignore[arg-type]
        connection.rollback()


def test_there_are_some() -> None:
    assert len(STATEMENTS) >= 5
