"""Evaluates submissions by their checks and reports the result (settled 5 and 6).

The row is locked while the checks are read. If two checks end at once, the transaction that locks second sees both, so
the result is set exactly once.
"""

from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.validation.applications.submissions import domain, loader, schemas, search_text, store
from almoner.validation.applications.submissions.domain import Submission, SubmissionDecidedEvent
from almoner.validation.applications.submissions.schemas import ValidationSubmissionResponse
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring

Scope = Partner | AllPartners

_OUTCOME_EVENTS = {"succeeded": domain.SUCCEEDED, "failed": domain.FAILED}


async def get_for_update(tx: Tx, scope: Scope, submission_id: UUID) -> Submission:
    """Lock a submission until the transaction ends, with the results of its checks. Raises NotFound."""
    if (row := await store.find_for_update(tx, scope, submission_id)) is None:
        raise NotFound
    return (await loader.load_submissions(tx, Partner(row["partner_id"]), [row]))[0]


async def evaluate_submission(tx: Tx, submission_id: UUID) -> Submission | None:
    """Decide a submission if all its checks have ended; None if there is nothing to do."""
    try:
        locked = await get_for_update(tx, ALL_PARTNERS, submission_id)
    except NotFound:
        return None
    if not locked.is_open:
        return None
    await copy_organisation_from_validation_request(tx, locked)
    standings = domain.statuses_by_check(locked)
    status = domain.submission_status_of(standings)
    if status == locked.status or status == "pending":
        return None
    reasons = build_failure_reasons(tx, locked) if status == "failed" else None
    return await apply_transition(tx, locked, locked.with_status(status, reasons, tx.now))


async def copy_organisation_from_validation_request(tx: Tx, submission: Submission) -> None:
    """Store the organisation of a locked submission once its request was accepted, and index its name."""
    if (known := submission.check_records.organisation) is not None:
        await store.set_organisation(tx, submission.id, known.id, search_text.build_search_text([known.name], None))


async def apply_transition(tx: Tx, submission: Submission, changed_submission: Submission) -> Submission:
    """Store the new status of a locked submission and emit events (spec 3.5)."""
    if not await store.update_status(tx, changed_submission, submission.status):
        raise LookupError(f"submission {changed_submission.id} is not where its holder saw it")
    reported = await _emit_changed(tx, changed_submission)
    if changed_submission.status in _OUTCOME_EVENTS:
        await outbox.emit_event(tx, changed_submission.partner_id, _OUTCOME_EVENTS[changed_submission.status], reported)
    return changed_submission


async def update_failure_reasons(tx: Tx, submission: Submission) -> Submission:
    """Update the failure reasons of a locked failed submission after an appeal."""
    new = replace(submission, failure_reasons=build_failure_reasons(tx, submission))
    await store.set_failure_reasons(tx, new.id, new.failure_reasons or {})
    await _emit_changed(tx, new)
    return new


async def _emit_changed(tx: Tx, new: Submission) -> ValidationSubmissionResponse:
    """Emit the public and the internal event of a change; returns the emitted record."""
    reported = schemas.submission_response(tx, new)
    await outbox.emit_event(tx, new.partner_id, domain.UPDATED, reported)
    await outbox.emit_internal_event(
        tx, domain.DECIDED, SubmissionDecidedEvent(tx.new_id(), new.id, new.status), partner_id=new.partner_id
    )
    return reported


def build_failure_reasons(tx: Tx, submission: Submission) -> dict[str, Any]:
    """The failure reasons by failed check, as in the API (settled 6).

    Leaves out checks that never ran because the request was rejected.

    """
    found: dict[str, Any] = {}
    known = submission.check_records
    for check in domain.list_failed_checks(domain.statuses_by_check(submission)):
        if check == "validation_request":
            found[check] = {"rejectionReasonCode": domain.find_nonprofit_rejection_reason(known)}
        elif check == "agent_verification" and known.agent is not None:
            found[check] = {"rejectionReasonCode": known.agent.rejection_code}
        elif check == "compliance" and known.monitoring is not None:
            found[check] = {"results": monitoring.serialise_for_api(tx, known.monitoring).results}
        elif check == "eligibility" and known.eligibility is not None:
            record = eligibility.serialise_for_api(tx, known.eligibility)
            found[check] = {"status": record.status, "results": record.results}
    for check in domain.list_unstarted_checks(known) if "validation_request" in found else ():
        found.pop(check, None)
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain
