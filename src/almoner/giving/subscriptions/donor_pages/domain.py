"""Regular donations as shown to their donors, and the lifetime of emailed links; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from uuid import UUID

from almoner.access.partners.domain import PartnerAccount
from almoner.giving.checkout.donations.domain import REGULAR_PAGE
from almoner.giving.checkout.payments.domain import SavedPaymentMethod
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription
from almoner.kit.money import Money
from almoner.kit.recurrence import Frequency

PAGE_PURPOSE: Final = REGULAR_PAGE
"""The purpose of the token in the emailed link, and the path that it opens."""
LINK_PURPOSE: Final = "regular-donations-link"
"""The purpose of a visit with an expired link: only a new link can be requested."""
CARD_PURPOSE: Final = "regular-donations-card"
"""The purpose of the token with which the provider redirects back after a card change."""
LINK_LIFETIME: Final = timedelta(days=100)
"""How long an emailed link opens the page: until after the next email of a quarterly donation."""
CARD_CHANGES_WITHIN: Final = timedelta(hours=24)
MAX_CARD_CHANGES: Final = 5
"""The maximum number of card changes of one donation within ``CARD_CHANGES_WITHIN``, against card testing (H6)."""
RECEIPTS_SHOWN: Final = 12
"""The number of receipts shown for each regular donation."""
PAUSE_MONTHS: Final = (1, 2, 3, 6, 12)
"""The pauses that a donor can choose, in months, besides an open-ended one."""


@dataclass(frozen=True, slots=True)
class PaidDonation:
    """A donation of a subscription that has a receipt."""

    id: UUID
    money: Money
    received_at: datetime


@dataclass(frozen=True, slots=True)
class RegularDonation:
    """One subscription as its donor sees it. ``proposed``: the successor nonprofit, if the donor is asked about it.

    ``charge_days``: the day of its next charge at the frequencies that its donor may agree to; empty if it has ended.
    ``stopped``: paused or not charged because its nonprofit cannot receive donations.
    ``unpaid``: the donation of a due date that could not be charged, and can be paid here, with its amount.
    """

    subscription: DonationSubscription
    organisation: str
    proposed: str | None
    paid_donations: Sequence[PaidDonation]
    charge_days: Mapping[Frequency, date]
    stopped: bool
    unpaid: tuple[UUID, Money] | None = None


@dataclass(frozen=True, slots=True)
class RegularDonationsPageContent:
    """All subscriptions of a donor with a partner, newest first; ended ones last."""

    subscription_of_opened_link: DonationSubscription
    partner: PartnerAccount
    regular_donations: Sequence[RegularDonation]


def card_label(saved_method: SavedPaymentMethod) -> str:
    """The card for display: ``Visa •••• 4242 (11/2027)``."""
    return f"{saved_method.brand.replace('_', ' ').title()} •••• {saved_method.last4} ({saved_method.expires_at:%m/%Y})"
