"""A real webhook receiver on this machine: it records requests and responds as told, correctly or not."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Received:
    """One request: headers in lower case, the raw body, and the number of its connection."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int


Reply: TypeAlias = bytes | Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


def reply(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """A whole HTTP response; ``retry_after="5"`` becomes ``Retry-After: 5``."""
    lines = [f"HTTP/1.1 {status} Reason", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Receiver:
    """Sends the responses of ``script`` in order, then ``otherwise``."""

    scheme: str = "http"
    host: str = "127.0.0.1"
    port: int = 0
    otherwise: Reply = field(default_factory=reply)
    script: list[Reply] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def url(self) -> str:
        """Its URL."""
        return f"{self.scheme}://{self.host}:{self.port}/hooks"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle the requests of one connection."""
        self.connections += 1
        number = self.connections
        try:
            while request := await _read(reader, number):
                self.received.append(request)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                try:
                    answer = self.script.pop(0) if self.script else self.otherwise
                    if isinstance(answer, bytes):
                        writer.write(answer)
                        await writer.drain()
                    else:
                        await answer(request, writer)
                finally:
                    self.in_flight -= 1
        except (ConnectionError, asyncio.IncompleteReadError):
            return  # the client left, which is normal for a receiver
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader, number: int) -> Received | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, path, headers, body, number)


@asynccontextmanager
async def receiver(
    otherwise: Reply | None = None, *script: Reply, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    """A listening receiver on a free port."""
    made = Receiver("https" if tls else "http", host, script=list(script))
    if otherwise is not None:
        made.otherwise = otherwise
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(made.serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls, limit=2**20)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
