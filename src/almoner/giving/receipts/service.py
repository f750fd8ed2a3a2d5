"""The receipt of a donation: the same facts as the thank-you page, in the donor's language, as HTML and as text."""

from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.donations import service as donations
from almoner.giving.donations.domain import Donation
from almoner.giving.gateway import service as gateway
from almoner.giving.gateway.service import Cause
from almoner.giving.sessions import service as sessions
from almoner.platform.db import Partner, Tx
from almoner.platform.mail import Mail
from almoner.platform.pages import formats
from almoner.platform.pages.catalogue import Language
from almoner.platform.pages.rendering import Pages

MAILS: Final = Path(__file__).parent / "mails"


async def compose(tx: Tx, pages: Pages, partner: Partner, donation_id: UUID, at: datetime) -> Mail | None:
    """The receipt of a hosted donation; None when there is nobody to send it to. Raises NotFound."""
    donation = await donations.get(tx, partner, donation_id)
    if donation.email is None or donation.session_id is None:
        return None
    session = await sessions.get(tx, partner, donation.session_id)
    cause = await gateway.cause(tx, session)
    return write(pages, pages.language(session.language), donation, cause, at)


def write(pages: Pages, language: Language, donation: Donation, cause: Cause, at: datetime) -> Mail:
    """The mail itself."""
    amount = formats.money(donation.money.minor, donation.money.currency, language.locale)
    reference = pages.deployment.ids.text("donation", donation.id)
    facts = {"cause": cause, "donation": donation, "amount": amount, "reference": reference}
    return Mail(
        key=f"receipt:{reference}",
        at=at,
        partner=donation.partner_id,
        to=donation.email or "",
        subject=language.text("receipt.subject", amount=amount, organisation=cause.name),
        text=pages.text("receipt.txt", language, **facts),
        html=pages.text("receipt.html", language, **facts),
        language=language.html_lang,
    )
