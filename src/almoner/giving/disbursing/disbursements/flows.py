"""The run of payouts: one bucket in each transaction, any number of runs at once."""

import csv
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TextIO
from uuid import UUID

import structlog

from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Bucket, Donation
from almoner.giving.disbursing.disbursements import advice, service, store
from almoner.giving.disbursing.disbursements.advice import TITLES as TITLES
from almoner.giving.disbursing.disbursements.domain import (
    BY_RUN,
    Disbursement,
    PayoutRefused,
    Rules,
    Sums,
    WaitingReason,
)
from almoner.platform.database.transactions import EVERYONE, Database, Partner, Tx

PAGE: Final = 500
RULE: Final = "rule"
_log: Final = structlog.get_logger("almoner.giving")


@dataclass(slots=True)
class Ran:
    """What a run did. ``refused``: payouts that the books did not allow, with what they said; ``looked``: buckets."""

    sent: dict[str, Sums] = field(default_factory=dict)
    waiting: dict[tuple[WaitingReason, str], Sums] = field(default_factory=dict)
    refused: list[tuple[UUID, str]] = field(default_factory=list)
    looked: int = 0

    def note(self, payout: Disbursement) -> None:
        """Add one to the sums that it belongs to."""
        self.looked += 1
        currency = payout.money.currency
        if payout.status == "SENT":
            self.sent[currency] = self.sent.get(currency, _none(currency)).plus(payout)
        elif payout.waiting_reason is not None and payout.donations:
            kind = (payout.waiting_reason, currency)
            self.waiting[kind] = self.waiting.get(kind, _none(currency)).plus(payout)


def _none(currency: str) -> Sums:
    return Sums(0, 0, 0, currency)


async def hold_by_rule(
    db: Database, partner: Partner, organisation_id: UUID, *, name: str, note: str, rules: Rules
) -> None:
    """Hold payouts to a nonprofit back for what ``name`` names, unless they were held for it before."""
    async with db.write() as tx:
        await store.lock_holds(tx, EVERYONE, organisation_id)
        if not await store.was_held_for(tx, EVERYONE, organisation_id, name):
            await service.hold(tx, partner, organisation_id, note=note, decided_by=RULE, rules=rules)
            tx.after_commit(lambda: _log.error("payouts_held", why=note))


Report = Callable[[Ran], None]
Record = Callable[[Tx, Ran], Awaitable[None]]
"""Says who ran it."""


async def run(db: Database, rules: Rules, report: Report | None = None, record: Record | None = None) -> Ran:
    """Send every bucket that nothing stands in the way of; in the sandbox they are confirmed at once (settled 5).

    ``record`` is called in the transaction that finishes the run. Raises UnreleasedCopy.
    """
    await collect_all(db, rules)
    ran = Ran()
    after: UUID | None = None
    while True:
        async with db.read() as tx:
            found = await service.with_status(tx, "PENDING", after, PAGE)
        if not found:
            break
        for disbursement_id in found:
            await _send(db, disbursement_id, rules, ran)
            if report:
                report(ran)
        after = found[-1]
    if db.deployment.sandbox:
        await _confirm_sent(db, ran)
    if record is not None:
        async with db.write() as tx:
            await record(tx, ran)
    return ran


async def collect_all(db: Database, rules: Rules) -> None:
    """Put every settled gift into its bucket."""
    async with db.read() as tx:
        buckets = await donations.unpaid_balances(tx)
    for bucket in buckets:
        try:
            await collect_bucket(db, bucket, rules)
        except service.REFUSALS as refused:
            # One bucket that cannot be filled does not keep the others back.
            named = db.deployment.ids.text("organisation", bucket.organisation_id)
            _log.error("bucket_refused", organisation=named, currency=bucket.currency, why=str(refused))


async def collect_bucket(db: Database, bucket: Bucket, rules: Rules) -> None:
    """Put all settled gifts of a bucket into it that it can hold, a batch in each transaction."""
    more = True
    while more:
        async with db.write() as tx:
            more = await service.collect(tx, bucket, rules)


async def _send(db: Database, disbursement_id: UUID, rules: Rules, ran: Ran) -> None:
    db.deployment.identity.ensure_active()
    try:
        async with db.write() as tx:
            sent = await service.send(tx, disbursement_id, rules)
    except service.REFUSALS as refused:
        # One payout that must not be does not keep the others back.
        ran.refused.append((disbursement_id, str(refused)))
        return
    if sent is not None:
        ran.note(sent)


async def _confirm_sent(db: Database, ran: Ran) -> None:
    after: UUID | None = None
    while True:
        async with db.read() as tx:
            sent = await service.with_status(tx, "SENT", after, PAGE)
        if not sent:
            return
        for disbursement_id in sent:
            try:
                with suppress(PayoutRefused):  # another run was faster
                    await confirm(db, disbursement_id)
            except service.REFUSALS as refused:
                ran.refused.append((disbursement_id, str(refused)))
        after = sent[-1]


async def confirm(db: Database, disbursement_id: UUID) -> Disbursement:
    """As if the bank had paid it, in the sandbox, which has none. Raises NotFound, PayoutRefused."""
    async with db.write() as tx:
        confirmed = await service.confirm(tx, disbursement_id, BY_RUN)
    await propagate_status(db, confirmed)
    return confirmed


async def mark_returned(db: Database, disbursement_id: UUID, reason: str, *, recorded_by: str) -> Disbursement:
    """The bank has returned it; payouts to its nonprofit are held. Raises NotFound, PayoutRefused."""
    async with db.write() as tx:
        returned = await service.mark_returned(tx, disbursement_id, reason, recorded_by=recorded_by)
    await propagate_status(db, returned)
    return returned


async def pay_donation(db: Database, partner: Partner, donation: Donation, rules: Rules) -> Disbursement | None:
    """Pay the bucket that a settled donation goes into, and before it one that is too full for the donation.

    The one of them that waits is returned; None while somebody else holds the donation.
    """
    bucket = Bucket(partner.id, donation.organisation_id, donation.money.currency)
    while True:
        await collect_bucket(db, bucket, rules)
        async with db.read() as tx:
            placed = await donations.get(tx, partner, donation.id)
            full = await store.find_open(tx, partner, bucket)
            if full is not None and (not await donations.has_loose(tx, bucket) or await service.has_loose(tx, bucket)):
                full = None
        if placed.disbursement_id is not None:
            return await pay_bucket(db, placed.disbursement_id, rules)
        if full is None:
            return None
        if (paid := await pay_bucket(db, full.id, rules)).waiting_reason is not None:
            return paid


async def pay_bucket(db: Database, disbursement_id: UUID, rules: Rules) -> Disbursement:
    """Send one bucket and confirm it, as the sandbox's run does; unless it waits. Raises NotFound, UnreleasedCopy."""
    db.deployment.identity.ensure_active()
    async with db.write() as tx:
        sent = await service.send(tx, disbursement_id, rules)
    if sent is None or sent.status == "SENT":
        with suppress(PayoutRefused):  # somebody else has just confirmed it
            return await confirm(db, disbursement_id)
    async with db.read() as tx:
        return await service.get(tx, EVERYONE, disbursement_id)


async def first_of_advice(db: Database, disbursement_id: UUID, limit: int) -> list[list[str]]:
    """The first gifts of a payout as rows under ``TITLES``."""
    async with db.read() as tx:
        return [advice.cells(tx.ids, one) for one in await donations.in_payout(tx, disbursement_id, limit=limit)]


async def write_advice(db: Database, disbursement_id: UUID, file: TextIO) -> int:
    """Write all gifts of a payout as CSV that is safe in a spreadsheet; how many."""
    rows = csv.writer(file)
    rows.writerow(TITLES)
    written, after = 0, None
    while True:
        async with db.read() as tx:
            found = await donations.in_payout(tx, disbursement_id, after)
        if not found:
            return written
        rows.writerows([advice.safe(cell) for cell in advice.cells(db.deployment.ids, one)] for one in found)
        written, after = written + len(found), found[-1].id


async def propagate_status(db: Database, payout: Disbursement) -> None:
    """Let the donations of a payout follow its status, a batch in each transaction."""
    more = payout.propagating
    while more:
        async with db.write() as tx:
            more = await service.propagate_status(tx, payout.id)
