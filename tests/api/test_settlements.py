"""Reports of providers: what is booked, what is not and why, and that twice is once (M4, M7; settled 5)."""

from datetime import timedelta

import pytest

from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import SettlementReportError
from almoner.giving.accounting.suspense import flows as suspense_flows
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.payments.domain import ProviderStatus
from tests.support import books, factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.fake_provider import FakeProvider
from tests.support.giving import DAY, Giving, gift
from tests.support.payouts import simulate
from tests.support.reports import imported, reasons, report
from tests.support.service import Service


async def paid(service: Service, api: Client, provider: str, amount: int = 2500, currency: str = "USD") -> Giving:
    """A gift that was paid at a provider of its own."""
    giving = await support.open_session(service, api)
    giving.provider = FakeProvider(name=provider)
    await giving.begin(gift(amount, currency))
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    return giving


async def late(service: Service, api: Client, provider: str) -> Giving:
    """Money that came when the gift was cancelled, and is held."""
    giving = await support.open_session(service, api)
    giving.provider = FakeProvider(name=provider)
    await giving.begin()
    service.clock.advance(DAY)
    await giving.sweep()
    giving.provider.pay_with_card(giving.provider.only())
    await giving.come_back()
    return giving


async def refunded(giving: Giving) -> None:
    """The provider has sent held money back."""
    async with giving.service.db.write() as tx:
        held = await tx.fetchval(
            "select id from unallocated_payment where provider_payment = $1", giving.provider.only()
        )
    async with giving.service.db.write() as tx:
        await suspense.begin_refund(tx, held, "too late", "tests")
    await suspense_flows.refund_unallocated_payment(giving.service.db, giving.provider, held)


async def accounts(service: Service, provider: str, organisation: str) -> tuple[int, int, int]:
    """Owed to the nonprofit, held by the provider, fees that no gift bore."""
    return (
        await books.owed(service, organisation),
        await books.held(service, "USD", provider),
        await books.fees(service, "USD", provider),
    )


async def test_m7_each_line_of_a_report_is_booked_once(service: Service, api: Client) -> None:
    givings = [await paid(service, api, "fake_a", amount) for amount in (2500, 4000)]
    nonprofit = givings[0].session["organisationId"]
    first, second = (giving.provider.only() for giving in givings)
    content = report(("payment", first, 25.00, 1.01), ("payment", second, 40.00, 1.50))
    done = await imported(service, content, "fake_a")
    assert (done.line_count, done.matched_count, done.unmatched_count, done.net_minor, done.fee_minor) == (
        2,
        2,
        0,
        6249,
        251,
    )
    (donation,) = [one for one in await givings[0].donations() if one["amount"] == 2500]
    assert donation["settledAmount"] == {"amount": 2399, "currency": "USD"}
    assert donation["status"] == "RECEIVED_PAYMENT"
    assert await accounts(service, "fake_a", nonprofit) == (2399, 0, 0)
    assert await imported(service, content, "fake_a") == done
    assert await accounts(service, "fake_a", nonprofit) == (2399, 0, 0)
    assert (await givings[0].events()).count("donation.settled") == 2
    assert await books.balanced(service)


async def test_m7_what_does_not_go_with_our_books_is_an_exception_with_its_reason(
    service: Service, api: Client
) -> None:
    right, wrong = [await paid(service, api, "fake_b") for _ in range(2)]
    unpaid = await support.open_session(service, api)
    unpaid.provider = FakeProvider(name="fake_b")
    await unpaid.begin()
    named = [giving.provider.only() for giving in (right, wrong, unpaid)]
    lines = [("payment", named[0], 25.0, 1.0), ("payment", named[1], 24.0, 1.0), ("payment", named[2], 25.0, 1.0)]
    done = await imported(
        service, report(*lines, ("payment", "tp_of_nobody", 1.0, 0.0), ("refund", named[0], -25.0, 0.0)), "fake_b"
    )
    assert (done.matched_count, done.unmatched_count) == (1, 4)
    assert await reasons(service, named[1]) == ["other_amount"]
    assert await reasons(service, named[2]) == ["not_paid"]
    assert await reasons(service, "tp_of_nobody") == ["unknown_payment"]
    assert await reasons(service, named[0]) == ["not_refunded"]
    again = await imported(service, report(("payment", named[0], 25.0, 1.0)), "fake_b")
    assert (again.matched_count, again.unmatched_count) == (0, 1)
    euro = await paid(service, api, "fake_b", 2500, "EUR")
    other = await imported(service, report(("payment", euro.provider.only(), 25.0, 1.0)), "fake_b")
    assert other.unmatched_count == 1
    assert await reasons(service, euro.provider.only()) == ["other_currency"]
    async with service.db.read() as tx:
        shown = [
            one for one in await settlements.list_unmatched_lines(tx, 100_000) if one.stored_line.provider == "fake_b"
        ]
    assert len(shown) == 6
    assert [one.booked_in_report_reference for one in shown if one.stored_line.mismatch_reason == "settled_before"] == [
        done.reference
    ]
    assert [
        one.booked_in_report_reference for one in shown if one.stored_line.mismatch_reason == "unknown_payment"
    ] == [None]
    assert await books.held(service, "USD", "fake_b") == 2500
    assert await books.balanced(service)


async def test_m7_an_exception_is_booked_once_what_was_missing_has_come(service: Service, api: Client) -> None:
    giving = await support.open_session(service, api)
    giving.provider = FakeProvider(name="fake_c")
    await giving.begin()
    payment = giving.provider.only()
    content = report(("payment", payment, 25.0, 1.0))
    assert (await imported(service, content, "fake_c")).unmatched_count == 1
    giving.provider.become(payment, ProviderStatus.SUCCEEDED)
    await giving.come_back()
    assert (await imported(service, content, "fake_c")).matched_count == 1
    assert (await giving.donations())[0]["settledAmount"] == {"amount": 2400, "currency": "USD"}

    waiting = await support.open_session(service, api)
    waiting.provider = giving.provider
    await waiting.begin()
    second = next(one for one in giving.provider.payments if one != payment)
    await imported(service, report(("payment", second, 25.0, 1.0)), "fake_c")
    giving.provider.pay_with_card(second)
    await waiting.come_back()
    service.clock.advance(hours=1)
    assert (await imported(service, report(("payment", "tp_other", 1.0, 0.0)), "fake_c")).unmatched_count == 1
    assert await reasons(service, second) == []


async def test_m3_the_fee_of_held_money_is_ours_and_its_refund_is_drawn(service: Service, api: Client) -> None:
    giving = await late(service, api, "fake_d")
    payment = giving.provider.only()
    settled = await imported(service, report(("payment", payment, 25.0, 1.0)), "fake_d")
    assert settled.matched_count == 1
    assert await books.held(service, "USD", "fake_d") == 0
    assert await books.fees(service, "USD", "fake_d") == 100
    debited = report(("refund", payment, -25.0, 0.25))
    assert (await imported(service, debited, "fake_d")).unmatched_count == 1
    await refunded(giving)
    assert await books.held(service, "USD", "fake_d") == -2500
    assert (await imported(service, debited, "fake_d")).matched_count == 1
    assert await books.held(service, "USD", "fake_d") == 0
    assert await books.fees(service, "USD", "fake_d") == 125
    assert (await giving.donations())[0]["settledAt"] is None
    assert await books.balanced(service)


@pytest.mark.parametrize("provider", ["tset", "Test", "", "fake k"])
async def test_m8_a_report_of_a_provider_that_has_no_payment_of_ours_is_refused(
    service: Service, api: Client, provider: str
) -> None:
    await paid(service, api, "fake_k")
    with pytest.raises(SettlementReportError, match=rf"no payment was made through a provider '{provider}': .*fake_k"):
        await imported(service, report(("payment", "tp_k", 1.0, 0.0)), provider)


async def test_a_report_is_one_file(service: Service, api: Client) -> None:
    for provider in ("fake_e", "fake_f"):
        await paid(service, api, provider)
    await imported(service, report(("payment", "tp_e", 1.0, 0.0), reference="po_e"), "fake_e")
    with pytest.raises(SettlementReportError, match="a different file"):
        await imported(service, report(("payment", "tp_e", 2.0, 0.0), reference="po_e"), "fake_e")
    assert (
        await imported(service, report(("payment", "tp_e", 1.0, 0.0), reference="po_e"), "fake_f")
    ).unmatched_count == 1


async def test_the_fee_is_charged_to_whom_the_gift_is_for_now(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    made = await factories.donation(service, api, organisation=first, amount=10_000)
    await simulate(api, made["id"], "reassign", organisationId=second)
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 10_000)
    await simulate(api, made["id"], "settle")
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 9750)
    assert data(await api.get(f"/v1/donations/{made['id']}"))["organisationId"] == second


@pytest.mark.parametrize("ours", [True, False])
async def test_m4_a_payment_and_its_refund_may_lie_in_different_transactions(
    service: Service, api: Client, ours: bool
) -> None:
    giving = await paid(service, api, "fake_g")
    payment = giving.provider.only() if ours else "tp_nobody_g"
    between = [("payment", f"tp_between_{n}", 1.0, 0.0) for n in range(settlements.BATCH)]
    content = report(("payment", payment, 25.0, 1.0), *between, ("refund", payment, -25.0, 0.0))
    first = await imported(service, content, "fake_g")
    assert (first.matched_count, first.unmatched_count) == (int(ours), settlements.BATCH + 2 - ours)
    assert await imported(service, content, "fake_g") == first
    assert await reasons(service, payment) == (["not_refunded"] if ours else ["unknown_payment"] * 2)


async def test_m8_a_report_of_the_far_future_is_refused(service: Service, api: Client) -> None:
    giving = await paid(service, api, "fake_h")
    line = ("payment", giving.provider.only(), 25.0, 1.0)
    with pytest.raises(
        SettlementReportError, match="settled_on is 2062-03-02, which is more than 3 days in the future"
    ):
        await imported(service, report(line).replace(b"2026-03-02", b"2062-03-02"), "fake_h")
    ahead = f"{service.clock.now() + timedelta(days=3):%Y-%m-%d}".encode()
    assert (await imported(service, report(line).replace(b"2026-03-02", ahead), "fake_h")).matched_count == 1
