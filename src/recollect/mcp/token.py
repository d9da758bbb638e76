"""The token of the local MCP server: a file in the data directory that only its user can read."""

from __future__ import annotations

from pathlib import Path

from recollect.store.secretfile import own_secret

FILE_NAME = "mcp.token"


def own_token(data_dir: Path) -> str:
    """The token of this data directory."""
    return own_secret(data_dir, FILE_NAME)
