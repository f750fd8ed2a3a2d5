"""A partner's monthly reports by nonprofit, with columns and totals from the ledger; pure.

Each line sums the transfers of one kind (``ledger/domain.py``) that were posted in the month. Postings never change, so
a past month stays the same: later changes to its donations belong to the month in which they happen.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, Literal
from uuid import UUID

CLOSABLE_AFTER: Final = timedelta(hours=1)
"""How long after its end a month can be closed: no transaction that began in it is still open then."""
MONTHS_SHOWN: Final = 24

ReportStatus = Literal["pending", "ready", "closed"]
ReportName = Literal["donations", "fees", "disbursements", "reconciliation"]
ReportBasis = Literal["received", "settled", "paid", "posted"]

OPENING: Final = "opening_balance"
"""A separate line: the amount owed to the nonprofit at the start of the month."""
REASSIGNED_FROM: Final = "reassigned_from"
REASSIGNED_TO: Final = "reassigned_to"
"""The same transfer as seen by the nonprofit that received the donation."""


class ReportClosed(Exception):
    """The month is closed, so its report is final."""


class MonthNotEnded(Exception):
    """The month has not ended yet."""


@dataclass(frozen=True, slots=True)
class MonthlyReport:
    """A partner's report of one month.

    ``month``: its first day, in ``time_zone``. ``begins_at``, ``ends_at``: the period in which transfers were posted.
    ``made_at``: None while the report is being generated.
    """

    id: UUID
    partner_id: UUID
    month: date
    time_zone: str
    begins_at: datetime
    ends_at: datetime
    status: ReportStatus
    made_at: datetime | None
    closed_at: datetime | None
    closed_by: str | None


@dataclass(frozen=True, slots=True)
class ReportLine:
    """The sum of one kind of transfer for one nonprofit and currency."""

    organisation_id: UUID
    currency: str
    kind: str
    transfer_count: int
    amount_minor: int


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """One column: the transfer kinds that it adds and subtracts."""

    name: str
    added_kinds: frozenset[str]
    subtracted_kinds: frozenset[str] = frozenset()

    def amount(self, sum_by_transfer_kind: Mapping[str, int]) -> int:
        """The column's amount from the sums by kind."""
        return sum(sum_by_transfer_kind.get(kind, 0) for kind in self.added_kinds) - sum(
            sum_by_transfer_kind.get(kind, 0) for kind in self.subtracted_kinds
        )


@dataclass(frozen=True, slots=True)
class ReportLayout:
    """A report layout. ``basis``: which date decides the month; ``total_column_name``: the last column's name."""

    name: ReportName
    basis: ReportBasis
    columns: tuple[ReportColumn, ...]
    total_column_name: str


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One nonprofit and currency. ``amounts``: by column, the total last."""

    organisation_id: UUID
    currency: str
    amounts: tuple[int, ...]


def _column(name: str, plus: str = "", minus: str = "") -> ReportColumn:
    return ReportColumn(name, frozenset(plus.split()), frozenset(minus.split()))


_RECEIVED: Final = _column("received", "payment_received request_allocated")
_REFUNDS_OWED: Final = _column("refunded", "donation_refund_reversed", "donation_refund_started")
_DISPUTES: Final = _column("disputes_lost", minus="dispute_lost dispute_recovered")

LAYOUTS: Final[Mapping[ReportName, ReportLayout]] = {
    layout.name: layout
    for layout in (
        ReportLayout(
            "donations",
            "received",
            (
                _RECEIVED,
                _column(
                    "refunded",
                    "donation_refund_reversed donation_refund_fee_restored",
                    "donation_refund_started donation_refund_fee_covered",
                ),
                _column("disputes_lost", minus="dispute_lost"),
            ),
            "net",
        ),
        ReportLayout(
            "fees",
            "settled",
            (_column("settled", "settled"), _column("fees", "provider_fee")),
            "gross",
        ),
        ReportLayout(
            "disbursements",
            "paid",
            (_column("paid", "disbursement_paid"), _column("returned", minus="disbursement_returned")),
            "net",
        ),
        ReportLayout(
            "reconciliation",
            "posted",
            (
                _column("opening", OPENING),
                _RECEIVED,
                _column("fees", minus="fee_charged"),
                _REFUNDS_OWED,
                _DISPUTES,
                _column("reassigned", REASSIGNED_TO, REASSIGNED_FROM),
                _column("disbursed", "disbursement_reversed", "disbursement_sent"),
            ),
            "closing",
        ),
    )
}

_OWED_ADDED_KINDS: Final = frozenset().union(*(column.added_kinds for column in LAYOUTS["reconciliation"].columns))
_OWED_SUBTRACTED_KINDS: Final = frozenset().union(
    *(column.subtracted_kinds for column in LAYOUTS["reconciliation"].columns)
)


def find_layout(name: str) -> ReportLayout | None:
    """The layout with this name; None if there is none."""
    return next((layout for layout in LAYOUTS.values() if layout.name == name), None)


def build_report_rows(layout: ReportLayout, lines: Iterable[ReportLine]) -> list[ReportRow]:
    """The rows of a report, by currency; nonprofits without amounts are left out."""
    sums: dict[tuple[str, UUID], dict[str, int]] = {}
    for line in lines:
        sums.setdefault((line.currency, line.organisation_id), {})[line.kind] = line.amount_minor
    rows = []
    for (currency, organisation_id), kinds in sorted(sums.items()):
        amounts = [column.amount(kinds) for column in layout.columns]
        if any(amounts):
            rows.append(ReportRow(organisation_id, currency, (*amounts, sum(amounts))))
    return rows


def totals_by_currency(rows: Iterable[ReportRow]) -> dict[str, tuple[int, ...]]:
    """The sums of all rows by currency."""
    totals: dict[str, tuple[int, ...]] = {}
    for row in rows:
        before = totals.get(row.currency, (0,) * len(row.amounts))
        totals[row.currency] = tuple(map(sum, zip(before, row.amounts, strict=True)))
    return totals


def closing_balances_by_organisation_and_currency(lines: Iterable[ReportLine]) -> dict[tuple[UUID, str], int]:
    """The amount owed to each nonprofit at the end of the month."""
    owed: dict[tuple[UUID, str], int] = {}
    for line in lines:
        sign = (line.kind in _OWED_ADDED_KINDS) - (line.kind in _OWED_SUBTRACTED_KINDS)
        key = line.organisation_id, line.currency
        owed[key] = owed.get(key, 0) + sign * line.amount_minor
    return {key: minor for key, minor in owed.items() if minor}


def month_bounds(month: date, zone: tzinfo) -> tuple[datetime, datetime]:
    """The start and end of a month in a time zone."""
    following = (month.replace(day=1) + timedelta(days=32)).replace(day=1)
    begins, ends = (datetime(day.year, day.month, 1, tzinfo=zone).astimezone(UTC) for day in (month, following))
    return begins, ends


def first_day_of_month(moment: datetime, zone: tzinfo) -> date:
    """The first day of the month of a timestamp in a time zone."""
    return moment.astimezone(zone).date().replace(day=1)


def previous_month(month: date) -> date:
    """The first day of the previous month."""
    return (month - timedelta(days=1)).replace(day=1)


def reportable_months(current_month: date, first_month: date) -> list[date]:
    """The months that can be reported, newest first; none before the partner's first."""
    months = [current_month]
    while months[-1] > first_month and len(months) < MONTHS_SHOWN:
        months.append(previous_month(months[-1]))
    return months
