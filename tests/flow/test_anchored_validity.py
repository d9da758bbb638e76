"""Anchored validity: recalled in its repository, a memory says what became of the files and commands it names."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect, Scope
from recollect.model import Memory
from recollect.project import resolve
from recollect.recall import validity
from recollect.recall.repository import LOOKS, Repository
from recollect.recall.validity import Finding, findings
from tests.flow.memory_fixture import HandClock

SAID = datetime(2026, 11, 15, tzinfo=UTC)
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def index_of(*paths: str) -> bytes:
    """Git's index, version 2, with these paths."""
    entries = b""
    for path in sorted(paths):
        name = path.encode()
        entry = bytes(60) + struct.pack(">H", min(len(name), 0xFFF)) + name
        entries += entry + b"\0" * (8 - len(entry) % 8)
    return b"DIRC" + struct.pack(">II", 2, len(paths)) + entries + bytes(20)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a few files, all older than what is said of them."""
    root = tmp_path / "app"
    files = {
        "src/load.py": "def load_config():\n    return {}\n",
        "src/deep/down/unique.py": "x = 1\n",
        "src/one/twin.py": "",
        "src/two/twin.py": "",
        "scripts/release.sh": "#!/bin/sh\n",
        "Makefile": "PY = python3\n.PHONY: test\ntest: build\n\tpytest\nbuild lint:\n\techo\n",
        "package.json": '{"scripts": {"build": "vite build"}}',
        "justfile": "default:\n  just --list\ndeploy env:\n  ./deploy {{env}}\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1, 1))
    git = root / ".git"
    (git / "refs/heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "refs/heads/main").write_text(COMMIT + "\n")
    (git / "index").write_bytes(index_of(*files))
    return root


def notes(root: Path, *anchors: str, since: datetime = SAID) -> list[str]:
    return [one.note for one in findings(Repository.around(root), anchors, since)]


def gone(root: Path, *anchors: str) -> list[bool]:
    return [one.gone for one in findings(Repository.around(root), anchors, SAID)]


# -- files and symbols -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("anchors", "told"),
    [
        (["file:src/load.py"], []),
        (["file:src/load.py:12"], []),
        (["file:src/load.py#L3-L9"], []),
        (["src/load.py"], []),
        (["file:src"], []),
        (["file:src/lost.py"], ["src/lost.py no longer exists"]),
        (["file:lib/unique.py"], ["lib/unique.py moved to src/deep/down/unique.py"]),
        (["file:deep/down/unique.py"], []),  # said from a folder further down
        (["file:lib/twin.py"], ["lib/twin.py no longer exists"]),
        (["file:src/load.py", "symbol:load_config"], []),
        (["file:src/load.py", "symbol:Loader.load_config()"], []),
        (["file:src/load.py", "symbol:load"], ["load is no longer in src/load.py"]),
        (["symbol:nowhere"], []),  # no file is named: the whole tree is not read
        (["file:src/lost.py", "symbol:nowhere"], ["src/lost.py no longer exists"]),
        (["commit:abcdef1"], []),
        (["something else", "", "file:", "symbol:", "command:"], []),
    ],
)
def test_files_and_symbols(root: Path, anchors: list[str], told: list[str]) -> None:
    assert notes(root, *anchors) == told
    assert notes(root / "src" / "deep", *anchors) == told


def test_only_what_is_gone_counts_against_a_memory(root: Path) -> None:
    assert gone(root, "file:src/lost.py") == [True]
    assert gone(root, "file:lib/unique.py") == [False]
    after = SAID.timestamp() + 10
    os.utime(root / "src/load.py", (after, after))
    assert gone(root, "file:src/load.py") == [False]
    assert notes(root, "file:src/load.py") == ["src/load.py changed since"]


def test_a_file_that_was_changed_since_says_so_unless_its_commit_is_checked_out(root: Path) -> None:
    early = datetime(1969, 1, 1, tzinfo=UTC)
    assert notes(root, "file:src/load.py", since=early) == ["src/load.py changed since"]
    assert notes(root, "file:src/load.py", f"commit:{COMMIT[:9]}", since=early) == []
    assert notes(root, "file:src/load.py", "commit:fedcba98", since=early) == ["src/load.py changed since"]
    (root / ".git/refs/heads/main").unlink()
    (root / ".git/packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert notes(root, "file:src/load.py", f"commit:{COMMIT}", since=early) == []


def test_a_name_is_found_without_an_index_too(root: Path) -> None:
    (root / ".git/index").unlink()
    assert notes(root, "file:lib/unique.py") == ["lib/unique.py moved to src/deep/down/unique.py"]
    (root / ".git/index").write_bytes(b"DIRC\0\0\0\4" + os.urandom(500))
    assert notes(root, "file:lib/unique.py") == ["lib/unique.py moved to src/deep/down/unique.py"]
    assert notes(root, "file:src/lost.py") == ["src/lost.py no longer exists"]


def test_the_index_git_writes_is_read(tmp_path: Path) -> None:
    root = tmp_path / "real"
    names = [
        "a.py",
        "src/a_long_name_in_a_folder/moved_here.py",
        "src/xmoved_here.py",
        *(f"d/{n}.txt" for n in range(300)),
    ]
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    try:
        for words in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not there")
    repository = Repository.around(root)
    assert repository.elsewhere("old/moved_here.py") == ["src/a_long_name_in_a_folder/moved_here.py"]
    assert repository.elsewhere("old/a.py") == ["a.py"]
    assert repository.elsewhere("old/7.txt") == ["d/7.txt"]
    assert repository.elsewhere("old/nothing.py") == []


def test_a_worktree_has_its_own_head(root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    private = root / ".git/worktrees/tree"
    private.mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {private}\n")
    (private / "HEAD").write_text("ref: refs/heads/side\n")
    (private / "commondir").write_text("../..\n")
    (root / ".git/refs/heads/side").write_text("f" * 40)
    assert Repository.around(tree).head() == "f" * 40
    assert Repository.around(root).head() == COMMIT


# -- commands ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("make test", []),
        ("make -j4 build lint", []),
        ("PYTHON=3 make test", []),
        ("make deploy", ["make deploy: Makefile has no target deploy"]),
        ("make deploy | tee log", ["make deploy | tee log: Makefile has no target deploy"]),
        ("make -C sub deploy", []),
        ("make", []),
        ("just deploy prod", []),
        ("just release", ["just release: justfile has no target release"]),
        ("npm run build", []),
        ("pnpm run bundle", ["pnpm run bundle: package.json has no script bundle"]),
        ("npm test", ["npm test: package.json has no script test"]),
        ("npm install", []),
        ("yarn build", []),
        ("./scripts/release.sh --fast", []),
        ("bash scripts/release.sh", []),
        ("bash scripts/lost.sh", ["bash scripts/lost.sh: scripts/lost.sh no longer exists"]),
        ("uv run python tools/lost.py", ["uv run python tools/lost.py: tools/lost.py no longer exists"]),
        ("pytest src/lost.py::test_x -q", ["pytest src/lost.py::test_x -q: src/lost.py no longer exists"]),
        ("pytest -q", []),
        ("cd sub && make deploy", []),
        ("cargo test", []),
        ("echo 'unfinished", []),
        ("", []),
    ],
)
def test_commands(root: Path, command: str, told: list[str]) -> None:
    assert notes(root, f"command:{command}") == told


@pytest.mark.parametrize("line", ["include other.mk", "%.o: %.c", "$(ALL): x", "-include local.mk"])
def test_of_a_makefile_that_cannot_be_read_whole_nothing_is_told(root: Path, line: str) -> None:
    (root / "Makefile").write_text(f"test:\n\tpytest\n{line}\n")
    assert notes(root, "command:make deploy") == []


# -- paths are data ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "anchor",
    [
        *(
            "file:/etc/passwd",
            "file:../secret.txt",
            "file:src/../../secret.txt",
            "file:~/secret.txt",
            "file:.git/config",
        ),
        *("file:link/secret.txt", "file:file-link", "command:bash ../secret.sh", "command:python /etc/x.py"),
        *("file:https://example.com/x.py", "file:src\\load.py", "file:a\x00b", "file:" + "a/" * 600 + "b"),
        *("file:C:\\x.py", "file:\ud800", "file:/", "file:.", "file:..", "command:bash link/secret.sh"),
    ],
    ids=ascii,
)
def test_nothing_outside_the_repository_is_looked_at_or_told_of(root: Path, tmp_path: Path, anchor: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for place in (tmp_path, outside):  # newer than what was said: a look at them would tell
        (place / "secret.txt").write_text("load_config")
        os.utime(place / "secret.txt", (SAID.timestamp() + 99, SAID.timestamp() + 99))
    (root / "link").symlink_to(outside)
    (root / "file-link").symlink_to(tmp_path / "secret.txt")
    assert notes(root, anchor, "symbol:load_config") == []


def test_an_absolute_path_inside_is_one_of_the_repository(root: Path) -> None:
    assert notes(root, f"file:{root}/src/load.py") == []
    assert notes(root, f"file:{root}/src/lost.py") == ["src/lost.py no longer exists"]


def test_a_symbol_is_not_read_through_a_link_or_from_a_pipe(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "src/pipe.py")
    assert notes(root, "file:src/pipe.py", "symbol:nothing_at_all") == []


ANCHOR = st.one_of(
    st.text(max_size=60),
    st.tuples(st.sampled_from(["file:", "symbol:", "command:", "commit:"]), st.text(max_size=60)).map("".join),
)


@given(st.lists(ANCHOR, max_size=20))
def test_no_anchor_is_an_error(anchors: list[str]) -> None:
    repository = Repository.around(Path(__file__).parent)
    assert all(isinstance(one, Finding) for one in findings(repository, anchors, SAID))


# -- what it costs -----------------------------------------------------------------------------------------------------


def remembered(content: str, *anchors: str, project: str | None) -> Memory:
    return Memory(content, "fact", content, project, "user", SAID, SAID, anchors=anchors)


def test_ten_memories_cost_few_looks_and_then_none(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Repository] = []
    around = Repository.around

    def watched(directory: Path) -> Repository:
        made.append(around(directory))
        return made[-1]

    monkeypatch.setattr(Repository, "around", watched)
    project, grounds = resolve(root).name, validity.Grounds()
    ten = [remembered(f"m{n}", "file:src/load.py", f"file:src/lost{n}.py", project=project) for n in range(10)]
    first = grounds.look(root, {}, SAID)
    assert [one.note for one in first(ten[3])] == ["src/lost3.py no longer exists"]
    for one in ten:
        first(one)
    assert made[0].looks <= 120
    again = grounds.look(root, {}, SAID)
    assert [again(one) for one in ten] == [first(one) for one in ten]
    assert made[1].looks <= 6  # HEAD and the index, nothing of the ten
    (root / ".git/refs/heads/main").write_text("f" * 40)
    moved = grounds.look(root, {}, SAID)
    moved(ten[0])
    assert made[2].looks > 6  # another commit is checked out


def test_looking_has_an_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    plain = Path.lstat

    def counted(path: Path) -> os.stat_result:
        asked.append(path)
        return plain(path)

    monkeypatch.setattr(Path, "lstat", counted)
    repository = Repository.around(root)
    anchors = [f"file:src/deep/down/{number}.py" for number in range(16)]
    for _ in range(50):
        list(findings(repository, anchors, SAID))
    assert len(asked) <= LOOKS + 1
    assert repository.tired
    anchors = ["file:src/lost.py", "command:bash x/y.sh", "command:make deploy"]
    assert list(findings(repository, anchors, SAID)) == []  # what was not looked at is not said to be gone


def test_a_memory_of_another_project_or_of_none_is_let_be(root: Path) -> None:
    look = validity.Grounds().look(root, {}, SAID)
    assert look(remembered("x", "file:src/lost.py", project="another")) == ()
    assert look(remembered("x", "file:src/lost.py", project=None)) == ()
    assert look(remembered("x", project=resolve(root).name)) == ()
    nowhere = validity.Grounds().look(root / "no" / "such" / "folder", {}, SAID)
    assert isinstance(nowhere(remembered("x", "file:src/lost.py", project="p")), tuple)


# -- recall ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def here(opened: Callable[..., Recollect], root: Path) -> Recollect:
    return opened(Scope("local", "ann", resolve(root).name))


def test_recall_in_the_repository_flags_and_demotes_what_rests_on_nothing(here: Recollect, root: Path) -> None:
    lost = here.remember("The walrus loader parses tusks", anchors=["file:src/lost.py"], importance=0.9)
    kept = here.remember("The walrus loader is slow", anchors=["file:src/load.py"], importance=0.1)
    plain = {hit.id: hit for hit in here.recall("walrus loader").hits}
    assert plain[lost.id].score > plain[kept.id].score
    assert plain[lost.id].notes == ()
    hits = here.recall("walrus loader", at=root).hits
    assert [hit.id for hit in hits] == [kept.id, lost.id]
    assert hits[1].notes == ("src/lost.py no longer exists", "score halved")
    assert hits[1].score == pytest.approx(plain[lost.id].score / 2)
    assert hits[1].parts.final == hits[1].score
    assert hits[0].score == pytest.approx(plain[kept.id].score)
    assert all(hit.notes == () for hit in here.recall("walrus loader", at=root, as_of="2026-11-16").hits)


def test_what_is_there_again_is_found_so_within_a_minute(here: Recollect, root: Path, clock: HandClock) -> None:
    here.remember("The walrus loader parses tusks", anchors=["file:src/lost.py"])
    assert here.recall("walrus", at=root).hits[0].notes
    (root / "src/lost.py").touch()
    os.utime(root / "src/lost.py", (1, 1))
    clock.move(seconds=61)
    assert here.recall("walrus", at=root).hits[0].notes == ()


def test_where_the_memory_was_opened_is_where_it_is_checked(here: Recollect, root: Path) -> None:
    kept = here.remember("The walrus loader parses tusks", anchors=["file:src/lost.py", "command:make deploy"])
    here.directory = root
    told = ("src/lost.py no longer exists", "make deploy: Makefile has no target deploy")
    assert here.recall("walrus").hits[0].notes == (*told, "score halved")
    assert tuple(one.note for one in here.belief(kept.id).findings) == told


def test_a_place_that_is_gone_is_no_error(here: Recollect, root: Path, tmp_path: Path) -> None:
    here.remember("The walrus loader parses tusks", anchors=["file:src/lost.py"])
    for odd in (tmp_path / "gone", root / "Makefile", Path("relative"), "\x00", str(root / ("x" * 300))):
        at: Any = odd
        assert len(here.recall("walrus", at=at).hits) == 1
