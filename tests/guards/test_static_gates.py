"""Ways of writing code that led others into trouble are not found in ours (RELIABILITY gates; T12, T15, T29, T35)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import recollect

PACKAGE = Path(recollect.__file__).parent
SOURCES = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}

BANNED = {
    "code from data": r"\bpickle\b|torch\.load|yaml\.load\(|trust_remote_code|\beval\(|\bexec\(",
    "a shell": r"shell=True|os\.system|os\.popen",
    "every network interface": r"0\.0\.0\.0",
    "any origin": r"allow_origins=\[\"\*\"\]",
    "raw HTML": r"innerHTML|insertAdjacentHTML|\|\s*safe\b",
    "the interpreter's own SQLite": r"\bimport sqlite3\b",
}


@pytest.mark.parametrize("what", BANNED)
def test_banned(what: str) -> None:
    assert [name for name, text in SOURCES.items() if re.search(BANNED[what], text)] == []


def executed_fstrings(text: str) -> list[int]:
    """Lines where SQL is put together from pieces at the moment it is executed."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("execute"):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.JoinedStr) or (
                isinstance(first, ast.BinOp) and not isinstance(first.op, ast.BitOr)
            ):
                found.append(node.lineno)
    return found


def test_sql_is_never_put_together_from_pieces() -> None:
    """T12: every value is bound; every statement stands in a file."""
    assert {name: lines for name, text in SOURCES.items() if (lines := executed_fstrings(text))} == {}


def test_the_gate_finds_a_planted_one() -> None:
    assert executed_fstrings('db.execute(f"SELECT {x}")') == [1]
    assert executed_fstrings('db.execute("SELECT " + x)') == [1]
    assert executed_fstrings('db.execute(Q["name"], x)') == []


def test_secrets_are_never_compared_with_equals() -> None:
    secret = re.compile(r"(token|secret|api_key|password)$")
    for name, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
                names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
                assert not any(secret.search(part) for part in names), f"{name}:{node.lineno}"


def test_migrations_and_queries_are_valid_sql() -> None:
    """Every named query can be prepared against the newest schema."""
    import apsw

    from recollect.store.sql import load_migrations, load_queries

    folder = PACKAGE / "store" / "sqlite"
    connection = apsw.Connection(":memory:")
    for _, script in load_migrations(folder / "migrations"):
        connection.execute(script)
    connection.execute(load_queries(folder / "queries" / "backup.sql")["make_body_files"])  # only a backup has it
    for file in sorted(path for path in (folder / "queries").glob("*.sql") if path.name != "parts.sql"):
        for name, sql in load_queries(file).items():
            checked = f"EXPLAIN {sql}" if "_fts (" not in sql or "'delete" not in sql else "SELECT 1"
            parameters = dict.fromkeys(re.findall(r":(\w+)", sql))
            try:
                connection.execute(checked, parameters)
            except apsw.Error as error:
                raise AssertionError(f"{file.name}: {name}: {error}") from None
