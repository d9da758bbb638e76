"""Runs one server as long as somebody uses it, and takes all of it away afterwards.

`keeper.py USERS STATE FOLDER COMMAND...`: every process that uses the server holds a shared lock on the file USERS. The
kernel gives a lock back however its holder ends, so waiting for the exclusive lock is waiting for the last user, even
for one that was killed. STATE says that the server is there; FOLDER is all that it writes.
"""

from __future__ import annotations

import fcntl
import shutil
import signal
import subprocess
import sys
from pathlib import Path

PATIENCE = 10.0  # seconds a server may take to end by itself


def main(users: str, state: str, folder: str, *command: str) -> int:
    """Start the server, wait until nobody uses it, and end it."""
    with open(users, "ab") as lock, open(Path(folder) / "log", "wb") as log:  # noqa: PTH123 (starts sooner without)
        server = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
        finally:
            Path(state).unlink(missing_ok=True)
            server.send_signal(signal.SIGINT)  # PostgreSQL: the fast way, without waiting for its clients
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
