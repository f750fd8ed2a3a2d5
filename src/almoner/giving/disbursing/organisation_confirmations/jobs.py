"""Asking nonprofits by mail, where their address is known, and forgetting who was asked."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.disbursing.organisation_confirmations import service
from almoner.giving.disbursing.organisation_confirmations.domain import ConfirmationPage
from almoner.giving.disbursing.organisation_confirmations.pages import PAGE_PURPOSE
from almoner.giving.disbursing.organisation_confirmations.ports import Contacts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import PROGRESSED, InvalidState
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs.background_tasks import Handler, JobContext, Schedule
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer


class _Status(msgspec.Struct, rename="camel"):
    type: str
    awaiting_answer_from_organisation: bool


class _VerificationRecord(msgspec.Struct):
    """What is read of a verification's record."""

    id: str
    status: _Status


async def on_verification_progressed(tx: Tx, events: Sequence[Event]) -> None:
    """A verification waits for its nonprofit: ask it. It has ended: forget who answered, in time."""
    for event in events:
        reported = msgspec.convert(event.event_data(), _VerificationRecord)
        verification_id = tx.ids.parse("monetarydonationverification", reported.id)
        if verification_id is None:
            continue
        if reported.status.awaiting_answer_from_organisation:
            await service.enqueue_confirmation_request(tx, verification_id)
        elif reported.status.type in ("rejected", "expired"):
            await service.enqueue_name_erasure(tx, verification_id)


reactions: Final = (Reaction(PROGRESSED, on_verification_progressed),)
schedules: Final = (
    Schedule("confirmations.forget", service.next_erasure_at, service.erase_contacts, every=timedelta(days=1)),
)


def handlers(mails: MailRenderer, transport: MailTransport, contacts: Contacts) -> Mapping[str, Handler]:
    """The jobs, with the mails' templates (``service.MAILS``), who carries them, and where nonprofits are asked."""

    async def send_request(work: JobContext, job: Job) -> Result:
        async with work.db.write() as tx:
            found = await verifications.get(tx, ALL_PARTNERS, UUID(job.payload["verification"]))
            try:
                await service.request_confirmation_once(tx, found.id, await contacts(tx, found.organisation_id))
            except InvalidState as refused:
                return JobDropped(str(refused))
        return JobDone()

    async def send(work: JobContext, job: Job) -> Result:
        mail_id = UUID(job.payload["mail"])
        async with work.db.read() as tx:
            asked = await service.find_page_for_mail(tx, mail_id)
            mail = None if asked is None else compose_mail(tx, mails, mail_id, asked, job.due_at)
        return await mailing.send_mail(transport, mail, job)

    async def forget_names(work: JobContext, job: Job) -> Result:
        async with work.db.write() as tx:
            await service.erase_names(tx, UUID(job.payload["verification"]))
        return JobDone()

    return {service.REQUEST: send_request, service.SEND: send, service.ERASE_NAMES: forget_names}


def compose_mail(tx: Tx, mails: MailRenderer, mail_id: UUID, asked: ConfirmationPage, at: datetime) -> Mail:
    """The mail to the nonprofit, in the language that it was asked in."""
    confirmation = asked.confirmation
    assert confirmation.email is not None, "what is open has an address"
    language = mails.language(confirmation.language)
    facts = {
        "partner": asked.partner,
        "organisation": asked.organisation,
        "until": confirmation.expires_at,
        "link": f"{tx.links.pages}/{PAGE_PURPOSE}?token={tx.vault.page_token(PAGE_PURPOSE, confirmation.id)}",
    }
    return mails.render_mail(
        "payee",
        language,
        facts,
        key=f"payee:{mail_id}",
        at=at,
        partner=asked.verification.partner_id,
        to=confirmation.email,
    )
