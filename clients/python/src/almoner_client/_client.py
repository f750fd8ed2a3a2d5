"""The two clients."""

from dataclasses import replace
from types import TracebackType
from typing import Any

import httpx

from almoner_client._calls import DEFAULT_RETRIES, DEFAULT_TIMEOUT, options_of
from almoner_client._core import AsyncCore, SyncCore
from almoner_client._generated.async_resources import AsyncResources
from almoner_client._generated.resources import Resources


class Almoner(Resources):
    """Calls the API and waits for its answers. Keep one for the whole program: it keeps connections open.

    ``api_key`` and ``base_url`` come from ``ALMONER_API_KEY`` and ``ALMONER_BASE_URL`` unless they are given.
    ``timeout``: seconds for connecting, and for each read and write. ``max_retries``: how often a call is tried again
    after a lost connection, a 429 or a 5xx; it waits as ``Retry-After`` says, and a POST keeps its idempotency key.
    ``http_client``: an ``httpx.Client`` of your own, with your proxy, certificates or transport; you close it.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_RETRIES,
        http_client: httpx.Client | None = None,
    ) -> None:
        options = options_of(api_key, base_url, timeout, max_retries)
        self._own = http_client is None
        self._core = SyncCore(options, http_client or httpx.Client())
        super().__init__(self._core)

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> "Almoner":
        """The same client, over the same connections, with another time-out or number of retries."""
        old = self._core.options
        made = Almoner(old.api_key, base_url=old.base_url, http_client=self._core.http)
        made._core.options = replace(
            old,
            timeout=old.timeout if timeout is None else timeout,
            max_retries=old.max_retries if max_retries is None else max_retries,
        )
        return made

    def close(self) -> None:
        """Close the connections."""
        if self._own:
            self._core.http.close()

    def __enter__(self) -> "Almoner":
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: Any, _trace: TracebackType | None) -> None:
        self.close()


class AsyncAlmoner(AsyncResources):
    """As ``Almoner``, with methods to be awaited, under asyncio or trio. Lists are for ``async for``."""

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        options = options_of(api_key, base_url, timeout, max_retries)
        self._own = http_client is None
        self._core = AsyncCore(options, http_client or httpx.AsyncClient())
        super().__init__(self._core)

    def with_options(self, *, timeout: float | None = None, max_retries: int | None = None) -> "AsyncAlmoner":
        """The same client, over the same connections, with another time-out or number of retries."""
        old = self._core.options
        made = AsyncAlmoner(old.api_key, base_url=old.base_url, http_client=self._core.http)
        made._core.options = replace(
            old,
            timeout=old.timeout if timeout is None else timeout,
            max_retries=old.max_retries if max_retries is None else max_retries,
        )
        return made

    async def close(self) -> None:
        """Close the connections."""
        if self._own:
            await self._core.http.aclose()

    async def __aenter__(self) -> "AsyncAlmoner":
        return self

    async def __aexit__(self, _kind: type[BaseException] | None, _error: Any, _trace: TracebackType | None) -> None:
        await self.close()
