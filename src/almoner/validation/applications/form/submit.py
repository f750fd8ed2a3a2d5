"""Submits the form once and redirects the applicant."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import unquote_plus, urlencode, urlsplit, urlunsplit
from uuid import UUID

from almoner.kit.errors import BadRequest, IncorrectParams, Problem
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.observability.loggers import get_logger
from almoner.validation.applications.form import drafts, service, store
from almoner.validation.applications.form.drafts import ApplicantDetails, FormStep
from almoner.validation.applications.form.service import Application
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.invites.domain import Invite, InviteExpired, InviteInvalidState
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import SubmissionDocument
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import (
    NonprofitInput,
    OrganisationNotActive,
    OrganisationNotFound,
    SubmissionInput,
)
from almoner.validation.requests.domain import InvalidRegistryId, RegistryNotFound

_log: Final = get_logger("almoner.validation")
_FIELD: Final = re.compile(r"^body\.[A-Za-z0-9.]+")

STATUS_PAGE: Final = "application"
"""Purpose of the token in emailed links to the status page, and the page's path."""
BY_FORM: Final = "application-by-form"
"""Purpose of the cookie of the browser that submitted the form; it proves no email address."""
LINK_PAGE: Final = "application-link"
"""Purpose of the cookie of visitors who may only have the link emailed again."""
LINK_LIFETIME: Final = timedelta(days=90)
"""How long an emailed link is valid. The last email reports the decision; applicants can have a new link emailed."""
_PARAMETER: Final = "validationSubmissionId"
"""The query parameter added to the partner's redirect URL."""
RESUBMIT_WINDOW: Final = timedelta(minutes=10)
"""A second submission from the same open form within this time counts as a double click."""


class SubmissionRefused(Exception):
    """The submission was refused; ``key`` of the text, ``step`` to go back to."""

    def __init__(self, key: str, step: FormStep | None = None) -> None:
        super().__init__(key)
        self.key = key
        self.step = step


@dataclass(frozen=True, slots=True)
class SubmittedApplication:
    """A new submission, and the URL to redirect to."""

    submission_id: UUID
    submission_id_text: str
    redirect_url: str


@dataclass(frozen=True, slots=True)
class InviteSubmission:
    """The submission that an invite was already used for."""

    submission_id: UUID
    submitted_at: datetime
    redirect_url: str


async def submit_application(tx: Tx, invite_id: UUID, language: str) -> SubmittedApplication:
    """Create a submission from the form's answers.

    Raises NotFound, InviteExpired, InviteInvalidState, SubmissionRefused.
    """
    invite = await invites.get_for_update(tx, ALL_PARTNERS, invite_id)
    invite.ensure_open(tx.now)
    application = await service.load_application(tx, invite_id)
    if (step := drafts.first_incomplete_step(application.draft, application.configuration)) != "review":
        raise SubmissionRefused("apply.problem.sending", step)
    try:
        created = await submissions.create(tx, application.partner, _submission_input(tx, application, language))
    except (InviteExpired, InviteInvalidState):
        raise
    except (OrganisationNotActive, OrganisationNotFound):
        raise SubmissionRefused("apply.problem.organisation.gone", "nonprofit") from None
    except (BadRequest, IncorrectParams) as refused:
        name = tx.ids.encode("validationinvite", invite_id)
        _log.warning("application_refused", invite=name, code=refused.code, fields=_refused_fields(refused))
        of_number = isinstance(refused, RegistryNotFound | InvalidRegistryId)
        raise SubmissionRefused("apply.problem.sending", "nonprofit" if of_number else None) from refused
    await store.delete_draft(tx, invite_id)
    name = tx.ids.encode("validationsubmission", created.id)
    return SubmittedApplication(created.id, name, _next_url(invite, name))


def _refused_fields(refused: Problem) -> list[str]:
    """The names of the refused fields, without the reasons, which may quote what was entered."""
    return sorted({field for reason in refused.reasons for field in _FIELD.findall(reason)})


def _next_url(invite: Invite, submission: str) -> str:
    """The partner's redirect URL, or our status page."""
    return (
        build_redirect_url_with_submission(invite.redirect_url, submission)
        if invite.redirect_url
        else f"/{STATUS_PAGE}/{submission}"
    )


def _submission_input(tx: Tx, application: Application, language: str) -> SubmissionInput:
    draft, unlisted = application.draft, application.draft.unlisted
    person = draft.person or ApplicantDetails()
    return SubmissionInput(
        validation_invite_id=tx.ids.encode("validationinvite", application.invite.id),
        organisation_id=tx.ids.encode_or_none("organisation", draft.organisation),
        details=NonprofitInput(unlisted.name, unlisted.registry, unlisted.number, unlisted.website, unlisted.country)
        if unlisted is not None
        else None,
        language=language,
        first_name=person.first_name or None,
        last_name=person.last_name or None,
        email=person.email or None,
        title=person.title or None,
        metadata=application.invite.metadata,
        partner_fields=_answers(application),
    )


def _answers(application: Application) -> dict[str, object] | None:
    given = application.draft.answers or {}
    answers: dict[str, object] = {}
    for field in application.configuration.partner_fields:
        if answer := given.get(field.id, ""):
            answers[field.id] = drafts.parse_number(answer) if field.kind == "number" else answer
    return answers or None


def build_redirect_url_with_submission(redirect_url: str, submission_id: str) -> str:
    """The partner's redirect URL with the submission's ID."""
    parts = urlsplit(redirect_url)
    others = [pair for pair in parts.query.split("&") if pair and unquote_plus(pair.partition("=")[0]) != _PARAMETER]
    return urlunsplit(parts._replace(query="&".join([*others, urlencode({_PARAMETER: submission_id})])))


def build_status_page_url(tx: Tx, submission_id: UUID, emailed_at: datetime) -> str:
    """The link to the status page, as emailed at a given time."""
    token = tx.vault.create_expiring_page_token(STATUS_PAGE, submission_id, emailed_at + LINK_LIFETIME)
    return f"{tx.base_urls.pages}/{STATUS_PAGE}?token={token}"


async def find_invite_submission(tx: Tx, invite_id: UUID) -> InviteSubmission | None:
    """The submission created from an invite; None if there is none."""
    found = await store.find_submission_id_and_creation_time(tx, invite_id)
    if found is None:
        return None
    invite = await invites.get(tx, ALL_PARTNERS, invite_id)
    return InviteSubmission(*found, _next_url(invite, tx.ids.encode("validationsubmission", found[0])))


async def list_invite_documents(tx: Tx, invite: Invite) -> list[SubmissionDocument]:
    """The documents uploaded so far."""
    return await submission_documents.list_by_invite(tx, invite)
