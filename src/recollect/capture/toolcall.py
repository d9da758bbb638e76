"""A tool call in our words: which kind of work it is, what it was asked to do in one text, and which files it touches.

Every agent names its tools differently; what the digest and the patterns compare is the `action`. The text of a call is
its telling argument (the command, the path, the query), so that calls can be searched and read; the other arguments
stand in `input`.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from recollect.capture.shell import is_test as is_test

_NAMES = {
    "shell": "bash exec exec_command shell shell_command local_shell local_shell_call run_terminal_command "
    "run_terminal_cmd run_shell_command execute terminal run_command write_stdin bashoutput killshell "
    "killbash container.exec unified_exec get_command_or_subagent_output kill_command_or_subagent monitor "
    "powershell exec_shell run_in_terminal command",
    "edit": "edit multiedit write notebookedit apply_patch applypatch search_replace replace write_file writefile "
    "str_replace_editor str_replace create_file create edit_file strreplace strreplacefile patch insert "
    "delete_file delete update_file edit_notebook str_replace_based_edit_tool",
    "read": "read read_file readfile view view_image read_many_files open_file notebookread cat list_mcp_resources "
    "read_mcp_resource readmediafile",
    "search": "grep glob ls list_dir list_directory search_file_content grep_search file_search codebase_search rg "
    "find search_files toolsearch tool_search tool_search_call search_tool lsp semanticsearch listdir list",
    "fetch": "webfetch web_fetch websearch web_search web_search_call google_web_search x_search fetchurl searchweb "
    "fetch fetch_url fetch_webpage code_interpreter web_browse",
    "task": "task agent spawn_agent spawn_subagent subagent delegate delegate_task wait_agent send_input close_agent "
    "wait resume_agent followup_task sendmessage taskoutput taskstop workflow skill call_agent",
    "plan": "todowrite todo_write todoread update_plan taskcreate taskupdate tasklist taskget enterplanmode "
    "exitplanmode exit_plan_mode enter_plan_mode todo update_todo_list settodolist report_intent set_goal "
    "write_todos todolist",
    "ask": "askuserquestion ask_user_question ask_user request_user_input question askuser ask_followup_question",
}
_ACTIONS = {name: action for action, names in _NAMES.items() for name in names.split()}
# The argument that tells most, by action; the first one found is the text.
_MAIN = {
    "shell": ("command", "cmd", "script", "input", "chars", "commands"),
    "edit": ("file_path", "path", "filePath", "notebook_path", "target_file", "file", "filename", "input", "patch"),
    "read": ("file_path", "path", "filePath", "absolute_path", "target_file", "file", "uri", "paths", "notebook_path"),
    "search": ("pattern", "query", "path", "regex", "target_directory", "dir_path"),
    "fetch": ("url", "query", "q", "prompt", "urls", "code"),
    "task": ("prompt", "description", "message", "task", "skill", "input", "task_id"),
    "plan": ("plan", "subject", "explanation", "goal"),
    "ask": ("question", "questions"),
}
_FILE_FIELDS = ("file_path", "path", "filePath", "notebook_path", "absolute_path", "target_file", "filename", "file")
_FILE_LISTS = ("paths", "file_paths", "files", "include")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)
MAX_FILES = 50
MAX_ODD_CHARS = 100_000


def describe(name: str, given: Any, call: str | None = None) -> tuple[str, str, dict[str, Any]]:
    """(kind, text, meta) of a tool call: kind is `edit`, `test_run` or `tool_call`."""
    action = action_of(name)
    if isinstance(given, str):
        given = _parsed(given)
    if action == "edit" and isinstance(given, dict) and given.get("command") == "view":
        action = "read"  # editors of one tool with a command for each thing they do
    main, text = _main(action, given)
    meta: dict[str, Any] = {"tool": name, "action": action}
    if call:
        meta["call"] = call
    if main is not None:
        meta["main"] = main
    rest = {key: value for key, value in given.items() if key != main} if isinstance(given, dict) else {}
    if rest:
        meta["input"] = rest
    files = _files(action, given, text)
    if files:
        meta["files"] = files
    if action == "edit":
        return "edit", text, meta
    return ("test_run" if action == "shell" and is_test(text) else "tool_call"), text, meta


def action_of(name: str) -> str:
    """Which kind of work a tool does, by the name an agent gives it."""
    folded = name.casefold()
    action = _ACTIONS.get(folded)
    if action:
        return action
    if folded.startswith("mcp_") or "__" in folded:
        return "mcp"
    return "other"


def result_origin(action: str | None) -> str:
    """Who speaks in a tool's result: the web, where it was fetched from there."""
    return "web" if action == "fetch" else "tool"


def _parsed(given: str) -> Any:
    """Arguments written as JSON text; any other text is the input itself (a patch, a script)."""
    if given[:1] == "{":
        try:
            found = orjson.loads(given)
        except ValueError:
            return {"input": given}
        if isinstance(found, dict):
            return found
    return {"input": given} if given else {}


def _main(action: str, given: Any) -> tuple[str | None, str]:
    if not isinstance(given, dict):
        return None, "" if given is None else _json(given)
    for field in _MAIN.get(action, ()):
        value = given.get(field)
        if isinstance(value, str) and value.strip():
            return field, value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return field, _command(value)
    if not given:
        return None, ""
    if len(given) == 1:
        field, value = next(iter(given.items()))
        if isinstance(value, str):
            return field, value
    return None, _json(given) if action in ("mcp", "other", "ask", "plan") else ""


def _command(words: list[str]) -> str:
    """An argument list as one line; `bash -lc X` is X."""
    if len(words) == 3 and words[1] in ("-c", "-lc"):
        return words[2]
    return " ".join(words)


def _files(action: str, given: Any, text: str) -> list[str]:
    if action not in ("edit", "read") or not isinstance(given, dict):
        return []
    found = [given[field] for field in _FILE_FIELDS if isinstance(given.get(field), str) and given[field].strip()]
    for field in _FILE_LISTS:
        names = given.get(field)
        found += [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    if action == "edit" and "*** " in text:
        found += [a or b for a, b in _PATCHED.findall(text)]
    return list(dict.fromkeys(path.strip() for path in found if path.strip()))[:MAX_FILES]


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except (TypeError, RecursionError):  # nested too deep, a number too big, a lone surrogate
        pass
    try:
        return str(value)[:MAX_ODD_CHARS]
    except (ValueError, RecursionError):
        return "[nested too deeply]"
