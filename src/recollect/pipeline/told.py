"""What agents were told, word for word: the answers that hooks kept in `told/`, each under the name of its block.

In: the name of a block. Out: the text as the agent received it, or None. They are kept as long as it is known where a
memory was shown, and only of sessions that are there. When anything is forgotten all of them go: which text told of it
nobody has to ask then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from recollect.hookreply import TOLD
from recollect.pipeline.folder import Folder

MOST = 5_000  # texts that are kept, the newest
_NAME = re.compile(r"[0-9a-f]{12}")
_TRIES = 100


def text_of(data_dir: Path, block: str) -> str | None:
    """What stood in a block, frame and all; None when it is not kept."""
    if not _NAME.fullmatch(block) or not (data_dir / TOLD).is_dir():
        return None
    try:
        with Folder(data_dir, TOLD) as folder:
            said = json.loads(folder.read(block) or b"{}")
        text = said.get("additional_context") or said["hookSpecificOutput"]["additionalContext"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return text if isinstance(text, str) else None


def tidy_told(data_dir: Path, before: datetime, gone: Collection[str] = ()) -> None:
    """Take away those that are from before a time, those that are `gone`, and the oldest of too many."""
    if not (data_dir / TOLD).is_dir():
        return
    with suppress(OSError), Folder(data_dir, TOLD) as folder:
        ages = {name: (data_dir / TOLD / name).lstat().st_mtime for name in folder.names()}
        newest = sorted(ages, key=lambda name: -ages[name])[:MOST]
        folder.keep_only({name for name in newest if ages[name] >= before.timestamp() and name not in gone})


def forget_told(data_dir: Path) -> None:
    """Take all of them away, and the directory: a hook that opened it before can put nothing into it any more."""
    place = data_dir / TOLD
    for _ in range(_TRIES):
        if not place.is_dir():
            return
        with Folder(data_dir, TOLD) as folder:
            folder.keep_only(set())
        with suppress(OSError):  # a hook put one more into it
            place.rmdir()
