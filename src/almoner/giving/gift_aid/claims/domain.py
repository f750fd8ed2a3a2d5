"""Gift Aid claims: their states, deadlines, amounts and adjustments; pure.

After HMRC's guidance notes for charities, chapter 3, and its pages "Claiming Gift Aid as a charity or CASC" and
"Schedule spreadsheet to claim back tax on Gift Aid donations" (gov.uk).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.states import Lifecycle
from almoner.kit.time import parse_day_or_timestamp

GIFT_AID_CLAIM: Final = Lifecycle(
    "gift_aid_claim",
    {
        "drafted": frozenset({"submitted", "withdrawn"}),
        "submitted": frozenset({"paid", "rejected"}),
    },
)
ClaimStatus = Literal["drafted", "submitted", "paid", "rejected", "withdrawn"]
ClaimEndStatus = Literal["rejected", "withdrawn"]
AdjustmentReason = Literal["refunded", "reassigned", "cancelled"]
"""Why a claimed donation is adjusted: refunded or lost in a dispute, reassigned, or its declaration cancelled."""
SENT_STATUSES: Final = frozenset({"submitted", "paid"})
"""The states of a claim that was sent to HMRC."""
_CLAIM_YEARS: Final = 4
"""A claim must be made within four years after the end of the accounting year of the donation."""
MAX_DONATIONS: Final = 10_000
"""The maximum number of donations in a claim; further ones wait for the next claim."""
MAX_REFERENCE: Final = 140
MAX_NOTE: Final = 2000
_SUMMER: Final = timedelta(hours=1)


class GiftAidClaimError(Exception):
    """The requested change of a Gift Aid claim is not possible; the message says why."""


@dataclass(frozen=True, slots=True)
class AccountingYearEnd:
    """The last day of a charity's accounting year."""

    month: int = 4
    day: int = 5

    def end_of_year_containing(self, day: date) -> date:
        """The end of the accounting year that a day is in."""
        end = date(day.year, self.month, self.day)
        return end if day <= end else date(day.year + 1, self.month, self.day)

    def claim_deadline(self, donated_on: date) -> date:
        """The last day on which a donation of this day can be claimed."""
        end = self.end_of_year_containing(donated_on)
        return end.replace(year=end.year + _CLAIM_YEARS)

    def earliest_claimable_at(self, today: date) -> datetime:
        """The earliest donation time that can still be claimed today."""
        end = self.end_of_year_containing(today)
        first = datetime(end.year - _CLAIM_YEARS - 1, end.month, end.day, tzinfo=UTC) + timedelta(days=1)
        before = first - _SUMMER
        return before if london_day(before) == first.date() else first


TAX_YEAR: Final = AccountingYearEnd()


def parse_year_end(text: str) -> AccountingYearEnd:
    """Parse an accounting year end such as ``12-31``. Raises ValueError."""
    month, dash, day = text.partition("-")
    if not (dash and month.isascii() and month.isdigit() and day.isascii() and day.isdigit()):
        raise ValueError("must be a month and a day, such as 12-31")
    try:
        found = date(2001, int(month), int(day))
    except ValueError as error:
        raise ValueError("must be a day of every year, such as 12-31") from error
    return AccountingYearEnd(found.month, found.day)


@dataclass(frozen=True, slots=True)
class ClaimableDonation:
    """A donation that may be claimed: its remaining amount and declaration. ``received_at``: when it was paid."""

    donation_id: UUID
    declaration_id: UUID
    created_at: datetime
    received_at: datetime
    amount_minor: int
    declarer: Declarer

    @property
    def donation_date(self) -> date:
        """The day on which the donation was received, in London, as HMRC counts."""
        return london_day(self.received_at)


@dataclass(frozen=True, slots=True)
class GiftAidClaim:
    """A charity's claim. ``deducted_minor``: adjustments of earlier claims. ``hmrc_reference``: HMRC's."""

    id: UUID
    organisation_id: UUID
    cutoff_at: datetime
    status: ClaimStatus
    donation_count: int
    line_count: int
    amount_minor: int
    deducted_minor: int
    drafted_at: datetime
    drafted_by: str
    hmrc_reference: str | None = None
    paid_minor: int | None = None
    note: str | None = None

    @property
    def tax_minor(self) -> int:
        """The tax to reclaim for its donations."""
        return basic_rate_tax_pence(self.amount_minor)

    @property
    def adjustment_minor(self) -> int:
        """The amount of earlier overclaims, in pence, for HMRC's form."""
        return min(tax_to_repay_pence(self.deducted_minor), self.tax_minor)

    @property
    def hmrc_payment_minor(self) -> int:
        """The amount that HMRC must pay: tax on donations minus adjustments."""
        return self.tax_minor - self.adjustment_minor


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """A donation in a claim, and its line on HMRC's schedule."""

    donation_id: UUID
    declaration_id: UUID
    line_number: int
    amount_minor: int


@dataclass(frozen=True, slots=True)
class ClaimScheduleEntry:
    """A donation in a claim with its line of the schedule."""

    line_number: int
    donation: ClaimableDonation


@dataclass(frozen=True, slots=True)
class ClaimedDonation:
    """A donation that was claimed. ``claimable_minor``: what could be claimed for it now."""

    claim_id: UUID
    donation_id: UUID
    claimed_minor: int
    adjusted_minor: int
    claimable_minor: int
    reason: AdjustmentReason

    @property
    def overclaimed_minor(self) -> int:
        """The overclaimed amount that is not yet adjusted."""
        return max(0, self.claimed_minor - self.adjusted_minor - self.claimable_minor)


@dataclass(frozen=True, slots=True)
class ClaimAdjustment:
    """An overclaimed amount of an earlier claim that later claims deduct."""

    id: UUID
    claim_id: UUID
    donation_id: UUID
    amount_minor: int
    remaining_minor: int
    reason: AdjustmentReason
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ExcludedDonation:
    """A donation that HMRC would not accept, and why."""

    donation_id: UUID
    problems: tuple[str, ...]

    @property
    def problems_text(self) -> str:
        """The reasons as one sentence."""
        return "; ".join(self.problems)


@dataclass(frozen=True, slots=True)
class ClaimDraftResult:
    """The result of drafting a claim: the claim (if any), excluded, waiting and expired donations.

    ``expired_donation_count``: donations that were not claimed in time.
    """

    claim: GiftAidClaim | None
    excluded_donations: tuple[ExcludedDonation, ...]
    deferred_donation_count: int
    expired_donation_count: int


def basic_rate_tax_pence(donated_pence: int) -> int:
    """The tax reclaimed on donations at the basic rate, in pence: a quarter, rounded down."""
    return donated_pence // 4


def format_pounds(pence: int) -> str:
    """Format pence: ``1,234.50 GBP``."""
    return f"{pence // 100:,}.{pence % 100:02} GBP"


def tax_to_repay_pence(overclaimed_donations_pence: int) -> int:
    """The tax to return for overclaimed donations, in pence, rounded up."""
    return -(-overclaimed_donations_pence // 4)


def allocate_deductions(open_adjustments: Iterable[tuple[UUID, int]], claim_minor: int) -> list[tuple[UUID, int]]:
    """The adjustments that a claim of ``claim_minor`` can deduct, oldest first."""
    found = []
    for adjustment_id, minor in open_adjustments:
        taken = min(minor, claim_minor)
        if taken:
            found.append((adjustment_id, taken))
        claim_minor -= taken
    return found


def london_day(moment: datetime) -> date:
    """The calendar day of a timestamp in London."""
    begins, ends = _last_sunday(moment, 3), _last_sunday(moment, 10)
    return (moment + _SUMMER if begins <= moment < ends else moment).date()


def parse_london_day_or_timestamp(text: str) -> datetime:
    """Parse a timestamp, or ``YYYY-MM-DD`` as the start of that day in London. Raises ValueError."""
    return parse_day_or_timestamp(text, ZoneInfo("Europe/London"))


def _last_sunday(moment: datetime, month: int) -> datetime:
    last = moment.replace(month=month, day=31, hour=1, minute=0, second=0, microsecond=0)
    return last - timedelta(days=(last.weekday() + 1) % 7)
