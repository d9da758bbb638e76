"""Anthropic's memory tool on a Recollect memory: the documented commands in the documented words, whatever is sent.

A model of it (a plain dict of files) is held against the tool through long random uses, on a data directory.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from recollect import Recollect, Scope
from recollect.errors import Conflict
from recollect.wrap import MemoryTool
from recollect.wrap.memorytool import MAX_VIEW_CHARS, Told
from recollect.wrap.shelf import Shelf

LISTING = "Here're the files and directories up to 2 levels deep in {}, excluding hidden items and node_modules:"


@pytest.fixture
def tool(memory: Recollect) -> MemoryTool:
    return MemoryTool(memory)


def create(tool: MemoryTool, path: str, text: str) -> Told:
    return tool.run({"command": "create", "path": path, "file_text": text})


def view(tool: MemoryTool, path: str, **more: Any) -> str:
    return tool.run({"command": "view", "path": path, **more}).text


# -- the documented answers --------------------------------------------------------------------------------------------


def test_a_file_is_created_and_viewed(tool: MemoryTool) -> None:
    assert create(tool, "/memories/notes.txt", "Hello World\nThis is line two") == Told(
        "File created successfully at: /memories/notes.txt"
    )
    assert view(tool, "/memories/notes.txt") == (
        "Here's the content of /memories/notes.txt with line numbers:\n     1\tHello World\n     2\tThis is line two"
    )
    assert view(tool, "/memories/notes.txt", view_range=[2, 2]).endswith("numbers:\n     2\tThis is line two")
    assert view(tool, "/memories/notes.txt", view_range=[2, -1]).endswith("numbers:\n     2\tThis is line two")


def test_a_folder_is_listed_two_levels_deep_with_sizes(tool: MemoryTool) -> None:
    assert view(tool, "/memories") == f"{LISTING.format('/memories')}\n0B\t/memories"
    create(tool, "/memories/big.md", "x" * 1_536)
    create(tool, "/memories/work/plan.md", "y" * 10)
    create(tool, "/memories/work/deep/far/below.md", "z" * 5)
    create(tool, "/memories/.hidden", "h")
    create(tool, "/memories/node_modules/x", "n")
    assert view(tool, "/memories").split("\n") == [
        LISTING.format("/memories"),
        "1.5K\t/memories",
        "1.5K\t/memories/big.md",
        "15B\t/memories/work/",
        "5B\t/memories/work/deep/",
        "10B\t/memories/work/plan.md",
    ]
    assert view(tool, "/memories/work/").split("\n")[1] == "15B\t/memories/work"


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "view of nothing": (
        {"command": "view", "path": "/memories/none"},
        "The path /memories/none does not exist. Please provide a valid path.",
    ),
    "create of what is there": (
        {"command": "create", "path": "/memories/a.txt", "file_text": "other"},
        "Error: File /memories/a.txt already exists",
    ),
    "create of a folder": (
        {"command": "create", "path": "/memories/folder", "file_text": "x"},
        "Error: File /memories/folder already exists",
    ),
    "create below a file": (
        {"command": "create", "path": "/memories/a.txt/b", "file_text": "x"},
        "Error: The path /memories/a.txt is a file, not a directory",
    ),
    "replace in nothing": (
        {"command": "str_replace", "path": "/memories/none", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/none does not exist. Please provide a valid path.",
    ),
    "replace in a folder": (
        {"command": "str_replace", "path": "/memories/folder", "old_str": "a", "new_str": "b"},
        "Error: The path /memories/folder does not exist. Please provide a valid path.",
    ),
    "replace of what is not there": (
        {"command": "str_replace", "path": "/memories/a.txt", "old_str": "zebra", "new_str": "b"},
        "No replacement was performed, old_str `zebra` did not appear verbatim in /memories/a.txt.",
    ),
    "replace of what is there twice": (
        {"command": "str_replace", "path": "/memories/a.txt", "old_str": "blue", "new_str": "b"},
        "No replacement was performed. Multiple occurrences of old_str `blue` in lines: 1, 3. "
        "Please ensure it is unique",
    ),
    "insert into nothing": (
        {"command": "insert", "path": "/memories/none", "insert_line": 0, "insert_text": "x"},
        "Error: The path /memories/none does not exist",
    ),
    "insert behind the end": (
        {"command": "insert", "path": "/memories/a.txt", "insert_line": 4, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: 4. It should be within the range of lines of the file: [0, 3]",
    ),
    "insert before the beginning": (
        {"command": "insert", "path": "/memories/a.txt", "insert_line": -1, "insert_text": "x"},
        "Error: Invalid `insert_line` parameter: -1. It should be within the range of lines of the file: [0, 3]",
    ),
    "delete of nothing": (
        {"command": "delete", "path": "/memories/none"},
        "Error: The path /memories/none does not exist",
    ),
    "delete of all": ({"command": "delete", "path": "/memories"}, "Error: The path /memories itself cannot be deleted"),
    "rename of nothing": (
        {"command": "rename", "old_path": "/memories/none", "new_path": "/memories/x"},
        "Error: The path /memories/none does not exist",
    ),
    "rename over a file": (
        {"command": "rename", "old_path": "/memories/a.txt", "new_path": "/memories/folder/b.txt"},
        "Error: The destination /memories/folder/b.txt already exists",
    ),
    "rename into itself": (
        {"command": "rename", "old_path": "/memories/folder", "new_path": "/memories/folder/in"},
        "Error: The path /memories/folder cannot be moved into itself",
    ),
}


@pytest.mark.parametrize(("given_", "told"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_done_is_told_in_the_documented_words(
    tool: MemoryTool, given_: dict[str, Any], told: str
) -> None:
    create(tool, "/memories/a.txt", "blue\ngreen\nblue\n")
    create(tool, "/memories/folder/b.txt", "x")
    before = view(tool, "/memories/a.txt"), view(tool, "/memories")
    assert tool.run(given_) == Told(told, is_error=True)
    assert (view(tool, "/memories/a.txt"), view(tool, "/memories")) == before


def test_text_is_replaced_and_shown_around(tool: MemoryTool) -> None:
    create(tool, "/memories/p.txt", "\n".join(f"line {n}" for n in range(1, 21)))
    told = tool.run(
        {"command": "str_replace", "path": "/memories/p.txt", "old_str": "line 10", "new_str": "ten\nand more"}
    )
    lines = told.text.split("\n")
    assert lines[0] == "The memory file has been edited."
    assert lines[5:7] == ["    10\tten", "    11\tand more"]
    assert (lines[1], lines[-1]) == ("     6\tline 6", "    15\tline 14")


@pytest.mark.parametrize(
    ("text", "at", "added", "after"),
    [
        ("a\nb\n", 0, "new\n", "new\na\nb\n"),
        ("a\nb\n", 1, "new\n", "a\nnew\nb\n"),
        ("a\nb\n", 2, "new\n", "a\nb\nnew\n"),
        ("a\nb", 2, "new", "a\nb\nnew"),
        ("a\nb", 1, "new", "a\nnew\nb"),
        ("", 0, "new\n", "new\n"),
        ("a", 1, "two\nlines\n", "a\ntwo\nlines\n"),
    ],
)
def test_text_is_inserted_after_a_line(tool: MemoryTool, text: str, at: int, added: str, after: str) -> None:
    create(tool, "/memories/t", text)
    told = tool.run({"command": "insert", "path": "/memories/t", "insert_line": at, "insert_text": added})
    assert told == Told("The file /memories/t has been edited.")
    numbered = view(tool, "/memories/t").split("\n")[1:]
    assert "\n".join(line[7:] for line in numbered) == after


def test_files_and_folders_are_renamed_and_deleted(tool: MemoryTool) -> None:
    create(tool, "/memories/drafts/one.md", "1")
    create(tool, "/memories/drafts/two.md", "2")
    rename = {"command": "rename", "old_path": "/memories/drafts", "new_path": "/memories/final/2026"}
    assert tool.run(rename).text == "Successfully renamed /memories/drafts to /memories/final/2026"
    assert view(tool, "/memories/final/2026/two.md").endswith("\n     1\t2")
    assert view(tool, "/memories/drafts").startswith("The path /memories/drafts does not exist")
    assert tool.run({"command": "delete", "path": "/memories/final"}).text == "Successfully deleted /memories/final"
    assert view(tool, "/memories") == f"{LISTING.format('/memories')}\n0B\t/memories"


# -- paths and other hostile input -------------------------------------------------------------------------------------

ESCAPES = (
    *("/etc/passwd", "memories/x", "/memoriesx", "/memories/../etc", "/memories/..", "/memories/./x", "/memories//x"),
    *(
        "/memories/a/../../x",
        "/memories/%2e%2e/x",
        "/memories/..%2fx",
        "/memories/a\\..\\x",
        "/memories/\x00",
        "..",
        "",
    ),
    *(
        "/memories/a\nb",
        "/memories/ x",
        "/memories/x ",
        "~/x",
        "file:///memories/x",
        "C:\\memories",
        "/memories/\ud800",
    ),
    *(
        "/memories/" + "x" * 300,
        "/memories" + "/d" * 9,
        "/memories/a\u2028b",
        "/MEMORIES/x",
        "/memories/%5c",
        "//memories/x",
    ),
)


@pytest.mark.parametrize("path", ESCAPES, ids=repr)
@pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete", "rename to", "rename from"])
def test_no_path_leads_elsewhere(tool: MemoryTool, path: str, command: str) -> None:
    create(tool, "/memories/here", "x")
    given_ = {"command": command.split()[0], "path": path, "file_text": "t", "old_str": "x", "new_str": "y"}
    given_ |= {"insert_line": 0, "insert_text": "t", "old_path": "/memories/here", "new_path": "/memories/there"}
    given_ |= {"rename to": {"new_path": path}, "rename from": {"old_path": path}}.get(command, {})
    told = tool.run(given_)
    assert told.is_error
    assert told.text.startswith("Error: ")
    assert view(tool, "/memories").endswith("1B\t/memories/here")


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.binary(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=12), inner, max_size=3)),
    max_leaves=6,
)
FIELDS = (
    "command",
    "path",
    "file_text",
    "old_str",
    "new_str",
    "insert_line",
    "insert_text",
    "old_path",
    "new_path",
    "view_range",
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given_=st.one_of(
        ANYTHING,
        st.dictionaries(
            st.sampled_from(FIELDS),
            st.one_of(
                ANYTHING, st.sampled_from(["view", "create", "insert", "delete", "rename", "/memories", "/memories/a"])
            ),
        ),
    )
)
def test_nothing_that_is_sent_raises(tool: MemoryTool, given_: Any) -> None:
    told = tool.run(given_)
    assert isinstance(told.text, str)
    assert told.text


def test_sizes_are_limited(tool: MemoryTool) -> None:
    told = create(tool, "/memories/big", "x" * 10_000)
    assert told.is_error
    assert "The limit is 9,9" in told.text
    create(tool, "/memories/fits", "x" * 9_900)
    grown = tool.run({"command": "insert", "path": "/memories/fits", "insert_line": 1, "insert_text": "y" * 500})
    assert grown.is_error
    assert len(view(tool, "/memories/fits")) < 10_100 < MAX_VIEW_CHARS
    many = create(tool, "/memories/lines", "\n" * 9_000)
    assert not many.is_error
    assert len(view(tool, "/memories/lines")) < MAX_VIEW_CHARS + 200
    assert view(tool, "/memories/lines", view_range=[8_999, 9_001]).count("\n") == 3


# -- kept in Recollect -------------------------------------------------------------------------------------------------


def test_what_the_model_wrote_is_recalled_as_quoted_words(memory: Recollect, tool: MemoryTool) -> None:
    create(tool, "/memories/customer.md", "The customer Okafor wants invoices in euros.")
    hit = memory.recall("which currency does customer Okafor want?").hits[0]
    assert "Okafor wants invoices in euros" in hit.content
    assert hit.content.startswith("/memories/customer.md")
    assert (hit.origin, hit.trust) == ("assistant", "quoted")


def test_what_it_edited_and_deleted_can_be_brought_back(memory: Recollect, tool: MemoryTool) -> None:
    create(tool, "/memories/a", "first words")
    kept = memory.memories()[0]
    tool.run({"command": "str_replace", "path": "/memories/a", "old_str": "first", "new_str": "other"})
    assert "first words" in memory.versions(kept.id)[0].content
    tool.run({"command": "delete", "path": "/memories/a"})
    assert memory.memories() == []
    memory.restore(kept.id)
    assert view(tool, "/memories/a").endswith("other words")


def test_files_with_the_same_words_stay_apart(memory: Recollect, tool: MemoryTool) -> None:
    for path in ("/memories/a", "/memories/A", "/memories/a.", "/memories/b/a", "/memories/a!"):
        create(tool, path, "The deploy day is Tuesday.")
    memory.remember("The deploy day is Friday.", kind="fact")
    assert view(tool, "/memories").count("26B\t") == 6  # the folder too
    assert view(tool, "/memories/A").endswith("     1\tThe deploy day is Tuesday.")


def test_secrets_do_not_stay_in_a_file(memory: Recollect, tool: MemoryTool) -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    told = create(tool, "/memories/login", f"use {token} to log in")
    assert told.text.startswith("File created successfully at: /memories/login")
    assert "taken out" in told.text
    assert token not in view(tool, "/memories/login")
    assert create(tool, f"/memories/{token}", "x").is_error
    assert token not in str([one.content for one in memory.memories()])


def test_scopes_projects_and_tools_have_trees_of_their_own(opened: Callable[..., Recollect]) -> None:
    tools = [
        MemoryTool(opened(Scope("local", "ann"))),
        MemoryTool(opened(Scope("local", "bob"))),
        MemoryTool(opened(Scope("local", "ann", "work"))),
        MemoryTool(opened(Scope("local", "ann")), "second"),
    ]
    for number, one in enumerate(tools):
        create(one, "/memories/whose", f"tree {number}")
    assert [view(one, "/memories/whose")[-6:] for one in tools] == [f"tree {number}" for number in range(4)]


def test_old_files_are_still_there_when_memories_are_put_away(memory: Recollect, tool: MemoryTool) -> None:
    create(tool, "/memories/old", "from long ago")
    memory.archive(memory.memories()[0].id)
    assert view(tool, "/memories/old").endswith("from long ago")


def test_a_call_that_is_made_again_is_answered_again(tool: MemoryTool) -> None:
    create(tool, "/memories/a", "one")
    block = {"type": "tool_use", "id": "toolu_1", "name": "memory"}
    block["input"] = {"command": "str_replace", "path": "/memories/a", "old_str": "one", "new_str": "one one"}  # type: ignore[assignment]
    first, again = tool.result(block), tool.result(block)
    assert first == again
    assert (first["type"], first["tool_use_id"], first["is_error"]) == ("tool_result", "toolu_1", False)
    assert view(tool, "/memories/a").endswith("\tone one")
    assert create(tool, "/memories/b", "same") == create(tool, "/memories/b", "same")
    assert tool.definition == {"type": "memory_20250818", "name": "memory"}


def test_two_that_edit_at_once_lose_nothing(opened: Callable[..., Recollect]) -> None:
    tools = [MemoryTool(opened()), MemoryTool(opened())]
    create(tools[0], "/memories/log", "begin\n")
    told: list[Told] = []

    def write(number: int) -> None:
        for step in range(8):
            line = {"command": "insert", "path": "/memories/log", "insert_line": 1, "insert_text": f"{number}.{step}\n"}
            told.append(tools[number].run(line))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = sum(not one.is_error for one in told)
    assert kept >= 8
    assert len(view(tools[0], "/memories/log").split("\n")) == 1 + 1 + kept + 1


def test_a_text_that_was_changed_since_it_was_read_is_not_overwritten(memory: Recollect) -> None:
    shelf = Shelf(memory, "papers")
    first = shelf.add("plan", "one")
    shelf.change(first, text="two")
    with pytest.raises(Conflict):
        shelf.change(first, text="three")
    with pytest.raises(Conflict):
        shelf.add("plan", "other words")
    assert [paper.text for paper in shelf.all()] == ["two"]


def test_a_folder_is_renamed_whole_although_a_file_in_it_changes_meanwhile(
    memory: Recollect, tool: MemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        create(tool, f"/memories/old/{name}.md", f"file {name}")
    update, meddled = memory.update, []

    def meddling(memory_id: str, **changes: Any) -> Any:
        if "/memories/new/b.md" in changes["content"] and not meddled:
            meddled.append(memory_id)
            tool.run({"command": "insert", "path": "/memories/old/b.md", "insert_line": 1, "insert_text": "more"})
        return update(memory_id, **changes)

    monkeypatch.setattr(memory, "update", meddling)
    told = tool.run({"command": "rename", "old_path": "/memories/old", "new_path": "/memories/new"})
    assert told == Told("Successfully renamed /memories/old to /memories/new")
    assert meddled
    names = [line.partition("\t")[2] for line in view(tool, "/memories").splitlines()[1:]]
    assert names == ["/memories", "/memories/new/", *(f"/memories/new/{name}.md" for name in "abc")]
    assert view(tool, "/memories/new/b.md").endswith("     1\tfile b\n     2\tmore")


def test_a_file_that_keeps_changing_stays_and_the_rest_of_its_folder_is_renamed(
    memory: Recollect, tool: MemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        create(tool, f"/memories/old/{name}.md", f"file {name}")
    update = memory.update

    def busy(memory_id: str, **changes: Any) -> Any:
        if "/memories/new/b.md" in changes["content"]:
            raise Conflict("changed meanwhile")
        return update(memory_id, **changes)

    monkeypatch.setattr(memory, "update", busy)
    told = tool.run({"command": "rename", "old_path": "/memories/old", "new_path": "/memories/new"})
    assert told.is_error
    assert "/memories/old/b.md" in told.text
    listed = view(tool, "/memories")
    assert all(path in listed for path in ("/memories/new/a.md", "/memories/new/c.md", "/memories/old/b.md"))


def test_a_store_in_trouble_is_told_and_not_raised(memory: Recollect, tool: MemoryTool) -> None:
    memory.store.close()
    told = tool.run({"command": "view", "path": "/memories"})
    assert told.is_error
    assert told.text.startswith("Error: The memory could not do that")


# -- the tool against a plain dict -------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "A", "a.txt", "d", "d/a", "d/b", "d/e/f", "a/x", "ä ö", "x-1", "x_1"])
LINES = st.lists(
    st.sampled_from(["", "one", "two", "same", "prefers tabs", "  in", "\ttab", "ünï ✓", "a\r"]), max_size=5
)
FILES = LINES.map("\n".join)


_trees = itertools.count()


class Tree(RuleBasedStateMachine):
    """Every command changes the tool as it changes a dict of files, and says no where a file system would."""

    def __init__(self, memory: Recollect) -> None:
        super().__init__()
        self.tool = MemoryTool(memory, f"tree-{next(_trees)}")
        self.files: dict[str, str] = {}

    def beneath(self, path: str) -> list[str]:
        return [name for name in self.files if name.startswith(f"{path}/")]

    def is_free(self, path: str) -> bool:
        above = ["/".join(path.split("/")[:depth]) for depth in range(3, path.count("/") + 1)]
        return path not in self.files and not self.beneath(path) and not any(one in self.files for one in above)

    def run_(self, command: str, **given_: Any) -> Told:
        return self.tool.run({"command": command, **given_})

    @rule(name=NAMES, text=FILES)
    def create(self, name: str, text: str) -> None:
        path = f"/memories/{name}"
        told = self.run_("create", path=path, file_text=text)
        if self.is_free(path):
            self.files[path] = text
        assert told.is_error == (self.files.get(path) != text)

    @rule(name=NAMES, old=st.sampled_from(["one", "same", "two\n", "tabs", "ï"]), new=FILES)
    def replace(self, name: str, old: str, new: str) -> None:
        path = f"/memories/{name}"
        told = self.run_("str_replace", path=path, old_str=old, new_str=new)
        fits = self.files.get(path, "").count(old) == 1
        assert told.is_error != fits
        if fits:
            self.files[path] = self.files[path].replace(old, new)

    @rule(name=NAMES, at=st.integers(-1, 6), text=FILES)
    def insert(self, name: str, at: int, text: str) -> None:
        path = f"/memories/{name}"
        told = self.run_("insert", path=path, insert_line=at, insert_text=f"{text}\n")
        lines = self.files[path].removesuffix("\n").split("\n") if self.files.get(path) else []
        fits = path in self.files and 0 <= at <= len(lines)
        assert told.is_error != fits
        if fits:
            ends = self.files[path].endswith("\n") or at == len(lines)
            self.files[path] = "\n".join([*lines[:at], text, *lines[at:]]) + ("\n" if ends else "")

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        path = f"/memories/{name}"
        told = self.run_("delete", path=path)
        doomed = [path] if path in self.files else self.beneath(path)
        assert told.is_error != bool(doomed)
        for one in doomed:
            del self.files[one]

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        source, target = f"/memories/{old}", f"/memories/{new}"
        told = self.run_("rename", old_path=source, new_path=target)
        moved = [source] if source in self.files else self.beneath(source)
        fits = bool(moved) and self.is_free(target) and not target.startswith(f"{source}/")
        assert told.is_error != fits
        if fits:
            for one in moved:
                self.files[target + one.removeprefix(source)] = self.files.pop(one)

    @invariant()
    def every_file_reads_as_it_was_written(self) -> None:
        for path, text in self.files.items():
            shown = self.run_("view", path=path).text.split("\n", 1)[1]
            assert "\n".join(line[7:] for line in shown.split("\n")) == text

    @invariant()
    def the_listing_has_each_of_them(self) -> None:
        rows = self.run_("view", path="/memories").text.split("\n")[2:]
        shown = {row.split("\t", 1)[1] for row in rows if not row.endswith("/")}
        assert shown == {path for path in self.files if path.count("/") <= 3}


def test_the_tree_is_what_a_dict_of_files_would_be(memory: Recollect) -> None:
    run_state_machine_as_test(
        lambda: Tree(memory),
        settings=settings(max_examples=25, stateful_step_count=20, deadline=None, derandomize=True, database=None),
    )
