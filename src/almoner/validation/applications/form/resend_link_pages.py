"""The page from which an applicant has the link to the application emailed again."""

from typing import Literal

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.pages import link_sessions
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.link_sessions import CSRF_FIELD
from almoner.validation.applications.form import notifications, status_views
from almoner.validation.applications.form.form_session import (
    FormPagesBase,
    InvalidFormPost,
    redirect_to,
    with_form_error_pages,
)
from almoner.validation.applications.form.submit import LINK_PAGE, STATUS_PAGE
from almoner.validation.applications.submissions import service as submissions


class ResendApplicationLinkPages(FormPagesBase):
    """Pages to request a new link, for visitors with a used or expired one."""

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route(f"/{STATUS_PAGE}/{{id}}/link", self.resend_link_page, methods=["GET", "POST"])]

    @with_form_error_pages
    async def resend_link_page(self, request: Request) -> Response:
        """Offer to email the link to the applicant's address, without revealing it."""
        name = request.path_params["id"]
        found = self._ids.decode("validationsubmission", name)
        visit = None if found is None else link_sessions.find_link_session(request, self._vault, LINK_PAGE, found, name)
        if found is None or visit is None or not self.is_session_unexpired(visit):
            raise NotFound
        async with self.db.read() as tx:
            request.state.language = await status_views.get_application_language(tx, found)
        if request.method == "GET":
            return self._page(request, visit.csrf, "sent" if request.query_params.get("did") == "sent" else None)
        form = await read_form(request)
        if not (link_sessions.is_same_origin(request, self._origin) and visit.matches_csrf_token(form.get(CSRF_FIELD))):
            raise InvalidFormPost
        async with self.db.write() as tx:
            if mailed := await notifications.resend_application_link(tx, found):
                partner_id = (await submissions.get(tx, ALL_PARTNERS, found)).partner_id
                address = request.client.host if request.client else None
                actor = Actor("system", "applicant")
                await audit.record_entry(tx, partner_id, actor, "application.link_requested", name, ip_address=address)
        if not mailed:
            return self._page(request, visit.csrf, "later")
        return redirect_to(f"/{STATUS_PAGE}/{name}/link?why={_reason_of(request)}&did=sent")

    def _page(self, request: Request, csrf: str, stated: Literal["sent", "later"] | None) -> Response:
        return self.views.pages.render_page(
            "application_link.html",
            self.views.pages.language_for_tag(request.state.language),
            status=429 if stated == "later" else 200,
            why=_reason_of(request),
            claimed=stated,
            csrf=csrf,
            action=f"{request.url.path}?why={_reason_of(request)}",
        )


def _reason_of(request: Request) -> Literal["sent", "ended"]:
    return "ended" if request.query_params.get("why") == "ended" else "sent"
