"""Confirmation requests to nonprofits: their limits, states and expiry; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from almoner.giving.disbursing.verifications.domain import MonetaryDonationVerification

ConfirmationAnswer = Literal["confirmed", "declined"]
ConfirmationState = Literal["open", "confirmed", "account_missing", "declined", "closed"]
"""The state of the page. ``account_missing``: confirmed, but the nonprofit still has to provide its account."""

CHECK: Final = "organisation_confirmation"
MAX_LENGTH: Final = 255
ERASED_AFTER: Final = timedelta(days=30)
"""When an address is erased after its request ended, and a name after its verification ended."""

MINUTE: Final = timedelta(minutes=1)
DAY: Final = timedelta(days=1)
_MAX_MAILS_PER_DAY: Final = 5
_MAX_MAILS_TOTAL: Final = 20
_MAX_MAILS_PER_ADDRESS: Final = 20
"""The maximum number of emails a day to one address, for all requests, so that no mailbox is flooded."""
_MAX_SANDBOX_MAILS: Final = 20
"""The sandbox's multiple of that limit: integrators test with one address, and its emails are not delivered."""

_LANGUAGES: Final[Mapping[str, str]] = {
    "ARE": "ar", "AUT": "de", "BEL": "nl", "BRA": "pt-BR", "CHE": "de", "DEU": "de", "EGY": "ar", "ESP": "es",
    "FRA": "fr", "ISR": "he", "ITA": "it", "JOR": "ar", "JPN": "ja", "LBN": "ar", "LUX": "fr", "MAR": "ar",
    "MEX": "es", "NLD": "nl", "POL": "pl", "PRT": "pt-BR", "SAU": "ar", "UKR": "uk", "ARG": "es", "CHL": "es",
    "COL": "es", "PER": "es",
}  # fmt: skip


def language_of_country(country: str) -> str:
    """The default language for a nonprofit in a country (three letters)."""
    return _LANGUAGES.get(country, "en")


@dataclass(frozen=True, slots=True)
class NonprofitContact:
    """The email address of a nonprofit, and its source."""

    email: str
    source: str


@dataclass(frozen=True, slots=True)
class ApprovedAccount:
    """An approved account of the nonprofit, formatted for display."""

    id: UUID
    currency: str
    holder: str
    display_text: str


@dataclass(frozen=True, slots=True)
class OrganisationConfirmation:
    """One confirmation request to a nonprofit, with the response.

    ``email``, ``respondent_name``, ``respondent_role``: None after erasure. ``is_withdrawn``: replaced by a request to
    another address.
    """

    id: UUID
    verification_id: UUID
    email: str | None
    contact_source: str
    language: str
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    is_withdrawn: bool
    answer: ConfirmationAnswer | None
    respondent_name: str | None
    respondent_role: str | None
    answered_at: datetime | None

    def state(self, verification: MonetaryDonationVerification) -> ConfirmationState:
        """The state of the page: open, answered or closed."""
        if self.answer == "confirmed" and verification.is_pending_or_approved:
            waits = verification.status == "pending" and verification.checks["bank_details"] == "pending"
            return "account_missing" if waits else "confirmed"
        if self.answer == "declined":
            return "declined"
        return "open" if self.accepts_answer(verification) else "closed"

    def accepts_answer(self, verification: MonetaryDonationVerification) -> bool:
        """Whether the nonprofit can still respond."""
        return (
            self.answer is None
            and not self.is_withdrawn
            and verification.status == "pending"
            and verification.checks["organisation_confirmation"] == "pending"
            and verification.expires_at == self.expires_at
        )


def new_confirmation(
    confirmation_id: UUID,
    verification_id: UUID,
    contact: NonprofitContact,
    language: str,
    requested_by: str,
    now: datetime,
    expires_at: datetime,
) -> OrganisationConfirmation:
    """A new, unanswered confirmation request."""
    return OrganisationConfirmation(
        id=confirmation_id,
        verification_id=verification_id,
        email=contact.email,
        contact_source=contact.source,
        language=language,
        requested_by=requested_by,
        requested_at=now,
        expires_at=expires_at,
        is_withdrawn=False,
        answer=None,
        respondent_name=None,
        respondent_role=None,
        answered_at=None,
    )


@dataclass(frozen=True, slots=True)
class ConfirmationPageContent:
    """Everything the confirmation page shows. ``fingerprint``: a hash of the details to confirm."""

    confirmation: OrganisationConfirmation
    verification: MonetaryDonationVerification
    partner_name: str
    organisation_name: str
    accounts: Sequence[ApprovedAccount]
    fingerprint: bytes

    @property
    def state(self) -> ConfirmationState:
        """The state of the page."""
        return self.confirmation.state(self.verification)


class ConfirmationPageChanged(Exception):
    """The page's content (an account or a name) changed since the nonprofit opened it."""


def may_send_email(sent_times: Sequence[datetime], recent_email_count: int, now: datetime, *, is_sandbox: bool) -> bool:
    """Whether another email may be sent at this real time.

    ``sent_times``: when this request's earlier emails were sent; ``recent_email_count``: emails to the address
    within a day.
    """
    times = _MAX_SANDBOX_MAILS if is_sandbox else 1
    recent = [moment for moment in sent_times if moment > now - DAY]
    return (
        recent_email_count < _MAX_MAILS_PER_ADDRESS * times
        and len(sent_times) < _MAX_MAILS_TOTAL
        and len(recent) < _MAX_MAILS_PER_DAY
        and all(moment <= now - MINUTE for moment in recent)
    )


def find_respondent_problems(respondent_name: str, respondent_role: str) -> dict[str, str]:
    """Problems of the submitted form, as catalogue keys."""
    wrong = {"name": not 1 <= len(respondent_name) <= MAX_LENGTH, "role": not 1 <= len(respondent_role) <= MAX_LENGTH}
    return {field: f"payee.problem.{field}" for field, is_wrong in wrong.items() if is_wrong}
