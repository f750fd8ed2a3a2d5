"""A process that takes a gift at Stripe and kills itself, as kill -9 does: as ``tests.chaos.money``, at the stub.

``python -m tests.chaos.stripe_gifts TASK``. The stub is another process, which survives and loses answers. The donors
of a task are in lanes, which run at once; each donor is a list of sessions, one for each point to die at. Printed is
``<lane>:<donor>:<point> killed``, or ``lived``.
"""

import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

import aiohttp

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import FeeSchedule, ProviderPayment, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider, PaymentRequest
from almoner.platform.database.transactions import Database
from tests.chaos.money import GIFT, connect
from tests.chaos.victim import Mortal, fork_each, fork_lanes
from tests.support.stripe_account import MARK, SECRET
from tests.support.stripe_stub import KEY

Answer = TypeVar("Answer")


class Deadly(StripeProvider):
    """Kills the process before or after a call."""

    def __init__(self, url: str, db: Mortal) -> None:
        super().__init__(
            StripeConnection(KEY, url, retries=0),
            webhook_secret=SECRET,
            tariff=FeeSchedule(0),
            mark=MARK,
            pages_url=url,
        )
        self._db = db

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """As the provider's, if it survives."""
        return await self._through(super().create_payment(payment_request))

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """As the provider's, if it survives."""
        return await self._through(super().fetch_payment(payment_id))

    async def _through(self, call: Awaitable[Answer]) -> Answer:
        self._db.boundary()
        answer = await call
        self._db.boundary()
        return answer


async def pay(db: Database, provider: PaymentProvider, session_id: UUID, *, returns: bool = True) -> None:
    """A donor who does not give up gives, pays on Stripe's page and comes back, unless the window is closed then."""
    work = PaymentContext(db, provider)
    started = await _patiently(lambda: donations_flows.start_payment(work, session_id, GIFT))
    if started.payment_url is not None:
        async with aiohttp.ClientSession() as browser:
            data = {"card": "4242 4242 4242 4242"}
            async with browser.post(started.payment_url, data=data, allow_redirects=False) as answer:
                assert answer.status in (303, 404)  # 404: it was paid before
    if returns:
        await _patiently(lambda: donations_flows.handle_donor_return(work, session_id))


async def _patiently(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    while True:
        with suppress(ProviderUnavailable):
            return await ask()


async def live(task: dict[str, Any], sessions: list[str], point: int) -> None:
    """One gift."""
    db = await connect(task)
    db.fatal = point
    provider = Deadly(task["url"], db)
    await pay(db, provider, UUID(sessions[point - 1]))
    await provider.close()
    await db.close()


if __name__ == "__main__":
    given = json.loads(sys.argv[1])

    def all_donors(lane: int) -> None:
        """Those of one lane, one after the other."""
        for donor, sessions in enumerate(given["lanes"][lane]):
            fork_each(range(1, len(sessions) + 1), partial(live, given, sessions), f"{lane}:{donor}:")

    fork_lanes(len(given["lanes"]), all_donors)
