"""Agent verifications: states, expiry and rules (spec 2.2, 3.3; settled 4 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, get_args
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.states import Lifecycle

VERIFICATION: Final = Lifecycle(
    "agent_verification",
    {
        "pending": frozenset({"pending_review", "pending_user_verification", "rejected"}),  # settled 5
        "pending_user_verification": frozenset({"approved", "rejected"}),
        "pending_review": frozenset({"approved", "rejected"}),
        "rejected": frozenset({"approved", "pending_user_verification"}),  # by an appeal alone (settled 4)
    },
)
AgentStatus = Literal["pending", "pending_user_verification", "pending_review", "approved", "rejected"]
AgentRejection = Literal[
    "validation_request_failed",
    "user_verification_expired",
    "user_failed_percent_review",
    "reapply",
    "fake_email_used",
    "no_online_presence",
    "nonprofit_association_expired",
    "invalid_documentation",
    "fake_documentation",
    "mismatched_information",
    "blank_corrupted_documentation",
    "suspicious_application",
    "other",
]
Answer = Literal["confirmed", "denied"]

REJECTIONS: Final[tuple[AgentRejection, ...]] = get_args(AgentRejection)
OPEN: Final[tuple[AgentStatus, ...]] = ("pending", "pending_user_verification", "pending_review")
UNCONFIRMED: Final[tuple[AgentStatus, ...]] = ("pending", "pending_user_verification")
LIFETIME: Final = timedelta(days=30)
EndReason = Literal["unconfirmed", "replaced", "rejected", "approved"]
"""Why a verification ended; decides how long its applicant's personal data are kept."""
ERASE_AFTER: Final = timedelta(days=30)
"""Personal data of unconfirmed applicants are erased this long after expiry, as for unpaid donors (V6); so is the
address of an official contact that was asked.
"""

EVENTS: Final[Mapping[AgentStatus, str]] = {
    status: f"agent_verification.{status}" for status in get_args(AgentStatus) if status != "pending"
}
"""The event of each of the last four states (spec 3.3)."""

REASONS: Final[Mapping[AgentRejection, str]] = {
    "validation_request_failed": "The validation request of the nonprofit was rejected",
    "user_verification_expired": "The applicant did not confirm the email address within 30 days",
    "user_failed_percent_review": "The applicant did not pass the review",
    "reapply": "The applicant is asked to apply again",
    "fake_email_used": "The email address is not the applicant's own",
    "no_online_presence": "Nothing that is published shows the applicant with the nonprofit",
    "nonprofit_association_expired": "The nonprofit did not answer within 30 days whether it knows the applicant",
    "invalid_documentation": "The documents do not show what they should",
    "fake_documentation": "The documents are not genuine",
    "mismatched_information": "What was given does not agree with what the nonprofit publishes",
    "blank_corrupted_documentation": "The documents are empty or cannot be read",
    "suspicious_application": "The application raised doubts that were not cleared",
    "other": "The application was rejected",
}
"""The sentence in ``rejectionReason`` for each code."""


def parse_rejection_code(code: str | None) -> AgentRejection:
    """The rejection code, ``other`` for None. Raises ValueError for an unknown one."""
    if code is None:
        return "other"
    if code not in REJECTIONS:
        raise ValueError(f"{code} is no reason for rejecting an agent")
    return code


class OrganisationNotFound(BadRequest):
    code = "agent_verification/organisation_not_found"
    message = "There is no organisation with this ID"


class ValidationRequestNotFound(BadRequest):
    code = "agent_verification/validation_request_not_found"
    message = "There is no validation request with this ID"


class InvalidState(BadRequest):
    code = "agent_verification/invalid_state"
    message = "The status of the verification does not allow this"


class InvalidMetadata(BadRequest):
    code = "agent_verification/invalid_metadata"
    message = (
        "The metadata is not valid; use at most 20 keys of up to 40 characters, with values of up to 250 characters"
    )


@dataclass(frozen=True, slots=True)
class AgentVerificationInput:
    """The applicant, and the organisation or validation request they apply for, by text ID."""

    first_name: str
    last_name: str
    email: str
    title: str | None = None
    organisation_id: str | None = None
    validation_request_id: str | None = None
    organisation_website: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class RepresentedNonprofit:
    """The nonprofit that an agent represents: an organisation or a validation request.

    ``display_name``: the name shown to people, if it is another one.
    """

    id: UUID
    name: str
    email: str | None = None
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class AgentVerification:
    """One agent verification as read from the database.

    ``status`` may be out of date until ``with_expiry_applied`` is called (S3). ``first_name``, ``last_name``,
    ``email``: None once erased. ``expires_at``: when the applicant or nonprofit must have acted, None if neither has
    to. ``confirmed_at``: when the applicant confirmed; ``processed_at``: when it ended. ``preferred_language``: the
    language that the applicant chose later. ``replaces``: the verification of the same applicant with a wrong address.
    ``requester_name``: the partner's name on the form, if it has another.
    """

    id: UUID
    partner_id: UUID
    organisation: RepresentedNonprofit | None
    validation_request: RepresentedNonprofit | None
    organisation_website: str | None
    first_name: str | None
    last_name: str | None
    email: str | None
    title: str | None
    language: str
    metadata: Mapping[str, str] | None
    requires_email_confirmation: bool
    status: AgentStatus
    rejection_code: AgentRejection | None
    created_at: datetime
    expires_at: datetime | None
    confirmed_at: datetime | None = None
    processed_at: datetime | None = None
    preferred_language: str | None = None
    replaces: UUID | None = None
    requester_name: str | None = None

    @property
    def display_language(self) -> str:
        """The language of the applicant's emails and pages."""
        return self.preferred_language or self.language

    @property
    def is_open(self) -> bool:
        """Whether it is neither approved nor rejected."""
        return self.status in OPEN

    @property
    def is_email_unconfirmed(self) -> bool:
        """Whether the applicant has not confirmed their email address."""
        return self.status in UNCONFIRMED

    @property
    def external_action_required(self) -> bool:
        """``externalActionRequired``: whether the applicant or the nonprofit must act next."""
        return self.expires_at is not None

    @property
    def nonprofit_name(self) -> str:
        """The name of the nonprofit as shown to people."""
        named = self.organisation or self.validation_request
        return (named.display_name or named.name) if named else ""

    def is_overdue(self, now: datetime) -> bool:
        """Whether it has expired without that being stored yet."""
        return self.is_open and self.expires_at is not None and now >= self.expires_at

    def with_expiry_applied(self, now: datetime) -> "AgentVerification":
        """The verification at the current time, with its expiry applied (S3)."""
        if not self.is_overdue(now):
            return self
        assert self.expires_at is not None, "what is overdue has a moment"
        code: AgentRejection = (
            "user_verification_expired" if self.is_email_unconfirmed else "nonprofit_association_expired"
        )
        return self.with_rejection(code, self.expires_at)

    def with_email_confirmed(self, now: datetime) -> "AgentVerification":
        """The verification after the email address was confirmed. Raises InvalidState."""
        target: AgentStatus = "approved" if self.status == "pending_user_verification" else "pending_review"
        self._ensure(target)
        ended = now if target == "approved" else None
        return replace(self, status=target, confirmed_at=now, expires_at=None, processed_at=ended)

    def with_review_passed(self, now: datetime) -> "AgentVerification":
        """The verification after its review passed. Raises InvalidState."""
        target: AgentStatus = "pending_user_verification" if self.status == "pending" else "approved"
        if self.status == "pending_user_verification":
            raise InvalidState("the verification has passed its review and waits for the applicant to confirm")
        self._ensure(target)
        if target == "approved":
            return replace(self, status=target, expires_at=None, processed_at=now)
        return replace(self, status=target)

    def with_rejection(self, code: AgentRejection, now: datetime) -> "AgentVerification":
        """The verification, rejected or expired. Raises InvalidState."""
        self._ensure("rejected")
        return replace(self, status="rejected", rejection_code=code, expires_at=None, processed_at=now)

    def replacement_with_email(self, new_id: UUID, email: str, now: datetime) -> "AgentVerification":
        """A new verification of the same applicant with another email address.

        It replaces this one, since records are not editable (spec 2.2). Raises InvalidState.
        """
        if not self.is_email_unconfirmed:
            raise InvalidState(f"the verification is {self.status}: its address is corrected no more")
        return replace(
            self,
            id=new_id,
            email=email,
            metadata=None,
            status="pending",
            created_at=now,
            expires_at=now + LIFETIME,
            replaces=self.id,
        )

    def with_rejection_reversed(self, now: datetime, email_confirmed_at: datetime | None) -> "AgentVerification":
        """The verification after an appeal reversed its rejection.

        ``email_confirmed_at``: when the appeal confirmed the email address; None if it did not. Raises InvalidState
        unless it was rejected.
        """
        if self.status != "rejected":
            raise InvalidState(f"the verification is {self.status}: there is nothing to reverse")
        confirmed = self.confirmed_at or (email_confirmed_at if self.requires_email_confirmation else None)
        if self.requires_email_confirmation and confirmed is None:
            until = now + LIFETIME
            return replace(
                self, status="pending_user_verification", rejection_code=None, expires_at=until, processed_at=None
            )
        return replace(self, status="approved", rejection_code=None, confirmed_at=confirmed, processed_at=now)

    def with_answer_deadline(self, deadline: datetime) -> "AgentVerification":
        """The verification with a deadline for the nonprofit's answer. Raises InvalidState."""
        if self.status != "pending_review":
            raise InvalidState(f"the verification is {self.status}: nobody is asked about it")
        return replace(self, expires_at=deadline)

    def without_answer_deadline(self) -> "AgentVerification":
        """The verification without a deadline, as no answer from the nonprofit is expected.

        Raises InvalidState outside the review.
        """
        if self.status != "pending_review":
            raise InvalidState(f"the verification is {self.status} and waits for no answer")
        return replace(self, expires_at=None)

    def _ensure(self, target: AgentStatus) -> None:
        if not (self.is_open and VERIFICATION.allows_transition(self.status, target)):
            raise InvalidState(f"the verification is {self.status} and cannot become {target}")


@dataclass(frozen=True, slots=True)
class AgentFilters:
    """The filters of the list; None means not filtered."""

    status: AgentStatus | None = None
    email: str | None = None
    created_from: datetime | None = None
    created_before: datetime | None = None


ConfirmationMethod = Literal["link", "code", "sandbox"]


@dataclass(frozen=True, slots=True)
class RepresentationRequest:
    """The request to a nonprofit to confirm that an applicant represents it.

    ``email``: None after erasure; ``answer``: None until given.
    """

    id: UUID
    verification_id: UUID
    email: str | None
    requested_at: datetime
    expires_at: datetime
    answer: Answer | None

    def is_answerable_at(self, now: datetime) -> bool:
        """Whether the nonprofit can still answer."""
        return self.answer is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class OfficialContact:
    """An organisation's own email address. ``source``: where it is published."""

    organisation_id: UUID
    email: str
    source: str


class OfficialContactRefused(ValueError):
    """The address is a personal mailbox, or its recorder also recorded the nonprofit's bank account."""


def new_verification(
    verification_id: UUID,
    partner_id: UUID,
    verification_input: AgentVerificationInput,
    organisation: RepresentedNonprofit | None,
    validation_request: RepresentedNonprofit | None,
    now: datetime,
    *,
    requires_email_confirmation: bool,
) -> AgentVerification:
    """A new verification: pending, or in review at once if no email check is required (settled 5)."""
    return AgentVerification(
        id=verification_id,
        partner_id=partner_id,
        organisation=organisation,
        validation_request=validation_request,
        organisation_website=verification_input.organisation_website,
        first_name=verification_input.first_name,
        last_name=verification_input.last_name,
        email=verification_input.email,
        title=verification_input.title,
        language=verification_input.language or "en",
        metadata=None,
        requires_email_confirmation=requires_email_confirmation,
        status="pending" if requires_email_confirmation else "pending_review",
        rejection_code=None,
        created_at=now,
        expires_at=now + LIFETIME if requires_email_confirmation else None,
    )
