"""Telling a donor that money went back: how much, which nonprofit, why, and that nothing need be done."""

from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.donations import service as donations
from almoner.giving.gateway import service as gateway
from almoner.giving.sessions import service as sessions
from almoner.giving.suspense import service as suspense
from almoner.giving.suspense.domain import Held
from almoner.platform.db import Partner, Tx
from almoner.platform.mail import Mail
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import Pages

MAILS: Final = Path(__file__).parent / "mails"


async def compose(tx: Tx, pages: Pages, held_id: UUID, at: datetime) -> Mail | None:
    """The mail about one refund; None when nobody is known who could be told. Raises NoSuchHeldPayment."""
    held = await suspense.get(tx, held_id)
    if held.donation_id is None:
        return None
    session_id = await donations.session_of(tx, held.donation_id)
    session = await sessions.for_page(tx, session_id)
    donation = await donations.get(tx, Partner(session.partner_id), held.donation_id)
    if donation.email is None:
        return None
    language = pages.language(session.language)
    amount = formats.money(held.money.minor, held.money.currency, language.locale)
    facts = {
        "organisation": (await gateway.cause(tx, session)).name,
        "name": formats.called(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": amount,
        "why": f"refund.why.{held.reason.value}",
        "reference": pages.deployment.ids.text("donation", donation.id),
    }
    return Mail(
        key=_key(held),
        at=at,
        partner=donation.partner_id,
        to=donation.email,
        subject=language.text("refund.subject", amount=amount),
        text=pages.text("refund.txt", language, **facts),
        html=pages.text("refund.html", language, **facts),
        language=language.html_lang,
    )


def _key(held: Held) -> str:
    return f"refund:{held.id}"
