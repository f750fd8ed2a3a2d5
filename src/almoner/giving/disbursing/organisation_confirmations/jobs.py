"""Jobs that email confirmation requests to nonprofits, and erase the names of respondents."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from almoner.access.notifications.service import Email, NotificationDefinition
from almoner.giving.disbursing.organisation_confirmations import service
from almoner.giving.disbursing.organisation_confirmations.pages import PAGE_PURPOSE
from almoner.giving.disbursing.organisation_confirmations.ports import NonprofitContactLookup
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import PROGRESSED, InvalidState
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events.outbox import Event, decode_event_data
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobDropped, Result
from almoner.platform.outbound.mail_rendering import MailRenderer


class _Status(msgspec.Struct, rename="camel"):
    type: str
    awaiting_answer_from_organisation: bool


class _VerificationRecord(msgspec.Struct):
    """The verification record's fields that are used."""

    id: str
    status: _Status


tasks: Final = TaskRegistry()
tasks.add_periodic_job(
    "organisation_confirmations.erase_contacts",
    service.next_contact_erasure_at,
    service.erase_contacts_of_closed_confirmations,
    period=timedelta(days=1),
)
request_tasks: Final = DependentTaskRegistry[NonprofitContactLookup]()


@tasks.on_public_event(PROGRESSED)
async def on_verification_progressed(tx: Tx, events: Sequence[Event]) -> None:
    """Request a confirmation when a verification waits for it; schedule the erasure of names after its end."""
    for event in events:
        reported = decode_event_data(event, _VerificationRecord)
        verification_id = tx.ids.decode("monetarydonationverification", reported.id)
        if verification_id is None:
            continue
        if reported.status.awaiting_answer_from_organisation:
            await service.enqueue_confirmation_request(tx, verification_id)
        elif reported.status.type in ("rejected", "expired"):
            await service.enqueue_respondent_name_erasure(tx, verification_id)


@request_tasks.job(service.REQUEST)
async def request_confirmation(
    contacts: NonprofitContactLookup, context: JobContext, job: DecodedJob[service.VerificationJobDetails]
) -> Result:
    """Ask the nonprofit for confirmation, if its address is known."""
    async with context.db.write() as tx:
        found = await verifications.get(tx, ALL_PARTNERS, job.details.verification)
        try:
            await service.request_confirmation_unless_requested(tx, found.id, await contacts(tx, found.organisation_id))
        except InvalidState as refused:
            return JobDropped(str(refused))
    return JobDone()


@tasks.job(service.ERASE_NAMES)
async def erase_respondent_names(context: JobContext, job: DecodedJob[service.VerificationJobDetails]) -> Result:
    """Erase the respondent's details."""
    async with context.db.write() as tx:
        await service.erase_respondent_names(tx, job.details.verification)
    return JobDone()


async def compose_confirmation_request_email(
    tx: Tx, _mails: MailRenderer, job: DecodedJob[service.SendConfirmationEmailJob]
) -> Email | None:
    """The email to the nonprofit, in the request's language; None if no response is needed any more."""
    mail_id = job.details.mail
    if (asked := await service.find_open_confirmation_page_by_email_id(tx, mail_id)) is None:
        return None
    confirmation = asked.confirmation
    assert confirmation.email is not None, "what is open has an address"
    page_token = tx.vault.create_page_token(PAGE_PURPOSE, confirmation.id)
    facts = {
        "partner": asked.partner_name,
        "organisation": asked.organisation_name,
        "until": confirmation.expires_at,
        "link": f"{tx.base_urls.pages}/{PAGE_PURPOSE}?token={page_token}",
    }
    return Email(confirmation.email, f"payee:{mail_id}", facts, confirmation.language, asked.verification.partner_id)


notifications: Final = (
    NotificationDefinition(
        service.SEND, Path(__file__).parent / "mails" / "payee.html", compose_confirmation_request_email
    ),
)
