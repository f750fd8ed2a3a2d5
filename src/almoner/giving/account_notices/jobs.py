"""Somebody has given an account of a nonprofit: jobs tell the nonprofit of it. They hold an id; the rest is read."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.account_notices import service
from almoner.giving.account_notices.pages import PAGE_PURPOSE
from almoner.giving.disbursing.organisation_confirmations.ports import Contacts
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import ACCOUNT_PROPOSED, PayeeAccountProposed
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.outbound.mail_rendering import MailRenderer

NOTIFY: Final = "account_notices.tell"


async def on_account_proposed(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the jobs."""
    reported = {str(msgspec.convert(event.event_data(), PayeeAccountProposed).account) for event in events}
    await queue.enqueue_jobs(tx, [NewJob(NOTIFY, {"account": account}, unique=account) for account in sorted(reported)])


reactions: Final = (Reaction(ACCOUNT_PROPOSED.name, on_account_proposed),)


def handlers(mails: MailRenderer, transport: MailTransport, contacts: Contacts) -> Mapping[str, Handler]:
    """The jobs, with the mails' templates (``service.MAILS``), who carries them, and where nonprofits are told."""

    async def send_notice(work: JobContext, job: Job) -> Result:
        account_id = UUID(job.payload["account"])
        async with work.db.write() as tx:
            of = (await payee_bank_accounts.get(tx, account_id)).organisation_id
            await service.notify_nonprofit(tx, account_id, await contacts(tx, of))
        return JobDone()

    async def send(work: JobContext, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await _compose_mail(tx, mails, contacts, job)
        return await mailing.send_mail(transport, mail, job)

    return {NOTIFY: send_notice, service.SEND: send}


async def _compose_mail(tx: Tx, mails: MailRenderer, contacts: Contacts, job: Job) -> Mail | None:
    """The mail about one account; None when nothing is to be said of it any more."""
    page = await service.load_page(tx, UUID(job.payload["account"]))
    account = page.account
    contact = await contacts(tx, account.organisation_id)
    if contact is None or page.state(tx.now) != "open":
        return None
    language = mails.language(page.notice.language)
    facts = {
        "organisation": page.organisation,
        "account": account,
        "until": page.until,
        "link": f"{tx.links.pages}/{PAGE_PURPOSE}?token={tx.vault.page_token(PAGE_PURPOSE, account.id)}",
    }
    return mails.render_mail(
        "payee_account",
        language,
        facts,
        key=f"{PAGE_PURPOSE}:{account.id}",
        at=job.due_at,
        partner=page.notice.partner_id,
        to=contact.email,
    )
