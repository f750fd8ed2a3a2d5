"""Remittance statements: the donations of a disbursement, their deductions and totals; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements.domain import Disbursement, deductions_of
from almoner.giving.disbursing.organisation_confirmations.domain import language_of_country

MAX_LINES: Final = 2000
"""The maximum number of donations that one document lists; its totals cover all."""
_ENGLISH: Final = {"GBR": "en-GB", "IRL": "en-IE", "AUS": "en-AU", "NZL": "en-NZ", "CAN": "en-CA", "ZAF": "en-ZA"}


@dataclass(frozen=True, slots=True)
class RemittanceLine:
    """One donation. ``donor_first_and_last_name``: None if unknown, and always for an anonymous donation.

    ``donated_at``: when the payment was received, or when a direct donation was created. ``fee_minor``: the provider's
    fee; ``refunded_minor``: the part of the rest that was refunded before the disbursement.
    """

    donation_id: UUID
    donated_at: datetime
    anonymous: bool
    donor_first_and_last_name: tuple[str, str] | None
    message: str | None
    designation: str | None
    donated_minor: int
    fee_minor: int
    refunded_minor: int

    @property
    def paid_minor(self) -> int:
        """The part of the donation in the disbursement."""
        return self.donated_minor - self.fee_minor - self.refunded_minor


@dataclass(frozen=True, slots=True)
class RemittanceTotals:
    """The totals of all donations of a disbursement."""

    donation_count: int = 0
    donated_minor: int = 0
    fee_minor: int = 0
    refunded_minor: int = 0

    @property
    def paid_minor(self) -> int:
        """The total amount of the disbursement."""
        return self.donated_minor - self.fee_minor - self.refunded_minor

    def with_lines(self, lines: Iterable[RemittanceLine]) -> "RemittanceTotals":
        """The totals with further donations added."""
        found = list(lines)
        return RemittanceTotals(
            self.donation_count + len(found),
            self.donated_minor + sum(one.donated_minor for one in found),
            self.fee_minor + sum(one.fee_minor for one in found),
            self.refunded_minor + sum(one.refunded_minor for one in found),
        )


@dataclass(frozen=True, slots=True)
class Remittance:
    """The content of a remittance statement.

    ``lines``: the first donations. ``totals``: of all. ``issuer``: who collected the donations.
    """

    disbursement: Disbursement
    issuer: str
    organisation: str
    language: str
    lines: Sequence[RemittanceLine]
    totals: RemittanceTotals

    @property
    def as_of(self) -> datetime:
        """The date of the statement: when the disbursement was paid, else when it was sent."""
        return self.disbursement.paid_at or self.disbursement.sent_at or self.disbursement.created_at


def remittance_line_of(donation: Donation, received_at: datetime | None = None) -> RemittanceLine:
    """A donation as a line of the statement, without the name of an anonymous donor.

    ``received_at``: the day on its receipt; None for a direct donation.
    """
    off = deductions_of(donation)
    named = not donation.anonymous and bool(donation.first_name or donation.last_name)
    return RemittanceLine(
        donation_id=donation.id,
        donated_at=received_at or donation.created_at,
        anonymous=donation.anonymous,
        donor_first_and_last_name=(donation.first_name or "", donation.last_name or "") if named else None,
        message=donation.message,
        designation=donation.designation,
        donated_minor=donation.money.minor,
        fee_minor=off.fee_minor,
        refunded_minor=off.refunded_minor,
    )


def document_language_of(country: str) -> str:
    """The default language of a nonprofit's documents, by its country (three letters)."""
    return _ENGLISH.get(country, language_of_country(country))
