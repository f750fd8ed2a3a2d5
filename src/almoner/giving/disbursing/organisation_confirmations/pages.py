"""The hosted page on which a nonprofit confirms or declines donations."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from almoner.giving.disbursing.organisation_confirmations import domain, service
from almoner.giving.disbursing.organisation_confirmations.domain import ConfirmationPageChanged, ConfirmationPageContent
from almoner.giving.disbursing.verifications.domain import InvalidState
from almoner.kit.text import sanitise_for_terminal
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.link_sessions import LinkSession
from almoner.platform.pages.linked_pages import PrivateLinkPages
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"
PAGE_PURPOSE: Final = "payee"
"""The purpose of the tokens in the links, and the path of the page."""
_ENDED: Final = {"confirmed": (200, "check"), "account_missing": (200, "check"), "declined": (200, "check")}
_OVER: Final = (410, "clock")


class ConfirmationPages(PrivateLinkPages):
    """The pages for nonprofits with a confirmation request."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        super().__init__(db, pages, PAGE_PURPOSE, "payeeconfirmation")

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show the request with two buttons, or the response."""
        confirmation_id, visit = self._visited(request)
        async with self._db.read() as tx:
            return self._page(await service.load_page_content(tx, confirmation_id), visit)

    @with_error_pages
    async def submit_form(self, request: Request) -> Response:
        """Record the response, with the person's name and role."""
        confirmation_id, visit = self._visited(request)
        form = await self._posted(request, visit)
        given = None if form is None else service.parse_answer(form.get("answer"))
        async with self._db.write() as tx:
            if form is None or given is None:
                page = await service.load_page_content(tx, confirmation_id)
                return self._page(page, visit, status=403, notice="give.again")
            typed = {field: sanitise_for_terminal(str(form.get(field, ""))).strip() for field in ("name", "role")}
            page = await service.load_page_content(tx, confirmation_id)
            if page.state == "open" and (problems := domain.find_respondent_problems(typed["name"], typed["role"])):
                return self._page(page, visit, typed, status=422, problems=problems)
            try:
                answered = await service.record_answer(
                    tx,
                    confirmation_id,
                    given,
                    respondent_name=typed["name"],
                    respondent_role=typed["role"],
                    page_fingerprint=str(form.get("seen", "")),
                )
            except ConfirmationPageChanged:
                return self._page(page, visit, typed, status=409, notice="payee.changed")
            except InvalidState:
                return self._page(await service.load_page_content(tx, confirmation_id), visit)
            await self._record(tx, request, answered)
        return RedirectResponse(request.url.path, 303, NO_PAGE)

    async def _record(self, tx: Tx, request: Request, answered: ConfirmationPageContent) -> None:
        name = self._ids.encode("monetarydonationverification", answered.verification.id)
        address = request.client.host if request.client else None
        actor = Actor("system", "nonprofit")
        partner = answered.verification.partner_id
        await audit.record_entry(tx, partner, actor, "verification.confirmation_received", name, ip_address=address)

    def _page(
        self,
        page: ConfirmationPageContent,
        visit: LinkSession,
        entered_values: Mapping[str, str] | None = None,
        *,
        status: int = 200,
        notice: str | None = None,
        problems: Mapping[str, str] | None = None,
    ) -> Response:
        language = self.pages.language_for_tag(page.confirmation.language)
        if page.state != "open":
            ended, icon = _ENDED.get(page.state, _OVER)
            return self.pages.render_message(f"payee.{page.state}", language, status=ended, icon=icon)
        facts: dict[str, Any] = {
            "partner": page.partner_name,
            "organisation": page.organisation_name,
            "accounts": page.accounts,
            "seen": page.fingerprint.hex(),
            "until": page.confirmation.expires_at,
            "typed": {"name": "", "role": "", **(entered_values or {})},
        }
        shown: dict[str, Any] = {
            "notice": notice,
            "problems": problems or {},
            "csrf": visit.csrf,
            "action": self._action(page.confirmation.id),
        }
        return self.pages.render_page("payee.html", language, status=status, **facts, **shown)
