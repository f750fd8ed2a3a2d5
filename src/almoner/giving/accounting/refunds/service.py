"""Starts refunds and records their outcome.

The flows call the provider. Locks are taken in this order everywhere: disbursement, donation, refund, ledger accounts.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import UniqueViolationError

from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.access.people.domain import OPERATORS, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerTransfer
from almoner.giving.accounting.refunds import domain, store
from almoner.giving.accounting.refunds.domain import (
    ConcurrentChangeError,
    NoSuchRefund,
    ProviderRefundState,
    Refund,
    RefundError,
    RefundSentEvent,
)
from almoner.giving.accounting.refunds.store import count_for_operators as count_for_operators
from almoner.giving.accounting.refunds.store import count_unresolved as count_unresolved
from almoner.giving.accounting.refunds.store import list_by_donation as list_by_donation
from almoner.giving.accounting.refunds.store import list_for_operators as list_for_operators
from almoner.giving.accounting.refunds.store import list_newest as list_newest
from almoner.giving.accounting.refunds.store import list_unresolved as list_unresolved
from almoner.giving.accounting.refunds.store import (
    load_sent_refunds_by_payment_id as load_sent_refunds_by_payment_id,
)
from almoner.giving.accounting.refunds.store import needs_resolution as needs_resolution
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import REFUNDED, Donation, InvalidState
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import Payment
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money, format_amount
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.platform.observability.loggers import get_logger


class SendRefundJob(msgspec.Struct, frozen=True):
    """The refund to send."""

    refund: UUID


SEND: Final = JobKind("refunds.send", SendRefundJob)


class RefreshRefundJob(msgspec.Struct, frozen=True):
    """The refund to refresh, by the provider's IDs of the refund and its payment."""

    payment: str
    refund: str


REFRESH: Final = JobKind("refunds.refresh", RefreshRefundJob)
UNIQUE_PROVIDER_REFUND: Final = "refund_once"
"""The constraint that one provider refund belongs to only one of our refunds."""
_log: Final = get_logger("almoner.giving")


def refund_idempotency_key(tx: Tx, refund_id: UUID) -> str:
    """The provider's idempotency key of a refund, made from our own row (I6)."""
    return f"{tx.deployment.environment}:giftrefund:{encode_uuid(refund_id)}"


async def begin_refund(
    tx: Tx,
    scope: Partner | AllPartners,
    donation_id: UUID,
    amount_minor: int | None,
    rules: DisbursementRules,
    *,
    started_by: str | None = None,
    note: str | None = None,
    manual_refund_reference: str | None = None,
) -> Refund:
    """Start the refund of a received donation: ``amount_minor`` of it, or everything that is left.

    The donation leaves its disbursement, if that was not sent; the rest joins the next one once the refund has ended.
    ``started_by``, ``note``: the operator and the reason; None for the partner. ``manual_refund_reference``: the
    refund's reference if the operator has already sent it; the provider is then not called. Raises NotFound,
    InvalidState, IncorrectParams, RefundError.
    """
    if note is not None:
        domain.ensure_valid_note(note)
    if manual_refund_reference is not None:
        domain.ensure_valid_provider_refund_id(manual_refund_reference)
    domain.resolve_refund_amount(await donations.get(tx, scope, donation_id), amount_minor)
    try:
        donation = await disbursements.remove_from_disbursement(tx, donation_id, rules)
    except DisbursementError as refused:
        raise InvalidState(str(refused)) from refused
    money = domain.resolve_refund_amount(donation, amount_minor)
    refund = _new_refund(tx, donation, money, await _payment_of(tx, donation), started_by, note)
    await store.insert(tx, refund)
    transfers = ledger_domain.build_donation_refund_started_transfers(
        refund.id, refund.provider, donation.organisation_id, money, refund.nonprofit_share
    )
    if manual_refund_reference is not None:
        transfers += await _finish_once(tx, donation, refund, manual_refund_reference, started_by, note)
    elif not refund.is_sent_by_bank_transfer:
        await _enqueue_sending(tx, refund)
    ledger.post_at_commit(tx, transfers)
    return await get(tx, refund.id)


async def begin_operator_refund(
    tx: Tx,
    donation_id: UUID,
    amount_minor: int | None,
    rules: DisbursementRules,
    *,
    started_by: str,
    note: str,
    manual_refund_reference: str | None,
) -> Refund:
    """Start a refund by an operator, once, also if their form or command is sent twice.

    Raises NotFound, InvalidState, IncorrectParams, RefundError; InvalidState for a repeated refund: the transaction
    must then be rolled back.
    """
    refund = await begin_refund(
        tx,
        ALL_PARTNERS,
        donation_id,
        amount_minor,
        rules,
        started_by=started_by,
        note=note,
        manual_refund_reference=manual_refund_reference,
    )
    if manual_refund_reference is None:  # a reference is unique
        domain.ensure_not_repeated(refund, await store.list_by_donation(tx, donation_id))
    return refund


async def begin_support_refund(
    tx: Tx, partner: Partner, donation_id: UUID, amount_minor: int | None, rules: DisbursementRules
) -> Refund:
    """Start a refund by the partner's support, within the limit that an owner set for support refunds of one donation.

    Raises NotFound, InvalidState, IncorrectParams; Forbidden above the limit: the transaction must then be rolled back.
    """
    refund = await begin_refund(tx, partner, donation_id, amount_minor, rules)
    limits = await partners.load_support_refund_limits_by_currency(tx, partner)
    limit = limits.get(refund.money.currency, 0)
    domain.ensure_within_support_limit(await donations.get(tx, partner, donation_id), limit)
    return refund


def _new_refund(
    tx: Tx, donation: Donation, money: Money, payment: Payment | None, started_by: str | None, note: str | None
) -> Refund:
    return Refund(
        id=tx.new_id(),
        donation_id=donation.id,
        payment_id=payment.id if payment else None,
        provider=payment.provider if payment else ledger_domain.PARTNER_TRANSFERS,
        money=money,
        nonprofit_share=domain.calculate_nonprofit_share(donation, money),
        status="pending",
        started_at=tx.now,
        started_by=started_by,
        note=note,
    )


async def _payment_of(tx: Tx, donation: Donation) -> Payment | None:
    """The payment of a hosted donation; None for a direct one."""
    return await payments.find(tx, donation.payment_id) if donation.payment_id else None


async def get(tx: Tx, refund_id: UUID) -> Refund:
    """One refund. Raises NoSuchRefund."""
    if (refund := await store.find(tx, refund_id)) is None:
        raise NoSuchRefund
    return refund


async def get_for_update_with_donation(tx: Tx, refund_id: UUID) -> tuple[Donation, Refund]:
    """A refund and its donation, locked until the transaction ends. Raises NoSuchRefund."""
    donation = await donations.get_for_update(tx, ALL_PARTNERS, (await get(tx, refund_id)).donation_id)
    if (refund := await store.find_for_update(tx, refund_id)) is None:
        raise NoSuchRefund
    return donation, refund


async def record_refund_sent(tx: Tx, refund_id: UUID, provider_refund_id: str) -> None:
    """Record that the provider sent the refund; idempotent."""
    donation, refund = await get_for_update_with_donation(tx, refund_id)
    if refund.status == "pending":
        ledger.post_at_commit(tx, await _finish_refund(tx, donation, refund, provider_refund_id, None, None))


async def record_provider_refusal(tx: Tx, refund_id: UUID, reason: str) -> None:
    """Record that the provider refused the refund, so the nonprofit is owed the amount again; idempotent."""
    donation, refund = await get_for_update_with_donation(tx, refund_id)
    if refund.status == "pending":
        reported = {"refund": tx.ids.encode("refund", refund.id), "why": reason}
        tx.add_commit_callback(lambda: _log.error("refund_refused", **reported))
        why = reason[: domain.NOTE_LENGTH] or "no reason given"
        await _reverse_refund(tx, donation, refund, None, why)
        facts = {**_facts(tx, refund), "Refund": reported["refund"], "Why": why}
        for officer in await people.list_with_any_role(tx, OPERATORS, "finance"):
            await security_emails.enqueue_email(
                tx, officer, "refund_refused", placeholder_values=_amount_text(refund), detail_lines=facts
            )


async def apply_provider_state(tx: Tx, provider: str, refund_state: ProviderRefundState) -> None:
    """Apply a refund's state at the provider. A refund that fails after it was sent waits for an operator (M4, M5).

    A failure posts nothing: the amount arrives in a settlement, as a line to clear. Raises ConcurrentChangeError while
    it is being sent.
    """
    if (refund_id := await store.find_id_by_provider_refund_id(tx, provider, refund_state.id)) is None:
        if await store.has_refund_without_provider_id(tx, provider, refund_state.provider_payment_id):
            raise ConcurrentChangeError
        if refund_state.failure_reason is not None:
            tx.add_commit_callback(
                lambda: _log.warning(
                    "unknown_refund_failed", provider_refund=refund_state.id, why=refund_state.failure_reason
                )
            )
        else:
            await _record_external_refund(tx, provider, refund_state)
        return
    _, refund = await get_for_update_with_donation(tx, refund_id)
    payment = await payments.find(tx, refund.payment_id) if refund.payment_id else None
    ours = payment.provider_payment_id if payment else None
    reported = {"refund": tx.ids.encode("refund", refund.id), "why": refund_state.failure_reason}
    if (refund_state.money, refund_state.provider_payment_id, refund_state.is_live) != (
        refund.money,
        ours,
        not tx.deployment.sandbox,
    ):
        tx.add_commit_callback(
            lambda: _log.error("refund_differs", refund=reported["refund"], provider_refund=refund_state.id)
        )
    elif refund_state.failure_reason and await store.insert_failure(
        tx, refund.id, refund_state.failure_reason[: domain.NOTE_LENGTH]
    ):
        tx.add_commit_callback(lambda: _log.error("refund_failed", **reported))
        facts = {**_facts(tx, refund), "Refund": reported["refund"] or "", "Why": refund_state.failure_reason}
        for officer in await people.list_with_any_role(tx, OPERATORS, "finance"):
            await security_emails.enqueue_email(
                tx, officer, "refund_failed", placeholder_values=_amount_text(refund), detail_lines=facts
            )


async def _record_external_refund(tx: Tx, provider: str, refund_state: ProviderRefundState) -> None:
    """Record a refund made in the provider's dashboard.

    The donation leaves its unsent disbursement, so that the nonprofit is not paid as well.
    """
    paid = (await payments.load_payments_by_provider_payment_id(tx, provider, [refund_state.provider_payment_id])).get(
        refund_state.provider_payment_id
    )
    if paid is not None and paid.status == "succeeded" and refund_state.is_live is not tx.deployment.sandbox:
        gift = await donations.get(tx, ALL_PARTNERS, paid.donation_id)
        reason = f"{provider} refunded {format_amount(refund_state.money)} without a refund in Almoner"
        await disbursements.enqueue_disbursement_hold(tx, gift, reason, cause_id=refund_state.id)


async def enqueue_refresh(tx: Tx, provider_payment_id: str, provider_refund_id: str, due_at: datetime) -> None:
    """Enqueue a job that refreshes a refund from its provider."""
    await REFRESH.enqueue(
        tx, RefreshRefundJob(provider_payment_id, provider_refund_id), unique_key=provider_refund_id, due_at=due_at
    )


async def record_manual_refund(tx: Tx, refund_id: UUID, provider_refund_id: str, note: str, recorded_by: str) -> Refund:
    """Record that an operator sent the refund by bank or in the provider's dashboard.

    Raises NoSuchRefund, RefundError.
    """
    domain.ensure_valid_note(note)
    domain.ensure_valid_provider_refund_id(provider_refund_id)
    donation, refund = await get_for_update_with_donation(tx, refund_id)
    domain.ensure_pending(refund)
    ledger.post_at_commit(tx, await _finish_once(tx, donation, refund, provider_refund_id, recorded_by, note))
    return await get(tx, refund_id)


async def mark_refused(tx: Tx, refund_id: UUID, note: str, decided_by: str) -> Refund:
    """Record an operator's finding that the refund was not sent and will not be. Raises NoSuchRefund, RefundError."""
    domain.ensure_valid_note(note)
    donation, refund = await get_for_update_with_donation(tx, refund_id)
    domain.ensure_pending(refund)
    await _reverse_refund(tx, donation, refund, decided_by, note)
    return await get(tx, refund_id)


async def resolve_failed_refund(tx: Tx, refund_id: UUID, note: str, resolved_by: str) -> Refund:
    """Record how an operator resolved a refused or failed refund.

    Raises NoSuchRefund, RefundError.
    """
    domain.ensure_valid_note(note)
    _, refund = await get_for_update_with_donation(tx, refund_id)
    came_back = await store.has_failed(tx, refund_id)
    if not came_back and (refund.status != "refused" or refund.ended_by is not None):
        by_hand = " (recorded manually)" if refund.ended_by else ""
        raise RefundError(f"the refund is {refund.status}{by_hand}: only a failed or returned refund can be resolved")
    if not await store.insert_resolution(tx, refund_id, note, resolved_by):
        raise RefundError("the refund is already resolved")
    return refund


async def retry_refund(tx: Tx, refund_id: UUID) -> Refund:
    """Request again a refund that the worker gave up. Raises NoSuchRefund, RefundError."""
    _, refund = await get_for_update_with_donation(tx, refund_id)
    domain.ensure_pending(refund)
    if refund.is_sent_by_bank_transfer:
        raise RefundError(
            "the refund is a bank transfer, which cannot be retried: send it, and mark it as sent on its page or with "
            "`almoner refunds mark-sent`"
        )
    await _enqueue_sending(tx, refund)
    return refund


async def _finish_once(
    tx: Tx, donation: Donation, refund: Refund, name: str, by: str | None, note: str | None
) -> list[LedgerTransfer]:
    try:
        return await _finish_refund(tx, donation, refund, name, by, note)
    except UniqueViolationError as refused:
        if refused.constraint_name != UNIQUE_PROVIDER_REFUND:
            raise
        raise RefundError(f"{name} is already recorded for another refund. Check the reference.") from refused


async def _finish_refund(
    tx: Tx, donation: Donation, refund: Refund, provider_refund: str, by: str | None, note: str | None
) -> list[LedgerTransfer]:
    """Mark a refund as sent; returns the transfers, which the caller posts with all others of its transaction."""
    await store.mark_sent(tx, refund.id, provider_refund, by, note)
    await donations.emit_donation_event(tx, REFUNDED, await _release_donation(tx, donation, refund))
    await outbox.emit_internal_event(tx, domain.SENT, RefundSentEvent(donation.id, refund.id))
    return ledger_domain.build_donation_refund_sent_transfers(refund.id, refund.provider, refund.money)


async def _reverse_refund(tx: Tx, donation: Donation, refund: Refund, by: str | None, reason: str) -> None:
    back = domain.calculate_amount_owed_after_failed_refund(donation, refund.money)
    await store.mark_refused(tx, refund.id, back, by, reason)
    await _release_donation(tx, donation, refund)
    transfers = ledger_domain.build_donation_refund_reversed_transfers(
        refund.id, refund.provider, donation.organisation_id, refund.money, back
    )
    ledger.post_at_commit(tx, transfers)
    if refund.started_by is None:  # operators who started it see the outcome themselves
        for person in await people.list_with_any_role(
            tx, member_realm(Partner(donation.partner_id)), "owner", "finance"
        ):
            await security_emails.enqueue_email(
                tx, person, "refund_not_sent", placeholder_values=_amount_text(refund), detail_lines=_facts(tx, refund)
            )


def _amount_text(refund: Refund) -> Mapping[str, str]:
    return {"amount": format_amount(refund.money)}


def _facts(tx: Tx, refund: Refund) -> Mapping[str, str]:
    return {
        "Amount": format_amount(refund.money),
        "Donation": tx.ids.encode("donation", refund.donation_id),
        "Requested": f"{tx.deployment.date_in_issuer_time_zone(refund.started_at):%d %B %Y}",
    }


async def _release_donation(tx: Tx, donation: Donation, refund: Refund) -> Donation:
    """Make the rest of the donation available for disbursement after a refund has ended; returns the donation."""
    await queue.delete_dead_jobs(tx, SEND.name, str(refund.id))
    await disbursements.enqueue_add_donations_to_disbursements(
        tx, Partner(donation.partner_id), donation.organisation_id
    )
    return await donations.get(tx, ALL_PARTNERS, donation.id)


async def _enqueue_sending(tx: Tx, refund: Refund) -> None:
    await SEND.enqueue(tx, SendRefundJob(refund.id), unique_key=str(refund.id))
