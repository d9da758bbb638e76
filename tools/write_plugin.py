"""Writes the plugin (`plugins/`, `.claude-plugin/`) from the code it is made of; `--check` writes nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from recollect.install.plugin import plugin_files

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Write what differs, or check."""
    stale = [name for name, text in plugin_files().items() if not _same(ROOT / name, text)]
    if "--check" not in sys.argv[1:]:
        for name in stale:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(plugin_files()[name], encoding="utf-8")
    sys.stdout.write(f"out of date: {', '.join(stale)}\n" if stale else "up to date\n")
    return 1 if stale and "--check" in sys.argv[1:] else 0


def _same(file: Path, text: str) -> bool:
    return file.exists() and file.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())
