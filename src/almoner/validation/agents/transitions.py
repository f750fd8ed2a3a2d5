"""Locks agent verifications, and stores and reports their state changes."""

from collections.abc import Sequence
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.evidence import store as evidence
from almoner.screening.screenings.domain import ScreenedSubject
from almoner.validation.agents import domain, schemas, store
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.agents.schemas import AgentVerificationResponse
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewSubject, detect_name_script
from almoner.validation.ongoing.matches import service as matches

Scope = Partner | AllPartners


async def get_for_update(tx: Tx, scope: Scope, verification_id: UUID) -> AgentVerification:
    """Lock one verification, and record its expiry if due. Raises NotFound."""
    if (locked := await store.find_for_update(tx, scope, verification_id)) is None:
        raise NotFound
    return await apply_transition(tx, locked.with_expiry_applied(tx.now)) if locked.is_overdue(tx.now) else locked


async def apply_transition(
    tx: Tx, changed_verification: AgentVerification, decision: ReviewDecision | None = None
) -> AgentVerification:
    """Store a new state of a locked verification, and emit its event."""
    if not await store.update_status(tx, changed_verification):
        raise LookupError(f"verification {changed_verification.id} is not where its holder saw it")
    if decision is not None:
        await reviews.record_decision(tx, review_subject_for(changed_verification), decision)
    elif not changed_verification.is_open:
        await reviews.withdraw_review(tx, review_subject_for(changed_verification))
    if changed_verification.status == "rejected":
        await matches.stop_monitoring_subject(
            tx, ScreenedSubject("agent_verification", changed_verification.id, changed_verification.partner_id)
        )
    return await emit_status_event(tx, changed_verification)


async def emit_status_event(tx: Tx, verification: AgentVerification) -> AgentVerification:
    """Emit the event of the verification's new state (spec 3.3)."""
    await outbox.emit_event(
        tx, verification.partner_id, domain.EVENTS[verification.status], serialise_for_api(tx, verification)
    )
    return verification


def serialise_for_api(tx: Tx, verification: AgentVerification) -> AgentVerificationResponse:
    """The agent verification as an API record."""
    return schemas.verification_response(tx, verification)


def review_subject_for(verification: AgentVerification) -> ReviewSubject:
    """The verification as a subject of the review queue."""
    name = " ".join(part for part in (verification.first_name, verification.last_name) if part)
    return ReviewSubject(
        "agent_verification", verification.id, verification.partner_id, name_script=detect_name_script(name)
    )


async def record_evaluation_steps(
    tx: Tx,
    verification: AgentVerification,
    *steps: EvaluationStep,
    outcome: str | None = None,
    reasons: Sequence[str] = (),
) -> None:
    """Store the steps, outcome and review reasons of a locked verification."""
    partner = Partner(verification.partner_id)
    await evidence.record_evaluation(
        tx, partner, "agent_verification", verification.id, steps, outcome=outcome, reasons=reasons
    )
