"""What the tests of clients stand on."""

from __future__ import annotations

from tests.clients.hostile_fixture import hostile as hostile
from tests.clients.places_fixture import memory as memory
from tests.clients.places_fixture import opening as opening
from tests.clients.places_fixture import server as server
