"""Notifies nonprofits of accounts added after their confirmation, and records that an account is not their own."""

from typing import Final
from uuid import UUID

from almoner.access.notifications.service import RecordReference
from almoner.giving.account_notices import store
from almoner.giving.account_notices.domain import NoticePageContent, PayeeAccountNotice
from almoner.giving.account_notices.store import find as find
from almoner.giving.disbursing.organisation_confirmations.domain import CHECK, NonprofitContact, language_of_country
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.jobs.queue import JobKind

SEND: Final = JobKind("account_notices.send", RecordReference)


async def notify_nonprofit(tx: Tx, account_id: UUID, contact: NonprofitContact | None) -> None:
    """Notify a nonprofit of an account once, unless it has no address or saw the account on its confirmation page.

    While a confirmation is pending, that page shows the approved account instead. Raises NotFound.
    """
    account = await payee_bank_accounts.get(tx, account_id)
    if contact is None or account.status not in ("proposed", "approved"):
        return
    named = tx.ids.encode("payeeaccount", account.id)
    of = await verifications.list_pending_and_approved_verifications(tx, account.organisation_id)
    unseen = [
        one for one in of if one.checks[CHECK] == "succeeded" and named not in await _confirmed_accounts(tx, one.id)
    ]
    if not unseen:
        return
    organisation = await organisations.get(tx, ALL_PARTNERS, account.organisation_id)
    notice = PayeeAccountNotice(
        account.id, unseen[0].partner_id, language_of_country(organisation.country_code), tx.now
    )
    if await store.insert(tx, notice):
        await SEND.enqueue(tx, RecordReference(account.id))


async def _confirmed_accounts(tx: Tx, verification_id: UUID) -> list[str]:
    """The accounts that a nonprofit saw when it confirmed."""
    known = await verifications.list_findings(tx, verification_id)
    reported = [one.finding.facts.get("accounts") for one in known if one.finding.check == CHECK]
    return [str(one) for seen in reported if isinstance(seen, list) for one in seen]


async def load_notice_page(tx: Tx, account_id: UUID) -> NoticePageContent:
    """Load the page of a link with its current state. Raises NotFound."""
    if (notice := await store.find(tx, account_id)) is None:
        raise NotFound
    account = await payee_bank_accounts.get(tx, account_id)
    organisation = await organisations.get(tx, ALL_PARTNERS, account.organisation_id)
    return NoticePageContent(notice, account, organisation.effective_display_name)


async def deny_account_ownership(tx: Tx, account_id: UUID) -> bool:
    """Record that the nonprofit denies the account; False if that is no longer possible. Raises NotFound."""
    if (await load_notice_page(tx, account_id)).state(tx.now) != "open":
        return False
    return await payee_bank_accounts.record_ownership_denial(tx, account_id)
