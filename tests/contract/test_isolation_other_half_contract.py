"""The other half of the isolation contract's methods, in a file of its own: it takes long, and a file is one worker's.

Everyone asks with everyone else's ids: no foreign canary comes back, and nobody else's data changes.
"""

from __future__ import annotations

import pytest

from recollect.store.port import Store
from tests.contract.test_isolation_contract import SCOPED, check_foreign


@pytest.mark.parametrize("name", SCOPED[1::2])
def test_no_method_shows_or_changes_what_is_foreign(store: Store, name: str) -> None:
    check_foreign(store, name)
