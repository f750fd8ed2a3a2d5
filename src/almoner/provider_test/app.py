"""The provider as one application with one background loop, put together for ``almoner run`` and for tests."""

import asyncio

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from almoner.platform.db import Database
from almoner.platform.outbound import Outbound
from almoner.platform.pages import assets, reports
from almoner.platform.pages.rendering import Pages
from almoner.platform.telemetry import Telemetry
from almoner.provider_test.api import MerchantApi
from almoner.provider_test.callbacks import Callbacks
from almoner.provider_test.pages import TEMPLATES, PayPages


class ProviderTest:
    """An ASGI application. ``deliver_due`` sends the notices that are due; ``run`` does so until told to stop."""

    def __init__(
        self,
        database: Database,
        outbound: Outbound,
        telemetry: Telemetry,
        *,
        url: str,
        api_secret: str,
        callback_secret: str,
    ) -> None:
        self._app = Starlette(
            routes=[
                *MerchantApi(database, api_secret, url).routes(),
                *PayPages(database, Pages(database.deployment, TEMPLATES), url).routes(),
                *assets.ROUTES,
                *reports.routes(telemetry, database.deployment.clock),
            ]
        )
        self._callbacks = Callbacks(database, outbound, telemetry, callback_secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    async def deliver_due(self) -> int:
        """One batch of due notices; how many were tried."""
        return await self._callbacks.deliver_due()

    async def run(self, stop: asyncio.Event) -> None:
        """Send notices until ``stop`` is set."""
        await self._callbacks.run(stop)
