"""`recollect doctor`: sees what is wrong, says what to do, and with --repair saves what a damaged file still holds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import onnxruntime
import pytest

from recollect import Recollect, Scope
from recollect.model import os_user
from recollect.models.minilm import MiniLM
from tests.flow.conftest import Cli, Ran

PAGE = 4096
Damage = Callable[[bytearray], None]


@pytest.fixture
def data(tmp_path: Path, cli: Cli) -> Path:
    """A store of two users: 240 events, 80 memories with a version, a supersession and something forgotten."""
    folder = tmp_path / "data"
    with Recollect.open(folder, scope=Scope("local", os_user()), background=False) as memory:
        for session in range(4):
            said = [
                (
                    f"claude:s{session}",
                    "user" if n % 2 == 0 else "assistant",
                    f"word{session}x{n} " * 30,
                    1_700_000_000 + n,
                )
                for n in range(60)
            ]
            memory.record_many(said)
            memory.summarize(f"claude:s{session}")
        kept = [memory.remember(f"Fact number {n} of the harbour", kind="fact") for n in range(80)]
        memory.update(kept[3].id, content="Fact three, reworded")
        memory.supersede(kept[4].id, "Fact four, said anew")
        memory.forget(kept[5].id)
    with Recollect.open(folder, scope=Scope("local", "ann", "hers"), background=False) as memory:
        memory.remember("Only Ann knows this")
    return folder


def doctor(cli: Cli, data: Path, *flags: str) -> tuple[Ran, dict[str, dict[str, str]]]:
    ran = cli("doctor", "--json", "--data-dir", str(data), *flags)
    return ran, {finding["name"]: finding for finding in ran.json["findings"]}


def exported(cli: Cli, data: Path, *flags: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"session": [], "event": [], "gist": [], "memory": []}
    for line in cli("export", "--data-dir", str(data), *flags).out.splitlines()[1:]:
        found[json.loads(line)["type"]].append(line)
    return found


def damage(data: Path, how: Damage) -> bytes:
    file = data / "recollect.db"
    content = bytearray(file.read_bytes())
    how(content)
    file.write_bytes(content)
    return bytes(content)


def zero(*pages: int) -> Damage:
    def how(content: bytearray) -> None:
        for page in pages:
            content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)

    return how


def flip(count: int) -> Damage:
    def how(content: bytearray) -> None:
        chosen = random.Random(count)
        for _ in range(count):
            content[chosen.randrange(PAGE, len(content))] ^= 1 << chosen.randrange(8)

    return how


def cut(content: bytearray) -> None:
    del content[len(content) // 2 // PAGE * PAGE :]


def root_of(data: Path, table: str) -> int:
    connection = apsw.Connection(str(data / "recollect.db"))
    page = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    connection.close()
    return int(page)


def test_a_healthy_store_is_well(cli: Cli, data: Path) -> None:
    ran, found = doctor(cli, data, "--deep")
    assert ran.code == 0
    assert ran.json["ok"] is True
    assert {finding["state"] for finding in found.values()} == {"ok", "note"}
    assert "journal wal" in found["SQLite"]["text"]
    assert "texts wait for a vector" in found["waiting"]["text"]
    text = cli("doctor", "--data-dir", str(data)).out
    assert text.endswith("All is well.\n")


def test_before_anything_is_kept_nothing_is_made(cli: Cli, tmp_path: Path) -> None:
    ran, found = doctor(cli, tmp_path / "nowhere", "--repair")
    assert ran.code == 0
    assert found["database"]["state"] == "note"
    assert not (tmp_path / "nowhere").exists()


def test_a_data_directory_that_cannot_be_made_is_found(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for place in (Path("/proc/nope/data"), tmp_path / "file" / "data"):
        ran, found = doctor(cli, place)
        assert ran.code == 1
        assert found["data directory"]["text"].startswith(f"{place} cannot be made: ")
        assert "data_dir" in found["data directory"]["todo"]
    assert "All is well" not in cli("doctor", "--data-dir", str(tmp_path / "file" / "data")).out


@pytest.mark.parametrize("verb", ["serve", "worker"])
def test_settings_that_are_not_where_they_are_said_to_be_are_found(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """A service would start with a memory that is not its own; whoever asks by hand is told by doctor."""
    file = tmp_path / "config.toml"
    monkeypatch.setenv("RECOLLECT_CONFIG", str(file))
    ran = cli("doctor", "--data-dir", str(tmp_path / "none"))
    assert ran.code == 1
    assert f"RECOLLECT_CONFIG names {file}, which is not there" in " ".join(ran.out.split())
    refused = cli(verb, "--data-dir", str(tmp_path / "none"))
    assert refused.code == 2
    assert "which is not there" in refused.err
    cli("config", "set", "recall_limit", "7")
    assert "RECOLLECT_CONFIG" not in cli("doctor", "--data-dir", str(tmp_path / "none")).out


def test_open_permissions_are_found(cli: Cli, data: Path) -> None:
    data.chmod(0o755)
    ran, found = doctor(cli, data)
    assert ran.code == 1
    assert found["data directory"]["todo"] == f"chmod 700 {data}"


def test_a_damaged_model_is_found(cli: Cli, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.models import weights

    for file in weights.FILES:
        with (tmp_path / file.name).open("wb") as made:
            made.truncate(file.size)
    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(tmp_path))
    ran, found = doctor(cli, data)
    assert ran.code == 1
    assert "model install" in found["embedder"]["todo"]


@pytest.mark.parametrize("quick", ["on", "off"])
def test_the_model_is_tried_and_how_questions_are_embedded_is_said(
    cli: Cli, data: Path, minilm_dir: Path, monkeypatch: pytest.MonkeyPatch, quick: str
) -> None:
    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    monkeypatch.setenv("RECOLLECT_QUICK_QUESTIONS", quick)
    model = MiniLM(minilm_dir)
    _, found = doctor(cli, data)
    assert found["embedder"]["state"] == "ok"
    text = found["embedder"]["text"]
    if quick == "off":
        assert "exactly, as `quick_questions` is set" in text
    elif model.questions() is model:
        assert "exactly, as this processor needs it" in text
    else:
        assert "8 bits" in text


def test_a_model_that_cannot_be_loaded_is_found(
    cli: Cli, data: Path, minilm_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError("this runtime is too old for that model")

    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    monkeypatch.setattr(onnxruntime, "InferenceSession", broken)
    ran, found = doctor(cli, data)
    assert ran.code == 1
    assert "onnxruntime" in found["embedder"]["todo"]


def test_vectors_of_another_model_are_found(
    cli: Cli, data: Path, minilm_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.models.tiny import TinyEmbedder

    with Recollect.open(data, embedder=TinyEmbedder(), background=False) as memory:
        memory.embed_pending()
    monkeypatch.setenv("RECOLLECT_MODEL_DIR", str(minilm_dir))
    ran, found = doctor(cli, data)
    assert ran.code == 1
    assert "recollect reembed" in found["vectors"]["todo"]


def test_an_index_that_lost_its_entries_is_made_again(cli: Cli, data: Path) -> None:
    connection = apsw.Connection(str(data / "recollect.db"))
    connection.execute("INSERT INTO memory_fts (memory_fts) VALUES ('delete-all')")
    connection.close()
    words = ("recall", "harbour", "--mode", "lexical", "--data-dir", str(data), "--all-projects")
    assert "Nothing recalled" in cli(*words).out
    ran, found = doctor(cli, data, "--repair")
    assert ran.code == 0
    assert "made again" in found["repair"]["text"]
    assert "harbour" in cli(*words).out
    assert not list(data.glob("*quarantine*"))


def test_a_text_changed_from_outside_is_found(cli: Cli, data: Path) -> None:
    connection = apsw.Connection(str(data / "recollect.db"))
    connection.execute("UPDATE memories SET content = 'forged' WHERE row = 7")
    connection.close()
    ran, found = doctor(cli, data, "--deep")
    assert ran.code == 1
    assert "changed from outside" in found["memory hashes"]["text"]
    assert doctor(cli, data)[0].code == 0  # only --deep looks
    repaired, found = doctor(cli, data, "--repair")
    assert repaired.code == 0
    assert "1 rows" in found["not saved"]["text"]
    assert not any("forged" in line for line in exported(cli, data)["memory"])


HARMS: dict[str, tuple[Damage, float]] = {  # what is done, and the least share of the rows that must come back
    "header": (zero(1), 1.0),
    "one page in the middle": (zero(80), 0.9),
    "three pages": (zero(50, 75, 90), 0.8),
    "50 bits": (flip(50), 0.8),
    "400 bits": (flip(400), 0.4),
    "half cut off": (cut, 0.0),
}


@pytest.mark.parametrize(("how", "least"), HARMS.values(), ids=HARMS)
def test_what_can_be_read_of_a_damaged_file_is_saved(cli: Cli, data: Path, how: Damage, least: float) -> None:
    before, hers = exported(cli, data), exported(cli, data, "--user", "ann")
    broken = damage(data, how)
    ran, found = doctor(cli, data, "--repair")
    assert ran.code == 0, ran.out
    (aside,) = data.glob("recollect.db.quarantine-*Z")
    assert aside.read_bytes() == broken
    assert found["saved"]["state"] == "ok"
    after = exported(cli, data)
    for kind in ("event", "memory"):
        texts = {_said(line) for line in before[kind]}
        saved = {_said(line) for line in after[kind]}
        assert saved <= texts  # nothing that was not there before
        assert len(saved) >= least * len(texts)
    if least == 1.0:
        assert after == before
        assert exported(cli, data, "--user", "ann") == hers
    assert doctor(cli, data, "--deep")[0].code == 0
    assert {path.name for path in data.glob(".*")} == set()


def _said(line: str) -> str:
    record = json.loads(line)
    return str(record.get("text") or record.get("content"))


def test_rows_survive_the_loss_of_the_tree_above_them(cli: Cli, data: Path) -> None:
    before = exported(cli, data)
    damage(data, zero(1, root_of(data, "events"), root_of(data, "memories")))
    assert doctor(cli, data, "--repair")[0].code == 0
    assert exported(cli, data) == before


def test_a_long_text_is_followed_over_its_pages(cli: Cli, data: Path) -> None:
    with Recollect.open(data, scope=Scope("local", os_user()), background=False) as memory:
        memory.record("claude:long", "user", "".join(f"line {n}\n" for n in range(20_000)), 1_700_000_000)
        memory.remember("é" * 9_999)
    before = exported(cli, data)
    damage(data, zero(1))
    assert doctor(cli, data, "--repair")[0].code == 0
    assert exported(cli, data) == before


def test_names_survive_the_loss_of_their_table(cli: Cli, data: Path) -> None:
    before = exported(cli, data)
    damage(data, zero(root_of(data, "owners"), root_of(data, "projects"), root_of(data, "sessions")))
    assert doctor(cli, data, "--repair")[0].code == 0
    after = exported(cli, data)
    assert after["memory"] == before["memory"]
    assert {_said(line) for line in after["event"]} == {_said(line) for line in before["event"]}


def test_an_owner_whose_name_is_lost_is_kept_apart(cli: Cli, data: Path) -> None:
    damage(data, zero(root_of(data, "owners"), root_of(data, "sqlite_autoindex_owners_1")))
    assert doctor(cli, data, "--repair")[0].code == 0
    assert exported(cli, data)["memory"] == []
    lost = exported(cli, data, "--tenant", "recovered", "--user", "owner-1")
    assert len(lost["memory"]) == 80


def test_what_was_forgotten_stays_forgotten_after_a_repair(cli: Cli, data: Path) -> None:
    records = cli("export", "--data-dir", str(data)).out
    cli("forget", "--session", "claude:s2", "--yes", "--data-dir", str(data))
    damage(data, zero(1))
    assert doctor(cli, data, "--repair")[0].code == 0
    cli("import", "-", "--data-dir", str(data), stdin=records.encode())
    assert cli("sessions", "claude:s2", "--data-dir", str(data)).code == 1


@pytest.mark.parametrize("content", [b"this is no database " * 500, b"SQLite format 3\x00" + bytes(9000)])
def test_a_file_with_nothing_to_save_is_put_aside(cli: Cli, data: Path, content: bytes) -> None:
    damage(data, lambda old: old.__setitem__(slice(None), content))
    refused = cli("remember", "x", "--data-dir", str(data))
    assert refused.code == 1
    assert "doctor --repair" in refused.err
    assert doctor(cli, data)[0].code == 1
    assert (data / "recollect.db").read_bytes() == content
    assert doctor(cli, data, "--repair")[0].code == 0
    assert cli("remember", "x", "--data-dir", str(data)).code == 0
    (aside,) = data.glob("*quarantine*")
    assert aside.read_bytes() == content
