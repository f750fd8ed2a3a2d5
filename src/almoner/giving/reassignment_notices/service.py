"""Telling a donor that their gift is for another nonprofit: which, why, and what they can do."""

from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.receipts import domain as receipts_domain
from almoner.giving.receipts import service as receipts
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

MAILS: Final = Path(__file__).parent / "mails"


async def compose_mail(tx: Tx, mails: MailRenderer, donation_id: UUID, at: datetime) -> Mail | None:
    """The mail about the last reassignment of a gift; None where nobody gave it on a page of ours, or all is back.

    Raises NotFound.
    """
    donation = await donations.get(tx, ALL_PARTNERS, donation_id)
    made = await reassignments.newest_reassignment(tx, donation_id)
    stored = donation.money - donation.refunded.money if donation.refunded else donation.money
    if made is None or donation.session_id is None or donation.email is None or not stored:
        return None
    partner = Partner(donation.partner_id)
    session = await sessions.get(tx, partner, donation.session_id)
    language = mails.language(session.language)
    organisation = (await hosted_page.nonprofit_profile_of(tx, partner, made.target)).name
    facts = {
        "organisation": organisation,
        "former": (await hosted_page.nonprofit_profile_of(tx, partner, made.source)).name,
        "issuer": await _issuer(tx, partner, donation),
        "name": formats.greeting_name(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": formats.format_money(stored.minor, stored.currency, language.locale),
        "on": mails.format_day(donation.reassigned_at or at, language),
        "why": f"reassigned.why.{made.ground or 'unknown'}",
        "reference": mails.deployment.ids.text("donation", donation.id),
        "link": _link(mails, donation),
    }
    return mails.render_mail(
        "reassigned",
        language,
        facts,
        key=f"reassigned:{made.id}",
        at=at,
        partner=donation.partner_id,
        to=donation.email,
    )


async def _issuer(tx: Tx, partner: Partner, donation: Donation) -> str:
    """Whom the donor may write to: who issued the receipt, or will."""
    try:
        return (await receipts.get(tx, donation.id)).issuer
    except NotFound:
        return (await partners.get(tx, partner)).name


def _link(mails: MailRenderer, donation: Donation) -> str:
    deployment = mails.deployment
    return (
        f"{deployment.links.pages}/gift?token={deployment.vault.page_token(receipts_domain.PAGE_PURPOSE, donation.id)}"
    )
