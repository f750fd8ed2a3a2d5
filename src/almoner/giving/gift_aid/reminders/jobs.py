"""Reminds donors of Gift Aid declarations for regular donations after a year. Jobs contain only an ID."""

from datetime import timedelta
from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition, RecordReference
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.gift_aid.declarations.domain import NOTIFY_CHARITY
from almoner.giving.gift_aid.reminders import service
from almoner.giving.gift_aid.reminders.domain import PAGE_PURPOSE
from almoner.giving.gift_aid.reminders.service import SEND
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "gift_aid_reminders.send_due",
    service.next_reminder_at,
    service.remind_donors_of_declarations,
    period=timedelta(hours=1),
)


async def compose_declaration_reminder_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[RecordReference]
) -> Email | None:
    """The reminder of a declaration, with a link to cancel it; None if it has ended, or if the donor was erased."""
    try:
        declared, subscription = await service.get_declaration_and_subscription(tx, job.details.id)
    except NotFound:
        return None
    if declared.has_ended or subscription.email is None:
        return None
    charity = (
        await hosted_page.load_profile_of_organisation(tx, Partner(declared.partner_id), declared.organisation_id)
    ).name
    locale = mails.language_for_tag(subscription.language).locale
    facts = {
        "name": formats.greeting_name(subscription.first_name or "", subscription.last_name or "", locale),
        "organisation": charity,
        "on": declared.declared_at,
        "statement": declared.declaration_text(charity),
        "notify": NOTIFY_CHARITY,
        "link": f"{tx.base_urls.pages}/{PAGE_PURPOSE}?token={tx.vault.create_page_token(PAGE_PURPOSE, declared.id)}",
    }
    return Email(subscription.email, f"{PAGE_PURPOSE}:{job.id}", facts, subscription.language, declared.partner_id)


notifications: Final = (
    NotificationDefinition(SEND, Path(__file__).parent / "mails" / "reminder.html", compose_declaration_reminder_email),
)
