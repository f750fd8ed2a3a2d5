"""Records disputes, and decides them if the provider does not report the outcome.

The flows query the provider. Locks are taken in this order everywhere: disbursement, donation, ledger accounts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.accounting.disputes import domain, store
from almoner.giving.accounting.disputes.domain import (
    AbsorbedLoss,
    BookedDispute,
    ConcurrentChangeError,
    Dispute,
    DisputeError,
    DisputeOutcome,
)
from almoner.giving.accounting.disputes.store import count_for_operators as count_for_operators
from almoner.giving.accounting.disputes.store import count_open as count_open
from almoner.giving.accounting.disputes.store import list_for_operators as list_for_operators
from almoner.giving.accounting.disputes.store import list_newest as list_newest
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DISPUTE_CLOSED, DISPUTED, REFUNDED, Donation
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import DisputeStatus, ProviderDispute
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import (
    DisbursementError,
    DisbursementRules,
    DonationInOtherDisbursement,
)
from almoner.kit.money import Money, format_amount
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.platform.observability.loggers import get_logger


class RefreshDisputesJob(msgspec.Struct, frozen=True):
    """The payment whose disputes are refreshed, by the provider's ID."""

    payment: str


REFRESH: Final = JobKind("disputes.refresh", RefreshDisputesJob)
BATCH: Final = 100
_log: Final = get_logger("almoner.giving")


@dataclass(frozen=True, slots=True)
class _DisputedDonation:
    """A locked, disputed donation. ``not_disbursed``: what is owed of it can still be deducted."""

    donation: Donation
    not_disbursed: bool

    @property
    def paid(self) -> Money:
        """The amount paid."""
        return self.donation.money

    @property
    def refunded_minor(self) -> int:
        """The refunded part of it, in minor units."""
        return _refunded_amount(self.donation).minor

    @property
    def ids(self) -> tuple[UUID | None, UUID | None]:
        """The IDs of the dispute's subject."""
        return self.donation.id, None


@dataclass(frozen=True, slots=True)
class _DisputedUnallocated:
    """A disputed payment that pays no donation, locked."""

    unallocated: UnallocatedPayment

    @property
    def paid(self) -> Money:
        """The amount paid."""
        return self.unallocated.money

    @property
    def refunded_minor(self) -> int:
        """Always 0: only the provider knows what was refunded."""
        return 0

    @property
    def ids(self) -> tuple[UUID | None, UUID | None]:
        """The IDs of the dispute's subject."""
        return None, self.unallocated.id


async def apply_provider_state(
    tx: Tx,
    provider: str,
    provider_payment_id: str,
    provider_disputes: Sequence[ProviderDispute],
    rules: DisbursementRules,
) -> None:
    """Apply a payment's disputes as the provider reports them; idempotent and independent of order.

    Raises ConcurrentChangeError while another change of the donation is in progress.
    """
    known = await _recorded_disputes(tx, provider, provider_payment_id)
    for one in provider_disputes:
        if (dispute := known.get(one.id)) is not None and dispute.evidence_due_at != one.evidence_due_at:
            await store.update_evidence_due_at(tx, dispute.id, one.evidence_due_at)
    if not any(_is_new_state(known.get(one.id), one) for one in provider_disputes):
        return
    if (subject := await _lock_subject(tx, provider, provider_payment_id, rules)) is None:
        reported = {"provider": provider, "payment": provider_payment_id}
        tx.add_commit_callback(lambda: _log.error("dispute_payment_unknown", **reported))
        return
    known, transfers = (
        await _recorded_disputes(tx, provider, provider_payment_id),
        list[LedgerTransfer](),
    )  # recorded by another transaction while we waited
    for one in provider_disputes:
        if (dispute := known.get(one.id)) is None:
            debited = sum(other.money.minor for other in known.values() if other.status is DisputeStatus.OPEN)
            if (dispute := await _record_opened(tx, provider, provider_payment_id, subject, one, debited)) is None:
                continue
            known[dispute.provider_dispute_id] = dispute
            transfers += ledger_domain.build_dispute_debited_transfers(dispute.id, provider, dispute.money)
        if dispute.status is DisputeStatus.OPEN and (decided := domain.outcome_from_provider(one)) is not None:
            known.pop(dispute.provider_dispute_id)
            transfers += await _record_ended(tx, subject, dispute, decided)
            subject = await _reload_subject(tx, subject)
    ledger.post_at_commit(tx, transfers)


async def record_outcome(tx: Tx, dispute_id: UUID, outcome: DisputeOutcome, rules: DisbursementRules) -> Dispute:
    """Record a dispute's outcome that its provider does not report.

    Raises DisputeError; ConcurrentChangeError while another change of the donation is in progress.
    """
    if not 1 <= len(outcome.note or "") <= domain.MAX_NOTE:
        raise DisputeError(f"the note must have 1 to {domain.MAX_NOTE} characters")
    seen = await get(tx, dispute_id)
    subject = await _lock_subject(tx, seen.provider, seen.provider_payment_id, rules)
    dispute = await get(tx, dispute_id)
    if dispute.status is not DisputeStatus.OPEN or subject is None:
        raise DisputeError(f"the dispute has already been decided: it is {dispute.status}")
    ledger.post_at_commit(tx, await _record_ended(tx, subject, dispute, outcome))
    return await get(tx, dispute_id)


async def get(tx: Tx, dispute_id: UUID) -> Dispute:
    """Return one dispute. Raises DisputeError."""
    if (found := await store.find(tx, dispute_id)) is None:
        raise DisputeError(
            "there is no dispute with this ID: see Disputes in the console, or `almoner disputes list --all`"
        )
    return found


async def recover_absorbed_loss(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> None:
    """Recover the loss that we absorbed, after the disbursement with the disputed donation was returned.

    Raises ConcurrentChangeError while another change of the donation is in progress.
    """
    disputed = await _lock_donation(tx, donation_id, rules)
    if not disputed.not_disbursed:
        return  # it has not been returned, or the donation was disbursed again
    transfers: list[LedgerTransfer] = []
    for lost in await store.list_with_unrecovered_loss(tx, donation_id):
        owed = (await donations.get(tx, ALL_PARTNERS, donation_id)).net_amount_for_nonprofit
        back = domain.split_loss_with_nonprofit(lost.money, owed).nonprofit_share
        await store.record_recovered_amount(tx, lost.id, back)
        if back:
            transfers += ledger_domain.build_dispute_recovered_transfers(
                lost.id, lost.provider, disputed.donation.organisation_id, back
            )
    await _release_donation(tx, disputed)
    ledger.post_at_commit(tx, transfers)


async def load_booked_disputes_by_payment_id(
    tx: Tx, provider: str, provider_payment_ids: Sequence[str]
) -> Mapping[str, list[BookedDispute]]:
    """The disputes of each payment, oldest first, each with the kinds of report lines booked for it."""
    found: dict[str, list[BookedDispute]] = {}
    for booked in await store.list_booked_disputes(tx, provider, provider_payment_ids):
        found.setdefault(booked.dispute.provider_payment_id, []).append(booked)
    return found


async def enqueue_refresh(tx: Tx, provider_payment_id: str, due_at: datetime | None = None) -> None:
    """Enqueue a job that refreshes the disputes of a provider's payment."""
    await REFRESH.enqueue(tx, RefreshDisputesJob(provider_payment_id), due_at=due_at, unique_key=provider_payment_id)


async def next_refresh_at(tx: Tx) -> datetime | None:
    """When the next open dispute is due for a refresh."""
    looked = await store.find_least_recent_refresh_time(tx)
    return None if looked is None else looked + domain.REFRESH_INTERVAL


async def enqueue_due_refreshes(tx: Tx, limit: int = BATCH) -> int:
    """Enqueue refreshes of open disputes not checked for a day; returns how many."""
    found = await store.claim_payments_due_for_refresh(tx, tx.now - domain.REFRESH_INTERVAL, limit)
    for payment in found:
        await enqueue_refresh(tx, payment)
    return len(found)


async def _recorded_disputes(tx: Tx, provider: str, payment: str) -> dict[str, Dispute]:
    return {one.provider_dispute_id: one for one in await store.list_by_payment(tx, provider, payment)}


def _is_new_state(known: Dispute | None, provider_dispute: ProviderDispute) -> bool:
    if known is None:
        return True
    if known.status is DisputeStatus.OPEN:
        return provider_dispute.status is not DisputeStatus.OPEN
    if provider_dispute.status is not known.status:
        _log.error(
            "dispute_outcome_conflicts",
            dispute=provider_dispute.id,
            kept=known.status.value,
            told=provider_dispute.status.value,
        )
    return False


async def _lock_subject(
    tx: Tx, provider: str, payment: str, rules: DisbursementRules
) -> _DisputedDonation | _DisputedUnallocated | None:
    """Lock the donation or unallocated payment that a provider payment paid; None if there is neither."""
    if (
        locked := (await suspense.lock_unallocated_payments_by_provider_payment_id(tx, provider, [payment])).get(
            payment
        )
    ) is not None:
        return _DisputedUnallocated(locked)
    paid = (await payments.load_payments_by_provider_payment_id(tx, provider, [payment])).get(payment)
    if paid is None or paid.status != "succeeded":
        return None
    return await _lock_donation(tx, paid.donation_id, rules)


async def _lock_donation(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> _DisputedDonation:
    try:
        return _DisputedDonation(
            await disbursements.remove_from_disbursement(tx, donation_id, rules), not_disbursed=True
        )
    except DonationInOtherDisbursement as moved:
        raise ConcurrentChangeError from moved
    except DisbursementError:
        return _DisputedDonation(await donations.get_for_update(tx, ALL_PARTNERS, donation_id), not_disbursed=False)


async def _reload_subject(
    tx: Tx, subject: _DisputedDonation | _DisputedUnallocated
) -> _DisputedDonation | _DisputedUnallocated:
    """Reload the subject, which is still locked, after one of its disputes was closed."""
    if isinstance(subject, _DisputedUnallocated):
        return _DisputedUnallocated(await suspense.get(tx, subject.unallocated.id))
    return _DisputedDonation(
        await donations.get_for_update(tx, ALL_PARTNERS, subject.donation.id), subject.not_disbursed
    )


async def _record_opened(
    tx: Tx,
    provider: str,
    payment: str,
    subject: _DisputedDonation | _DisputedUnallocated,
    provider_dispute: ProviderDispute,
    debited_minor: int,
) -> Dispute | None:
    reported = {
        "provider": provider,
        "payment": payment,
        "dispute": provider_dispute.id,
        "reason": provider_dispute.reason,
    }
    gone = subject.refunded_minor + debited_minor
    if not domain.is_consistent_with_payment(provider_dispute, subject.paid, gone, is_live=not tx.deployment.sandbox):
        tx.add_commit_callback(lambda: _log.error("dispute_refused", **reported))
        if isinstance(subject, _DisputedDonation) and domain.matches_payment_mode_and_currency(
            provider_dispute, subject.paid, is_live=not tx.deployment.sandbox
        ):
            amount = format_amount(provider_dispute.money)
            reason = f"{provider} reports a dispute of {amount}, more than the remaining amount"
            await disbursements.enqueue_disbursement_hold(tx, subject.donation, reason, cause_id=provider_dispute.id)
        return None
    donation_id, unallocated_payment_id = subject.ids
    dispute = Dispute(
        id=tx.new_id(),
        provider=provider,
        provider_payment_id=payment,
        provider_dispute_id=provider_dispute.id,
        donation_id=donation_id,
        unallocated_payment_id=unallocated_payment_id,
        money=provider_dispute.money,
        status=DisputeStatus.OPEN,
        reason=provider_dispute.reason,
        opened_at=provider_dispute.opened_at,
        received_at=tx.now,
        decided_at=None,
        decided_by=None,
        note=None,
        evidence_due_at=provider_dispute.evidence_due_at,
    )
    await store.insert(tx, dispute)
    if isinstance(subject, _DisputedDonation):
        await donations.emit_donation_event(tx, DISPUTED, await donations.get(tx, ALL_PARTNERS, subject.donation.id))
    tx.add_commit_callback(lambda: _log.error("dispute_opened", **reported))
    return dispute


async def _record_ended(
    tx: Tx, subject: _DisputedDonation | _DisputedUnallocated, dispute: Dispute, decided: DisputeOutcome
) -> list[LedgerTransfer]:
    reported = {"dispute": dispute.provider_dispute_id, "outcome": decided.outcome}
    if decided.recorded_by is None:
        tx.add_commit_callback(lambda: _log.warning("dispute_ended", **reported))
    if isinstance(subject, _DisputedUnallocated):
        return await _end_unallocated(tx, subject.unallocated, dispute, decided)
    return await (_record_lost if decided.outcome == "lost" else _record_won)(tx, subject, dispute, decided)


async def _record_won(
    tx: Tx, disputed: _DisputedDonation, dispute: Dispute, decided: DisputeOutcome
) -> list[LedgerTransfer]:
    await store.close_dispute(tx, dispute.id, decided)
    await donations.emit_donation_event(tx, DISPUTE_CLOSED, await _release_donation(tx, disputed))
    return ledger_domain.build_dispute_returned_transfers(dispute.id, dispute.provider, dispute.money)


async def _record_lost(
    tx: Tx, disputed: _DisputedDonation, dispute: Dispute, decided: DisputeOutcome
) -> list[LedgerTransfer]:
    """Close a lost dispute as a refund; returns the transfers.

    We absorb what was already disbursed. Raises ConcurrentChangeError while a refund is pending.
    """
    donation = disputed.donation
    if disputed.not_disbursed and donation.withdrawn_minor != _refunded_amount(donation).minor:
        raise ConcurrentChangeError  # the pending refund must be sent or refused first, because the rest depends on it
    owed = donation.net_amount_for_nonprofit if disputed.not_disbursed else Money(0, dispute.money.currency)
    shares = domain.split_loss_with_nonprofit(dispute.money, owed)
    loss = AbsorbedLoss(shares.absorbed_share, was_disbursed=not disputed.not_disbursed)
    await store.close_dispute(tx, dispute.id, decided, loss)
    refunded = await _release_donation(tx, disputed)
    await donations.emit_donation_event(tx, DISPUTE_CLOSED, refunded)
    await donations.emit_donation_event(tx, REFUNDED, refunded)
    return ledger_domain.build_dispute_lost_transfers(
        dispute.id, dispute.provider, donation.organisation_id, shares.nonprofit_share, shares.absorbed_share
    )


async def _release_donation(tx: Tx, disputed: _DisputedDonation) -> Donation:
    """Make the donation available for disbursement again, unless something else keeps it; returns it."""
    freed = await donations.get(tx, ALL_PARTNERS, disputed.donation.id)
    if freed.disputed_at is None:
        await disbursements.enqueue_add_donations_to_disbursements(tx, Partner(freed.partner_id), freed.organisation_id)
    return freed


def _refunded_amount(donation: Donation) -> Money:
    return donation.refunded.money if donation.refunded else Money(0, donation.money.currency)


async def _end_unallocated(
    tx: Tx, unallocated_payment: UnallocatedPayment, dispute: Dispute, decided: DisputeOutcome
) -> list[LedgerTransfer]:
    """Close a dispute of an unallocated payment; returns the transfers.

    A lost dispute counts as the payment's refund; if part of it is disputed, or it was refunded before, we absorb the
    loss.
    """
    money = dispute.money
    if decided.outcome == "won":
        await store.close_dispute(tx, dispute.id, decided)
        return ledger_domain.build_dispute_returned_transfers(dispute.id, dispute.provider, money)
    if money == unallocated_payment.money and unallocated_payment.status in ("held", "refunding"):
        await store.close_dispute(tx, dispute.id, decided, AbsorbedLoss(Money(0, money.currency)))
        back = await suspense.record_chargeback_of_unallocated_payment(
            tx, unallocated_payment, dispute.provider_dispute_id
        )
        return [*ledger_domain.build_dispute_returned_transfers(dispute.id, dispute.provider, money), *back]
    await store.close_dispute(tx, dispute.id, decided, AbsorbedLoss(money))
    return ledger_domain.build_dispute_lost_transfers(
        dispute.id, dispute.provider, None, Money(0, money.currency), money
    )
