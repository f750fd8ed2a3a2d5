"""Creates and decides appeals."""

from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import AppealStatus, InvalidState, Submission
from almoner.validation.decisions.appeals import domain, schemas, store
from almoner.validation.decisions.appeals.domain import CHANGED, Appeal, AppealChangedEvent, Appellant
from almoner.validation.decisions.appeals.schemas import AppealResponse
from almoner.validation.decisions.appeals.store import find_latest as find_latest
from almoner.validation.decisions.appeals.store import (
    load_organisation_names_by_appeal_id as load_organisation_names_by_appeal_id,
)
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewNotOpen, ReviewSubject, detect_name_script
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import service as validation_requests

Scope = Partner | AllPartners


class CompleteReversalJob(msgspec.Struct, frozen=True):
    """The submission whose reversal is completed."""

    submission: UUID


COMPLETE_REVERSAL: Final = JobKind("appeals.complete_reversal", CompleteReversalJob)
BATCH: Final = 1000


async def create(tx: Tx, scope: Scope, submission_id: UUID, text: str, appellant: Appellant) -> Appeal:
    """Create an appeal, to be decided by another operator. Raises NotFound, InvalidState."""
    locked = await submissions.get_for_update(tx, scope, submission_id)
    if locked.status != "failed":
        raise InvalidState(f"the validation submission is {locked.status}: only a failed one may be appealed against")
    before = await store.find_latest(tx, ALL_PARTNERS, locked.id)
    if before is not None and before.status == "open":
        raise InvalidState("an appeal is open already: it is decided first")
    if before is not None and before.is_reversal_incomplete:
        raise InvalidState("an appeal has reversed the decision: what follows from that is yet to be answered")
    if not domain.is_rejection_reversible(await _lock_agent(tx, locked)):
        raise InvalidState(domain.APPLICANT_ERASED)
    created = Appeal(
        id=tx.new_id(),
        partner_id=locked.partner_id,
        submission_id=locked.id,
        text=text,
        appellant=appellant,
        original_deciders=await _list_deciders(tx, locked),
        overridden_checks=(),
        status="open",
        created_at=tx.now,
        due_at=domain.compute_decision_due_at(tx.now),
        decided_at=None,
        decided_by=None,
    )
    await store.insert(tx, Partner(locked.partner_id), created)
    subject = replace(
        review_subject_for(created),
        country_code=locked.country_code,
        name_script=detect_name_script(locked.organisation_name),
    )
    await reviews.request_review(tx, subject, ["appealed"], created.due_at)
    await _emit_submission_updated(tx, created)
    return created


async def get(tx: Tx, scope: Scope, appeal_id: UUID) -> Appeal:
    """One appeal. Raises NotFound."""
    if (found := await store.find(tx, scope, appeal_id)) is None:
        raise NotFound
    return found


def serialise_for_api(tx: Tx, appeal: Appeal) -> AppealResponse:
    """The appeal as an API record."""
    return schemas.appeal_response(tx, appeal)


def review_subject_for(appeal: Appeal) -> ReviewSubject:
    """The subject of the review."""
    return ReviewSubject("appeal", appeal.id, appeal.partner_id)


async def lock_appeal_and_submission(tx: Tx, scope: Scope, appeal_id: UUID) -> tuple[Appeal, Submission]:
    """Lock the appeal's submission, then the appeal, until the transaction ends. Raises NotFound."""
    submission = await submissions.get_for_update(tx, scope, (await get(tx, scope, appeal_id)).submission_id)
    locked = await store.find_for_update(tx, appeal_id)
    assert locked is not None, "appeals are never deleted"
    return locked, submission


async def uphold_original_decision(tx: Tx, scope: Scope, appeal_id: UUID, decision: ReviewDecision) -> Appeal:
    """Uphold the original decision in an open appeal. Raises NotFound, ReviewRefused."""
    held, _ = await lock_appeal_and_submission(tx, scope, appeal_id)
    decided = await _store_decision(tx, held, held.with_decision("upheld", decision.by, (), tx.now), decision)
    await _emit_submission_updated(tx, decided)
    return decided


async def reverse_original_decision(tx: Tx, scope: Scope, appeal_id: UUID, decision: ReviewDecision) -> Appeal:
    """Reverse the original decision in an open appeal.

    Raises NotFound, ReviewRefused. A rejected request is accepted, a rejected agent approved (settled 4). Watchlist
    and activity results stay unchanged and count as passed for this submission only.
    """
    held, submission = await lock_appeal_and_submission(tx, scope, appeal_id)
    parts = submission.check_records
    domain.ensure_rejection_reversible(parts.agent)
    overruled = domain.list_overridable_checks(submission)
    decided = await _store_decision(tx, held, held.with_decision("reversed", decision.by, overruled, tx.now), decision)
    anew = ReviewDecision.build_acceptance_after_appeal(tx.ids.encode("appeal", held.id), decision)
    if parts.monitoring is not None:
        await monitoring.resume_after_appeal(tx, parts.monitoring.id)
    if parts.eligibility is not None:
        await eligibility.resume_after_appeal(tx, parts.eligibility.id)
    if (
        parts.request is not None and parts.request.status == "rejected"
    ):  # another submission's appeal may have reversed it
        await validation_requests.reverse_rejection(tx, ALL_PARTNERS, parts.request.id, anew)
    if parts.agent is not None and parts.agent.status == "rejected":
        confirmed = held.created_at if held.appellant == "applicant" else None
        await agents.reverse_rejection(tx, ALL_PARTNERS, parts.agent.id, anew, confirmed)
    settled = await complete_reversal(tx, submission.id)
    if settled is None:
        await _emit_submission_updated(tx, decided)
    else:
        await _emit_changed(tx, decided)  # the result itself was already emitted
    return decided


async def complete_reversal(tx: Tx, submission_id: UUID) -> Submission | None:
    """Set the result of a submission with a reversed appeal once all checks have ended; None before."""
    locked = await submissions.get_for_update(tx, ALL_PARTNERS, submission_id)
    before = await store.find_latest(tx, ALL_PARTNERS, submission_id)
    if locked.status != "failed" or before is None or not before.is_reversal_incomplete:
        return None
    status = submissions_domain.submission_status_of(
        domain.statuses_by_check_after_appeal(locked, before.overridden_checks)
    )
    if status == "pending":
        return None
    await store.mark_reversal_completed(tx, before.id)
    return await submissions.apply_appeal_reversal(
        tx, ALL_PARTNERS, submission_id, status, overridden_checks=before.overridden_checks
    )


async def enqueue_completion_of_appeal_reversals(tx: Tx, check: str, check_record_ids: list[UUID]) -> None:
    """Complete the reversals that wait for these checks."""
    found = await store.list_submission_ids_with_incomplete_reversal(tx, check, check_record_ids)
    await queue.enqueue_jobs(
        tx, [COMPLETE_REVERSAL.build_job(CompleteReversalJob(one), unique_key=str(one)) for one in found]
    )


async def erase_appeal_texts(tx: Tx, limit: int = BATCH) -> int:
    """Erase appeals' texts 30 days after their decision (V6); returns how many."""
    return await store.erase_appeal_texts(tx, tx.now - domain.ERASE_AFTER, limit)


async def next_erasure_at(tx: Tx) -> datetime | None:
    """When the next appeal's text is erased."""
    decided = await store.find_earliest_unerased_decision_time(tx)
    return None if decided is None else decided + domain.ERASE_AFTER


async def _lock_agent(tx: Tx, submission: Submission) -> AgentVerification | None:
    """Lock and load its agent verification; None without one.

    Waits for a concurrent erasure of its personal data and prevents a later one.
    """
    if submission.agent_verification_id is None:
        return None
    await agents.lock_review_subject(tx, submission.agent_verification_id)
    return await agents.get(tx, ALL_PARTNERS, submission.agent_verification_id)


async def _list_deciders(tx: Tx, submission: Submission) -> tuple[str, ...]:
    """The operators who may not decide, including those who decided on merged records in other registers."""
    named = submission.organisation_id
    records = [] if named is None else [named, *(one.id for one in await organisations.list_merged_records(tx, named))]
    return await store.list_decision_makers_of_submission(tx, Partner(submission.partner_id), submission, records)


async def _store_decision(tx: Tx, held: Appeal, decided: Appeal, decision: ReviewDecision) -> Appeal:
    if held.status != "open" or not await store.store_decision(tx, decided):
        raise ReviewNotOpen(f"It was {held.status} by {held.decided_by}.")
    await reviews.record_decision(tx, review_subject_for(decided), decision)
    return decided


async def _emit_submission_updated(tx: Tx, appeal: Appeal) -> None:
    """Emit the submission's update event with the record as a GET returns it, and the internal event."""
    submission = await submissions.get(tx, ALL_PARTNERS, appeal.submission_id)
    await outbox.emit_event(
        tx, appeal.partner_id, submissions_domain.UPDATED, submissions.serialise_for_api(tx, submission)
    )
    await _emit_changed(tx, appeal)


async def _emit_changed(tx: Tx, appeal: Appeal) -> None:
    status: AppealStatus = appeal.status
    await outbox.emit_internal_event(
        tx, CHANGED, AppealChangedEvent(appeal.id, appeal.submission_id, status), partner_id=appeal.partner_id
    )
