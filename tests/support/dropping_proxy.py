"""A TCP proxy that drops every connection repeatedly, as bad networks do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class DroppingProxy:
    """Its address, and how many connections it has dropped."""

    url: str = ""
    dropped: int = 0
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    def drop(self) -> None:
        """Drop the open connections, in the middle of any transfer."""
        self.dropped += bool(self.writers)
        for writer in list(self.writers):
            writer.transport.abort()
        self.writers.clear()


@asynccontextmanager
async def dropping_proxy(target: str, every_seconds: float) -> AsyncIterator[DroppingProxy]:
    """A proxy of a service on this machine."""
    parts = urlsplit(target)
    proxy = DroppingProxy()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.close()
            return
        both = {writer, upstream_writer}
        proxy.writers |= both
        await asyncio.gather(pump(reader, upstream_writer), pump(upstream_reader, writer))
        proxy.writers -= both

    loop = asyncio.get_running_loop()
    turns: list[asyncio.TimerHandle] = []

    def drop_again_and_again() -> None:
        proxy.drop()
        turns[:] = [loop.call_later(every_seconds, drop_again_and_again)]

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    turns.append(loop.call_later(every_seconds, drop_again_and_again))
    try:
        yield proxy
    finally:
        turns[0].cancel()
        server.close()
        proxy.drop()
