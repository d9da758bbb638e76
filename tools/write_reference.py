"""Writes docs/reference/cli.md, settings.md, mcp.md, http.md and openapi.json from the code they describe.

`--check` writes nothing and exits 1 when a file is out of date. What is written does not depend on the Python version:
argparse is asked for its flags, not for its layout.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from dataclasses import MISSING, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from recollect import settings
from recollect.cli.main import GROUPS, parser_of
from recollect.mcp import protocol, tools

DOCS = Path(__file__).resolve().parents[1] / "docs" / "reference"
GENERATED = "<!-- Written by tools/write_reference.py; run `make docs` instead of editing. -->"
_SETTING = re.compile(r"^    (\w+): [^#\n]*?  # (.+)$", re.MULTILINE)
_ELSEWHERE = {
    "data_dir": "`~/.local/share/recollect` (Linux), `~/Library/Application Support/recollect` (macOS), "
    "`%LOCALAPPDATA%\\recollect` (Windows)",
    "projects": "none",
}


def cli_reference() -> str:
    """Every verb with its arguments and flags."""
    lines = [GENERATED, "", "# Command line", ""]
    lines += ["`recollect VERB …`. Exit codes: 0 done, 1 it failed, 2 wrong usage or input, 130 interrupted.", ""]
    common = _flags(_common())
    for heading, verbs in GROUPS.items():
        lines += [f"## {heading}", ""]
        for verb in verbs:
            lines += [*_verb(verb, common), ""]
    lines += ["## Flags of every verb", "", *_table(_common()), ""]
    return "\n".join(lines)


def settings_reference() -> str:
    """Every setting: name, variable, default, what it means."""
    comments = setting_comments()
    lines = [GENERATED, "", "# Settings", ""]
    lines += ["Defaults, then `config.toml`, then `RECOLLECT_*` variables, then arguments: the later one wins.", ""]
    lines += [
        "`recollect config` shows the values in force and where each came from; `recollect config set NAME VALUE`"
    ]
    lines += ["writes one. The file is `~/.config/recollect/config.toml` unless `RECOLLECT_CONFIG` names another."]
    lines += ["Where that one is not there, `serve` and `worker` refuse to start, and `recollect doctor` says so.", ""]
    lines += ["| setting | variable | default | meaning |", "|---|---|---|---|"]
    for item in fields(settings.Settings):
        variable = settings.PREFIX + item.name.upper()
        lines.append(f"| `{item.name}` | `{variable}` | {_default(item.name)} | {comments[item.name]} |")
    return "\n".join([*lines, ""])


def mcp_reference() -> str:
    """Every tool of the MCP server: what agents are told about it, its arguments and its hints."""
    lines = [GENERATED, "", "# MCP tools", ""]
    lines += [f"Protocol versions: {', '.join((*protocol.GREETED, *protocol.ENVELOPED))}.", ""]
    lines += ["An empty string, an empty list or null is as if the argument had not been given.", ""]
    for tool in tools.TOOLS:
        schema, hints = tool["inputSchema"], tool["annotations"]
        lines += [f"## {tool['name']}", "", tool["description"], ""]
        lines += [
            ", ".join(f"`{hint}: {str(hints[hint]).lower()}`" for hint in hints if hint.endswith("Hint")) + ".",
            "",
        ]
        if schema["properties"]:
            lines += ["| argument | type | meaning |", "|---|---|---|"]
            required = schema.get("required", ())
            lines += [_argument(name, one, name in required) for name, one in schema["properties"].items()]
            lines.append("")
    return "\n".join([*lines, "## What clients are told", "", tools.INSTRUCTIONS, ""])


def openapi_reference() -> str:
    """The OpenAPI document of the whole service."""
    return json.dumps(_openapi(), indent=1, ensure_ascii=False) + "\n"


def http_reference() -> str:
    """Every route: what it needs, what it takes, what it answers."""
    told, needs = _openapi(), _needs()
    lines = [GENERATED, "", "# HTTP API", ""]
    lines += ["The same for programs: [openapi.json](openapi.json), and `GET /openapi.json` of a running server.", ""]
    lines += [
        "A key is sent as `X-API-Key: …` or `Authorization: Bearer …`. Bodies and answers are JSON; a field that is not"
    ]
    lines += ["known is refused. Every answer that is not a success is an [Error](#error).", ""]
    lines += ["| status | when |", "|---|---|"]
    refused = told["paths"]["/ingest"]["post"]["responses"].items()
    lines += [f"| {status} | {answer['description']} |" for status, answer in sorted(refused) if status >= "400"]
    lines += [
        "",
        "`Idempotency-Key: …` on a POST, PATCH or DELETE: sent again with the same key within 24 hours, it is",
    ]
    lines += ["done once and answered the same (`Idempotent-Replayed: true`).", ""]
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            lines += [*_route(method.upper(), path, operation, needs), ""]
    lines += ["## What is sent and answered", ""]
    for name, schema in sorted(told["components"]["schemas"].items()):
        lines += [f"### {name}", "", *([schema["description"], ""] if "description" in schema else [])]
        lines += [*_fields(schema), ""]
    return "\n".join(lines)


@cache
def _openapi() -> dict[str, Any]:
    from recollect.http.app import create_app
    from recollect.serving import Serving

    with tempfile.TemporaryDirectory() as folder:
        serving = Serving(replace(settings.Settings(), data_dir=Path(folder)), hosted=True)
        try:
            return dict(create_app(serving).openapi())
        finally:
            serving.close()


def _needs() -> dict[tuple[str, str], str | None]:
    from recollect.http.permissions import NEEDS

    return {(method, path.replace(":path", "")): need for (method, path), need in NEEDS.items()}


def _route(method: str, path: str, operation: dict[str, Any], needs: dict[tuple[str, str], str | None]) -> list[str]:
    need = needs[method, path]
    lines = [f"## {method} {path}", "", operation.get("description") or operation["summary"], ""]
    lines += [f"Permission: `{need}`." if need else "No key is needed.", ""]
    shown = [one for one in operation.get("parameters", []) if one["name"] != "Idempotency-Key"]
    if shown:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for one in shown:
            name = f"`{one['name']}`" + (" (required)" if one.get("required") else "")
            lines.append(f"| {name} | {one['in']} | {_type(one['schema'])} | {_said(one)} |")
        lines.append("")
    if "requestBody" in operation:
        lines += [f"Body: {_type(_content(operation['requestBody']))}.", ""]
    good = {status: answer for status, answer in operation["responses"].items() if status < "300"}
    answers = [f"{status} {_type(_content(answer))}" for status, answer in sorted(good.items())]
    return [*lines, f"Answers: {', '.join(answers)}."]


def _content(told: dict[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(told.get("content", {"nothing": {}}).items()))
    if "ndjson" in kind or "ndjson" in str(list(told.get("content", {}))):
        return {"type": "a stream of JSON Lines"}
    return dict(content.get("schema", {}))


def _fields(schema: dict[str, Any]) -> list[str]:
    lines = ["| field | type | meaning |", "|---|---|---|"]
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        default = one.get("default")
        known = f" (default `{json.dumps(default)}`)" if default is not None else ""
        needed = " (required)" if name in required and "default" not in one else ""
        lines.append(f"| `{name}`{needed} | {_type(one)}{known} | {_said(one)} |")
    return lines


def _said(one: dict[str, Any]) -> str:
    return " ".join(one.get("description", "").split()).replace("|", "\\|")


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{word}`" for word in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        most = f", at most {schema['maxItems']:,}" if "maxItems" in schema else ""
        return f"list of {_type(schema.get('items', {}))}{most}"
    more = schema.get("additionalProperties")
    if kind == "object" and isinstance(more, dict) and more:
        return f"object of {_type(more)}"
    return {"string": "text"}.get(kind, kind) + _bounds(schema)


def _bounds(schema: dict[str, Any]) -> str:
    told = [schema["format"]] if "format" in schema else []
    told += [f"at most {schema['maxLength']:,} characters"] if "maxLength" in schema else []
    if "minimum" in schema or "maximum" in schema:
        told.append(f"{schema.get('minimum', '')} to {schema.get('maximum', '')}")
    return f" ({', '.join(told)})" if told else ""


def _argument(name: str, schema: dict[str, Any], required: bool) -> str:
    kind = "list of texts" if schema["type"] == "array" else {"string": "text"}.get(schema["type"], schema["type"])
    bounds = {"minimum": "from", "maximum": "to", "maxItems": "at most", "maxLength": "at most", "default": "default"}
    told = [
        f"{word} {schema[key]:,}"
        if isinstance(schema[key], int) and not isinstance(schema[key], bool)
        else f"{word} `{str(schema[key]).lower()}`"
        for key, word in bounds.items()
        if key in schema
    ]
    choice = f" One of: {', '.join(schema['enum'])}." if "enum" in schema else ""
    limits = f" ({', '.join(told)})" if told else ""
    return f"| `{name}`{' (required)' if required else ''} | {kind}{limits} | {schema['description']}{choice} |"


def setting_comments() -> dict[str, str]:
    """The comment after each setting in settings.py: its documentation."""
    source = Path(settings.__file__).read_text(encoding="utf-8")
    body = source.split("class Settings:", 1)[1].split("\n\n\n", 1)[0]
    return {name: comment.replace("|", "\\|") for name, comment in _SETTING.findall(body)}


def _default(name: str) -> str:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    default = next(item.default for item in fields(settings.Settings) if item.name == name)
    if default is MISSING or default is None or default in ("", ()):
        return "none"
    if isinstance(default, tuple):
        return "`" + ", ".join(default) + "`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _common() -> list[argparse.Action]:
    """The flags of `whoami`, which has none of its own."""
    return [action for action in parser_of("whoami")._actions if action.option_strings and action.dest != "help"]


def _verb(verb: str, common: set[str]) -> list[str]:
    parser = parser_of(verb)
    own = [action for action in parser._actions if action.dest != "help" and not _flags([action]) & common]
    usage = " ".join(["recollect", verb, *(_positional(action) for action in own if not action.option_strings)])
    if any(action.option_strings for action in own):
        usage += " [flags]"
    table = [] if not own else ["", *_table(own)]
    return [f"### {verb}", "", parser.description or "", "", "```", usage, "```", *table]


def _flags(actions: list[argparse.Action]) -> set[str]:
    return {flag for action in actions for flag in action.option_strings}


def _positional(action: argparse.Action) -> str:
    name = str(action.metavar or "|".join(map(str, action.choices or [action.dest.upper()])))
    return {"+": f"{name}…", "?": f"[{name}]", "*": f"[{name}…]"}.get(str(action.nargs), name)


def _table(actions: list[argparse.Action]) -> list[str]:
    return ["| argument | meaning |", "|---|---|", *(f"| `{_named(one)}` | {_meaning(one)} |" for one in actions)]


def _named(action: argparse.Action) -> str:
    if not action.option_strings:
        return _positional(action).replace("|", "\\|")
    value = action.metavar or "\\|".join(map(str, action.choices or ()))
    return ", ".join(action.option_strings) + (f" {value}" if value and action.nargs != 0 else "")


def _meaning(action: argparse.Action) -> str:
    return (action.help or "").replace("|", "\\|")


def main() -> int:
    """Write the files, or check them."""
    stale = []
    written = {
        "cli.md": cli_reference(),
        "settings.md": settings_reference(),
        "mcp.md": mcp_reference(),
        "http.md": http_reference(),
        "openapi.json": openapi_reference(),
    }
    for name, text in written.items():
        file = DOCS / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv[1:]:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    sys.stdout.write(f"out of date: {', '.join(stale)}\n" if stale else "up to date\n")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
