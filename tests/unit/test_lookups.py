"""Names of our own peers: every address is tried, and a name that nobody answers for is bounded in time and threads."""

import asyncio
import socket

import pytest

from almoner.platform.outbound import lookups


async def test_the_address_that_takes_a_connection_is_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # not on ::1
        port = server.getsockname()[1]
        connection = await lookups.connect_to_host("localhost", port)
        assert connection.getpeername()[0] == "127.0.0.1"
        connection.close()
    with pytest.raises(OSError, match=r".+"):
        await lookups.connect_to_host("localhost", port)


async def test_sixteen_at_once_are_answered_again_and_again() -> None:
    for _ in range(3):
        found = await asyncio.gather(*(lookups.resolve_host("localhost") for _ in range(16)))
        assert all("127.0.0.1" in one for one in found)
