"""Jobs that notify nonprofits of new payee accounts. Jobs contain only IDs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from almoner.access.notifications.service import Email, NotificationDefinition, RecordReference
from almoner.giving.account_notices import service
from almoner.giving.account_notices.pages import PAGE_PURPOSE
from almoner.giving.disbursing.organisation_confirmations.ports import NonprofitContactLookup
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import ACCOUNT_PROPOSED, PayeeAccountProposedEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs import queue
from almoner.platform.jobs.background_tasks import DependentTaskRegistry, JobContext, TaskRegistry
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, Result
from almoner.platform.outbound.mail_rendering import MailRenderer

NOTIFY: Final = JobKind("account_notices.notify", RecordReference)
tasks: Final = TaskRegistry()
contact_tasks: Final = DependentTaskRegistry[NonprofitContactLookup]()


@tasks.on_internal_event(ACCOUNT_PROPOSED)
async def on_account_proposed(tx: Tx, events: Sequence[PayeeAccountProposedEvent]) -> None:
    """Enqueue one notification job for each proposed account."""
    reported = sorted({one.account for one in events})
    await queue.enqueue_jobs(
        tx, [NOTIFY.build_job(RecordReference(account), unique_key=str(account)) for account in reported]
    )


@contact_tasks.job(NOTIFY)
async def notify_nonprofit(
    contacts: NonprofitContactLookup, context: JobContext, job: DecodedJob[RecordReference]
) -> Result:
    """Enqueue a notice to the nonprofit, if its address is known."""
    async with context.db.write() as tx:
        of = (await payee_bank_accounts.get(tx, job.details.id)).organisation_id
        await service.notify_nonprofit(tx, job.details.id, await contacts(tx, of))
    return JobDone()


async def compose_notice_email(
    contacts: NonprofitContactLookup, tx: Tx, _mails: MailRenderer, job: DecodedJob[RecordReference]
) -> Email | None:
    """Compose the email about one account; None if it is no longer needed."""
    page = await service.load_notice_page(tx, job.details.id)
    account = page.account
    contact = await contacts(tx, account.organisation_id)
    if contact is None or page.state(tx.now) != "open":
        return None
    facts = {
        "organisation": page.organisation_name,
        "account": account,
        "until": page.expires_at,
        "link": f"{tx.base_urls.pages}/{PAGE_PURPOSE}?token={tx.vault.create_page_token(PAGE_PURPOSE, account.id)}",
    }
    return Email(contact.email, f"{PAGE_PURPOSE}:{account.id}", facts, page.notice.language, page.notice.partner_id)


def build_notifications(contacts: NonprofitContactLookup) -> tuple[NotificationDefinition[RecordReference], ...]:
    """The email, with the lookup of the nonprofit's address."""
    template = Path(__file__).parent / "mails" / "payee_account.html"
    return (NotificationDefinition(service.SEND, template, partial(compose_notice_email, contacts)),)
