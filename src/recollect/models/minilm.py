"""all-MiniLM-L6-v2 on this machine: texts in, unit vectors of 384 numbers out.

Needs a folder with the verified weights (`weights.install`). Nothing is loaded before the first text comes;
after that one session serves all threads. A text reads as its first 256 tokens; the batch a text happens to
share changes nothing but rounding.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ModelUnavailable
from recollect.models import weights
from recollect.models.port import check_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.models.wordpiece import WordPiece

# Tokens, padding included, in one run of the model; measured: 256 and 512 are fastest, 4096 takes twice as long
# because what passes between the layers no longer fits the cache.
BATCH_TOKENS = 512


class MiniLM:
    """The built-in embedder; safe to share between threads."""

    name = "all-MiniLM-L6-v2"
    dim = 384

    def __init__(self, folder: Path, threads: int = 1) -> None:
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: tuple[WordPiece, Any] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, in order; an empty text gets the vector of no words."""
        import numpy as np

        wordpiece, session = self._load()
        encoded = [wordpiece.encode(text) for text in texts]
        vectors = np.empty((len(encoded), self.dim), dtype=np.float32)
        for batch in batches([len(ids) for ids in encoded]):
            longest = max(len(encoded[place]) for place in batch)
            padded = np.zeros((len(batch), longest), dtype=np.int64)
            for row, place in enumerate(batch):
                padded[row, : len(encoded[place])] = encoded[place]
            vectors[batch] = session.run(["vectors"], {"ids": padded})[0]
        return check_vectors(vectors, len(encoded), self.dim)

    def _load(self) -> tuple[WordPiece, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = open_model(self._folder, self._threads)
            return self._loaded


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Group places by length, so that a batch holds little padding and never more than the token budget."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _quiet_runtime() -> Any:
    """onnxruntime with its telemetry off: left alone it writes a device id into HOME and reports each process.

    The variables only work before the first import, and opt out completely: nothing is written, nothing is sent.
    """
    for name in ("ORT_DISABLE_TELEMETRY", "ORT_TELEMETRY_DISABLED"):  # the name differs between releases
        os.environ.setdefault(name, "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_model(folder: Path, threads: int) -> tuple[WordPiece, Any]:
    """Load vocabulary and session from an installed folder, or say what is missing."""
    if not weights.is_installed(folder):
        raise ModelUnavailable(
            "The embedding model all-MiniLM-L6-v2 is not installed.", hint="Run: recollect model install"
        )
    onnxruntime = _quiet_runtime()
    from recollect.models.onnxgraph import build_model
    from recollect.models.wordpiece import WordPiece

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads sleep: the agent beside us needs the processor more.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The model is made in memory; this tells where its tensors lie.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder.resolve()))
    model = build_model(folder / weights.WEIGHTS)
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions share no base class
        raise ModelUnavailable(
            "onnxruntime could not load the embedding model.",
            hint="Run: recollect model install (and have onnxruntime 1.21 or later)",
        ) from error
    return WordPiece.from_file(folder / weights.VOCABULARY), session
