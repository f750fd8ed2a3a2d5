"""Donation requests: periods, states, and the donations that payments cover (settled 4, 5); pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.access.partners.domain import PartnerAccount, Period
from almoner.giving.checkout.hosted_page.domain import donation_amounts_for
from almoner.kit.errors import BadRequest
from almoner.kit.ids import encode_uuid
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

DONATION_REQUEST: Final = Lifecycle(
    "donation_request",
    {
        "OPEN": frozenset({"PARTLY_PAID", "PAID"}),
        "PARTLY_PAID": frozenset({"PAID"}),
    },
)
REQUEST_PAYMENT: Final = Lifecycle(
    "request_payment", {"booked": frozenset(), "held": frozenset({"returned", "applied"})}
)
CREATED: Final = "donation_request.created"
UPDATED: Final = "donation_request.updated"
DonationRequestSort = Literal["id", "dueAt"]
DonationRequestStatus = Literal["OPEN", "PARTLY_PAID", "PAID"]
RequestPaymentStatus = Literal["booked", "held", "returned", "applied"]
MAX_BANK_REFERENCE: Final = 140
MAX_NOTE: Final = 2000
_DAY: Final = timedelta(days=1)


class InvalidState(BadRequest):
    code = "donation_request/invalid_state"
    message = "The status of the donation request does not allow this"


class DonationRequestError(Exception):
    """The requested change of a donation request is not possible; the message says why."""


class NothingToInvoice(Exception):
    """No donations are left to invoice."""


@dataclass(frozen=True, slots=True)
class PartnerCurrency:
    """One partner's uninvoiced donations in one currency."""

    partner_id: UUID
    currency: str


@dataclass(frozen=True, slots=True)
class DonationRequest:
    """An invoice to a partner for its direct donations made before ``cutoff_at``.

    ``is_adding_donations``: donations are still being added. ``is_allocation_pending``: some of the donations that its
    payments cover are not yet received; ``allocated_minor`` is the sum of those that are.
    """

    id: UUID
    partner_id: UUID
    money: Money
    donation_count: int
    paid_minor: int
    allocated_minor: int
    status: DonationRequestStatus
    reference: str
    cutoff_at: datetime
    is_adding_donations: bool
    is_allocation_pending: bool
    created_at: datetime
    due_at: datetime

    @property
    def outstanding_minor(self) -> int:
        """The unpaid amount."""
        return self.money.minor - self.paid_minor


@dataclass(frozen=True, slots=True)
class DonationRequestPayment:
    """A partner's bank transfer for a donation request. ``applied_minor``: the part applied to the request.

    ``bank_reference``: our bank's reference, unique. ``overpaid_payment_id``: the transfer whose overpaid part this is.
    """

    id: UUID
    donation_request_id: UUID
    money: Money
    applied_minor: int
    bank_reference: str
    status: RequestPaymentStatus
    received_at: datetime
    recorded_by: str
    overpaid_payment_id: UUID | None = None

    @property
    def overpaid_minor(self) -> int:
        """The part of the transfer that exceeds the request."""
        return self.money.minor - self.applied_minor


class FilledRequest(NamedTuple):
    """A request after due donations were added, if any were, and whether more are left to add."""

    request: DonationRequest | None
    has_more_donations_to_add: bool


def period_start_of(period: Period, now: datetime) -> datetime:
    """The start (UTC) of the invoicing period that contains ``now``."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match period:
        case "day":
            return midnight
        case "week":
            return midnight - now.weekday() * _DAY
        case "month":
            return midnight.replace(day=1)


def period_end_of(period: Period, now: datetime) -> datetime:
    """The end (UTC) of the invoicing period that contains ``now``."""
    started = period_start_of(period, now)
    days = {"day": 1, "week": 7, "month": 32}[period]
    return period_start_of(period, started + days * _DAY)


def minimum_request_amount_minor(account: PartnerAccount, currency: str) -> int:
    """The minimum amount to invoice, in minor units; less waits for the next period."""
    return max(1, account.request_minimum_multiple * donation_amounts_for(currency).minimum)


def new_request(
    request_id: UUID, partner_currency: PartnerCurrency, cutoff_at: datetime, due_days: int, now: datetime
) -> DonationRequest:
    """A new request without donations."""
    return DonationRequest(
        id=request_id,
        partner_id=partner_currency.partner_id,
        money=Money(0, partner_currency.currency),
        donation_count=0,
        paid_minor=0,
        allocated_minor=0,
        status="OPEN",
        reference=payment_reference(request_id),
        cutoff_at=cutoff_at,
        is_adding_donations=True,
        is_allocation_pending=False,
        created_at=now,
        due_at=now + due_days * _DAY,
    )


def payment_reference(request_id: UUID) -> str:
    """The payment reference of a donation request."""
    end = encode_uuid(request_id).upper()[-10:]
    return f"ALM-{end[:5]}-{end[5:]}"


def amount_to_apply_minor(request: DonationRequest, money: Money) -> int:
    """The part of a transfer that is applied to the request: at most its unpaid amount."""
    return min(money.minor, request.outstanding_minor) if money.currency == request.money.currency else 0


def derive_donation_request_status(paid_minor: int, amount_minor: int) -> DonationRequestStatus:
    """The status of a request by its paid amount."""
    if paid_minor == 0:
        return "OPEN"
    return "PAID" if paid_minor == amount_minor else "PARTLY_PAID"


def count_covered_donations(available_minor: int, amounts_minor: Iterable[int]) -> int:
    """How many of these donations the money covers, whole and oldest first."""
    count = 0
    for minor in amounts_minor:
        if minor > available_minor:
            break
        available_minor -= minor
        count += 1
    return count
