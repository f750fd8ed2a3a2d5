"""The mail with the details of a bank transfer that its donor has confirmed (settled 5)."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import PAGE_PURPOSE
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

MAILS: Final = Path(__file__).parent / "mails"


async def compose_mail(
    tx: Tx, mails: MailRenderer, accounts: Mapping[str, BankDetails], donation_id: UUID, at: datetime
) -> Mail | None:
    """The mail about one transfer; None when it is not waited for any more, or there is no such account."""
    donation = await donations.get(tx, ALL_PARTNERS, donation_id)
    payment = await bank_transfers.find_awaited_payment(tx, donation)
    pay_to = accounts.get(donation.money.currency)
    if payment is None or pay_to is None or donation.email is None or donation.session_id is None:
        return None
    transfer = bank_transfers.transfer_details(payment, donation, pay_to)
    if transfer.until is None:
        return None
    session = await sessions.get_for_page(tx, donation.session_id)
    language = mails.language(session.language)
    organisation = (await hosted_page.load_nonprofit(tx, session)).name
    amount = formats.format_money(transfer.money.minor, transfer.money.currency, language.locale)
    token = mails.deployment.vault.page_token(PAGE_PURPOSE, session.id)
    facts = {
        "organisation": organisation,
        "name": formats.greeting_name(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": amount,
        "holder": pay_to.holder,
        "rows": pay_to.rows,
        "reference": transfer.shown_reference,
        "until": mails.format_day(transfer.until, language),
        "link": f"{mails.deployment.links.pages}/{PAGE_PURPOSE}?token={token}",
    }
    return mails.render_mail(
        "transfer",
        language,
        facts,
        key=f"transfer:{donation.id}",
        at=at,
        partner=donation.partner_id,
        to=donation.email,
    )
