"""all-MiniLM-L6-v2 on this machine: texts in, unit vectors of 384 numbers out.

Needs a folder with the verified weights (`weights.install`). Nothing is loaded before the first text comes;
after that one session serves all threads. A text reads as its first 256 tokens; the batch a text happens to
share changes nothing but rounding.

Questions have an embedder of their own (`MiniLM.questions`): the same model with weights of 8 bits. Its vectors are
held against the exact ones and never kept. Who only asks loads only that one.
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

    from recollect.models.port import Embedder
    from recollect.models.wordpiece import WordPiece

# Tokens, padding included, in one run of the model; measured: 256 and 512 are fastest, 4096 takes twice as long
# because what passes between the layers no longer fits the cache.
BATCH_TOKENS = 512


class MiniLM:
    """The built-in embedder; safe to share between threads."""

    name = "all-MiniLM-L6-v2"
    dim = 384

    def __init__(self, folder: Path, threads: int = 1, *, quick: bool = True) -> None:
        """`quick`: questions may be embedded with weights of 8 bits."""
        self._folder = folder
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: Any = None  # the session
        self._asking = threading.Lock()  # questions do not wait until the exact model is loaded too
        self._questions: Embedder | None = None if quick else self
        self._vocabulary = Vocabulary(folder)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, in order; an empty text gets the vector of no words."""
        import numpy as np

        session, wordpiece = self._load(), self._vocabulary.wordpiece()
        encoded = [wordpiece.encode(text) for text in texts]
        vectors = np.empty((len(encoded), self.dim), dtype=np.float32)
        for batch in batches([len(ids) for ids in encoded]):
            longest = max(len(encoded[place]) for place in batch)
            padded = np.zeros((len(batch), longest), dtype=np.int64)
            for row, place in enumerate(batch):
                padded[row, : len(encoded[place])] = encoded[place]
            vectors[batch] = session.run(["vectors"], {"ids": padded})[0]
        return check_vectors(vectors, len(encoded), self.dim)

    def questions(self) -> Embedder:
        """Who embeds questions: the quick one, or this one where the processor does not multiply 8 bits exactly."""
        with self._asking:
            if self._questions is None:
                session = open_quick(self._folder, self._threads)
                self._questions = self if session is None else QuickMiniLM(session, self._vocabulary)
            return self._questions

    def _load(self) -> Any:
        with self._lock:
            if self._loaded is None:
                self._loaded = open_model(self._folder, self._threads)
            return self._loaded


class Vocabulary:
    """What both embedders turn texts into tokens with, read when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._read: WordPiece | None = None

    def wordpiece(self) -> WordPiece:
        with self._lock:
            if self._read is None:
                from recollect.models.wordpiece import WordPiece

                self._read = WordPiece.from_file(self._folder / weights.VOCABULARY)
            return self._read


class QuickMiniLM:
    """The embedder of questions, near enough to the exact one to be compared with what that made; shared by threads.

    One text a run: what others ask at the same time changes not a bit of an answer.
    """

    name, dim = MiniLM.name, MiniLM.dim

    def __init__(self, session: Any, vocabulary: Vocabulary) -> None:
        self._session = session
        self._vocabulary = vocabulary

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit vector a text, in order; an empty text gets the vector of no words."""
        import numpy as np

        wordpiece = self._vocabulary.wordpiece()
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            ids = np.array([wordpiece.encode(text)], dtype=np.int64)
            vectors[row] = self._session.run(["vectors"], {"ids": ids})[0][0]
        return vectors  # checked by whoever asks, as those of every embedder


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
    import numpy  # noqa: F401 - whole, before the runtime asks for parts of it while another thread imports it
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_model(folder: Path, threads: int) -> Any:
    """A session of the exact model from an installed folder, or say what is missing."""
    runtime = _installed(folder)
    from recollect.models.onnxgraph import build_model

    model = build_model(folder / weights.WEIGHTS)
    try:
        return _session(runtime, model, folder, threads)
    except Exception as error:  # onnxruntime's exceptions share no base class
        raise ModelUnavailable(
            "onnxruntime could not load the embedding model.",
            hint="Run: recollect model install (and have onnxruntime 1.21 or later)",
        ) from error


def open_quick(folder: Path, threads: int) -> Any | None:
    """A session of the quick model, or None where 8-bit products cannot be had or are not exact."""
    runtime = _installed(folder)
    from recollect.models import quickgraph

    file = folder / weights.WEIGHTS
    trial = quickgraph.build_trial(file, quickgraph.trial_weight())
    try:
        if not quickgraph.multiplies_exactly(_session(runtime, trial, folder, threads)):
            return None
        return _session(runtime, quickgraph.build_quick_model(file), folder, threads)
    except ModelUnavailable:
        raise
    except Exception:  # a runtime without that operator: the exact model will do
        return None


def _installed(folder: Path) -> Any:
    """onnxruntime, if the model is there for it."""
    if not weights.is_installed(folder):
        raise ModelUnavailable(
            "The embedding model all-MiniLM-L6-v2 is not installed.", hint="Run: recollect model install"
        )
    return _quiet_runtime()


def _session(runtime: Any, model: bytes, folder: Path, threads: int) -> Any:
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads sleep: the agent beside us needs the processor more.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The model is made in memory; this tells where its tensors lie.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder.resolve()))
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
