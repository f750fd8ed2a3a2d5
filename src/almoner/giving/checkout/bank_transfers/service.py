"""Operations on donors' bank transfers; their arrival is known from bank statements."""

from uuid import UUID

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import OTHER_CURRENCY, UnallocatedPaymentError
from almoner.giving.checkout.bank_transfers import domain
from almoner.giving.checkout.bank_transfers.domain import AwaitedTransfer, BankDetails, TransferConfirmedEvent
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation, InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK_TRANSFER, Payment
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import SessionExpired
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events import outbox


async def find_awaited_transfer_payment(tx: Tx, donation: Donation) -> Payment | None:
    """The awaited bank transfer of a donation, None if it has none."""
    payment = await payments.find_current_payment(tx, donation.id)
    return payment if payment is not None and payment.provider == BANK_TRANSFER and payment.is_payable else None


async def find_newest_transfer_payment(tx: Tx, donation: Donation) -> Payment | None:
    """The newest bank transfer of a donation, awaited or not; None if it is paid otherwise."""
    payment = await payments.find_current_payment(tx, donation.id)
    return payment if payment is not None and payment.provider == BANK_TRANSFER else None


async def lock_transfer_payment(tx: Tx, payment: Payment) -> Payment:
    """A bank transfer with its session and donation, locked until the transaction ends."""
    await sessions.get_for_update(tx, await donations.get_session_id(tx, payment.donation_id))
    await donations.get_for_update(tx, ALL_PARTNERS, payment.donation_id)
    return await payments.get_for_update(tx, payment.id)


def build_awaited_transfer(payment: Payment, donation: Donation, bank_details: BankDetails) -> AwaitedTransfer:
    """The transfer details that a donor is shown."""
    assert payment.provider_payment_id is not None, "a transfer has its reference from the start"
    return AwaitedTransfer(bank_details, payment.money, payment.provider_payment_id, donation.transfer_confirmed_at)


async def confirm_transfer_sent(tx: Tx, session_id: UUID) -> Donation | None:
    """Record that the donor says the transfer was sent; idempotent (settled 5).

    None if no transfer is awaited. Raises NotFound; SessionExpired if it was not started in time.
    """
    session = await sessions.get_for_update(tx, session_id)
    donation = await donations.find_uncancelled_by_session(tx, session_id)
    if donation is None or await find_awaited_transfer_payment(tx, donation) is None:
        return None
    if donation.transfer_confirmed_at is not None:
        return donation
    if tx.now >= session.late_payments_accepted_until():
        raise SessionExpired
    confirmed = await donations.confirm_transfer_sent(tx, session, donation.id)
    if confirmed is not None:
        await outbox.emit_internal_event(tx, domain.CONFIRMED, TransferConfirmedEvent(donation.id))
    return confirmed


async def apply_unallocated_payment_to_donation(
    tx: Tx, unallocated_payment_id: UUID, note: str, decided_by: str
) -> Donation:
    """Turn an unallocated transfer into the donation it was meant for, on an operator's decision.

    Raises NoSuchUnallocatedPayment, UnallocatedPaymentError.
    """
    held = await suspense.record_decision_to_apply_to_donation(tx, unallocated_payment_id, note, decided_by)
    meant = await payments.find(tx, held.payment_id) if held.payment_id else None
    if meant is not None and meant.money.currency != held.money.currency:  # whatever the reason for holding it
        raise UnallocatedPaymentError(OTHER_CURRENCY)
    try:
        return await donations.apply_unallocated_payment(tx, held, note, decided_by)
    except InvalidState as refused:
        raise UnallocatedPaymentError("; ".join(refused.reasons) or refused.message) from refused
