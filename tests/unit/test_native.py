"""What a host loads by itself is known, so that it is not said twice; reading it harms nothing and leads nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.inject.native import MAX_BYTES, Native
from recollect.inject.sameness import sense
from recollect.inject.standing import filed


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    place = tmp_path / "work" / "My App"
    (place / ".git").mkdir(parents=True)
    (place / "src").mkdir()
    return place


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(host: str, place: Path, top: Path | None = None, **env: str) -> list[str]:
    return Native(env).texts(host, place, top)


LOADED = {
    "claude": [
        *("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/a.md", "src/CLAUDE.md", "../CLAUDE.md"),
        *("~/.claude/CLAUDE.md", "~/.claude/rules/b.md", "~/.claude/projects/{munged}/memory/MEMORY.md"),
    ],
    "codex": [
        *("AGENTS.md", "src/AGENTS.override.md", "~/.codex/AGENTS.md", "~/.codex/memories/MEMORY.md"),
        "~/.codex/memories/memory_summary.md",
    ],
    "gemini": ["GEMINI.md", "src/GEMINI.md", "~/.gemini/GEMINI.md"],
    "cursor": ["AGENTS.md", "CLAUDE.md", ".cursorrules", ".cursor/rules/a.mdc"],
    "grok": [
        *("AGENTS.md", "CLAUDE.md", "AGENT.md", ".grok/rules/a.md", "~/.grok/memory/MEMORY.md"),
        "~/.grok/memory/my-app-0123abcd/MEMORY.md",
    ],
}


@pytest.mark.parametrize(("host", "name"), [(host, name) for host, names in LOADED.items() for name in names])
def test_what_a_host_loads_is_read(host: str, name: str, repo: Path, own_home: Path) -> None:
    munged = "".join(sign if sign.isalnum() else "-" for sign in str(repo))
    name = name.format(munged=munged)
    write(own_home / name[2:] if name.startswith("~/") else repo / name, f"from {name}")
    assert read(host, repo / "src", repo) == [f"from {name}"]


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("codex", "CLAUDE.md"),
        ("codex", "../AGENTS.md"),
        ("gemini", "AGENTS.md"),
        ("claude", "GEMINI.md"),
        ("claude", "lib/CLAUDE.md"),
        ("grok", "~/.grok/memory/other-0123abcd/MEMORY.md"),
        ("claude", "~/.claude/projects/-other/memory/MEMORY.md"),
        ("claude", "~/.claude/agents/x.md"),
        ("file", "CLAUDE.md"),
    ],
)
def test_what_it_does_not_load_is_not_read(host: str, name: str, repo: Path, own_home: Path) -> None:
    write(own_home / name[2:] if name.startswith("~/") else repo / name, "not loaded")
    assert read(host, repo / "src", repo) == []


def test_of_names_that_stand_for_each_other_the_first_counts(repo: Path) -> None:
    write(repo / "AGENTS.md", "for everybody")
    assert read("codex", repo, repo) == ["for everybody"]
    assert read("claude", repo, repo) == [], "Claude Code does not load it"
    write(repo / "AGENTS.override.md", "instead")
    assert read("codex", repo, repo) == ["instead"]


def test_a_host_that_was_moved_is_found(repo: Path, tmp_path: Path) -> None:
    write(tmp_path / "moved" / "CLAUDE.md", "moved")
    assert read("claude", repo, repo, CLAUDE_CONFIG_DIR=str(tmp_path / "moved")) == ["moved"]
    assert read("claude", repo, repo, CLAUDE_CONFIG_DIR="moved") == []


def test_imports_are_followed_within_the_repository(repo: Path, own_home: Path) -> None:
    write(repo / "CLAUDE.md", "See @docs/rules.md and @~/notes.md, not `@docs/code.md`.\n```\n@docs/fence.md\n```\n")
    write(repo / "docs" / "rules.md", "the rules, and @more.md.")
    write(repo / "docs" / "more.md", "more of them @rules.md")
    for other in ("docs/code.md", "docs/fence.md"):
        write(repo / other, "not imported")
    write(own_home / "notes.md", "outside of it")
    assert [text.split(",")[0] for text in read("claude", repo, repo)[1:]] == ["the rules", "more of them @rules.md"]


def test_our_own_file_is_known_when_it_is_imported(repo: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    write(data / "memory" / "user.md", filed("## Facts\n[said by user, 2026-11-15]\n> The walrus port is 5433", None))
    write(repo / "CLAUDE.md", f"@{data}/memory/user.md\nUse uv, not pip.\n")
    native = Native({}, data)
    loaded = native.loaded(native.texts("claude", repo, repo))
    assert loaded.ours.says(sense("The walrus port is 5433"))
    assert not loaded.theirs.says(sense("The walrus port is 5433"))
    assert loaded.theirs.says(sense("Use uv, not pip"))


def test_what_is_loaded_only_at_times_does_not_count(repo: Path) -> None:
    write(repo / ".claude" / "rules" / "a.md", "---\npaths:\n  - src/**\n---\nonly there")
    write(repo / ".claude" / "rules" / "b.md", "---\ntitle: x\n---\nalways")
    assert read("claude", repo, repo) == ["---\ntitle: x\n---\nalways"]


def test_of_claudes_own_index_only_what_is_loaded_counts(repo: Path, own_home: Path) -> None:
    folder = own_home / ".claude" / "projects" / "".join(sign if sign.isalnum() else "-" for sign in str(repo))
    write(folder / "memory" / "MEMORY.md", "\n".join(f"line {number}" for number in range(300)))
    assert read("claude", repo, repo)[0].count("\n") == 199
    write(folder / "memory" / "MEMORY.md", "x" * 30_000)
    assert len(read("claude", repo, repo)[0]) == 25_000


# -- hostile repositories ------------------------------------------------------------------------------------------


def test_a_link_is_followed_within_the_repository_and_not_out_of_it(repo: Path, tmp_path: Path) -> None:
    write(repo / "AGENTS.md", "inside")
    (repo / "CLAUDE.md").symlink_to("AGENTS.md")
    assert read("claude", repo, repo) == ["inside"]
    secret = write(tmp_path / "secret", "outside")
    (repo / "CLAUDE.md").unlink()
    (repo / "CLAUDE.md").symlink_to(secret)
    (repo / ".claude").symlink_to(tmp_path)
    write(tmp_path / "rules" / "x.md", "outside")
    assert read("claude", repo, repo) == []


def test_dot_files_that_are_kept_elsewhere_in_the_home_are_read(repo: Path, own_home: Path) -> None:
    write(own_home / "dotfiles" / "CLAUDE.md", "mine")
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "CLAUDE.md").symlink_to(own_home / "dotfiles" / "CLAUDE.md")
    assert read("claude", repo, repo) == ["mine"]


def test_nothing_hangs_and_nothing_is_raised(repo: Path) -> None:
    os.mkfifo(repo / "CLAUDE.md")
    (repo / "CLAUDE.local.md").mkdir()
    (repo / ".claude").mkdir()
    (repo / ".claude" / "CLAUDE.md").symlink_to("CLAUDE.md")  # to itself
    (repo / ".claude" / "rules").symlink_to("/proc/self")
    write(repo / "AGENTS.md", "x").chmod(0)
    for host in LOADED:
        assert all(text == "x" for text in read(host, repo / "src", repo))
    assert read("claude", Path("/nowhere/at/all")) == []
    assert read("claude", Path("/" + "x" * 5_000)) == []


def test_reading_is_bounded(repo: Path) -> None:
    (repo / "CLAUDE.md").write_bytes(b"\xff\xfe" + b"y" * 10 * MAX_BYTES)
    for number in range(300):
        write(repo / ".claude" / "rules" / f"{number}.md", f"rule {number} @{(number + 1) % 300}.md")
    texts = read("claude", repo, repo)
    assert len(texts) <= 100
    assert max(map(len, texts)) <= MAX_BYTES


def test_nothing_is_changed_by_reading(repo: Path) -> None:
    file = write(repo / "CLAUDE.md", "mine @AGENTS.md")
    write(repo / "AGENTS.md", "theirs")
    before = {path: path.stat().st_mtime_ns for path in repo.rglob("*")}
    for host in LOADED:
        read(host, repo, repo)
    assert {path: path.stat().st_mtime_ns for path in repo.rglob("*")} == before
    assert file.read_text() == "mine @AGENTS.md"
