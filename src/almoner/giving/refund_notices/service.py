"""Telling a donor that money went back: how much, which nonprofit, why, and that nothing need be done.

Held money never was a gift. A gift that goes back is told of with what becomes of its receipt.
"""

from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import Refund
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPayment
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.receipts.domain import PAGE_PURPOSE
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages import formats

MAILS: Final = Path(__file__).parent / "mails"


async def compose_unallocated_refund_mail(tx: Tx, mails: MailRenderer, held_id: UUID, at: datetime) -> Mail | None:
    """The mail about one refund; None when nobody is known who could be told. Raises NoSuchUnallocatedPayment."""
    held = await suspense.get(tx, held_id)
    if held.donation_id is None:
        return None
    session_id = await donations.session_id_of(tx, held.donation_id)
    session = await sessions.get_for_page(tx, session_id)
    donation = await donations.get(tx, Partner(session.partner_id), held.donation_id)
    if donation.email is None:
        return None
    language = mails.language(session.language)
    amount = formats.format_money(held.money.minor, held.money.currency, language.locale)
    facts = {
        "organisation": (await hosted_page.load_nonprofit(tx, session)).name,
        "name": formats.greeting_name(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": amount,
        "why": f"refund.why.{held.reason.value}",
        "reference": mails.deployment.ids.text("donation", donation.id),
    }
    return mails.render_mail(
        "refund",
        language,
        facts,
        key=_key(held),
        at=at,
        partner=donation.partner_id,
        to=donation.email,
    )


async def compose_donation_refund_mail(tx: Tx, mails: MailRenderer, refund_id: UUID, at: datetime) -> Mail | None:
    """The mail about one refund of a gift; None when no donor is known, or a partner has the money.

    Raises NoSuchRefund.
    """
    refund = await refunds.get(tx, refund_id)
    donation = await donations.get(tx, ALL_PARTNERS, refund.donation_id)
    if donation.session_id is None or donation.email is None:
        return None
    session = await sessions.get_for_page(tx, donation.session_id)
    language = mails.language(session.language)
    whose = await reassignments.organisation_at(tx, donation, refund.ended_at or at)
    left = await _remaining_then(tx, refund, donation)
    amount = formats.format_money(refund.money.minor, refund.money.currency, language.locale)
    token = mails.deployment.vault.page_token(PAGE_PURPOSE, donation.id)
    facts = {
        "organisation": (await hosted_page.nonprofit_profile_of(tx, Partner(donation.partner_id), whose)).name,
        "name": formats.greeting_name(donation.first_name or "", donation.last_name or "", language.locale),
        "amount": amount,
        "left": formats.format_money(left, donation.money.currency, language.locale) if left else None,
        "link": f"{mails.deployment.links.pages}/{PAGE_PURPOSE}?token={token}",
        "reference": mails.deployment.ids.text("donation", donation.id),
    }
    return mails.render_mail(
        "gift_refund",
        language,
        facts,
        key=f"gift_refund:{refund.id}",
        at=at,
        partner=donation.partner_id,
        to=donation.email,
    )


async def _remaining_then(tx: Tx, refund: Refund, donation: Donation) -> int:
    """What was left of the gift when the refund was sent, in minor units: the mail is the same however late it goes."""
    sent = [one for one in await refunds.refunds_of_donation(tx, donation.id) if one.status == "sent" and one.ended_at]
    gone = sum(one.money.minor for one in sent if (one.ended_at, one.id) <= (refund.ended_at, refund.id))
    return donation.money.minor - gone


def _key(held: UnallocatedPayment) -> str:
    return f"refund:{held.id}"
