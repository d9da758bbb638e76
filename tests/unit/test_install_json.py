"""Our entries go into a user's JSON and out again, and no other byte moves (P16), whatever its layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.install import jsonfile
from recollect.install.errors import BadSettings
from recollect.install.jsonfile import JsonFile, Place
from recollect.install.jsontext import Document

COMMAND = "/usr/bin/python3 -I -S /opt/recollect/hook.py /home/ann/.local/share/recollect claude"
GROUP = {"hooks": [{"type": "command", "command": COMMAND, "timeout": 5}]}
SERVER = {"type": "stdio", "command": "/usr/bin/python3", "args": ["-P", "-m", "recollect", "mcp"], "env": {}}
THEIRS = {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hook.py", "timeout": 60}]}
FILE = JsonFile(
    Path("/home/ann/.claude/settings.json"),
    hooks={"SessionStart": GROUP, "Stop": GROUP},
    servers="mcpServers",
    server=SERVER,
)
FLAT = JsonFile(
    Path("/home/ann/.cursor/hooks.json"), hooks={"stop": {"command": COMMAND, "timeout": 5}}, base={"version": 1}
)


def put_in(text: str | None, wanted: JsonFile = FILE) -> tuple[str, set[Place]]:
    merged = jsonfile.merge(wanted, text, None)
    return merged.text, merged.created


def value(text: str) -> Any:
    return Document(text).value


LAYOUTS = {
    "nothing": "",
    "a line": "\n",
    "blanks": " \t\r\n ",
    "mark alone": "\ufeff",
    "empty": "{}",
    "empty, ended": "{}\n",
    "empty with a blank": "{ }",
    "empty on two lines": "{\n}\n",
    "empty, indented": "  {\n\t}",
    "one line": '{"a":1}',
    "one line with blanks": '{ "a" : 1 , "b" : [ ] }',
    "two blanks": '{\n  "a": 1,\n  "b": {}\n}\n',
    "four blanks": '{\n    "a": [\n        1\n    ]\n}',
    "tabs": '{\n\t"a": {\n\t\t"b": 2\n\t}\n}\n',
    "no indent": '{\n"a": 1\n}',
    "CRLF": '{\r\n  "a": 1\r\n}\r\n',
    "mixed ends": '{\r\n  "a": 1,\n  "b": 2\r}',
    "mark": '\ufeff{\n  "a": 1\n}\n',
    "comments": '// mine\n{\n  // first\n  "a": 1, // one\n  /* last */\n}\n// end',
    "comment at the end of the last line": '{\n  "a": 1 // one\n}',
    "comment in an empty one": "{ // nothing here\n}",
    "trailing comma": '{\n  "a": [1, 2,],\n}',
    "trailing comma on one line": '{"a": 1,}',
    "comment before the comma": '{"a": 1 /* one */ , /* no more */ }',
    "what looks like a comment": '{"a": "// no", "b": "/* no */", "c": ",}"}',
    "own hooks": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  }\n}\n',
    "own hooks on one line": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    "no hooks yet": '{"hooks": {}, "mcpServers": {}}',
    "an empty list": '{\n  "hooks": {\n    "Stop": [],\n    "Other": [ ]\n  }\n}',
    "own server": '{"mcpServers": {"other": {"command": "x"}}}',
    "the same name twice": '{"hooks": {"Stop": []}, "hooks": {"Stop": [1]}, "a": 1, "a": 2}',
    "large and odd numbers": '{"a": 123456789012345678901234567890, "b": 1e999, "c": -0.0, "d": 1.10}',
    "escapes": '{"\\u0061\\/": "\\ud800 \\n", "ключ": "日本 🎉"}',
}


@pytest.mark.parametrize("wanted", [FILE, FLAT], ids=["groups", "flat"])
@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_in_and_out_again_gives_the_very_same_text(text: str, wanted: JsonFile) -> None:
    new, created = put_in(text, wanted)
    assert jsonfile.has_ours(wanted, new)
    assert put_in(new, wanted)[0] == new
    assert jsonfile.strip(wanted, new, created) == text


@pytest.mark.parametrize("wanted", [FILE, FLAT], ids=["groups", "flat"])
def test_a_file_that_was_not_there_is_empty_again(wanted: JsonFile) -> None:
    new, created = put_in(None, wanted)
    assert new.endswith("}\n")
    assert json.loads(new).keys() >= wanted.base.keys()
    assert jsonfile.strip(wanted, new, created).strip() == ""


def test_what_is_put_in_looks_like_the_rest() -> None:
    new, _ = put_in('{\n\t"model": "opus" // mine\n}\n', JsonFile(Path("x"), hooks={"Stop": GROUP}))
    assert new == (
        '{\n\t"model": "opus", // mine\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n'
        f'\t\t\t\t\t\t"type": "command",\n\t\t\t\t\t\t"command": "{COMMAND}",\n\t\t\t\t\t\t"timeout": 5\n'
        "\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}\n"
    )


# -- any layout at all -------------------------------------------------------------------------------------------------

GAPS = st.lists(
    st.sampled_from([" ", "\t", "\n", "\r\n", "\n    ", "/**/", "/* , ] } */", '// "x": {\n', "// \r\n"]), max_size=3
).map("".join)
WORDS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["hooks", "mcpServers", "Stop", "recollect", "// x", "/*", ",]", '"', "\\"]
)
NUMBERS = st.sampled_from(["0", "-1", "1.50", "1e9", "2E-3", "98765432109876543210987654321"])


@st.composite
def texts(draw: st.DrawFn, inner: st.SearchStrategy[str], kind: str) -> str:
    """An object or a list of these, with anything that may stand between."""
    gap = lambda: draw(GAPS)  # noqa: E731
    items = draw(st.lists(inner, max_size=3))
    if kind == "{":
        items = [f"{json.dumps(draw(WORDS))}{gap()}:{gap()}{item}" for item in items]
    body = ",".join(f"{gap()}{item}{gap()}" for item in items)
    comma = f",{gap()}" if items and draw(st.booleans()) else ""
    return f"{kind}{body or gap()}{comma}{'}' if kind == '{' else ']'}"


VALUES = st.recursive(
    NUMBERS | WORDS.map(json.dumps) | st.sampled_from(["true", "null", json.dumps(THEIRS)]),
    lambda inner: texts(inner, "{") | texts(inner, "["),
    max_leaves=8,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """What a user's settings may look like: often with hooks and servers of theirs."""
    gap = lambda: draw(GAPS)  # noqa: E731
    members = [
        f"{json.dumps(draw(WORDS.filter(_other)))}{gap()}:{gap()}{draw(VALUES)}" for _ in range(draw(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        events = draw(texts(texts(st.just(json.dumps(THEIRS)) | VALUES, "["), "{").filter(_is_hooks))
        members.insert(draw(st.integers(0, len(members))), f'"hooks"{gap()}:{gap()}{events}')
    if draw(st.booleans()):
        servers = draw(texts(texts(VALUES, "{"), "{").filter(lambda text: "recollect" not in value(text)))
        members.insert(draw(st.integers(0, len(members))), f'"mcpServers"{gap()}:{gap()}{servers}')
    body = ",".join(f"{gap()}{member}{gap()}" for member in members)
    comma = f",{gap()}" if members and draw(st.booleans()) else ""
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return f"{mark}{gap()}{{{body or gap()}{comma}}}{gap()}"


def _other(word: str) -> bool:
    return word not in ("hooks", "mcpServers")


def _is_hooks(text: str) -> bool:
    return all(isinstance(entries, list) for entries in value(text).values())


def without_ours(found: Any) -> Any:
    """The value without what we put in, and without what was made to hold it."""
    rest = {key: item for key, item in found.items() if key not in ("hooks", "mcpServers")}
    hooks = {event: [one for one in entries if one != GROUP] for event, entries in found.get("hooks", {}).items()}
    servers = {name: one for name, one in found.get("mcpServers", {}).items() if name != "recollect"}
    return rest, {event: entries for event, entries in hooks.items() if entries}, servers


@settings(max_examples=150)
@given(documents())
@example('{"hooks":{"":[]},}')
@example('{"hooks":{"Stop":[1],"Stop":[]}}')
def test_any_layout_comes_back_as_it_was(text: str) -> None:
    """P16, as a property."""
    new, created = put_in(text)
    assert without_ours(value(new)) == without_ours(value(text))
    assert put_in(new)[0] == new
    assert jsonfile.strip(FILE, new, created) == text
    unknown = jsonfile.strip(FILE, new, jsonfile.guessed(FILE, new) - {()})
    assert without_ours(value(unknown)) == without_ours(value(text))


def _add_member(document: Document) -> Document:
    return document.append((), {"x": [1]}, "theirs")


def _add_hook(document: Document) -> Document:
    return document.append(("hooks", "Stop"), THEIRS)


def _add_event(document: Document) -> Document:
    return document.append(("hooks",), [THEIRS], "PreToolUse")


def _add_server(document: Document) -> Document:
    return document.append(("mcpServers",), {"command": "x"}, "theirs")


EDITS = (_add_member, _add_hook, _add_event, _add_server)


@settings(max_examples=100)
@given(documents(), st.lists(st.sampled_from(EDITS), min_size=1, max_size=3))
def test_what_the_user_did_in_between_stays(text: str, edits: list[Callable[[Document], Document]]) -> None:
    new, created = put_in(text)
    changed = Document(new)
    for edit in edits:
        changed = edit(changed)
    left = jsonfile.strip(FILE, changed.text, created)
    assert not jsonfile.has_ours(FILE, left)
    assert without_ours(value(left)) == without_ours(changed.value)


# -- beside the user's own ---------------------------------------------------------------------------------------------


def test_ours_come_after_theirs_and_theirs_keep_their_places() -> None:
    """Codex knows a trusted hook by its place in the list."""
    text = json.dumps({"hooks": {"Stop": [THEIRS, THEIRS]}})
    new, created = put_in(text)
    assert value(new)["hooks"]["Stop"] == [THEIRS, THEIRS, GROUP]
    added = Document(new).append(("hooks", "Stop"), THEIRS).text
    assert value(jsonfile.strip(FILE, added, created)) == {"hooks": {"Stop": [THEIRS] * 3}}


def test_another_version_is_renewed_in_its_place() -> None:
    old = json.dumps({"type": "command", "command": COMMAND.replace("/usr/bin/python3", "/old/python"), "timeout": 3})
    text = '{"hooks": {"Stop": [{"matcher": "*", "hooks": [' + old + ', {"command": "x"}]}, {"hooks": [' + old + "]}]}}"
    new, _ = put_in(text, JsonFile(Path("x"), hooks={"Stop": GROUP}))
    assert value(new)["hooks"]["Stop"] == [{"matcher": "*", "hooks": [GROUP["hooks"][0], {"command": "x"}]}]


def test_an_event_that_is_not_wanted_any_more_goes() -> None:
    new, created = put_in(None)
    fewer = JsonFile(FILE.path, hooks={"Stop": GROUP}, servers="mcpServers", server=SERVER)
    less = jsonfile.merge(fewer, new, created)
    assert value(less.text)["hooks"] == {"SessionStart": [], "Stop": [GROUP]}
    assert jsonfile.strip(fewer, less.text, less.created).strip() == ""


def test_a_hook_of_ours_in_a_group_of_theirs_goes_alone() -> None:
    group = {"hooks": [{"command": "a"}, GROUP["hooks"][0], {"command": "b"}]}
    text = json.dumps({"hooks": {"Stop": [group]}}, indent=1)
    assert value(jsonfile.strip(FILE, text, set())) == {
        "hooks": {"Stop": [{"hooks": [{"command": "a"}, {"command": "b"}]}]}
    }


def test_what_the_user_added_to_our_server_stays_when_it_is_renewed() -> None:
    old = {**SERVER, "command": "/old/python", "env": {"RECOLLECT_USER": "ann"}, "timeout": 9}
    new, _ = put_in(json.dumps({"mcpServers": {"recollect": old}}))
    assert value(new)["mcpServers"]["recollect"] == {**old, "command": "/usr/bin/python3"}


def test_a_server_of_this_name_that_is_not_ours_stays() -> None:
    text = json.dumps({"mcpServers": {"recollect": {"command": "recollect", "args": ["mcp"]}}})
    merged = jsonfile.merge(FILE, text, None)
    assert value(merged.text)["mcpServers"] == value(text)["mcpServers"]
    assert "not ours" in merged.notes[0]
    assert value(jsonfile.strip(FILE, merged.text, merged.created)) == value(text)


@pytest.mark.parametrize(
    "command",
    [
        "echo hook.py",
        "python3 hook.py",
        "/usr/bin/python3 -I -S /opt/other/hook.py /d claude",
        "/usr/bin/python3 -I -S /opt/recollect/hook.py /d claude extra",
        "recollect hook claude",
        "'unclosed /opt/recollect/hook.py",
        ["/opt/recollect/hook.py"],
        None,
        5,
    ],
    ids=range(9),
)
def test_a_command_that_only_looks_like_ours_is_theirs(command: object) -> None:
    text = json.dumps({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}, {"command": command}]}})
    assert not jsonfile.has_ours(FILE, text)
    assert jsonfile.strip(FILE, text, jsonfile.guessed(FILE, text)) == text


# -- what cannot be edited ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1',
        '{"a": 1}}',
        '{"a": 1} {"b": 2}',
        '{"a" 1}',
        "{'a': 1}",
        "{a: 1}",
        '{"a": NaN}',
        '{"a": 01}',
        '{"a": "\n"}',
        '{"a": 1,,}',
        "{,}",
        '{"a": /* 1}',
        '{"a": 1 / 2}',
        "[" * 100_000,
        "\x00",
        "<xml/>",
    ],
    ids=range(17),
)
def test_what_is_not_json_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadSettings, match=r"settings\.json is not valid JSON"):
        put_in(text)


@pytest.mark.parametrize(
    "text",
    ["[]", '"x"', "5", "null", '{"hooks": []}', '{"hooks": null}', '{"hooks": {"Stop": {}}}', '{"mcpServers": [1]}'],
)
def test_what_has_another_shape_is_refused(text: str) -> None:
    with pytest.raises(BadSettings, match=r"settings\.json"):
        put_in(text)


def test_a_file_of_megabytes_takes_a_moment() -> None:
    """Claude Code keeps the history of every project in one file."""
    projects = {f"/home/ann/p{n}": {"history": ["x" * 500] * 10, "mcpServers": {}} for n in range(2_000)}
    text = json.dumps({"numStartups": 5, "projects": projects}, indent=2)
    assert len(text) > 10_000_000
    wanted = JsonFile(Path("/home/ann/.claude.json"), servers="mcpServers", server=SERVER)
    new, created = put_in(text, wanted)
    assert len(new) < len(text) + 1_000
    assert jsonfile.strip(wanted, new, created) == text
