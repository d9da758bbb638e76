"""An embedder that remembers on disk what it embedded, so that a benchmark can be run again without waiting."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.models.port import Embedder, for_questions


class CachedEmbedder:
    """Vectors by the SHA-256 of their text, in two files that only grow: `keys.txt` and `data.f32`."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name, self.dim = inner.name, inner.dim
        self._inner = inner
        self._keys_file, self._data_file = folder / "keys.txt", folder / "data.f32"
        keys = self._keys_file.read_text().split() if self._keys_file.exists() else []
        rows = self._data_file.stat().st_size // (4 * self.dim) if self._data_file.exists() else 0
        keys = keys[:rows]
        self._rows = {key: row for row, key in enumerate(keys)}
        self._data = np.fromfile(self._data_file, np.float32, rows * self.dim).reshape(-1, self.dim) if rows else None
        self._new: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self._rows and key not in self._new
        }
        if missing:
            made = self._inner.embed(list(missing.values()))
            self._new |= dict(zip(missing, made, strict=True))
            with self._keys_file.open("a") as key_file, self._data_file.open("ab") as data_file:
                data_file.write(made.astype(np.float32).tobytes())
                key_file.write("".join(f"{key}\n" for key in missing))
        return np.stack([self._vector(key) for key in keys]).astype(np.float32)

    def questions(self) -> Embedder:
        """Questions are not remembered where another embedder makes their vectors."""
        found = for_questions(self._inner)
        return self if found is self._inner else found

    def _vector(self, key: str) -> NDArray[np.float32]:
        if key in self._new:
            return self._new[key]
        assert self._data is not None
        return self._data[self._rows[key]]
