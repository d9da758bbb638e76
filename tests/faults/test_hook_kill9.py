"""P02: a record whose hook said all is well is not lost by kill -9; what a kill tore is refused and counted."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from recollect.capture.spool import BadRecord, Spool
from tests.flow.test_hook import command, run

FILLING = "x" * 1_000_000  # long to write, so that kills come in the middle


def kill_and_look(data_dir: Path, kills: int, seed: int) -> None:
    places, acked = random.Random(seed), set()
    usual = run(data_dir.with_name("warm"), {"session_id": "warm", "prompt": FILLING})
    for number in range(kills):
        body = json.dumps({"session_id": f"s-{number}", "prompt": FILLING}).encode()
        with subprocess.Popen(command(data_dir), stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdin
            assert process.stderr
            process.stdin.write(body)
            process.stdin.close()
            time.sleep(places.uniform(0, usual))
            process.kill()
            if process.wait() == 0:
                acked.add(f"s-{number}")
            assert process.stderr.read() == b""
    run(data_dir, {"session_id": "s-last", "prompt": ""})
    check(Spool(data_dir), acked | {"s-last"}, kills)


def check(spool: Spool, acked: set[str], kills: int) -> None:
    files = list(spool.folder.glob("*.record"))
    young = spool.waiting()
    for path in files:
        os.utime(path, (1, 1))
    found: list[str] = []
    torn: list[tuple[str, bool]] = []
    for path in spool.waiting():
        try:
            found.append(json.loads(spool.read(path).body)["session_id"])
        except BadRecord as error:
            spool.refuse(path, str(error))
            torn.append((str(error), path in young))
        else:
            spool.finish(path)
    assert set(torn) <= {("torn", False)}
    assert acked <= set(found)
    assert len(found) == len(set(found))
    assert len(found) + len(torn) == len(files) <= kills + 1
    assert (spool.refused(), spool.missed(), spool.waiting()) == (len(torn), 0, [])


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_records_survive_kill_9(seed: int, tmp_path: Path) -> None:
    """10 kills at seeded random points, each time from a data directory that does not exist yet."""
    kill_and_look(tmp_path / "data", 10, seed)


@pytest.mark.soak
def test_records_survive_200_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path / "data", 200, 11)
