"""The mail with the details of a bank transfer that its donor has confirmed (settled 5)."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.giving.checkout.bank_transfers.domain import PayTo
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as gateway
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import PAGE
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import Pages

MAILS: Final = Path(__file__).parent / "mails"


async def compose(tx: Tx, pages: Pages, accounts: Mapping[str, PayTo], donation_id: UUID, at: datetime) -> Mail | None:
    """The mail about one transfer; None when it is not waited for any more, or there is no such account."""
    donation = await donations.get(tx, EVERYONE, donation_id)
    payment = await transfers.awaited(tx, donation)
    pay_to = accounts.get(donation.money.currency)
    if payment is None or pay_to is None or donation.email is None or donation.session_id is None:
        return None
    transfer = transfers.told(payment, donation, pay_to)
    if transfer.until is None:
        return None
    session = await sessions.for_page(tx, donation.session_id)
    language = pages.language(session.language)
    organisation = (await gateway.cause(tx, session)).name
    amount = formats.money(transfer.money.minor, transfer.money.currency, language.locale)
    token = pages.deployment.vault.page_token(PAGE, session.id)
    facts = {
        "organisation": organisation,
        "name": formats.called(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": amount,
        "holder": pay_to.holder,
        "rows": pay_to.rows,
        "reference": transfer.shown_reference,
        "until": formats.day(transfer.until, language.locale),
        "link": f"{pages.deployment.links.pages}/{PAGE}?token={token}",
    }
    return Mail(
        key=f"transfer:{donation.id}",
        at=at,
        partner=donation.partner_id,
        to=donation.email,
        subject=language.text("transfer.mail.subject", amount=amount, organisation=organisation),
        text=pages.text("transfer.txt", language, **facts),
        html=pages.text("transfer_mail.html", language, **facts),
        language=language.html_lang,
    )
