"""Refunds beside payouts, settlements and reassignments at the same moment: nothing is sent twice or lost (M4)."""

import asyncio
import random
from contextlib import suppress
from functools import partial
from typing import Any

from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DisbursementBatch, InvalidState
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import books, factories
from tests.support import giving as givings
from tests.support import payouts as support
from tests.support import refunds as back
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.fake_provider import FakeProvider
from tests.support.giving import gift
from tests.support.locking import waits_for_lock
from tests.support.payouts import payouts, run, uuid_of, verified
from tests.support.reports import imported, report
from tests.support.service import Service

GIFTS = 6
AMOUNT = 1000
FEE = 30


async def test_a_gift_that_comes_into_a_payout_in_the_same_moment_goes_back_all_the_same(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await support.settled(service, api, nonprofit)
    async with service.db.write() as tx:
        donation = await donations.get(tx, ALL_PARTNERS, uuid_of(service, "donation", made["id"]))
        bucket = DisbursementBatch(donation.partner_id, donation.organisation_id, donation.money.currency)
        await disbursements.add_donations_to_disbursement(tx, bucket, DisbursementRules())
        asking = asyncio.create_task(back.refund(api, made, 1000))

        await eventually(partial(waits_for_lock, service))
    assert (await asking)["id"] == made["id"]
    assert [one.money.minor for one in await back.of(service, made)] == [1000]


async def test_m4_refunds_payouts_reports_and_reassignments_at_once(alone: Service) -> None:
    api = alone.client((await alone.tenant()).secret)
    nonprofits = [await factories.nonprofit(alone) for _ in range(2)]
    for nonprofit in nonprofits:
        await verified(alone, api, nonprofit)
    provider = FakeProvider(name="at_once")
    for n in range(GIFTS):
        giving = await givings.open_session(alone, api, organisation=nonprofits[n % 2])
        giving.provider = provider
        await giving.begin(gift(AMOUNT))
        provider.pay_with_card(list(provider.payments)[-1])
        await giving.come_back()
    gifts = data(await api.get("/v1/donations"))
    lines = [("payment", payment, AMOUNT / 100, FEE / 100) for payment in provider.payments]
    chance = random.Random(11)
    for _ in range(5):
        await asyncio.gather(
            *(part(alone, provider, made, chance) for made in gifts),
            *(reassign(alone, made, chance.choice(nonprofits)) for made in gifts),
            *(run(alone) for _ in range(2)),
            imported(alone, report(*chance.sample(lines, 4)), "at_once"),
            give_back_all(alone, api),
        )
        assert await books.balanced(alone)
    await imported(alone, report(*lines), "at_once")
    await alone.drain()
    await run(alone)
    await adds_up(alone, api, provider, nonprofits)
    await alone.drain()
    assert (await selfcheck.run_selfcheck(alone.db, CHECKS)).findings == ()
    await api.close()


async def adds_up(service: Service, api: Client, provider: FakeProvider, nonprofits: list[str]) -> None:
    """What came is what went back, what was paid out, and the fees of what was left."""
    gifts = data(await api.get("/v1/donations"))
    went = sum(made.money.minor for _, made in provider.refunds.values())
    assert went == sum(one["refundedAmount"] or 0 for one in gifts)
    paid = sum(one["amount"] for one in await payouts(api, status="PAID", pageSize=100))
    owed = sum([await books.owed(service, nonprofit) for nonprofit in nonprofits])
    due = sum(max(0, AMOUNT - FEE - (one["refundedAmount"] or 0)) for one in gifts)
    assert paid + owed == due
    for one in gifts:
        reported = await support.events_of(service, one)
        sent = [refund for refund in await back.of(service, one) if refund.status == "sent"]
        assert reported.count("donation.refunded") == len(sent)
        assert reported.count("donation.settled") == 1


async def part(service: Service, provider: FakeProvider, made: dict[str, Any], chance: random.Random) -> None:
    """A part of a gift goes back, is refused, or cannot."""
    how, minor = chance.random(), chance.choice([None, 100, 250, 970])
    with suppress(InvalidState, IncorrectParams):
        refund = await back.begun(service, made, minor)
        if how < 0.3:
            with suppress(RefundError):
                async with service.db.write() as tx:
                    await refunds.mark_refused(tx, refund.id, "by chance", "tests")
        else:
            await asyncio.gather(*(back.send(service, provider, refund.id) for _ in range(2)))


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
            await support.came_back(service, paid, "by chance")
            await support.release(service, paid["organisationId"])
