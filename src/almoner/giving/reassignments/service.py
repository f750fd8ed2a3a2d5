"""Giving a gift to another nonprofit."""

from uuid import UUID

from almoner.giving.donations import service as donations
from almoner.giving.donations.domain import Donation, InvalidState
from almoner.giving.ledger import domain as books
from almoner.giving.ledger import service as ledger
from almoner.giving.payouts import service as payouts
from almoner.giving.payouts.domain import PayoutRefused, Rules
from almoner.giving.reassignments import domain, store
from almoner.giving.reassignments.domain import Reassignment
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.db import EVERYONE, Everyone, Partner, Tx


async def reassign(
    tx: Tx,
    scope: Partner | Everyone,
    donation_id: UUID,
    organisation_id: UUID,
    *,
    reason: str,
    reassigned_by: str,
    rules: Rules,
) -> Donation:
    """Give a received gift, that no payout was sent with, to another nonprofit; what is owed of it goes along.

    ``reason``: 1 to 500 characters. Raises NotFound, IncorrectParams; InvalidState, CannotAcceptDonations,
    WrongTargetCurrency of donations.
    """
    if not 1 <= len(reason) <= domain.MAX_REASON_LENGTH:
        raise IncorrectParams(f"the reason must have 1 to {domain.MAX_REASON_LENGTH} characters")
    seen = await donations.get(tx, scope, donation_id)
    target = await _find(tx, Partner(seen.partner_id), organisation_id)
    domain.ensure_possible(seen, target)
    try:
        held = await payouts.let_go(tx, donation_id, rules)
    except PayoutRefused as refused:
        raise InvalidState(str(refused)) from refused
    domain.ensure_possible(held, target)
    assert target is not None, "it is possible"
    given = await donations.hand_over(tx, held, target)
    money = domain.owed(held)
    source = held.organisation_id
    made = Reassignment(tx.new_id(), held.id, source, organisation_id, money, reason, reassigned_by)
    await store.insert(tx, EVERYONE, made)
    if money:
        await ledger.post(tx, books.reassigned(made.id, source, organisation_id, money))
    return given


async def _find(tx: Tx, partner: Partner, organisation_id: UUID) -> Organisation | None:
    try:
        return await organisations.get(tx, partner, organisation_id)
    except NotFound:
        return None
