"""A uvicorn protocol that sends the headers and the body of a response in one packet.

Without it, uvicorn writes headers and body separately, and uvloop sends each write immediately.

Joining both writes saves a system call, which is about 5 % of the time of a list request.
"""

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class WriteCoalescingTransport:
    """A transport that joins two consecutive writes."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""
        self.is_closing = transport.is_closing  # called for every request

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send the data together with the buffered data. If nothing is buffered, buffer the data instead."""
        if self._held:
            data, self._held = self._held + data, b""
            self._transport.write(data)
        else:
            self._held = data
            self._loop.call_soon(self._send_buffered)

    def write_eof(self) -> None:
        """Send the buffered data, then signal the end of the stream."""
        self._send_buffered()
        self._transport.write_eof()

    def close(self) -> None:
        """Close the connection after the buffered data has been sent."""
        self._send_buffered()
        self._transport.close()

    def _send_buffered(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)


class WriteCoalescingHttpProtocol(HttpToolsProtocol):
    """For ``uvicorn.Config(http=...)``."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(cast("asyncio.Transport", WriteCoalescingTransport(transport, self.loop)))
