"""Templates become pages. Whatever stands in `{{ … }}` is text: shown without hidden characters, escaped, never markup.

What was made here as markup (plots, parts of pages) is `Markup` and stays as it is; nothing from outside ever is.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from recollect.clock import age_label
from recollect.text import one_line, present
from recollect.web.markup import filled

STATIC = files("recollect.web") / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def render(template: str, **values: Any) -> str:
    """A page of this template."""
    return environment().get_template(template).render(**values)


@cache
def environment() -> Environment:
    """Where templates are found and what they can do."""
    made = Environment(
        loader=PackageLoader("recollect.web"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters |= {
        "day": day,
        "moment": moment,
        "ago": ago,
        "count": count,
        "size": size,
        "money": money,
        "short": one_line,
        "exact": Exact,
    }
    made.globals["static"] = static
    return made


class Exact(str):
    """Text that goes into a form field and comes back: not a character of it may be lost. It is escaped as any."""

    __slots__ = ()


def _shown(value: Any) -> Any:
    """Text without what cannot be seen; None as nothing."""
    if value is None:
        return ""
    if type(value) is str:
        return present(value)
    return value


@cache
def static(name: str) -> str:
    """The address of a file of ours; another content is another address, so that it may be kept for good."""
    mark = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/page/static/{name}?v={mark}"


# -- filters -----------------------------------------------------------------------------------------------------------


def day(at: datetime | None) -> str:
    """A date."""
    return "–" if at is None else f"{at.astimezone(UTC):%Y-%m-%d}"


def moment(at: datetime | None) -> Markup:
    """A date and time, which scripts show in the reader's own zone."""
    if at is None:
        return Markup("–")
    utc = at.astimezone(UTC)
    return filled('<time datetime="{}">{}</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", f"{utc:%Y-%m-%d %H:%M} UTC")


def ago(at: datetime | None, now: datetime) -> Markup:
    """How long ago, with the moment behind it."""
    if at is None:
        return Markup("–")
    utc = at.astimezone(UTC)
    told = escape(age_label(at, now))
    return filled(
        '<time datetime="{}" title="{}">{}</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", f"{utc:%Y-%m-%d %H:%M} UTC", told
    )


def count(number: float | None) -> str:
    """A number people read."""
    return "–" if number is None else f"{number:,.0f}"


def size(number: float | None) -> str:
    """Bytes people read."""
    if number is None:
        return "–"
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 1_000 or unit == "GB":
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1_000
    raise AssertionError


def money(usd: float | None) -> str:
    """US dollars; what is not known is not nothing."""
    if usd is None:
        return "–"
    return f"${usd:,.2f}" if usd >= 0.01 or usd == 0 else f"${usd:.4f}"
