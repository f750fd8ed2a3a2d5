"""The hosted page that shows a nonprofit its payee account, and where it can report that the account is not its own."""

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from almoner.giving.account_notices import service
from almoner.giving.account_notices.domain import NoticePageContent
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import DEPLOYMENT, Actor
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.link_sessions import LinkSession
from almoner.platform.pages.linked_pages import PrivateLinkPages
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"
PAGE_PURPOSE: Final = "payee-account"
"""The purpose of the tokens in the links, and the path of the page."""
_ENDED: Final = {"denied": (200, "check"), "closed": (410, "clock")}


class AccountNoticePages(PrivateLinkPages):
    """The pages for nonprofits that were notified of an account."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        super().__init__(db, pages, PAGE_PURPOSE, "payeeaccount")

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show the account with a button to deny it, or what was decided."""
        account_id, visit = self._visited(request)
        async with self._db.read() as tx:
            return self._page(tx, await service.load_notice_page(tx, account_id), visit)

    @with_error_pages
    async def submit_form(self, request: Request) -> Response:
        """Record that the account is not the nonprofit's."""
        account_id, visit = self._visited(request)
        form = await self._posted(request, visit)
        async with self._db.write() as tx:
            if form is None:
                return self._page(tx, await service.load_notice_page(tx, account_id), visit, refused=True)
            if await service.deny_account_ownership(tx, account_id):
                name = self._ids.encode("payeeaccount", account_id)
                address = request.client.host if request.client else None
                await audit.record_entry(
                    tx, DEPLOYMENT, Actor("system", "nonprofit"), "payee_bank_account.denied", name, ip_address=address
                )
        return RedirectResponse(request.url.path, 303, NO_PAGE)

    def _page(self, tx: Tx, page: NoticePageContent, visit: LinkSession, *, refused: bool = False) -> Response:
        language = self.pages.language_for_tag(page.notice.language)
        state = page.state(tx.now)
        if state != "open":
            status, icon = _ENDED[state]
            return self.pages.render_message(f"payee_account.{state}", language, status=status, icon=icon)
        return self.pages.render_page(
            "payee_account.html",
            language,
            status=403 if refused else 200,
            notice="give.again" if refused else None,
            organisation=page.organisation_name,
            account=page.account,
            until=page.expires_at,
            csrf=visit.csrf,
            action=self._action(page.account.id),
        )
