"""Statements of donations: periods, lines and totals; pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from almoner.giving.receipts.domain import Receipt

PAGE_PURPOSE: Final = "statement"
"""The purpose of the token in the emailed link."""
LINK_LIFETIME: Final = timedelta(hours=24)
"""How long an emailed link opens the statement."""
MAX_LINES: Final = 1000
"""The maximum number of donations in one statement."""
_MAX_YEARS: Final = 10
"""The maximum length of a period in years."""
_MAX_OFFERED_YEARS: Final = 8
"""The number of past years of each kind that the page offers."""
_DAY: Final = timedelta(days=1)
_LONDON: Final = ZoneInfo("Europe/London")


class InvalidPeriod(Exception):
    """The period is not valid for a statement."""


@dataclass(frozen=True, slots=True)
class StatementPeriod:
    """A period of whole days in a time zone; UK tax years use London time."""

    first: date
    last: date
    zone: tzinfo = field(default=UTC, compare=False)

    @property
    def since(self) -> datetime:
        """The start of the period."""
        return datetime.combine(self.first, time(), self._zone).astimezone(UTC)

    @property
    def until(self) -> datetime:
        """The end of the period (exclusive)."""
        return datetime.combine(self.last + _DAY, time(), self._zone).astimezone(UTC)

    def day_of(self, moment: datetime) -> date:
        """The day of a moment, in the time zone of the period."""
        return moment.astimezone(self._zone).date()

    @property
    def uses_london_time(self) -> bool:
        """Whether its days are those of London."""
        return self == uk_tax_year_period(self.first.year)

    @property
    def _zone(self) -> tzinfo:
        return _LONDON if self.uses_london_time else self.zone


def calendar_year_period(year: int, zone: tzinfo) -> StatementPeriod:
    """The period from January to December."""
    return StatementPeriod(date(year, 1, 1), date(year, 12, 31), zone)


def uk_tax_year_period(year: int) -> StatementPeriod:
    """The UK tax year from 6 April of a year."""
    return StatementPeriod(date(year, 4, 6), date(year + 1, 4, 5), _LONDON)


def parse_period(first_day: str | None, last_day: str | None, now: datetime, zone: tzinfo) -> StatementPeriod:
    """Parse the period between two days as a browser sends them; by default this year. Raises InvalidPeriod."""
    if first_day is None and last_day is None:
        return calendar_year_period(now.astimezone(zone).year, zone)
    try:
        chosen = StatementPeriod(date.fromisoformat(first_day or ""), date.fromisoformat(last_day or ""), zone)
    except ValueError:
        raise InvalidPeriod from None
    if not 2000 <= chosen.first.year <= chosen.last.year < 2200 or not chosen.first <= chosen.last <= _latest_end(
        chosen
    ):
        raise InvalidPeriod
    return chosen


def _latest_end(chosen: StatementPeriod) -> date:
    first, year = chosen.first, chosen.first.year + _MAX_YEARS
    return date(year, 3, 1) if (first.month, first.day) == (2, 29) else first.replace(year=year)


@dataclass(frozen=True, slots=True)
class DonationDateRange:
    """The time from a donor's first to their last donation; ``has_gbp_donations``: some are in GBP."""

    first_received_at: datetime
    last_received_at: datetime
    has_gbp_donations: bool


def list_available_calendar_and_uk_tax_years(
    date_range: DonationDateRange | None, zone: tzinfo
) -> tuple[list[StatementPeriod], list[StatementPeriod]]:
    """The calendar years with donations, newest first, and the UK tax years with donations in GBP."""
    if date_range is None:
        return [], []
    first, last = date_range.first_received_at.astimezone(zone).year, date_range.last_received_at.astimezone(zone).year
    taxed = [
        uk_tax_year_period(year)
        for year in range(date_range.last_received_at.year, date_range.first_received_at.year - 2, -1)
    ]
    taxed = [
        one for one in taxed if one.since <= date_range.last_received_at and date_range.first_received_at < one.until
    ]
    years = [calendar_year_period(year, zone) for year in range(last, first - 1, -1)]
    return years[:_MAX_OFFERED_YEARS], taxed[:_MAX_OFFERED_YEARS] if date_range.has_gbp_donations else []


@dataclass(frozen=True, slots=True)
class DonorStatementLine:
    """One donation. ``organisation_id``: its current nonprofit; ``reassigned``: not the original one."""

    receipt: Receipt
    refunded_minor: int
    organisation_id: UUID
    reassigned: bool

    @property
    def is_fully_refunded(self) -> bool:
        """Whether the whole donation was refunded."""
        return self.refunded_minor >= self.receipt.money.minor


@dataclass(frozen=True, slots=True)
class StatementTotal:
    """The total of the lines in one currency, in minor units."""

    currency: str
    given_minor: int
    refunded_minor: int

    @property
    def unrefunded_minor(self) -> int:
        """The amount after refunds."""
        return self.given_minor - self.refunded_minor


def totals_by_currency(lines: Iterable[DonorStatementLine]) -> list[StatementTotal]:
    """The totals by currency, in alphabetical order."""
    found: dict[str, StatementTotal] = {}
    for line in lines:
        money = line.receipt.money
        known = found.get(money.currency, StatementTotal(money.currency, 0, 0))
        found[money.currency] = StatementTotal(
            money.currency, known.given_minor + money.minor, known.refunded_minor + line.refunded_minor
        )
    return [found[currency] for currency in sorted(found)]


@dataclass(frozen=True, slots=True)
class DonorStatement:
    """A donor's donations in a period, oldest first. ``receipt_of_opened_link``: the receipt whose link was used.

    ``more``: there are more donations than it lists. ``names``: of the current nonprofits of reassigned donations.
    """

    receipt_of_opened_link: Receipt
    issuer: str
    period: StatementPeriod
    lines: Sequence[DonorStatementLine]
    names: dict[UUID, str]
    more: bool
    as_of: datetime

    @property
    def totals(self) -> list[StatementTotal]:
        """The totals of the donations."""
        return totals_by_currency(self.lines)
