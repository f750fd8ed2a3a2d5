"""Remittance statements: which gifts a payout is of, what was taken off, and what they come to; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements.domain import Disbursement, taken_off
from almoner.giving.disbursing.organisation_confirmations.domain import language_of

MOST_GIFTS: Final = 2000
"""Gifts that one document lists; its totals are of all."""
_ENGLISH: Final = {"GBR": "en-GB", "IRL": "en-IE", "AUS": "en-AU", "NZL": "en-NZ", "CAN": "en-CA", "ZAF": "en-ZA"}


@dataclass(frozen=True, slots=True)
class Line:
    """One gift. ``donor``: None when nobody is known, and of an anonymous gift always.

    ``fee_minor``: what the provider kept; ``back_minor``: what of the rest was sent back before the payout.
    """

    donation_id: UUID
    given_at: datetime
    anonymous: bool
    donor: tuple[str, str] | None
    message: str | None
    given_minor: int
    fee_minor: int
    back_minor: int

    @property
    def paid_minor(self) -> int:
        """What of it is in the payout."""
        return self.given_minor - self.fee_minor - self.back_minor


@dataclass(frozen=True, slots=True)
class Totals:
    """What all gifts of a payout come to."""

    gifts: int = 0
    given_minor: int = 0
    fee_minor: int = 0
    back_minor: int = 0

    @property
    def paid_minor(self) -> int:
        """What is in the payout."""
        return self.given_minor - self.fee_minor - self.back_minor

    def plus(self, lines: Iterable[Line]) -> "Totals":
        """With further gifts."""
        found = list(lines)
        return Totals(
            self.gifts + len(found),
            self.given_minor + sum(one.given_minor for one in found),
            self.fee_minor + sum(one.fee_minor for one in found),
            self.back_minor + sum(one.back_minor for one in found),
        )


@dataclass(frozen=True, slots=True)
class Remittance:
    """What a nonprofit is told. ``lines``: the first gifts; ``totals``: of all. ``issuer``: whoever collected them."""

    payout: Disbursement
    issuer: str
    organisation: str
    language: str
    lines: Sequence[Line]
    totals: Totals

    @property
    def of(self) -> datetime:
        """The moment it is of: that of the payment, or of the order to our bank."""
        return self.payout.paid_at or self.payout.sent_at or self.payout.created_at


def line(donation: Donation) -> Line:
    """A gift as the nonprofit is told of it: who wanted to stay unknown is not in it."""
    off = taken_off(donation)
    named = not donation.anonymous and bool(donation.first_name or donation.last_name)
    return Line(
        donation_id=donation.id,
        given_at=donation.created_at,
        anonymous=donation.anonymous,
        donor=(donation.first_name or "", donation.last_name or "") if named else None,
        message=donation.message,
        given_minor=donation.money.minor,
        fee_minor=off.fee_minor,
        back_minor=off.back_minor,
    )


def spoken_in(country: str) -> str:
    """The language of a nonprofit's documents, by its country (three letters), unless somebody says otherwise."""
    return _ENGLISH.get(country, language_of(country))
