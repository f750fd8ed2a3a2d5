"""Creates and evaluates submissions; all checks of the configuration start at once.

Every change locks the row first. Checks report their results by events (``jobs``).
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.paging import RequestedPage
from almoner.platform.jobs import queue
from almoner.platform.jobs.queue import JobKind
from almoner.validation.applications.configurations import domain as configurations_domain
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.domain import Check, Configuration
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.invites.domain import Invite, InviteNotFound
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import EvidenceTargets
from almoner.validation.applications.submissions import (
    corrections,
    domain,
    loader,
    schemas,
    search_text,
    start_checks,
    store,
    store_erasure,
    submission_evaluation,
)
from almoner.validation.applications.submissions.domain import (
    Applicant,
    CheckRecords,
    NonprofitInput,
    Submission,
    SubmissionFilters,
    SubmissionInput,
    SubmissionStatus,
)
from almoner.validation.applications.submissions.evidence_requests import MAX_ASKED as MAX_ASKED
from almoner.validation.applications.submissions.evidence_requests import (
    list_requestable_evidence_codes as list_requestable_evidence_codes,
)
from almoner.validation.applications.submissions.evidence_requests import (
    load_requested_evidence_by_check_record_id as load_requested_evidence_by_check_record_id,
)
from almoner.validation.applications.submissions.evidence_requests import (
    lock_submissions_for_evidence_request as lock_submissions_for_evidence_request,
)
from almoner.validation.applications.submissions.evidence_requests import request_evidence as request_evidence
from almoner.validation.applications.submissions.requirements import Requirement as Requirement
from almoner.validation.applications.submissions.requirements import RequirementCode as RequirementCode
from almoner.validation.applications.submissions.requirements import (
    may_correct_registry_number as may_correct_registry_number,
)
from almoner.validation.applications.submissions.requirements import requirements_of as requirements_of
from almoner.validation.applications.submissions.schemas import ValidationSubmissionResponse
from almoner.validation.applications.submissions.start_checks import CheckSubject
from almoner.validation.applications.submissions.store import (
    can_request_evidence_for_any_submission as can_request_evidence_for_any_submission,
)
from almoner.validation.applications.submissions.store import find_email_correction_time as find_email_correction_time
from almoner.validation.applications.submissions.store import list_open_submission_ids as list_open_submission_ids
from almoner.validation.applications.submissions.store import (
    list_submissions_to_ask_for_evidence as list_submissions_to_ask_for_evidence,
)
from almoner.validation.applications.submissions.submission_evaluation import evaluate_submission as evaluate_submission
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import domain as validation_requests_domain
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import ValidationRequest

Scope = Partner | AllPartners


class EvaluateSubmissionJob(msgspec.Struct, frozen=True):
    """The submission to evaluate."""

    submission: UUID


EVALUATE: Final = JobKind("validation_submissions.evaluate", EvaluateSubmissionJob)
BATCH: Final = 1000  # S4
_LANGUAGE: Final = "en"
_LONGEST_NAME: Final = 500


@dataclass(frozen=True, slots=True)
class _NonprofitSubject:
    """The nonprofit: an organisation, or a pending request. ``given``: its ID as given, None if it was not."""

    organisation: Organisation | None
    request: ValidationRequest | None
    given: str | None = None

    @property
    def name(self) -> str:
        """The name shown to people."""
        return next(iter(self.names), "")

    @property
    def names(self) -> list[str]:
        """All its names, the one shown to people first."""
        known = [self.organisation.effective_display_name, self.organisation.name] if self.organisation else []
        return [*known, *([self.request.details.name] if self.request else [])]

    @property
    def number(self) -> str | None:
        """Its number, from its register or as stated."""
        if self.organisation is not None:
            return self.organisation.registry_number
        return self.request.details.registry_number if self.request else None


async def create(tx: Tx, partner: Partner, submission_input: SubmissionInput) -> Submission:
    """Create a submission and start all its checks in the same transaction.

    A given invite is completed, and its documents move to the submission. Raises the errors of ``domain``, of invites
    and of validation requests; IncorrectParams naming everything that is missing.
    """
    invite, configuration = await _load_invite_and_configuration(tx, partner, submission_input)
    if wrong := _problems(submission_input, configuration):
        raise IncorrectParams(*wrong)
    about = await _find_nonprofit(tx, partner, submission_input, configuration)
    new = await _start_submission(tx, partner, submission_input, configuration, about, invite)
    given = submission_input.details.registry_number if submission_input.details else None
    await store.insert(tx, partner, new, search_text.build_search_text(about.names, given or about.number))
    if invite is not None:
        await invites.mark_completed(tx, invite)
        open_request = about.request.id if about.request is not None and about.organisation is None else None
        checked = EvidenceTargets(open_request, new.agent_verification_id)
        if unknown := await submission_documents.assign_to_submission_and_list_unknown_ids(
            tx, invite, new.id, checked, submission_input.documents
        ):
            raise domain.DocumentNotFound(
                *(f"body.documentIds '{text[:100]}' names no document of the invite" for text in unknown)
            )
    made = await get(tx, partner, new.id)
    await outbox.emit_event(tx, partner.id, domain.CREATED, serialise_for_api(tx, made))
    await enqueue_evaluations(tx, [made.id])
    return made


async def _load_invite_and_configuration(
    tx: Tx, partner: Partner, submission_input: SubmissionInput
) -> tuple[Invite | None, Configuration]:
    """Lock the invite, if given, and load the configuration."""
    invite = None
    if submission_input.validation_invite_id is not None:
        if submission_input.configuration_id is not None:
            raise domain.BothConfigurationAndInviteGiven
        named = tx.ids.decode("validationinvite", submission_input.validation_invite_id)
        if named is None:
            raise InviteNotFound(
                f"body.validationInviteId '{submission_input.validation_invite_id[:100]}' names no invite"
            )
        invite = await invites.lock_open_invite(tx, partner, named)
        if invite.configuration_id is not None:
            return invite, await configurations.get(tx, partner, invite.configuration_id)
    if submission_input.configuration_id is not None:
        known = tx.ids.decode("hostedconfiguration", submission_input.configuration_id)
        found = await configurations.find(tx, partner, known) if known else None
        if found is None:
            raise domain.InvalidConfigurationId(
                f"body.configurationId '{submission_input.configuration_id[:100]}' names no submission configuration"
            )
        return None, found
    if (default := await configurations.find_default(tx, partner)) is None:
        raise domain.NoConfigurationForPartner
    return invite, default


def _problems(submission_input: SubmissionInput, configuration: Configuration) -> list[str]:
    """One sentence for every missing or surplus value."""
    wrong = []
    named = [submission_input.organisation_id, submission_input.validation_request_id]
    if sum(one is not None for one in named) > 1:
        wrong.append("body must have one of organisationId and validationRequestId, not both")
    if not any(one is not None for one in named):
        stated_in = submission_input.language or submission_input.validation_invite_id  # an invite has a language
        missing = (submission_input.details or NonprofitInput()).missing_fields() + ([] if stated_in else ["language"])
        wrong += [f"body.{name} is required without an organisationId" for name in missing]
    if configuration.runs_check("agent_verification"):
        verified = "is required: the configuration verifies the agent"
        if not (submission_input.first_name or submission_input.last_name):
            wrong.append(f"body.firstName or lastName {verified}")
        if not submission_input.email:
            wrong.append(f"body.email {verified}")
    if submission_input.metadata:
        wrong += metadata_rules.find_metadata_problems(submission_input.metadata)
    answers = submission_input.partner_fields or {}
    wrong += configurations_domain.find_answer_problems(configuration.partner_fields, answers)
    if (
        submission_input.validation_invite_id is not None
    ):  # required questions bind invited applicants only, not the partner itself
        wrong += [
            f"body.partnerFields.{field.id} is required: the configuration asks it of who is invited"
            for field in configurations_domain.find_unanswered_required_fields(configuration.partner_fields, answers)
        ]
    if submission_input.documents and submission_input.validation_invite_id is None:
        wrong.append("body.documentIds are those of an invite: body.validationInviteId is required with them")
    return wrong


async def _find_nonprofit(
    tx: Tx, partner: Partner, submission_input: SubmissionInput, configuration: Configuration
) -> _NonprofitSubject:
    """The nonprofit; starts a validation request if there is no accepted one for it."""
    if submission_input.organisation_id is not None:
        return _NonprofitSubject(
            await _get_organisation(tx, partner, submission_input.organisation_id),
            None,
            submission_input.organisation_id,
        )
    if submission_input.validation_request_id is not None:
        return await _get_request(tx, partner, submission_input.validation_request_id)
    details = _complete_details(submission_input.details or NonprofitInput())
    if not configuration.runs_check("validation_request"):
        return _NonprofitSubject(await _get_listed(tx, partner, details), None)
    before = await validation_requests.find_accepted_request_of_nonprofit(tx, partner, details)
    if before is not None and before.organisation_id is not None:
        known = await organisations.get(tx, partner, before.organisation_id)
        if known.active:
            return _NonprofitSubject(known, before)  # the accepted request is reused
    return _NonprofitSubject(None, await validation_requests.create(tx, partner, details))


def _complete_details(stated: NonprofitInput) -> validation_requests_domain.NonprofitDetails:
    return validation_requests_domain.NonprofitDetails(
        stated.name or "",
        stated.registry_name or "",
        stated.registry_number or "",
        stated.website or "",
        stated.country_code or "",
        stated.email,
        stated.address_line_1,
        stated.address_line_2,
        stated.city,
        stated.state,
        stated.postal,
    )


async def _get_organisation(tx: Tx, partner: Partner, text: str) -> Organisation:
    named = tx.ids.decode("organisation", monitoring.strip_test_value(tx, text))
    try:
        found = await organisations.get(tx, partner, named) if named else None
    except NotFound:
        found = None
    if found is None:
        raise domain.OrganisationNotFound(f"body.organisationId '{text[:100]}' names no organisation")
    return _ensure_active(found)


def _ensure_active(found: Organisation) -> Organisation:
    if not found.active:
        raise domain.OrganisationNotActive(f"{found.effective_display_name} is not active: {found.inactive_reason}")
    return found


async def _get_request(tx: Tx, partner: Partner, text: str) -> _NonprofitSubject:
    named = tx.ids.decode("validationrequest", monitoring.strip_test_value(tx, text))
    try:
        found = await validation_requests.get(tx, partner, named) if named else None
    except NotFound:
        found = None
    if found is None:
        raise domain.ValidationRequestNotFound(f"body.validationRequestId '{text[:100]}' names no validation request")
    if found.status == "rejected":
        raise domain.ValidationRequestAlreadyRejected(f"it was rejected: {found.rejection_reason}")
    if found.organisation_id is None:
        return _NonprofitSubject(None, found, text)
    return _NonprofitSubject(_ensure_active(await organisations.get(tx, partner, found.organisation_id)), found, text)


async def _get_listed(tx: Tx, partner: Partner, details: validation_requests_domain.NonprofitDetails) -> Organisation:
    """The active organisation of a number, for configurations that run no validation request."""
    try:
        found = await organisations.get_by_number(
            tx, partner, details.country_code, details.registry_name, details.registry_number
        )
    except NotFound as unknown:
        raise domain.OrganisationNotFound(
            "the configuration asks for no validation request: name an organisation that is listed", *unknown.reasons
        ) from None
    return _ensure_active(found)


async def _start_submission(
    tx: Tx,
    partner: Partner,
    submission_input: SubmissionInput,
    configuration: Configuration,
    about: _NonprofitSubject,
    invite: Invite | None,
) -> Submission:
    """Insert the submission and start its checks, each on the organisation, else on the request."""
    known, request = about.organisation, about.request
    whom = CheckSubject(
        tx.ids.encode("organisation", known.id) if known else None,
        tx.ids.encode("validationrequest", request.id) if request and not known else None,
        (about.given or "").removeprefix(monitoring.strip_test_value(tx, about.given or "")),
    )
    language = submission_input.language or (invite.language if invite else _LANGUAGE)
    agent = await start_checks.start_agent_verification(tx, partner, configuration, submission_input, whom, language)
    return Submission(
        id=tx.new_id(),
        partner_id=partner.id,
        configuration_id=configuration.id,
        validation_invite_id=invite.id if invite else None,
        status="pending",
        checks=tuple(check for check in configurations_domain.CHECKS if configuration.runs_check(check)),
        organisation_id=known.id if known else None,
        validation_request_id=request.id if request else None,
        monitoring_subscription_id=await start_checks.start_monitoring(tx, partner, configuration, whom),
        eligibility_subscription_id=await start_checks.start_eligibility_check(
            tx, partner, configuration, submission_input, whom
        ),
        agent_verification_id=agent,
        organisation_name=about.name[:_LONGEST_NAME],
        country_code=known.country_code if known else request.details.country_code if request else "",
        language=language,
        own_applicant=Applicant()
        if agent
        else Applicant(submission_input.first_name, submission_input.last_name, submission_input.email),
        metadata=invite.metadata if invite and submission_input.metadata is None else submission_input.metadata,
        partner_fields=submission_input.partner_fields,
        failure_reasons=None,
        created_at=tx.now,
        processed_at=None,
        check_records=CheckRecords(configuration),
    )


async def get(tx: Tx, scope: Scope, submission_id: UUID) -> Submission:
    """Get a submission with the results of its checks. Raises NotFound."""
    if (row := await store.find(tx, scope, submission_id)) is None:
        raise NotFound
    return (await loader.load_submissions(tx, Partner(row["partner_id"]), [row]))[0]


async def get_for_update(tx: Tx, scope: Scope, submission_id: UUID) -> Submission:
    """Lock one submission until the transaction ends. Raises NotFound."""
    return await submission_evaluation.get_for_update(tx, scope, submission_id)


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: SubmissionFilters
) -> tuple[list[Submission], int]:
    """One page and the exact total."""
    rows, total = await store.list_page(tx, partner, page_, filters)
    return await loader.load_submissions(tx, partner, rows), total


def serialise_for_api(tx: Tx, submission: Submission) -> ValidationSubmissionResponse:
    """The submission as an API record."""
    return schemas.submission_response(tx, submission)


async def apply_appeal_reversal(
    tx: Tx, scope: Scope, submission_id: UUID, status: SubmissionStatus, overridden_checks: Collection[Check]
) -> Submission:
    """Change a failed submission's status after an appeal, and emit one event.

    ``overridden_checks``: the checks that count as passed from now on, in addition to those of earlier appeals. Raises
    NotFound, InvalidState.
    """
    locked = await submission_evaluation.get_for_update(tx, scope, submission_id)
    locked = replace(
        locked,
        overridden_checks=tuple(
            check for check in locked.checks if check in {*locked.overridden_checks, *overridden_checks}
        ),
    )
    await store.mark_checks_overridden(tx, locked.id, locked.overridden_checks)
    await submission_evaluation.copy_organisation_from_validation_request(tx, locked)
    if status != "failed":
        return await submission_evaluation.apply_transition(tx, locked, locked.with_status(status, None, tx.now))
    return await submission_evaluation.update_failure_reasons(tx, locked)


async def correct_email(tx: Tx, scope: Scope, submission_id: UUID, email: str) -> Submission | None:
    """Verify the applicant at another address; None if limits forbid an email. Raises NotFound, InvalidState."""
    return await corrections.correct_email(tx, scope, submission_id, email)


async def correct_registry_number(
    tx: Tx, scope: Scope, submission_id: UUID, registry_name: str, number: str
) -> Submission:
    """Look the nonprofit up by another register or number.

    Raises NotFound, InvalidState, and what ``requests.correct_registry_number`` raises.
    """
    return await corrections.correct_registry_number(tx, scope, submission_id, registry_name, number)


async def enqueue_evaluations(tx: Tx, submission_ids: list[UUID]) -> None:
    """Enqueue evaluations of submissions after the commit."""
    await queue.enqueue_jobs(
        tx, [EVALUATE.build_job(EvaluateSubmissionJob(one), unique_key=str(one)) for one in submission_ids]
    )


async def evaluate_after_check_results(tx: Tx, check: Check, check_record_ids: list[UUID]) -> None:
    """Evaluate the submissions that wait for these check results."""
    await enqueue_evaluations(tx, await store.list_open_submission_ids(tx, check, check_record_ids))


async def evaluate_after_request_decisions(tx: Tx, request_ids: list[UUID]) -> None:
    """Evaluate submissions after decisions on their requests; ended ones are indexed by organisation."""
    for submission_id in await store.lock_submissions_failed_before_request_acceptance(tx, request_ids):
        await submission_evaluation.copy_organisation_from_validation_request(
            tx, await submission_evaluation.get_for_update(tx, ALL_PARTNERS, submission_id)
        )
    await evaluate_after_check_results(tx, "validation_request", request_ids)


async def evaluate_after_configuration_change(tx: Tx, partner: Partner, configuration_id: UUID) -> None:
    """Evaluate undecided submissions of a changed configuration."""
    await enqueue_evaluations(tx, await store.list_undecided_submission_ids(tx, partner, configuration_id))


async def erase_personal_data(tx: Tx, limit: int = BATCH) -> int:
    """Erase applicants and their answers after the retention period (V6); returns how many.

    Applicants verified as agents are erased with that verification.
    """
    return sum(
        [
            await store_erasure.erase_personal_data(tx, ended, tx.now - after, limit)
            for ended, after in domain.ERASE_AFTER.items()
        ]
    )


async def next_erasure_at(tx: Tx) -> datetime | None:
    """When the next submission's personal data are erased."""
    due = []
    for ended, after in domain.ERASE_AFTER.items():
        if (at := await store_erasure.find_earliest_unerased_submission_end(tx, ended, tx.now - after)) is not None:
            due.append(at + after)
    return min(due, default=None)
