"""Refunds of donations: their states, refundable amounts, and who pays for the fees (settled 4, 5); pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple
from uuid import UUID

from almoner.giving.accounting.ledger.domain import PARTNER_TRANSFERS
from almoner.giving.checkout.donations.domain import Donation, InvalidState
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.kit.errors import Forbidden, IncorrectParams
from almoner.kit.events import InternalEvent
from almoner.kit.money import Money
from almoner.kit.states import Lifecycle

REFUND: Final = Lifecycle("refund", {"pending": frozenset({"sent", "refused"})})
RefundStatus = Literal["pending", "sent", "refused"]
NOTE_LENGTH: Final = 500
REPEATED_WITHIN: Final = timedelta(minutes=1)
"""Within this time, the same refund by the same operator is taken for a form or command that was sent twice."""
_NAME_LENGTH: Final = 255
"""The maximum length of a refund's reference at the provider or at our bank."""


@dataclass(frozen=True, slots=True)
class Refund:
    """One refund of a donation.

    ``payment_id``: None for a direct donation, which is refunded by bank transfer. ``nonprofit_share``: the part that
    was owed to the nonprofit; the rest is the provider's fee, which we pay. ``started_by``, ``note``: the operator and
    their reason; None for the partner. ``ended_by``, ``ended_note``: the operator who recorded the outcome and their
    note, or the provider's reason for a rejection. ``provider_refund``: the ID at the provider or bank, once sent.
    """

    id: UUID
    donation_id: UUID
    payment_id: UUID | None
    provider: str
    money: Money
    nonprofit_share: Money
    status: RefundStatus
    started_at: datetime
    started_by: str | None
    note: str | None
    ended_at: datetime | None = None
    ended_by: str | None = None
    ended_note: str | None = None
    provider_refund: str | None = None

    @property
    def is_sent_by_bank_transfer(self) -> bool:
        """Whether an operator sends the refund by bank rather than the provider."""
        return self.provider in (PARTNER_TRANSFERS, BANK_TRANSFER)


@dataclass(frozen=True, slots=True)
class RefundSentEvent:
    """The internal event that a refund was sent."""

    donation: UUID
    refund: UUID


SENT: Final = InternalEvent("internal.donation_refunded", RefundSentEvent)
"""Published internally when a refund was sent."""


class SentRefund(NamedTuple):
    """A sent refund, and whether a report line is booked for it."""

    refund: Refund
    is_booked: bool


@dataclass(frozen=True, slots=True)
class ProviderRefundState:
    """A refund as fetched from its provider.

    ``provider_payment_id``: the provider's payment ID as we store it. ``is_live``: whether it is real money.
    ``failure_reason``: why it failed; None unless it did.
    """

    id: str
    provider_payment_id: str
    money: Money
    is_live: bool
    failure_reason: str | None = None


class ConcurrentChangeError(Exception):
    """Another change is in progress; handle the webhook again later."""


class RefundError(Exception):
    """The requested change of a refund is not possible; the message says why."""


class NoSuchRefund(RefundError):
    """There is no refund with this ID."""

    def __str__(self) -> str:
        return "There is no refund with this ID: see Refunds in the console, or `almoner refunds list --all`."


def resolve_refund_amount(donation: Donation, amount_minor: int | None) -> Money:
    """The amount to refund: ``amount_minor``, or everything that is left.

    Raises InvalidState if nothing can be refunded, IncorrectParams for an invalid amount.
    """
    if donation.status != "RECEIVED_PAYMENT":
        raise InvalidState(f"the donation is {donation.status}: only one that is RECEIVED_PAYMENT can be refunded")
    if donation.disputed_at is not None:
        raise InvalidState("the donation is disputed: the donor's bank decides over its money")
    if donation.refunded is not None and donation.refunded.money.minor > donation.withdrawn_minor:
        raise InvalidState("a lost dispute of the donation is being taken back; try again in a minute")
    if not donation.unrefunded_amount:
        gone = donation.refunded is not None and donation.refunded.money == donation.money
        raise InvalidState("all of the donation " + ("is refunded" if gone else "is on its way back") + " already")
    if amount_minor is None:
        return donation.unrefunded_amount
    if not 1 <= amount_minor <= donation.unrefunded_amount.minor:
        raise IncorrectParams(
            f"body.amount must be from 1 to {donation.unrefunded_amount.minor}, which is left of the donation"
        )
    return Money(amount_minor, donation.money.currency)


def ensure_not_repeated(refund: Refund, refunds_of_donation: Iterable[Refund]) -> None:
    """Raises InvalidState if its operator started the same refund of the donation a moment ago."""
    for earlier in refunds_of_donation:
        if earlier.id == refund.id:
            continue
        same = (earlier.money, earlier.started_by, earlier.note) == (refund.money, refund.started_by, refund.note)
        if same and earlier.status != "refused" and refund.started_at - earlier.started_at < REPEATED_WITHIN:
            raise InvalidState(
                "you have just started a refund of this donation with the same amount and note, so nothing was started "
                "again. If you want to refund this amount once more, wait a minute"
            )


def ensure_within_support_limit(donation: Donation, limit_minor: int) -> None:
    """Raises Forbidden if more of a donation is refunded, or being refunded, than support may refund."""
    if donation.money.minor - donation.unrefunded_amount.minor > limit_minor:
        raise Forbidden("support may not refund so much of one donation: ask an owner or finance")


def calculate_nonprofit_share(donation: Donation, refund_amount: Money) -> Money:
    """The part of a refund that reduces what is owed to the nonprofit; we pay the rest."""
    return min(donation.net_amount_for_nonprofit, refund_amount)


def calculate_amount_owed_after_failed_refund(donation: Donation, refund_amount: Money) -> Money:
    """The amount that is owed to the nonprofit again if the refund fails."""
    without = replace(donation, withdrawn_minor=donation.withdrawn_minor - refund_amount.minor)
    return without.net_amount_for_nonprofit - donation.net_amount_for_nonprofit


def ensure_valid_note(note: str) -> None:
    """Check an operator's note. Raises RefundError if it is empty or too long."""
    if not 1 <= len(note) <= NOTE_LENGTH:
        raise RefundError(f"a note has 1 to {NOTE_LENGTH} characters")


def ensure_valid_provider_refund_id(reference: str) -> None:
    """Check a refund's reference at the provider. Raises RefundError if it is invalid."""
    if not 1 <= len(reference) <= _NAME_LENGTH:
        raise RefundError(f"the name of a refund has 1 to {_NAME_LENGTH} characters")


def ensure_pending(refund: Refund) -> None:
    """Check that the refund is pending. Raises RefundError."""
    if refund.status != "pending":
        raise RefundError(f"the refund is {refund.status}: only a pending one can be ended or asked for")
