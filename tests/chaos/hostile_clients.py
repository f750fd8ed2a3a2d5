"""Two hundred hostile clients of nine kinds, each from an address of its own on this machine's loopback.

``python -m tests.chaos.hostile_clients PORT PUBLISHABLE_KEY SECRET_KEY SECONDS SEED``: the secret key is of
another partner. At the end it prints the responses to each kind, as JSON.
"""

import asyncio
import json
import random
import struct
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from socket import SO_LINGER, SOL_SOCKET
from time import monotonic
from typing import Final
from urllib.parse import quote

from tests.support.eventually import paced

CLIENTS: Final = 200
PATIENCE: Final = 15.0
_WORDS: Final = ("foundation", "church", "association", "of", "the", "saint", "community", "école", "ab-", "a ")

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Hostile:
    """One client."""

    address: str
    port: int
    key: str
    secret_key: str
    chance: random.Random
    seen: Counter[str]

    async def connect(self) -> Connection:
        """A connection from its own address."""
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(self.address, 0))

    async def ask(self, request: bytes) -> None:
        """Send a request and note the status of what comes back."""
        reader, writer = await self.connect()
        try:
            writer.write(request)
            head = await asyncio.wait_for(reader.read(64), PATIENCE)
            self.seen[head[9:12].decode("latin-1") or "closed"] += 1
        finally:
            writer.transport.abort()

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """The head of a request, without its end."""
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *lines, ""]).encode()

    async def search(self) -> None:
        """The longest and most ambiguous question."""
        text = "".join(self.chance.choice(_WORDS) for _ in range(60))[:250]
        await self.ask(
            self.head("GET", f"/v1/organisations?query={quote(text)}", f"Authorization: {self.key}") + b"\r\n"
        )

    async def huge_head(self) -> None:
        """A head of a megabyte."""
        await self.ask(self.head("GET", "/healthz") + b"X-Long: " + b"a" * 2**20)

    async def slow_head(self) -> None:
        """A head of which a byte comes a second."""
        reader, writer = await self.connect()
        try:
            for byte in self.head("GET", "/healthz"):
                writer.write(bytes([byte]))
                await writer.drain()
                with suppress(TimeoutError):
                    self.seen["closed" if not await asyncio.wait_for(reader.read(1), 1) else "answered"] += 1
                    return
        finally:
            writer.transport.abort()

    async def slow_body(self) -> None:
        """A body that hardly comes."""
        reader, writer = await self.connect()
        try:
            writer.write(self.body_head(100_000))
            for _ in range(60):
                writer.write(b"{")
                await writer.drain()
                with suppress(TimeoutError):
                    self.seen[(await asyncio.wait_for(reader.read(64), 1))[9:12].decode("latin-1") or "closed"] += 1
                    return
        finally:
            writer.transport.abort()

    async def huge_body(self) -> None:
        """Thirty megabytes, without their length for every second one."""
        reader, writer = await self.connect()
        try:
            chunked = self.chance.random() < 0.5
            writer.write(self.body_head(None if chunked else 30 * 2**20))
            piece = b"10000\r\n" + b"[" * 2**16 + b"\r\n" if chunked else b"[" * 2**16
            with suppress(OSError):
                for _ in range(480):
                    writer.write(piece)
                    await writer.drain()
            self.seen[(await asyncio.wait_for(reader.read(64), PATIENCE))[9:12].decode("latin-1") or "closed"] += 1
        finally:
            writer.transport.abort()

    def body_head(self, length: int | None) -> bytes:
        """The head of a request that may create a session, before its body of ``length`` or of chunks."""
        size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        lines = (f"Authorization: {self.secret_key}", "Content-Type: application/json", size)
        return self.head("POST", "/v1/donation-sessions", *lines) + b"\r\n"

    async def half_open(self) -> None:
        """A connection that says nothing."""
        reader, writer = await self.connect()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), 2 * PATIENCE)
                self.seen["closed"] += 1
        finally:
            writer.transport.abort()

    async def random_bytes(self) -> None:
        """No HTTP at all."""
        await self.ask(self.chance.randbytes(self.chance.randrange(1, 4000)) + b"\r\n\r\n")

    async def wrong_key(self) -> None:
        """A key that nobody was given."""
        guess = "sk_sandbox_" + "".join(
            self.chance.choices("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789", k=38)
        )
        await self.ask(self.head("GET", "/v1/donations", f"Authorization: {guess}") + b"\r\n")

    async def reset(self) -> None:
        """A request whose connection is reset while it is answered."""
        _, writer = await self.connect()
        writer.write(self.head("GET", "/v1/organisations?query=church", f"Authorization: {self.key}") + b"\r\n")
        await writer.drain()
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        self.seen["reset"] += 1


KINDS: Final[tuple[Callable[[Hostile], Awaitable[None]], ...]] = (
    Hostile.search,
    Hostile.huge_head,
    Hostile.slow_head,
    Hostile.slow_body,
    Hostile.huge_body,
    Hostile.half_open,
    Hostile.random_bytes,
    Hostile.wrong_key,
    Hostile.reset,
)


async def _go_on(client: Hostile, act: Callable[[Hostile], Awaitable[None]], ends: float) -> None:
    while monotonic() < ends:
        try:
            await act(client)
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            client.seen[type(error).__name__] += 1
        await paced(monotonic(), 1, client.chance.uniform(0.7, 2.0))


async def attack(port: int, keys: tuple[str, str], seconds: float, seed: int) -> dict[str, dict[str, int]]:
    """Run all clients at once, and count the responses to each kind."""
    ends = monotonic() + seconds
    seen: dict[str, Counter[str]] = {kind.__name__: Counter() for kind in KINDS}
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            kind = KINDS[number % len(KINDS)]
            address = f"127.1.{number // 250}.{number % 250 + 1}"
            client = Hostile(address, port, *keys, random.Random(seed * 1000 + number), seen[kind.__name__])
            group.create_task(_go_on(client, kind, ends))
    return {kind: dict(answers) for kind, answers in seen.items()}


if __name__ == "__main__":
    _port, _key, _secret_key, _seconds, _seed = sys.argv[1:]
    print(json.dumps(asyncio.run(attack(int(_port), (_key, _secret_key), float(_seconds), int(_seed)))))
