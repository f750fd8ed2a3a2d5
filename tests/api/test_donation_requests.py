"""Donation requests: partners are asked for a period's direct donations, and pay them (settled 4, 5, 8)."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from almoner.access.partners import service as partners
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import (
    DonationRequestError,
    DonationRequestPayment,
    PartnerCurrency,
)
from almoner.kit.money import MAX_MINOR, Money
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import books, factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.members import member
from tests.support.payouts import events_of, gift, refused, simulate, uuid_of, verified
from tests.support.payouts import payouts as payouts_of
from tests.support.payouts import run as pay_out
from tests.support.requests import NEXT_PERIOD, asked, donations_of, paid, requests, run
from tests.support.service import Service, Tenant, serving


def statuses(donations: list[dict[str, Any]]) -> list[str]:
    """Where donations stand."""
    return [one["status"] for one in donations]


async def clearing(service: Service, currency: str = "USD") -> int:
    """What partners paid and covers no whole donation yet."""
    async with service.db.read() as tx:
        return int(
            await tx.fetchval(
                "select coalesce(sum(credits_minor - debits_minor), 0) from ledger_account "
                "where kind = 'request_clearing' and currency = $1",
                currency,
            )
        )


async def suspense(service: Service, currency: str = "USD") -> int:
    """What partners paid and nobody asked for."""
    async with service.db.read() as tx:
        return int(
            await tx.fetchval(
                "select coalesce(sum(credits_minor - debits_minor), 0) from ledger_account "
                "where kind = 'suspense' and provider = 'partner_transfers' and currency = $1",
                currency,
            )
        )


async def test_a_period_is_bundled_by_currency_once_it_is_over(service: Service, api: Client, other: Client) -> None:
    first = [await factories.direct(service, api, amount=amount) for amount in (1000, 250)]
    euros = await factories.direct(service, api, amount=700, currencyCode="EUR")
    cancelled = await factories.direct(service, api)
    data(await api.post(f"/v1/donations/{cancelled['id']}/cancel"))
    await run(service)
    assert await requests(api) == [], "the month is not over"
    service.clock.advance(days=NEXT_PERIOD)
    later = await factories.direct(service, api)
    await run(service)
    dollar, euro = await requests(api)
    assert (dollar, euro) == (
        {
            "id": dollar["id"],
            "status": "OPEN",
            "amount": 1250,
            "paidAmount": 0,
            "currencyCode": "USD",
            "reference": dollar["reference"],
            "donationIdsCount": 2,
            "dueAt": dollar["dueAt"],
            "createdAt": iso_timestamp(service.clock.now()),
        },
        {**euro, "amount": 700, "currencyCode": "EUR", "donationIdsCount": 1},
    )
    assert data(await api.get(f"/v1/donation-requests/{dollar['id']}")) == dollar
    assert (await api.get("/v1/donation-requests")).json()["object"] == "donation_request"
    bundled = await donations_of(api, dollar)
    assert [one["id"] for one in bundled] == [one["id"] for one in first]
    assert statuses(bundled) == ["REQUESTED_PAYMENT"] * 2
    assert {one["donationRequestId"] for one in bundled} == {dollar["id"]}
    assert (await gift(api, euros))["donationRequestId"] == euro["id"]
    assert statuses([await gift(api, later), await gift(api, cancelled)]) == ["ACTIVE", "CANCELLED"]
    await run(service)
    assert len(await requests(api)) == 2, "asked once"
    assert await requests(other) == []
    assert (await other.get(f"/v1/donation-requests/{dollar['id']}")).status_code == 404


async def test_the_run_comes_by_itself_after_the_period(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, request_interval="day", request_due_days=7)
    await factories.direct(service, api)
    await service.drain()
    assert await requests(api) == []
    service.clock.advance(days=1)
    await service.drain()
    [request] = await requests(api)
    assert request["dueAt"][:10] > request["createdAt"][:10]
    assert await events_of(service, (await donations_of(api, request))[0]) == [
        "donation.created",
        "donation.payment_requested",
    ]


async def test_too_little_waits_for_the_next_period(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        await partners.update_donation_settings(tx, tenant.partner, request_minimum_multiple=20)
    await factories.direct(service, api, amount=1999)
    service.clock.advance(days=NEXT_PERIOD)
    assert (await run(service)).uninvoiced_partner_currency_count > 0
    assert await requests(api) == []
    await factories.direct(service, api, amount=1)
    assert await requests(api) == []
    service.clock.advance(days=NEXT_PERIOD)
    await run(service)
    [request] = await requests(api)
    assert (request["amount"], request["donationIdsCount"]) == (2000, 2)


async def test_money_covers_the_oldest_first_in_part_in_full_and_over(service: Service, api: Client) -> None:
    cause = await factories.nonprofit(service)
    bank, owed = await books.in_bank(service, "USD"), await books.owed(service, cause)
    request = await asked(service, api, 1000, 500, 300, organisation=cause)
    await paid(service, request, 999, "TX-1")
    assert statuses(await donations_of(api, request)) == ["REQUESTED_PAYMENT"] * 3
    assert await clearing(service) >= 999
    await paid(service, request, 1, "TX-2")
    first, second, third = await donations_of(api, request)
    assert statuses([first, second, third]) == ["RECEIVED_PAYMENT", "REQUESTED_PAYMENT", "REQUESTED_PAYMENT"]
    assert first["settledAmount"] == {"amount": 1000, "currency": "USD"}
    assert first["settledAt"] == iso_timestamp(service.clock.now())
    [part] = await requests(api)
    assert (part["status"], part["paidAmount"]) == ("PARTLY_PAID", 1000)
    held = await suspense(service)
    made = await paid(service, request, 1000, "TX-3")
    assert (made.applied_minor, made.overpaid_minor, made.status) == (800, 200, "held")
    assert statuses(await donations_of(api, request)) == ["RECEIVED_PAYMENT"] * 3
    [whole] = await requests(api)
    assert (whole["status"], whole["paidAmount"], whole["amount"]) == ("PAID", 1800, 1800)
    assert await books.owed(service, cause) == owed + 1800
    assert await books.in_bank(service, "USD") == bank + 2000
    assert await suspense(service) == held + 200
    assert await books.balanced(service)


async def test_each_move_is_told_once_with_the_record_as_it_is(service: Service, api: Client) -> None:
    request = await asked(service, api, 1000)
    await paid(service, request, 1000, "TX-TOLD")
    await service.drain()
    [donation] = await donations_of(api, request)
    kinds = ["donation.created", "donation.payment_requested", "donation.payment_successful", "donation.settled"]
    assert await events_of(service, donation) == kinds
    reported = data(
        await api.get("/v1/events", pageSize=20)
    )  # the nonprofit's verification begins with its first money
    listed = [one for one in reported if one["eventType"].startswith("donation.")][:2]
    assert [one["eventType"] for one in listed] == kinds[:1:-1]
    assert [one["eventData"] for one in listed] == [donation] * 2


async def test_what_was_received_is_paid_out(service: Service, api: Client) -> None:
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    request = await asked(service, api, 1000, 500, organisation=cause)
    await simulate(api, request["id"], "pay")
    await pay_out(service)
    [payout] = await payouts_of(api, organisationId=cause)
    assert (payout["status"], payout["amount"]) == ("PAID", 1500)
    donations = await donations_of(api, request)
    assert statuses(donations) == ["DISBURSED"] * 2
    assert (await events_of(service, donations[0]))[-1] == "donation.disbursed"
    assert await books.owed(service, cause) == 0


async def test_other_money_is_held_whole_and_returned_by_a_person(service: Service, api: Client) -> None:
    request = await asked(service, api, 1000)
    euros = await paid(service, request, 700, "TX-EUR", currency="EUR")
    assert (euros.applied_minor, euros.status, (await requests(api))[0]["status"]) == (0, "held", "OPEN")
    assert await suspense(service, "EUR") >= 700
    await paid(service, request, 1000, "TX-WHOLE")
    late = await paid(service, request, 10, "TX-LATE")
    assert (late.applied_minor, late.status) == (0, "held")
    for payment in (euros, late):
        before = await suspense(service, payment.money.currency)
        async with service.db.write() as tx:
            await donation_requests.return_overpayment(tx, payment.id, note="sent back", decided_by="officer")
        assert await suspense(service, payment.money.currency) == before - payment.money.minor
        with pytest.raises(DonationRequestError, match="it is returned"):
            async with service.db.write() as tx:
                await donation_requests.return_overpayment(tx, payment.id, note="sent back", decided_by="officer")
    assert await books.balanced(service)


async def test_m4_a_transfer_is_booked_once_however_often_it_is_noted(service: Service, api: Client) -> None:
    request = await asked(service, api, 1000, 1000)
    reported = await asyncio.gather(
        *(paid(service, request, 1000, "TX-SAME") for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(one, DonationRequestError) for one in reported) == 4
    assert (await requests(api))[0]["paidAmount"] == 1000
    assert statuses(await donations_of(api, request)) == ["RECEIVED_PAYMENT", "REQUESTED_PAYMENT"]


async def test_owners_and_finance_people_are_told_by_mail(service: Service, api: Client, tenant: Tenant) -> None:
    reported = [await member(service, tenant, "owner"), await member(service, tenant, "finance", "developer")]
    other = await member(service, tenant, "developer")
    request = await asked(service, api, 123456, 50)
    await service.drain()
    for person in reported:
        [mail] = data(await api.get("/v1/sandbox/mailbox", to=person.email))
        assert mail["subject"] == f"{tenant.name}: 1,235.06 USD due for direct donations"
        for words in ("1,235.06 USD", request["reference"], request["id"]):
            assert words in mail["text"]
            assert words in mail["html"]
    assert data(await api.get("/v1/sandbox/mailbox", to=other.email)) == []


async def test_many_runs_at_once_ask_once(service: Service, api: Client) -> None:
    for amount in range(1, 8):
        await factories.direct(service, api, amount=amount)
    service.clock.advance(days=NEXT_PERIOD)
    await asyncio.gather(*(run(service) for _ in range(5)))
    [request] = await requests(api)
    assert (request["amount"], request["donationIdsCount"]) == (28, 7)


async def test_a_run_that_died_is_finished_by_the_next(service: Service, api: Client, tenant: Tenant) -> None:
    made = [await factories.direct(service, api, amount=amount) for amount in (5, 6, 7)]
    service.clock.advance(days=NEXT_PERIOD)
    of = PartnerCurrency(tenant.partner.id, "USD")
    async with service.db.write() as tx:
        _, more = await donation_requests.add_due_donations_to_request(tx, of, limit=2)
    assert more
    [request] = await requests(api)
    with pytest.raises(DonationRequestError, match="still being added"):
        await paid(service, request, 11, "TX-EARLY")
    await run(service)
    [request] = await requests(api)
    assert (request["amount"], request["donationIdsCount"]) == (18, 3)
    assert len(await donations_of(api, request)) == len(made)


async def test_more_donations_than_one_transaction_holds_are_all_received(service: Service, api: Client) -> None:
    request = await asked(service, api, *range(1, 130))
    named = uuid_of(service, "donationrequest", request["id"])
    async with service.db.write() as tx:  # and the process is gone
        money = Money(request["amount"], "USD")
        await donation_requests.receive_payment(tx, ALL_PARTNERS, named, money, "TX-MANY", recorded_by="officer")
    assert statuses(await donations_of(api, request)).count("RECEIVED_PAYMENT") == 100
    await service.drain()
    assert (await api.get("/v1/donations", donationRequestId=request["id"], status="RECEIVED_PAYMENT")).json()[
        "totalResults"
    ] == 129
    assert await books.balanced(service)


async def test_what_was_asked_for_is_neither_cancelled_nor_changed(service: Service, api: Client) -> None:
    request = await asked(service, api, 1000)
    [donation] = await donations_of(api, request)
    for answer in (
        await api.post(f"/v1/donations/{donation['id']}/cancel"),
        await api.patch(f"/v1/donations/{donation['id']}", {"organisationId": await factories.nonprofit(service)}),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "donation/invalid_state")
    service.clock.advance(days=60)
    await service.drain()
    assert await gift(api, donation) == donation, "no time cancels what a partner was asked for"


async def test_simulate_asks_and_pays(service: Service, api: Client) -> None:
    made = await factories.direct(service, api, amount=1000)
    assert (await refused(api, made["id"], "pay"))[0] == "donation/invalid_state"
    requested = await simulate(api, made["id"], "request")
    assert requested["status"] == "REQUESTED_PAYMENT"
    assert (await refused(api, made["id"], "request"))[0] == "donation/invalid_state"
    received = await simulate(api, made["id"], "pay")
    assert (received["status"], received["settledAmount"]["amount"]) == ("RECEIVED_PAYMENT", 1000)
    assert (await refused(api, requested["donationRequestId"], "pay"))[0] == "donation_request/invalid_state"
    other = await asked(service, api, 400)
    part = await simulate(api, other["id"], "pay", amount=100)
    assert (part["status"], part["paidAmount"]) == ("PARTLY_PAID", 100)
    assert (await simulate(api, other["id"], "pay"))["status"] == "PAID"
    assert (await simulate(api, other["id"], "pay", amount=5))["paidAmount"] == 400


async def check_the_books(service: Service) -> None:
    """The self-check finds nothing wrong with requests and with the books."""
    ours = [one for one in CHECKS if one.name.startswith(("donation_requests.", "ledger."))]
    assert not (await selfcheck.run_selfcheck(service.db, ours)).findings


async def test_the_books_and_their_checks_agree_afterwards(service: Service) -> None:
    await check_the_books(service)


async def test_what_is_over_pays_another_request_and_the_rest_stays_held(
    service: Service, api: Client, other: Client
) -> None:
    others, waiting = await suspense(service), await clearing(service)
    first = await asked(service, api, 500)
    over = await paid(service, first, 1000, "APPLY-1")
    assert (over.status, over.overpaid_minor) == ("held", 500)
    second = await asked(service, api, 100, 200)
    second_id = uuid_of(service, "donationrequest", second["id"])
    foreign = uuid_of(service, "donationrequest", (await asked(service, other, 100))["id"])

    async def apply(payment: DonationRequestPayment, request: UUID) -> DonationRequestPayment:
        async def record(_tx: Tx, _part: DonationRequestPayment) -> None: ...

        return await donation_requests_flows.apply_overpayment_to_other_request(
            service.db, payment.id, request, note="asked for", decided_by="officer", on_recorded=record
        )

    for wrong, stated in (
        (foreign, "another partner"),
        (uuid_of(service, "donationrequest", first["id"]), "has no open amount"),
    ):
        with pytest.raises(DonationRequestError, match=stated):
            await apply(over, wrong)
    assert await suspense(service) == others + 500
    part = await apply(over, second_id)
    assert (part.applied_minor, part.overpaid_minor, part.status) == (300, 200, "held")
    assert statuses(await donations_of(api, second)) == ["RECEIVED_PAYMENT"] * 2
    assert (data(await api.get(f"/v1/donation-requests/{second['id']}"))["status"], await suspense(service)) == (
        "PAID",
        others + 200,
    )
    with pytest.raises(DonationRequestError, match="it is applied"):
        await apply(over, second_id)
    third = await asked(service, api, 900)
    last = await apply(part, uuid_of(service, "donationrequest", third["id"]))
    assert (last.status, await suspense(service), await clearing(service)) == ("booked", others, waiting + 200)
    with pytest.raises(DonationRequestError, match="already been recorded"):
        await paid(service, third, 1, "APPLY-1")
    assert (await paid(service, third, 700, "APPLY-2")).status == "booked"
    assert data(await api.get(f"/v1/donation-requests/{third['id']}"))["status"] == "PAID"
    await check_the_books(service)
    assert await books.balanced(service)


async def test_what_is_over_is_applied_or_returned_once_whoever_is_first(service: Service, api: Client) -> None:
    others = await suspense(service)
    over = await paid(service, await asked(service, api, 500), 700, "APPLY-ONCE")
    requests_of = [uuid_of(service, "donationrequest", (await asked(service, api, 200))["id"]) for _ in range(3)]

    async def apply(request: UUID) -> None:
        async with service.db.write() as tx:
            await donation_requests.apply_overpayment_to_other_request(
                tx, over.id, request, note="x", decided_by="officer"
            )

    async def give_back() -> None:
        async with service.db.write() as tx:
            await donation_requests.return_overpayment(tx, over.id, note="x", decided_by="officer")

    done = await asyncio.gather(*map(apply, requests_of), give_back(), return_exceptions=True)
    assert sorted(isinstance(one, DonationRequestError) for one in done) == [False, True, True, True]
    assert await suspense(service) == others
    assert await books.balanced(service)


async def test_what_is_too_much_for_one_request_goes_into_the_next_and_keeps_nobody_back(
    empty_database: TestDatabase,
) -> None:
    async with serving(empty_database) as alone:
        first, other = [alone.client((await alone.tenant()).secret) for _ in range(2)]
        for amount in (MAX_MINOR, MAX_MINOR, 300, 40):
            await factories.direct(alone, first, amount=amount)
        made = await factories.direct(alone, other, amount=70_000)
        alone.clock.advance(days=NEXT_PERIOD)
        assert len((await run(alone)).created_requests) == 4
        assert (await gift(other, made))["status"] == "REQUESTED_PAYMENT"
        found = (await requests(first))[::-1]
        whole = [(one["amount"], one["donationIdsCount"], one["status"]) for one in found]
        assert whole == [(MAX_MINOR, 1, "OPEN"), (MAX_MINOR, 1, "OPEN"), (340, 2, "OPEN")]
        assert [one["amount"] for one in await donations_of(first, found[-1])] == [300, 40]
        await simulate(first, found[0]["id"], "pay")
        assert statuses(await donations_of(first, found[0])) == ["RECEIVED_PAYMENT"]
        again = [await factories.direct(alone, first, amount=MAX_MINOR) for _ in range(2)]
        assert (await simulate(first, again[-1]["id"], "request"))["status"] == "REQUESTED_PAYMENT"
        assert len(await requests(first)) == 5
        await check_the_books(alone)
        for api in (first, other):
            await api.close()


async def test_a_request_is_full_at_the_end_of_a_batch_as_well(service: Service, api: Client, tenant: Tenant) -> None:
    for amount in (MAX_MINOR - 1, 1, 2, 3):
        await factories.direct(service, api, amount=amount)
    service.clock.advance(days=NEXT_PERIOD)
    of, more, finished = PartnerCurrency(tenant.partner.id, "USD"), True, []
    while more:
        async with service.db.write() as tx:
            made, more = await donation_requests.add_due_donations_to_request(tx, of, limit=2)
        finished += [made.money.minor] if made and not made.is_adding_donations else []
    assert finished == [MAX_MINOR, 5]
