"""Resolve names of our own services (mail server, provider, scanner) by the system's resolver, which may hang.

The event loop's own lookups use the few threads that database connections need too, so a single name whose servers do
not respond would block everything. Here each lookup has its own thread that nobody waits for, and each name a limit.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from almoner.platform.jobs.sidecar import run_in_detached_thread

_SECONDS: Final = 10.0
_MOST_OF_NAME: Final = 16
"""The maximum concurrent lookups of one name, more than we ever need while they are answered."""
_running: Counter[str] = Counter()


async def resolve_host_without_timeout(host: str, port: int) -> Sequence[str]:
    """Resolve a host name without a time limit. Raises OSError."""
    found = await run_in_detached_thread(partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM))
    return [str(where[0]) for *_, where in found]


async def resolve_host(host: str, port: int = 0) -> Sequence[str]:
    """Resolve a host name in at most ten seconds. Raises OSError."""
    if _running[host] >= _MOST_OF_NAME:
        raise socket.gaierror(socket.EAI_AGAIN, f"{_MOST_OF_NAME} lookups of this name have no answer yet")
    _running[host] += 1
    asking = asyncio.create_task(resolve_host_without_timeout(host, port))
    asking.add_done_callback(lambda done: _end(host, done))
    async with asyncio.timeout(_SECONDS):
        return await asyncio.shield(asking)


def _end(host: str, asking: "asyncio.Task[Sequence[str]]") -> None:
    _running[host] -= 1
    if not asking.cancelled():
        asking.exception()  # the waiting caller may have given up


async def connect_to_host(host: str, port: int) -> socket.socket:
    """Connect to the first address of a host that accepts. Raises OSError."""
    loop, failure = asyncio.get_running_loop(), OSError(f"{host} has no address")
    for address in await resolve_host(host, port):
        connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            await loop.sock_connect(connection, (address, port))
        except BaseException as error:
            connection.close()
            if not isinstance(error, OSError):
                raise
            failure = error
        else:
            return connection
    raise failure


def open_http_session(timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
    """An HTTP session for our own services, without proxies from the environment and without cookies."""
    connector = aiohttp.TCPConnector(resolver=_Resolver())
    return aiohttp.ClientSession(
        connector=connector, timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
    )


def to_resolve_results(host: str, port: int, addresses: Sequence[str]) -> list[ResolveResult]:
    """Addresses as aiohttp's resolver returns them."""
    return [
        ResolveResult(
            hostname=host,
            host=address,
            port=port,
            family=socket.AF_INET6 if ":" in address else socket.AF_INET,
            proto=socket.IPPROTO_TCP,
            flags=socket.AI_NUMERICHOST,
        )
        for address in addresses
    ]


class _Resolver(AbstractResolver):
    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - both families, always
    ) -> list[ResolveResult]:
        return to_resolve_results(host, port, await resolve_host(host, port))

    async def close(self) -> None:
        """Nothing to close."""
