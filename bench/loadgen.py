"""A crowd of HTTP clients in a process of its own: requests in from a file, how long each took out on standard output.

    python bench/loadgen.py JOB.json

The job names the address, how many connections, for how many seconds, and a list of requests (path, headers, body).
Each connection asks one request after the other, in an order of its own; `rate` (a second, all connections together)
makes them come at given times instead, and a time is then counted from when the request was due. Raw sockets and no
parsing beyond the length: the crowd must not be what is measured.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import sys
import time
from pathlib import Path
from typing import Any


class Crowd:
    """The clients of one run, and what they saw."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.host, self.port = job["host"], job["port"]
        self.connections, self.seconds, self.rate = job["connections"], job["seconds"], job.get("rate")
        self.random = random.Random(job.get("seed", 1))
        self.requests = [_bytes(self.host, self.port, *request) for request in job["requests"]]
        self.spent: list[float] = []
        self.statuses: dict[str, int] = {}

    async def run(self) -> None:
        began = time.perf_counter()
        await asyncio.gather(*(self._client(number, began) for number in range(self.connections)))

    async def _client(self, number: int, began: float) -> None:
        order = random.Random(self.random.random())
        until, step = began + self.seconds, self.connections / self.rate if self.rate else 0.0
        due = began + step * (number / self.connections)
        line: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while (now := time.perf_counter()) < until:
            if step:
                await asyncio.sleep(max(0.0, due - now))
            started, due = (due if step else now), due + step
            try:
                if line is None:
                    line = await asyncio.open_connection(self.host, self.port)
                status = await self._ask(line, order.choice(self.requests))
            except (OSError, asyncio.IncompleteReadError, ValueError) as error:
                status, line = type(error).__name__, None
            self.statuses[status] = self.statuses.get(status, 0) + 1
            self.spent.append((time.perf_counter() - started) * 1000)
        if line is not None:
            line[1].close()

    async def _ask(self, line: tuple[asyncio.StreamReader, asyncio.StreamWriter], request: bytes) -> str:
        reader, writer = line
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        at = head.lower().find(b"content-length:")
        if at < 0:
            raise ValueError("an answer without a length")
        await reader.readexactly(int(head[at + 15 : head.index(b"\r\n", at)]))
        return head[9:12].decode()


def _bytes(host: str, port: int, path: str, headers: dict[str, str], body: str) -> bytes:
    data = body.encode()
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()] + [f"Content-Length: {len(data)}", "", ""]
    return "\r\n".join(lines).encode() + data


def main() -> None:
    import uvloop

    crowd = Crowd(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    started = time.perf_counter()
    uvloop.run(crowd.run())
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_SELF)
    found = {"spent": [round(one, 3) for one in crowd.spent], "statuses": crowd.statuses, "seconds": seconds}
    json.dump({**found, "cpu": used.ru_utime + used.ru_stime}, sys.stdout)


if __name__ == "__main__":
    main()
