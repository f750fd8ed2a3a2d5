"""Somebody has given an account of a nonprofit: jobs tell the nonprofit of it. They hold an id; the rest is read."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.account_notices import service
from almoner.giving.account_notices.pages import PURPOSE
from almoner.giving.disbursing.organisation_confirmations.ports import Contacts
from almoner.giving.disbursing.payee_bank_accounts import service as payees
from almoner.giving.disbursing.payee_bank_accounts.domain import GIVEN, Given
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event, Reaction
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import Handler, Work
from almoner.platform.jobs.queue import Done, Job, NewJob, Result
from almoner.platform.outbound import mailing
from almoner.platform.outbound.mail import Mail, MailTransport
from almoner.platform.pages.rendering import Pages

TELL: Final = "account_notices.tell"


async def on_given(tx: Tx, events: Sequence[Event]) -> None:
    """Enqueue the jobs."""
    told = {str(msgspec.convert(event.record(), Given).account) for event in events}
    await queue.enqueue_all(tx, [NewJob(TELL, {"account": account}, unique=account) for account in sorted(told)])


reactions: Final = (Reaction(GIVEN, on_given),)


def handlers(pages: Pages, transport: MailTransport, contacts: Contacts) -> Mapping[str, Handler]:
    """The jobs, with the mails' templates (``service.MAILS``), who carries them, and where nonprofits are told."""

    async def tell(work: Work, job: Job) -> Result:
        account_id = UUID(job.payload["account"])
        async with work.db.write() as tx:
            of = (await payees.get(tx, account_id)).organisation_id
            await service.tell(tx, account_id, await contacts(tx, of))
        return Done()

    async def send(work: Work, job: Job) -> Result:
        async with work.db.read() as tx:
            mail = await _written(tx, pages, contacts, job)
        return await mailing.carry(transport, mail, job)

    return {TELL: tell, service.SEND: send}


async def _written(tx: Tx, pages: Pages, contacts: Contacts, job: Job) -> Mail | None:
    """The mail about one account; None when nothing is to be said of it any more."""
    page = await service.opened(tx, UUID(job.payload["account"]))
    account = page.account
    contact = await contacts(tx, account.organisation_id)
    if contact is None or page.state(tx.now) != "open":
        return None
    language = pages.language(page.notice.language)
    facts = {
        "organisation": page.organisation,
        "account": account,
        "until": page.until,
        "link": f"{tx.links.pages}/{PURPOSE}?token={tx.vault.page_token(PURPOSE, account.id)}",
    }
    return Mail(
        key=f"{PURPOSE}:{account.id}",
        at=job.due_at,
        partner=page.notice.partner_id,
        to=contact.email,
        subject=language.text("payee_account.mail.subject", organisation=page.organisation),
        text=pages.text("payee_account.txt", language, **facts),
        html=pages.text("payee_account_mail.html", language, **facts),
        language=language.html_lang,
    )
