"""Reassigning a donation: its conditions, and the amount owed (settled 5); pure."""

from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from almoner.giving.checkout.donations.domain import (
    CannotAcceptDonations,
    Donation,
    InvalidState,
    ensure_organisation_receives_currency,
)
from almoner.kit.money import Money
from almoner.nonprofits.organisations.domain import Organisation

MAX_REASON_LENGTH: Final = 500
ReassignmentGround = Literal["failed_compliance", "payment_impossible", "merged"]  # spec 6
"""The reason that the donor is given."""

MERGED_REASON: Final = "A register says that the nonprofit went over into this one."


class UnknownOrganisation(CannotAcceptDonations):
    message = "There is no organisation with this ID"


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A donation's reassignment from one nonprofit to another. ``money``: the amount owed for it.

    ``ground``: None for reassignments made before grounds were recorded.
    """

    id: UUID
    donation_id: UUID
    from_organisation_id: UUID
    to_organisation_id: UUID
    money: Money
    ground: ReassignmentGround | None
    reason: str
    reassigned_by: str


def amount_owed_to_nonprofit(donation: Donation) -> Money:
    """The amount owed for a received donation: settled (before settlement, the full amount) minus refunds."""
    return donation.net_amount_for_nonprofit


def ensure_reassignable(donation: Donation, target: Organisation | None) -> None:
    """Check that the donation may be reassigned to ``target`` (None: no such nonprofit).

    Raises InvalidState, UnknownOrganisation, CannotAcceptDonations, WrongTargetCurrency.
    """
    if donation.status != "RECEIVED_PAYMENT":
        raise InvalidState(f"the donation is {donation.status}: only one that is RECEIVED_PAYMENT can be reassigned")
    if target is None:
        raise UnknownOrganisation
    if target.id == donation.organisation_id:
        raise InvalidState("the donation is this organisation's already")
    ensure_organisation_receives_currency(donation.money.currency, target.donation_currencies)
