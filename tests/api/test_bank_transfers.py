"""Donors' bank transfers: details, confirmation, 30 days, and what our bank's lines do (settled 5; M6, M7)."""

import random
from datetime import date, timedelta
from typing import Any

import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment, UnallocatedPaymentError
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankLine, BankStatementError
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations.domain import CheckoutState
from almoner.kit import iso11649
from tests.support import factories
from tests.support import giving as support
from tests.support.claims import cause
from tests.support.client import Client, data
from tests.support.gift_aid_world import HOME
from tests.support.giving import DAY, PAID, Giving, gift
from tests.support.payouts import simulate
from tests.support.reports import imported, report
from tests.support.service import Service
from tests.support.transfers import begun, came, confirmed, reference, stated

SETTLED = [*PAID, "donation.settled"]


@pytest.fixture
async def giving(service: Service, api: Client) -> Giving:
    """A session whose donor is about to give."""
    return await support.open_session(service, api)


async def held(giving: Giving) -> list[UnallocatedPayment]:
    """What is held of the donor's transfers, oldest first."""
    named = await reference(giving)
    async with giving.service.db.write() as tx:
        return await suspense.lock_by_reference(tx, named)


async def line(giving: Giving, name: str) -> BankLine:
    """A line by the bank's name of it."""
    async with giving.service.db.read() as tx:
        found = await bank_statements.list_oldest_open_or_newest_lines(tx, 200, newest_of_any_status=True)
    return next(one for one in found if one.movement.reference == name)


async def donation(giving: Giving) -> dict[str, Any]:
    """The newest donation of the partner."""
    return (await giving.donations())[0]


async def test_a_transfer_is_confirmed_arrives_and_is_settled_at_once(giving: Giving) -> None:
    started = await begun(giving)
    assert started.state is CheckoutState.UNDER_WAY
    assert started.payment_url is not None
    assert started.payment_url.endswith(f"/give/{giving.session['id']}/transfer")
    await confirmed(giving)
    assert await giving.status() == "completed"
    assert (await donation(giving))["status"] == "REQUESTED_PAYMENT"
    named = await reference(giving)
    name = f"T1-{named}"
    words = f"gift rf{named[2:4]} {named[4:8].lower()}-{named[8:].lower()} thank you"
    looked = await stated(giving, came(name, 2500, words), reference=f"S1-{named}")
    assert looked.matched_line_count == 1
    assert (await line(giving, name)).matched_as == "donation"
    now = await donation(giving)
    assert (now["status"], now["amount"], now["settledAmount"]["amount"]) == ("RECEIVED_PAYMENT", 2500, 2500)
    assert await giving.events() == SETTLED
    await stated(giving, came(name, 2500, words), reference=f"S1-{named}")
    assert await giving.events() == SETTLED
    assert await giving.status() == "completed"


async def test_a_transfer_that_was_not_confirmed_counts_while_the_donation_waits(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    await stated(giving, came(f"T2-{named}", 2500, named), reference=f"S2-{named}")
    assert await giving.events() == SETTLED
    assert await giving.status() == "completed"


async def test_a_confirmed_transfer_waits_30_days_and_no_longer(giving: Giving) -> None:
    await begun(giving)
    await confirmed(giving)
    giving.service.clock.advance(timedelta(days=29))
    await giving.sweep()
    assert (await donation(giving))["status"] == "REQUESTED_PAYMENT"
    giving.service.clock.advance(timedelta(days=1))
    await giving.sweep()
    assert (await donation(giving))["status"] == "CANCELLED"
    assert await giving.status() == "completed"


async def arrived_late(giving: Giving, currency: str = "USD") -> date:
    """Import a confirmed transfer five days after the bank has booked it; the day on which it did."""
    await confirmed(giving)
    named = await reference(giving)
    booked = giving.service.clock.now().date() + timedelta(days=1)
    giving.service.clock.advance(timedelta(days=6))
    await stated(
        giving,
        came(f"T9-{named}", 2500, named, currency, day=booked.isoformat()),
        reference=f"S9-{named}",
        currency=currency,
    )
    await giving.service.drain()
    return booked


async def test_a_receipt_has_the_day_on_which_the_bank_booked_the_transfer(giving: Giving) -> None:
    await begun(giving)
    booked = await arrived_late(giving)
    async with giving.service.db.read() as tx:
        received_at = await tx.fetchval(
            "select r.received_at from receipt r join payment p on p.id = r.payment_id where p.provider_payment = $1",
            await reference(giving),
        )
    assert received_at.date() == booked


async def test_a_claim_has_the_day_on_which_the_bank_booked_the_transfer(service: Service, api: Client) -> None:
    of = await cause(service, api)
    giving = await support.open_session(service, api, organisationId=of.organisation)
    await begun(giving, gift(2500, "GBP", declarer=HOME))
    booked = await arrived_late(giving, "GBP")
    [listed] = await of.written(await of.drafted())
    assert listed.split(",")[-2:] == [f"{booked:%d/%m/%y}", "25.00"]


async def test_one_that_was_not_confirmed_is_cancelled_after_24_hours(giving: Giving) -> None:
    await begun(giving)
    giving.service.clock.advance(DAY)
    await giving.sweep()
    assert (await donation(giving))["status"] == "CANCELLED"


async def test_m6_late_money_is_held_and_an_officer_makes_it_a_gift(giving: Giving) -> None:
    await begun(giving)
    await confirmed(giving)
    named = await reference(giving)
    giving.service.clock.advance(timedelta(days=30))
    await giving.sweep()
    await stated(giving, came(f"T3-{named}", 2500, named), reference=f"S3-{named}")
    [late] = await held(giving)
    assert (late.reason, late.status, (late.auto_decide_at - late.received_at).days) == (
        "donation_cancelled",
        "held",
        30,
    )
    async with giving.service.db.write() as tx:
        made = await bank_transfers.apply_unallocated_payment_to_donation(tx, late.id, "the donor called", "officer")
    found = {one["id"]: one for one in await giving.donations()}
    now = found.pop(giving.service.db.deployment.ids.encode("donation", made.id))
    assert (now["status"], now["settledAmount"]["amount"], now["firstName"]) == ("RECEIVED_PAYMENT", 2500, "Ada")
    assert [one["status"] for one in found.values()] == ["CANCELLED"]
    session = data(await giving.api.get(f"/v1/donation-sessions/{giving.session['id']}"))
    await giving.service.drain()
    async with giving.service.db.read() as tx:
        names = await tx.fetchval("select donation_id from donation_session where id = $1", giving.session_id)
        received_at = await tx.fetchval("select received_at from receipt where donation_id = $1", made.id)
    assert (session["status"], names) == ("completed", made.id)
    assert received_at.date() == date(2026, 3, 2)  # of the line
    with pytest.raises(UnallocatedPaymentError, match="already decided on"):
        async with giving.service.db.write() as tx:
            await bank_transfers.apply_unallocated_payment_to_donation(tx, late.id, "again", "officer")


async def test_what_was_declared_for_a_late_gift_is_declared_for_the_gift_it_becomes(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service, country="GBR")
    giving = await support.open_session(service, api, organisationId=nonprofit)
    await begun(giving, gift(2500, "GBP", declarer=HOME))
    named = await reference(giving)
    giving.service.clock.advance(DAY)
    await giving.sweep()
    before = await donation(giving)
    assert (before["status"], before["giftAidId"] is None) == ("CANCELLED", False)
    await stated(giving, came(f"T3-{named}", 2500, named, "GBP"), reference=f"S3-{named}", currency="GBP")
    [late] = await held(giving)
    async with giving.service.db.write() as tx:
        await bank_transfers.apply_unallocated_payment_to_donation(tx, late.id, "the donor called", "officer")
    now = next(one for one in await giving.donations() if one["id"] != before["id"])
    assert now["status"] == "RECEIVED_PAYMENT"
    assert now["giftAidId"] not in {None, before["giftAidId"]}


@pytest.mark.parametrize(("minor", "reason"), [(2400, "short"), (2600, "over")])
async def test_m6_another_amount_is_held_and_may_be_accepted(giving: Giving, minor: int, reason: str) -> None:
    await begun(giving)
    await confirmed(giving)
    named = await reference(giving)
    await stated(giving, came(f"T4-{named}", minor, named), reference=f"S4-{named}")
    assert (await donation(giving))["status"] == "REQUESTED_PAYMENT"
    [other] = await held(giving)
    assert other.reason == reason
    async with giving.service.db.write() as tx:
        await bank_transfers.apply_unallocated_payment_to_donation(tx, other.id, "as it is", "officer")
    now = await donation(giving)
    assert (now["status"], now["amount"], now["settledAmount"]["amount"]) == ("RECEIVED_PAYMENT", minor, minor)
    assert await giving.events() == SETTLED


async def test_m6_another_currency_is_held_and_only_goes_back(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    entry = came(f"T5-{named}", 2500, named, "EUR")
    await stated(giving, entry, reference=f"S5-{named}", currency="EUR")
    [other] = await held(giving)
    assert (other.reason, other.money.currency) == ("other_currency", "EUR")
    with pytest.raises(UnallocatedPaymentError, match="you can only refund it"):
        async with giving.service.db.write() as tx:
            await bank_transfers.apply_unallocated_payment_to_donation(tx, other.id, "no", "officer")
    async with giving.service.db.write() as tx:
        await suspense.begin_refund(tx, other.id, "other currency", "officer")
    back = came(f"T6-{named}", -2500, named, "EUR")
    await stated(giving, back, reference=f"S6-{named}", currency="EUR")
    assert [one.status for one in await held(giving)] == ["refunded"]
    assert (await line(giving, f"T6-{named}")).matched_as == "donation_refund"


async def test_m6_late_money_in_another_currency_only_goes_back(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    giving.service.clock.advance(DAY)
    await giving.sweep()
    await stated(giving, came(f"TE-{named}", 2500, named, "EUR"), reference=f"SE-{named}", currency="EUR")
    [late] = await held(giving)
    assert late.reason == "donation_cancelled"
    with pytest.raises(UnallocatedPaymentError, match="you can only refund it"):
        async with giving.service.db.write() as tx:
            await bank_transfers.apply_unallocated_payment_to_donation(tx, late.id, "no", "officer")


async def test_m6_a_standing_order_goes_back_transfer_by_transfer(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    months = [came(f"TF{month}-{named}", 2500, named) for month in range(4)]
    await stated(giving, *months, reference=f"SF-{named}")
    again = await held(giving)
    assert [one.reason for one in again] == ["paid_twice"] * 3
    async with giving.service.db.write() as tx:
        for one in again:
            await suspense.begin_refund(tx, one.id, "a standing order", "officer")
        await suspense.record_manual_refund(tx, again[2].id, f"TG0-{named}", "sent", "officer")
    back = [came(f"TG{rank}-{named}", -2500, named) for rank in range(3)]
    await stated(giving, back[0], reference=f"SG0-{named}")
    assert [one.status for one in await held(giving)] == ["refunding", "refunding", "refunded"]
    await stated(giving, *back[1:], reference=f"SG1-{named}")
    assert {one.status for one in await held(giving)} == {"refunded"}
    assert {(await line(giving, f"TG{rank}-{named}")).matched_as for rank in range(3)} == {"donation_refund"}
    await stated(giving, came(f"TG3-{named}", -2500, named), reference=f"SG2-{named}")
    assert (await line(giving, f"TG3-{named}")).unreconciled_reason == "matched_before"  # sent back once too often


async def test_m6_a_second_transfer_of_the_same_reference_is_held(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    both = [came(f"T7-{named}", 2500, named), came(f"T8-{named}", 2500, named)]
    await stated(giving, *both, reference=f"S7-{named}")
    assert await giving.events() == SETTLED
    assert [(one.reason, one.status) for one in await held(giving)] == [("paid_twice", "held")]


async def test_the_donor_changes_to_a_card_and_back(giving: Giving) -> None:
    await begun(giving)
    first = await reference(giving)
    await giving.begin()
    card = giving.provider.only()
    assert (await begun(giving)).payment_url is not None
    assert giving.provider.payments[card].status == "cancelled"
    second = await reference(giving)
    assert first != second
    await stated(giving, came(f"T9-{first}", 2500, first), reference=f"S9-{first}")
    assert await giving.events() == SETTLED  # the reference of before is of the same gift
    assert len(await giving.donations()) == 1


async def test_another_amount_is_another_reference(giving: Giving) -> None:
    await begun(giving)
    first = await reference(giving)
    await begun(giving)
    assert await reference(giving) == first
    await begun(giving, gift(4000))
    assert await reference(giving) != first
    assert (await donation(giving))["amount"] == 4000


async def test_a_refund_goes_back_by_bank(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    await stated(giving, came(f"TA-{named}", 2500, named), reference=f"SA-{named}")
    paid = await donation(giving)
    data(await giving.api.post(f"/v1/donations/{paid['id']}/refund", {"amount": 1000}))
    back = came(f"TB-{named}", -1000, f"refund {named}")
    await stated(giving, back, reference=f"SB-{named}")
    assert (await line(giving, f"TB-{named}")).matched_as == "donation_refund"
    assert (await donation(giving))["refundedAmount"] == 1000


async def test_the_sandbox_simulates_a_transfer_and_our_bank(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "A", "lastName": "B", "email": "a@example.org"}
    reported = {"id": session["id"], "action": "donate", "way": "transfer", **donor}
    assert data(await api.post("/v1/sandbox/simulate", reported))["status"] == "completed"
    [waiting] = data(await api.get("/v1/donations"))
    assert waiting["status"] == "REQUESTED_PAYMENT"
    paid = data(await api.post("/v1/sandbox/simulate", {"id": waiting["id"], "action": "pay"}))
    assert (paid["status"], paid["settledAmount"]["amount"]) == ("RECEIVED_PAYMENT", 2500)
    again = data(await api.post("/v1/sandbox/simulate", {"id": waiting["id"], "action": "pay"}))
    assert again["status"] == "RECEIVED_PAYMENT"


async def test_m6_in_the_sandbox_a_partner_sees_what_a_short_transfer_does(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "A", "lastName": "B", "email": "a@example.org"}
    data(await api.post("/v1/sandbox/simulate", {"id": session["id"], "action": "donate", "way": "transfer", **donor}))
    [waiting] = data(await api.get("/v1/donations"))
    short = {"id": waiting["id"], "action": "pay", "amount": 100}
    assert data(await api.post("/v1/sandbox/simulate", short))["status"] == "REQUESTED_PAYMENT"


async def test_m7_a_report_without_a_bank_line_is_told_until_its_line_comes(giving: Giving) -> None:
    await giving.begin()
    payment = giving.provider.only()
    giving.provider.pay_with_card(payment)
    await giving.come_back()
    name = f"po_{payment}"
    await imported(giving.service, report(("payment", payment, 25.0, 1.0), reference=name), giving.provider.name)
    await stated(giving, came(f"U0-{payment}", 5, "interest"), reference=f"U0-{payment}"[:35])

    async def unbanked() -> list[tuple[int, int]]:
        async with giving.service.db.read() as tx:
            found = await bank_statements.list_missing_provider_payouts(tx, 1000)
        return [(one.payout.net_minor, one.mismatched_line_count) for one in found if one.payout.reference == name]

    assert await unbanked() == [(2400, 0)]
    await stated(giving, came(f"U1-{payment}", 2300, name), reference=f"U1-{payment}"[:35])
    assert await unbanked() == [(2400, 1)]
    assert (await line(giving, f"U1-{payment}")).unreconciled_reason == "other_amount"
    await stated(giving, came(f"U2-{payment}", 2400, name), reference=f"U2-{payment}"[:35])
    assert await unbanked() == []


async def test_an_officer_assigns_a_transfer_without_its_reference(giving: Giving) -> None:
    await begun(giving)
    named = await reference(giving)
    await stated(giving, came(f"TC-{named}", 2500, "a gift"), reference=f"SC-{named}")
    waiting = await line(giving, f"TC-{named}")
    assert waiting.unreconciled_reason == "unknown"
    async with giving.service.db.write() as tx:
        donation_id = tx.ids.decode("donation", str((await donation(giving))["id"]))
        assert donation_id is not None
        await bank_statements.assign_line_to_donation(tx, waiting.id, donation_id, assigned_by="officer")
    assert await giving.events() == SETTLED
    assert (await line(giving, f"TC-{named}")).matched_as == "donation"


async def test_a_line_is_not_assigned_to_a_gift_by_card(giving: Giving) -> None:
    await giving.begin()
    name = giving.provider.only()
    await stated(giving, came(f"TD-{name}", 2500, "a gift"), reference=f"SD-{name}"[:35])
    waiting = await line(giving, f"TD-{name}")
    gift_id = giving.service.db.deployment.ids.decode("donation", str((await donation(giving))["id"]))
    assert gift_id is not None
    with pytest.raises(BankStatementError, match="by bank transfer"):
        async with giving.service.db.write() as tx:
            await bank_statements.assign_line_to_donation(tx, waiting.id, gift_id, assigned_by="officer")


async def test_m7_a_month_of_transfers_with_one_fault_of_every_kind(service: Service, api: Client) -> None:
    chance = random.Random(11)
    donors = [await support.open_session(service, api) for _ in range(40)]
    for donor in donors:
        await begun(donor)
        await confirmed(donor)
    named = [await reference(donor) for donor in donors]
    short, over, twice, typo, late, seen = range(6)
    async with service.db.write() as tx:
        await tx.execute(
            "update donation set transfer_confirmed_at = transfer_confirmed_at - interval '31 days' "
            "where session_id = $1",
            donors[late].session_id,
        )
    await donors[late].sweep()
    amounts = {short: 2499, over: 2501}
    spelt = {typo: named[typo][:-1] + ("0" if named[typo][-1] != "0" else "1")}
    lines = [
        came(
            f"M{rank}-{one}",
            amounts.get(rank, 2500),
            chance.choice((iso11649.format_creditor_reference, str.lower, str))(spelt.get(rank, one)),
        )
        for rank, one in enumerate(named)
    ]
    chance.shuffle(lines)
    lines.append(came(f"M{twice}b-{named[twice]}", 2500, named[twice]))
    lines.append(came(f"M{seen}-{named[seen]}", 2500, named[seen]))
    looked = await stated(donors[0], *lines, reference=f"M-{named[0]}")
    assert looked.matched_line_count >= len(lines) - 1
    reported: dict[int, list[str]] = {}
    for rank, donor in enumerate(donors):
        now = [one.reason.value for one in await held(donor)]
        reported |= {rank: now} if now else {}
    assert reported == {
        short: ["short"],
        over: ["over"],
        twice: ["paid_twice"],
        late: ["donation_cancelled"],
        seen: ["paid_twice"],  # its balances prove that it came twice, under one reference
    }
    async with service.db.read() as tx:
        waiting = {
            row["reason"]
            for row in await tx.fetch(
                "select l.reason from bank_statement_line l join bank_statement s on s.id = l.statement_id "
                "where s.reference = $1 and l.status = 'open'",
                f"M-{named[0]}",
            )
        }
        settled = await tx.fetchval(
            "select count(*) from donation where session_id = any($1) and settled_at is not null",
            [donor.session_id for donor in donors],
        )
    assert waiting == {"unknown"}
    assert settled == len(donors) - 4  # all but what was short, over, late, or mistyped


async def test_a_simulated_transfer_is_refunded_in_parts(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "Ada", "email": "ada@example.org"}
    await simulate(api, session["id"], "donate", way="transfer", **donor)
    [made] = data(await api.get("/v1/donations", sessionId=session["id"]))
    assert (await simulate(api, made["id"], "pay"))["status"] == "RECEIVED_PAYMENT"
    for amount in (1000, 2500):
        back = await simulate(api, made["id"], "refund", **({"amount": 1000} if amount == 1000 else {}))
        assert (back["refundedAmount"], back["refundedAt"] is None) == (amount, False)
