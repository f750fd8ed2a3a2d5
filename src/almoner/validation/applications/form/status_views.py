"""Renders the status page of an application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from starlette.responses import HTMLResponse

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.kit.errors import NotFound
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.pages.rendering import PageRenderer, bidi_isolated
from almoner.validation.applications.form import service, status, store
from almoner.validation.applications.form.view_models import (
    FORMATS,
    build_branding_view_model,
    format_file_size,
    list_language_tags_and_names,
    mask_email,
    registry_display_name,
)
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import SubmissionDocument
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import Submission
from almoner.validation.applications.submissions.service import Requirement, requirements_of
from almoner.validation.decisions.appeals import service as appeals
from almoner.validation.decisions.appeals.domain import Appeal
from almoner.validation.requests import service as validation_requests
from almoner.validation.requests.domain import RegisterEntryCandidate, candidates_from_evaluation

_ICONS: Final = {
    "received": "clock",
    "confirming": "mail",
    "missing": "info",
    "processed": "clock",
    "succeeded": "check",
    "failed": "info",
    "appealed": "clock",
    "upheld": "info",
    "reversed": "check",
}
_MARKS: Final = {"passed": "check", "failed": "cross", "undecided": "clock", "pending": "clock"}
_CLASSES: Final = {"passed": "reached", "failed": "refused", "undecided": "current", "pending": "ahead"}


@dataclass(frozen=True, slots=True)
class ApplicationStatus:
    """Everything that the status page and emails show about an application."""

    submission: Submission
    appeal: Appeal | None
    account: PartnerAccount
    documents: Sequence[SubmissionDocument]
    language: str
    """The language chosen on the page, else the submission's."""

    @property
    def missing_requirements(self) -> list[Requirement]:
        """The requirements that are missing."""
        return [one for one in requirements_of(self.submission) if one.source != "reviewer"]

    @property
    def state(self) -> status.State:
        """The overall state."""
        return status.application_state_of(self.submission, self.appeal, self.missing_requirements)

    @property
    def unconfirmed_email(self) -> str | None:
        """The email address that is not confirmed yet, if any."""
        agent, waits = (
            self.submission.check_records.agent,
            self.submission.is_open or self.submission.has_checks_resumed_by_appeal,
        )
        return agent.email if waits and agent is not None and agent.is_email_unconfirmed else None

    @property
    def partner_name(self) -> str:
        """The name of the partner it was submitted to."""
        return self.submission.check_records.configuration.display_name


async def get_application_language(tx: Tx, submission_id: UUID) -> str:
    """The language chosen on the page, else the submission's. Raises NotFound."""
    if (found := await store.find_application_language(tx, submission_id)) is None:
        raise NotFound
    return found


async def load_application_status(tx: Tx, submission_id: UUID) -> ApplicationStatus:
    """The status of one application. Raises NotFound."""
    found = await submissions.get(tx, ALL_PARTNERS, submission_id)
    partner = Partner(found.partner_id)
    return ApplicationStatus(
        found,
        await appeals.find_latest(tx, partner, found.id),
        await partners.get(tx, partner),
        await submission_documents.list_by_submission(tx, partner, found.id),
        await get_application_language(tx, found.id),
    )


async def list_registries_for_correction(tx: Tx, application_status: ApplicationStatus) -> Sequence[Registry]:
    """The registers to choose from for a corrected number; none if it cannot be corrected."""
    if not submissions.may_correct_registry_number(application_status.submission):
        return []
    return await service.list_registries(tx, application_status.submission.country_code)


async def list_organisation_candidates(
    tx: Tx, application_status: ApplicationStatus
) -> Sequence[RegisterEntryCandidate]:
    """Registered organisations that may be meant, if the number can be corrected."""
    request = application_status.submission.check_records.request
    if request is None or not submissions.may_correct_registry_number(application_status.submission):
        return []
    evaluation = await validation_requests.find_latest_evaluation(tx, request)
    return candidates_from_evaluation(evaluation) if evaluation else []


def visible_form_field_names(
    application_status: ApplicationStatus, *, is_submitter: bool, can_correct_number: bool
) -> set[str]:
    """The names of the fields that the page shows. ``can_correct_number``: whether it can be corrected."""
    asked = {
        "file": bool(status.list_checks_accepting_documents(application_status.submission)),
        "text": status.may_appeal(application_status.submission, application_status.appeal),
        "email": is_submitter and application_status.unconfirmed_email is not None,
        "registry": can_correct_number,
        "number": can_correct_number,
    }
    return {field for field, there in asked.items() if there}


class StatusViews:
    """Renders the status page."""

    def __init__(self, pages: PageRenderer) -> None:
        self._pages = pages

    def render_page(
        self,
        application_status: ApplicationStatus,
        page_path: str,
        csrf_token: str,
        *,
        is_submitter: bool,
        registries: Sequence[Registry],
        candidates: Sequence[RegisterEntryCandidate],
        http_status: int,
        problems: Mapping[str, str],
        notice: str | None,
        is_from_outdated_page: bool,
        entered_values: Mapping[str, str],
    ) -> HTMLResponse:
        """Render the status page.

        ``is_submitter``: whether this browser sent the form; only then the page shows the email address. ``problems``
        and ``notice`` are text keys; ``entered_values``: rejected values by field.
        """
        submission, appeal = application_status.submission, application_status.appeal
        language = self._pages.language_for_tag(application_status.language)
        names = {one.code: registry_display_name(one) for one in registries}
        values = self._values(application_status, names, entered_values, sender=is_submitter)
        reported = {name: bidi_isolated(value) for name, value in values.items()}
        return self._pages.render_page(
            "application.html",
            language,
            status=http_status,
            face=build_branding_view_model(submission.check_records.configuration, application_status.account),
            home=page_path,
            csrf=csrf_token,
            offered=list_language_tags_and_names(self._pages.catalogues.offered_languages),
            chosen_language=language.catalogue,
            state=application_status.state,
            state_icon=_ICONS[application_status.state],
            organisation=submission.organisation_name,
            sent=submission.created_at,
            missing=application_status.missing_requirements,
            checks=[self._row(row) for row in status.summarise_checks(submission, appeal)],
            kinds=(kinds := status.list_checks_accepting_documents(submission)),
            chosen_kind=entered_values.get("type") or next(iter(kinds), None),
            documents=self._documents(application_status, language, sender=is_submitter),
            appeal=appeal,
            appeal_name=self._pages.deployment.ids.encode_or_none("appeal", appeal.id if appeal else None),
            may_appeal=status.may_appeal(submission, appeal),
            typed=entered_values,
            email=values["email"],
            sender=is_submitter,
            number=self._number(application_status, names, entered_values),
            candidates=candidates,
            problems={field: language.html(key, **reported) for field, key in problems.items()},
            notice=language.html(notice, **reported) if notice else None,
            late=is_from_outdated_page,
        )

    def _values(
        self,
        application_status: ApplicationStatus,
        names: Mapping[str, str],
        entered_values: Mapping[str, str],
        *,
        sender: bool,
    ) -> dict[str, str]:
        """The placeholder values of the texts."""
        email = application_status.unconfirmed_email or ""
        return {
            "partner": application_status.partner_name,
            "organisation": application_status.submission.organisation_name,
            "email": email if sender or not email else mask_email(email),
            "register": names.get(entered_values.get("registry", ""), ""),
        }

    def _number(
        self, application_status: ApplicationStatus, names: Mapping[str, str], entered_values: Mapping[str, str]
    ) -> dict[str, Any] | None:
        """The form to correct the register and number; None if they cannot be corrected."""
        request = application_status.submission.check_records.request
        if not names or request is None:
            return None
        asked = request.details
        return {
            "registries": list(names.items()),
            "registry": entered_values.get("registry", _code_of(asked.registry_name, names)),
            "number": entered_values.get("number", asked.registry_number),
        }

    def _row(self, row: status.CheckSummary) -> dict[str, Any]:
        return {
            "name": row.check,
            "standing": row.status if row.was_evaluated else None,
            "reason": row.reason,
            "icon": _MARKS[row.status] if row.was_evaluated else "info",
            "class": _CLASSES[row.status] if row.was_evaluated else "ahead",
        }

    def _documents(self, application_status: ApplicationStatus, language: Any, *, sender: bool) -> list[dict[str, Any]]:
        return [
            {
                "state": one.document.scan_status,
                "name": one.document.file_name if sender else None,
                "type": one.type,
                "format": FORMATS[one.document.media_type],
                "size": format_file_size(one.document.size, language.locale),
            }
            for one in application_status.documents
        ]


def _code_of(given: str, names: Mapping[str, str]) -> str:
    """The code of a register given by code or name; else that of the only register."""
    found = next((code for code, name in names.items() if given.casefold() in (code.casefold(), name.casefold())), "")
    return found or (next(iter(names)) if len(names) == 1 else "")
