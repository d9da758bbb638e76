"""The command line, as the tests of whole memories have it."""

from __future__ import annotations

from tests.flow.conftest import cli as cli
from tests.flow.conftest import work as work
