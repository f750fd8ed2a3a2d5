"""Starts the checks of a submission, in its transaction (spec 4.7)."""

from dataclasses import dataclass
from uuid import UUID

from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import AgentVerificationInput
from almoner.validation.applications.configurations.domain import Configuration
from almoner.validation.applications.submissions import domain
from almoner.validation.applications.submissions.domain import SubmissionInput
from almoner.validation.ongoing.eligibility import domain as eligibility_domain
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring


@dataclass(frozen=True, slots=True)
class CheckSubject:
    """The organisation or validation request that a check is about, by text ID.

    ``test_value_suffix``: the sandbox test value that followed the given ID, for monitoring (settled 9).
    """

    organisation_id: str | None
    request_id: str | None
    test_value_suffix: str


async def start_agent_verification(
    tx: Tx,
    partner: Partner,
    configuration: Configuration,
    submission_input: SubmissionInput,
    subject: CheckSubject,
    language: str,
) -> UUID | None:
    """Start the agent verification, if the configuration requires one."""
    if not configuration.runs_check("agent_verification"):
        return None
    stated = AgentVerificationInput(
        submission_input.first_name or "",
        submission_input.last_name or "",
        submission_input.email or "",
        submission_input.title,
        subject.organisation_id,
        subject.request_id,
        submission_input.details.website if submission_input.details else None,
        language,
    )
    by = configuration.display_name  # the partner's name in the form and emails
    return (
        await agents.create(
            tx, partner, stated, requires_email_confirmation=configuration.email_verification, requester_name=by
        )
    ).id


async def start_monitoring(
    tx: Tx, partner: Partner, configuration: Configuration, subject: CheckSubject
) -> UUID | None:
    """Start the monitoring subscription, if the configuration requires one."""
    if not configuration.runs_check("compliance"):
        return None
    organisation = subject.organisation_id and subject.organisation_id + subject.test_value_suffix
    request = subject.request_id and subject.request_id + subject.test_value_suffix
    return (await monitoring.create(tx, partner, organisation, request, configuration.id)).id


async def start_eligibility_check(
    tx: Tx, partner: Partner, configuration: Configuration, submission_input: SubmissionInput, subject: CheckSubject
) -> UUID | None:
    """Start the eligibility subscription, if the configuration requires one. Raises InvalidSubTags."""
    if not configuration.runs_check("eligibility"):
        return None
    change = eligibility_domain.EligibilitySubscriptionInput(
        subject.organisation_id,
        subject.request_id,
        submission_input.suggested_activity_sub_tags,
        None,
        configuration.id,
    )
    try:
        return (await eligibility.create(tx, partner, change)).id
    except eligibility_domain.InvalidSubTags as unknown:
        raise domain.InvalidSubTags(*unknown.reasons) from None
