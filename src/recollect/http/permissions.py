"""What a key must be for, route by route. A route that does not stand here is refused: nobody forgot it on purpose."""

from __future__ import annotations

# (method, path template) -> the permission; None: no key is needed.
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", "/health"): None,
    ("GET", "/openapi.json"): None,
    ("GET", "/docs"): None,  # the same for people
    ("GET", "/metrics"): "admin",  # they are of all tenants; no key where the setting `metrics_public` says so
    ("GET", "/whoami"): "read",
    ("GET", "/quota"): "read",
    # what is brought in
    ("POST", "/ingest"): "write",
    ("POST", "/ingest/batch"): "write",
    ("POST", "/memory/ingest"): "write",
    ("POST", "/v1/events"): "write",
    # what is changed
    ("PATCH", "/memories/{memory_id}"): "write",
    ("POST", "/memories/{memory_id}/confirm"): "speak",
    ("POST", "/memories/{memory_id}/restore"): "write",
    ("POST", "/memories/{memory_id}/feedback"): "write",
    ("DELETE", "/memories/{memory_id}"): "delete",
    ("POST", "/sessions/{session_id:path}/summarize"): "write",
    ("DELETE", "/sessions/{session_id:path}"): "delete",
    # what is given back
    ("POST", "/search"): "read",
    ("POST", "/context"): "read",
    ("POST", "/messages"): "read",
    ("POST", "/prompt"): "read",
    ("POST", "/memory/search"): "read",
    ("GET", "/memory/records"): "read",
    ("GET", "/memory/stats"): "read",
    ("GET", "/memory/{memory_id}"): "read",
    ("GET", "/memories"): "read",
    ("GET", "/memories/{memory_id}"): "read",
    ("GET", "/memories/{memory_id}/versions"): "read",
    ("GET", "/memories/{memory_id}/why"): "read",
    ("GET", "/export"): "read",
    ("GET", "/sessions"): "read",
    ("GET", "/sessions/{session_id:path}"): "read",
    ("GET", "/sessions/{session_id:path}/history"): "read",
    ("GET", "/sessions/{session_id:path}/gist"): "read",
    # what was learned
    ("GET", "/patterns"): "read",
    ("GET", "/patterns/{pattern_id}"): "read",
    ("POST", "/patterns/{pattern_id}/approve"): "speak",
    ("POST", "/patterns/{pattern_id}/reject"): "speak",
    ("POST", "/patterns/{pattern_id}/edit"): "speak",
    # what is done in the background
    ("GET", "/tasks"): "read",
    ("GET", "/tasks/{task_id}"): "read",
    ("POST", "/tasks/{task_id}/cancel"): "write",
    ("POST", "/tasks/{task_id}/requeue"): "write",
}
