"""Declarations and what they cover: periods, and donations in sterling to UK charities (settled 4); pure.

A declaration covers donations made from ``covers_from``, which may be up to four years before it was made, until
``covers_to`` or its cancellation, whichever is first; the end is exclusive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from almoner.kit.errors import BadRequest
from almoner.nonprofits.organisations.domain import Organisation

CURRENCY: Final = "GBP"
COUNTRY: Final = "GBR"
_LONDON: Final = ZoneInfo("Europe/London")
_YEARS_BACK: Final = 4
"""How far back a declaration may cover: charities can claim for donations of the past four years."""


HOME: Final = "United Kingdom"
"""The country of addresses entered on the page."""

STATEMENT: Final = (
    "I want to Gift Aid my donation to {charity}. I am a UK taxpayer and understand that if I pay less Income Tax "
    "and/or Capital Gains Tax in the current tax year than the amount of Gift Aid claimed on all my donations it is my "
    "responsibility to pay any difference."
)
"""The donor's declaration on the page for one donation, in the words of HMRC's model for a single donation.

The model names the amount instead of "my donation"; here the form shows it.
"""

STATEMENT_SEVERAL: Final = (
    "I want to Gift Aid my donation and any donations I make in the future or have made in the past 4 years to: "
    "{charity}. I am a UK taxpayer and understand that if I pay less Income Tax and/or Capital Gains Tax than the "
    "amount of Gift Aid claimed on all my donations in that tax year it is my responsibility to pay any difference."
)
"""The declaration of a regular donor, in the words of HMRC's model for several donations."""

NOTIFY_CHARITY: Final = (
    "Please notify the charity if you: want to cancel this declaration; change your name or home address; no longer "
    "pay sufficient tax on your income and/or capital gains."
)
"""The text below the model for several donations."""

STATEMENTS_PUBLISHED: Final = date(2015, 10, 21)
"""When HMRC published both models, for use from 6 April 2016.

https://www.gov.uk/claim-gift-aid/gift-aid-declarations
"""

REMINDED_AFTER: Final = timedelta(days=365)
"""Donors are reminded once a year of a declaration for several donations."""

_ONE_GIFT: Final = timedelta(milliseconds=1)


class PartnerUserNotFound(BadRequest):
    code = "gift_aid/user_not_found"
    message = "There is no user with this ID"


class DeclarationError(Exception):
    """The requested change of a declaration is not possible; the message says why."""


@dataclass(frozen=True, slots=True)
class CoveragePeriod:
    """A half-open period; None means unbounded."""

    start: datetime
    end: datetime | None

    def contains(self, moment: datetime) -> bool:
        """Whether a timestamp is in the period."""
        return self.start <= moment and (self.end is None or moment < self.end)


@dataclass(frozen=True, slots=True)
class Declarer:
    """The taxpayer who declares, and their address."""

    title: str
    first_name: str | None
    last_name: str
    building_name_number: str
    road_name: str
    city: str
    country: str
    postcode: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """One Gift Aid declaration. ``deleted_at``: when its cancellation was recorded.

    ``organisation_id``: the only charity that it covers, if it was made on the page for several donations.
    """

    id: UUID
    partner_id: UUID
    user_id: UUID | None
    declarer: Declarer
    covers_from: datetime
    covers_to: datetime | None
    cancelled_from: datetime | None
    created_at: datetime
    deleted_at: datetime | None
    organisation_id: UUID | None = None

    @property
    def coverage_period(self) -> CoveragePeriod | None:
        """The donations covered, by when they were made; None if there are none."""
        ends = [end for end in (self.covers_to, self.cancelled_from) if end is not None]
        end = min(ends) if ends else None
        return CoveragePeriod(self.covers_from, end) if end is None or end > self.covers_from else None

    def covers(self, moment: datetime) -> bool:
        """Whether the declaration covers a donation made at a given time."""
        return self.coverage_period is not None and self.coverage_period.contains(moment)


def new_single_donation_declaration(
    declaration_id: UUID, partner_id: UUID, declarer: Declarer, donated_at: datetime, now: datetime
) -> Declaration:
    """A declaration that covers only one donation."""
    return Declaration(declaration_id, partner_id, None, declarer, donated_at, donated_at + _ONE_GIFT, None, now, None)


def new_regular_donation_declaration(
    declaration_id: UUID, partner_id: UUID, declarer: Declarer, organisation_id: UUID, now: datetime
) -> Declaration:
    """A declaration for all donations to a charity: future ones, and those of the past four years."""
    begins = earliest_covered_at(now)
    return Declaration(declaration_id, partner_id, None, declarer, begins, None, None, now, None, organisation_id)


def earliest_covered_at(now: datetime) -> datetime:
    """The earliest time that a declaration made now may cover: that day four years ago in London, the 28th for a 29th.

    It is at most four years and a day ago, also where only that day was in summer time.
    """
    midnight = _four_years_before(now.astimezone(_LONDON)).replace(hour=0, minute=0, second=0, microsecond=0)
    return max(midnight.astimezone(UTC), _four_years_before(now) - timedelta(days=1))


def _four_years_before(moment: datetime) -> datetime:
    try:
        return moment.replace(year=moment.year - _YEARS_BACK)
    except ValueError:  # a 29th of February, and no leap year four years before
        return moment.replace(year=moment.year - _YEARS_BACK, day=28)


def find_newest_covering_declaration(declarations: Iterable[Declaration], moment: datetime) -> Declaration | None:
    """The newest declaration that covers a donation made at a given time."""
    found = [one for one in declarations if one.covers(moment)]
    return max(found, key=lambda one: (one.created_at, one.id)) if found else None


def is_eligible_for_gift_aid(currency: str, organisation: Organisation) -> bool:
    """Whether a donation is eligible for Gift Aid: in sterling, to a UK charity."""
    return currency == CURRENCY and organisation.country_code == COUNTRY and "nonprofit" in organisation.types


def find_period_problems(covers_from: datetime, covers_to: datetime | None, now: datetime) -> Sequence[str]:
    """Problems of the requested coverage period."""
    found = []
    if covers_from < earliest_covered_at(now):
        found.append("body.coversFrom must not be more than four years ago")
    if covers_to is not None and covers_to <= covers_from:
        found.append("body.coversTo must be after coversFrom")
    return found
