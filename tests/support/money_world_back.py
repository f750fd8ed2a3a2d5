"""The part of the simulation in which money goes back: full and partial refunds, and disputes."""

import random
from collections import Counter
from typing import Any, NamedTuple
from uuid import UUID

from almoner.giving.accounting.disputes import flows as disputes_flows
from almoner.giving.accounting.disputes.flows import DisputeContext
from almoner.giving.accounting.refunds import service as refunding
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.payments.domain import BANK_TRANSFER, DisputeStatus, ProviderPayment, ProviderStatus
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from tests.support.fake_provider import FakeProvider
from tests.support.money_world_direct import CURRENCY
from tests.support.service import Service

DISPUTE_FEE = 15
"""The fee of every dispute, in minor units; never returned."""
RULES = DisbursementRules()
PROVIDER = "fake"


class Told(NamedTuple):
    """A line that the provider reports once: its payment, and the refund or dispute, if any."""

    kind: str
    payment: str
    name: str = ""


class Back:
    """What partners, officers, donors' banks and the provider do to return money, and what the ledger must show.

    ``by_bank``: what our bank sent back to the partner, in minor units, by refund.
    """

    service: Service
    db: Database
    chance: random.Random
    provider: FakeProvider
    by_bank: dict[UUID, int]

    async def ids(self, sql: str) -> list[UUID]:
        """The IDs that a statement selects."""
        raise NotImplementedError

    async def refund(self) -> None:
        """Refund a donation as the partner, in full or in part, or try to."""
        if found := await self.ids("select id from donation where status in ('RECEIVED_PAYMENT', 'DISBURSED')"):
            minor = self.chance.choice((None, 1, 300, 2480, 2500))
            async with self.db.write() as tx:
                await refunding.begin_refund(tx, ALL_PARTNERS, self.chance.choice(found), minor, RULES)

    async def end_by_hand(self) -> None:
        """Refund a direct donation by bank as an officer, or decide not to; and record it."""
        if found := await self.ids("select id from refund where status = 'pending' and payment_id is null"):
            await self._end_by_hand(self.chance.choice(found))

    async def _end_by_hand(self, refund_id: UUID) -> None:
        async with self.db.read() as tx:
            minor = (await refunding.get(tx, refund_id)).money.minor
        # Sent money stays sent, whatever happens to the record.
        sent = self.by_bank.setdefault(refund_id, minor if self.chance.random() < 0.7 else 0)
        async with self.db.write() as tx:
            if sent:
                await refunding.record_manual_refund(tx, refund_id, f"bank {refund_id}", "by bank", "officer")
            else:
                await refunding.mark_refused(tx, refund_id, "no account", "officer")

    async def provider_stumbles(self) -> None:
        """Lose the provider's next response after its effect, or make the call fail."""
        if self.chance.random() < 0.5:
            self.provider.lose_answers = 1
        else:
            self.provider.refuse = 1

    async def dispute(self) -> None:
        """Dispute the rest of a payment as a donor's bank; for a donation, sometimes a part."""
        paid = [one for one in self.provider.payments.values() if one.status is ProviderStatus.SUCCEEDED]
        paid = [one for one in paid if one.id not in self.provider.disputed and self._left(one) > 0]
        if paid:
            payment = self.chance.choice(paid)
            part = self.chance.random() < 0.3 and await self._pays_a_gift(payment.id)
            left = self._left(payment)
            if left and payment.id not in self.provider.disputed:  # disputed by another action meanwhile
                minor = self.chance.randint(1, left) if part else left
                self.provider.open_dispute(payment.id, self.service.clock.now(), minor)

    async def _pays_a_gift(self, payment: str) -> bool:
        async with self.db.read() as tx:
            return bool(
                await tx.fetchval(
                    "select exists (select from payment where provider_payment = $1 and status = 'succeeded')", payment
                )
            )

    def _left(self, payment: ProviderPayment) -> int:
        gone = sum(made.money.minor for of, made in self.provider.refunds.values() if of == payment.id)
        return payment.money.minor - gone

    async def bank_decides(self) -> None:
        """Decide a dispute as a donor's bank."""
        if found := self._open_disputes():
            outcome = self.chance.choice((DisputeStatus.WON, DisputeStatus.LOST))
            self.provider.decide_dispute(self.chance.choice(found), outcome)

    def _open_disputes(self) -> list[str]:
        return [of for of, (one, *_) in self.provider.disputed.items() if one.status is DisputeStatus.OPEN]

    async def tell_of_dispute(self) -> None:
        """Send the provider's webhooks about a dispute, sometimes again."""
        if self.provider.disputed:
            await self._tell_of_dispute(self.chance.choice(list(self.provider.disputed)), self.chance.randint(1, 3))

    async def _tell_of_dispute(self, payment: str, times: int) -> None:
        for _ in range(times):
            await self._tell(payment, 1)
            await disputes_flows.handle_provider_webhook(DisputeContext(self.db, self.provider, RULES), payment)

    async def _tell(self, payment: str, times: int) -> None:
        raise NotImplementedError

    def lines_back(self, currency: str) -> list[Told]:
        """The provider's report lines about returned money."""
        lines = [
            Told("refund", of, made.id)
            for of, made in self.provider.refunds.values()
            if made.money.currency == currency
        ]
        for of, disputes in self.provider.disputed.items():
            for one in disputes:
                if one.money.currency == currency:
                    lines.append(Told("dispute", of, one.id))
                    lines += [Told("dispute_won", of, one.id)] if one.status is DisputeStatus.WON else []
        return lines

    def back_minor(self, told: Told) -> int:
        """The amount of a line of ``lines_back``, in minor units."""
        if told.kind == "refund":
            return next(made.money.minor for _, made in self.provider.refunds.values() if made.id == told.name)
        return next(one.money.minor for one in self.provider.disputed[told.payment] if one.id == told.name)

    async def settle_what_goes_back(self) -> None:
        """Decide all disputes, finish officers' work, and send all webhooks about disputes."""
        for payment in self._open_disputes():
            self.provider.decide_dispute(payment, self.chance.choice((DisputeStatus.WON, DisputeStatus.LOST)))
        for payment in self.provider.disputed:
            await self._tell_of_dispute(payment, 2)
        for refund_id in await self.ids("select id from refund where status = 'pending' and payment_id is null"):
            await self._end_by_hand(refund_id)
        for unallocated_payment_id in await self.ids(
            f"select id from unallocated_payment where status = 'refunding' and provider <> '{BANK_TRANSFER}'"
        ):
            async with self.db.write() as tx:
                await suspense.begin_refund(tx, unallocated_payment_id, "the dispute was won", "officer")

    async def expect_back(self, balances: Counter[str], posted: Counter[str], held: set[str]) -> None:
        """The expected effect of returned money on all payments; the part of each donation is in ``withdrawn``."""
        for key, (of, made) in self.provider.refunds.items():
            currency = made.money.currency
            balances[f"bank:{currency}"] += made.money.minor
            posted["refund_settled"] += 1
            assert (":giftrefund:" in key) is (of not in held)
            if of in held:
                posted.update(("unallocated_refund_started", "unallocated_refund_sent"))
        for of, disputes in self.provider.disputed.items():
            for one in disputes:
                currency, won = one.money.currency, one.status is DisputeStatus.WON
                posted.update(("dispute_debited", "dispute_settled", "provider_fee"))
                balances[f"bank:{currency}"] += DISPUTE_FEE
                balances[f"fees:{currency}:{PROVIDER}"] -= DISPUTE_FEE
                if won:
                    posted.update(("dispute_returned", "dispute_won_settled"))
                else:
                    balances[f"bank:{currency}"] += one.money.minor
                    if of in held:
                        posted.update(("dispute_returned", "unallocated_refund_started", "unallocated_refund_sent"))
        for minor in self.by_bank.values():
            balances[f"bank:{CURRENCY}"] += minor
        await self._expect_rows(balances, posted)

    async def _expect_rows(self, balances: Counter[str], posted: Counter[str]) -> None:
        async with self.db.read() as tx:
            refunds = await tx.fetch("select * from refund")
            lost = await tx.fetch("select * from dispute where status = 'lost' and donation_id is not null")
        assert not [dict(row) for row in refunds if row["status"] == "pending"], "every refund has ended"
        for row in refunds:
            amount, absorbed, back = row["amount_minor"], row["deducted_minor"], row["restored_minor"]
            posted["donation_refund_started"] += absorbed > 0
            posted["donation_refund_fee_covered"] += amount > absorbed
            posted["donation_refund_sent"] += row["status"] == "sent"
            posted["donation_refund_reversed"] += bool(back)
            posted["donation_refund_fee_restored"] += back is not None and back < amount
        for row in lost:
            posted["dispute_lost"] += row["amount_minor"] > row["absorbed_minor"]
            posted["dispute_absorbed"] += row["absorbed_minor"] > 0
            posted["dispute_recovered"] += bool(row["recovered_minor"])
            if row["disbursed"] and row["recovered_minor"] is None:
                balances[f"fees:{CURRENCY}:{PROVIDER}"] -= row["amount_minor"]

    async def withdrawn(self) -> Counter[str]:
        """The amount withdrawn from each donation, by ID: refunded, or lost before it was disbursed."""
        found: Counter[str] = Counter()
        ids = self.service.db.deployment.ids
        async with self.db.read() as tx:
            of = {
                row["provider_payment"]: ids.encode("donation", row["donation_id"])
                for row in await tx.fetch("select * from payment where status = 'succeeded'")
            }
            stored = {
                row["provider_dispute"]
                for row in await tx.fetch("select * from dispute where disbursed and recovered_minor is null")
            }
            by_bank = await tx.fetch(
                "select id, donation_id from refund where payment_id is null or provider = $1", BANK_TRANSFER
            )
        for payment, made in self.provider.refunds.values():
            if payment in of:
                found[of[payment]] += made.money.minor
        for payment, disputes in self.provider.disputed.items():
            for one in disputes:
                if payment in of and one.status is DisputeStatus.LOST and one.id not in stored:
                    found[of[payment]] += one.money.minor
        for row in by_bank:
            found[ids.encode("donation", row["donation_id"])] += self.by_bank.get(row["id"], 0)
        return found

    async def went_back(self) -> int:
        """The amount returned to payers: by refunds, and by lost disputes."""
        async with self.db.read() as tx:
            gifts = {
                row[0] for row in await tx.fetch("select provider_payment from payment where status = 'succeeded'")
            }
        refunds = sum(made.money.minor for of, made in self.provider.refunds.values() if of in gifts)
        lost = [one for of, all_ in self.provider.disputed.items() if of in gifts for one in all_]
        debited = sum(one.money.minor for one in lost if one.status is DisputeStatus.LOST)
        return refunds + debited + sum(self.by_bank.values())

    def refunded(self, donations: list[dict[str, Any]]) -> int:
        """The refunded amount of all donations in the API."""
        return sum(one["refundedAmount"] or 0 for one in donations)
