"""What models give tools: understood in every usual form, refused where it would silently mean something else."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import InvalidInput
from recollect.mcp.arguments import checked


@pytest.mark.parametrize(
    ("name", "given", "found"),
    [
        ("memory_search", {"query": " x ", "limit": "7"}, {"query": "x", "limit": 7}),
        ("memory_search", {"query": "x", "limit": 7.0}, {"query": "x", "limit": 7}),
        ("memory_search", {"query": "", "kind": "", "since": "  ", "tags": [], "session": None}, {}),
        ("memory_search", {"tags": "db"}, {"tags": ["db"]}),
        ("memory_search", {"tags": [" db ", "db", ""]}, {"tags": ["db"]}),
        ("memory_search", {"archived": "true"}, {"archived": True}),
        ("memory_get", {"ids": "one"}, {"ids": ["one"]}),
        ("memory_status", {}, {}),
    ],
)
def test_the_usual_forms_are_understood(name: str, given: dict[str, Any], found: dict[str, Any]) -> None:
    assert checked(name, given) == found


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("memory_search", {"querry": "x"}, "no argument 'querry'"),
        ("memory_search", {"limit": 0}, "from 1 to 50"),
        ("memory_search", {"limit": 51}, "from 1 to 50"),
        ("memory_search", {"limit": True}, "from 1 to 50"),
        ("memory_search", {"limit": 2.5}, "from 1 to 50"),
        ("memory_search", {"limit": "٣"}, "from 1 to 50"),
        ("memory_search", {"query": 7}, "query must be text"),
        ("memory_search", {"query": "x" * 10_001}, "more than 10,000 characters"),
        ("memory_search", {"tags": [1]}, "list of texts"),
        ("memory_search", {"archived": "perhaps"}, "true or false"),
        ("memory_get", {}, "needs ids"),
        ("memory_get", {"ids": ["", " "]}, "needs ids"),
        ("memory_get", {"ids": [str(n) for n in range(21)]}, "the limit is 20"),
        ("memory_save", {"content": " "}, "needs content"),
        ("memory_save", {"content": "x" * 2_001}, "more than 2,000"),
        ("recall", {"query": ""}, "needs query"),
        ("memory_status", {"verbose": True}, "no argument"),
    ],
)
def test_what_would_mean_something_else_is_refused(name: str, given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        checked(name, given)
