"""What can be done with donations, and what becomes of what a provider tells us."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.accounting.ledger import domain as books
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import Held
from almoner.giving.checkout.donations import domain, schemas, store, store_lists, store_money, store_requests
from almoner.giving.checkout.donations.creation import change_donor as change_donor
from almoner.giving.checkout.donations.creation import create_donation as create_donation
from almoner.giving.checkout.donations.creation import promise_again
from almoner.giving.checkout.donations.domain import Bucket, Donation, Filters, SessionDonation
from almoner.giving.checkout.donations.schemas import DonationOut as DonationOut
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import (
    SETTLED,
    TRANSFER_WAITS,
    HoldReason,
    Payment,
    ProviderPayment,
    ProviderStatus,
    foreign,
)
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import DonationSession
from almoner.giving.gift_aid.declarations import service as giftaid
from almoner.giving.gift_aid.declarations.domain import Declaration
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.money import MAX_MINOR, Money
from almoner.platform.database.transactions import EVERYONE, Everyone, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.paging import Page
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import NewJob

CLOSE_PAYMENT: Final = "donations.close_payment"
BATCH: Final = 1000  # S4


async def get(tx: Tx, scope: Partner | Everyone, donation_id: UUID) -> Donation:
    """One donation. Raises NotFound."""
    if (donation := await store.find(tx, scope, donation_id)) is None:
        raise NotFound
    return donation


def record(tx: Tx, donation: Donation) -> DonationOut:
    """The donation as partners see it."""
    return schemas.donation_out(tx, donation)


async def page(tx: Tx, partner: Partner, page_: Page, filters: Filters) -> tuple[list[Donation], int]:
    """One page and the exact total."""
    return await store_lists.page(tx, partner, page_, filters)


async def refresh_list_totals(tx: Tx, limit: int = 10 * BATCH) -> int:
    """Bring what has changed into the tallies that lists count from; how much there was."""
    return await store_lists.refresh_list_totals(tx, EVERYONE, limit)


async def next_gathering(tx: Tx) -> datetime | None:
    """When there is something to gather: now, or nothing in sight."""
    return tx.now if await store_lists.has_stale_totals(tx, EVERYONE) else None


async def followers(tx: Tx, organisation_ids: Sequence[UUID]) -> Mapping[UUID, set[UUID]]:
    """The partners that had a gift made to each of these organisations: they hear when it changes (settled 6)."""
    return await store.followers(tx, EVERYONE, organisation_ids)


async def change_metadata(tx: Tx, partner: Partner, donation_id: UUID, patch: dict[str, str | None] | None) -> Donation:
    """Merge the metadata key by key; None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.problems(patch, merged=True)):
        raise domain.InvalidMetadata(*found)
    if (donation := await store.lock(tx, partner, donation_id)) is None:
        raise NotFound
    merged = {} if patch is None else metadata_rules.merge(donation.metadata, patch)
    if found := metadata_rules.problems(merged):
        raise domain.InvalidMetadata(*found)
    await store.set_metadata(tx, partner, donation_id, merged)
    return await get(tx, partner, donation_id)


async def for_session(tx: Tx, session_id: UUID) -> SessionDonation:
    """Where a session stands by what we know now, for its page."""
    donation = await store.newest_of_session(tx, EVERYONE, session_id)
    return domain.standing(donation, await payments.newest(tx, donation.id) if donation else None)


async def live_of_session(tx: Tx, session_id: UUID) -> Donation | None:
    """The one donation of a session that is not cancelled."""
    return await store.live_of_session(tx, EVERYONE, session_id)


async def session_of(tx: Tx, donation_id: UUID) -> UUID:
    """The session of a hosted donation. Raises LookupError for any other."""
    if (session_id := await store.session_of(tx, EVERYONE, donation_id)) is None:
        raise LookupError(f"donation {donation_id} has no session")
    return session_id


async def provider_payment(tx: Tx, partner: Partner, donation_id: UUID) -> str:
    """What the provider calls the payment of an unpaid donation. Raises NotFound; InvalidState when there is none."""
    donation = await get(tx, partner, donation_id)
    payment = await payments.newest(tx, donation_id) if donation.status == "REQUESTED_PAYMENT" else None
    if payment is None or not payment.live or payment.provider_payment is None:
        raise domain.InvalidState(f"the donation is {donation.status} and has no payment that could be made")
    return payment.provider_payment


async def apply_provider_state(tx: Tx, provider: str, found: ProviderPayment) -> None:
    """Act on a payment as its provider shows it; any number of times, in any order, the effect is one (M4).

    Locks session, donation and payment, in this order, as everything does that needs more than one of them.
    """
    payment = await payments.find_for(tx, provider, found)
    if payment is None:
        if found.status is ProviderStatus.SUCCEEDED:
            await _hold(tx, provider, found, None, _foreign(tx, found) or HoldReason.UNKNOWN_PAYMENT)
        return
    session = await sessions.lock(tx, await session_of(tx, payment.donation_id))
    donation = await store.lock(tx, EVERYONE, payment.donation_id)
    assert donation is not None, "a payment references its donation"
    payment = await payments.lock(tx, payment.id)
    if found.tries > payment.tries:
        await payments.note_tries(tx, payment, found.tries)
    if payment.status in SETTLED:
        return
    match found.status:
        case ProviderStatus.SUCCEEDED:
            await _money_arrived(tx, session, donation, payment, found)
        case ProviderStatus.FAILED | ProviderStatus.CANCELLED:
            if payment.live:
                await payments.move(tx, payment, found.status.value, found)
        case ProviderStatus.OPEN | ProviderStatus.PROCESSING:
            if payment.status == "starting":
                await payments.move(tx, payment, "open", found)


async def _money_arrived(
    tx: Tx, session: DonationSession, donation: Donation, payment: Payment, found: ProviderPayment
) -> None:
    # First, whatever became of the donation: what never reached us is not sent back from what is ours.
    reason = _foreign(tx, found) or domain.judge(session, donation, payments.reference(payment.id), found, tx.now)
    if reason is not None:
        await _hold(tx, payment.provider, found, payment, reason)
        return
    await payments.move(tx, payment, "succeeded", found)
    received = await store.receive(tx, EVERYONE, donation.id, payment.id)
    assert received is not None, "judged under the donation's lock"
    if donation.confirmed_at is None:  # which has completed it before (settled 5)
        await sessions.complete(tx, session, donation.id)
    await tell(tx, domain.PAYMENT_RECEIVED, received)
    await tell(tx, domain.PAYMENT_SUCCESSFUL, received)
    await _close_live(tx, [donation.id])
    ledger.post(tx, books.payment_received(payment.id, payment.provider, donation.organisation_id, donation.money))


def _foreign(tx: Tx, found: ProviderPayment) -> HoldReason | None:
    return foreign(found, live=not tx.deployment.sandbox)


async def _hold(tx: Tx, provider: str, found: ProviderPayment, payment: Payment | None, reason: HoldReason) -> None:
    """Keep the money apart, and tell the people who run the service (M5, M6)."""
    if payment is not None:
        await payments.move(tx, payment, "held", found)
    await suspense.hold(tx, provider, found, payment, reason)


async def confirm_transfer(tx: Tx, session: DonationSession, donation_id: UUID) -> Donation | None:
    """The donor says that the bank transfer was sent: it completes the session, which is held, and waits (settled 5).

    None when it was confirmed before, or is not waited for.
    """
    if (confirmed := await store.confirm(tx, EVERYONE, donation_id)) is not None:
        await sessions.complete(tx, session, donation_id)
    return confirmed


async def receive_accepted(tx: Tx, held: Held, note: str, by: str) -> Donation:
    """A person makes held money of a bank transfer the gift that it was meant to be, of the amount that came.

    It is settled. A gift that was cancelled meanwhile stays so, and is made anew. Raises InvalidState.
    """
    source = await payments.find(tx, held.payment_id) if held.payment_id else None
    assert source is not None, "asked for before"
    session = await sessions.lock(tx, await session_of(tx, source.donation_id))
    living = await store.live_of_session(tx, EVERYONE, session.id)
    donation = await lock(tx, EVERYONE, living.id if living else source.donation_id)
    if await payments.live_of(tx, [donation.id]):
        raise domain.InvalidState("the donor has begun to pay in another way: look again when that has ended")
    donation = await promise_again(tx, session, donation, held.money)
    payment = await payments.begin(tx, source.provider, donation.id, held.money, source.description, source.language, 1)
    await payments.receive_accepted(tx, payment)
    if (received := await store.receive(tx, EVERYONE, donation.id, payment.id)) is None:
        raise domain.InvalidState(f"the donation is {donation.status}: it was paid otherwise")
    await sessions.complete_by(tx, session, donation.id)
    await tell(tx, domain.PAYMENT_RECEIVED, received)
    await tell(tx, domain.PAYMENT_SUCCESSFUL, received)
    await settle(tx, {received.id: held.money})
    await suspense.apply_to_donation(tx, held, payment, received.organisation_id, note, by)
    return received


async def cancel_abandoned(tx: Tx, limit: int = BATCH) -> int:
    """Cancel unpaid donations after 24 h (spec 3.2), confirmed bank transfers after 30 days (settled 5); how many."""
    cancelled = await store.cancel_abandoned(tx, EVERYONE, tx.now - domain.ABANDONED_AFTER, limit, awaited=False)
    cancelled += await store.cancel_abandoned(tx, EVERYONE, tx.now - TRANSFER_WAITS, limit, awaited=True)
    if cancelled:
        await outbox.emit_all(tx, domain.CANCELLED, [(one.partner_id, record(tx, one)) for one in cancelled])
        await _close_live(tx, [donation.id for donation in cancelled])
    return len(cancelled)


async def next_due(tx: Tx) -> datetime | None:
    """When the next unpaid donation is to be cancelled."""
    unpaid, awaited = await store.next_abandoned(tx, EVERYONE)
    due = (unpaid and unpaid + domain.ABANDONED_AFTER, awaited and awaited + TRANSFER_WAITS)
    return min((one for one in due if one), default=None)


async def forget(tx: Tx, limit: int = BATCH) -> int:
    """Forget the donors of gifts that were cancelled 30 days ago and never paid (V6); how many."""
    count, declarations = await store.forget(tx, EVERYONE, tx.now - domain.FORGOTTEN_AFTER, limit)
    if declarations:
        await giftaid.forget(tx, declarations)
    return count


async def next_forgotten(tx: Tx) -> datetime | None:
    """When the next donor is to be forgotten."""
    oldest = await store.next_forgotten(tx, EVERYONE)
    return None if oldest is None else oldest + domain.FORGOTTEN_AFTER


async def _close_live(tx: Tx, donation_ids: list[UUID]) -> None:
    """Have the provider end what must not be paid any more."""
    await queue.enqueue_all(tx, [_closing(payment_id) for payment_id in await payments.live_of(tx, donation_ids)])


async def close_attempt(tx: Tx, payment: Payment, due: datetime) -> None:
    """Have the provider end a new attempt at a moment, if it is not paid by then (S5, H6)."""
    await queue.enqueue_all(tx, [_closing(payment.id, due)])


def _closing(payment_id: UUID, due: datetime | None = None) -> NewJob:
    return NewJob(CLOSE_PAYMENT, {"payment": str(payment_id)}, due)


async def lock(tx: Tx, scope: Partner | Everyone, donation_id: UUID) -> Donation:
    """One donation, held until the transaction ends. Raises NotFound."""
    if (donation := await store.lock(tx, scope, donation_id)) is None:
        raise NotFound
    return donation


async def lock_all(tx: Tx, donation_ids: Sequence[UUID]) -> dict[UUID, Donation]:
    """These donations, held until the transaction ends."""
    return {donation.id: donation for donation in await store_money.lock_all(tx, EVERYONE, donation_ids)}


async def settle(tx: Tx, nets: Mapping[UUID, Money]) -> None:
    """Note what arrived of donations that the caller holds and that wait for it (settled 5); partners are told."""
    settled = await store_money.settle(tx, EVERYONE, list(nets), list(nets.values()))
    if len(settled) != len(nets):
        raise LookupError("a donation to be settled does not wait for it")
    await _emit_all(tx, domain.SETTLED, settled)


async def unpaid_balances(tx: Tx) -> list[Bucket]:
    """Of which partners, nonprofits and currencies there are settled donations that are in no payout."""
    return await store_money.unpaid_balances(tx, EVERYONE)


async def loose_buckets_of(tx: Tx, partner: Partner, organisation_id: UUID) -> list[Bucket]:
    """As ``loose_buckets``, of one partner and nonprofit."""
    return await store_money.loose_buckets_of(tx, partner, organisation_id)


async def has_loose(tx: Tx, bucket: Bucket, room: int = MAX_MINOR) -> bool:
    """Whether settled donations of a bucket are in no payout, the oldest of which comes to no more than ``room``."""
    return await store_money.has_loose(tx, Partner(bucket.partner_id), bucket, room)


async def collect(tx: Tx, bucket: Bucket, disbursement_id: UUID, limit: int, room: int) -> tuple[int, Money]:
    """Put settled donations into a payout that the caller holds: how many, and what they come to: at most ``room``."""
    partner = Partner(bucket.partner_id)
    count, minor = await store_money.collect(tx, partner, bucket, disbursement_id, limit, room)
    return count, Money(minor, bucket.currency)


async def release(tx: Tx, donation_id: UUID) -> None:
    """Take a donation out of its payout; the caller holds both."""
    await store_money.release(tx, EVERYONE, donation_id)


async def pay_out(tx: Tx, disbursement_id: UUID, limit: int = BATCH) -> int:
    """Move donations of a payout that was paid to DISBURSED; how many. Partners are told."""
    moved = await store_money.pay_out(tx, EVERYONE, disbursement_id, limit)
    await _emit_all(tx, domain.DISBURSED, moved)
    return len(moved)


async def revert_donations(tx: Tx, disbursement_id: UUID, limit: int = BATCH) -> int:
    """Move donations of a payout that came back to RECEIVED_PAYMENT; how many. Partners are told."""
    moved = await store_money.revert_donations(tx, EVERYONE, disbursement_id, limit)
    await _emit_all(tx, domain.PAYOUT_RETURNED, moved)
    return len(moved)


async def in_payout(tx: Tx, disbursement_id: UUID, after: UUID | None = None, limit: int = BATCH) -> list[Donation]:
    """Donations that are, or were when it came back, in a payout: by creation, after one of them."""
    return await store_money.in_payout(tx, EVERYONE, disbursement_id, after, limit)


async def reassign(tx: Tx, donation: Donation, target_id: UUID) -> Donation:
    """Give a held donation to another nonprofit; the partner is told. Raises InvalidState.

    It has gift aid no more: a declaration names its charity.
    """
    given = await store_money.reassign(tx, EVERYONE, donation.id, target_id)
    if given is None:
        raise domain.InvalidState("only a donation that was received and is in no payout can be reassigned")
    await tell(tx, domain.REASSIGNED, given)
    return given


async def cancel_gift_aid(tx: Tx, declaration_id: UUID, cancelled_from: datetime | None) -> Declaration:
    """Note that a donor has cancelled a declaration; gifts made from that moment on bear it no more.

    Raises NotFound, GiftAidRefused.
    """
    cancelled = await giftaid.cancel(tx, declaration_id, cancelled_from)
    await store_money.uncover(tx, EVERYONE, declaration_id, cancelled.cancelled_from or tx.now)
    return cancelled


async def uninvoiced(tx: Tx) -> list[tuple[UUID, str]]:
    """Which partners have direct donations, in which currencies, that they were not asked for."""
    return await store_requests.uninvoiced(tx, EVERYONE)


async def oldest_unasked(tx: Tx) -> datetime | None:
    """When the oldest direct donation was made that nobody was asked for."""
    return await store_requests.oldest_unasked(tx, EVERYONE)


async def sum_unasked(tx: Tx, partner: Partner, currency: str, cutoff_at: datetime) -> int:
    """What a partner's donations in a currency come to that were made before then and not asked for, in minor units."""
    return await store_requests.sum_unasked(tx, partner, currency, cutoff_at)


async def ask(
    tx: Tx, partner: Partner, currency: str, cutoff_at: datetime, request_id: UUID, limit: int, room: int
) -> tuple[int, Money, bool]:
    """Put direct donations into a request that the caller holds: how many, what they come to, whether it is full."""
    count, minor, is_full = await store_requests.ask(tx, partner, currency, cutoff_at, request_id, limit, room)
    return count, Money(minor, currency), is_full


async def lock_waiting(tx: Tx, request_id: UUID, limit: int) -> list[tuple[UUID, int]]:
    """The oldest donations of a request that no money covers yet, held, with their amounts in minor units."""
    return await store_requests.lock_waiting(tx, EVERYONE, request_id, limit)


async def receive_direct(tx: Tx, donation_ids: Sequence[UUID]) -> list[Donation]:
    """The partner has paid for donations that the caller holds: they are received and settled; partners are told."""
    received = await store_requests.receive(tx, EVERYONE, donation_ids)
    if len(received) != len(donation_ids):
        raise LookupError("a donation to be received does not wait for its money")
    await _emit_all(tx, domain.PAYMENT_SUCCESSFUL, received)
    await _emit_all(tx, domain.SETTLED, received)
    return received


async def _emit_all(tx: Tx, event_type: str, told: Sequence[Donation]) -> None:
    if told:
        await outbox.emit_all(tx, event_type, [(one.partner_id, record(tx, one)) for one in told])


async def tell(tx: Tx, event_type: str, donation: Donation) -> None:
    """Write an event with the donation as it is."""
    await outbox.emit(tx, donation.partner_id, event_type, record(tx, donation))
