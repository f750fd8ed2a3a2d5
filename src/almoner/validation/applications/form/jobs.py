"""Background work of applications: emails to applicants, and deletion of drafts that were never submitted."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event
from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.applications.documents import domain as documents_domain
from almoner.validation.applications.form import emails, service, status_emails, store
from almoner.validation.applications.form import notifications as applicant_notifications
from almoner.validation.applications.form.notifications import (
    NOTIFY_APPLICANT,
    NotificationKind,
    NotifyApplicantJob,
    notify_applicant,
)
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.decisions.appeals import domain as appeals_domain

_MISSING_NOTICE_DELAY: Final = timedelta(minutes=10)
"""By then the registers have usually answered; otherwise the job checks again later."""
_APPEAL_NOTIFICATIONS: Final[Mapping[submissions_domain.AppealStatus, NotificationKind]] = {
    "open": "appealed",
    "upheld": "upheld",
    "reversed": "reversed",
}


tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "applications.delete_drafts",
    service.next_form_data_deletion_at,
    service.delete_expired_form_data,
    period=timedelta(hours=1),
)


@tasks.on_public_event(submissions_domain.CREATED)
async def on_submission_created(tx: Tx, events: Sequence[Event]) -> None:
    """Delete the drafts of invites whose applications were submitted."""
    for event in events:
        made: Any = event.event_data()
        if invite_id := tx.ids.decode("validationinvite", made["validationInviteId"] or ""):
            await store.delete_draft(tx, invite_id)
        if submission_id := tx.ids.decode("validationsubmission", made["id"]):
            await notify_applicant(tx, submission_id, "received")
            await notify_applicant(tx, submission_id, "missing", delay=_MISSING_NOTICE_DELAY)


@tasks.on_internal_event(submissions_domain.DECIDED)
async def on_submission_decided(tx: Tx, events: Sequence[submissions_domain.SubmissionDecidedEvent]) -> None:
    """Email applicants whose checks have all ended."""
    for reported in events:
        if reported.status != "pending":
            await notify_applicant(tx, reported.submission, reported.status, dedupe_key=str(reported.id))


@tasks.on_internal_event(appeals_domain.CHANGED)
async def on_appeal_changed(tx: Tx, events: Sequence[appeals_domain.AppealChangedEvent]) -> None:
    """Email applicants about appeals that were created or decided."""
    for reported in events:
        await notify_applicant(
            tx, reported.submission, _APPEAL_NOTIFICATIONS[reported.status], dedupe_key=str(reported.appeal)
        )


@tasks.on_internal_event(documents_domain.SCANNED)
async def on_document_scanned(tx: Tx, events: Sequence[documents_domain.DocumentScannedEvent]) -> None:
    """Email applicants whose documents the malware scanner rejected."""
    for reported in events:
        if not reported.clean:
            await applicant_notifications.notify_document_rejected(tx, reported.document)


async def compose_status_email(tx: Tx, mails: MailRenderer, job: DecodedJob[NotifyApplicantJob]) -> Email | None:
    """Compose the status email; if nothing is missing yet, check again later."""
    wanted = job.details
    email = await status_emails.build_status_email(
        tx, mails, wanted.submission, wanted.kind, wanted.dedupe_key, job.due_at
    )
    if email is None and wanted.kind == "missing":
        await applicant_notifications.schedule_missing_requirements_email(tx, wanted.submission, wanted.dedupe_key)
    return email


MAILS: Final = Path(__file__).parent / "mails"
notifications: Final = (
    NotificationDefinition(service.SEND_FORM_SHARE, MAILS / "handover.html", emails.compose_form_share_email),
    NotificationDefinition(NOTIFY_APPLICANT, MAILS / status_emails.TEMPLATE, compose_status_email),
)
