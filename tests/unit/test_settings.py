"""defaults < config.toml < RECOLLECT_* < arguments; nothing from the working directory (T16)."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from recollect.errors import InvalidInput
from recollect.settings import Settings, load


def test_later_sources_win_and_each_value_knows_its_source(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('recall_limit = 3\nthreads = 2\nsummarize_after = 5\n[projects]\n"/work" = "w"\n')
    env = {"RECOLLECT_CONFIG": str(file), "RECOLLECT_THREADS": "4", "RECOLLECT_SUMMARIZE_AFTER": "6", "HOME": "/h"}
    loaded = load(env, summarize_after=7)
    chosen = loaded.settings
    assert (chosen.recall_limit, chosen.threads, chosen.summarize_after, chosen.abstain) == (3, 4, 7, True)
    assert chosen.projects == {"/work": "w"}
    assert [loaded.origins[name] for name in ("recall_limit", "threads", "summarize_after", "abstain")] == [
        str(file),
        "RECOLLECT_THREADS",
        "argument",
        "default",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("recall_limit = 'many'", "recall_limit"),
        ("no_such = 1", "no_such"),
        ("= broken", "cannot be read"),
        ("abstain = 3", "abstain"),
    ],
)
def test_a_bad_config_file_is_named_with_the_setting(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=says):
        load({"RECOLLECT_CONFIG": str(file)})


@pytest.mark.parametrize(("word", "value"), [("1", True), ("Yes", True), ("off", False), ("false", False)])
def test_switches_are_read_as_people_write_them(word: str, value: bool) -> None:
    assert load({"RECOLLECT_ABSTAIN": word, "RECOLLECT_CONFIG": "/none"}).settings.abstain is value


def test_a_repository_cannot_set_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.toml", ".env", "recollect.toml", "pyproject.toml"):
        (tmp_path / name).write_text(
            'data_dir = "/evil"\nRECOLLECT_DATA_DIR=/evil\n[tool.recollect]\ndata_dir="/evil"\n'
        )
    monkeypatch.chdir(tmp_path)
    assert "evil" not in str(load().settings.data_dir)


def test_the_data_directory_follows_the_platform(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert load({}).settings.data_dir == own_home / ".local" / "share" / "recollect"
    assert load({"XDG_DATA_HOME": "/x"}).settings.data_dir == Path("/x/recollect")
    monkeypatch.setattr("sys.platform", "darwin")
    assert load({}).settings.data_dir == own_home / "Library" / "Application Support" / "recollect"


def test_every_setting_can_be_given_by_a_variable() -> None:
    simple = {"bool": "1", "int": "3", "float": "0.5", "str": "x", "Path": "/p", "Path | None": "/p"}
    simple["tuple[str, ...]"] = "x, y"
    own = {"llm": "anthropic", "inject_prompt": "nudge", "memory_files": "/x.md, ~/y.md"}
    own |= {"database_credentials": "file", "vector_engine": "lancedb"}
    for item in fields(Settings):
        if item.name not in ("projects", "sources", "prices", "llm_project_daily_usd"):  # tables stand in config.toml
            value = own.get(item.name) or simple[str(item.type)]
            env = {f"RECOLLECT_{item.name.upper()}": value, "RECOLLECT_CONFIG": "/none"}
            assert load(env).origins[item.name] == f"RECOLLECT_{item.name.upper()}"


@pytest.mark.parametrize(
    ("name", "value"),
    [("inject_prompt", "always"), ("llm", "foo"), ("inject_max_tokens", "-1"), ("memory_files", "notes/memory.md")],
    ids=["a way there is not", "no such model", "less than nothing", "a path that hangs on where one stands"],
)
def test_how_to_inject_is_checked_when_it_is_read(name: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=name):
        load({f"RECOLLECT_{name.upper()}": value, "RECOLLECT_CONFIG": "/none"})


def test_memory_files_are_absolute(own_home: Path) -> None:
    env = {"RECOLLECT_MEMORY_FILES": "~/.claude/memory/coda_memory.md, /srv/{project}.md", "RECOLLECT_CONFIG": "/none"}
    assert load(env).settings.memory_files == (f"{own_home}/.claude/memory/coda_memory.md", "/srv/{project}.md")


def test_names_of_other_systems_are_asked_last(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    env = {
        "RECOLLECT_CONFIG": str(file),
        "MEMORY_API_KEY": "one-of-many",
        "API_KEY": "another",
        "REDIS_URL": "redis://a",
    }
    loaded = load({**env, "EMBEDDING_MODEL": "small"})
    chosen = loaded.settings
    assert (chosen.serve_api_key, chosen.redis_url, chosen.embedding_model) == ("one-of-many", "redis://a", "small")
    assert loaded.origins["serve_api_key"] == "MEMORY_API_KEY"
    file.write_text('serve_api_key = "from-the-file"')
    assert load(env).settings.serve_api_key == "from-the-file"
    assert load({**env, "RECOLLECT_SERVE_API_KEY": "ours"}).settings.serve_api_key == "ours"
    del env["MEMORY_API_KEY"]
    file.unlink()
    assert load(env).settings.serve_api_key == "another"
