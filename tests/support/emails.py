"""Declared emails for tests: rendered, or sent by a test transport."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid4

from almoner.access.notifications import jobs as notifications_jobs
from almoner.access.notifications import store as notifications_store
from almoner.access.notifications.domain import UndeliverableEmail
from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Database
from almoner.platform.deployment import Deployment
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Answer, Job
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.outbound.mail_rendering import MailBrand, MailRenderer
from almoner.platform.pages.translations import TranslationCatalogues

AT: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


async def send(
    db: Database,
    notification: NotificationDefinition[Any],
    transport: MailTransport,
    payload: Mapping[str, object],
    now: datetime,
    attempt: int = 1,
) -> Answer:
    """Run the job of an email once."""
    mailer = notifications_jobs.EmailJobDependencies(db.deployment, TranslationCatalogues(), transport)
    job = Job(1, notification.job_kind.name, payload, attempt, 0, now, None)
    return await mailer.build_job_handler(notification)(JobContext(db), job)


def rendered(
    deployment: Deployment,
    notification: NotificationDefinition[Any],
    email: Email,
    catalogues: TranslationCatalogues | None = None,
    brand: MailBrand | None = None,
) -> Mail:
    """An email as it is sent, without attachments."""
    mails = MailRenderer(deployment, notification.template.parent, catalogues)
    return mails.render_mail(
        notification.template.name,
        mails.language_for_tag(email.language),
        email.template_values,
        brand=brand or mails.deployment_brand(),
        deduplication_key=email.idempotency_key,
        at=email.at or AT,
        partner_id=email.partner_id,
        to=email.to,
    )


async def undeliverable(db: Database, now: datetime) -> UUID:
    """The ID of a receipt's email that a mail server has just rejected; its donation does not exist."""
    one = UndeliverableEmail(uuid4(), None, "receipts.send", "ada@nowhere.example", "user unknown", True, now)
    payload = {"id": str(uuid4()), "partner": str(uuid4()), "received": iso_timestamp(now)}
    async with db.write() as tx:
        await notifications_store.insert_undeliverable_email(tx, one, payload)
    return one.id
