"""Donors who pay at Stripe: our sessions and donations, and the strict stub behind the adapter."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.payments.domain import FeeSchedule
from tests.support import giving as support
from tests.support import stripe_account
from tests.support.client import Client
from tests.support.giving import Giving
from tests.support.service import Service
from tests.support.stripe_account import MARK, StripeAccount, Thing
from tests.support.stripe_stub import KEY, StripeStub, serving_stripe


@dataclass(frozen=True, slots=True)
class Stripe:
    """The stub at ``url``, and the adapter that calls it."""

    service: Service
    stub: StripeStub
    url: str
    provider: StripeProvider

    @property
    def account(self) -> StripeAccount:
        """Its account."""
        return self.stub.account

    async def open_session(self, api: Client, **body: Any) -> "AtStripe":
        """A session whose donor pays here."""
        made = await support.open_session(self.service, api, **body)
        made.provider = self.provider  # type: ignore[assignment]
        return AtStripe(made, self)


@dataclass(frozen=True, slots=True)
class AtStripe:
    """One partner's session, whose donor pays at Stripe."""

    giving: Giving
    stripe: Stripe

    @property
    def session(self) -> Thing:
        """Stripe's session."""
        reference = [
            one for one in self.stripe.account.sessions.values() if self._given(one) and one["status"] != "expired"
        ]
        return reference[-1]

    def _given(self, session: Thing) -> bool:
        return bool(f"/{self.giving.session['id']}/return?" in session["success_url"])

    async def deliver(self, *, times: int = 1) -> list[int]:
        """Deliver Stripe's webhooks, each several times; returns the response statuses."""
        reported = [notice for notice in self.stripe.account.notices for _ in range(times)]
        self.stripe.account.notices.clear()
        return [(await self.send(notice)).status_code for notice in reported]

    async def send(self, notice: Thing | bytes, **changed: Any) -> httpx.Response:
        """Send one webhook, signed by Stripe; ``at``: when."""
        body, header = stripe_account.signed(notice, changed.pop("at", self.giving.service.clock.real_now()))
        headers = {"stripe-signature": changed.pop("header", header)}
        return await self.giving.post(body, headers, to="stripe")

    async def held(self) -> list[tuple[str, int, str]]:
        """(reason, amount, currency) of unallocated payments."""
        async with self.giving.service.db.read() as tx:
            rows = await tx.fetch(
                "select reason, amount_minor, currency from unallocated_payment "
                "where provider_payment = any($1) order by id",
                list(self.stripe.account.sessions),
            )
        return [tuple(row) for row in rows]

    async def posted(self) -> int:
        """The number of ledger transfers for payments at Stripe."""
        async with self.giving.service.db.read() as tx:
            return int(
                await tx.fetchval(
                    """
                    select count(*) from ledger_transfer t join payment p on p.id = t.owner_id
                    where p.provider = 'stripe' and t.kind = 'payment_received' and p.provider_payment = any($1)
                    """,
                    list(self.stripe.account.sessions),
                )
            )


@asynccontextmanager
async def serving_at_stripe(service: Service, *, retries: int = 2) -> AsyncIterator[Stripe]:
    """The stub and the adapter, until the block ends."""
    async with serving_stripe(service.clock.now) as (stub, url):
        provider = StripeProvider(
            StripeConnection(KEY, url, retries=retries),
            webhook_secret=stripe_account.SECRET,
            tariff=FeeSchedule(290, {"USD": 30}),
            mark=MARK,
            pages_url=url,
        )
        try:
            yield Stripe(service, stub, url, provider)
        finally:
            await provider.close()
