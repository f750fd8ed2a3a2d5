"""What the page needs of the flows that call the payment provider; wiring provides it."""

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

    ``state``: part of the country; None: all of it. ``regular``: shown to donors before they agree to a regular
    donation, on giving links and the pages of sessions; others are shown on giving links.
    """

    country_code: str
    state: str | None
    text: str
    regular: bool = False


@dataclass(frozen=True, slots=True)
class Disclosures:
    """The operator's statements on giving link pages. ``days``: within which donations are sent."""

    days: int
    notices: tuple[LegalNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class Checkout:
    """The payment functions that the pages need, assembled by wiring.

    ``origin``: scheme, host and port of the provider's pages. ``begin`` promises the donation and opens its payment;
    ``url`` of what it answers is the provider's page. It raises SessionExpired, SessionCompleted, TooManyTries,
    RateLimited, CodeRequired and ServiceUnavailable. ``handle_provider_return`` asks the provider, also about the
    attempt that it is given, and says where the session stands; it raises ServiceUnavailable. ``tariff``: what the
    provider keeps of a payment. ``currencies``: what it takes.

    ``accounts``: our own by currency. ``transfer``: as ``begin``, by bank transfer to one of them; ``url`` is our own
    page of its details.
    """

    origin: str
    tariff: FeeSchedule
    begin: Callable[[UUID, DonationDetails, BrowserFingerprint], Awaitable[SessionDonation]]
    handle_provider_return: Callable[[UUID, UUID | None], Awaitable[SessionDonation]]
    currencies: Collection[str] = tuple(EXPONENTS)
    transfer: Callable[[UUID, DonationDetails, BrowserFingerprint], Awaitable[SessionDonation]] | None = None
    accounts: Mapping[str, BankDetails] = field(default_factory=dict)
