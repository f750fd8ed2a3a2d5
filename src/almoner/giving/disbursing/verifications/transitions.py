"""How a verification is locked, changed and reported: every change uses these functions."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.disbursing.verifications import domain, schemas, store, test_values
from almoner.giving.disbursing.verifications.domain import CheckType, MonetaryDonationVerification, Outcome
from almoner.giving.disbursing.verifications.schemas import MonetaryDonationVerificationResponse
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs.queue import JobKind

Scope = Partner | AllPartners


class CheckVerificationJob(msgspec.Struct, frozen=True):
    """The verification to check, and the action of a sandbox test value to apply afterwards."""

    verification_id: UUID = msgspec.field(name="verification")
    sandbox_action: test_values.Action | None = msgspec.field(name="then")


CHECK: Final = JobKind("verifications.check_registration", CheckVerificationJob)


def serialise_for_api(tx: Tx, verification: MonetaryDonationVerification) -> MonetaryDonationVerificationResponse:
    """The verification as an API record."""
    return schemas.verification_response(tx, verification)


async def get_for_update(tx: Tx, scope: Scope, verification_id: UUID) -> MonetaryDonationVerification:
    """Lock a verification, and record its expiry if it is due. Raises NotFound."""
    if (locked := await store.find_for_update(tx, scope, verification_id)) is None:
        raise NotFound
    return await store_transition(tx, locked.with_expiry_applied(tx.now)) if locked.is_overdue(tx.now) else locked


async def record_check_outcomes(
    tx: Tx, verification: MonetaryDonationVerification, outcomes: Sequence[tuple[CheckType, Outcome]]
) -> MonetaryDonationVerification:
    """Record the outcomes of several checks at once and notify the partner once. Raises InvalidState."""
    now = verification
    for check, outcome in outcomes:
        now = now.with_check_outcome(check, outcome, tx.now)
    await store.update_checks(tx, now, [check for check, _ in outcomes])
    if now.status == "pending" and now.remaining_checks == ("compliance",):
        await enqueue_check(tx, now.id)  # watchlists are decided last
    return await (store_transition if now.status != verification.status else emit_verification_progressed)(tx, now)


async def store_transition(tx: Tx, verification: MonetaryDonationVerification) -> MonetaryDonationVerification:
    """Store a new state of a locked verification, and notify the partner."""
    if not await store.update_status(tx, verification):
        raise LookupError(f"verification {verification.id} is not where its holder saw it")
    return await emit_verification_progressed(tx, verification)


async def emit_verification_progressed(
    tx: Tx, verification: MonetaryDonationVerification
) -> MonetaryDonationVerification:
    """Emit the verification's event to the partner."""
    await outbox.emit_event(tx, verification.partner_id, domain.PROGRESSED, serialise_for_api(tx, verification))
    return verification


async def enqueue_check(tx: Tx, verification_id: UUID, test_action: test_values.Action | None = None) -> None:
    """Enqueue a check after the commit. ``test_action``: a sandbox test value's action."""
    await CHECK.enqueue(
        tx, CheckVerificationJob(verification_id, test_action), unique_key=f"{verification_id}:{test_action}"
    )
