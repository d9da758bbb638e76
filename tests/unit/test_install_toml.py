"""Our table goes into a user's TOML and out again, and no other byte moves (P16), also after its agent wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.install import tomlfile
from recollect.install.errors import BadSettings
from recollect.install.tomlfile import MARK, TomlFile

FILE = TomlFile(
    Path("/home/ann/.codex/config.toml"),
    {
        "command": '"/usr/bin/python3"',
        "args": '["-P", "-m", "recollect", "mcp"]',
        "env": '{ RECOLLECT_DATA_DIR = "/d" }',
    },
)
OURS = tomllib.loads("\n".join(f"{key} = {value}" for key, value in FILE.server.items()))


def put_in(text: str | None) -> str:
    return tomlfile.add(FILE, text).text


LAYOUTS = {
    "nothing": "",
    "a line": "\n",
    "lines": "\n\n\n",
    "a blank": " ",
    "mark alone": "\ufeff",
    "keys": 'model = "gpt"\n',
    "no end": 'model = "gpt"',
    "comment without an end": "# mine",
    "CRLF": 'model = "gpt"\r\n\r\n[tui]\r\nx = 1\r\n',
    "CRLF without an end": 'model = "gpt"\r\nx = 1',
    "mark": '\ufeffmodel = "gpt"\n',
    "tables": "[tui]\nx = 1\n\n\n# about servers\n[mcp_servers.other]\ncommand = 'x'\n\n",
    "dotted": 'mcp_servers.other.command = "x"\n',
    "lists of lists": "x = [\n  [1, 2],\n  [3],\n]\n",
    "text that looks like ours": 'x = """\n[mcp_servers.recollect]\ncommand = "x"\n"""\n',
    "not a number": "x = nan\ny = inf\n",
    "unicode": '"ключ" = "日本 🎉"\n',
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_in_and_out_again_gives_the_very_same_text(text: str) -> None:
    new = put_in(text)
    assert tomllib.loads(new.removeprefix("\ufeff"))["mcp_servers"]["recollect"] == OURS
    assert put_in(new) == new
    assert tomlfile.take_out(FILE, new) == text


def test_a_file_that_was_not_there_is_empty_again() -> None:
    new = put_in(None)
    assert new.startswith(MARK)
    assert tomlfile.take_out(FILE, new) == ""


LINES = st.sampled_from(
    ["", "# c", "a = 1", 'b = "# [x]"', "[t]", "[[l]]", "[t.u]", "c = [", "  [1],", "]", "  ", "d = '''", "'''", "\t"]
)


@settings(max_examples=300)
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_layout_comes_back_as_it_was(lines: list[str], eol: str, ended: bool) -> None:
    text = eol.join(lines) + (eol if ended else "")
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(BadSettings, match=r"config\.toml is not valid TOML"):
            put_in(text)
        return
    new = put_in(text)
    after = tomllib.loads(new)
    assert after.pop("mcp_servers") == {"recollect": OURS}
    assert after == before
    assert tomlfile.take_out(FILE, new) == text


def test_what_stands_behind_ours_stays() -> None:
    new = put_in('model = "gpt"\n') + "\n# mine\n[tui]\nx = 1\n"
    assert tomlfile.take_out(FILE, new) == 'model = "gpt"\n\n# mine\n[tui]\nx = 1\n'


@pytest.mark.parametrize("behind", ["\n[tui]\n", "[tui]\n", "# mine\n[tui]\n"])
def test_what_was_put_behind_a_line_that_had_no_end_stays_a_line(behind: str) -> None:
    left = tomlfile.take_out(FILE, put_in("x = 1") + behind)
    assert tomllib.loads(left) == {"x": 1, "tui": {}}
    assert left.endswith(behind)


def test_what_the_agent_noted_about_our_server_goes_with_it() -> None:
    """Codex writes down which tools a user allowed; without the server such a table would be an error."""
    noted = '\n[mcp_servers.recollect.tools.memory_search]\napproval_mode = "approve"\n'
    trust = '\n[hooks.state."/home/ann/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:1"\n'
    assert tomlfile.take_out(FILE, put_in("x = 1\n") + noted + trust) == "x = 1\n" + trust


def test_our_table_in_another_layout_is_found_too() -> None:
    """As an agent or its user may write it again: keys over several lines, or behind a comment."""
    args = 'args = [\n  "-P", "-m",\n  "recollect",\n  "mcp",\n]\n'
    ours = f'{MARK}\n[mcp_servers.recollect]\nenabled = false\ncommand = "/p"\n{args}# slow\nstartup_timeout_sec = 30\n'
    assert tomlfile.take_out(FILE, f"x = 1\n\n{ours}\n# mine\n[tui]\ny = 2\n") == "x = 1\n\n# mine\n[tui]\ny = 2\n"


def test_another_version_is_renewed_in_its_place_and_what_was_added_stays() -> None:
    text = put_in("x = 1\n").replace("/usr/bin/python3", "/old/python").replace("\nargs", "\nenabled = false\nargs")
    text += "\n[tui]\nx = 1\n"
    new = put_in(text)
    assert new == text.replace("/old/python", "/usr/bin/python3")
    assert tomlfile.take_out(FILE, new) == "x = 1\n\n[tui]\nx = 1\n"


def test_what_the_user_added_to_the_environment_stays() -> None:
    text = put_in("").replace('{ RECOLLECT_DATA_DIR = "/d" }', '{ RECOLLECT_DATA_DIR = "/d", RECOLLECT_USER = "ann" }')
    assert put_in(text) == text


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers.recollect]\ncommand = "recollect"\nargs = ["mcp"]\n',
        '[mcp_servers.recollect]\ncommand = "/usr/bin/python3"\nargs = ["-P", "-m", "recollect", "mcp"]\n',
        '[mcp_servers]\nrecollect = { command = "x" }\n',
        'mcp_servers = { recollect = { command = "x" } }\n',
    ],
    ids=["by hand", "by hand, the same", "inline", "all inline"],
)
def test_a_server_of_this_name_that_is_not_ours_stays(text: str) -> None:
    added = tomlfile.add(FILE, text)
    assert added.text == text
    assert "not ours" in added.notes[0]
    assert tomlfile.take_out(FILE, text) == text


@pytest.mark.parametrize(
    "text", ["mcp_servers = { other = { command = 'x' } }\n", "mcp_servers = 5\n", "[[mcp_servers]]\n"]
)
def test_where_no_table_can_be_added_it_is_refused(text: str) -> None:
    with pytest.raises(BadSettings, match=r"config\.toml is laid out"):
        put_in(text)


@pytest.mark.parametrize("text", ["x = ", "[x\n", "x = 1\nx = 2\n", "\x00", "{}", "a = [1,\n"])
def test_what_is_not_toml_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadSettings, match=r"config\.toml is not valid TOML"):
        put_in(text)
    with pytest.raises(BadSettings, match=r"config\.toml is not valid TOML"):
        tomlfile.take_out(FILE, text + MARK)
