"""Emails the statement link that a donor requested. Jobs contain only IDs; the content is loaded when they run."""

from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.donor_statements import domain, service
from almoner.giving.donor_statements.documents import StatementRenderer
from almoner.giving.donor_statements.service import SEND, SendStatementLinkJob
from almoner.giving.requested_emails import service as requested_emails
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import DecodedJob
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.outbound.mailing import RETRY_FOR_HOURS
from almoner.platform.pages import formats


async def compose_statement_link_email(
    tx: Tx, mails: MailRenderer, job: DecodedJob[SendStatementLinkJob]
) -> Email | None:
    """The email with the statement link; None after a day (real time) or if the donor was erased."""
    link_id, donation_id = job.details.link, job.details.donation
    asked = await requested_emails.find_request_time(tx, link_id)
    if asked is None:
        return None
    try:
        receipt = await service.get_receipt(tx, donation_id)
        to = await service.get_donor_email(tx, donation_id)
    except NotFound:
        return None
    locale = mails.language_for_tag(receipt.language).locale
    facts = {
        "issuer": await service.load_issuer_name(tx, receipt),
        "name": formats.greeting_name(receipt.first_name, receipt.last_name, locale),
        "link": StatementRenderer(mails).statement_url(donation_id, asked + domain.LINK_LIFETIME),
    }
    return Email(to, f"statement:{link_id}", facts, receipt.language, receipt.partner_id)


notifications: Final = (
    NotificationDefinition(
        SEND,
        Path(__file__).parent / "mails" / "statement.html",
        compose_statement_link_email,
        retry_policy=RETRY_FOR_HOURS,
    ),
)
