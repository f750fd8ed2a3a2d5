"""Sends declared emails: composed in one transaction, sent outside any, and recorded when the job ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeVar

from almoner.access.notifications import service, store
from almoner.access.notifications.domain import DeliveryResult, UndeliverableEmail
from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.platform.database.transactions import Tx
from almoner.platform.deployment import Deployment
from almoner.platform.events.outbox import Event, EventReaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import BackgroundTasks, Handler, JobContext, TaskRegistry
from almoner.platform.jobs.queue import Answer, FinishedJob, Job, JobDone, JobResultRecorded, JobRetry
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import MailUndeliverable
from almoner.platform.pages.translations import TranslationCatalogues

T = TypeVar("T")

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "emails.delete_expired",
    service.next_undeliverable_email_deletion_at,
    service.delete_expired_undeliverable_emails,
    period=timedelta(days=1),
)


@dataclass(frozen=True, slots=True)
class EmailJobDependencies:
    """The dependencies of sending emails: translations and mail transport."""

    deployment: Deployment
    catalogues: TranslationCatalogues
    transport: MailTransport

    def build_job_handler(self, notification: NotificationDefinition[Any]) -> Handler:
        """The handler of an email's jobs."""
        mails = MailRenderer(self.deployment, notification.template.parent, self.catalogues)
        return partial(run_email_job, notification, mails, self.transport)


def build_email_tasks(
    notifications: Sequence[NotificationDefinition[Any]], dependencies: EmailJobDependencies
) -> BackgroundTasks:
    """The jobs that send emails, and a handler for each event type that enqueues them."""
    by_event = sorted((one for one in notifications if one.event_type), key=lambda one: one.event_type or "")
    return BackgroundTasks(
        {one.job_kind.name: dependencies.build_job_handler(one) for one in notifications},
        tuple(
            EventReaction(event or "", partial(enqueue_emails, tuple(group)))
            for event, group in groupby(by_event, key=lambda one: one.event_type)
        ),
    )


async def enqueue_emails(notifications: Sequence[NotificationDefinition[Any]], tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the emails triggered by events."""
    jobs = [
        job
        for event in events
        for one in notifications
        if one.build_job_for_event is not None and (job := one.build_job_for_event(tx, event)) is not None
    ]
    await queue.enqueue_jobs(tx, jobs)


async def run_email_job(
    notification: NotificationDefinition[T],
    mails: MailRenderer,
    transport: MailTransport,
    context: JobContext,
    job: Job,
) -> Answer:
    """Run the job of an email."""
    wanted = notification.job_kind.decode(job)
    async with context.db.write() as tx:
        email = await notification.compose(tx, mails, wanted)
        brand = None if email is None else await service.load_email_brand(tx, mails, email)
    if email is None or brand is None:
        return JobDone()
    attached = () if email.create_attachment is None else (await email.create_attachment(),)
    mail = service.render_email(mails, notification.template.name, email, brand, job.due_at, attached)
    sent = await mailing.send_mail(transport, mail, job.attempt, notification.retry_policy)
    if isinstance(sent, JobRetry):
        return sent
    if not isinstance(sent, MailUndeliverable) and notification.record_delivery_result is None:
        return JobDone()
    async with context.db.write() as tx:
        if isinstance(sent, MailUndeliverable):
            await _record_undeliverable(tx, job, email, sent)
        if notification.record_delivery_result is not None:
            result: DeliveryResult = "undeliverable" if isinstance(sent, MailUndeliverable) else "sent"
            await notification.record_delivery_result(tx, wanted.details, result)
        await context.record_results(tx, [FinishedJob(job, JobDone())])
    return JobResultRecorded(JobDone())


async def _record_undeliverable(tx: Tx, job: Job, email: Email, found: MailUndeliverable) -> None:
    new = UndeliverableEmail(
        tx.new_id(), email.partner_id, job.kind, email.to, found.reason, found.refused_by_server, tx.now
    )
    await store.insert_undeliverable_email(tx, new, job.payload)
