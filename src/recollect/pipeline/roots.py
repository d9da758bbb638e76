"""Where agents' sessions are looked for: what the user configured, else where each agent keeps them by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from recollect.capture.sources import FLAVORS, source
from recollect.capture.transcript import Transcript
from recollect.errors import BadTranscript
from recollect.settings import Settings, environment


def roots_of(flavor: str, settings: Settings) -> list[Path]:
    """The directories of one agent that exist, each once."""
    given = settings.sources.get(flavor)
    found = list(given) if given else source(flavor).roots(Path.home(), environment())
    return [root for root in dict.fromkeys(path.expanduser() for path in found) if root.is_dir()]


def discover(settings: Settings, given: Mapping[str, Sequence[Path]] | None = None) -> Iterator[Transcript]:
    """Every transcript there is, the oldest first; with `given`, only those of these agents in these directories.

    Oldest first, because a fork repeats what it came from: what both hold belongs to the one that was there before.
    """
    found: list[tuple[float, Transcript]] = []
    for flavor in FLAVORS if given is None else given:
        places = roots_of(flavor, settings) if given is None or not given[flavor] else list(given[flavor])
        for root in places:
            found += [(_time(transcript), transcript) for transcript in under(flavor, root)]
    found.sort(key=lambda pair: (pair[0], pair[1].name))
    return (transcript for _, transcript in found)


def under(flavor: str, root: Path) -> Iterator[Transcript]:
    """The transcripts under one root; where looking itself fails, one that will fail by name when it is read."""
    try:
        yield from source(flavor).discover(root)
    except (BadTranscript, OSError) as error:
        yield Transcript(flavor, root, root, f"{root} cannot be looked into: {error}", ())


def _time(transcript: Transcript) -> float:
    try:
        return transcript.files[0].stat().st_mtime if transcript.files else 0.0
    except OSError:
        return 0.0
