"""A synthetic month of Stripe's payouts with faults of every kind: all are found, and none is invented (M7)."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from random import Random

import pytest

from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import MismatchReason
from almoner.giving.accounting.settlements.jobs import FETCH, fetch_payout_reports
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Job, JobDone
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.giving import gift
from tests.support.service import Service
from tests.support.stripe_account import Thing
from tests.support.stripe_giving import AtStripe, Stripe, serving_at_stripe

DAYS = 30
Fault = Callable[["Month", AtStripe], tuple[str, MismatchReason]]


@pytest.fixture
def own(alone: Service) -> Service:
    return alone


@pytest.fixture
async def partner(own: Service) -> AsyncIterator[Client]:
    api = own.client((await own.tenant()).secret)
    yield api
    await api.close()


@pytest.fixture
async def stripe(own: Service) -> AsyncIterator[Stripe]:
    async with serving_at_stripe(own) as made:
        yield made


class Month:
    """What happens at Stripe, and what of it is wrong: the line's name, and why it cannot be booked."""

    def __init__(self, stripe: Stripe) -> None:
        self.account = stripe.account
        self.wrong: Counter[tuple[str, MismatchReason]] = Counter()
        self.right = 0

    def charge_line(self, giving: AtStripe) -> Thing:
        """The balance transaction of a gift."""
        charge = self.account.paid_charge(giving.session["payment_intent"])
        assert charge is not None
        return self.account.balance[charge["balance_transaction"]]


def other_amount(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    line = month.charge_line(giving)
    line["amount"] += 1
    line["net"] += 1
    return giving.session["id"], MismatchReason.OTHER_AMOUNT


def other_currency(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    month.charge_line(giving)["currency"] = "eur"
    return giving.session["id"], MismatchReason.OTHER_CURRENCY


def refunded_by_hand(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    month.account.new_refund({"payment_intent": giving.session["payment_intent"]})
    month.right += 1
    return giving.session["id"], MismatchReason.NOT_REFUNDED


def disputed_unheard(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    month.account.open_dispute(giving.session["id"])
    month.account.notices.clear()
    month.right += 1
    return giving.session["id"], MismatchReason.NOT_DISPUTED


def stripes_own_fee(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    month.right += 1
    return month.account._book("stripe_fee", -700, 0, "usd", next(iter(month.account.charges))), (
        MismatchReason.UNKNOWN_PAYMENT
    )


def strangers_payment(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    price = {"quantity": 1, "price_data": {"currency": "usd", "unit_amount": 900}}
    urls = {"success_url": "https://shop.example", "cancel_url": "https://shop.example"}
    made = month.account.new_session({"mode": "payment", "line_items": [price], **urls})
    month.account.pay_with_card(made["id"])
    month.account.notices.clear()
    month.right += 1
    return made["payment_intent"], MismatchReason.UNKNOWN_PAYMENT


def failed_after_all(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    charge = month.account.paid_charge(giving.session["payment_intent"])
    assert charge is not None
    month.account._book("payment_failure_refund", -charge["amount"], 0, charge["currency"], charge["id"])
    month.right += 1
    return giving.session["id"], MismatchReason.NOT_REFUNDED


def refunded_and_disputed(month: Month, giving: AtStripe) -> tuple[str, MismatchReason]:
    found = refunded_by_hand(month, giving)
    charge = month.account.paid_charge(giving.session["payment_intent"])
    assert charge is not None
    charge["amount_refunded"] = 0  # the bank draws all of it, whatever went back before
    month.account.open_dispute(giving.session["id"])
    month.account.notices.clear()
    month.wrong[giving.session["id"], MismatchReason.NOT_DISPUTED] += 1
    return found


FAULTS: tuple[Fault | str, ...] = (
    other_amount,
    other_currency,
    refunded_by_hand,
    disputed_unheard,
    stripes_own_fee,
    strangers_payment,
    failed_after_all,
    refunded_and_disputed,
)
UNHEARD, REPEATED = "unheard", "repeated"


@pytest.mark.soak
async def test_m7_a_month_with_faults_of_every_kind_all_found_none_invented(
    stripe: Stripe, partner: Client, figures: Figures
) -> None:
    month, chance = Month(stripe), Random(figures.seed)
    daily = figures.count(1, 100)
    gifts = daily * DAYS
    each = max(1, gifts // 100)
    kinds: list[Fault | str] = [fault for fault in [*FAULTS, UNHEARD, REPEATED] for _ in range(each)]
    plan = dict(zip(chance.sample(range(gifts), len(kinds)), kinds, strict=True))
    again: list[Thing] = []
    for day in range(DAYS):
        for number in range(day * daily, (day + 1) * daily):
            giving = await stripe.open_session(partner)
            await giving.giving.begin(gift(chance.randint(100, 90_000)))
            stripe.account.pay_with_card(giving.session["id"])
            await happen(month, giving, plan.get(number), again)
        if day == DAYS - 1 and again:
            pay_again(month, again)
        for currency in ("usd", "eur"):
            if any(one["currency"] == currency and one["payout"] is None for one in stripe.account.balance.values()):
                stripe.account.pay_out(currency)
        if day < DAYS - 1:
            stripe.service.clock.advance(timedelta(days=1))
    job = FETCH.decode(Job(0, FETCH.name, {}, attempt=1, failures=0, due_at=stripe.service.clock.now(), lane=None))
    for _ in range(2):
        assert (
            await fetch_payout_reports(stripe.provider.payout_report_source(), JobContext(stripe.service.db), job)
            == JobDone()
        )
    async with stripe.service.db.read() as tx:
        found = await settlements.list_unmatched_lines(tx, 10_000)
        matched = await tx.fetchval("select count(*) from settlement_line where status = 'matched'")
    assert (
        Counter((one.stored_line.line.provider_payment_id, one.stored_line.mismatch_reason) for one in found)
        == month.wrong
    )
    assert matched == month.right
    figures.write(
        "stripe-month",
        "A month of Stripe's payouts with faults of every kind (M7)",
        f"{gifts:,} gifts, {each} faults of each of {len(FAULTS) + 2} kinds: all {len(found)} listed as exceptions, "
        f"each for its reason; {matched:,} lines booked, none invented and none missing",
    )


async def happen(month: Month, giving: AtStripe, kind: Fault | str | None, again: list[Thing]) -> None:
    """One gift's day: its notice is heard, and what is planned for it goes wrong."""
    if kind == UNHEARD:
        month.account.notices.clear()
        month.wrong[giving.session["id"], MismatchReason.NOT_PAID] += 1
        return
    assert await giving.deliver() == [204]
    if callable(kind):
        month.wrong[kind(month, giving)] += 1
        return
    month.right += 1
    if kind == REPEATED:
        again.append(month.charge_line(giving))


def pay_again(month: Month, lines: list[Thing]) -> None:
    """Stripe pays out once more what it has paid out before."""
    for line in lines:
        number = month.account._book("charge", line["amount"], line["fee"], line["currency"], line["source"])
        if line["payout"] is None:  # both are in one payout
            month.wrong[number, MismatchReason.UNKNOWN_PAYMENT] += 1
            continue
        charge = month.account.charges[line["source"]]
        session = month.account.session_of(charge["payment_intent"])
        month.wrong[session["id"], MismatchReason.SETTLED_BEFORE] += 1
