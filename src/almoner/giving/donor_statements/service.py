"""Builds statements, and emails links to them.

A statement shows all donations of a donor, so its link is emailed to the donor's own address and is never in a receipt,
because receipts are forwarded.
"""

from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.donor_statements import domain, store
from almoner.giving.donor_statements.domain import (
    DonationDateRange,
    DonorStatement,
    DonorStatementLine,
    StatementPeriod,
)
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts.domain import Receipt
from almoner.giving.requested_emails import service as requested_emails
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind


class SendStatementLinkJob(msgspec.Struct, frozen=True):
    """The link to email, and the donation of its donor."""

    link: UUID
    donation: UUID


SEND: Final = JobKind("donor_statements.send", SendStatementLinkJob)


async def get_receipt(tx: Tx, donation_id: UUID) -> Receipt:
    """The receipt of a donation. Raises NotFound if it does not exist or the donor was erased."""
    await get_donor_email(tx, donation_id)
    return await receipts.get(tx, donation_id)


async def get_donor_email(tx: Tx, donation_id: UUID) -> str:
    """The donor's address. Raises NotFound."""
    email = (await donations.get(tx, ALL_PARTNERS, donation_id)).email
    if email is None:
        raise NotFound
    return email


async def request_statement_link(tx: Tx, donation_id: UUID) -> bool:
    """Email a statement link to a donation's donor; False if the limit was reached. Raises NotFound."""
    receipt = await get_receipt(tx, donation_id)
    partner, email = Partner(receipt.partner_id), await get_donor_email(tx, donation_id)
    link_id = await requested_emails.record_email_request_within_limit(tx, partner, "statement", email)
    if link_id is None:
        return False
    await SEND.enqueue(tx, SendStatementLinkJob(link_id, donation_id), unique_key=str(link_id))
    return True


async def load_issuer_name(tx: Tx, receipt: Receipt) -> str:
    """The current name of the issuer of the partner's receipts."""
    partner = Partner(receipt.partner_id)
    return await receipts.find_issuer_name(tx, partner) or (await partners.get(tx, partner)).name


async def find_donation_date_range(tx: Tx, donation_id: UUID) -> DonationDateRange | None:
    """The time from a donor's first to last donation. Raises NotFound."""
    donation = await donations.get(tx, ALL_PARTNERS, donation_id)
    return (
        await store.find_donation_date_range(tx, Partner(donation.partner_id), donation.email)
        if donation.email
        else None
    )


async def build_statement(tx: Tx, donation_id: UUID, period: StatementPeriod) -> DonorStatement:
    """Build the statement of a donation's donor (same partner and email address) for a period. Raises NotFound."""
    receipt = await get_receipt(tx, donation_id)
    partner, email = Partner(receipt.partner_id), await get_donor_email(tx, donation_id)
    found = await store.list_receipted_donations_of_donor(
        tx, partner, email, period.since, period.until, domain.MAX_LINES + 1
    )
    listed = found[: domain.MAX_LINES]
    issued = await receipts.load_receipts_by_donation(tx, partner, [gift.donation_id for gift in listed])
    lines = [
        DonorStatementLine(issued[gift.donation_id], gift.refunded_minor, gift.organisation_id, gift.is_reassigned)
        for gift in listed
    ]
    moved_to = {line.organisation_id for line in lines if line.reassigned}
    names = {one: (await hosted_page.load_profile_of_organisation(tx, partner, one)).name for one in moved_to}
    more = len(found) > len(listed)
    return DonorStatement(receipt, await load_issuer_name(tx, receipt), period, lines, names, more, tx.now)
