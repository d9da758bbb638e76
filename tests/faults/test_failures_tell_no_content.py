"""What fails unexpectedly is told by its kind alone: the text of an exception may quote what is remembered."""

from __future__ import annotations

import ast
import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

import recollect
from recollect import Recollect
from recollect.capture.sources import claude
from recollect.errors import InvalidInput
from recollect.pipeline import digests, distilling
from recollect.pipeline import prepare as preparing
from recollect.pipeline.worker import Worker
from tests.flow.transcripts_fixture import Agents, uid

CONTENT = "the heron sleeps at noon"
SESSION = uid("one")
PACKAGE = Path(recollect.__file__).parent


def failing(*_: object, **__: object) -> NoReturn:
    raise LookupError(CONTENT)


@pytest.mark.parametrize(
    "where",
    [(claude, "read"), (digests, "digest_of"), (distilling, "distill")],
    ids=["reading", "digest", "distilling"],
)
def test_a_sweep_names_the_session_and_the_kind(
    memory: Recollect, own_home: Path, monkeypatch: pytest.MonkeyPatch, where: tuple[object, str]
) -> None:
    """Neither the report nor the store, which keeps why a file failed, has any of the text."""
    Agents(own_home).claude(SESSION, 1)
    monkeypatch.setattr(*where, failing)
    report = memory.sweep()
    (problem,) = report.problems
    assert SESSION in problem["transcript"]
    assert problem["error"].endswith("LookupError")
    assert CONTENT not in str(report.as_dict()) + str(memory.coverage())
    memory.close()
    stored = [path.read_bytes() for path in memory.settings.data_dir.rglob("*") if path.is_file()]
    assert not any(CONTENT.encode() in each for each in stored)


def worked(_memory: Recollect, _patch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def work(_: object) -> NoReturn:
        begun.set()
        failing()

    worker = Worker(work)
    worker.ring()
    assert begun.wait(5)
    worker.stop()


def renewed(memory: Recollect, patch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> NoReturn:
        raise InvalidInput(CONTENT)

    patch.setattr(preparing, "prepare", broken)
    memory.sweep({"claude": []})


@pytest.mark.parametrize("work", [worked, renewed])
def test_a_log_tells_the_kind(
    memory: Recollect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    work: Callable[[Recollect, pytest.MonkeyPatch], None],
) -> None:
    with caplog.at_level(logging.DEBUG):
        work(memory, monkeypatch)
    assert "Error" in caplog.text or "InvalidInput" in caplog.text
    assert CONTENT not in caplog.text


def logged(tree: ast.AST) -> Iterator[ast.expr]:
    """What is given to a logger, or written to standard error by hand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            by_hand = ast.unparse(node.func) == "sys.stderr.write"
            if by_hand or node.func.attr in ("debug", "info", "warning", "error", "exception", "critical"):
                yield from node.args


def tells_a_failure(given: ast.expr) -> bool:
    """Whether an exception itself, and not only its type, is in this."""
    whole = [node for node in ast.walk(given) if isinstance(node, ast.Name) and node.id == "error"]
    kinds = [node for node in ast.walk(given) if isinstance(node, ast.Call) and ast.unparse(node) == "type(error)"]
    return len(whole) > len(kinds)


def test_no_log_of_ours_is_given_an_exception() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{each.lineno}"
        for path in PACKAGE.rglob("*.py")
        for each in logged(ast.parse(path.read_text(encoding="utf-8")))
        if tells_a_failure(each)
    ]
    assert found == []
