"""Evidence that a reviewer requests from an applicant instead of rejecting: an application requirement and an email."""

from collections.abc import Mapping
from typing import Final, NamedTuple
from uuid import UUID

from almoner.platform.database.transactions import Tx
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.form.notifications import notify_applicant
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import Kind, ReviewRefused, ReviewSubject
from almoner.validation.decisions.reviews.ports import ReviewHandler

_CHECKS: Final[Mapping[Kind, Check]] = {
    "validation_request": "validation_request",
    "agent_verification": "agent_verification",
}


class EvidenceNotRequestable(ReviewRefused):
    """Evidence cannot be requested for this case."""


class ApplicantCounts(NamedTuple):
    """How many applicants the next request for a case asks, and how many wait for the case."""

    to_ask: int
    waiting: int


async def can_request_evidence(tx: Tx, subject_kind: Kind, subject_id: UUID) -> bool:
    """Whether an application waits for the case, so that its applicant can be asked. Locks nothing."""
    check = _CHECKS.get(subject_kind)
    return check is not None and await submissions.can_request_evidence_for_any_submission(tx, check, subject_id)


async def count_applicants_to_ask_and_waiting(tx: Tx, subject_kind: Kind, subject_id: UUID) -> ApplicantCounts:
    """Count the applicants of this case."""
    check = _CHECKS.get(subject_kind)
    if check is None:
        return ApplicantCounts(0, 0)
    found = await submissions.list_submissions_to_ask_for_evidence(tx, check, subject_id, submissions.MAX_ASKED)
    return ApplicantCounts(len(found.submission_ids), found.waiting_submission_count)


async def list_requestable_evidence_codes(tx: Tx, subject_kind: Kind, subject_id: UUID) -> list[str]:
    """The evidence that can be requested for this case; empty if none."""
    check = _CHECKS.get(subject_kind)
    locked = await submissions.lock_submissions_for_evidence_request(tx, check, subject_id) if check else []
    offered = [submissions.list_requestable_evidence_codes(one, check) for one in locked] if check else []
    return [one for one in offered[0] if all(one in other for other in offered)] if offered else []


async def request_evidence(
    tx: Tx, handler: ReviewHandler, subject_kind: Kind, subject_id: UUID, evidence_code: str, requested_by: str
) -> ReviewSubject:
    """Request evidence from applicants; the operator must have claimed the review.

    One request asks a limited number of applicants, first those who were never asked. Applications are locked before
    the case. Raises NotFound, ReviewRefused.
    """
    check = _CHECKS.get(subject_kind)
    locked = await submissions.lock_submissions_for_evidence_request(tx, check, subject_id) if check else []
    subject = await reviews.ensure_claimed_by(tx, handler, subject_id, requested_by)
    if check is None or not locked:
        raise EvidenceNotRequestable("No application is waiting for this case, so there is nobody to ask.")
    await reviews.record_evidence_request(tx, subject)
    asked_as = str(tx.new_id())
    for one in locked:
        if evidence_code not in submissions.list_requestable_evidence_codes(one, check):
            raise EvidenceNotRequestable("The applicant cannot be asked for this now.")
        await submissions.request_evidence(tx, one, check, evidence_code, requested_by)
        await notify_applicant(tx, one.id, "missing", dedupe_key=asked_as)
    return subject
