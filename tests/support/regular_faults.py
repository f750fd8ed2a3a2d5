"""Faults of recurring donations that the self-check must report."""

from collections.abc import Iterator

from tests.support.client import Client
from tests.support.payouts import simulate
from tests.support.regular_gifts import begin_plan, pass_days
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create a plan that was paid twice, and one whose second charge was declined."""
    plans = [await begin_plan(service, api, "weekly") for _ in range(2)]
    for plan in plans:
        await simulate(api, (await plan.gifts())[0]["id"], "settle")
    await plans[1].decline_next()
    await pass_days(service, 7, by=7)
    assert [[outcome for _, outcome in await plan.dates()] for plan in plans] == [["paid"], ["open"]]


def of_plans() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    paid = "donation_subscriptions.paid_dates_match"
    yield Fault(
        paid, "update donation_subscription_charge set status = 'failed', charged_on = null where status = 'paid'"
    )
    yield Fault(
        paid,
        "update donation_subscription_charge set status = 'paid', charged_on = due_on, next_attempt_at = null "
        "where status = 'open'",
    )
    totals = "donation_subscriptions.totals_match"
    yield Fault(totals, "update donation_subscription set donations_count = donations_count + 1")
    yield Fault(totals, "update donation_subscription set total_minor = total_minor - 1")
    yield Fault(
        "donation_subscriptions.charges_are_authorised",
        "update donation_subscription_agreement set amount_minor = amount_minor - 1",
    )
    yield Fault(
        "donation_subscriptions.charges_are_authorised",
        "update donation_subscription_agreement set agreed_at = 'infinity'",
    )
    yield Fault("donation_subscriptions.processed_on_time", f"update donation_subscription set wake_at = {OLD}")
    yield Fault(
        "donation_subscriptions.first_charge_needs_donor",
        "update payment set off_session = true",
    )
