"""The disbursement run: one transaction for each disbursement; runs may overlap."""

import csv
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TextIO
from uuid import UUID

from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DisbursementBatch, Donation
from almoner.giving.disbursing.disbursements import remittance_advice, service, store
from almoner.giving.disbursing.disbursements.domain import (
    SANDBOX_CONFIRMATION,
    Disbursement,
    DisbursementError,
    DisbursementRules,
    DisbursementTotals,
    RefusedDisbursement,
    WaitingReason,
)
from almoner.giving.disbursing.disbursements.remittance_advice import COLUMN_TITLES as COLUMN_TITLES
from almoner.kit.text import escape_spreadsheet_formula
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner, Tx
from almoner.platform.observability.loggers import get_logger

PAGE_SIZE: Final = 500
_BY_RULE: Final = "rule"
_log: Final = get_logger("almoner.giving")


@dataclass(slots=True)
class DisbursementRunResult:
    """The result of a disbursement run: sent, waiting and refused disbursements."""

    sent_totals_by_currency: dict[str, DisbursementTotals] = field(default_factory=dict)
    waiting_totals_by_reason_and_currency: dict[tuple[WaitingReason, str], DisbursementTotals] = field(
        default_factory=dict
    )
    refused_disbursements: list[RefusedDisbursement] = field(default_factory=list)
    checked_count: int = 0

    def add_disbursement(self, disbursement: Disbursement) -> None:
        """Add a disbursement to its totals."""
        self.checked_count += 1
        currency = disbursement.money.currency
        if disbursement.status == "SENT":
            self.sent_totals_by_currency[currency] = self.sent_totals_by_currency.get(
                currency, _no_totals(currency)
            ).with_disbursement(disbursement)
        elif disbursement.waiting_reason is not None and disbursement.donation_count:
            kind = (disbursement.waiting_reason, currency)
            self.waiting_totals_by_reason_and_currency[kind] = self.waiting_totals_by_reason_and_currency.get(
                kind, _no_totals(currency)
            ).with_disbursement(disbursement)


def _no_totals(currency: str) -> DisbursementTotals:
    return DisbursementTotals(0, 0, 0, currency)


async def hold_disbursements_automatically(
    db: Database, partner: Partner, organisation_id: UUID, *, cause_id: str, note: str, rules: DisbursementRules
) -> None:
    """Hold disbursements to a nonprofit automatically, once for each cause, such as a dispute's ID."""
    async with db.write() as tx:
        await store.lock_holds(tx, organisation_id)
        if not await store.was_held_automatically(tx, organisation_id, cause_id):
            await service.hold_disbursements(tx, partner, organisation_id, note=note, decided_by=_BY_RULE, rules=rules)
            tx.add_commit_callback(lambda: _log.error("disbursements_held", why=note))


OnProgress = Callable[[DisbursementRunResult], None]
OnFinished = Callable[[Tx, DisbursementRunResult], Awaitable[None]]
"""Records who started the run."""


async def run_disbursements(
    db: Database, rules: DisbursementRules, on_progress: OnProgress | None = None, on_finished: OnFinished | None = None
) -> DisbursementRunResult:
    """Send every disbursement that has no reason to wait; in the sandbox they are confirmed at once (settled 5).

    ``on_finished`` is called in the transaction that finishes the run. Raises UnreleasedDatabaseCopy.
    """
    await add_settled_donations_to_disbursements(db, rules)
    ran = DisbursementRunResult()
    after: UUID | None = None
    while True:
        async with db.read() as tx:
            found = await service.list_disbursement_ids_with_status(tx, "PENDING", after, PAGE_SIZE)
        if not found:
            break
        for disbursement_id in found:
            await _send(db, disbursement_id, rules, ran)
            if on_progress:
                on_progress(ran)
        after = found[-1]
    if db.deployment.sandbox:
        await _confirm_sent(db, ran)
    if on_finished is not None:
        async with db.write() as tx:
            await on_finished(tx, ran)
    return ran


async def add_settled_donations_to_disbursements(db: Database, rules: DisbursementRules) -> None:
    """Add every settled donation to its disbursement."""
    async with db.read() as tx:
        buckets = await donations.unpaid_balances(tx)
    for bucket in buckets:
        try:
            await add_donations_to_disbursement(db, bucket, rules)
        except service.REFUSALS as refused:
            # A disbursement that cannot be filled does not stop the others.
            named = db.deployment.ids.encode("organisation", bucket.organisation_id)
            _log.error("disbursement_batch_refused", organisation=named, currency=bucket.currency, why=str(refused))


async def add_donations_to_disbursement(db: Database, batch: DisbursementBatch, rules: DisbursementRules) -> None:
    """Add all settled donations of a batch to its open disbursement, in several transactions."""
    more = True
    while more:
        async with db.write() as tx:
            more = await service.add_donations_to_disbursement(tx, batch, rules)


async def _send(db: Database, disbursement_id: UUID, rules: DisbursementRules, ran: DisbursementRunResult) -> None:
    db.deployment.identity.ensure_active()
    try:
        async with db.write() as tx:
            sent = await service.send_disbursement(tx, disbursement_id, rules)
    except service.REFUSALS as refused:
        # One disbursement that must not be does not keep the others back.
        ran.refused_disbursements.append(RefusedDisbursement(disbursement_id, str(refused)))
        return
    if sent is not None:
        ran.add_disbursement(sent)


async def _confirm_sent(db: Database, ran: DisbursementRunResult) -> None:
    after: UUID | None = None
    while True:
        async with db.read() as tx:
            sent = await service.list_disbursement_ids_with_status(tx, "SENT", after, PAGE_SIZE)
        if not sent:
            return
        for disbursement_id in sent:
            try:
                with suppress(DisbursementError):  # another run was faster
                    await confirm_paid_in_sandbox(db, disbursement_id)
            except service.REFUSALS as refused:
                ran.refused_disbursements.append(RefusedDisbursement(disbursement_id, str(refused)))
        after = sent[-1]


async def confirm_paid_in_sandbox(db: Database, disbursement_id: UUID) -> Disbursement:
    """Confirm a disbursement as paid, in the sandbox. Raises NotFound, DisbursementError."""
    async with db.write() as tx:
        confirmed = await service.confirm_paid(tx, disbursement_id, SANDBOX_CONFIRMATION)
    await propagate_status_to_donations(db, confirmed)
    return confirmed


async def mark_returned(db: Database, disbursement_id: UUID, reason: str, *, recorded_by: str) -> Disbursement:
    """Record that the bank returned a disbursement, and hold further ones. Raises DisbursementError."""
    async with db.write() as tx:
        returned = await service.mark_returned(tx, disbursement_id, reason, recorded_by=recorded_by)
    await propagate_status_to_donations(db, returned)
    return returned


async def pay_donation_in_sandbox(
    db: Database, partner: Partner, donation: Donation, rules: DisbursementRules
) -> Disbursement | None:
    """Send the disbursement that contains this settled donation.

    If several are needed, returns the one that waits, if any; None while another transaction locks the donation.
    """
    bucket = DisbursementBatch(partner.id, donation.organisation_id, donation.money.currency)
    while True:
        await add_donations_to_disbursement(db, bucket, rules)
        async with db.read() as tx:
            placed = await donations.get(tx, partner, donation.id)
            full = await store.find_open_disbursement(tx, partner, bucket)
            if full is not None and (
                not await donations.has_undisbursed_donations(tx, bucket)
                or await service.has_donations_for_open_disbursement(tx, bucket)
            ):
                full = None
        if placed.disbursement_id is not None:
            return await pay_disbursement_in_sandbox(db, placed.disbursement_id, rules)
        if full is None:
            return None
        if (paid := await pay_disbursement_in_sandbox(db, full.id, rules)).waiting_reason is not None:
            return paid


async def pay_disbursement_in_sandbox(db: Database, disbursement_id: UUID, rules: DisbursementRules) -> Disbursement:
    """Send and confirm one disbursement, as the sandbox's run does."""
    db.deployment.identity.ensure_active()
    async with db.write() as tx:
        sent = await service.send_disbursement(tx, disbursement_id, rules)
    if sent is None or sent.status == "SENT":
        with suppress(DisbursementError):  # another transaction has just confirmed it
            return await confirm_paid_in_sandbox(db, disbursement_id)
    async with db.read() as tx:
        return await service.get(tx, ALL_PARTNERS, disbursement_id)


async def list_first_remittance_advice_rows(db: Database, disbursement_id: UUID, limit: int) -> list[list[str]]:
    """The first donations of a disbursement as rows under ``COLUMN_TITLES``."""
    async with db.read() as tx:
        return [
            remittance_advice.build_remittance_advice_row(tx.ids, one)
            for one in await donations.list_donations_of_disbursement(tx, disbursement_id, limit=limit)
        ]


async def write_remittance_advice_csv(db: Database, disbursement_id: UUID, file: TextIO) -> int:
    """Write all donations of a disbursement as CSV; returns how many."""
    rows = csv.writer(file)
    rows.writerow(COLUMN_TITLES)
    written, after = 0, None
    while True:
        async with db.read() as tx:
            found = await donations.list_donations_of_disbursement(tx, disbursement_id, after)
        if not found:
            return written
        rows.writerows(
            [
                escape_spreadsheet_formula(cell)
                for cell in remittance_advice.build_remittance_advice_row(db.deployment.ids, one)
            ]
            for one in found
        )
        written, after = written + len(found), found[-1].id


async def propagate_status_to_donations(db: Database, disbursement: Disbursement) -> None:
    """Update the donations of a disbursement to its status, in batches."""
    more = disbursement.propagating
    while more:
        async with db.write() as tx:
            more = await service.propagate_status_to_donations(tx, disbursement.id)
