"""Write the pictures of every page again: light, dark and on a phone, for docs/images/pages.

    python tools/write_pictures.py      (or: make pictures)

The browser tests make them of a server with sample sessions; here each is cut to what one sees without scrolling far,
and told in a few colours, so that all of them together stay small. Pictures of pages that are no more go.
"""

from __future__ import annotations

import base64
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images" / "pages"
TESTS = (
    "tests/web/browser/test_every_page.py::test_every_page_is_sound",
    "tests/web/browser/test_patterns.py::test_a_pattern_is_approved_rolled_out_as_shown_and_taken_back",
)
MOST_BYTES = 3_000_000  # of all together
HEIGHT, PHONE_HEIGHT = 840, 900  # of a picture, at most
COLOURS = 32  # of a picture
# Runs in an empty page of the browser, which knows how to read a PNG: the upper part of it as bytes, red green blue.
DECODE = """async ([png, most]) => {
  const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const height = Math.min(image.height, most), canvas = new OffscreenCanvas(image.width, height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, height);
  let text = "";
  for (let at = 0; at < data.length; at += 32768) text += String.fromCharCode(...data.subarray(at, at + 32768));
  return [image.width, height, btoa(text)];
}"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "KEEP_PICTURES": folder}
        made_in = f"--basetemp={Path(tempfile.gettempdir()) / 'kim'}"  # paths of projects are seen in the pictures
        if subprocess.run([sys.executable, "-m", "pytest", "-q", made_in, *TESTS], cwd=ROOT, env=env).returncode:
            return 1
        made = {path.name: small for path, small in shrunk(sorted(Path(folder).glob("*.png")))}
    FOLDER.mkdir(parents=True, exist_ok=True)
    for old in FOLDER.glob("*.png"):
        if old.name not in made:
            old.unlink()
    for name, content in made.items():
        (FOLDER / name).write_bytes(content)
    total = sum(map(len, made.values()))
    print(f"{len(made)} pictures, {total:,} bytes")
    return int(total > MOST_BYTES)


def shrunk(paths: list[Path]) -> Iterator[tuple[Path, bytes]]:
    """Each picture with its small form."""
    from playwright.sync_api import sync_playwright
    from tests.web.browser.chromium import FLAGS, find_chromium

    binary, variables = find_chromium()
    with sync_playwright() as started:
        env: dict[str, Any] = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **variables}
        browser = started.chromium.launch(executable_path=str(binary), args=list(FLAGS), env=env)
        page = browser.new_page()
        for path in paths:
            yield path, small_png(pixels(page, path))
        browser.close()


def pixels(page: Any, path: Path) -> np.ndarray[Any, Any]:
    """A picture as rows of pixels, cut at its foot."""
    most = PHONE_HEIGHT if path.stem.endswith("-phone") else HEIGHT
    width, height, data = page.evaluate(DECODE, [base64.b64encode(path.read_bytes()).decode(), most])
    return np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[:, :, :3]


def small_png(image: np.ndarray[Any, Any]) -> bytes:
    """A PNG in a few colours."""
    height, width, _ = image.shape
    flat = image.reshape(-1, 3).astype(np.uint32)
    packed = (flat[:, 0] << 16) | (flat[:, 1] << 8) | flat[:, 2]
    known, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([known >> 16, (known >> 8) & 255, known & 255], axis=1).astype(np.float32)
    chosen = _palette(colours, counts)
    nearest = np.argmin(((colours[:, None, :] - chosen[None, :, :]) ** 2).sum(axis=2), axis=1).astype(np.uint8)
    rows = nearest[places].reshape(height, width)
    lines = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", chosen.astype(np.uint8).tobytes()), (b"IDAT", zlib.compress(lines, 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in (*parts, (b"IEND", b"")))


def _palette(colours: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The few colours that are nearest to all of them: each next one where most pixels are farthest off."""
    chosen = [colours[np.argmax(counts)]]
    off = ((colours - chosen[0]) ** 2).sum(axis=1)
    while len(chosen) < COLOURS and off.any():
        chosen.append(colours[np.argmax(off * counts)])
        off = np.minimum(off, ((colours - chosen[-1]) ** 2).sum(axis=1))
    return np.array(chosen)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
