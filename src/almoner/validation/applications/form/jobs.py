"""Background work of applications: mails to who fills one in and who sent it, and forgetting what was never sent."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast, get_args
from uuid import UUID

import msgspec

from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDropped, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.validation.applications.documents import domain as documents_domain
from almoner.validation.applications.form import emails, notifications, service, status_emails, store
from almoner.validation.applications.form.notifications import NOTIFY_APPLICANT, NotificationKind, notify_applicant
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.decisions.appeals import domain as appeals_domain

_MISSING_NOTICE_DELAY: Final = timedelta(minutes=10)
"""By then the registers have said what they know, as a rule; where they have not, it is looked at again later."""
_APPEAL_NOTIFICATIONS: Final[Mapping[submissions_domain.AppealStatus, NotificationKind]] = {
    "open": "appealed",
    "upheld": "upheld",
    "reversed": "reversed",
}


async def on_submission_created(tx: Tx, events: Sequence[Event]) -> None:
    """Applications came in; what was answered in the form of an invite is of no more use, whoever applied with it."""
    for event in events:
        made: Any = event.event_data()
        if invite_id := tx.ids.parse("validationinvite", made["validationInviteId"] or ""):
            await store.delete_draft(tx, ALL_PARTNERS, invite_id)
        if submission_id := tx.ids.parse("validationsubmission", made["id"]):
            await notify_applicant(tx, submission_id, "received")
            await notify_applicant(tx, submission_id, "missing", after=_MISSING_NOTICE_DELAY)


async def on_submission_decided(tx: Tx, events: Sequence[Event]) -> None:
    """All checks of applications have ended."""
    for event in events:
        reported = msgspec.convert(event.event_data(), submissions_domain.SubmissionDecided)
        if reported.status != "pending":
            await notify_applicant(tx, reported.submission, reported.status, of=str(reported.id))


async def on_appeal_changed(tx: Tx, events: Sequence[Event]) -> None:
    """Appeals were made or decided."""
    for event in events:
        reported = msgspec.convert(event.event_data(), appeals_domain.AppealChanged)
        await notify_applicant(tx, reported.submission, _APPEAL_NOTIFICATIONS[reported.status], of=str(reported.appeal))


async def on_document_scanned(tx: Tx, events: Sequence[Event]) -> None:
    """Documents were scanned."""
    for event in events:
        reported = msgspec.convert(event.event_data(), documents_domain.DocumentScanned)
        if not reported.clean:
            await notifications.notify_document_rejected(tx, reported.document)


reactions: Final = (
    Reaction(submissions_domain.CREATED, on_submission_created),
    Reaction(submissions_domain.DECIDED, on_submission_decided),
    Reaction(appeals_domain.CHANGED, on_appeal_changed),
    Reaction(documents_domain.SCANNED, on_document_scanned),
)
schedules: Final = (
    Schedule(
        "applications.forget_drafts", service.next_expiry_at, service.delete_expired_drafts, every=timedelta(hours=1)
    ),
)


def handlers(mails: MailRenderer, transport: MailTransport) -> Mapping[str, Handler]:
    """The jobs' handlers, with the mails' templates (``service.MAILS``) and who carries them."""

    async def hand_over(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await emails.handover_email(tx, mails, UUID(job.payload["handover"]), job.due_at)
        return await mailing.send_mail(transport, mail, job)

    async def write(work: JobContext, job: Job) -> Result:
        stated = job.payload
        if (kind := stated["kind"]) not in get_args(NotificationKind):
            return JobDropped(f"there is no mail that says {kind}")
        async with work.db.read() as tx:
            mail = await status_emails.build_status_email(
                tx, mails, UUID(stated["submission"]), cast("NotificationKind", kind), stated["of"], job.due_at
            )
        if mail is None and kind == "missing":
            async with work.db.write() as tx:
                await notifications.schedule_requirements_check(tx, UUID(stated["submission"]), stated["of"])
        return await mailing.send_mail(transport, mail, job)

    return {service.HAND_OVER: hand_over, NOTIFY_APPLICANT: write}
