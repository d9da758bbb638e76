"""Whether a service does its work: the address of its /health comes in, exit code 0 or 1 goes out.

For containers, where there is no shell and no curl. /health answers 503 when work is stuck: that is 1 too.
"""

from __future__ import annotations

import sys
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit


def main(address: str) -> int:
    """Ask once, for at most four seconds."""
    parts = urlsplit(address)
    connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port or 80, timeout=4)
    try:
        connection.request("GET", parts.path or "/")
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        print(type(error).__name__)
        return 1
    finally:
        connection.close()
    print(status)
    return 0 if status == 200 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) == 2 else "http://127.0.0.1:8010/health"))
