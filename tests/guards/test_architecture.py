"""The house keeps its shape: stages import only earlier stages, only settings read the environment."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import recollect

PACKAGE = Path(recollect.__file__).parent
VALUES = {
    "model",
    "settings",
    "errors",
    "clock",
    "ids",
    "text",
    "version",
    "project",
    "stopping",
    "stopwords",
    "lock",
    "frame",
    "keys",
    "hook",
    "hookreply",
    "promptindex",
    "quickhash",
    "unread",
    "usualwords",
    "warmwire",
}
# A stage may import the values, itself, and what stands before it.
STAGES = ["models", "capture", "distill", "store", "recall", "inject", "learn", "pipeline", "facade"]
SHELLS = {"bus", "cli", "client", "http", "install", "mcp", "metrics", "serving", "tracing", "warm", "web", "wrap"}


def modules() -> list[tuple[str, Path]]:
    return [(str(path.relative_to(PACKAGE)), path) for path in sorted(PACKAGE.rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """First parts of the recollect modules a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("recollect."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "recollect":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("recollect."))
    return found


@pytest.mark.parametrize(("name", "path"), modules())
def test_a_stage_imports_only_earlier_stages(name: str, path: Path) -> None:
    room = name.split("/")[0].removesuffix(".py")
    if room in VALUES:
        assert imported(path) <= VALUES, name
    elif room in STAGES:
        earlier = set(STAGES[: STAGES.index(room) + 1])
        assert imported(path) <= VALUES | earlier, name


def test_every_room_is_known() -> None:
    rooms = {name.split("/")[0].removesuffix(".py") for name, _ in modules()}
    assert rooms <= VALUES | set(STAGES) | SHELLS | {"__init__", "__main__", "demo"}


def test_only_the_settings_read_the_environment() -> None:
    readers = {name for name, path in modules() if "os.environ" in path.read_text() or "getenv" in path.read_text()}
    assert readers <= {"settings.py", "hook.py", "cli/main.py", "cli/output.py", "models/minilm.py"}


@pytest.mark.parametrize(("name", "path"), modules())
def test_every_module_says_what_it_is_for(name: str, path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), name


@pytest.mark.parametrize(("name", "path"), modules())
def test_functions_are_short(name: str, path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{name}: {node.name}"


def test_the_public_names_are_all_there() -> None:
    assert {"Recollect", "Scope"} <= set(recollect.__all__)
    for name in recollect.__all__:
        assert getattr(recollect, name) is not None
    with pytest.raises(AttributeError):
        _ = recollect.nothing_like_this  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, recollect; print(sorted({m.split('.')[0] for m in sys.modules}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "apsw", "onnxruntime", "rich", "json"} & set(ast.literal_eval(shown))
