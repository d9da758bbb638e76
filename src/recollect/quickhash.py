"""Hash functions for where every millisecond counts: from the modules below hashlib, which load ten times as fast.

Their names are not the same in every Python; where they are missing, hashlib has the same functions.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256

__all__ = ["blake2b", "sha256"]
