"""What settlements rely on in a provider that reports its own payouts; Stripe's is the only one so far."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.accounting.settlements.domain import SettlementLineKind
from almoner.giving.accounting.settlements.ports import PayoutReportSource
from almoner.giving.checkout.payments.domain import FeeSchedule, ProviderFailure
from almoner.kit.money import Money
from tests.support import stripe_account
from tests.support.provider_contract import order
from tests.support.service import Service
from tests.support.stripe_account import MARK
from tests.support.stripe_stub import KEY, serving_stripe


@dataclass(frozen=True, slots=True)
class Contract:
    """The reports, and the provider's side of them. ``pay``: a payment of so many cents arrives; what we call it.

    ``refund``: all of it goes back; ``pay_out``: what there is goes to our bank, the payout's reference.
    """

    reports: PayoutReportSource
    pay: Callable[[int], Awaitable[str]]
    refund: Callable[[str], None]
    pay_out: Callable[[], str]


@asynccontextmanager
async def at_stripe(service: Service) -> AsyncIterator[Contract]:
    """Stripe's adapter on the strict stub."""
    async with serving_stripe(service.clock.now) as (stub, url):
        line = StripeConnection(KEY, url, retries=0)
        provider = StripeProvider(
            line, webhook_secret=stripe_account.SECRET, tariff=FeeSchedule(290), mark=MARK, pages_url=url
        )

        async def pay(amount: int) -> str:
            made = await provider.create_payment(order(money=Money(amount, "USD")))
            stub.account.pay_with_card(made.id)
            return made.id

        def refund(payment: str) -> None:
            stub.account.new_refund({"payment_intent": stub.account.sessions[payment]["payment_intent"]})

        try:
            yield Contract(provider.payout_report_source(), pay, refund, lambda: str(stub.account.pay_out()["id"]))
        finally:
            await provider.close()


@pytest.fixture(params=[at_stripe], ids=["stripe"])
async def contract(request: pytest.FixtureRequest, service: Service) -> AsyncIterator[Contract]:
    """Each implementation in turn."""
    async with request.param(service) as made:
        yield made


def test_the_contract_asks_for_all_that_the_port_has() -> None:
    port = {name for name in vars(PayoutReportSource) if not name.startswith("_")}
    text = Path(__file__).read_text("utf-8")
    assert {name for name in port if f"reports.{name}" not in text} == set()


class TestPayoutReports:
    """The contract."""

    async def test_m7_every_payment_and_refund_is_a_line_and_they_come_to_the_payout(self, contract: Contract) -> None:
        first, second = await contract.pay(2500), await contract.pay(4000)
        contract.refund(first)
        reference = contract.pay_out()
        made = await contract.reports.fetch_report(reference)
        assert (made.provider, made.reference, made.currency) == (contract.reports.name, reference, "USD")
        assert sorted((line.kind, line.provider_payment_id, line.gross.minor) for line in made.lines) == sorted(
            [
                (SettlementLineKind.PAYMENT, first, 2500),
                (SettlementLineKind.REFUND, first, 2500),
                (SettlementLineKind.PAYMENT, second, 4000),
            ]
        )
        assert all(line.fee.minor >= 0 for line in made.lines)
        assert await contract.reports.fetch_report(reference) == made, "the same as often as it is asked for"

    async def test_what_arrived_since_is_told_oldest_first(self, contract: Contract, service: Service) -> None:
        found = []
        for _ in range(2):
            await contract.pay(2500)
            found.append(contract.pay_out())
            service.clock.advance(timedelta(days=1))
        since = service.clock.now() - timedelta(days=3)
        assert await contract.reports.list_payout_references(since) == found
        assert await contract.reports.list_payout_references(service.clock.now() + timedelta(days=7)) == []

    @pytest.mark.parametrize("reference", ["po_nowhere", "../charges", "po_\u0661"])
    async def test_an_unknown_payout_is_a_failure(self, contract: Contract, reference: str) -> None:
        with pytest.raises(ProviderFailure):
            await contract.reports.fetch_report(reference)
