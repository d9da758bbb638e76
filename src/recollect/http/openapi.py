"""The OpenAPI document: what the routes say of themselves, how a key is sent, and how errors look on every route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from recollect.http.permissions import NEEDS

if TYPE_CHECKING:
    from fastapi import FastAPI

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {
                "code": {"type": "string", "description": "A stable word for programs."},
                "message": {"type": "string"},
                "hint": {"type": ["string", "null"], "description": "What to do about it."},
                "request_id": {"type": "string", "description": "Only with 500: what to look for in the log."},
                "fields": {
                    "type": "array",
                    "description": "Only with 422: which fields do not fit, and why.",
                    "items": {
                        "type": "object",
                        "required": ["field", "problem"],
                        "properties": {"field": {"type": "string"}, "problem": {"type": "string"}},
                    },
                },
            },
        }
    },
    "example": {"error": {"code": "not_found", "message": "no memory 0191…", "hint": None}},
}
_SAID = {
    "400": "The request cannot be understood",
    "401": "No valid key",
    "403": "This key is not for that, or the request comes from elsewhere",
    "404": "There is no such thing in this scope",
    "408": "The body did not come in time",
    "409": "It changed meanwhile, or a request with this Idempotency-Key is being answered",
    "413": "The body is larger than 1 MiB",
    "415": "The body is not application/json",
    "422": "The request does not fit",
    "429": "Too many requests, or the quota is used up; Retry-After says when",
    "500": "It failed here; the id of the request is in X-Request-Id",
    "503": "The store cannot be used now; Retry-After says when",
}
_SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}
_REPEATABLE = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A request that is sent again with the same key is done once, and answered the same, for 24 hours.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_METHODS = ("get", "post", "patch", "put", "delete")
_PUBLIC = (("get", "/health"), ("get", "/openapi.json"))
_CHANGING = frozenset(  # what changes something can be sent again; a question is simply asked again
    (method.lower(), path.replace(":path}", "}"))
    for (method, path), needs in NEEDS.items()
    if method != "GET" and needs != "read"
)


def document(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = made.setdefault("components", {})
        schemas = parts.setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas["Error"] = _ERROR
        parts["securitySchemes"] = _SCHEMES
        made["security"] = [{"ApiKey": []}, {"Bearer": []}]
        for path, operations in made["paths"].items():
            for method in _METHODS:
                if method in operations:
                    _complete(operations[method], method, path)
        app.openapi_schema = made
    return app.openapi_schema


def _complete(operation: dict[str, Any], method: str, path: str) -> None:
    answer = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for status, said in _SAID.items():
        operation["responses"].setdefault(status, {"description": said, "content": answer})
    operation["responses"]["422"] = {"description": _SAID["422"], "content": answer}
    if (method, path) in _PUBLIC:
        operation["security"] = [{}, {"ApiKey": []}, {"Bearer": []}]
    if (method, path) in _CHANGING:
        operation.setdefault("parameters", []).append(_REPEATABLE)
