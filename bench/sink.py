"""A webhook receiver that responds 200, at once or after some milliseconds, and counts.

``python -m bench.sink PORT [MS]``. GET returns the counts, ``GET /restart`` returns and resets them.
"""

import asyncio
import json
import re
import sys
import time
from typing import cast

import uvloop

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


class Counts:
    """The number of deliveries, and the times of the first and the last."""

    number = 0
    first = 0.0
    last = 0.0


class Receiver(asyncio.Protocol):
    """One connection."""

    def __init__(self, counts: Counts, seconds: float) -> None:
        self.counts = counts
        self.seconds = seconds
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Respond to every complete request."""
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            found = LENGTH.search(self.buffer, 0, end + 2)
            total = end + 4 + (int(found[1]) if found else 0)
            if len(self.buffer) < total:
                return
            request, self.buffer = self.buffer[:total], self.buffer[total:]
            answer = self._answer(request)
            if self.seconds and request.startswith(b"POST"):
                asyncio.get_running_loop().call_later(self.seconds, self.transport.write, answer)
            else:
                self.transport.write(answer)

    def _answer(self, request: bytes) -> bytes:
        counts = self.counts
        if request.startswith(b"GET"):
            body = json.dumps({"number": counts.number, "first": counts.first, "last": counts.last}).encode()
            if request.startswith(b"GET /restart"):
                counts.number, counts.first, counts.last = 0, 0.0, 0.0
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        counts.number += 1
        counts.last = time.monotonic()
        counts.first = counts.first or counts.last
        return ANSWER


async def main(port: int, seconds: float) -> None:
    """Serve forever."""
    counts = Counts()
    server = await asyncio.get_running_loop().create_server(lambda: Receiver(counts, seconds), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.0))
