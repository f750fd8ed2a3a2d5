"""The built-in payment provider over real HTTP, and its donors."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn

from almoner.adapters.payments_test import TestProvider
from almoner.giving.checkout.payments.domain import DisputeStatus, SavedPaymentMethod
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.platform.outbound.client import OutboundClient
from almoner.provider_test import service as provider_test
from almoner.provider_test.app import SimulatedPaymentProvider
from almoner.provider_test.domain import Card, DeclineReason
from tests.support.fake_provider import SECRET
from tests.support.service import Service


@dataclass(frozen=True, slots=True)
class Till:
    """The provider at ``url``, called through ``provider``."""

    service: Service
    url: str
    provider: TestProvider

    async def pay_with_card(self, payment: str) -> None:
        """Pay with a card that works."""
        async with self.service.db.write() as tx:
            await provider_test.pay_with_card(tx, payment, Card("4242424242424242"))

    async def decline_next(self, method: SavedPaymentMethod, code: str) -> None:
        """Make the next charge of a saved card fail."""
        async with self.service.db.write() as tx:
            assert await provider_test.fail_next_charge(tx, method.customer_id, method.id, DeclineReason(code))

    async def renew_card(self, method: SavedPaymentMethod) -> None:
        """Renew a saved card as its bank does."""
        async with self.service.db.write() as tx:
            await provider_test.expire_card(tx, method.customer_id, method.id)
            assert await provider_test.renew_card(tx, method.customer_id, method.id)

    async def open_dispute(self, payment: str) -> None:
        """Open a dispute as the donor's bank."""
        async with self.service.db.write() as tx:
            await provider_test.open_dispute(tx, payment)

    async def decide_dispute(self, payment: str, outcome: DisputeStatus) -> None:
        """Decide the dispute as the donor's bank."""
        async with self.service.db.write() as tx:
            await provider_test.decide_dispute(tx, payment, won=outcome is DisputeStatus.WON)

    async def payments(self, reference: str) -> list[str]:
        """The payments created with a reference of ours."""
        async with self.service.db.read() as tx:
            rows = await tx.fetch("select id from provider_test.payment where reference = $1", reference)
        return [row["id"] for row in rows]


@asynccontextmanager
async def serving_provider(service: Service) -> AsyncIterator[Till]:
    """Serve the provider, in the service's own database, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as port:
        url = f"http://127.0.0.1:{port.getsockname()[1]}"
        outbound = OutboundClient(AddressPolicy(allows_loopback=True))
        app = SimulatedPaymentProvider(service.db, outbound, service.services.telemetry, url=url, secret=SECRET)
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, ws="none"))
        running = asyncio.create_task(server.serve(sockets=[port]))
        adapter = TestProvider(url, SECRET)
        try:
            yield Till(service, url, adapter)
        finally:
            await adapter.close()
            server.should_exit = True
            await running
            await outbound.close()
