"""HTML from a shape and values: what is not markup already is escaped. `Markup.format` does that too, but very slowly.

In: a shape of ours with holes as of `str.format`, and what stands in them. Out: markup.
"""

from __future__ import annotations

from markupsafe import Markup, escape


def filled(shape: str, *values: object) -> Markup:
    """The shape with its values: numbers as they are, markup as it is, anything else escaped."""
    safe = [value if isinstance(value, Markup | int | float) else escape(value) for value in values]
    return Markup(shape.format(*safe))  # noqa: S704 (the shape is ours, the values are escaped)
