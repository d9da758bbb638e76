"""The model on this machine gives the vectors of the original, whatever the batch, order or thread."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ModelUnavailable
from recollect.models import onnxgraph, weights
from recollect.models.minilm import BATCH_TOKENS, MiniLM, batches
from recollect.models.port import Embedder

REFERENCE: list[dict[str, Any]] = [
    case
    for case in json.loads(
        (Path(__file__).parents[1] / "fixtures" / "minilm" / "reference.json").read_text(encoding="utf-8")
    )
    if "vector" in case
]


@pytest.fixture(scope="module")
def model(minilm_dir: Path) -> MiniLM:
    return MiniLM(minilm_dir)


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: case["name"])
def test_vector_alone_equals_the_reference(model: MiniLM, case: dict[str, Any]) -> None:
    (vector,) = model.embed([case["text"]])
    np.testing.assert_allclose(vector, case["vector"], atol=2e-5)


def test_vectors_in_one_batch_equal_the_reference(model: MiniLM) -> None:
    vectors = model.embed([case["text"] for case in REFERENCE])
    assert vectors.dtype == np.float32
    cosines = (vectors * np.array([case["vector"] for case in REFERENCE])).sum(axis=1)
    assert cosines.min() >= 0.99999


def test_order_is_kept(model: MiniLM) -> None:
    texts = [("word " * (n * 37 % 50)) + str(n) for n in range(40)]
    together = model.embed(texts)
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-5)


def test_no_texts(model: MiniLM) -> None:
    assert model.embed([]).shape == (0, 384)


def test_texts_without_words_have_a_vector(model: MiniLM) -> None:
    vectors = model.embed(["", " ", "\x00\n"])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_threads_share_one_model(minilm_dir: Path) -> None:
    shared = MiniLM(minilm_dir, threads=2)
    texts = [case["text"] for case in REFERENCE]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: shared.embed(texts), range(4)))
    for result in results:
        np.testing.assert_allclose(result, results[0], atol=2e-5)


@given(st.lists(st.integers(2, 256), max_size=80))
def test_batches_hold_every_text_once_within_the_budget(lengths: list[int]) -> None:
    made = list(batches(lengths))
    assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
    assert all(len(batch) * max(lengths[place] for place in batch) <= BATCH_TOKENS for batch in made)


def test_graph_is_small_and_always_the_same(minilm_dir: Path) -> None:
    first = onnxgraph.build_model(minilm_dir / weights.WEIGHTS)
    assert first == onnxgraph.build_model(minilm_dir / weights.WEIGHTS)
    assert len(first) < 40_000


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        MiniLM(tmp_path).embed(["x"])
    assert "recollect model install" in (caught.value.hint or "")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 64,
        b"\x02" + bytes(7) + b"{}",
        b"\x02" + bytes(7) + b"[]",
        b"\x02" + bytes(7) + b"no",
    ],
    ids=["empty", "huge header", "no tensors", "not a table", "not JSON"],
)
def test_damaged_weights_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelUnavailable):
        onnxgraph.build_model(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]},
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 20]},
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [-24, 0]},
        {"dtype": "F32", "shape": [2, 3], "data_offsets": [4, 28]},
        {"dtype": "F32", "shape": [2, 3]},
    ],
    ids=["type", "shape", "length", "before the data", "after the end", "no offsets"],
)
def test_a_tensor_that_does_not_fit_is_refused(tmp_path: Path, entry: dict[str, Any]) -> None:
    path = tmp_path / "model.safetensors"
    good = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    header = json.dumps({"bad": entry, "good": good}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(24))
    found = onnxgraph.Weights(path)
    assert found.find("good", (2, 3)) == onnxgraph.Place(8 + len(header), 24)
    with pytest.raises(ModelUnavailable):
        found.find("bad", (2, 3))


def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    lines = (
        "import sys",
        "from pathlib import Path",
        "import recollect.models.port, recollect.models.remote, recollect.models.tiny",
        "from recollect.models.minilm import MiniLM",
        "MiniLM(Path('nowhere'))",
        "sys.exit(any(name in sys.modules for name in ('numpy', 'onnxruntime', 'http.client')))",
    )
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 0


def test_name_and_dimension() -> None:
    embedder: Embedder = MiniLM(Path("nowhere"))
    assert (embedder.name, embedder.dim) == ("all-MiniLM-L6-v2", 384)


def test_embedding_leaves_no_trace_in_home_and_reports_to_nobody(minilm_dir: Path, own_home: Path) -> None:
    """onnxruntime would write a device id and a queue of events; both variables and the call keep it from that."""
    code = "import sys, pathlib, recollect.models.minilm as m; m.MiniLM(pathlib.Path(sys.argv[1])).embed(['x'])"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ORT_", "CI"))}
    subprocess.run([sys.executable, "-c", code, str(minilm_dir)], check=True, env=kept | {"HOME": str(own_home)})
    assert [path for path in own_home.rglob("*") if path.is_file()] == []
