"""Scan files with ClamAV's daemon, over TCP or a Unix socket (its command INSTREAM)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final
from urllib.parse import urlsplit

from almoner.platform.outbound.lookups import connect_to_host
from almoner.validation.applications.documents.ports import MalwareScannerUnavailable

_PORT: Final = 3310

_PATIENCE_SECONDS: Final = 30.0
_MOST_ANSWER: Final = 4096
_FOUND: Final = " FOUND"


class ClamdScanner:
    """A scanner at ``clamd://host:3310`` or ``clamd:///path/of/the/socket``."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port, self._path = parts.hostname, parts.port or _PORT, parts.path

    async def find_malware_name(self, content: AsyncIterator[bytes]) -> str | None:
        """The name of the malware found; None if the content is clean. Raises MalwareScannerUnavailable."""
        answer = await self._answer(b"zINSTREAM\0", content)
        verdict = answer.removeprefix("stream: ")
        if verdict == "OK":
            return None
        if verdict.endswith(_FOUND):
            return verdict.removesuffix(_FOUND) or "unnamed"
        raise MalwareScannerUnavailable(f"the scanner answered: {verdict[:200]}")

    async def check(self) -> None:
        """Raises MalwareScannerUnavailable if the daemon does not answer."""
        if (answer := await self._answer(b"zPING\0")) != "PONG":
            raise MalwareScannerUnavailable(f"the scanner answered: {answer[:200]}")

    async def _answer(self, command: bytes, content: AsyncIterator[bytes] | None = None) -> str:
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                return await self._exchange(command, content)
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            raise MalwareScannerUnavailable(f"the scanner gave no answer: {type(error).__name__}") from error

    async def _exchange(self, command: bytes, content: AsyncIterator[bytes] | None) -> str:
        if self._host:
            connection = await connect_to_host(self._host, self._port)
            opened = asyncio.open_connection(sock=connection, limit=_MOST_ANSWER)
        else:
            opened = asyncio.open_unix_connection(self._path, limit=_MOST_ANSWER)
        reader, writer = await opened
        try:
            writer.write(command)
            if content is not None:
                async for part in content:
                    writer.write(len(part).to_bytes(4) + part)
                    await writer.drain()
                writer.write(bytes(4))
            await writer.drain()
            answer = await reader.readuntil(b"\0")
        finally:
            writer.close()
        return answer[:-1].decode("utf-8", "replace").strip()
