"""Validation submissions: the record, its states, and the result that follows from its checks.

The result is set when every check has ended, so it does not depend on their order and has every reason (spec 3.5;
settled 4 to 6).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal
from uuid import UUID

from almoner.kit.errors import BadRequest
from almoner.kit.events import InternalEvent
from almoner.kit.states import Lifecycle
from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.applications.configurations.domain import CHECKS, ORGANISATION_TYPES, Check, Configuration
from almoner.validation.ongoing.eligibility.domain import EligibilitySubscription
from almoner.validation.ongoing.monitoring.domain import MonitoringSubscription
from almoner.validation.requests.domain import RejectionReason, ValidationRequest

SUBMISSION: Final = Lifecycle(
    "validation_submission",
    {
        "pending": frozenset({"processed", "succeeded", "failed"}),  # settled 5
        "processed": frozenset({"succeeded", "failed"}),  # undecided checks were decided later
        "failed": frozenset({"processed", "succeeded"}),  # by an appeal alone (settled 4)
    },
)
SubmissionStatus = Literal["pending", "processed", "succeeded", "failed"]
CheckStatus = Literal["pending", "passed", "failed", "undecided"]
"""The status of a check. ``undecided``: it has ended without a result."""

CREATED: Final = "validation_submission.created"
UPDATED: Final = "validation_submission.updated"
SUCCEEDED: Final = "validation_submission.succeeded"
FAILED: Final = "validation_submission.failed"


AppealStatus = Literal["open", "upheld", "reversed"]

EndState = Literal["answered", "undecided"]
ERASE_AFTER: Final[Mapping[EndState, timedelta]] = {"answered": timedelta(days=30), "undecided": timedelta(days=180)}
"""Applicants' personal data are erased this long after the end, as for unconfirmed agents (V6).

``undecided`` is longer, since the partner has yet to decide.
"""

_NOT_ELIGIBLE: Final[RejectionReason] = "not_eligible"
"""Why the check of a valid nonprofit fails: the configuration does not allow its organisation type."""


class OrganisationNotFound(BadRequest):
    code = "validation_submission/organisation_not_found"
    message = "There is no such organisation"


class OrganisationNotActive(BadRequest):
    code = "validation_submission/organisation_not_active"
    message = "The organisation is not active"


class ValidationRequestNotFound(BadRequest):
    code = "validation_submission/validation_request_not_found"
    message = "There is no validation request with this ID"


class ValidationRequestAlreadyRejected(BadRequest):
    code = "validation_submission/validation_request_already_rejected"
    message = "The validation request was rejected, so it cannot be used"


class InvalidSubTags(BadRequest):
    code = "validation_submission/invalid_sub_tags"
    message = "One or more of the activity sub-tags are not known"


class BothConfigurationAndInviteGiven(BadRequest):
    code = "validation_submission/invalid_payload_config_invite_id"
    message = "Provide either configurationId or validationInviteId; an invite already has a configuration"


class NoConfigurationForPartner(BadRequest):
    code = "validation_submission/no_configuration_for_partner"
    message = "There is no default configuration; create one, or provide a configurationId"


class InvalidConfigurationId(BadRequest):
    code = "validation_submission/invalid_configuration_id"
    message = "There is no submission configuration with this ID"


class DocumentNotFound(BadRequest):
    code = "validation_submission/validation_submission_document_not_found"
    message = "No document with this ID was uploaded for this invite"


class InvalidState(BadRequest):
    code = "validation_submission/invalid_state"
    message = "The status of the validation submission does not allow this"


@dataclass(frozen=True, slots=True)
class SubmissionDecidedEvent:
    """The internal event that a submission was decided."""

    id: UUID
    submission: UUID
    status: SubmissionStatus


DECIDED: Final = InternalEvent("internal.validation_submission_decided", SubmissionDecidedEvent)
"""Emitted when all checks have ended; again after an appeal has resumed some."""


@dataclass(frozen=True, slots=True)
class Applicant:
    """The applicant. None: not given, or erased."""

    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None


@dataclass(frozen=True, slots=True)
class SubmissionOrganisation:
    """The current details of a submission's organisation."""

    id: UUID
    name: str
    country_code: str
    types: tuple[OrganisationType, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingReview:
    """Why a reviewer must decide the validation request, and since when."""

    reasons: tuple[str, ...]
    pending_since: datetime


@dataclass(frozen=True, slots=True)
class RequestedEvidence:
    """The evidence that a reviewer requested instead of rejecting a check."""

    evidence_code: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class LatestAppeal:
    """The newest appeal against a submission's result. ``is_completed``: the new result after a reversal was set."""

    id: UUID
    status: AppealStatus
    due_at: datetime
    is_completed: bool


@dataclass(frozen=True, slots=True)
class CheckRecords:
    """The current records of a submission's checks.

    None: the check is not run. ``pending_review``: None until the request was evaluated, and once it is decided.
    ``exclusive_request``: whether the submission created the request and no other record uses it.
    ``nonprofit_asked_at``: since when the nonprofit is asked about the applicant. ``appeal``: the newest, None without
    one. ``requested_evidence``: by check, until it arrives.
    """

    configuration: Configuration
    organisation: SubmissionOrganisation | None = None
    request: ValidationRequest | None = None
    monitoring: MonitoringSubscription | None = None
    eligibility: EligibilitySubscription | None = None
    agent: AgentVerification | None = None
    pending_review: PendingReview | None = None
    exclusive_request: bool = False
    nonprofit_asked_at: datetime | None = None
    appeal: LatestAppeal | None = None
    requested_evidence: Mapping[Check, RequestedEvidence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """One submission with the records of its checks.

    ``checks``: those of its configuration at creation. ``organisation_name``: as given, or that of the organisation at
    creation. ``own_applicant``: if no agent is verified. ``partner_fields``: answers by the IDs of the partner's own
    questions. ``failure_reasons``: by check, as partners see them. ``overridden_checks``: checks that count as passed
    after a reversed appeal.
    """

    id: UUID
    partner_id: UUID
    configuration_id: UUID
    validation_invite_id: UUID | None
    status: SubmissionStatus
    checks: tuple[Check, ...]
    organisation_id: UUID | None
    validation_request_id: UUID | None
    monitoring_subscription_id: UUID | None
    eligibility_subscription_id: UUID | None
    agent_verification_id: UUID | None
    organisation_name: str
    country_code: str
    language: str
    own_applicant: Applicant
    metadata: Mapping[str, str] | None
    partner_fields: Mapping[str, object] | None
    failure_reasons: Mapping[str, object] | None
    created_at: datetime
    processed_at: datetime | None
    check_records: CheckRecords
    overridden_checks: tuple[Check, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether its checks can still change its status."""
        return self.status in ("pending", "processed")

    @property
    def has_checks_resumed_by_appeal(self) -> bool:
        """Whether a reversed appeal resumed checks that have not ended yet."""
        appeal = self.check_records.appeal
        return appeal is not None and appeal.status == "reversed" and not appeal.is_completed

    @property
    def has_open_appeal(self) -> bool:
        """Whether an appeal against its result is open."""
        return self.check_records.appeal is not None and self.check_records.appeal.status == "open"

    @property
    def accepts_documents(self) -> bool:
        """Whether documents can still be uploaded."""
        return self.is_open or self.has_open_appeal

    @property
    def applicant(self) -> Applicant:
        """The applicant."""
        agent = self.check_records.agent
        return self.own_applicant if agent is None else Applicant(agent.first_name, agent.last_name, agent.email)

    def with_status(
        self, status: SubmissionStatus, reasons: Mapping[str, object] | None, now: datetime
    ) -> "Submission":
        """The submission in another status. Raises InvalidState."""
        if not SUBMISSION.allows_transition(self.status, status):
            raise InvalidState(f"the validation submission is {self.status} and cannot become {status}")
        return replace(self, status=status, failure_reasons=reasons, processed_at=now)


def statuses_by_check(submission: Submission) -> dict[Check, CheckStatus]:
    """The status of each check."""
    made = {
        "validation_request": _nonprofit,
        "compliance": _compliance,
        "eligibility": _eligibility,
        "agent_verification": _agent,
    }
    own: dict[Check, CheckStatus] = {
        check: made[check](submission.check_records) for check in CHECKS if check in submission.checks
    }
    return own | {check: "passed" for check in submission.overridden_checks if check in own}


def submission_status_of(statuses: Mapping[Check, CheckStatus]) -> SubmissionStatus:
    """The status that follows from the checks."""
    found = set(statuses.values())
    if "pending" in found:
        return "pending"
    if "failed" in found:
        return "failed"
    return "processed" if "undecided" in found else "succeeded"


def list_failed_checks(statuses: Mapping[Check, CheckStatus]) -> list[Check]:
    """The checks that failed."""
    return [check for check, standing in statuses.items() if standing == "failed"]


def find_nonprofit_rejection_reason(check_records: CheckRecords) -> RejectionReason | None:
    """Why the nonprofit's check fails; None if it does not."""
    if check_records.request is not None and check_records.request.status == "rejected":
        return check_records.request.rejection_reason_code
    known, allowed = check_records.organisation, set(check_records.configuration.allowed_organisation_types)
    if known is not None and allowed != set(ORGANISATION_TYPES) and not allowed & set(known.types):
        return _NOT_ELIGIBLE
    return None


def _nonprofit(check_records: CheckRecords) -> CheckStatus:
    if find_nonprofit_rejection_reason(check_records) is not None:
        return "failed"
    return "pending" if check_records.organisation is None else "passed"


def _compliance(check_records: CheckRecords) -> CheckStatus:
    monitoring = check_records.monitoring
    assert monitoring is not None, "who checks compliance has a subscription"
    if monitoring.status == "validation_request_failed":
        return "failed"
    if monitoring.status in ("live", "cancelled") and monitoring.results.compliance_status is not None:
        return "passed" if monitoring.results.compliance_status == "pass" else "failed"
    return _cancelled(check_records, "compliance") if monitoring.status == "cancelled" else "pending"


def list_unstarted_checks(check_records: CheckRecords) -> tuple[Check, ...]:
    """Checks that ended with the rejected request before they started."""
    waited: dict[Check, object] = {
        "compliance": check_records.monitoring and check_records.monitoring.status,
        "eligibility": check_records.eligibility and check_records.eligibility.status,
    }
    return tuple(check for check, status in waited.items() if status == "validation_request_failed")


def _eligibility(check_records: CheckRecords) -> CheckStatus:
    eligibility = check_records.eligibility
    assert eligibility is not None, "who checks eligibility has a subscription"
    if eligibility.status == "validation_request_failed":
        return "failed"
    if eligibility.results.status is not None:
        return "passed" if eligibility.results.status == "pass" else "failed"
    if eligibility.status not in ("cannot_define_eligibility", "cancelled"):
        return "pending"
    # If every activity is allowed, there is nothing to decide (settled 5).
    return (
        "passed"
        if check_records.configuration.allowed_activity_sub_tags is None
        else _cancelled(check_records, "eligibility")
    )


def _cancelled(check_records: CheckRecords, check: Check) -> CheckStatus:
    """The status of a check that ended without a result: passed if the configuration no longer requires it."""
    return "undecided" if check_records.configuration.runs_check(check) else "passed"


def _agent(check_records: CheckRecords) -> CheckStatus:
    agent = check_records.agent
    assert agent is not None, "who verifies the agent has a verification"
    ended: Mapping[str, CheckStatus] = MappingProxyType({"approved": "passed", "rejected": "failed"})
    return ended.get(agent.status, "pending")


@dataclass(frozen=True, slots=True)
class NonprofitInput:
    """A nonprofit named by its register and number."""

    name: str | None = None
    registry_name: str | None = None
    registry_number: str | None = None
    website: str | None = None
    country_code: str | None = None
    email: str | None = None
    address_line_1: str | None = None
    address_line_2: str | None = None
    city: str | None = None
    state: str | None = None
    postal: str | None = None

    def missing_fields(self) -> list[str]:
        """The required members that are missing."""
        stated = {
            "organisationName": self.name,
            "registryName": self.registry_name,
            "registryId": self.registry_number,
            "website": self.website,
            "countryCode": self.country_code,
        }
        return [name for name, value in stated.items() if not value]


@dataclass(frozen=True, slots=True)
class SubmissionInput:
    """The requested values of a submission; IDs as text.

    One of ``organisation_id``, ``validation_request_id`` and ``details`` identifies the nonprofit. ``documents``: IDs
    of the invite's documents; all of them are attached even if not listed.
    """

    configuration_id: str | None = None
    validation_invite_id: str | None = None
    organisation_id: str | None = None
    validation_request_id: str | None = None
    details: NonprofitInput | None = None
    language: str | None = None
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    title: str | None = None
    suggested_activity_sub_tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None
    partner_fields: Mapping[str, object] | None = None
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubmissionFilters:
    """The filters of the list. ``search_words``: each must match."""

    statuses: Sequence[SubmissionStatus] = ()
    configuration_ids: Sequence[UUID] | None = None
    organisation_ids: Sequence[UUID] | None = None
    validation_request_ids: Sequence[UUID] | None = None
    country_codes: Sequence[str] = ()
    email: str | None = None
    search_words: tuple[str, ...] = field(default=())
