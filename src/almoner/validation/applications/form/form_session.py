"""The session of a browser in the hosted form, and its error pages.

GET changes nothing. POST needs the cookie of the link, its CSRF token and the page's own origin (architecture 5).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Final, Literal, TypeVar
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from almoner.kit.errors import NotFound, ServiceUnavailable
from almoner.kit.public_links import PublicLinks
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.pages import link_sessions
from almoner.platform.pages.forms import MAX_FORM_BYTES, read_form
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, LinkSession
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse
from almoner.validation.applications.form import drafts, service, submit
from almoner.validation.applications.form.drafts import ApplicationDraft, FormStep
from almoner.validation.applications.form.form_views import FormContext, FormViews
from almoner.validation.applications.form.service import Application
from almoner.validation.applications.form.submit import BY_FORM, LINK_PAGE, RESUBMIT_WINDOW, STATUS_PAGE
from almoner.validation.applications.invites.domain import PAGE, InviteExpired, InviteInvalidState

_RETRY_SECONDS: Final = "10"
_SENDER_COOKIE_LIFETIME: Final = timedelta(days=7)
_RESEND_COOKIE_LIFETIME: Final = timedelta(hours=1)
"""How long a browser may open the page of the application that it submitted, and request that page's link."""

_P = TypeVar("_P", bound="FormPagesBase")
Handler = Callable[[_P, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class FormRequest:
    """A request with the session cookie of an invite's form."""

    request: Request
    link_session: LinkSession
    form_context: FormContext

    @property
    def application(self) -> Application:
        """The application being filled in."""
        return self.form_context.application

    @property
    def first_incomplete_step_url(self) -> str:
        """The URL of the first incomplete step, else of the review."""
        return self.form_context.step_url(
            drafts.first_incomplete_step(self.application.draft, self.application.configuration)
        )

    @property
    def invite_id(self) -> UUID:
        """The invite's ID."""
        return self.application.invite.id


class StatusLinkExpired(Exception):
    """The link or its session has expired."""

    def __init__(self, submission_id: UUID) -> None:
        super().__init__(submission_id)
        self.submission_id = submission_id


class StepNotRequired(Exception):
    """The configuration does not require this step; ``instead``: the step to redirect to."""

    def __init__(self, instead: str) -> None:
        super().__init__(instead)
        self.instead = instead


class InvalidFormPost(Exception):
    """The posted form has no valid CSRF token (H2)."""


def with_form_error_pages(handler: Handler[_P]) -> Handler[_P]:
    """Wrap a page handler so that its exceptions become error pages."""

    @wraps(handler)
    async def answer(self: _P, request: Request) -> Response:
        try:
            return await handler(self, request)
        except StepNotRequired as elsewhere:
            return redirect_to(elsewhere.instead)
        except NotFound:
            return self.render_message_page(request, "unknown", 404, "link")
        except InviteExpired:
            return await self.render_expired_page(request)
        except InviteInvalidState:
            return await self.respond_to_already_submitted_form(request)
        except StatusLinkExpired as ended:
            return self.redirect_to_resend_page(request, ended.submission_id, "ended")
        except InvalidFormPost:
            return self.render_message_page(request, "again", 403, "lock")
        except ServiceUnavailable:  # too many files wait to be checked
            response = self.render_message_page(request, "broken", 503, "clock")
            response.headers["Retry-After"] = _RETRY_SECONDS
            return response
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return ServerErrorResponse(self.render_message_page(request, "broken", 500, "info"), error)

    return answer


class FormPagesBase:
    """Shared parts of the form's pages."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        self.db = db
        self.views = FormViews(pages)
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of_url(db.deployment.base_urls.pages)

    def render_message_page(
        self, request: Request, message_key: str, status: int, icon: str, partner_links: PublicLinks | None = None
    ) -> HTMLResponse:
        """A page with only a message, in the form's language, else the browser's."""
        pages, tag = self.views.pages, getattr(request.state, "language", None)
        language = pages.language_for_tag(tag) if tag else pages.preferred_language(request)
        return pages.render_message(
            f"apply.{message_key}", language, status=status, icon=icon, partner_links=partner_links
        )

    async def render_expired_page(self, request: Request) -> HTMLResponse:
        """The page for a link that has expired, with the way back to the partner who can send another one."""
        invite_id = self._ids.decode("validationinvite", request.path_params["id"])
        async with self.db.read() as tx:
            links = None if invite_id is None else await service.find_partner_public_links(tx, invite_id)
        return self.render_message_page(request, "expired", 410, "clock", links)

    def not_found_page(self, request: Request, status: int) -> Response:
        """The page for an unknown link."""
        return self.render_message_page(request, "unknown", status, "link")

    async def respond_to_already_submitted_form(self, request: Request) -> Response:
        """The page shown when the application was already submitted.

        It shows nothing of the application: others than the applicant may know the form's link.
        """
        invite_id = self._ids.decode("validationinvite", request.path_params["id"])
        async with self.db.read() as tx:
            found = None if invite_id is None else await submit.find_invite_submission(tx, invite_id)
        if invite_id is None or found is None:
            raise AssertionError("an invite is used by a submission alone")
        name = self._ids.encode("validationsubmission", found.submission_id)
        if self._now() - found.submitted_at < RESUBMIT_WINDOW and await self._sends_again(request, invite_id):
            return self.set_submitter_cookie(redirect_to(found.redirect_url), found.submission_id)
        purposes = (STATUS_PAGE, BY_FORM)
        if any(
            link_sessions.find_link_session(request, self._vault, purpose, found.submission_id, name)
            for purpose in purposes
        ):
            return redirect_to(f"/{STATUS_PAGE}/{name}")
        return self.redirect_to_resend_page(request, found.submission_id, "sent")

    async def _sends_again(self, request: Request, invite_id: UUID) -> bool:
        """Whether this posts the review again, from a browser that was shown it."""
        if request.method != "POST" or not request.url.path.endswith("/review"):
            return False
        visit = link_sessions.find_link_session(request, self._vault, PAGE, invite_id, request.path_params["id"])
        form = await read_form(request)
        return (
            visit is not None
            and link_sessions.is_same_origin(request, self._origin)
            and visit.matches_csrf_token(form.get(CSRF_FIELD))
        )

    def set_submitter_cookie(self, response: Response, submission_id: UUID) -> Response:
        """Set the cookie by which the submitting browser may open the status page."""
        name = self._ids.encode("validationsubmission", submission_id)
        until = self._now() + _SENDER_COOKIE_LIFETIME
        link_sessions.begin_link_session(self._vault, BY_FORM, submission_id, name, until).set_cookie(
            response, max_age_seconds=int(_SENDER_COOKIE_LIFETIME.total_seconds())
        )
        return response

    def redirect_to_resend_page(
        self, request: Request, submission_id: UUID, reason: Literal["sent", "ended"]
    ) -> Response:
        """Redirect to the page from which the link can be emailed again."""
        name = self._ids.encode("validationsubmission", submission_id)
        response = redirect_to(f"/{STATUS_PAGE}/{name}/link?why={reason}")
        visit = link_sessions.find_link_session(request, self._vault, LINK_PAGE, submission_id, name)
        if visit is None or not self.is_session_unexpired(visit):
            visit = link_sessions.begin_link_session(
                self._vault, LINK_PAGE, submission_id, name, self._now() + _RESEND_COOKIE_LIFETIME
            )
        visit.set_cookie(response, max_age_seconds=int(_RESEND_COOKIE_LIFETIME.total_seconds()))
        return response

    def is_session_unexpired(self, session: LinkSession) -> bool:
        """Whether the session has not expired."""
        return session.expires_at is not None and session.expires_at > self._now()

    def _now(self) -> datetime:
        return self.db.deployment.clock.now()

    async def load_form_request(self, request: Request) -> FormRequest:
        """The form of the path, for a browser with its cookie.

        Raises NotFound, InviteExpired, InviteInvalidState.
        """
        name = request.path_params["id"]
        invite_id = self._ids.decode("validationinvite", name)
        visit = (
            None if invite_id is None else link_sessions.find_link_session(request, self._vault, PAGE, invite_id, name)
        )
        if invite_id is None or visit is None:
            raise NotFound
        async with self.db.read() as tx:
            application = await service.load_application(tx, invite_id)
            request.state.language = application.language  # used by error pages of this request
            application.invite.ensure_open(tx.now)
        return FormRequest(request, visit, self._face(application, name, visit))

    def _face(self, application: Application, name: str, visit: LinkSession) -> FormContext:
        language = self.views.pages.language_for_tag(application.language)
        return FormContext(application, f"/{PAGE}/{name}", visit.csrf, language)

    async def read_form(self, form_request: FormRequest, max_bytes: int = MAX_FORM_BYTES) -> FormData:
        """The posted form. Raises InvalidFormPost."""
        form = await read_form(form_request.request, max_bytes)
        self.ensure_valid_csrf_token(form_request, form.get(CSRF_FIELD))
        return form

    def ensure_valid_csrf_token(self, form_request: FormRequest, csrf_token: object) -> None:
        """Raises InvalidFormPost unless the CSRF token is valid."""
        if not (
            link_sessions.is_same_origin(form_request.request, self._origin)
            and form_request.link_session.matches_csrf_token(csrf_token)
        ):
            raise InvalidFormPost

    async def save_step_answers(
        self, form_request: FormRequest, step: str, change_draft: Callable[[ApplicationDraft], ApplicationDraft]
    ) -> FormRequest:
        """Save the answers of a step."""
        async with self.db.write() as tx:
            draft = await service.update_draft(tx, form_request.invite_id, change_draft)
            await self.record_audit(tx, form_request, "application.saved", {"step": step})
        application = replace(form_request.application, draft=draft)
        return replace(form_request, form_context=replace(form_request.form_context, application=application))

    async def record_audit(
        self, tx: Tx, form_request: FormRequest, action: str, details: Mapping[str, str] | None = None
    ) -> None:
        """Audit an action of the applicant (V8)."""
        invite, request = form_request.application.invite, form_request.request
        address = request.client.host if request.client else None
        name = tx.ids.encode("validationinvite", invite.id)
        await audit.record_entry(
            tx, invite.partner_id, Actor("system", "applicant"), action, name, ip_address=address, details=details
        )

    def redirect_to_next_step(self, form_request: FormRequest, step: FormStep) -> Response:
        """Redirect to the next step, or to an incomplete one before the review."""
        application = form_request.application
        following = drafts.next_step(step, application.configuration)
        if following == "review":
            return redirect_to(form_request.first_incomplete_step_url)
        return redirect_to(form_request.form_context.step_url(following))


def redirect_to(url: str) -> Response:
    """Redirect with GET (303)."""
    return RedirectResponse(url, 303, NO_PAGE)
