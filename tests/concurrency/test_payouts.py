"""Many runs, imports and decisions at once: nobody is paid twice, no gift is settled twice, the books balance (M4)."""

import asyncio
import random
from contextlib import suppress
from time import perf_counter
from typing import Any
from uuid import UUID

import pytest

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import books, factories
from tests.support import giving as givings
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.fake_provider import FakeProvider
from tests.support.figures import Figures
from tests.support.giving import gift
from tests.support.payouts import came_back, events_of, payouts, release, run, settled, uuid_of, verified
from tests.support.reports import imported, report
from tests.support.requests import bundle
from tests.support.service import Service, serving


async def test_m4_eight_runs_at_once_pay_each_gift_once(service: Service, api: Client) -> None:
    nonprofits = [await factories.nonprofit(service) for _ in range(5)]
    gifts = []
    for nonprofit in nonprofits:
        await verified(service, api, nonprofit)
        gifts += [await settled(service, api, nonprofit, amount=1000) for _ in range(3)]
    ran = await asyncio.gather(*(run(service) for _ in range(8)))
    found = await payouts(api)
    assert sorted(one["organisationId"] for one in found) == sorted(nonprofits)
    assert {(one["status"], one["amount"]) for one in found} == {("PAID", 2925)}
    mine = sum(sums.disbursement_count for one in ran for sums in one.sent_totals_by_currency.values())
    assert mine >= len(nonprofits)  # and what other tests left
    for made in gifts:
        assert (await events_of(service, made)).count("donation.disbursed") == 1
    assert {await books.owed(service, nonprofit) for nonprofit in nonprofits} == {0}
    assert await books.balanced(service)


async def test_m4_one_report_imported_many_times_at_once_settles_once(service: Service, api: Client) -> None:
    provider = FakeProvider(name="fake_at_once")
    opened = []
    for _ in range(4):
        giving = await givings.open_session(service, api)
        giving.provider = provider
        await giving.begin(gift(2500))
        opened.append(giving)
    for payment, giving in zip(list(provider.payments), opened, strict=True):
        provider.pay_with_card(payment)
        await giving.come_back()
    lines = [("payment", payment, 25.0, 1.0) for payment in provider.payments]
    content = report(*lines, ("payment", "tp_unknown_at_once", 1.0, 0.0))
    other = report(*lines)
    done = await asyncio.gather(
        *(imported(service, one, provider.name) for one in (content, other, content, other, content))
    )
    assert {one.line_count for one in done} == {4, 5}
    assert done[0].matched_count + done[1].matched_count == 4
    for giving in opened:
        assert (await giving.events()).count("donation.settled") == 4
        assert await books.owed(service, giving.session["organisationId"]) == 2400
    assert await books.held(service, "USD", provider.name) == 0
    assert await books.balanced(service)


async def test_m4_payouts_reassignments_and_returns_at_once_leave_each_gift_with_one(
    service: Service, api: Client, other: Client
) -> None:
    nonprofits = [await factories.nonprofit(service) for _ in range(2)]
    for nonprofit in nonprofits:
        await verified(service, api, nonprofit)
    gifts = [await settled(service, api, nonprofits[n % 2], amount=1000) for n in range(8)]
    chance = random.Random(7)
    for _ in range(4):
        await asyncio.gather(
            *(reassign(service, made, chance.choice(nonprofits)) for made in gifts),
            *(run(service) for _ in range(2)),
            give_back_all(service, api),
        )
        owed = sum([await books.owed(service, nonprofit) for nonprofit in nonprofits])
        disbursed = data(await api.get("/v1/donations", status="DISBURSED"))
        assert owed == 975 * (8 - len(disbursed))
        assert sum([await books.on_its_way(service, nonprofit) for nonprofit in nonprofits]) == 0
    await run(service)
    assert [row["status"] for row in data(await api.get("/v1/donations"))] == ["DISBURSED"] * 8
    paid = sum(one["amount"] for one in await payouts(api, status="PAID", pageSize=100))
    assert paid == 8 * 975
    assert await books.balanced(service)


async def reassign(service: Service, made: dict[str, Any], target: str) -> None:
    donation, organisation = uuid_of(service, "donation", made["id"]), uuid_of(service, "organisation", target)
    with suppress(InvalidState):
        async with service.db.write() as tx:
            await reassignments.reassign_donation(
                tx,
                ALL_PARTNERS,
                donation,
                organisation,
                ground="merged",
                reason="by chance",
                reassigned_by="tests",
                rules=DisbursementRules(),
            )


async def give_back_all(service: Service, api: Client) -> None:
    for paid in await payouts(api, status="PAID"):
        with suppress(DisbursementError):
            await came_back(service, paid, "by chance")
            await release(service, paid["organisationId"])


@pytest.mark.soak
async def test_s4_a_payout_of_very_many_gifts_moves_them_in_bounded_transactions(
    empty_database: TestDatabase, figures: Figures
) -> None:
    """What a run, a return and the next run take, and how long one transaction holds at most."""
    many = figures.count(2500, 100_000)
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        nonprofit = await factories.nonprofit(service)
        await verified(service, api, nonprofit)
        partner = await fill(service, api, nonprofit, many)
        started = perf_counter()
        await asyncio.gather(*(run(service) for _ in range(2)))
        seconds = perf_counter() - started
        (payout,) = await payouts(api)
        assert (payout["status"], payout["amount"]) == ("PAID", 2 * many)
        assert (await api.get("/v1/donations", status="DISBURSED", pageSize=1)).json()["totalResults"] == many
        async with service.db.read() as tx:
            reported = await tx.fetchval(
                "select count(*) from event where partner_id = $1 and type = 'donation.disbursed'", partner
            )
        assert reported == many
        again = perf_counter()
        await came_back(service, payout)
        back = perf_counter() - again
        assert await books.owed(service, nonprofit) == 2 * many
        assert (await api.get("/v1/donations", status="DISBURSED", pageSize=1)).json()["totalResults"] == 0
        await api.close()
    figures.write(
        "disbursements",
        "one payout of very many gifts, by two runs at once",
        f"{many:,} gifts: sent and confirmed in {seconds:.1f} s, returned in {back:.1f} s",
    )


async def fill(service: Service, api: Client, nonprofit: str, many: int) -> UUID:
    """Very many settled gifts of one nonprofit, with the money for them in the books."""
    organisation = uuid_of(service, "organisation", nonprofit)
    async with service.db.write() as tx:
        partner: UUID = await tx.fetchval("select id from partner order by created_at desc, id desc limit 1")
        await tx.execute(
            """
            insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented,
                                  anonymous, metadata, created_at, status_changed_at, settled_at, settled_minor,
                                  settled_currency, donation_request_id)
            select gen_random_uuid(), $1, $2, 'direct', 'RECEIVED_PAYMENT', 3, 'USD', true, false, '{}', $3, $3, $3, 2,
                   'USD', $5
            from generate_series(1, $4)
            """,
            partner,
            organisation,
            tx.now,
            many,
            await bundle(tx, partner),
        )
        received = ledger_domain.build_payment_transfers(tx.new_id(), "bulk", organisation, Money(2 * many, "USD"))
        ledger.post_at_commit(tx, received)
    return partner
