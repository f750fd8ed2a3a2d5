"""Operations on donation requests.

The order of locks is: request, donations, ledger accounts. A request with more donations than one transaction should
lock is filled and allocated in batches; its row records that there is more (``collecting``,
``list_request_ids_awaiting_allocation``), so that the next run finishes after a crash.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.access.security_emails import service as security_emails
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.checkout.donation_requests import domain, schemas, store
from almoner.giving.checkout.donation_requests.domain import (
    DonationRequest,
    DonationRequestError,
    DonationRequestPayment,
    FilledRequest,
    NothingToInvoice,
    PartnerCurrency,
    RequestPaymentStatus,
)
from almoner.giving.checkout.donation_requests.schemas import DonationRequestResponse
from almoner.giving.checkout.donation_requests.store import count_for_operators as count_for_operators
from almoner.giving.checkout.donation_requests.store import (
    count_held_overpayments_up_to as count_held_overpayments_up_to,
)
from almoner.giving.checkout.donation_requests.store import cursor_position_of as cursor_position_of
from almoner.giving.checkout.donation_requests.store import find_id_by_payment_reference as find_id_by_payment_reference
from almoner.giving.checkout.donation_requests.store import list_for_operators as list_for_operators
from almoner.giving.checkout.donation_requests.store import list_held_overpayments as list_held_overpayments
from almoner.giving.checkout.donation_requests.store import list_page as list_page
from almoner.giving.checkout.donation_requests.store import (
    list_request_ids_awaiting_allocation as list_request_ids_awaiting_allocation,
)
from almoner.giving.checkout.donation_requests.store import list_request_payments as list_request_payments
from almoner.giving.checkout.donation_requests.store import load_donation_requests_by_id as load_donation_requests_by_id
from almoner.giving.checkout.donations import service as donations
from almoner.kit.errors import NotFound
from almoner.kit.money import MAX_MINOR, Money, format_amount
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox

BATCH: Final = 1000
"""Donations added to a request in one transaction."""
_ALLOCATION_BATCH: Final = 100
"""Donations received, each with its posting, in one transaction."""
_DAY: Final = timedelta(days=1)


async def get(tx: Tx, scope: Partner | AllPartners, request_id: UUID) -> DonationRequest:
    """One request. Raises NotFound."""
    if (found := await store.find(tx, scope, request_id)) is None:
        raise NotFound
    return found


def serialise_for_api(tx: Tx, request: DonationRequest) -> DonationRequestResponse:
    """The donation request as an API record."""
    return schemas.donation_request_response(tx, request)


async def get_payment(tx: Tx, payment_id: UUID) -> DonationRequestPayment:
    """A partner's transfer. Raises NotFound."""
    if (found := await store.find_request_payment(tx, payment_id)) is None:
        raise NotFound
    return found


async def list_partner_currencies_to_invoice(tx: Tx) -> list[PartnerCurrency]:
    """Partners and currencies with donations that are not invoiced yet."""
    found = [PartnerCurrency(*one) for one in await donations.list_partner_currencies_with_uninvoiced_donations(tx)]
    return list(dict.fromkeys([*await store.list_partner_currencies_with_open_requests(tx), *found]))


async def add_due_donations_to_request(
    tx: Tx, partner_currency: PartnerCurrency, *, end_period_now: bool = False, limit: int = BATCH
) -> FilledRequest:
    """Add due donations to the open request.

    A request is full if the next donation would exceed the maximum amount; that one goes into the next request. None
    while the total is below the partner's minimum. ``end_period_now``: the period ends now, and any amount is invoiced.
    Raises NothingToInvoice; the transaction must then be rolled back.
    """
    partner = Partner(partner_currency.partner_id)
    account = await partners.get(tx, partner)
    locked = await store.lock_request_being_filled(tx, partner, partner_currency.currency)
    if locked is None:
        ends = (
            tx.now + timedelta(milliseconds=1)
            if end_period_now
            else domain.period_start_of(account.request_interval, tx.now)
        )
        waiting = await donations.sum_uninvoiced_donations(tx, partner, partner_currency.currency, ends)
        if not waiting or (
            not end_period_now and waiting < domain.minimum_request_amount_minor(account, partner_currency.currency)
        ):
            return FilledRequest(None, has_more_donations_to_add=False)
        await store.insert(
            tx, partner, domain.new_request(tx.new_id(), partner_currency, ends, account.request_due_days, tx.now)
        )
        if (locked := await store.lock_request_being_filled(tx, partner, partner_currency.currency)) is None:
            return FilledRequest(None, has_more_donations_to_add=True)  # another run has just finished it
    room = MAX_MINOR - locked.money.minor
    added = await donations.add_donations_to_request(
        tx, partner, partner_currency.currency, locked.cutoff_at, locked.id, limit, room
    )
    if not added.donation_count and not locked.donation_count:
        raise NothingToInvoice
    more = added.is_request_full or added.donation_count == limit
    filled = replace(
        locked,
        money=locked.money + added.total,
        donation_count=locked.donation_count + added.donation_count,
        is_adding_donations=more and not added.is_request_full,
    )
    if not filled.is_adding_donations:
        filled = replace(filled, due_at=tx.now + account.request_due_days * _DAY)
    await store.update_donation_totals(tx, filled)
    if not filled.is_adding_donations:
        await _notify_partner(tx, account, filled)
        await outbox.emit_event(tx, partner.id, domain.CREATED, schemas.donation_request_response(tx, filled))
    return FilledRequest(filled, more)


async def _notify_partner(tx: Tx, account: PartnerAccount, request: DonationRequest) -> None:
    """Enqueue the email to the partner's owners and finance members about the new request."""
    facts = {
        "Amount": format_amount(request.money),
        "Reference": request.reference,
        "To be paid by": f"{tx.deployment.date_in_issuer_time_zone(request.due_at):%d %B %Y}",
        "Donations": f"{request.donation_count:,}",
        "Request": tx.ids.encode("donationrequest", request.id),
    }
    for person in await people.list_with_any_role(tx, member_realm(Partner(account.id)), "owner", "finance"):
        await security_emails.enqueue_email(
            tx, person, "donation_request", placeholder_values={"amount": facts["Amount"]}, detail_lines=facts
        )


async def receive_payment(
    tx: Tx, scope: Partner | AllPartners, request_id: UUID, money: Money, bank_reference: str, *, recorded_by: str
) -> DonationRequestPayment:
    """Record a partner's transfer to our bank account, and receive up to a batch of the donations it covers.

    An amount above the unpaid one, or in another currency, is held in suspense until an operator returns or applies it.
    ``bank_reference``: our bank's reference of the transfer, 1 to 140 characters. Raises NotFound,
    DonationRequestError.
    """
    if not 1 <= len(bank_reference) <= domain.MAX_BANK_REFERENCE:
        raise DonationRequestError(f"the bank's reference must have 1 to {domain.MAX_BANK_REFERENCE} characters")
    if not money:
        raise DonationRequestError("the amount must be more than zero")
    locked = await _lock(tx, scope, request_id)
    if locked.is_adding_donations:
        raise DonationRequestError("donations are still being added to the request: try again in a moment")
    applied = domain.amount_to_apply_minor(locked, money)
    over = Money(money.minor - applied, money.currency)
    status: RequestPaymentStatus = "held" if over else "booked"
    created = DonationRequestPayment(
        tx.new_id(), locked.id, money, applied, bank_reference, status, tx.now, recorded_by
    )
    if not await store.insert_payment(tx, created):
        raise DonationRequestError(f"the transfer {bank_reference} has already been recorded")
    transfers = ledger_domain.build_donation_request_payment_transfers(created.id, Money(applied, money.currency), over)
    if applied:
        paid = locked.paid_minor + applied
        await _record_paid_amount(tx, locked, paid)
        transfers += await _allocate(tx, replace(locked, paid_minor=paid))
    ledger.post_at_commit(tx, transfers)
    return created


async def _record_paid_amount(tx: Tx, donation_request: DonationRequest, paid_minor: int) -> None:
    status = domain.derive_donation_request_status(paid_minor, donation_request.money.minor)
    await store.record_paid_amount(tx, donation_request, paid_minor, status)
    paid = replace(donation_request, paid_minor=paid_minor, status=status)
    await outbox.emit_event(
        tx, donation_request.partner_id, domain.UPDATED, schemas.donation_request_response(tx, paid)
    )


async def allocate_payments_to_donation_batch(tx: Tx, request_id: UUID) -> bool:
    """Receive a batch of donations that a request's payments cover; True if there may be more."""
    locked = await _lock(tx, ALL_PARTNERS, request_id)
    if locked.is_allocation_pending:
        ledger.post_at_commit(tx, await _allocate(tx, locked))
    return (await get(tx, ALL_PARTNERS, request_id)).is_allocation_pending


async def _allocate(tx: Tx, donation_request: DonationRequest) -> list[LedgerTransfer]:
    waiting = await donations.lock_unpaid_donations_of_request(tx, donation_request.id, _ALLOCATION_BATCH)
    count = domain.count_covered_donations(
        donation_request.paid_minor - donation_request.allocated_minor, [minor for _, minor in waiting]
    )
    received = (
        await donations.mark_direct_donations_received(tx, [donation_id for donation_id, _ in waiting[:count]])
        if count
        else []
    )
    covered = sum(one.money.minor for one in received)
    await store.record_allocation(
        tx,
        donation_request,
        donation_request.allocated_minor + covered,
        is_allocation_pending=count == _ALLOCATION_BATCH,
    )
    return [
        move
        for one in received
        for move in ledger_domain.build_donation_request_allocation_transfers(one.id, one.organisation_id, one.money)
    ]


async def return_overpayment(tx: Tx, payment_id: UUID, *, note: str, decided_by: str) -> DonationRequestPayment:
    """Record that an overpaid part was returned by bank. Raises NotFound, DonationRequestError."""
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise DonationRequestError(f"the note must have 1 to {domain.MAX_NOTE} characters")
    if (locked := await store.lock_request_payment(tx, payment_id)) is None:
        raise NotFound
    if locked.status != "held":
        raise DonationRequestError(f"the transfer has no overpayment to decide on: it is {locked.status}")
    await store.close_overpayment(tx, locked, "returned", decided_by, note)
    ledger.post_at_commit(
        tx,
        ledger_domain.build_overpayment_returned_transfers(
            locked.id, Money(locked.overpaid_minor, locked.money.currency)
        ),
    )
    return replace(locked, status="returned")


async def apply_overpayment_to_other_request(
    tx: Tx, overpaid_payment_id: UUID, target_request_id: UUID, *, note: str, decided_by: str
) -> DonationRequestPayment:
    """Apply an overpayment to another request of the partner: returns the applied part.

    The rest beyond that request's unpaid amount stays held, as an overpayment of the part. Raises NotFound,
    DonationRequestError.
    """
    if not 1 <= len(note) <= domain.MAX_NOTE:
        raise DonationRequestError(f"the note must have 1 to {domain.MAX_NOTE} characters")
    whose = (await get(tx, ALL_PARTNERS, target_request_id)).partner_id
    target = await _lock(tx, ALL_PARTNERS, target_request_id)  # before the payment, as receiving one does
    if (locked := await store.lock_request_payment(tx, overpaid_payment_id)) is None:
        raise NotFound
    if locked.status != "held":
        raise DonationRequestError(f"the transfer has no overpayment to decide on: it is {locked.status}")
    if (await get(tx, ALL_PARTNERS, locked.donation_request_id)).partner_id != whose:
        raise DonationRequestError("the request belongs to another partner")
    if target.is_adding_donations:
        raise DonationRequestError("donations are still being added to the request: try again in a moment")
    over = Money(locked.overpaid_minor, locked.money.currency)
    if not (applied := domain.amount_to_apply_minor(target, over)):
        raise DonationRequestError("the request has no open amount in this currency")
    status: RequestPaymentStatus = "booked" if applied == over.minor else "held"
    part = DonationRequestPayment(
        tx.new_id(),
        target.id,
        over,
        applied,
        locked.bank_reference,
        status,
        tx.now,
        decided_by,
        overpaid_payment_id=locked.id,
    )
    await store.close_overpayment(tx, locked, "applied", decided_by, note)
    if not await store.insert_payment(tx, part):
        raise LookupError(f"what was over of {locked.id} was applied before")
    transfers = ledger_domain.build_overpayment_applied_transfers(part.id, Money(applied, over.currency))
    paid = target.paid_minor + applied
    await _record_paid_amount(tx, target, paid)
    ledger.post_at_commit(tx, transfers + await _allocate(tx, replace(target, paid_minor=paid)))
    return part


async def next_invoicing_at(tx: Tx, schedule_name: str) -> datetime | None:
    """When invoicing runs next: the midnight (UTC) after the oldest uninvoiced donation.

    ``schedule_name``: the schedule, which does not run twice for one midnight.
    """
    oldest = await donations.find_oldest_uninvoiced_donation_at(tx)
    if oldest is None:
        return None
    ran = await store.find_last_invoicing_at(tx, schedule_name)
    return domain.period_end_of("day", max(oldest, ran) if ran else oldest)


async def _lock(tx: Tx, scope: Partner | AllPartners, request_id: UUID) -> DonationRequest:
    if (locked := await store.find_for_update(tx, scope, request_id)) is None:
        raise NotFound
    return locked
