"""What can be done with donors' bank transfers; that one came is told by our bank's lines."""

from uuid import UUID

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import OTHER_CURRENCY, NotDecidable
from almoner.giving.checkout.bank_transfers import domain
from almoner.giving.checkout.bank_transfers.domain import Confirmed, PayTo, Transfer
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation, InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK, Payment
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import SessionExpired
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.events import outbox


async def awaited(tx: Tx, donation: Donation) -> Payment | None:
    """The transfer by which a donation is to be paid, None when it is paid otherwise or not at all."""
    payment = await payments.newest(tx, donation.id)
    return payment if payment is not None and payment.provider == BANK and payment.live else None


async def named(tx: Tx, donation: Donation) -> Payment | None:
    """The newest transfer of a donation, awaited or not, None when it is paid otherwise."""
    payment = await payments.newest(tx, donation.id)
    return payment if payment is not None and payment.provider == BANK else None


async def hold(tx: Tx, payment: Payment) -> Payment:
    """A transfer as it is, with its session and its donation, until the transaction ends."""
    await sessions.lock(tx, await donations.session_of(tx, payment.donation_id))
    await donations.lock(tx, EVERYONE, payment.donation_id)
    return await payments.lock(tx, payment.id)


def told(payment: Payment, donation: Donation, pay_to: PayTo) -> Transfer:
    """What the donor of an awaited transfer is told."""
    assert payment.provider_payment is not None, "a transfer has its reference from the start"
    return Transfer(pay_to, payment.money, payment.provider_payment, donation.confirmed_at)


async def confirm(tx: Tx, session_id: UUID) -> Donation | None:
    """The donor says that the transfer was sent; told any number of times, it has one effect (settled 5).

    None when no transfer is waited for. Raises NotFound, SessionExpired when it was not begun in time.
    """
    session = await sessions.lock(tx, session_id)
    donation = await donations.live_of_session(tx, session_id)
    if donation is None or await awaited(tx, donation) is None:
        return None
    if donation.confirmed_at is not None:
        return donation
    if tx.now >= session.grace_ends():
        raise SessionExpired
    confirmed = await donations.confirm_transfer(tx, session, donation.id)
    if confirmed is not None:
        await outbox.emit(tx, None, domain.CONFIRMED, Confirmed(donation.id))
    return confirmed


async def accept(tx: Tx, held_id: UUID, note: str, by: str) -> Donation:
    """An officer makes held money the gift that it was meant to be, of the amount that came, in the gift's currency.

    Raises NoSuchHeldPayment, NotDecidable.
    """
    held = await suspense.ensure_acceptable(tx, held_id, note, by)
    meant = await payments.find(tx, held.payment_id) if held.payment_id else None
    if meant is not None and meant.money.currency != held.money.currency:  # whatever else it is held for
        raise NotDecidable(OTHER_CURRENCY)
    try:
        return await donations.receive_accepted(tx, held, note, by)
    except InvalidState as refused:
        raise NotDecidable("; ".join(refused.reasons) or refused.message) from refused
