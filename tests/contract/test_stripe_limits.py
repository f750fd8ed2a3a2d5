"""Large payouts of Stripe, which answers 429 to whoever asks too often: the number of calls, and going on (M7)."""

from collections.abc import AsyncIterator

import pytest

from almoner.adapters.payments_stripe import StripeProvider
from almoner.adapters.stripe_client import StripeConnection
from almoner.giving.checkout.payments.domain import FeeSchedule, ProviderFailure
from almoner.kit.time import SystemClock
from tests.support import stripe_account
from tests.support.stripe_account import MARK
from tests.support.stripe_stub import KEY, StripeStub, serving_stripe

LINES = 120
NAMES = "GET /v1/checkout/sessions"


@pytest.fixture
async def stub() -> AsyncIterator[tuple[StripeStub, str]]:
    async with serving_stripe(SystemClock().now) as made:
        yield made


def paid_out(stub: StripeStub) -> str:
    """A payout of many gifts."""
    for place in range(LINES):
        made = stub.account.new_session(
            {
                "mode": "payment",
                "line_items": [{"quantity": 1, "price_data": {"currency": "usd", "unit_amount": 900}}],
                "success_url": "https://give.example",
                "cancel_url": "https://give.example",
                "metadata": {"almoner": str(place), "almoner_deployment": MARK},
            }
        )
        stub.account.pay_with_card(made["id"])
    return str(stub.account.pay_out()["id"])


def provider_at(url: str, retries: int) -> StripeProvider:
    line = StripeConnection(KEY, url, retries=retries)
    return StripeProvider(line, webhook_secret=stripe_account.SECRET, tariff=FeeSchedule(290), mark=MARK, pages_url=url)


async def test_m7_a_call_too_many_is_made_again_after_a_moment(stub: tuple[StripeStub, str]) -> None:
    stripe, url = stub
    payout = paid_out(stripe)
    stripe.faults.often = 30
    provider = provider_at(url, retries=2)
    report = await provider.payout_report_source().fetch_report(payout)
    await provider.close()
    assert len(report.lines) == LINES
    assert {line.provider_payment_id for line in report.lines} == set(stripe.account.sessions)
    again = 4  # of the 124 calls every thirtieth
    assert stripe.calls.total() == 1 + 2 + LINES + again


async def test_m7_a_report_goes_on_where_too_many_calls_ended_it(stub: tuple[StripeStub, str]) -> None:
    stripe, url = stub
    payout = paid_out(stripe)
    provider = provider_at(url, retries=0)
    reports = provider.payout_report_source()
    for _ in range(2):
        stripe.faults.left = 50
        with pytest.raises(ProviderFailure):
            await reports.fetch_report(payout)
    stripe.faults.left = 50
    report = await reports.fetch_report(payout)
    await provider.close()
    assert len(report.lines) == LINES
    assert LINES <= stripe.calls[NAMES] <= LINES + 2 * 16  # those that were under way when it was refused
