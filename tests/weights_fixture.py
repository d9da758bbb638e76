"""The fixture `minilm_dir`: a folder with the real weights, fetched once and kept between runs.

Kept in `RECOLLECT_TEST_MODEL_DIR`, or in `.cache/models/all-MiniLM-L6-v2` of the checkout. Fails rather than
skips when they cannot be had: a broken install would otherwise hide behind skipped tests.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect.models import weights

CACHE = Path(__file__).resolve().parents[1] / ".cache" / "models" / weights.NAME


@pytest.fixture(scope="session")
def minilm_dir() -> Path:
    return weights.install(Path(os.environ.get("RECOLLECT_TEST_MODEL_DIR") or CACHE))
