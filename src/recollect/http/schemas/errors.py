"""What went wrong with one part of a request, told as errors are told everywhere."""

from __future__ import annotations

from pydantic import ConfigDict

from recollect.http.schemas.values import Told


class FieldProblem(Told):
    """One thing that is wrong with a request."""

    field: str
    """Where it is, such as `body.tags.3`."""
    problem: str
    """What is wrong with it."""


class ErrorDetail(Told):
    """What went wrong."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    code: str
    """A word for programs, such as `not_found`; it does not change."""
    message: str
    """The same for people."""
    hint: str | None = None
    """What to do about it, where that is known."""
    fields: list[FieldProblem] | None = None
    """With 422: each field that cannot be taken."""
