"""Lines of providers' reports that draw refunds of gifts: each booked once, to the refund that it is of (M4, M7)."""

from uuid import UUID

from tests.support import books, refunds
from tests.support.client import Client
from tests.support.fake_provider import FakeProvider
from tests.support.giving import Giving, gift, open_session
from tests.support.payouts import events_of
from tests.support.reports import imported, reasons, report
from tests.support.service import Service


async def paid(service: Service, api: Client, provider: str, amount: int = 10_000) -> tuple[Giving, str, str]:
    """A gift that was paid at a provider of its own, the donation and the payment."""
    giving = await open_session(service, api)
    giving.provider = FakeProvider(name=provider)
    await giving.begin(gift(amount))
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    await giving.come_back()
    (donation,) = await giving.donations()
    return giving, donation["id"], payment


async def sent(giving: Giving, donation: str, minor: int) -> str:
    """A part goes back by the provider; what the provider calls it."""
    started = await refunds.begun(giving.service, {"id": donation}, minor)
    await refunds.send(giving.service, giving.provider, started.id)
    return (await refunds.of(giving.service, {"id": donation}))[-1].provider_refund or ""


async def drawn(service: Service, payment: str) -> list[tuple[int, UUID]]:
    """The booked lines of refunds, in the order of the refunds: how much, and of which."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select gross_minor, refund_id from settlement_line
            where provider_payment = $1 and kind = 'refund' and status = 'matched' order by refund_id
            """,
            payment,
        )
    return [tuple(row) for row in rows]


async def test_m7_two_refunds_of_one_amount_are_drawn_once_each(service: Service, api: Client) -> None:
    giving, donation, payment = await paid(service, api, "draws_a")
    nonprofit = giving.session["organisationId"]
    names = [await sent(giving, donation, 1000) for _ in range(2)]
    assert await books.held(service, "USD", "draws_a") == 8000
    content = report(
        ("payment", payment, 100.0, 3.0, ""),
        ("refund", payment, -10.0, 0.2, names[1]),
        ("refund", payment, -10.0, 0.2, names[0]),
    )
    done = await imported(service, content, "draws_a")
    assert (done.line_count, done.matched_count) == (3, 3)
    assert await imported(service, content, "draws_a") == done
    known = [one.id for one in await refunds.of(service, {"id": donation})]
    assert await drawn(service, payment) == [(-1000, known[0]), (-1000, known[1])]
    assert await books.held(service, "USD", "draws_a") == 0
    assert await books.owed(service, nonprofit) == 7700
    assert await books.fees(service, "USD", "draws_a") == 40, "a provider's fee for a refund is ours"
    again = await imported(service, report(("refund", payment, -10.0, 0.2, names[0])), "draws_a")
    assert again.unmatched_count == 1
    assert await reasons(service, payment) == ["settled_before"]
    assert await books.balanced(service)


async def test_m7_reports_that_name_no_refund_draw_by_amount(service: Service, api: Client) -> None:
    giving, donation, payment = await paid(service, api, "draws_b")
    for minor in (1000, 2500, 1000):
        await sent(giving, donation, minor)
    known = [one.id for one in await refunds.of(service, {"id": donation})]
    for gross in (-10.0, -25.0, -10.0):
        done = await imported(service, report(("refund", payment, gross, 0.0)), "draws_b")
        assert done.matched_count == 1
    assert await drawn(service, payment) == [(-1000, known[0]), (-2500, known[1]), (-1000, known[2])]
    assert (await imported(service, report(("refund", payment, -10.0, 0.0)), "draws_b")).unmatched_count == 1
    assert await reasons(service, payment) == ["settled_before"]
    assert await books.balanced(service)


async def test_m7_a_line_of_no_refund_of_ours_waits(service: Service, api: Client) -> None:
    _, donation, payment = await paid(service, api, "draws_c")
    content = report(("refund", payment, -10.0, 0.0, "tpr_theirs"))
    assert (await imported(service, content, "draws_c")).unmatched_count == 1
    assert await reasons(service, payment) == ["not_refunded"]
    started = await refunds.begun(service, {"id": donation}, 1000)
    await imported(service, content, "draws_c")
    assert await reasons(service, payment) == ["not_refunded"]
    await refunds.by_hand(service, started.id, "tpr_theirs")
    await imported(service, content, "draws_c")
    assert await reasons(service, payment) == []
    other = await imported(service, report(("refund", payment, -9.0, 0.0)), "draws_c")
    assert other.unmatched_count == 1
    assert await reasons(service, payment) == ["settled_before"]


async def test_m7_another_amount_or_currency_is_told(service: Service, api: Client) -> None:
    giving, donation, payment = await paid(service, api, "draws_d")
    name = await sent(giving, donation, 1000)
    await imported(service, report(("refund", payment, -9.0, 0.0, name)), "draws_d")
    assert await reasons(service, payment) == ["other_amount"]
    await imported(service, report(("refund", payment, -10.0, 0.0, name), currency="EUR"), "draws_d")
    assert sorted(await reasons(service, payment)) == ["other_amount", "other_currency"]
    assert (await events_of(service, {"id": donation})).count("donation.refunded") == 1
