"""Hosted pages: an applicant confirms their email address, a nonprofit answers whether they represent it.

GET and HEAD change nothing, so that scanners that open every link in an email do no harm. POST needs the cookie of the
link or of the page, its CSRF token and the page's own origin (architecture 5).
"""

from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.access.partners import service as partners
from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner, Tx
from almoner.platform.pages import formats, link_sessions
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, LinkSession
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse
from almoner.platform.pages.translations import Language
from almoner.validation.agents import agent_review, email_confirmation, service
from almoner.validation.agents.confirmation_codes import CodeCheckResult
from almoner.validation.agents.domain import AgentVerification, Answer, ConfirmationMethod, InvalidState
from almoner.validation.agents.emails import ANSWER, CONFIRM, get_partner_name

TEMPLATES: Final = Path(__file__).parent / "templates"

_CODE: Final = "confirm-code"
"""Purpose of the session of a browser that did not open the link. In this session, the applicant can enter the code."""
_COOKIE_SECONDS: Final = 24 * 3600  # the link opens it again
_PROBLEMS: Final = {
    CodeCheckResult.MISSING: "give.code.problem.missing",
    CodeCheckResult.WRONG: "give.code.problem.wrong",
    CodeCheckResult.EXHAUSTED: "give.code.problem.over",
}


class AgentVerificationPages:
    """The pages for applicants, and for nonprofits that are asked to confirm them."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        self._db = db
        self.pages = pages
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of_url(db.deployment.base_urls.pages)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/confirm", self.open_confirmation_link, methods=["GET"]),
            Route("/confirm/{id}", self.handle_confirmation, methods=["GET", "POST"]),
            Route("/answer", self.open_representation_link, methods=["GET"]),
            Route("/answer/{id}", self.handle_representation_request, methods=["GET", "POST"]),
        ]

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page for an unknown link or a missing cookie."""
        return self.pages.render_message(
            "agent.unknown", self.pages.preferred_language(request), status=status, icon="link"
        )

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """The page for an unexpected error."""
        return ServerErrorResponse(
            self.pages.render_message("agent.broken", self.pages.preferred_language(request), status=500), error
        )

    @with_error_pages
    async def open_confirmation_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        return self._open(request, CONFIRM)

    @with_error_pages
    async def open_representation_link(self, request: Request) -> Response:
        """Open the link of a nonprofit, as for applicants."""
        return self._open(request, ANSWER)

    async def handle_confirmation(self, request: Request) -> Response:
        """Handle GET and POST of the confirmation page."""
        return await (self.submit_confirmation if request.method == "POST" else self.show_confirmation_page)(request)

    async def handle_representation_request(self, request: Request) -> Response:
        """Handle GET and POST of the nonprofit's page."""
        return await (
            self.submit_representation_answer if request.method == "POST" else self.show_representation_request
        )(request)

    @with_error_pages
    async def show_confirmation_page(self, request: Request) -> Response:
        """Show a confirm button to visitors from the link, a code field to others, or the result."""
        async with self._db.read() as tx:
            found = await service.get(tx, ALL_PARTNERS, self._verification_id(request))
            visit = self._visit(request, CONFIRM, found.id)
            return await self._confirmation(tx, request, found, visit)

    @with_error_pages
    async def submit_confirmation(self, request: Request) -> Response:
        """Confirm by button or code, or request a new email."""
        verification_id = self._verification_id(request)
        by_link = self._visit(request, CONFIRM, verification_id)
        visit = by_link or self._visit(request, _CODE, verification_id)
        form = await self._posted(request, visit)
        async with self._db.write() as tx:
            found = await service.get(tx, ALL_PARTNERS, verification_id)
            if form is None:
                return await self._confirmation(tx, request, found, by_link, status=403, alert="give.again")
            if not found.is_email_unconfirmed:
                return await self._confirmation(tx, request, found, by_link)
            if "again" in form:
                sent = await email_confirmation.resend_confirmation(tx, found.id)
                stated: dict[str, Any] = (
                    {"notice": "give.code.sent"} if sent else {"alert": "agent.later", "status": 429}
                )
                return await self._confirmation(tx, request, found, by_link, **stated)
            if by_link is not None:
                return await self._confirm(tx, request, found, "link")
            typed = await email_confirmation.check_code(tx, found.id, str(form.get("code", "")))
            if typed is CodeCheckResult.CORRECT:
                return await self._confirm(tx, request, found, "code")
            return await self._confirmation(tx, request, found, None, status=422, problem=_PROBLEMS[typed])

    @with_error_pages
    async def show_representation_request(self, request: Request) -> Response:
        """Show the request with two buttons, or that no answer is needed."""
        verification_id = self._verification_id(request)
        visit = self._needed(request, verification_id)
        async with self._db.read() as tx:
            return await self._question(tx, verification_id, visit)

    @with_error_pages
    async def submit_representation_answer(self, request: Request) -> Response:
        """Record the nonprofit's yes or no; a reviewer takes it into account."""
        verification_id = self._verification_id(request)
        visit = self._needed(request, verification_id)
        form = await self._posted(request, visit)
        given = None if form is None else form.get("answer")
        async with self._db.write() as tx:
            if given not in ("confirmed", "denied"):
                return await self._question(tx, verification_id, visit, status=403)
            try:
                answered = await agent_review.record_representation_answer(tx, verification_id, cast("Answer", given))
            except InvalidState:
                return await self._question(tx, verification_id, visit)
            await self._record(tx, request, answered, "agent_verification.answered", "nonprofit")
        return RedirectResponse(request.url.path, 303, NO_PAGE)

    def _open(self, request: Request, purpose: str) -> Response:
        verification_id = self._vault.read_page_token(purpose, request.query_params.get("token", ""))
        if verification_id is None:
            raise NotFound
        name = self._ids.encode("agentverification", verification_id)
        response = RedirectResponse(f"/{purpose}/{name}", 303, NO_PAGE)
        # A second tab reuses the first one's session: a new one would void the form open there.
        visit = link_sessions.find_link_session(request, self._vault, purpose, verification_id, name)
        visit = visit or link_sessions.begin_link_session(self._vault, purpose, verification_id, name)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    def _verification_id(self, request: Request) -> UUID:
        """The ID in the path. Raises NotFound."""
        found = self._ids.decode("agentverification", request.path_params["id"])
        if found is None:
            raise NotFound
        return found

    def _visit(self, request: Request, purpose: str, verification_id: UUID) -> LinkSession | None:
        return link_sessions.find_link_session(
            request, self._vault, purpose, verification_id, request.path_params["id"]
        )

    def _needed(self, request: Request, verification_id: UUID) -> LinkSession:
        """The session of a nonprofit that opened its link in this browser. Raises NotFound."""
        if (visit := self._visit(request, ANSWER, verification_id)) is None:
            raise NotFound
        return visit

    async def _posted(self, request: Request, visit: LinkSession | None) -> FormData | None:
        """The posted form; None without a valid session, origin and CSRF token (H2)."""
        form = await read_form(request)
        ours = (
            visit is not None
            and link_sessions.is_same_origin(request, self._origin)
            and visit.matches_csrf_token(form.get(CSRF_FIELD))
        )
        return form if ours else None

    async def _confirm(self, tx: Tx, request: Request, found: AgentVerification, by: ConfirmationMethod) -> Response:
        confirmed = await service.confirm_email(tx, ALL_PARTNERS, found.id, by)
        await self._record(tx, request, confirmed, "agent_verification.confirmed", "applicant")
        response = RedirectResponse(request.url.path, 303, NO_PAGE)
        if by == "code":  # entering the code proves access to the mailbox
            visit = link_sessions.begin_link_session(self._vault, CONFIRM, found.id, request.path_params["id"])
            visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    async def _record(self, tx: Tx, request: Request, changed: AgentVerification, action: str, by: str) -> None:
        name = self._ids.encode("agentverification", changed.id)
        address = request.client.host if request.client else None
        await audit.record_entry(tx, changed.partner_id, Actor("system", by), action, name, ip_address=address)

    async def _confirmation(
        self,
        tx: Tx,
        request: Request,
        found: AgentVerification,
        visit: LinkSession | None,
        *,
        status: int = 200,
        notice: str | None = None,
        alert: str | None = None,
        problem: str | None = None,
    ) -> Response:
        language = self.pages.language_for_tag(found.display_language)
        if not found.is_email_unconfirmed:
            return await self._ended(tx, found, language, known=visit is not None)
        shown: dict[str, Any] = {"notice": notice or alert, "alert": alert is not None, "action": request.url.path}
        if visit is not None:
            facts = {**shown, **await self._facts(tx, found, language), "csrf": visit.csrf}
            return self.pages.render_page("agent_confirm.html", language, status=status, **facts)
        name = request.path_params["id"]
        started = self._visit(request, _CODE, found.id) or link_sessions.begin_link_session(
            self._vault, _CODE, found.id, name
        )
        problems = {} if problem is None else {"code": problem}
        response = self.pages.render_page(
            "agent_code.html", language, status=status, **shown, problems=problems, csrf=started.csrf
        )
        started.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    async def _ended(self, tx: Tx, found: AgentVerification, language: Language, *, known: bool) -> Response:
        """The page shown when there is nothing to confirm. Visitors without the link learn no details."""
        links = (await partners.get(tx, Partner(found.partner_id))).public_links if known else None

        def message(state: str, status: int = 410, icon: str = "info", **values: str) -> Response:
            return self.pages.render_message(
                f"agent.{state}", language, status=status, icon=icon, partner_links=links, **values
            )

        if found.rejection_code == "user_verification_expired":
            return message("expired", icon="clock")
        if known and found.rejection_code == "reapply" and await service.is_replaced(tx, found.id):
            return message("replaced", icon="mail")
        if not known or found.status == "rejected":
            return message("closed")
        return message("done", 200, "check", partner=await get_partner_name(tx, found))

    async def _question(self, tx: Tx, verification_id: UUID, visit: LinkSession, *, status: int = 200) -> Response:
        found, asked = await agent_review.get_verification_and_representation_request(tx, verification_id)
        language = self.pages.language_for_tag(found.language)
        if asked.answer is not None and found.is_open:
            return self.pages.render_message("answer.done", language, status=200, icon="check")
        if found.status != "pending_review" or not asked.is_answerable_at(tx.now):
            return self.pages.render_message("answer.closed", language, status=410, icon="clock")
        alert = status != 200
        facts = {**await self._facts(tx, found, language), "csrf": visit.csrf, "alert": alert}
        facts["until"] = asked.expires_at  # the verification's own deadline is gone once a document was attached
        action = f"/{ANSWER}/{self._ids.encode('agentverification', found.id)}"
        notice = "give.again" if alert else None
        return self.pages.render_page(
            "agent_answer.html", language, status=status, **facts, notice=notice, action=action
        )

    async def _facts(self, tx: Tx, found: AgentVerification, language: Language) -> dict[str, Any]:
        return {
            "partner": await get_partner_name(tx, found),
            "partner_links": (await partners.get(tx, Partner(found.partner_id))).public_links,
            "organisation": found.nonprofit_name,
            "name": formats.full_name(found.first_name or "", found.last_name or "", language.locale),
            "title": found.title,
            "email": found.email,
            "until": found.expires_at,
        }
