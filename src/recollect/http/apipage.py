"""The OpenAPI document as one page for people: every route, what it takes, what it answers.

In: the document. Out: HTML without a script, a picture or anything that is fetched; its one style is let in by its
hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from html import escape
from typing import Any

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "h2{margin-top:2.5rem;overflow-wrap:anywhere}code,pre{font:14px/1.5 ui-monospace,monospace}pre{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;"
    "border-bottom:1px solid #8884}nav ul{columns:18rem}"
)
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_KEY = '-H "X-API-Key: $MEMORY_API_KEY"'


def page(told: dict[str, Any], needs: dict[tuple[str, str], str | None], address: str) -> str:
    """The page of a server at this address."""
    title = f"{told['info']['title']} {told['info']['version']}: HTTP API"
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{escape(told['info'].get('description', ''))}</p>"]
    parts.append(
        "<p>A key is sent as <code>X-API-Key: …</code> or <code>Authorization: Bearer …</code>. "
        'For programs: <a href="openapi.json">openapi.json</a>.</p>'
    )
    routes = [(method.upper(), path, one) for path, both in told["paths"].items() for method, one in both.items()]
    links = "".join(f"<li>{_link(f'{method} {path}', _anchor(method, path))}</li>" for method, path, _ in routes)
    parts.append(f'<nav aria-label="Routes"><ul>{links}</ul></nav><main>')
    for method, path, operation in routes:
        parts += _route(method, path, operation, needs.get((method, path)), address)
    for name, schema in sorted(told["components"]["schemas"].items()):
        parts.append(f'<h2 id="{escape(name)}">{escape(name)}</h2><p>{escape(schema.get("description", ""))}</p>')
        parts.append(_table(("field", "type", "meaning"), _fields(schema)))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = f"{''.join(parts)}</main>"
    return f'<!doctype html><html lang="en"><head>{head}<style>{_STYLE}</style></head><body>{body}</body></html>'


def _route(method: str, path: str, operation: dict[str, Any], needs: str | None, address: str) -> Iterator[str]:
    yield f'<h2 id="{_anchor(method, path)}">{method} {escape(path)}</h2>'
    yield f"<p>{escape(operation.get('description') or operation['summary'])}</p>"
    yield f"<p>Permission: <code>{escape(needs)}</code>.</p>" if needs else "<p>No key is needed.</p>"
    yield f"<pre>{escape(_called(method, path, operation, needs, address))}</pre>"
    shown = operation.get("parameters", [])
    if shown:
        rows = [
            (_named(one["name"], one.get("required", False)), one["in"], _type(one["schema"]), _said(one))
            for one in shown
        ]
        yield _table(("parameter", "in", "type", "meaning"), rows)
    if "requestBody" in operation:
        yield f"<p>Body: {_type(_content(operation['requestBody']))}.</p>"
    good = [f"{status} {_type(_content(one))}" for status, one in operation["responses"].items() if status < "300"]
    yield f'<p>Answers: {", ".join(good)}; else <a href="#Error">Error</a>.</p>'


def _called(method: str, path: str, operation: dict[str, Any], needs: str | None, address: str) -> str:
    words = ["curl", *(["-X", method] if method != "GET" else []), f"{address}{path}", *([_KEY] if needs else [])]
    if "requestBody" in operation:
        words += ['-H "Content-Type: application/json"', "-d '{…}'"]
    return " ".join(words)


def _fields(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    needed = schema.get("required", ())
    return [
        (_named(name, name in needed and "default" not in one), _type(one) + _default(one), _said(one))
        for name, one in schema.get("properties", {}).items()
    ]


def _default(one: dict[str, Any]) -> str:
    return "" if one.get("default") is None else f" (<code>{escape(json.dumps(one['default']))}</code>)"


def _content(told: dict[str, Any]) -> dict[str, Any]:
    kind, content = next(iter(told.get("content", {"nothing": {}}).items()))
    return dict(content.get("schema") or {"type": kind})


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _link(name, name)
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"<code>{escape(str(word))}</code>" for word in schema["enum"])
    if "const" in schema:
        return f"<code>{escape(str(schema['const']))}</code>"
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return escape(" or ".join(kind) if isinstance(kind, list) else {"string": "text"}.get(kind, kind))


def _said(one: dict[str, Any]) -> str:
    return escape(one.get("description", ""))


def _named(name: str, required: bool) -> str:
    return f"<code>{escape(name)}</code>{' (required)' if required else ''}"


def _link(text: str, to: str) -> str:
    return f'<a href="#{escape(to)}">{escape(text)}</a>'


def _anchor(method: str, path: str) -> str:
    return escape(f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""))


def _table(names: tuple[str, ...], rows: list[Any]) -> str:
    """Cells are HTML already."""
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
