"""Confirmation emails to applicants, with a link or a six-digit code (settled 5)."""

from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.validation.agents import confirmation_codes, store, store_mails, transitions
from almoner.validation.agents.confirmation_codes import CODE_DIGITS, CodeCheckResult, EmailConfirmation
from almoner.validation.agents.domain import AgentVerification


class SendConfirmationJob(msgspec.Struct, frozen=True):
    """The confirmation to email."""

    confirmation: UUID


SEND_CONFIRMATION: Final = JobKind("agent_verifications.send_confirmation", SendConfirmationJob)


async def send_confirmation(tx: Tx, verification: AgentVerification) -> bool:
    """Email the applicant and void earlier codes.

    Returns False, and logs it, if the address has reached its hourly or daily limit across all verifications.
    """
    assert verification.email is not None, "nobody unconfirmed is forgotten"
    if not await _is_within_address_limit(tx, verification.email):
        step = EvaluationStep("confirmation_mail", "warn", "address_has_its_share")
        await transitions.record_evaluation_steps(tx, verification, step)
        return False
    new = EmailConfirmation(tx.new_id(), verification.id, tx.real_now, 0)
    await store_mails.insert_confirmation(tx, new)
    await SEND_CONFIRMATION.enqueue(tx, SendConfirmationJob(new.id))
    return True


async def _is_within_address_limit(tx: Tx, email: str) -> bool:
    """Whether the limit per address allows another email. Locks the address until the transaction ends."""
    reached = await store_mails.lock_address_and_list_confirmation_send_times(
        tx, email, tx.real_now - confirmation_codes.DAY
    )
    return confirmation_codes.is_within_email_limit_per_address(reached, tx.real_now, sandbox=tx.deployment.sandbox)


async def may_send_confirmation_to_address(tx: Tx, verification: AgentVerification, email: str) -> bool:
    """Whether limits allow another email to this address."""
    before = await store_mails.list_confirmation_send_times(tx, verification.id)
    return confirmation_codes.may_send_confirmation(
        before, tx.real_now, is_address_corrected=True
    ) and await _is_within_address_limit(tx, email)


async def resend_confirmation(tx: Tx, verification_id: UUID) -> bool:
    """Email the applicant again; False if limits forbid it or there is nothing to confirm. Raises NotFound."""
    locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
    if not locked.is_email_unconfirmed or not confirmation_codes.may_send_confirmation(
        await store_mails.list_confirmation_send_times(tx, locked.id), tx.real_now
    ):
        return False
    return await send_confirmation(tx, locked)


async def check_code(tx: Tx, verification_id: UUID, entered_code: str) -> CodeCheckResult:
    """Check a typed code without confirming. A wrong one is counted, so the caller must commit."""
    await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)  # attempts are counted one at a time
    newest = await store_mails.find_latest_confirmation(tx, verification_id)
    if newest is None:
        return CodeCheckResult.EXHAUSTED if confirmation_codes.extract_digits(entered_code) else CodeCheckResult.MISSING
    answer = newest.check_code(entered_code, derive_confirmation_code(tx, newest.id))
    if answer is CodeCheckResult.WRONG:
        await store_mails.record_failed_code_attempt(tx, newest.id)
    return answer


async def find_unconfirmed_verification(tx: Tx, confirmation_id: UUID) -> AgentVerification | None:
    """The verification of a confirmation email; None if there is nothing to confirm."""
    found = await store_mails.find_confirmation(tx, confirmation_id)
    if found is None:
        raise NotFound
    verification = await store.find(tx, ALL_PARTNERS, found.verification_id)
    return (
        verification
        if verification is not None and verification.with_expiry_applied(tx.now).is_email_unconfirmed
        else None
    )


def derive_confirmation_code(tx: Tx, confirmation_id: UUID) -> str:
    """The six digits of a code, derived from the master key and not stored."""
    number = int.from_bytes(tx.vault.compute_keyed_hash("agent-code", confirmation_id.bytes)[:8])
    return f"{number % 10**CODE_DIGITS:0{CODE_DIGITS}}"
