"""A server that speaks clamd's protocol (PING, INSTREAM) and finds the harmless test virus."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR" + b"-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


@dataclass
class Daemon:
    """A running server; ``answer`` replaces its verdict, ``seen`` is everything it received."""

    port: int = 0
    answer: bytes | None = None
    seen: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its URL."""
        return f"clamd://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one command."""
        command = await reader.readuntil(b"\0")
        if command == b"zPING\0":
            writer.write((b"PONG" if self.answer is None else self.answer) + b"\0")
            await writer.drain()
        if command == b"zINSTREAM\0":
            content = b""
            while size := int.from_bytes(await reader.readexactly(4)):
                content += await reader.readexactly(size)
            self.seen.append(content)
            verdict = b"stream: Eicar-Test-Signature FOUND" if EICAR in content else b"stream: OK"
            writer.write((verdict if self.answer is None else self.answer) + b"\0")
            await writer.drain()
        writer.close()


@asynccontextmanager
async def running(path: str | None = None) -> AsyncIterator[Daemon]:
    """Serve on a port of this machine, or on a socket with this path."""
    daemon = Daemon()
    if path is None:
        server = await asyncio.start_server(daemon.serve, "127.0.0.1", 0)
        daemon.port = server.sockets[0].getsockname()[1]
    else:
        server = await asyncio.start_unix_server(daemon.serve, path)
    async with server:
        yield daemon
