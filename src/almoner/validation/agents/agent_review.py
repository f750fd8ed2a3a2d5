"""Reviews agents: by rules where they suffice, else by the nonprofit's answer and a reviewer (settled 5)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import CheckViolationError

from almoner.kit.errors import NotFound
from almoner.kit.evidence import EvaluationStep
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation, OrganisationSource
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.screening.matching.service import find_person_screening_obstacle
from almoner.screening.screenings.domain import ScreenedSubject, SubjectDetails
from almoner.screening.screenings.service import Screener
from almoner.validation.agents import (
    domain,
    evaluate,
    official_contacts,
    store,
    store_documents,
    store_mails,
    transitions,
)
from almoner.validation.agents.domain import (
    AgentVerification,
    Answer,
    InvalidState,
    OfficialContact,
    OfficialContactRefused,
    RepresentationRequest,
    RepresentedNonprofit,
)
from almoner.validation.agents.evaluate import AgentEvaluationOutcome, NonprofitEvidence
from almoner.validation.agents.test_values import Action
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision
from almoner.validation.ongoing.matches import service as matches
from almoner.validation.requests import service as validation_requests


class AgentVerificationReviewJob(msgspec.Struct, frozen=True):
    """The verification to review, and the action of a sandbox test value."""

    verification_id: UUID = msgspec.field(name="verification")
    sandbox_action: Action | None = msgspec.field(name="then")


REVIEW: Final = JobKind("agent_verifications.review", AgentVerificationReviewJob)


class SendRepresentationRequestJob(msgspec.Struct, frozen=True):
    """The verification to ask the nonprofit about."""

    verification: UUID


ASK_NONPROFIT: Final = JobKind("agent_verifications.ask_nonprofit", SendRepresentationRequestJob)
_PAYEE: Final = "payee_contact_separation"
"""The constraint that one user may not record both a nonprofit's bank account and its official contact."""

_BY_RULE: Final = ReviewDecision(
    "accepted", None, "rules", "The email address is on the nonprofit's own domain and accepts mail."
)


async def enqueue_review(tx: Tx, verification_id: UUID, sandbox_action: Action | None = None) -> None:
    """Enqueue a review of the agent after the commit. ``sandbox_action``: a sandbox test value's action."""
    await REVIEW.enqueue(
        tx, AgentVerificationReviewJob(verification_id, sandbox_action), unique_key=str(verification_id)
    )


async def find_mail_domain_to_check(tx: Tx, verification_id: UUID) -> str | None:
    """The domain whose mail host the review must look up; None if it does not matter."""
    found = await store.find(tx, ALL_PARTNERS, verification_id)
    if found is None or found.email is None or found.status not in ("pending", "pending_review"):
        return None
    organisation_id = await _organisation_of(tx, found)
    return evaluate.find_mail_domain_to_check(
        found.email, await _nonprofit_evidence(tx, found.partner_id, organisation_id)
    )


async def review_agent(
    tx: Tx, screener: Screener, verification_id: UUID, *, domain_accepts_mail: bool | None = None
) -> None:
    """Follow the agent's validation request, then review.

    ``domain_accepts_mail``: whether the domain has a mail host. A name on a watchlist is referred to a reviewer and
    rejects nobody by itself (settled 4). Raises NotFound.
    """
    locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
    if not locked.is_open:
        return
    locked = await apply_validation_request_decision(tx, locked)
    if locked.status not in ("pending", "pending_review"):
        return
    assert locked.email is not None, "nobody open is forgotten"
    known = await _nonprofit_evidence(tx, locked.partner_id, locked.organisation.id if locked.organisation else None)
    outcome = evaluate.evaluate_agent(
        locked.email, locked.organisation_website, known, domain_accepts_mail=domain_accepts_mail
    )
    if (
        not locked.requires_email_confirmation
    ):  # nothing shows that the mailbox is the applicant's, so its domain proves nothing
        outcome = outcome.with_step(EvaluationStep("email_confirmation", "unknown", "email_not_confirmed"))
    outcome = outcome.with_step(await _watch_list_step(tx, screener, locked))
    asked = await store_mails.find_representation_request(tx, locked.id)
    if asked is not None and asked.answer == "denied":  # the nonprofit's own answer outweighs the domain
        outcome = outcome.with_step(_denied_step(asked))
    verdict = "accept" if outcome.passes_rules else "review"
    await transitions.record_evaluation_steps(
        tx, locked, *outcome.steps, outcome=verdict, reasons=outcome.review_reasons
    )
    if outcome.passes_rules:
        await transitions.apply_transition(tx, locked.with_review_passed(tx.now), _BY_RULE)
    elif locked.status == "pending_review" and locked.organisation is not None:
        await _request_review(tx, locked, outcome)


async def _watch_list_step(tx: Tx, screener: Screener, verification: AgentVerification) -> EvaluationStep:
    """Whether the applicant's name is on a watchlist. Matches that a reviewer cleared do not count."""
    name = " ".join(part for part in (verification.first_name, verification.last_name) if part)
    who = ScreenedSubject("agent_verification", verification.id, verification.partner_id)
    asked = SubjectDetails("person", (name,), await _countries(tx, verification))
    result = await matches.screen(tx, screener, who, asked, monitor=True)
    if not result.watchlists_covering_subject_kind:
        return EvaluationStep("watch_lists", "not_applicable")
    # Without the name: this evidence is kept after the applicant's personal data are erased (V6).
    facts: dict[str, str | bool | Sequence[str] | None] = {
        "lists": [f"{one.code} {one.version_label}" for one in result.watchlists_covering_subject_kind]
    }
    found = [match for match in result.matches if match.decision != "cleared"]
    if not found and (obstacle := find_person_screening_obstacle(name)) is not None:
        return EvaluationStep("watch_lists", "unknown", "not_screened", facts={**facts, "reason": obstacle})
    if not found:
        return EvaluationStep("watch_lists", "pass", facts=facts)
    facts["matches"] = [tx.ids.encode("screeningmatch", match.id) for match in found]
    return EvaluationStep("watch_lists", "fail", "on_watch_list", facts=facts)


async def _countries(tx: Tx, verification: AgentVerification) -> tuple[str, ...]:
    """The nonprofit's countries: a listed person from one of them is a more likely match."""
    partner = Partner(verification.partner_id)
    if verification.organisation is not None:
        return ((await organisations.get(tx, partner, verification.organisation.id)).country_code,)
    assert verification.validation_request is not None, "it speaks for one of the two"
    return ((await validation_requests.get(tx, partner, verification.validation_request.id)).details.country_code,)


async def apply_validation_request_decision(tx: Tx, verification: AgentVerification) -> AgentVerification:
    """Apply the decision of its validation request: set the organisation, or reject."""
    if verification.validation_request is None:
        return verification
    request = await validation_requests.get(tx, Partner(verification.partner_id), verification.validation_request.id)
    if request.status == "rejected":
        facts = {"rejectionReasonCode": request.rejection_reason_code}
        failed = EvaluationStep("validation_request", "fail", "validation_request_failed", facts=facts)
        await transitions.record_evaluation_steps(tx, verification, failed)
        return await transitions.apply_transition(tx, verification.with_rejection("validation_request_failed", tx.now))
    if verification.organisation is None and request.organisation_id is not None:
        organisation = await organisations.get(tx, Partner(verification.partner_id), request.organisation_id)
        await store.set_organisation(tx, verification, organisation.id)
        contact = await store_mails.find_official_contact(tx, organisation.id)
        email = contact.email if contact else None
        known = RepresentedNonprofit(organisation.id, organisation.name, email, organisation.display_name)
        return replace(verification, organisation=known)
    return verification


async def _organisation_of(tx: Tx, verification: AgentVerification) -> UUID | None:
    if verification.organisation is not None or verification.validation_request is None:
        return verification.organisation.id if verification.organisation else None
    request = await validation_requests.get(tx, Partner(verification.partner_id), verification.validation_request.id)
    return request.organisation_id


async def _nonprofit_evidence(tx: Tx, partner_id: UUID, organisation_id: UUID | None) -> NonprofitEvidence:
    if organisation_id is None:
        return NonprofitEvidence()
    organisation = await organisations.get(tx, Partner(partner_id), organisation_id)
    return NonprofitEvidence(
        websites=organisation.websites,
        are_websites_confirmed=_websites_confirmed(organisation),
        is_active=organisation.active,
        register_name=organisation.registry_name,
        data_as_of=organisation.data_as_of,
        unreliable_reason=_unreliable_reason(organisation.sources, tx.now, tx.deployment.max_data_age),
    )


def _unreliable_reason(sources: Sequence[OrganisationSource], now: datetime, max_age: timedelta | None) -> str | None:
    """Why the data of its sources may not decide, as a review reason of validation requests; None if they may."""
    lister = next(iter(sources), None)
    if lister is None:
        return None
    if lister.is_format_unverified:
        return "unverified_source"
    return "stale_data" if lister.is_stale(now, max_age) else None


def _websites_confirmed(organisation: Organisation) -> bool:
    """Whether its websites come from a register or a reviewer.

    Those stated by a partner are visible to that partner only.
    """
    return organisation.partner_id is None


async def _request_review(tx: Tx, verification: AgentVerification, outcome: AgentEvaluationOutcome) -> None:
    """Ask the nonprofit once, if its official contact is known, and open a review case."""
    assert verification.organisation is not None, "there is a nonprofit to ask"
    reasons = list(outcome.review_reasons)
    contact = await store_mails.find_official_contact(tx, verification.organisation.id)
    if contact is not None and await store_mails.find_representation_request(tx, verification.id) is None:
        question = RepresentationRequest(
            tx.new_id(), verification.id, contact.email, tx.now, tx.now + domain.LIFETIME, None
        )
        await store_mails.insert_representation_request(tx, question)
        if not await store_documents.has_usable_document(tx, verification.id):
            await store.set_answer_deadline(tx, verification.with_answer_deadline(question.expires_at))
        facts = _asked_domain_fact(contact.email)
        step = EvaluationStep("nonprofit_asked", "pass", None, contact.source, facts=facts)
        await transitions.record_evaluation_steps(tx, verification, step)
        await ASK_NONPROFIT.enqueue(tx, SendRepresentationRequestJob(verification.id))
        reasons.append("nonprofit_asked")
    await reviews.request_review(tx, transitions.review_subject_for(verification), reasons)


async def attach_evidence_documents(
    tx: Tx, partner: Partner, verification_id: UUID, document_ids: Sequence[UUID]
) -> None:
    """Attach the partner's documents as evidence in place of the nonprofit's answer. Raises NotFound."""
    locked = await transitions.get_for_update(tx, partner, verification_id)
    await store_documents.attach_documents(tx, partner, locked.id, document_ids)
    if locked.status == "pending_review":
        await store.set_answer_deadline(tx, locked.without_answer_deadline())


async def restore_answer_deadlines_after_document_rejection(tx: Tx, rejected_document_id: UUID) -> None:
    """A document was rejected by the scanner: wait for the nonprofit's answer again if no other one remains."""
    for verification_id in await store_documents.list_verification_ids_of_document(tx, rejected_document_id):
        locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
        asked = await store_mails.find_representation_request(tx, locked.id)
        if locked.status != "pending_review" or asked is None or asked.answer is not None:
            continue
        if not await store_documents.has_usable_document(tx, locked.id):
            await store.set_answer_deadline(tx, locked.with_answer_deadline(asked.expires_at))


async def get_verification_and_representation_request(
    tx: Tx, verification_id: UUID
) -> tuple[AgentVerification, RepresentationRequest]:
    """The question to the nonprofit that a link opens, and its verification. Raises NotFound."""
    found = await store.find(tx, ALL_PARTNERS, verification_id)
    asked = await store_mails.find_representation_request(tx, verification_id)
    if found is None or asked is None:
        raise NotFound
    return found.with_expiry_applied(tx.now), asked


async def record_representation_answer(tx: Tx, verification_id: UUID, answer: Answer) -> AgentVerification:
    """Record the nonprofit's answer, which a reviewer takes into account. Raises NotFound, InvalidState."""
    locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
    if (asked := await store_mails.find_representation_request(tx, verification_id)) is None:
        raise NotFound
    if not asked.is_answerable_at(tx.now):
        raise InvalidState(f"the nonprofit has {asked.answer or 'not answered'} in time")
    answered = locked.without_answer_deadline()
    await store_mails.record_representation_answer(tx, asked, answer)
    await store.set_answer_deadline(tx, answered)
    step = (
        _denied_step(asked)
        if answer == "denied"
        else EvaluationStep("nonprofit_answer", "pass", facts=_asked_domain_fact(asked.email))
    )
    await transitions.record_evaluation_steps(tx, locked, step)
    await reviews.request_review(tx, transitions.review_subject_for(answered), [f"nonprofit_{answer}"])
    return answered


def _asked_domain_fact(email: str | None) -> dict[str, str]:
    """The domain of the address that was asked. The address itself is stored with the request and erased with it."""
    return {"domain": (email or "").rpartition("@")[2]}


def _denied_step(asked: RepresentationRequest) -> EvaluationStep:
    return EvaluationStep("nonprofit_answer", "fail", "nonprofit_denied", facts=_asked_domain_fact(asked.email))


async def set_official_contact_and_enqueue_reviews(tx: Tx, contact: OfficialContact, recorded_by: str) -> int:
    """Record an organisation's contact address, and ask it about its agents in review.

    Returns how many agents, approximately. Raises NotFound, OfficialContactRefused.
    """
    official_contacts.ensure_role_mailbox(contact.email)
    await organisations.get(tx, ALL_PARTNERS, contact.organisation_id)
    try:
        await store_mails.set_official_contact(tx, contact, recorded_by)
    except CheckViolationError as refused:
        if refused.constraint_name != _PAYEE:
            raise
        raise OfficialContactRefused(
            "you have proposed an account of this organisation: somebody else has to record where it is asked"
        ) from refused
    waiting = await store.list_verification_ids_in_review(tx, contact.organisation_id)
    for verification_id in waiting:
        await enqueue_review(tx, verification_id)
    return len(waiting)
