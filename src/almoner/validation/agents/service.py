"""Creates, changes and decides agent verifications.

Every change locks the row first. Each new state sends the partner one event (spec 3.3) with the record as a GET then
returns it (settled 6).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.platform.jobs.failing_rows import process_due_rows
from almoner.screening.screenings.domain import ScreenedSubject
from almoner.validation.agents import (
    agent_review,
    domain,
    email_confirmation,
    store,
    store_documents,
    store_mails,
    test_values,
    transitions,
)
from almoner.validation.agents.domain import (
    AgentFilters,
    AgentVerification,
    AgentVerificationInput,
    ConfirmationMethod,
    InvalidState,
    OfficialContact,
    RepresentedNonprofit,
)
from almoner.validation.agents.schemas import AgentVerificationResponse
from almoner.validation.agents.store import is_replaced as is_replaced
from almoner.validation.agents.store import list_open_verification_ids as list_open_verification_ids
from almoner.validation.agents.store import list_related_verifications as list_related_verifications
from almoner.validation.agents.store import load_names_by_verification_id as load_names_by_verification_id
from almoner.validation.agents.store import next_expiry_at as next_expiry_at
from almoner.validation.agents.store import set_preferred_language as set_preferred_language
from almoner.validation.agents.store_documents import (
    list_document_ids_of_verification as list_document_ids_of_verification,
)
from almoner.validation.agents.store_mails import find_official_contact as find_official_contact
from almoner.validation.agents.store_mails import find_representation_request as find_representation_request
from almoner.validation.applications.documents.domain import RetentionPeriods
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewSubject
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.requests import service as validation_requests

Scope = Partner | AllPartners

BATCH: Final = 1000  # S4
_SANDBOX_NOTE: Final = "A test value in firstName asked for it."


async def create(
    tx: Tx,
    partner: Partner,
    verification_input: AgentVerificationInput,
    *,
    requires_email_confirmation: bool = True,
    requester_name: str | None = None,
) -> AgentVerification:
    """Create an agent verification; it is reviewed after the commit.

    ``requires_email_confirmation``: whether the applicant has to confirm the email address. ``requester_name``: the
    name that the applicant knows the partner by, where that is another one. Raises OrganisationNotFound,
    ValidationRequestNotFound.
    """
    organisation, request = await _find_nonprofits(tx, partner, verification_input)
    created = domain.new_verification(
        tx.new_id(),
        partner.id,
        verification_input,
        organisation,
        request,
        tx.now,
        requires_email_confirmation=requires_email_confirmation,
    )
    created = replace(created, requester_name=requester_name)
    await store.insert(tx, partner, created)
    asked_for = test_values.find_sandbox_action(verification_input.first_name) if tx.deployment.sandbox else None
    if requires_email_confirmation and asked_for is None:
        await email_confirmation.send_confirmation(tx, created)
    await agent_review.enqueue_review(tx, created.id, asked_for)
    return await transitions.emit_status_event(tx, created) if created.status in domain.EVENTS else created


async def correct_email(tx: Tx, scope: Scope, verification_id: UUID, email: str) -> AgentVerification | None:
    """Replace the verification by one with another email address; None if limits forbid an email.

    The old one ends as ``reapply``; its link, codes and review case become invalid. Raises NotFound, InvalidState.
    """
    locked = await transitions.get_for_update(tx, scope, verification_id)
    created = locked.replacement_with_email(tx.new_id(), email, tx.now)
    if not await email_confirmation.may_send_confirmation_to_address(tx, locked, email):
        return None
    domains = {"from": (locked.email or "").rpartition("@")[2], "to": email.rpartition("@")[2]}
    await transitions.record_evaluation_steps(tx, locked, EvaluationStep("email_correction", "pass", facts=domains))
    await transitions.apply_transition(tx, locked.with_rejection("reapply", tx.now))
    partner = Partner(locked.partner_id)
    await store.insert(tx, partner, created)
    await store_documents.attach_documents(
        tx, partner, created.id, await store_documents.list_document_ids_of_verification(tx, locked.id)
    )
    await email_confirmation.send_confirmation(tx, created)
    asked_for = test_values.find_sandbox_action(created.first_name or "") if tx.deployment.sandbox else None
    await agent_review.enqueue_review(tx, created.id, asked_for)
    return created


async def resend_confirmation(tx: Tx, verification_id: UUID) -> bool:
    """Send the applicant another email; returns whether the limits and the status allow it."""
    return await email_confirmation.resend_confirmation(tx, verification_id)


async def attach_documents(tx: Tx, partner: Partner, verification_id: UUID, document_ids: Sequence[UUID]) -> None:
    """Attach the partner's stored documents as evidence. Raises NotFound."""
    await agent_review.attach_evidence_documents(tx, partner, verification_id, document_ids)


async def _find_nonprofits(
    tx: Tx, partner: Partner, agent: AgentVerificationInput
) -> tuple[RepresentedNonprofit | None, RepresentedNonprofit | None]:
    """The organisation and the validation request. Raises OrganisationNotFound, ValidationRequestNotFound."""
    if agent.organisation_id is not None:
        named = tx.ids.decode("organisation", agent.organisation_id)
        if named is not None and (organisation := await _find_organisation(tx, partner, named)):
            return organisation, None
        raise domain.OrganisationNotFound(f"body.organisationId '{agent.organisation_id[:100]}' names no organisation")
    asked = tx.ids.decode("validationrequest", agent.validation_request_id or "")
    try:
        request = await validation_requests.get(tx, partner, asked) if asked else None
    except NotFound:
        request = None
    if request is None:
        shown = (agent.validation_request_id or "")[:100]
        raise domain.ValidationRequestNotFound(f"body.validationRequestId '{shown}' names no validation request")
    organisation = await _find_organisation(tx, partner, request.organisation_id) if request.organisation_id else None
    return organisation, RepresentedNonprofit(request.id, request.details.name)


async def _find_organisation(tx: Tx, partner: Partner, organisation_id: UUID) -> RepresentedNonprofit | None:
    try:
        found = await organisations.get(tx, partner, organisation_id)
    except NotFound:
        return None
    contact = await store_mails.find_official_contact(tx, found.id)
    return RepresentedNonprofit(found.id, found.name, contact.email if contact else None, found.display_name)


async def get(tx: Tx, scope: Scope, verification_id: UUID) -> AgentVerification:
    """Get one verification at the current time. Raises NotFound."""
    if (found := await store.find(tx, scope, verification_id)) is None:
        raise NotFound
    return found.with_expiry_applied(tx.now)


async def load_verifications_by_id(
    tx: Tx, partner: Partner, verification_ids: Sequence[UUID]
) -> dict[UUID, AgentVerification]:
    """The existing ones of these verifications, by ID."""
    found = await store.list_verifications_with_ids(tx, partner, verification_ids) if verification_ids else []
    return {verification.id: verification.with_expiry_applied(tx.now) for verification in found}


def serialise_for_api(tx: Tx, verification: AgentVerification) -> AgentVerificationResponse:
    """The agent verification as an API record."""
    return transitions.serialise_for_api(tx, verification)


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: AgentFilters
) -> tuple[list[AgentVerification], int]:
    """One page with expiries applied, and the exact total."""
    rows, total = await store.list_page(tx, partner, page_, filters)
    return [row.with_expiry_applied(tx.now) for row in rows], total


async def lock_review_subject(tx: Tx, verification_id: UUID) -> ReviewSubject | None:
    """Lock one verification until the transaction ends; None if it does not exist."""
    try:
        return transitions.review_subject_for(await transitions.get_for_update(tx, ALL_PARTNERS, verification_id))
    except NotFound:
        return None


async def change_metadata(
    tx: Tx, partner: Partner, verification_id: UUID, patch: Mapping[str, str | None] | None
) -> AgentVerification:
    """Merge the metadata key by key; a patch of None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.find_metadata_problems(patch, is_patch=True)):
        raise domain.InvalidMetadata(*found)
    locked = await transitions.get_for_update(tx, partner, verification_id)
    merged = None if patch is None else metadata_rules.merge_metadata(locked.metadata or {}, patch)
    if merged and (found := metadata_rules.find_metadata_problems(merged)):
        raise domain.InvalidMetadata(*found)
    changed = replace(locked, metadata=merged)
    await store.set_metadata(tx, changed)
    return changed


async def confirm_email(tx: Tx, scope: Scope, verification_id: UUID, method: ConfirmationMethod) -> AgentVerification:
    """Record that the applicant confirmed the email address. Raises NotFound, InvalidState."""
    locked = await transitions.get_for_update(tx, scope, verification_id)
    if not locked.is_email_unconfirmed:
        raise InvalidState(f"the verification is {locked.status}: there is nothing to confirm")
    confirmed = locked.with_email_confirmed(tx.now)
    await transitions.record_evaluation_steps(
        tx, locked, EvaluationStep("email_confirmation", "pass", facts={"by": method})
    )
    if confirmed.status == "pending_review":
        await agent_review.enqueue_review(tx, locked.id)
    return await transitions.apply_transition(tx, confirmed)


async def approve(tx: Tx, scope: Scope, verification_id: UUID, decision: ReviewDecision) -> AgentVerification:
    """Record a passed review. Raises NotFound, InvalidState."""
    locked = await transitions.get_for_update(tx, scope, verification_id)
    return await transitions.apply_transition(tx, locked.with_review_passed(tx.now), decision)


async def reject(tx: Tx, scope: Scope, verification_id: UUID, decision: ReviewDecision) -> AgentVerification:
    """Record a failed review with the decision's reason. Raises NotFound, InvalidState."""
    locked = await transitions.get_for_update(tx, scope, verification_id)
    return await transitions.apply_transition(
        tx, locked.with_rejection(domain.parse_rejection_code(decision.reason_code), tx.now), decision
    )


async def reverse_rejection(
    tx: Tx, scope: Scope, verification_id: UUID, decision: ReviewDecision, email_confirmed_at: datetime | None
) -> AgentVerification:
    """Reverse a rejection after an appeal.

    ``email_confirmed_at``: when the email address was confirmed; if None, the applicant is asked to confirm it. Raises
    NotFound, InvalidState.
    """
    locked = await transitions.get_for_update(tx, scope, verification_id)
    passed = await transitions.apply_transition(
        tx, locked.with_rejection_reversed(tx.now, email_confirmed_at), decision
    )
    if passed.is_email_unconfirmed:
        await email_confirmation.send_confirmation(tx, passed)
    return passed


async def apply_sandbox_action(tx: Tx, verification_id: UUID, action: test_values.Action) -> None:
    """Apply a sandbox test value's action, unless the verification has ended."""
    locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
    if not locked.is_open:
        return
    if action != test_values.ACCEPTED:
        await reject(tx, ALL_PARTNERS, locked.id, ReviewDecision("rejected", action, "sandbox", _SANDBOX_NOTE))
        return
    if locked.status != "pending_user_verification":
        locked = await approve(tx, ALL_PARTNERS, locked.id, ReviewDecision("accepted", None, "sandbox", _SANDBOX_NOTE))
    if locked.is_email_unconfirmed:
        await confirm_email(tx, ALL_PARTNERS, locked.id, "sandbox")


async def enqueue_reviews_after_request_decisions(tx: Tx, validation_request_ids: Sequence[UUID]) -> None:
    """Review the agents of validation requests that were decided."""
    for verification_id in await store.list_open_verification_ids(tx, validation_request_ids):
        await agent_review.enqueue_review(tx, verification_id)


async def apply_validation_request_decisions(
    tx: Tx, validation_request_ids: Sequence[UUID], verification_ids: Collection[UUID] | None = None
) -> None:
    """Apply the decisions of validation requests to their agents. ``verification_ids``: only to these, if given."""
    for verification_id in await store.list_open_verification_ids(tx, validation_request_ids):
        if verification_ids is not None and verification_id not in verification_ids:
            continue
        locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
        await agent_review.apply_validation_request_decision(tx, locked)


async def set_official_contact_and_enqueue_reviews(tx: Tx, contact: OfficialContact, recorded_by: str) -> int:
    """Record an organisation's contact address, and ask it about its agents in review.

    Returns how many agents, approximately. Raises NotFound, OfficialContactRefused.
    """
    return await agent_review.set_official_contact_and_enqueue_reviews(tx, contact, recorded_by)


async def expire_overdue_verifications(tx: Tx, limit: int = BATCH) -> int:
    """Store expiries that have passed; returns how many. Reads apply them anyway (S3)."""

    async def expire(verifications: Sequence[AgentVerification]) -> None:
        for one in verifications:
            await transitions.apply_transition(tx, one.with_expiry_applied(tx.now))

    return await process_due_rows(tx, "agent_verifications.expire", store.lock_expired_verifications, expire, limit)


async def erase_personal_data(retention_periods: RetentionPeriods, tx: Tx, limit: int = BATCH) -> int:
    """Erase applicants' personal data and nonprofits' addresses after retention (V6); returns how many records.

    Unconfirmed applicants and nonprofits' addresses: after 30 days. Others: as long as the evidence of their decision
    is kept.
    """
    until = tx.now - domain.ERASE_AFTER
    gone = []
    for ended, after in _retention_periods(retention_periods).items():
        gone += await store.erase_personal_data(tx, ended, tx.now - after, limit)
    for verification_id, partner_id in gone:
        await matches.erase_screened_subject(tx, ScreenedSubject("agent_verification", verification_id, partner_id))
    return len(gone) + await store_mails.erase_representation_requests(tx, until, limit)


async def next_erasure_at(retention_periods: RetentionPeriods, tx: Tx) -> datetime | None:
    """When the next erasure is due."""
    asked = await store_mails.find_earliest_unerased_representation_request_end(tx)
    moments = [] if asked is None else [asked + domain.ERASE_AFTER]
    for ended, after in _retention_periods(retention_periods).items():
        if (first := await store.find_earliest_unerased_verification_end(tx, ended, tx.now - after)) is not None:
            moments.append(first + after)
    return min(moments, default=None)


def _retention_periods(retention_periods: RetentionPeriods) -> dict[domain.EndReason, timedelta]:
    soon = domain.ERASE_AFTER
    return {
        "unconfirmed": soon,
        "replaced": soon,
        "rejected": retention_periods.after_rejection,
        "approved": retention_periods.after_acceptance,
    }
