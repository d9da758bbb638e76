"""Which project a directory is, and why: alias, remote, git common dir, directory; nothing is run (DESIGN §3, T16)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from recollect.project import normalise_remote, resolve


def git(*arguments: str, cwd: Path) -> None:
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=cwd, check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "app"
    folder.mkdir(parents=True)
    git("init", "-q", ".", cwd=folder)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=folder)
    return folder


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/Team/App.git",
        "https://user:secret@example.org/team/app",
        "ssh://git@example.org:22/team/app.git",
        "git@example.org:team/app.git",
        "git://example.org/team/app/",
    ],
)
def test_every_spelling_of_a_remote_is_one_name(url: str) -> None:
    assert normalise_remote(url) == "example.org/team/app"


def test_a_clone_is_known_by_its_remote_and_no_password_is_kept(repository: Path) -> None:
    git("remote", "add", "origin", "https://user:secret@example.org/team/app.git", cwd=repository)
    found = resolve(repository)
    assert (found.name, "remote" in found.rule) == ("example.org/team/app", True)


def test_a_worktree_is_the_same_project_as_its_repository(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "elsewhere"), "-b", "side", cwd=repository)
    assert resolve(tmp_path / "elsewhere").name == resolve(repository).name == str(repository)


def test_a_folder_below_is_the_project_above(repository: Path) -> None:
    (repository / "src" / "deep").mkdir(parents=True)
    assert resolve(repository / "src" / "deep").name == str(repository)


def test_two_folders_of_one_name_are_two_projects(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "app").mkdir(parents=True)
    assert resolve(tmp_path / "a" / "app").name != resolve(tmp_path / "b" / "app").name


def test_an_alias_wins_and_the_rule_says_so(repository: Path) -> None:
    found = resolve(repository / ".", {str(repository): "the-app"})
    assert (found.name, "alias" in found.rule) == ("the-app", True)


def test_home_is_nobodys_project(own_home: Path) -> None:
    assert resolve(own_home).name is None


def test_a_hostile_repository_cannot_do_more_than_name_itself(tmp_path: Path) -> None:
    for content in (b"gitdir: /proc/self", b"gitdir: " + b"x" * 5_000_000, b"\xff\xfe", b""):
        folder = tmp_path / str(len(content))
        folder.mkdir()
        (folder / ".git").write_bytes(content)
        assert resolve(folder).rule


def test_a_path_too_long_for_a_name_still_names_one_project(tmp_path: Path) -> None:
    deep = [tmp_path.joinpath(*(["long" * 20] * 4), name) for name in ("a", "b")]
    for folder in deep:
        folder.mkdir(parents=True)
    names = {resolve(folder).name for folder in deep}
    assert len(names) == 2
    assert all(name and len(name) <= 255 for name in names)
