"""Monetary donation verifications: checks, states, expiry and rules (spec 2.10, 3.6; settled 4 and 5)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.states import Lifecycle

VERIFICATION: Final = Lifecycle(
    "monetary_donation_verification",
    {
        "pending": frozenset({"approved", "rejected", "expired"}),  # settled 5
        "rejected": frozenset({"pending"}),
        "expired": frozenset({"pending"}),
    },
)
CHECK: Final = Lifecycle(
    "monetary_donation_check",
    {
        "pending": frozenset({"succeeded", "failed"}),
        "succeeded": frozenset({"pending"}),  # reopening repeats all checks
        "failed": frozenset({"pending"}),
    },
)
VerificationStatus = Literal["pending", "approved", "rejected", "expired"]
CheckType = Literal["registration", "compliance", "bank_details", "organisation_confirmation"]
CheckStatus = Literal["pending", "succeeded", "failed"]
Outcome = Literal["succeeded", "failed"]
RejectionReason = Literal["not_eligible", "failed_compliance", "no_response", "declined_by_organisation", "other"]
REJECTION_REASONS: Final[tuple[RejectionReason, ...]] = get_args(RejectionReason)
Decision = Literal["approved", "rejected", "reopened"]

PENDING: Final[CheckStatus] = "pending"
SUCCEEDED: Final[CheckStatus] = "succeeded"
CHECKS: Final[tuple[CheckType, ...]] = ("registration", "compliance", "bank_details", "organisation_confirmation")
LIFETIME: Final = timedelta(days=30)
MAX_NOTE_LENGTH: Final = 2000

RECEIVED: Final = "monetary_donation_verification.received"
PROGRESSED: Final = "monetary_donation_verification.progressed"

REASON_OF_FAILED: Final[Mapping[CheckType, RejectionReason]] = {
    "registration": "not_eligible",
    "compliance": "failed_compliance",
    "bank_details": "other",
    "organisation_confirmation": "declined_by_organisation",
}
"""The rejection reason for each type of failed check."""

_ANSWERED_BY_ORGANISATION: Final[tuple[CheckType, ...]] = ("bank_details", "organisation_confirmation")


class OrganisationNotFound(BadRequest):
    code = "monetary_donation_verification/organisation_not_found"
    message = "There is no organisation with this ID"


class InvalidState(BadRequest):
    code = "monetary_donation_verification/invalid_state"
    message = "The status of the verification does not allow this"


class InvalidMetadata(BadRequest):
    code = "monetary_donation_verification/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


@dataclass(frozen=True, slots=True)
class MonetaryDonationVerification:
    """A verification that an organisation may receive disbursements.

    See ``with_expiry_applied`` for its current status (S3).

    ``expires_at``: when it stops being pending; None once decided. ``processed_at``: when it was decided or expired.
    ``is_requested_by_partner``: whether the partner requested it; otherwise the nonprofit's first payment started it.
    """

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    status: VerificationStatus
    checks: Mapping[CheckType, CheckStatus]
    rejection_reason: RejectionReason | None
    metadata: Mapping[str, str] | None
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    processed_at: datetime | None
    is_requested_by_partner: bool = True

    @property
    def is_pending_or_approved(self) -> bool:
        """Whether it is pending or approved."""
        return self.status in ("pending", "approved")

    @property
    def awaits_answer_from_organisation(self) -> bool:
        """Whether the organisation must act next."""
        asked = self.status == "pending" and self.checks["registration"] == "succeeded"
        return asked and any(self.checks[check] == "pending" for check in _ANSWERED_BY_ORGANISATION)

    @property
    def remaining_checks(self) -> tuple[CheckType, ...]:
        """The checks that are still open."""
        return tuple(check for check in CHECKS if self.checks[check] == "pending")

    def is_overdue(self, now: datetime) -> bool:
        """Whether it has expired but is still stored as pending."""
        return self.status == "pending" and self.expires_at is not None and now >= self.expires_at

    def with_expiry_applied(self, now: datetime) -> "MonetaryDonationVerification":
        """The verification at the current time, with its expiry applied (S3)."""
        return self.as_expired(now) if self.is_overdue(now) else self

    def as_expired(self, now: datetime) -> "MonetaryDonationVerification":
        """The verification as expired. Raises InvalidState."""
        self._ensure("expired")
        ended = min(self.expires_at or now, now)
        return replace(
            self, status="expired", expires_at=ended, processed_at=ended, updated_at=max(self.updated_at, ended)
        )

    def as_approved(self, now: datetime) -> "MonetaryDonationVerification":
        """The verification as approved, with all its checks succeeded. Raises InvalidState."""
        if self.checks["registration"] != "succeeded":
            raise InvalidState(
                f"the check registration is {self.checks['registration']}: only an organisation that its register "
                "lists as active can be approved"
            )
        self._ensure("approved")
        checks = dict.fromkeys(CHECKS, SUCCEEDED)
        return replace(self, status="approved", checks=checks, expires_at=None, processed_at=now, updated_at=now)

    def as_rejected(self, reason: RejectionReason, now: datetime) -> "MonetaryDonationVerification":
        """The verification as rejected. Raises InvalidState."""
        self._ensure("rejected")
        return replace(
            self, status="rejected", rejection_reason=reason, expires_at=None, processed_at=now, updated_at=now
        )

    def as_reopened(self, now: datetime) -> "MonetaryDonationVerification":
        """The verification, pending again with all checks to be repeated. Raises InvalidState."""
        self._ensure("pending")
        return replace(
            self,
            status="pending",
            checks=dict.fromkeys(CHECKS, PENDING),
            rejection_reason=None,
            expires_at=now + LIFETIME,
            processed_at=None,
            updated_at=now,
        )

    def with_check_outcome(self, check: CheckType, outcome: Outcome, now: datetime) -> "MonetaryDonationVerification":
        """The verification with one check ended, which may reject or approve it. Raises InvalidState."""
        if self.status != "pending":
            raise InvalidState(f"the verification is {self.status}: its checks have ended")
        if self.checks[check] != "pending":
            raise InvalidState(f"the check {check} has {self.checks[check]} already")
        ended = replace(self, checks={**self.checks, check: outcome}, updated_at=now)
        if outcome == "failed":
            return ended.as_rejected(REASON_OF_FAILED[check], now)
        return ended if ended.remaining_checks else ended.as_approved(now)

    def _ensure(self, target: VerificationStatus) -> None:
        if not VERIFICATION.allows_transition(self.status, target):
            raise InvalidState(f"the verification is {self.status} and cannot become {target}")


@dataclass(frozen=True, slots=True)
class DecisionGrounds:
    """Who decided, and on what grounds. ``second_decided_by``: the second operator, if two are needed."""

    decided_by: str
    note: str
    second_decided_by: str | None = None
    second_note: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One decision of the history. ``reason``: of a rejection."""

    decision: Decision
    reason: RejectionReason | None
    grounds: DecisionGrounds
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class VerificationFilters:
    """Filters of a list of verifications; None: not filtered."""

    organisation_id: UUID | None = None
    status: VerificationStatus | None = None


class EligibilityStatus(StrEnum):
    """Whether an organisation may receive disbursements; if not, why."""

    APPROVED = "approved"
    MISSING = "verification_missing"
    PENDING = "verification_pending"
    REJECTED = "verification_rejected"
    EXPIRED = "verification_expired"


_ELIGIBILITY: Final[Mapping[VerificationStatus, EligibilityStatus]] = {
    "approved": EligibilityStatus.APPROVED,
    "pending": EligibilityStatus.PENDING,
    "rejected": EligibilityStatus.REJECTED,
    "expired": EligibilityStatus.EXPIRED,
}


def eligibility_status_of(verifications: Iterable[MonetaryDonationVerification]) -> EligibilityStatus:
    """The status of an organisation with these verifications."""
    telling = max(verifications, key=_relevance, default=None)
    return EligibilityStatus.MISSING if telling is None else _ELIGIBILITY[telling.status]


def _relevance(verification: MonetaryDonationVerification) -> tuple[bool, datetime, UUID]:
    return verification.is_pending_or_approved, verification.processed_at or verification.created_at, verification.id


def new_verification(
    verification_id: UUID,
    partner_id: UUID,
    organisation_id: UUID,
    metadata: Mapping[str, str] | None,
    now: datetime,
    *,
    is_requested_by_partner: bool = True,
) -> MonetaryDonationVerification:
    """A new pending verification with all checks open."""
    return MonetaryDonationVerification(
        id=verification_id,
        partner_id=partner_id,
        organisation_id=organisation_id,
        status="pending",
        checks=dict.fromkeys(CHECKS, PENDING),
        rejection_reason=None,
        metadata=metadata,
        created_at=now,
        updated_at=now,
        expires_at=now + LIFETIME,
        processed_at=None,
        is_requested_by_partner=is_requested_by_partner,
    )


@dataclass(frozen=True, slots=True)
class VerificationFlaggedEvent:
    """The partner and nonprofit whose disbursements are flagged."""

    partner: UUID
    organisation: UUID


FLAGGED: Final = InternalEvent("internal.monetary_donation_verification_flagged", VerificationFlaggedEvent)
"""Published internally when a flag was raised or lifted, to update the partner's disbursements."""
