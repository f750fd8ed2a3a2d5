"""A server that publishes one file as registers do: with ranges, conditional requests and broken transfers."""

import asyncio
from dataclasses import dataclass, field

from tests.support.receivers import Received, reply


@dataclass
class Publisher:
    """``cuts``: after how many body bytes the next connections break, in order."""

    content: bytes
    etag: str | None = '"v1"'
    modified: str | None = "Mon, 13 Apr 2026 08:00:00 GMT"
    cuts: list[int] = field(default_factory=list)

    async def __call__(self, request: Received, writer: asyncio.StreamWriter) -> None:
        """Handle one request."""
        headers, sent = request.headers, {"ETag": self.etag, "Last-Modified": self.modified}
        stated = {name: value for name, value in sent.items() if value}
        if (self.etag and headers.get("if-none-match") == self.etag) or (
            self.modified and headers.get("if-modified-since") == self.modified
        ):
            await _send(writer, reply(304, b"", **stated))
            return
        start = 0
        if "range" in headers and headers.get("if-range") in (self.etag, self.modified):
            start = int(headers["range"].removeprefix("bytes=").removesuffix("-"))
        body = self.content[start:]
        whole = f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"
        answer = reply(206, body, **stated, Content_Range=whole) if start else reply(200, body, **stated)
        if self.cuts:
            head = len(answer) - len(body)
            await _send(writer, answer[: head + self.cuts.pop(0)])
            writer.close()
            return
        await _send(writer, answer)


async def _send(writer: asyncio.StreamWriter, answer: bytes) -> None:
    writer.write(answer)
    await writer.drain()
