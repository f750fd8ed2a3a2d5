"""The provider as one application with one background loop, put together for ``almoner run`` and for tests."""

import asyncio

from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from almoner.platform.database.transactions import Database
from almoner.platform.observability.telemetry import Telemetry
from almoner.platform.outbound.client import OutboundClient
from almoner.platform.pages import assets, reports
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.provider_test.api import MerchantApi
from almoner.provider_test.callbacks import CallbackSender
from almoner.provider_test.pages import TEMPLATES, PaymentPages


class SimulatedPaymentProvider:
    """The test provider as an ASGI application. ``secret``: authenticates the API and signs callbacks."""

    def __init__(
        self,
        database: Database,
        outbound: OutboundClient,
        telemetry: Telemetry,
        *,
        url: str,
        secret: str,
        catalogues: TranslationCatalogues | None = None,
    ) -> None:
        self._app = Starlette(
            routes=[
                *MerchantApi(database, secret, url).routes(),
                *PaymentPages(database, PageRenderer(database.deployment, TEMPLATES, catalogues), url).routes(),
                *assets.ROUTES,
                *reports.csp_report_routes(telemetry, database.deployment.clock),
            ]
        )
        self._callbacks = CallbackSender(database, outbound, telemetry, secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    async def deliver_due_callbacks(self) -> int:
        """Send one batch of due callbacks; returns how many were attempted."""
        return await self._callbacks.deliver_due_callbacks()

    async def run(self, stop: asyncio.Event) -> None:
        """Send callbacks until ``stop`` is set."""
        await self._callbacks.run(stop)
