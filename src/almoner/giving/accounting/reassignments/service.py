"""Reassigns donations to other nonprofits."""

from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.reassignments import domain, store
from almoner.giving.accounting.reassignments.domain import Reassignment, ReassignmentGround
from almoner.giving.accounting.reassignments.store import find_newest as find_newest
from almoner.giving.accounting.reassignments.store import (
    list_donation_ids_of_merged_organisations as list_donation_ids_of_merged_organisations,
)
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import CannotAcceptDonations, Donation, InvalidState, WrongTargetCurrency
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import (
    DisbursementError,
    DisbursementRules,
    DonationInOtherDisbursement,
)
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx

_REGISTER_ACTOR: Final = audit.Actor("system", "reassignments.follow_merges")


async def reassign_donation(
    tx: Tx,
    scope: Partner | AllPartners,
    donation_id: UUID,
    organisation_id: UUID,
    *,
    ground: ReassignmentGround,
    reason: str,
    reassigned_by: str,
    rules: DisbursementRules,
) -> Donation:
    """Reassign a received, undisbursed donation to another nonprofit.

    ``ground``: the reason for the donor. ``reason``: internal, 1 to 500 characters. Raises NotFound, IncorrectParams;
    InvalidState, CannotAcceptDonations, WrongTargetCurrency of donations.
    """
    if not 1 <= len(reason) <= domain.MAX_REASON_LENGTH:
        raise IncorrectParams(f"the reason must have 1 to {domain.MAX_REASON_LENGTH} characters")
    seen = await donations.get(tx, scope, donation_id)
    target = await _find_organisation(tx, Partner(seen.partner_id), organisation_id)
    domain.ensure_reassignable(seen, target)
    try:
        held = await disbursements.remove_from_disbursement(tx, donation_id, rules)
    except DisbursementError as refused:
        raise InvalidState(str(refused)) from refused
    domain.ensure_reassignable(held, target)
    given = await donations.reassign_donation(tx, held, organisation_id)
    money = domain.amount_owed_to_nonprofit(held)
    source = held.organisation_id
    created = Reassignment(tx.new_id(), held.id, source, organisation_id, money, ground, reason, reassigned_by)
    await store.insert(tx, created)
    if money:
        ledger.post_at_commit(
            tx, ledger_domain.build_reassignment_transfers(created.id, source, organisation_id, money)
        )
    return given


async def load_organisation_id_of_donation_at(tx: Tx, donation: Donation, moment: datetime) -> UUID:
    """The nonprofit that a donation was assigned to at a given time."""
    return await store.find_former_organisation_id(tx, donation.id, moment) or donation.organisation_id


async def reassign_donation_to_successor(tx: Tx, donation_id: UUID, rules: DisbursementRules) -> bool:
    """Reassign a donation to the nonprofit that its own merged into; False if that is impossible.

    Raises DonationInOtherDisbursement if a disbursement has just taken it.
    """
    seen = await donations.get(tx, ALL_PARTNERS, donation_id)
    former = await organisations.get(tx, Partner(seen.partner_id), seen.organisation_id)
    if former.succeeded_by is None:
        return False
    try:
        given = await reassign_donation(
            tx,
            ALL_PARTNERS,
            donation_id,
            former.succeeded_by,
            ground="merged",
            reason=domain.MERGED_REASON,
            reassigned_by=_REGISTER_ACTOR.id,
            rules=rules,
        )
    except (InvalidState, CannotAcceptDonations, WrongTargetCurrency) as refused:
        if isinstance(refused.__cause__, DonationInOtherDisbursement):
            raise refused.__cause__ from None  # the caller can retry
        return False
    named = {"organisation": tx.ids.encode("organisation", given.organisation_id)}
    await audit.record_entry(
        tx, given.partner_id, _REGISTER_ACTOR, "donation.reassigned", tx.ids.encode("donation", given.id), details=named
    )
    return True


async def _find_organisation(tx: Tx, partner: Partner, organisation_id: UUID) -> Organisation | None:
    try:
        return await organisations.get(tx, partner, organisation_id)
    except NotFound:
        return None
