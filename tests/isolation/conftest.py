"""One filled database for all tests of a module; each test leaves it as it was."""

from __future__ import annotations

import pytest

from recollect.store.postgres.schema import Layout
from tests.isolation.seeded import Seeded, seeded
from tests.services.postgres import Postgres


@pytest.fixture(scope="module")
def base(postgres: Postgres) -> Seeded:
    return seeded(postgres)


@pytest.fixture(scope="module")
def parted(postgres: Postgres) -> Seeded:
    """The same in four partitions."""
    return seeded(postgres, Layout(partitions=4))
