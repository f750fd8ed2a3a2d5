"""Making statements, and mailing the links to them.

A statement shows all gifts of a donor, so it is opened by a link that is mailed to the donor's own address, never by
a receipt's: receipts are forwarded and shown.
"""

from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as gateway
from almoner.giving.donor_statements import domain, store
from almoner.giving.donor_statements.domain import Line, Period, Span, Statement
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import Receipt
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.jobs import queue

MAILS: Final = Path(__file__).parent / "mails"
SEND: Final = "statements.send"


async def opened_by(tx: Tx, donation_id: UUID) -> Receipt:
    """The receipt of a gift whose donor may ask. Raises NotFound, also when the donor is not known any more."""
    await address(tx, donation_id)
    return await receipts.get(tx, donation_id)


async def address(tx: Tx, donation_id: UUID) -> str:
    """The donor's address. Raises NotFound."""
    email = (await donations.get(tx, EVERYONE, donation_id)).email
    if email is None:
        raise NotFound
    return email


async def ask(tx: Tx, donation_id: UUID) -> bool:
    """Have a link mailed to the donor of a gift; False when that was done often enough of late. Raises NotFound."""
    receipt = await opened_by(tx, donation_id)
    partner, email = Partner(receipt.partner_id), await address(tx, donation_id)
    await store.lock_donor(tx, partner, email)
    if await store.links_since(tx, partner, email, tx.wall - domain.LIVES) >= domain.MOST_LINKS:
        return False
    link_id = await store.insert_link(tx, partner, donation_id)
    await queue.enqueue(tx, SEND, {"link": str(link_id), "donation": str(donation_id)}, unique=str(link_id))
    return True


async def issuer(tx: Tx, receipt: Receipt) -> str:
    """Who issues the partner's receipts, as it is called now."""
    partner = Partner(receipt.partner_id)
    return await receipts.issuer_name(tx, partner) or (await partners.get(tx, partner)).name


async def span(tx: Tx, donation_id: UUID) -> Span | None:
    """From the first gift of a gift's donor to the last. Raises NotFound."""
    donation = await donations.get(tx, EVERYONE, donation_id)
    return await store.span(tx, Partner(donation.partner_id), donation.email) if donation.email else None


async def make(tx: Tx, donation_id: UUID, period: Period) -> Statement:
    """The gifts of a period of the donor of a gift: of the same partner and address. Raises NotFound."""
    receipt = await opened_by(tx, donation_id)
    partner, email = Partner(receipt.partner_id), await address(tx, donation_id)
    found = await store.gifts(tx, partner, email, period.since, period.until, domain.MOST_GIFTS + 1)
    listed = found[: domain.MOST_GIFTS]
    issued = await receipts.all_of(tx, partner, [gift[0] for gift in listed])
    lines = [Line(issued[gift], refunded, now, moved) for gift, refunded, now, moved in listed]
    moved_to = {line.organisation_id for line in lines if line.reassigned}
    names = {one: (await gateway.cause_of(tx, partner, one)).name for one in moved_to}
    more = len(found) > len(listed)
    return Statement(receipt, await issuer(tx, receipt), period, lines, names, more, tx.now)
