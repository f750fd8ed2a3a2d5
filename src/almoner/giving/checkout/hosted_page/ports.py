"""The port to the flows that call the payment provider; wiring provides it."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from almoner.giving.checkout.bank_transfers.domain import BankDetails
from almoner.giving.checkout.card_testing.domain import BrowserFingerprint
from almoner.giving.checkout.donations.domain import DonationDetails, SessionDonation
from almoner.giving.checkout.payments.domain import FeeSchedule
from almoner.kit.money import EXPONENTS


@dataclass(frozen=True, slots=True)
class LegalNotice:
    """A legal notice that must be shown when donations for nonprofits of a place are requested.

    ``state``: a state of the country; None for all. ``for_regular_donations``: shown to donors before they agree to a
    regular donation, on giving links and the pages of sessions; others are shown on giving links.
    """

    country_code: str
    state: str | None
    text: str
    for_regular_donations: bool = False


@dataclass(frozen=True, slots=True)
class GivingLinkDisclosures:
    """The operator's statements on giving link pages. ``disbursement_days``: within which donations are sent."""

    disbursement_days: int
    legal_notices: tuple[LegalNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckoutFunctions:
    """The payment functions that the pages need, assembled by wiring.

    ``provider_page_origin``: scheme, host and port of the provider's pages. ``start_payment``: creates the donation and
    its payment; the result's payment URL is the provider's page. Raises SessionExpired, SessionAlreadyCompleted,
    TooManyCardAttempts, RateLimited, EmailCodeRequired, ServiceUnavailable. ``handle_donor_return``: refreshes the
    payment, also the given attempt; raises ServiceUnavailable. ``fee_schedule``: the provider's fee. ``currencies``:
    those that it accepts.

    ``own_bank_accounts``: our own by currency. ``start_bank_transfer``: like ``start_payment``, for a bank transfer
    to one of them; the payment URL is our page with the details.
    """

    provider_page_origin: str
    fee_schedule: FeeSchedule
    start_payment: Callable[[UUID, DonationDetails, BrowserFingerprint], Awaitable[SessionDonation]]
    handle_donor_return: Callable[[UUID, UUID | None], Awaitable[SessionDonation]]
    currencies: Collection[str] = tuple(EXPONENTS)
    start_bank_transfer: Callable[[UUID, DonationDetails, BrowserFingerprint], Awaitable[SessionDonation]] | None = None
    own_bank_accounts: Mapping[str, BankDetails] = field(default_factory=dict)
