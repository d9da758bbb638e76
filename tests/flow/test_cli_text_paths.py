"""Any text at all through the command line: kept exactly or refused, found again, never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.cli.main import main

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def run(*words: str, stdin: bytes = b"") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(list(words))
    return code, out.getvalue(), err.getvalue()


@settings(max_examples=60)
@given(text=ANY_TEXT)
def test_remember_keeps_the_exact_text_or_refuses_it(text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        data = str(Path(name) / "data")
        code, _, err = run("remember", "--data-dir", data, "--all-projects", "--", text)
        assert code in (0, 2)
        assert "unexpected" not in err
        if code == 0 and text != "-":
            _, out, _ = run("export", "--data-dir", data)
            assert json.loads(out.splitlines()[1])["content"] == text


@settings(max_examples=60)
@given(data=st.binary(max_size=200))
def test_any_bytes_on_standard_input(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        code, _, err = run("remember", "-", "--data-dir", str(Path(name) / "data"), stdin=data)
        assert code in (0, 2)
        assert "unexpected" not in err


@settings(max_examples=60)
@given(query=ANY_TEXT)
def test_any_question_is_answered(query: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        data = str(Path(name) / "data")
        run("remember", "the one thing", "--data-dir", data)
        code, out, err = run("recall", "--json", "--mode", "lexical", "--data-dir", data, "--", query)
        assert code == 0, err
        assert json.loads(out)["mode"] == "lexical"


@settings(max_examples=60)
@given(lines=st.lists(st.one_of(st.binary(max_size=80), st.just(b'{"type":"recollect","format":1}')), max_size=4))
def test_any_file_is_imported_or_refused_by_line(lines: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "in.jsonl"
        file.write_bytes(b"\n".join(lines))
        code, _, err = run("import", str(file), "--data-dir", str(Path(name) / "data"))
        assert code in (0, 2)
        assert code == 0 or err.startswith("error: line ")
