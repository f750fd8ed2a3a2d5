"""Emails the person whom the donor of a dedicated donation named, once it is paid. Jobs contain only IDs."""

from pathlib import Path
from typing import Final

from almoner.access.notifications.domain import DeliveryResult
from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.checkout.dedications import service
from almoner.giving.checkout.dedications.service import SEND, SendDedicationEmailJob
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.requested_emails import service as requested_emails
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.background_tasks import TaskRegistry
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import RETRY_FOR_HOURS
from almoner.platform.pages import formats

tasks: Final = TaskRegistry()
tasks.add_periodic_job("dedications.delete_old", service.next_recipient_deletion_at, service.delete_old_recipients)


async def compose_dedication_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[SendDedicationEmailJob]
) -> Email | None:
    """The email, in the session's language; None a day after it was requested (real time)."""
    partner, donation_id = Partner(job.details.partner), job.details.donation
    email = await service.find(tx, partner, donation_id)
    if email is None or await requested_emails.find_request_time(tx, job.details.email) is None:
        return None
    donation = await donations.get(tx, partner, donation_id)
    if donation.dedication is None or donation.session_id is None:
        return None
    session = await sessions.get(tx, partner, donation.session_id)
    locale = mails.language_for_tag(session.language).locale
    named = formats.full_name(donation.first_name or "", donation.last_name or "", locale)
    facts = {
        "name": email.recipient_name,
        "donor": None if donation.anonymous else named or None,
        "organisation": (await hosted_page.load_profile_of_organisation(tx, partner, donation.organisation_id)).name,
        "dedication": donation.dedication,
        "message": email.message,
    }
    return Email(email.recipient_email, f"dedication:{donation_id}", facts, session.language, partner.id)


async def delete_recipient_after_delivery(tx: Tx, job_details: SendDedicationEmailJob, _result: DeliveryResult) -> None:
    """Delete the recipient's details after the email."""
    await service.delete(tx, Partner(job_details.partner), job_details.donation)


notifications: Final = (
    NotificationDefinition(
        SEND,
        Path(__file__).parent / "mails" / "dedication.html",
        compose_dedication_email,
        retry_policy=RETRY_FOR_HOURS,
        record_delivery_result=delete_recipient_after_delivery,
    ),
)
