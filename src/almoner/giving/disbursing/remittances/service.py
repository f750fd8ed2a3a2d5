"""Builds remittance statements."""

from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.giving.checkout.donations import service as donations
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.giving.disbursing.remittances import domain
from almoner.giving.disbursing.remittances.documents import RemittanceRenderer as RemittanceRenderer
from almoner.giving.disbursing.remittances.domain import Remittance, RemittanceLine, RemittanceTotals
from almoner.giving.receipts import service as receipts
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx

_STATUSES: Final = ("SENT", "PAID")


async def build_remittance(tx: Tx, disbursement_id: UUID, language: str | None = None) -> Remittance:
    """Build the remittance statement of a disbursement; by default in the language of its country.

    Raises NotFound; DisbursementError if it is not sent or paid, or if its donations do not add up to its amount.
    """
    disbursement = await disbursements.get(tx, ALL_PARTNERS, disbursement_id)
    if disbursement.status not in _STATUSES:
        raise DisbursementError(
            f"the disbursement is {disbursement.status}: only a SENT or PAID one has a remittance statement"
        )
    partner = Partner(disbursement.partner_id)
    organisation = await organisations.get(tx, partner, disbursement.organisation_id)
    lines, totals = await _load_lines(tx, partner, disbursement_id)
    if totals.paid_minor != disbursement.money.minor:
        raise DisbursementError("the disbursement is not the sum of its donations: run the self-check")
    return Remittance(
        disbursement=disbursement,
        issuer=await receipts.find_issuer_name(tx, partner) or (await partners.get(tx, partner)).name,
        organisation=organisation.effective_display_name,
        language=language or domain.document_language_of(organisation.country_code),
        lines=lines,
        totals=totals,
    )


async def _load_lines(tx: Tx, partner: Partner, disbursement_id: UUID) -> tuple[list[RemittanceLine], RemittanceTotals]:
    """The first donations, and the totals of all."""
    listed: list[RemittanceLine] = []
    totals, after = RemittanceTotals(), None
    while found := await donations.list_donations_of_disbursement(tx, disbursement_id, after):
        shown = found[: domain.MAX_LINES - len(listed)]
        issued = await receipts.load_receipts_by_donation(tx, partner, [one.id for one in shown]) if shown else {}
        received = {donation_id: receipt.received_at for donation_id, receipt in issued.items()}
        lines = [domain.remittance_line_of(one, received.get(one.id)) for one in found]
        listed += lines[: len(shown)]
        totals, after = totals.with_lines(lines), found[-1].id
    return listed, totals
