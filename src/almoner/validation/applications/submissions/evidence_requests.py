"""Evidence that reviewers request from applicants instead of rejecting a check: a requirement until it arrives."""

from collections.abc import Sequence
from typing import Final
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

MAX_ASKED: Final = 20
"""The maximum number of applicants that one request asks. Further requests ask the others."""


def list_requestable_evidence_codes(submission: Submission, check: Check) -> list[str]:
    """The evidence that may be requested from its applicant."""
    correctable = may_correct_registry_number(submission)
    return [one for one in REQUESTABLE.get(check, ()) if one != CORRECTION or correctable]


async def lock_submissions_for_evidence_request(tx: Tx, check: Check, check_record_id: UUID) -> list[Submission]:
    """Lock the undecided submissions whose applicants are asked next about this check, at most ``MAX_ASKED``."""
    to_ask = await store.list_submissions_to_ask_for_evidence(tx, check, check_record_id, MAX_ASKED)
    found = [await submission_evaluation.get_for_update(tx, ALL_PARTNERS, one) for one in sorted(to_ask.submission_ids)]
    return [one for one in found if one.status == "pending" and one.applicant.email is not None]


async def load_requested_evidence_by_check_record_id(
    tx: Tx, check: str, check_record_ids: Sequence[UUID]
) -> dict[UUID, list[RequestedEvidence]]:
    """The requested evidence for the records of a check that has not arrived, by record."""
    found: dict[UUID, list[RequestedEvidence]] = {}
    rows = (
        await store.list_submissions_with_requested_evidence(tx, check, check_record_ids)
        if check in REQUESTABLE
        else []
    )
    for partner_id in dict.fromkeys(row["partner_id"] for row in rows):
        own = [row for row in rows if row["partner_id"] == partner_id]
        loaded = await loader.load_submissions(tx, Partner(partner_id), own)
        for row, one in zip(own, loaded, strict=True):
            found.setdefault(row[f"{check}_id"], []).extend(
                RequestedEvidence(missing.accepted_alternatives[0], missing.since)
                for missing in requirements_of(one)
                if missing.is_requested_by_reviewer and missing.check == check
            )
    return found


async def request_evidence(
    tx: Tx, submission: Submission, check: Check, evidence_code: str, requested_by: str
) -> Submission:
    """Request one of the ``list_requestable_evidence_codes`` from the applicant of a locked submission."""
    await store.insert_evidence_request(
        tx, Partner(submission.partner_id), submission.id, check, evidence_code, requested_by
    )
    return await corrections.reload_submission_and_emit_updated(tx, submission)
