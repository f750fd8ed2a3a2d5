"""Evidence that reviewers request from applicants instead of rejecting a check: a requirement until it arrives."""

from uuid import UUID

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions import corrections, loader, store, submission_evaluation
from almoner.validation.applications.submissions.domain import RequestedEvidence, Submission
from almoner.validation.applications.submissions.requirements import (
    CORRECTION,
    REQUESTABLE,
    may_correct_registry_number,
    requirements_of,
)


def requestable_evidence(submission: Submission, check: Check) -> list[str]:
    """The evidence that may be requested from its applicant."""
    correctable = may_correct_registry_number(submission)
    return [one for one in REQUESTABLE.get(check, ()) if one != CORRECTION or correctable]


async def lock_submissions_for_evidence_request(tx: Tx, check: Check, subject_id: UUID) -> list[Submission]:
    """Lock the undecided submissions whose applicant can be asked about this check."""
    found = [
        await submission_evaluation.get_for_update(tx, ALL_PARTNERS, one)
        for one in await store.list_open_by_check_records(tx, check, [subject_id])
    ]
    return [one for one in found if one.status == "pending" and one.applicant.email is not None]


async def list_awaited_evidence(tx: Tx, kind: str, subject_id: UUID) -> list[RequestedEvidence]:
    """The requested evidence for the record of a check that has not arrived."""
    if kind not in REQUESTABLE:
        return []
    rows = [
        await store.find(tx, ALL_PARTNERS, one)
        for one in await store.list_open_by_check_records(tx, kind, [subject_id])
    ]
    return [
        RequestedEvidence(missing.accepted[0], missing.since)
        for row in rows
        if row is not None
        for one in await loader.load_submissions(tx, Partner(row["partner_id"]), [row])
        for missing in requirements_of(one)
        if missing.requested and missing.check == kind
    ]


async def request_evidence(tx: Tx, submission: Submission, check: Check, evidence: str, by: str) -> Submission:
    """Request one of the ``requestable_evidence`` from the applicant of a locked submission."""
    await store.insert_evidence_request(tx, Partner(submission.partner_id), submission.id, check, evidence, by)
    return await corrections.emit_updated(tx, submission)
