"""Receivers of eight kinds that never take an event, on free ports of this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import cycle, islice
from typing import Final

from tests.support.eventually import paced

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def _hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def _reset(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _endless_head(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while not writer.is_closing():
        writer.write(b"X-More: " + b"a" * 1000 + b"\r\n")
        await writer.drain()


async def _endless_body(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n")
    while not writer.is_closing():
        writer.write(b"a" * 10_000)
        await writer.drain()


async def _drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    began = asyncio.get_running_loop().time()
    for turn, byte in enumerate(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"):
        writer.write(bytes([byte]))
        await writer.drain()
        await paced(began, turn, 1.0)


async def _redirect(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()


async def _garbage(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(bytes(range(256)) * 20)
    await writer.drain()


_KINDS: Final[tuple[Behaviour | None, ...]] = (
    _hang,
    None,  # nothing listens
    _reset,
    _endless_head,
    _endless_body,
    _drip,
    _redirect,
    _garbage,
)


@asynccontextmanager
async def dead_receivers(number: int) -> AsyncIterator[list[str]]:
    """The addresses of so many receivers, of each kind in turn."""
    servers, urls = [], []
    tasks: set[asyncio.Task[None]] = set()
    for behave in islice(cycle(_KINDS), number):
        if behave is None:
            with socket.create_server(("127.0.0.1", 0)) as closed:
                urls.append(f"http://127.0.0.1:{closed.getsockname()[1]}/hooks")
            continue
        server = await asyncio.start_server(_answering(behave, tasks), "127.0.0.1", 0)
        servers.append(server)
        urls.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hooks")
    try:
        yield urls
    finally:
        for server in servers:
            server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _answering(
    behave: Behaviour, tasks: set[asyncio.Task[None]]
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, RuntimeError):  # the caller left; uvloop says so by the latter
            await behave(reader, writer)
        writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(answer(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    return accept
