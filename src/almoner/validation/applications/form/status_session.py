"""Access to the status page of an application: by an emailed link, or for the browser that submitted the form."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response

from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Tx
from almoner.platform.pages import link_sessions
from almoner.platform.pages.link_sessions import LinkSession
from almoner.platform.pages.rendering import PageRenderer
from almoner.validation.applications.form import status_views
from almoner.validation.applications.form.form_session import FormPagesBase, InvalidFormPost, StatusLinkExpired
from almoner.validation.applications.form.status_views import ApplicationStatus, StatusViews
from almoner.validation.applications.form.submit import BY_FORM, LINK_LIFETIME, STATUS_PAGE
from almoner.validation.applications.submissions import service as submissions

_PURPOSES: Final = (STATUS_PAGE, BY_FORM)
_NOTICES: Final = {
    "added": "apply.documents.added",
    "appealed": "applied.appeal.sent",
    "mailed": "applied.email.sent",
    "corrected": "applied.number.done",
}


@dataclass(frozen=True, slots=True)
class StatusPageRequest:
    """A request with the session cookie of a submission's status page.

    ``is_from_email_link``: whether it came by an emailed link, not by the form. ``is_submitting_browser``: whether this
    browser submitted the form, whichever link it used.
    """

    request: Request
    link_session: LinkSession
    submission_id: UUID
    submission_id_text: str
    is_from_email_link: bool
    is_submitting_browser: bool

    @property
    def page_path(self) -> str:
        """The page's path."""
        return f"/{STATUS_PAGE}/{self.submission_id_text}"


class StatusPagesBase(FormPagesBase):
    """Shared parts of the status pages."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        super().__init__(db, pages)
        self._status = StatusViews(pages)

    async def was_link_sent_to_current_address(self, submission_id: UUID, link_expires_at: datetime) -> bool:
        """Whether the link was emailed to the application's current address."""
        async with self.db.read() as tx:
            corrected = await submissions.find_email_correction_time(tx, submission_id)
        # Links have whole seconds.
        return corrected is None or link_expires_at - LINK_LIFETIME >= corrected.replace(microsecond=0)

    async def _is_for_this_address(self, submission_id: UUID, visit: LinkSession) -> bool:
        return visit.expires_at is not None and await self.was_link_sent_to_current_address(
            submission_id, visit.expires_at
        )

    async def load_status_request(self, request: Request) -> StatusPageRequest:
        """The visit of a browser with a valid cookie. Raises NotFound, StatusLinkExpired."""
        name = request.path_params["id"]
        found = self._ids.decode("validationsubmission", name)
        if found is None:
            raise NotFound
        known = {
            purpose: link_sessions.find_link_session(request, self._vault, purpose, found, name)
            for purpose in _PURPOSES
        }
        by_link, by_form = known[STATUS_PAGE], known[BY_FORM]
        sender = by_form is not None and self.is_session_unexpired(by_form)
        if (
            by_link is not None
            and self.is_session_unexpired(by_link)
            and await self._is_for_this_address(found, by_link)
        ):
            return StatusPageRequest(
                request, by_link, found, name, is_from_email_link=True, is_submitting_browser=sender
            )
        if by_form is not None and sender:
            return StatusPageRequest(
                request, by_form, found, name, is_from_email_link=False, is_submitting_browser=True
            )
        if by_link is not None or by_form is not None:
            raise StatusLinkExpired(found)
        raise NotFound

    async def load_status_request_for_post(self, request: Request) -> StatusPageRequest:
        """Like ``load_status_request``, for a form post; errors are shown in the application's language."""
        seen = await self.load_status_request(request)
        async with self.db.read() as tx:
            request.state.language = await status_views.get_application_language(tx, seen.submission_id)
        return seen

    def ensure_valid_status_csrf_token(self, status_request: StatusPageRequest, csrf_token: object) -> None:
        """Raises InvalidFormPost unless the CSRF token is valid."""
        if not (
            link_sessions.is_same_origin(status_request.request, self._origin)
            and status_request.link_session.matches_csrf_token(csrf_token)
        ):
            raise InvalidFormPost

    async def _record(self, tx: Tx, visit: StatusPageRequest, action: str) -> None:
        """Audit an action of the applicant."""
        submission = await submissions.get(tx, ALL_PARTNERS, visit.submission_id)
        address = visit.request.client.host if visit.request.client else None
        await audit.record_entry(
            tx,
            submission.partner_id,
            Actor("system", "applicant"),
            action,
            visit.submission_id_text,
            ip_address=address,
        )

    async def render_status_page(
        self,
        status_request: StatusPageRequest,
        *,
        http_status: int = 200,
        problems: Mapping[str, str] | None = None,
        entered_values: Mapping[str, str] | None = None,
        is_from_outdated_page: bool = False,
    ) -> Response:
        """Render the page.

        ``problems``: keys by field; ``entered_values``: rejected values by field. ``is_from_outdated_page``: the form
        was posted from a page that was opened before a decision.
        """
        async with self.db.read() as tx:
            known: ApplicationStatus = await status_views.load_application_status(tx, status_request.submission_id)
            registries = await status_views.list_registries_for_correction(tx, known)
            candidates = await status_views.list_organisation_candidates(tx, known)
        status_request.request.state.language = known.language  # used by error pages of this request
        asked = status_views.visible_form_field_names(
            known, is_submitter=status_request.is_submitting_browser, can_correct_number=bool(registries)
        )
        if problems and asked.isdisjoint(problems):
            http_status, problems, is_from_outdated_page = (
                200,
                None,
                True,
            )  # problems of a field that is no longer shown say nothing
        notice = None if problems else _NOTICES.get(status_request.request.query_params.get("did", ""))
        return self._status.render_page(
            known,
            status_request.page_path,
            status_request.link_session.csrf,
            is_submitter=status_request.is_submitting_browser,
            registries=registries,
            candidates=candidates,
            http_status=http_status,
            problems=problems or {},
            notice="applied.late" if is_from_outdated_page else notice,
            is_from_outdated_page=is_from_outdated_page,
            entered_values=entered_values or {},
        )
