"""The part of the simulation with direct donations, donation requests, partners' bank transfers, and overpayments."""

import random
from collections import Counter
from contextlib import suppress
from typing import Any
from uuid import UUID

from almoner.giving.accounting.ledger.domain import PARTNER_TRANSFERS
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import (
    DonationRequestError,
    DonationRequestPayment,
    PartnerCurrency,
)
from almoner.kit.money import Money
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx
from tests.support.client import Client
from tests.support.service import Service

CURRENCY = "GBP"


class Directly:
    """What a partner does with direct donations, and what the ledger must show."""

    service: Service
    api: Client
    db: Database
    chance: random.Random
    nonprofits: list[str]
    transfers: dict[str, tuple[UUID, Money]]
    donor: str

    async def ids(self, sql: str) -> list[UUID]:
        """The IDs that a statement selects."""
        async with self.db.read() as tx:
            return [row["id"] for row in await tx.fetch(sql)]

    async def give_directly(self) -> None:
        """Create a direct donation."""
        body: dict[str, Any] = {"amount": self.chance.choice((500, 1200)), "currencyCode": CURRENCY}
        body |= {"userId": self.donor} if self.chance.random() < 0.5 else {}
        await self.api.post("/v1/donations", {**body, "organisationId": self.chance.choice(self.nonprofits)})

    async def cancel_directly(self) -> None:
        """Cancel a direct donation, or try to."""
        if self.chance.random() < 0.5 and (found := await self.ids("select id from donation where type = 'direct'")):
            named = self.service.db.deployment.ids.encode("donation", self.chance.choice(found))
            await self.api.post(f"/v1/donations/{named}/cancel")

    async def ask(self) -> None:
        """Create donation requests for the partner's direct donations."""
        if found := await self.ids("select partner_id as id from donation where status = 'ACTIVE' limit 1"):
            await donation_requests_flows.invoice_partner(
                self.db, PartnerCurrency(found[0], CURRENCY), end_period_now=True
            )

    async def partner_pays(self) -> None:
        """Transfer part of a request, more, or other money; an officer records it."""
        if found := await self.ids("select id from donation_request order by id"):
            minor, currency = self.chance.choice(((500, CURRENCY), (1200, CURRENCY), (3000, CURRENCY), (100, "EUR")))
            reference = f"transfer {len(self.transfers)}"
            self.transfers[reference] = self.chance.choice(found), Money(minor, currency)
            await self.note_transfer(reference)

    async def note_transfer(self, reference: str) -> None:
        of, money = self.transfers[reference]
        with suppress(DonationRequestError):  # recorded before
            await donation_requests_flows.receive_payment(
                self.db, ALL_PARTNERS, of, money, reference, recorded_by="officer"
            )

    async def return_over(self) -> None:
        """Return an overpayment as an officer."""
        if found := await self.ids("select id from request_payment where status = 'held' order by id"):
            async with self.db.write() as tx:
                await donation_requests.return_overpayment(
                    tx, self.chance.choice(found), note="by mail", decided_by="officer"
                )

    async def apply_over(self) -> None:
        """Apply an overpayment to another request as an officer, or try to."""
        held = await self.ids("select id from request_payment where status = 'held' order by id")
        if held and (requests := await self.ids("select id from donation_request where status <> 'PAID' order by id")):
            await donation_requests_flows.apply_overpayment_to_other_request(
                self.db,
                self.chance.choice(held),
                self.chance.choice(requests),
                note="by mail",
                decided_by="officer",
                on_recorded=_unrecorded,
            )

    async def expect_requests(
        self, balances: Counter[str], posted: Counter[str], donations: list[dict[str, Any]]
    ) -> None:
        """The expected effect of partners' transfers: a request is paid donation by donation, oldest first."""
        taken: Counter[str] = Counter()
        for of, money in self.transfers.values():
            balances[f"bank:{money.currency}"] -= money.minor
            taken[self.service.db.deployment.ids.encode("donationrequest", of)] += (
                money.minor if money.currency == CURRENCY else 0
            )
            balances[f"suspense:{money.currency}:{PARTNER_TRANSFERS}"] += money.minor
        for of, minor in await self._applied():
            taken[self.service.db.deployment.ids.encode("donationrequest", of)] += minor
            posted["overpayment_applied"] += 1
        for request in set(taken) | {one["donationRequestId"] for one in donations if one["donationRequestId"]}:
            inside = [one for one in donations[::-1] if one["donationRequestId"] == request]
            left = min(taken[request], sum(one["amount"] for one in inside))
            balances[f"suspense:{CURRENCY}:{PARTNER_TRANSFERS}"] -= left
            for number, one in enumerate(inside):
                if one["amount"] > left:
                    assert {late["status"] for late in inside[number:]} == {"REQUESTED_PAYMENT"}
                    break
                assert one["status"] in ("RECEIVED_PAYMENT", "DISBURSED")
                left -= one["amount"]
                posted["request_allocated"] += 1
            balances[f"request_clearing:{CURRENCY}"] += left
        async with self.db.read() as tx:
            for row in await tx.fetch("select * from request_payment"):
                posted["request_paid"] += row["applied_minor"] > 0 and row["applied_from"] is None
                posted["request_overpaid"] += row["overpaid_minor"] > 0 and row["applied_from"] is None
                if row["status"] == "returned":
                    posted["overpayment_returned"] += 1
                    balances[f"bank:{row['currency']}"] += row["overpaid_minor"]
                    balances[f"suspense:{row['currency']}:{PARTNER_TRANSFERS}"] -= row["overpaid_minor"]

    async def _applied(self) -> list[tuple[UUID, int]]:
        """(request, remaining amount) of applied overpayments, each once."""
        async with self.db.read() as tx:
            rows = await tx.fetch(
                "select p.donation_request_id, p.amount_minor, p.currency, f.overpaid_minor, f.currency as whose "
                "from request_payment p join request_payment f on f.id = p.applied_from"
            )
        assert all((row["amount_minor"], row["currency"]) == (row["overpaid_minor"], row["whose"]) for row in rows)
        return [(row["donation_request_id"], row["amount_minor"]) for row in rows]


async def _unrecorded(_tx: Tx, _part: DonationRequestPayment) -> None:
    """Skip the audit entry."""
