"""Validation submissions on the wire (spec 3.5, 4.7; settled 4, 6 and 8)."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from almoner.kit.time import iso_timestamp, iso_timestamp_or_none
from almoner.nonprofits.organisations.domain import OrganisationType
from almoner.platform.database.transactions import Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.validation.agents.domain import REASONS, AgentRejection, AgentStatus
from almoner.validation.applications.configurations.domain import Check
from almoner.validation.applications.submissions.domain import AppealStatus, Submission, SubmissionStatus
from almoner.validation.applications.submissions.requirements import (
    Requirement,
    RequirementCode,
    Source,
    requirements_of,
)
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.eligibility.domain import SubscriptionStatus
from almoner.validation.ongoing.eligibility.service import EligibilityResultsResponse
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.ongoing.monitoring.domain import MonitoringStatus
from almoner.validation.ongoing.monitoring.service import MonitoringResultsResponse
from almoner.validation.requests.domain import RejectionReason


class SubmissionOrganisationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The organisation."""

    name: str
    country_code: str


class SubmissionValidationRequestResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The validation request."""

    id: str
    name: str
    accepted_at: str | None
    rejected_at: str | None
    organisation_types: list[OrganisationType]


class SubmissionMonitoringResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The check `compliance`."""

    status: MonitoringStatus
    results: MonitoringResultsResponse


class SubmissionEligibilityResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The check `eligibility`."""

    status: SubscriptionStatus
    results: EligibilityResultsResponse


class SubmissionAgentVerificationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The agent verification."""

    id: str
    email: str | None
    first_name: str | None
    last_name: str | None
    status: AgentStatus
    rejection_reason: str | None
    rejection_reason_code: AgentRejection | None
    language: str


class SubmissionConfigurationResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The configuration."""

    id: str
    name: str | None


class RequestFailureResponse(msgspec.Struct, frozen=True, rename="camel"):
    """Why the nonprofit is not valid."""

    rejection_reason_code: RejectionReason


class AgentFailureResponse(msgspec.Struct, frozen=True, rename="camel"):
    """Why the agent is not verified."""

    rejection_reason_code: AgentRejection


class ComplianceFailureResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The findings of the watchlists."""

    results: MonitoringResultsResponse


class EligibilityFailureResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The organisation's activities, and those that are not allowed."""

    status: SubscriptionStatus
    results: EligibilityResultsResponse


class SubmissionFailureReasonsResponse(msgspec.Struct, frozen=True, omit_defaults=True):
    """The failure reasons by check, only for failed checks."""

    validation_request: RequestFailureResponse | msgspec.UnsetType = msgspec.UNSET
    agent_verification: AgentFailureResponse | msgspec.UnsetType = msgspec.UNSET
    compliance: ComplianceFailureResponse | msgspec.UnsetType = msgspec.UNSET
    eligibility: EligibilityFailureResponse | msgspec.UnsetType = msgspec.UNSET


class SubmissionRequirementResponse(
    msgspec.Struct,
    frozen=True,
    rename={"source": "from", "registry_name": "registryName", "registry_id": "registryId"},
):
    """A missing item, and who must provide it."""

    check: Check
    code: RequirementCode
    source: Source
    message: str
    accepted: Annotated[list[str], msgspec.Meta(description="Alternatives, each of which is enough.")]
    since: str
    due: Annotated[str | None, msgspec.Meta(description="The deadline, in UTC; null if there is none.")]
    registry_name: Annotated[str | None, msgspec.Meta(description="Where the registration was looked up.")] = None
    registry_id: Annotated[str | None, msgspec.Meta(description="The number that was looked up.")] = None


class SubmissionAppealResponse(msgspec.Struct, frozen=True, rename="camel"):
    """The newest appeal."""

    id: str
    status: AppealStatus
    due_at: Annotated[str, msgspec.Meta(description="The deadline for the decision.")]


class ValidationSubmissionResponse(ResponseRecord, object_name="validation_submission"):
    """A validation submission as partners see it."""

    id: str
    status: SubmissionStatus
    validation_invite_id: str | None
    organisation_id: Annotated[str | None, msgspec.Meta(description="The organisation, once the details are valid.")]
    organisation_name: str | None
    organisation: SubmissionOrganisationResponse | None
    validation_request_id: str | None
    validation_request: SubmissionValidationRequestResponse | None
    monitoring_subscription_id: str | None
    monitoring: SubmissionMonitoringResponse | None
    eligibility_subscription_id: str | None
    eligibility: SubmissionEligibilityResponse | None
    agent_verification_id: str | None
    agent_verification: SubmissionAgentVerificationResponse | None
    configuration: SubmissionConfigurationResponse | None
    metadata: dict[str, str] | None
    partner_fields: dict[str, str | int | float] | None
    failure_reasons: Annotated[
        SubmissionFailureReasonsResponse | None, msgspec.Meta(description="The failed checks of a failed submission.")
    ]
    requirements: Annotated[
        list[SubmissionRequirementResponse],
        msgspec.Meta(description="What is missing; empty if neither the applicant nor the nonprofit has to act."),
    ]
    appeal: Annotated[
        SubmissionAppealResponse | None, msgspec.Meta(description="The latest appeal against the decision.")
    ]
    processed_at: str | None
    created_at: str


def submission_response(tx: Tx, submission: Submission) -> ValidationSubmissionResponse:
    """The API representation of a submission, also used in its events."""
    known, ids = submission.check_records.organisation, tx.ids
    return ValidationSubmissionResponse(
        id=ids.encode("validationsubmission", submission.id),
        status=submission.status,
        validation_invite_id=ids.encode_or_none("validationinvite", submission.validation_invite_id),
        organisation_id=ids.encode_or_none("organisation", submission.organisation_id),
        organisation_name=known.name if known else submission.organisation_name,
        organisation=SubmissionOrganisationResponse(known.name, known.country_code) if known else None,
        validation_request_id=ids.encode_or_none("validationrequest", submission.validation_request_id),
        validation_request=_request_response(tx, submission),
        monitoring_subscription_id=ids.encode_or_none("monitoringsubscription", submission.monitoring_subscription_id),
        monitoring=_monitoring_response(tx, submission),
        eligibility_subscription_id=ids.encode_or_none(
            "eligibilitysubscription", submission.eligibility_subscription_id
        ),
        eligibility=_eligibility_response(tx, submission),
        agent_verification_id=ids.encode_or_none("agentverification", submission.agent_verification_id),
        agent_verification=_agent_response(tx, submission),
        configuration=SubmissionConfigurationResponse(
            ids.encode("hostedconfiguration", submission.configuration_id), submission.check_records.configuration.name
        ),
        metadata=None if submission.metadata is None else dict(submission.metadata),
        partner_fields=_answers(submission.partner_fields),
        failure_reasons=None
        if submission.failure_reasons is None
        else msgspec.convert(submission.failure_reasons, SubmissionFailureReasonsResponse),
        requirements=[_requirement_response(missing) for missing in requirements_of(submission)],
        appeal=_appeal_response(tx, submission),
        processed_at=iso_timestamp_or_none(submission.processed_at),
        created_at=iso_timestamp(submission.created_at),
    )


def without_personal_data(response: ValidationSubmissionResponse) -> ValidationSubmissionResponse:
    """The response for publishable keys, without personal data (settled 2)."""
    return msgspec.structs.replace(response, agent_verification=None, metadata=None, partner_fields=None)


def _answers(given: Mapping[str, Any] | None) -> dict[str, str | int | float] | None:
    return None if given is None else dict(given)


def _request_response(tx: Tx, submission: Submission) -> SubmissionValidationRequestResponse | None:
    if (request := submission.check_records.request) is None:
        return None
    return SubmissionValidationRequestResponse(
        tx.ids.encode("validationrequest", request.id),
        request.details.name,
        iso_timestamp_or_none(request.accepted_at),
        iso_timestamp_or_none(request.rejected_at),
        list(request.organisation_types),
    )


def _monitoring_response(tx: Tx, submission: Submission) -> SubmissionMonitoringResponse | None:
    if (found := submission.check_records.monitoring) is None:
        return None
    return SubmissionMonitoringResponse(found.status, monitoring.serialise_for_api(tx, found).results)


def _eligibility_response(tx: Tx, submission: Submission) -> SubmissionEligibilityResponse | None:
    if (found := submission.check_records.eligibility) is None:
        return None
    return SubmissionEligibilityResponse(found.status, eligibility.serialise_for_api(tx, found).results)


def _agent_response(tx: Tx, submission: Submission) -> SubmissionAgentVerificationResponse | None:
    if (agent := submission.check_records.agent) is None:
        return None
    return SubmissionAgentVerificationResponse(
        tx.ids.encode("agentverification", agent.id),
        agent.email,
        agent.first_name,
        agent.last_name,
        agent.status,
        REASONS[agent.rejection_code] if agent.rejection_code else None,
        agent.rejection_code,
        agent.language,
    )


def _appeal_response(tx: Tx, submission: Submission) -> SubmissionAppealResponse | None:
    if (appeal := submission.check_records.appeal) is None:
        return None
    return SubmissionAppealResponse(tx.ids.encode("appeal", appeal.id), appeal.status, iso_timestamp(appeal.due_at))


def _requirement_response(missing: Requirement) -> SubmissionRequirementResponse:
    return SubmissionRequirementResponse(
        missing.check,
        missing.code,
        missing.source,
        missing.message,
        list(missing.accepted_alternatives),
        iso_timestamp(missing.since),
        iso_timestamp_or_none(missing.due),
        missing.registry_name,
        missing.registry_number,
    )
