"""Adds donations to requests and allocates payments to them: in batches, one transaction each; runs may overlap."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from asyncpg import DataError, IntegrityConstraintViolationError

from almoner.giving.checkout.donation_requests import service
from almoner.giving.checkout.donation_requests.domain import (
    DonationRequest,
    DonationRequestPayment,
    NothingToInvoice,
    PartnerCurrency,
)
from almoner.kit.money import Money, MoneyError
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Database, Partner, Tx
from almoner.platform.observability.loggers import get_logger

_REFUSALS: Final = (MoneyError, DataError, IntegrityConstraintViolationError)
"""Errors of one partner's donations rather than of the database."""
_log: Final = get_logger("almoner.giving")


@dataclass(slots=True)
class InvoicingResult:
    """An invoicing run's result. ``uninvoiced_partner_currency_count``: partners and currencies not yet invoiced."""

    created_requests: list[DonationRequest] = field(default_factory=list)
    uninvoiced_partner_currency_count: int = 0

    def audit_details(self) -> dict[str, int]:
        """The details of the run's audit entry."""
        return {"made": len(self.created_requests), "waiting": self.uninvoiced_partner_currency_count}


OnFinished = Callable[[Tx, InvoicingResult], Awaitable[None]]
"""Records who started the run."""


async def run_invoicing(db: Database, on_finished: OnFinished | None = None) -> InvoicingResult:
    """Invoice every partner for direct donations of periods that are over.

    ``on_finished`` is called in the transaction that finishes the run.
    """
    ran = InvoicingResult()
    async with db.read() as tx:
        found = await service.list_partner_currencies_to_invoice(tx)
    for of in found:
        try:
            created = await invoice_partner(db, of)
        except _REFUSALS as refused:
            # An error with one partner's donations does not stop the others.
            _log.error("request_refused", partner=str(of.partner_id), currency=of.currency, why=str(refused))
            created = []
        ran.created_requests += created
        ran.uninvoiced_partner_currency_count += not created
    if on_finished is not None:
        async with db.write() as tx:
            await on_finished(tx, ran)
    return ran


async def invoice_partner(
    db: Database, partner_currency: PartnerCurrency, *, end_period_now: bool = False
) -> list[DonationRequest]:
    """Invoice one partner's donations of a currency in one or more requests.

    Empty if there is nothing to invoice yet.
    """
    finished: list[DonationRequest] = []
    more = True
    while more:
        try:
            async with db.write() as tx:
                filled = await service.add_due_donations_to_request(tx, partner_currency, end_period_now=end_period_now)
        except NothingToInvoice:
            break
        more = filled.has_more_donations_to_add
        if filled.request is not None and not filled.request.is_adding_donations:
            finished.append(filled.request)
    return finished


async def receive_payment(
    db: Database,
    scope: Partner | AllPartners,
    request_id: UUID,
    money: Money,
    bank_reference: str,
    *,
    recorded_by: str,
    on_recorded: Callable[[Tx, DonationRequestPayment], Awaitable[None]] | None = None,
) -> DonationRequestPayment:
    """Record a partner's transfer and receive all donations it covers. Raises NotFound, DonationRequestError.

    ``on_recorded`` is called in the transaction that books the transfer.
    """
    async with db.write() as tx:
        made = await service.receive_payment(tx, scope, request_id, money, bank_reference, recorded_by=recorded_by)
        if on_recorded is not None:
            await on_recorded(tx, made)
    await allocate_pending_payments(db, made.donation_request_id)
    return made


async def apply_overpayment_to_other_request(
    db: Database,
    overpaid_payment_id: UUID,
    target_request_id: UUID,
    *,
    note: str,
    decided_by: str,
    on_recorded: Callable[[Tx, DonationRequestPayment], Awaitable[None]],
) -> DonationRequestPayment:
    """Apply the overpaid part of a transfer to another request. Raises NotFound, DonationRequestError.

    ``on_recorded`` is called in the transaction that books it.
    """
    async with db.write() as tx:
        part = await service.apply_overpayment_to_other_request(
            tx, overpaid_payment_id, target_request_id, note=note, decided_by=decided_by
        )
        await on_recorded(tx, part)
    await allocate_pending_payments(db, part.donation_request_id)
    return part


async def allocate_pending_payments(db: Database, request_id: UUID) -> None:
    """Receive all donations that a request's money covers, in batches."""
    async with db.read() as tx:
        more = (await service.get(tx, ALL_PARTNERS, request_id)).is_allocation_pending
    while more:
        async with db.write() as tx:
            more = await service.allocate_payments_to_donation_batch(tx, request_id)
