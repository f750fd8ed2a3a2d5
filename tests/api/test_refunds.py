"""Gifts that go back, whole and in part: the record, its events, and what is owed (settled 4, 8, 9)."""

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import books, factories
from tests.support import payouts as support
from tests.support import refunds as back
from tests.support import requests as asking
from tests.support.client import Client, data
from tests.support.payouts import gift, payouts, run, settled, simulate, verified
from tests.support.service import Service, Tenant
from tests.support.signing_in import member, operator


async def test_a_whole_refund_is_told_once_it_is_sent(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await factories.donation(service, api, organisation=nonprofit)
    await service.drain()  # its receipt is sent
    answered = await back.refund(api, one)
    assert (answered["status"], answered["refundedAt"], answered["refundedAmount"]) == ("RECEIVED_PAYMENT", None, None)
    assert await books.owed(service, nonprofit) == 0
    await service.drain()
    after = await gift(api, one)
    assert (after["status"], after["refundedAmount"]) == ("RECEIVED_PAYMENT", 2500)
    assert after["refundedAt"] is not None
    assert (await support.events_of(service, one))[-1:] == ["donation.refunded"]
    assert (await newest_event(api)) == after
    assert await back.refused(api, one) == (
        "donation/invalid_state",
        ["all of the donation is refunded already"],
    )
    assert await books.balanced(service)


async def newest_event(api: Client) -> dict[str, Any]:
    """What the newest event of a refund holds."""
    events = data(await api.get("/v1/events"))
    reported: dict[str, Any] = next(one["eventData"] for one in events if one["eventType"] == "donation.refunded")
    return reported


async def test_part_refunds_add_up_and_never_to_more_than_was_given(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await settled(service, api, nonprofit, amount=10_000)
    reported = []
    for part, sum_ in ((1000, 1000), (2500, 3500), (6500, 10_000)):
        assert await back.refused(api, one, 10_001 - sum_ + part) == (
            "bad_request",
            [f"body.amount must be from 1 to {10_000 - sum_ + part}, which is left of the donation"],
        )
        await back.refund(api, one, part)
        await service.drain()
        assert (await gift(api, one))["refundedAmount"] == sum_
        assert await books.owed(service, nonprofit) == max(0, 9750 - sum_)
        reported.append((await newest_event(api))["refundedAmount"])
    assert reported == [1000, 3500, 10_000]
    assert (await support.events_of(service, one)).count("donation.refunded") == 3
    assert [one.money.minor for one in await back.of(service, one)] == [1000, 2500, 6500]
    assert [one.nonprofit_share.minor for one in await back.of(service, one)] == [1000, 2500, 6250]
    assert await books.balanced(service)


@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        (0, "body.amount must be"),
        (2501, "body.amount must be from 1 to 2500, which is left of the donation"),
        ("1", "body.amount must be"),
        (1.5, "body.amount must be"),
    ],
)
async def test_an_amount_that_cannot_go_back_is_refused(
    service: Service, api: Client, amount: Any, reason: str
) -> None:
    one = await factories.donation(service, api)
    code, reasons = await back.refused(api, one, amount)
    assert (code, len(reasons)) == ("bad_request", 1)
    assert reasons[0].startswith(reason)
    assert not await back.of(service, one)


async def test_the_fee_is_ours_in_whatever_order_the_provider_settles(service: Service, api: Client) -> None:
    before = await books.fees(service, "SEK")
    first, second = [await factories.nonprofit(service, country="SWE") for _ in range(2)]
    early = await factories.donation(service, api, organisation=first, amount=10_000, currencyCode="SEK")
    await back.refund(api, early)
    await service.drain()
    early = await simulate(api, early["id"], "settle")
    assert (early["settledAmount"]["amount"], early["refundedAmount"]) == (9750, 10_000)
    late = await settled(service, api, second, amount=10_000, currencyCode="SEK")
    await back.refund(api, late)
    await service.drain()
    assert [await books.owed(service, one, "SEK") for one in (first, second)] == [0, 0]
    assert await books.fees(service, "SEK") - before == 500
    for nonprofit in (first, second):
        await verified(service, api, nonprofit)
    await run(service)
    assert await payouts(api) == []
    assert await books.balanced(service)


async def test_a_fee_takes_no_more_than_is_left(service: Service, api: Client) -> None:
    before = await books.fees(service, "NOK")
    nonprofit = await factories.nonprofit(service, country="NOR")
    one = await factories.donation(service, api, organisation=nonprofit, amount=10_000, currencyCode="NOK")
    await back.refund(api, one, 9900)
    await simulate(api, one["id"], "settle")
    assert await books.owed(service, nonprofit, "NOK") == 0
    assert await books.fees(service, "NOK") - before == 150


async def test_a_gift_leaves_its_open_payout_and_what_is_left_comes_back(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await settled(service, api, nonprofit, amount=10_000)
    await settled(service, api, nonprofit, amount=1000)
    await service.drain()
    assert [row["amount"] for row in await payouts(api)] == [10_725]
    await back.begun(service, one, 4000)
    assert [row["amount"] for row in await payouts(api)] == [975]
    await run(service)
    assert [row["amount"] for row in await payouts(api)] == [975], "not while it is on its way back"
    await service.drain()
    assert [row["amount"] for row in await payouts(api)] == [6725]
    await verified(service, api, nonprofit)
    await run(service)
    paid = await gift(api, one)
    assert (paid["status"], paid["refundedAmount"], paid["settledAmount"]["amount"]) == ("DISBURSED", 4000, 9750)
    assert await books.owed(service, nonprofit) == 0
    code, reasons = await back.refused(api, one)
    assert code == "donation/invalid_state"
    assert reasons == ["the donation is DISBURSED: only one that is RECEIVED_PAYMENT can be refunded"]
    assert await books.balanced(service)


async def test_a_gift_on_its_way_to_its_nonprofit_stays(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await settled(service, api, nonprofit)
    await verified(service, api, nonprofit)
    (payout,) = await payouts(api)
    async with service.db.write() as tx:
        await disbursements.send_disbursement(
            tx, support.uuid_of(service, "disbursement", payout["id"]), DisbursementRules()
        )
    code, reasons = await back.refused(api, one)
    assert code == "donation/invalid_state"
    assert reasons == [f"the donation is in {payout['id']}, which is SENT"]
    await support.came_back(service, payout)
    await service.drain()
    await back.refund(api, one, 500)
    await service.drain()
    assert (await gift(api, one))["refundedAmount"] == 500
    await support.release(service, nonprofit)
    await run(service)
    assert [row["amount"] for row in await payouts(api)] == [1937, 2437]
    assert await books.balanced(service)


async def test_only_received_gifts_go_back(service: Service, api: Client) -> None:
    direct = await factories.direct(service, api)
    assert (await back.refused(api, direct))[0] == "donation/invalid_state"
    cancelled = data(await api.post(f"/v1/donations/{direct['id']}/cancel"))
    assert (await back.refused(api, cancelled))[0] == "donation/invalid_state"


async def test_a_direct_gift_goes_back_to_the_partner_by_bank(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    request = await asking.asked(service, api, 4000, 6000, organisationId=nonprofit)
    await asking.paid(service, request, 10_000, factories.unique("transfer"))
    one, other = await asking.donations_of(api, request)
    assert await books.owed(service, nonprofit) == 10_000
    in_bank = await books.in_bank(service, "USD")
    await back.refund(api, one, 1500)
    await service.drain()
    assert (await gift(api, one))["refundedAt"] is None, "nobody has sent it"
    (refund,) = await back.of(service, one)
    assert (refund.is_sent_by_bank_transfer, refund.status) == (True, "pending")
    await back.by_hand(service, refund.id, factories.unique("bank"))
    await service.drain()
    assert (await gift(api, one))["refundedAmount"] == 1500
    assert await books.owed(service, nonprofit) == 8500
    assert await books.in_bank(service, "USD") == in_bank - 1500
    done = await simulate(api, other["id"], "refund")
    assert done["refundedAmount"] == 6000
    await verified(service, api, nonprofit)
    await run(service)
    assert [row["amount"] for row in await payouts(api)] == [2500]


async def asked_for(service: Service) -> int:
    """How many refunds providers have yet to be asked for."""
    async with service.db.read() as tx:
        return int(await tx.fetchval("select count(*) from job where kind = 'refunds.send'"))


async def test_what_an_officer_has_sent_is_noted_and_nobody_is_asked(service: Service, api: Client) -> None:
    one, other = [await factories.donation(service, api) for _ in range(2)]
    called, before = factories.unique("tpr"), await asked_for(service)
    for gift_, expected in ((one, "sent"), (other, None)):
        with suppress(RefundError):  # one name ends one refund
            async with service.db.write() as tx:
                donation = support.uuid_of(service, "donation", gift_["id"])
                by = {"started_by": "officer", "note": "in the dashboard", "manual_refund_reference": called}
                await refunds.begin_refund(tx, ALL_PARTNERS, donation, 100, DisbursementRules(), **by)
        assert [refund.status for refund in await back.of(service, gift_)] == ([expected] if expected else [])
    assert await asked_for(service) == before


async def test_what_the_provider_refuses_is_owed_again(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await settled(service, api, nonprofit, amount=10_000)
    refund = await back.begun(service, one)
    assert await books.owed(service, nonprofit) == 0
    async with service.db.write() as tx:
        await refunds.record_provider_refusal(tx, refund.id, "the card is closed")
    await service.drain()
    service.clock.advance(minutes=1)  # what the job of the refund held meanwhile is looked for again
    await service.drain()
    assert await books.owed(service, nonprofit) == 9750
    assert (await gift(api, one))["refundedAt"] is None
    assert [row["amount"] for row in await payouts(api)] == [9750]
    (stored,) = await back.of(service, one)
    assert (stored.status, stored.ended_note) == ("refused", "the card is closed")
    async with service.db.write() as tx:
        await refunds.record_refund_sent(tx, refund.id, "tpr_late")  # has no effect any more
    assert (await gift(api, one))["refundedAt"] is None
    assert (await simulate(api, one["id"], "refund", amount=10_000))["refundedAmount"] == 10_000
    assert await books.balanced(service)


async def test_m3_what_is_refused_is_owed_again_less_the_fee_that_came_meanwhile(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    one = await factories.donation(service, api, organisation=nonprofit, amount=10_000)
    on_its_way = await back.begun(service, one)
    assert on_its_way.nonprofit_share.minor == 10_000
    await simulate(api, one["id"], "settle")
    assert await books.owed(service, nonprofit) == 0
    async with service.db.write() as tx:
        await refunds.mark_refused(tx, on_its_way.id, "no account", "officer")
    assert await books.owed(service, nonprofit) == 9750
    assert await books.balanced(service)


async def test_whoever_asked_and_our_officers_are_told_of_what_a_provider_refuses(
    service: Service, api: Client, tenant: Tenant
) -> None:
    reported, other = await member(service, tenant, "finance"), await member(service, tenant)
    officer = await operator(service, "finance")
    one = await factories.donation(service, api)
    await back.refund(api, one, 1000)
    (refund,) = await back.of(service, one)
    async with service.db.write() as tx:
        await refunds.record_provider_refusal(tx, refund.id, "the card is closed")
    for person, subject, stated in (
        (reported, f"{tenant.name}: refund of 10.00 USD not sent", "The donation is unchanged"),
        (officer, "Refund rejected by the payment provider at Almoner", "the card is closed"),
    ):
        [(title, text)] = await person.mails()
        assert title == subject
        assert stated in " ".join(text.split())
        assert one["id"] in text
    assert not await other.mails()
    assert (await gift(api, one))["refundedAmount"] is None
    assert "donation.refunded" not in await support.events_of(service, one)  # settled 6 knows no event of it
    begun_by_us = await back.begun(service, one, 1000)
    async with service.db.write() as tx:
        await refunds.mark_refused(tx, begun_by_us.id, "no account", "officer")
    assert len(await reported.mails()) == 1


async def test_what_is_left_goes_along_to_another_nonprofit(service: Service, api: Client) -> None:
    first, second = [await factories.nonprofit(service) for _ in range(2)]
    one = await settled(service, api, first, amount=10_000)
    await simulate(api, one["id"], "refund", amount=4000)
    await simulate(api, one["id"], "reassign", organisationId=second)
    assert (await books.owed(service, first), await books.owed(service, second)) == (0, 5750)
    refund = await back.begun(service, one, 1000)
    await simulate(api, one["id"], "reassign", organisationId=first)
    async with service.db.write() as tx:
        await refunds.record_provider_refusal(tx, refund.id, "no")
    assert (await books.owed(service, first), await books.owed(service, second)) == (5750, 0)
    assert await books.balanced(service)


async def test_a_refund_is_simulated_whole_and_in_part(service: Service, api: Client) -> None:
    one = await factories.donation(service, api)
    assert (await simulate(api, one["id"], "refund", amount=1))["refundedAmount"] == 1
    assert (await simulate(api, one["id"], "refund"))["refundedAmount"] == 2500
    assert (await support.refused(api, one["id"], "refund"))[0] == "donation/invalid_state"
    assert (await support.events_of(service, one)).count("donation.refunded") == 2


async def test_another_partners_gift_is_not_found(service: Service, api: Client, other: Client) -> None:
    one = await factories.donation(service, api)
    assert (await other.post(f"/v1/donations/{one['id']}/refund")).status_code == 404
    assert not await back.of(service, one)


async def mailed(api: Client, to: str) -> list[dict[str, Any]]:
    """What a donor was told of refunds, oldest first."""
    found: list[dict[str, Any]] = data(await api.get("/v1/sandbox/mailbox", to=to, subject="Your refund of"))
    return found[::-1]


async def test_the_donor_is_told_of_each_refund_once(service: Service, api: Client) -> None:
    to = f"{factories.unique('ada')}@example.org".lower().replace(" ", "")
    one = await factories.donation(service, api, amount=10_000, email=to)
    for part in (2500, None):
        service.clock.advance(timedelta(seconds=1))  # mails of one moment are in no order
        await back.refund(api, one, part)
        await service.drain()
        await service.drain()
    first, second = await mailed(api, to)
    assert first["subject"] == "Your refund of $25.00 is on its way"
    assert "$75.00 of your donation stays with the nonprofit. We have corrected your receipt" in first["text"]
    assert second["subject"] == "Your refund of $75.00 is on its way"
    assert "Your donation has been refunded in full. Your receipt is no longer valid" in second["text"]
    for mail in (first, second):
        assert sum("/gift?token=" in link for link in mail["links"]) == 1
        assert one["id"] in mail["text"]


async def test_the_mail_names_the_nonprofit_that_the_gift_was_for_then(service: Service, api: Client) -> None:
    to = f"{factories.unique('ada')}@example.org".lower().replace(" ", "")
    first, second, third = [
        await factories.nonprofit(service, name=f"{one} Aid") for one in ("First", "Second", "Third")
    ]
    one = await factories.donation(service, api, organisation=first, amount=10_000, email=to)
    for part, target in ((2500, second), (1500, third)):
        await back.by_hand(service, (await back.begun(service, one, part)).id, factories.unique("tpr"))
        service.clock.advance(timedelta(seconds=1))
        await simulate(api, one["id"], "reassign", organisationId=target)
        service.clock.advance(timedelta(seconds=1))
    await back.refund(api, one)
    for _ in range(3):
        await service.drain()
    reported = {mail["subject"].split()[3]: mail["text"] for mail in await mailed(api, to)}
    for amount, name in (("$25.00", "First"), ("$15.00", "Second"), ("$60.00", "Third")):
        assert f"{amount} for your donation to {name} Aid" in reported[amount]


async def test_of_a_direct_gift_the_partner_tells_its_donor(service: Service, api: Client) -> None:
    to = f"{factories.unique('ada')}@example.org".lower().replace(" ", "")
    request = await asking.asked(service, api, 4000, email=to)
    await asking.paid(service, request, 4000, factories.unique("transfer"))
    (one,) = await asking.donations_of(api, request)
    assert (await simulate(api, one["id"], "refund"))["refundedAmount"] == 4000
    await service.drain()
    assert await mailed(api, to) == []
