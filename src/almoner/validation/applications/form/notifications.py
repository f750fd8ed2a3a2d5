"""Emails applicants about their application, and resends its link."""

from datetime import timedelta
from typing import Final, Literal
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.validation.applications.form import drafts, store
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import statuses_by_check

NotificationKind = Literal[
    "received", "missing", "refused", "processed", "succeeded", "failed", "appealed", "upheld", "reversed", "link"
]
"""The kind of a status email. ``refused``: the virus scanner rejected a document."""


class NotifyApplicantJob(msgspec.Struct, frozen=True):
    """The details of the job that emails an applicant. ``dedupe_key``: tells several emails of one kind apart."""

    submission: UUID
    kind: NotificationKind
    dedupe_key: str = msgspec.field(name="of")


NOTIFY_APPLICANT: Final = JobKind("applications.notify", NotifyApplicantJob)

_CHECK_INTERVALS: Final = tuple(timedelta(hours=hours) for hours in (1, 6, 24, 72, 168, 336))
"""When to check again after nothing was missing: registers may answer late, and a reviewer may request evidence later.
"""


async def notify_applicant(
    tx: Tx, submission_id: UUID, kind: NotificationKind, *, delay: timedelta | None = None, dedupe_key: str = ""
) -> None:
    """Enqueue an email of this kind to the applicant."""
    due = None if delay is None else tx.now + delay
    wanted = NotifyApplicantJob(submission_id, kind, dedupe_key)
    await NOTIFY_APPLICANT.enqueue(tx, wanted, due_at=due, unique_key=f"{kind} {submission_id} {dedupe_key}")


async def schedule_missing_requirements_email(tx: Tx, submission_id: UUID, dedupe_key: str) -> None:
    """Check again later whether something is missing, while the nonprofit is undecided."""
    found = await submissions.get(tx, ALL_PARTNERS, submission_id)
    if found.status != "pending" or statuses_by_check(found).get("validation_request") != "pending":
        return
    base, _, looks = dedupe_key.partition("+")
    done = int(looks or 0)
    if done < len(_CHECK_INTERVALS):
        await notify_applicant(
            tx, submission_id, "missing", delay=_CHECK_INTERVALS[done], dedupe_key=f"{base}+{done + 1}"
        )


async def resend_application_link(tx: Tx, submission_id: UUID) -> bool:
    """Email the application's link to its applicant again; False if limits forbid it.

    Raises NotFound.
    """
    locked = await submissions.get_for_update(tx, ALL_PARTNERS, submission_id)
    before = await store.list_application_link_send_times(tx, locked.id)
    if not drafts.may_resend_application_link(before, tx.real_now):
        return False
    await store.save_application_link_send_times(
        tx, Partner(locked.partner_id), locked.id, drafts.append_send_time_and_drop_old(before, tx.real_now)
    )
    await notify_applicant(tx, locked.id, "link", dedupe_key=str(tx.new_id()))
    return True


async def notify_document_rejected(tx: Tx, document_id: UUID) -> None:
    """Notify the applicant that the malware scanner rejected a document."""
    if (submission_id := await submission_documents.find_submission_id_of_document(tx, document_id)) is not None:
        await notify_applicant(tx, submission_id, "refused", dedupe_key=str(document_id))
