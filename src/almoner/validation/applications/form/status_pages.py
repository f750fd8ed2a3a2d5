"""The status page of an application, for whoever has its emailed link.

GET changes nothing. POST needs the cookie of the link, its CSRF token and the page's own origin (architecture 5).
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import NotFound, Problem
from almoner.kit.text import clean_text
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.http.uploads import ReceivedUpload
from almoner.platform.pages import link_sessions
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.link_sessions import CSRF_FIELD
from almoner.platform.pages.rendering import PageRenderer
from almoner.validation.agents import service as agents
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.form import status, store, view_models
from almoner.validation.applications.form.correction_pages import ApplicationCorrectionPages
from almoner.validation.applications.form.form_documents import (
    parse_document_kind_or_first,
    receive_upload,
    upload_problem_text_key,
)
from almoner.validation.applications.form.form_session import StatusLinkExpired, redirect_to, with_form_error_pages
from almoner.validation.applications.form.resend_link_pages import ResendApplicationLinkPages
from almoner.validation.applications.form.status_session import StatusPageRequest, StatusPagesBase
from almoner.validation.applications.form.submit import STATUS_PAGE
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import EvidenceTargets, Kind
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.applications.submissions.domain import InvalidState
from almoner.validation.decisions.appeals import service as appeals

_COOKIE_SECONDS: Final = 30 * 24 * 3600  # the link opens it again


class ApplicationStatusPages(StatusPagesBase):
    """The status page of one application."""

    def __init__(self, db: Database, pages: PageRenderer, intake: UploadIntake) -> None:
        super().__init__(db, pages)
        self._intake = intake
        self._links = ResendApplicationLinkPages(db, pages)
        self._corrections = ApplicationCorrectionPages(db, pages)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(f"/{STATUS_PAGE}", self.open_link, methods=["GET"]),
            Route(f"/{STATUS_PAGE}/{{id}}", self.status_page, methods=["GET"]),
            Route(f"/{STATUS_PAGE}/{{id}}/appeal", self.submit_appeal, methods=["POST"]),
            Route(f"/{STATUS_PAGE}/{{id}}/language", self.choose_language, methods=["POST"]),
            Route(f"/{STATUS_PAGE}/{{id}}/documents", self.upload_document, methods=["POST"]),
            *self._corrections.routes(),
            *self._links.routes(),
        ]

    @with_form_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        token = request.query_params.get("token", "")
        if (read := self._vault.read_expiring_page_token(STATUS_PAGE, token)) is None:
            if (found := self._vault.read_page_token(STATUS_PAGE, token)) is not None:
                raise StatusLinkExpired(found)  # emailed when links did not expire yet
            raise NotFound
        found, until = read
        if until <= self._now() or not await self.was_link_sent_to_current_address(found, until):
            raise StatusLinkExpired(found)
        name = self._ids.encode("validationsubmission", found)
        response = redirect_to(f"/{STATUS_PAGE}/{name}")
        # A second tab reuses the first one's session: a new one would void the form open there.
        visit = link_sessions.find_link_session(request, self._vault, STATUS_PAGE, found, name)
        if (
            visit is None
            or visit.expires_at is None
            or not (
                self.is_session_unexpired(visit)
                and await self.was_link_sent_to_current_address(found, visit.expires_at)
            )
        ):
            visit = link_sessions.begin_link_session(self._vault, STATUS_PAGE, found, name, until)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    @with_form_error_pages
    async def status_page(self, request: Request) -> Response:
        """Show the status."""
        return await self.render_status_page(await self.load_status_request(request))

    @with_form_error_pages
    async def submit_appeal(self, request: Request) -> Response:
        """Submit an appeal."""
        seen = await self.load_status_request_for_post(request)
        form = await read_form(request)
        self.ensure_valid_status_csrf_token(seen, form.get(CSRF_FIELD))
        text = clean_text(str(form.get("text", "")), keep_line_breaks=True)
        if (problem := status.find_appeal_text_problem(text)) is not None:
            return await self.render_status_page(
                seen, http_status=422, problems={"text": problem}, entered_values={"text": text}
            )
        try:
            async with self.db.write() as tx:
                locked = await submissions.get_for_update(tx, ALL_PARTNERS, seen.submission_id)
                if not status.may_appeal(locked, await appeals.find_latest(tx, ALL_PARTNERS, locked.id)):
                    raise InvalidState("the page offers no appeal any more")  # opened before the decision
                await appeals.create(
                    tx, ALL_PARTNERS, seen.submission_id, text, "applicant" if seen.is_from_email_link else "visitor"
                )
                await self._record(tx, seen, "application.appealed")
        except InvalidState:
            return await self.render_status_page(seen, is_from_outdated_page=True)
        return redirect_to(f"{seen.page_path}?did=appealed")

    @with_form_error_pages
    async def choose_language(self, request: Request) -> Response:
        """Choose the language of the page and of later emails."""
        seen = await self.load_status_request_for_post(request)
        form = await read_form(request)
        self.ensure_valid_status_csrf_token(seen, form.get(CSRF_FIELD))
        chosen = view_models.find_offered_language(
            str(form.get("language", "")), self.views.pages.catalogues.offered_languages
        )
        if chosen is not None:
            async with self.db.write() as tx:
                submission = await submissions.get(tx, ALL_PARTNERS, seen.submission_id)
                await store.save_application_language(tx, Partner(submission.partner_id), seen.submission_id, chosen)
                if submission.agent_verification_id is not None:
                    await agents.set_preferred_language(tx, ALL_PARTNERS, submission.agent_verification_id, chosen)
                await self._record(tx, seen, "application.language_chosen")
        return redirect_to(seen.page_path)

    @with_form_error_pages
    async def upload_document(self, request: Request) -> Response:
        """Store an uploaded document."""
        seen = await self.load_status_request_for_post(request)
        received = await receive_upload(request)
        try:
            return await self._accept_upload(seen, received)
        finally:
            received.close()

    async def _accept_upload(self, visit: StatusPageRequest, received: ReceivedUpload) -> Response:
        chosen: Kind | None = None
        try:
            uploaded = received.get_uploaded_file()
            self.ensure_valid_status_csrf_token(visit, uploaded.form_fields.get(CSRF_FIELD))
            chosen = parse_document_kind_or_first(uploaded.form_fields.get("type", ""), status.DOCUMENT_CHECKS)
            async with (
                self._intake.receive_file(None, uploaded, documents.PAGE_DOCUMENT) as stored,
                self.db.write() as tx,
            ):
                assert isinstance(stored, StoredFile), "documents are stored"
                locked = await submissions.get_for_update(tx, ALL_PARTNERS, visit.submission_id)
                if chosen not in status.list_checks_accepting_documents(locked):
                    raise InvalidState("the page takes no documents any more")  # opened before the decision
                partner = Partner(locked.partner_id)
                checked = EvidenceTargets(locked.validation_request_id, locked.agent_verification_id)
                await submission_documents.add_to_submission(tx, partner, locked.id, checked, chosen, stored)
                await self._record(tx, visit, "application.evidence_added")
        except InvalidState:
            return await self.render_status_page(visit, is_from_outdated_page=True)
        except Problem as problem:
            if (key := upload_problem_text_key(problem)) is None:
                raise
            return await self.render_status_page(
                visit, http_status=422, problems={"file": key}, entered_values={"type": chosen} if chosen else None
            )
        return redirect_to(f"{visit.page_path}?did=added")
