"""Every row of a donation's lifecycle and every event of it, by call and simulated (spec 2.8, 3.2, 6; settled 5, 6).

What an event tells is the record as it was at that moment: here no more has happened when it is read.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests.domain import PartnerCurrency
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import factories
from tests.support import giving as donors
from tests.support import payouts as support
from tests.support.client import Client, data
from tests.support.giving import Giving
from tests.support.payouts import SIMULATE, simulate, uuid_of
from tests.support.reports import imported, report
from tests.support.service import Service, Tenant

Move = Callable[["World"], Awaitable[object]]


@dataclass(slots=True)
class World:
    """One partner, two verified nonprofits, one donation."""

    service: Service
    tenant: Tenant
    api: Client
    cause: str
    other: str
    id: str = ""
    giving: Giving | None = None

    @property
    def donor(self) -> Giving:
        """Of a gift at a provider in memory."""
        assert self.giving is not None
        return self.giving

    async def newest(self) -> None:
        """The donation is the partner's newest."""
        self.id = data(await self.api.get("/v1/donations", pageSize=1))[0]["id"]

    async def record(self) -> dict[str, Any]:
        """As its GET shows it."""
        found: dict[str, Any] = data(await self.api.get(f"/v1/donations/{self.id}"))
        return found

    async def told(self) -> list[tuple[str, dict[str, Any]]]:
        """Types and records of the donation's events, in order."""
        async with self.service.db.read() as tx:
            rows = await tx.fetch(
                "select type, payload from event where partner_id = $1 and type like 'donation.%' order by position",
                self.tenant.partner.id,
            )
        return [(row["type"], json.loads(row["payload"])["data"]["eventData"]) for row in rows]

    async def simulates(self, action: str, **body: Any) -> None:
        """Somebody else does something, as the sandbox has it."""
        await simulate(self.api, self.id, action, **body)


# What leads to a state.


async def nothing(_: World) -> None:
    """Before there is a donation."""


async def opened(world: World) -> None:
    """A donor is on the page."""
    world.giving = await donors.open_session(world.service, world.api, organisation=world.cause)


async def asked_at_provider(world: World) -> None:
    """A donor has gone on to pay, at a provider in memory."""
    await opened(world)
    await world.donor.begin()
    await world.newest()


async def asked_in_sandbox(world: World) -> None:
    """A donor has gone on to pay at the test provider, where the card was declined."""
    made = await factories.session(world.service, world.api, organisation=world.cause)
    donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org", "card": "4000000000000002"}
    gift = {"id": made["id"], "action": "donate", "amount": 2500, "currencyCode": "USD", **donor}
    assert (await world.api.post(SIMULATE, gift)).json()["error"]["code"] == "sandbox/payment_declined"
    await world.newest()


async def paid_at_provider(world: World) -> None:
    """A gift was paid at a provider in memory."""
    await asked_at_provider(world)
    await pays(world)


async def paid(world: World) -> None:
    """A gift was paid at the test provider."""
    world.id = (await factories.donation(world.service, world.api, organisation=world.cause))["id"]


async def settled(world: World) -> None:
    """And its money came to us."""
    await paid(world)
    await world.simulates("settle")


async def disbursed(world: World) -> None:
    """And went on to the nonprofit."""
    await settled(world)
    await world.simulates("disburse")


async def active(world: World) -> None:
    """A direct donation."""
    world.id = (await factories.direct(world.service, world.api, organisation=world.cause))["id"]


async def requested(world: World) -> None:
    """The partner is asked for it."""
    await active(world)
    await world.simulates("request")


async def received(world: World) -> None:
    """And has paid."""
    await requested(world)
    await world.simulates("pay")


# What moves it: by calls, and by what happens outside.


async def begins(world: World) -> None:
    await world.donor.begin()
    await world.newest()


async def pays(world: World) -> None:
    payment = world.donor.provider.only()
    world.donor.provider.pay_with_card(payment)
    await world.donor.notify(payment)


async def a_day_passes(world: World) -> None:
    world.service.clock.advance(timedelta(hours=24))
    await world.service.drain()


async def reports(world: World) -> None:
    async with world.service.db.read() as tx:
        payment = await tx.fetchval(
            "select provider_payment from payment where donation_id = $1",
            uuid_of(world.service, "donation", world.id),
        )
    await imported(world.service, report(("payment", payment, 25.0, 1.0)), "test")


async def runs(world: World) -> None:
    await world.service.drain()
    await support.run(world.service)


async def bank_returns(world: World) -> None:
    (payout,) = await support.payouts(world.api, status="PAID")
    await disbursements_flows.mark_returned(
        world.service.db, uuid_of(world.service, "disbursement", payout["id"]), "closed", recorded_by="officer"
    )


async def officer_reassigns(world: World) -> None:
    ids = uuid_of(world.service, "donation", world.id), uuid_of(world.service, "organisation", world.other)
    async with world.service.db.write() as tx:
        await reassignments.reassign_donation(
            tx, ALL_PARTNERS, *ids, ground="merged", reason="merged", reassigned_by="officer", rules=DisbursementRules()
        )


def refunds(**body: int) -> Move:
    async def refund(world: World) -> None:
        data(await world.api.post(f"/v1/donations/{world.id}/refund", body))
        await world.service.drain()

    return refund


async def bank_wins(world: World) -> None:
    payment = world.donor.provider.only()
    world.donor.provider.open_dispute(payment, world.service.clock.now())
    world.donor.provider.decide_dispute(payment, DisputeStatus.LOST)
    await world.donor.notify(payment, "dispute.lost")


async def gives_directly(world: World) -> None:
    await active(world)


async def is_asked(world: World) -> None:
    await donation_requests_flows.invoice_partner(
        world.service.db, PartnerCurrency(world.tenant.partner.id, "USD"), end_period_now=True
    )


async def partner_pays(world: World) -> None:
    request = uuid_of(world.service, "donationrequest", (await world.record())["donationRequestId"])
    await donation_requests_flows.receive_payment(
        world.service.db, ALL_PARTNERS, request, Money(2500, "USD"), f"bank {request}", recorded_by="officer"
    )


async def cancels(world: World) -> None:
    data(await world.api.post(f"/v1/donations/{world.id}/cancel"))


def simulated(action: str, **body: Any) -> Move:
    async def move(world: World) -> None:
        await world.simulates(action, **body)

    return move


def simulated_to_other(world: World) -> Awaitable[None]:
    return world.simulates("reassign", organisationId=world.other)


CREATED, CANCELLED, SETTLED = "donation.created", "donation.cancelled", "donation.settled"
RECEIVED = ("donation.hosted.payment_received", "donation.payment_successful")
DISBURSED, RETURNED = "donation.disbursed", "donation.payout_returned"
REASSIGNED, REFUNDED = "donation.reassigned", "donation.refunded"
REQUESTED = "donation.payment_requested"
DISPUTED, CLOSED = "donation.disputed", "donation.dispute_closed"

ASKED, HERE, OUT, GONE = "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"
DIRECTLY = ("donation.payment_successful", SETTLED)
BACK = {"refundedAmount": 2500}
LOST = {**BACK, "disputedAt": ..., "disputeStatus": "lost"}
WON = {"refundedAt": None, "disputedAt": ..., "disputeStatus": "won"}
NET_OF_REPORT = {"settledAmount": {"amount": 2400, "currency": "USD"}}
NET_OF_TARIFF = {"settledAmount": {"amount": 2437, "currency": "USD"}}

ROWS: list[tuple[str, Move, Move, str, tuple[str, ...], dict[str, Any]]] = [
    ("3.2 submitted, by the donor", opened, begins, ASKED, (CREATED,), {"cancelledAt": None}),
    ("3.2 submitted, simulated", nothing, asked_in_sandbox, ASKED, (CREATED,), {"giftAidId": None}),
    ("3.2 paid, by the donor", asked_at_provider, pays, HERE, RECEIVED, {"settledAt": None}),
    ("3.2 paid, simulated", asked_in_sandbox, simulated("pay"), HERE, RECEIVED, {"settledAt": None}),
    ("3.2 abandoned, by time", asked_at_provider, a_day_passes, GONE, (CANCELLED,), {"cancelledAt": ...}),
    ("3.2 paid out, by an officer", settled, runs, OUT, (DISBURSED,), {"disbursedAt": ...}),
    ("3.2 paid out, simulated", settled, simulated("disburse"), OUT, (DISBURSED,), {"disbursedAt": ...}),
    ("settled, by a report", paid, reports, HERE, (SETTLED,), NET_OF_REPORT),
    ("settled, simulated", paid, simulated("settle"), HERE, (SETTLED,), NET_OF_TARIFF),
    ("returned, by the bank", disbursed, bank_returns, HERE, (RETURNED,), {"disbursedAt": None}),
    ("returned, simulated", disbursed, simulated("return"), HERE, (RETURNED,), {"disbursedAt": None}),
    ("reassigned, by an officer", settled, officer_reassigns, HERE, (REASSIGNED,), {"reassignedAt": ...}),
    ("reassigned, simulated", settled, simulated_to_other, HERE, (REASSIGNED,), {"reassignedAt": ...}),
    ("refunded, by call", settled, refunds(), HERE, (REFUNDED,), BACK),
    ("refunded, simulated", paid, simulated("refund"), HERE, (REFUNDED,), BACK),
    ("refunded in part, by call", settled, refunds(amount=1), HERE, (REFUNDED,), {"refundedAmount": 1}),
    ("refunded in part, simulated", settled, simulated("refund", amount=1), HERE, (REFUNDED,), {"refundedAmount": 1}),
    ("direct refunded, simulated", received, simulated("refund"), HERE, (REFUNDED,), BACK),
    ("disputed, by the bank", paid_at_provider, bank_wins, HERE, (DISPUTED, CLOSED, REFUNDED), LOST),
    ("disputed, simulated", settled, simulated("dispute", outcome="lost"), HERE, (DISPUTED, CLOSED, REFUNDED), LOST),
    ("disputed and paid out", disbursed, simulated("dispute", outcome="lost"), OUT, (DISPUTED, CLOSED, REFUNDED), LOST),
    ("dispute opened", settled, simulated("dispute"), HERE, (DISPUTED,), {"disputedAt": ..., "disputeStatus": "open"}),
    ("dispute won", settled, simulated("dispute", outcome="won"), HERE, (DISPUTED, CLOSED), WON),
    ("direct made, by call", nothing, gives_directly, "ACTIVE", (CREATED,), {"hosted": None, "type": "direct"}),
    ("direct asked for, by the run", active, is_asked, ASKED, (REQUESTED,), {"donationRequestId": ...}),
    ("direct asked for, simulated", active, simulated("request"), ASKED, (REQUESTED,), {"donationRequestId": ...}),
    ("direct paid, by transfer", requested, partner_pays, HERE, DIRECTLY, {"settledAt": ...}),
    ("direct paid, simulated", requested, simulated("pay"), HERE, DIRECTLY, {"settledAt": ...}),
    ("direct paid out, simulated", received, simulated("disburse"), OUT, (DISBURSED,), {"disbursedAt": ...}),
    ("direct cancelled, by call", active, cancels, GONE, (CANCELLED,), {"cancelledAt": ...}),
]  # fmt: skip
EVENTS_OF_6 = {
    CREATED,
    *RECEIVED,
    SETTLED,
    DISBURSED,
    CANCELLED,
    REASSIGNED,
    REFUNDED,
    RETURNED,
    REQUESTED,
    DISPUTED,
    CLOSED,
}

FIELDS: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "userId": (str, type(None)),
    "organisationId": str,
    "type": str,
    "hosted": (dict, type(None)),
    "amount": int,
    "currencyCode": str,
    "status": str,
    "firstName": (str, type(None)),
    "lastName": (str, type(None)),
    "email": (str, type(None)),
    "consentedToBeContactedByOrg": str,
    "anonymous": str,
    "giftAidId": (str, type(None)),
    "cancelledAt": (str, type(None)),
    "createdAt": str,
    "metadata": dict,
    "subscription": dict,
}
"""Of 2.8, with what they may hold."""


@pytest.fixture
async def world(service: Service, tenant: Tenant, api: Client) -> World:
    """Nothing has been given yet."""
    cause, other = await factories.nonprofit(service), await factories.nonprofit(service)
    for one in (cause, other):
        await support.verified(service, api, one)
    return World(service, tenant, api, cause, other)


@pytest.mark.parametrize(
    ("start", "move", "status", "events", "fields"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
async def test_each_row_is_reached_and_told_as_it_is(
    world: World, start: Move, move: Move, status: str, events: tuple[str, ...], fields: dict[str, Any]
) -> None:
    await start(world)
    before = len(await world.told())
    await move(world)
    record = await world.record()
    assert record["status"] == status
    for name, value in fields.items():
        assert record[name] is not None if value is ... else record[name] == value
    for name, kinds in FIELDS.items():
        assert isinstance(record[name], kinds), name
    reported = (await world.told())[before:]
    assert [kind for kind, _ in reported] == list(events)
    # A dispute that ends at once is reported as open first.
    receipt = {"receiptDelivery": record["receiptDelivery"]}  # is sent meanwhile
    assert all(shown | receipt == record for kind, shown in reported if kind != DISPUTED or events[-1] == DISPUTED)


def test_every_event_of_a_donation_is_in_a_row() -> None:
    assert {event for row in ROWS for event in row[4]} == EVENTS_OF_6


def test_every_status_of_a_donation_is_in_a_row() -> None:
    statuses = {"ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "DISBURSED", "CANCELLED"}
    assert {row[3] for row in ROWS} == statuses
