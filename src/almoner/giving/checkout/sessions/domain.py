"""Donation sessions: their states, expiry and rules (spec 2.7, 3.1; settled 4 and 5)."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.records import statically_frozen_dataclass
from almoner.kit.states import Lifecycle

SESSION: Final = Lifecycle(
    "donation_session",
    {
        "open": frozenset({"completed", "expired"}),  # spec 3.1
        "expired": frozenset({"completed"}),  # settled 5: an attempt in progress at expiry may finish within the grace
    },
)
COMPLETED: Final = "donation_session.completed"
EXPIRED: Final = "donation_session.expired"
SessionStatus = Literal["open", "completed", "expired"]
DonationFrequency = Literal["one_time", "weekly", "monthly", "quarterly", "yearly"]
ONE_TIME: Final[tuple[DonationFrequency, ...]] = ("one_time",)
_ID_PLACE: Final = re.compile(r"(?:\{|%7[Bb])DONATION_SESSION_ID(?:\}|%7[Dd])")
LIFETIME: Final = timedelta(hours=24)  # spec 8
PAGE_PURPOSE: Final = "give"
"""The purpose of the token in the session's URL."""
_GRACE_PERIOD: Final = timedelta(minutes=60)  # settled 5


class OrganisationNotFound(BadRequest):
    code = "donation_session/organisation_not_found"
    message = "There is no organisation with this ID"


class PartnerUserNotFound(BadRequest):
    code = "donation_session/user_not_found"
    message = "There is no user with this ID"


class InvalidMetadata(BadRequest):
    code = "donation_session/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


class CannotAcceptDonations(BadRequest):
    code = "donation_session/cannot_accept_donations"
    message = "This organisation cannot accept donations; only nonprofits that are active in their register can"


class SessionNotPayable(BadRequest):
    code = "donation_session/cannot_be_paid"
    message = "There is no way to pay for this session"


def ensure_currency_accepted(currency: str | None, payable_currencies: Collection[str] | None) -> None:
    """Check that donors can pay in this session's currency.

    Raises SessionNotPayable.
    """
    if payable_currencies is None:
        raise SessionNotPayable("no payment provider is set up here: the operator sets ALMONER_STRIPE_SECRET_KEY")
    if currency is not None and currency not in payable_currencies:
        raise SessionNotPayable(f"the payment provider takes no payments in {currency}")


class InvalidState(BadRequest):
    code = "donation_session/invalid_state"
    message = "The status of the session does not allow this"


class SessionExpired(InvalidState):
    message = "The session has expired; create a new one"


class SessionAlreadyCompleted(InvalidState):
    message = "This session has already been used for a donation; create a new session for another donation"


@dataclass(frozen=True, slots=True)
class Benefits:
    """What the donor receives in return for a donation, and its fair value in the session's currency."""

    description: str
    fair_value_minor: int


@dataclass(frozen=True, slots=True)
class DonationOptions:
    """The amounts (in minor units) and purposes that a session offers.

    Without suggested amounts the currency's defaults apply. The donor chooses one of the ``designations``.
    ``dedication``: whether the donor may dedicate the donation.
    """

    suggested: tuple[int, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    designations: tuple[str, ...] = ()
    dedication: bool = False

    @property
    def has_amounts(self) -> bool:
        """Whether it has amounts, which need a currency."""
        return bool(self.suggested) or self.minimum is not None or self.maximum is not None


NO_OPTIONS: Final = DonationOptions()


@statically_frozen_dataclass
class DonationSession:
    """One session. ``stored_status`` may lag behind time; ``status_at`` never does (S3).

    ``frequencies``: the donor's choices; the first is the default.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    user_id: UUID | None
    stored_status: SessionStatus
    language: str | None
    currency: str | None
    success_url: str | None
    metadata: Mapping[str, str] | None
    created_at: datetime
    expires_at: datetime
    donation_id: UUID | None = None
    frequencies: tuple[DonationFrequency, ...] = ONE_TIME
    benefits: Benefits | None = None
    options: DonationOptions = NO_OPTIONS
    giving_link_id: UUID | None = None

    def success_url_with_session_id(self, session_id: str) -> str | None:
        """``success_url`` with the session's ID filled in."""
        return self.success_url and _ID_PLACE.sub(session_id, self.success_url)

    def status_at(self, now: datetime) -> SessionStatus:
        """``open``, ``completed`` or ``expired``, at the time ``now``."""
        return "expired" if self.stored_status == "open" and now >= self.expires_at else self.stored_status

    def late_payments_accepted_until(self) -> datetime:
        """Until when a payment started before the expiry may still complete the session."""
        return self.expires_at + _GRACE_PERIOD

    def ensure_open(self, now: datetime) -> None:
        """Raises SessionExpired or SessionAlreadyCompleted unless the session is open."""
        status = self.status_at(now)
        if status == "expired":
            raise SessionExpired
        if status == "completed":
            raise SessionAlreadyCompleted


@dataclass(frozen=True, slots=True)
class NewDonationSession:
    """A session to create, with the values for its checks.

    ``success_url_host``: the host of ``success_url``. ``all_organisations_receive_currency``: every organisation
    receives the currency, else those of ``countries_receiving_currency`` do.
    """

    session: DonationSession
    success_url_host: str | None
    all_organisations_receive_currency: bool
    countries_receiving_currency: tuple[str, ...]
