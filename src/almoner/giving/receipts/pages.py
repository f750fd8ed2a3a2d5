"""The private page of a donation's status, opened by the link in its receipt (spec 4.8; H1, H3)."""

from pathlib import Path
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.receipts import service
from almoner.giving.receipts.documents import PDF, ReceiptRenderer
from almoner.giving.receipts.domain import PAGE_PURPOSE
from almoner.giving.receipts.service import DonationStatusPageContent
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Database
from almoner.platform.pages import link_sessions
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse

TEMPLATES: Final = Path(__file__).parent / "templates"

_COOKIE_SECONDS: Final = 24 * 3600  # the link opens it again


class DonationStatusPages:
    """The status pages of donations."""

    def __init__(self, db: Database, pages: PageRenderer, rules: DisbursementRules) -> None:
        self._db = db
        self._rules = rules
        self._pages = pages
        self._papers = ReceiptRenderer(pages)
        self._vault = db.deployment.vault

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/gift", self.open_link, methods=["GET"]),
            Route("/gift/{id}", self.show, methods=["GET"]),
            Route("/gift/{id}/receipt.pdf", self.download, methods=["GET"]),
        ]

    @with_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        donation_id = self._vault.read_page_token(PAGE_PURPOSE, request.query_params.get("token", ""))
        if donation_id is None:
            raise NotFound
        name = self._db.deployment.ids.encode("donation", donation_id)
        response = RedirectResponse(f"/gift/{name}", 303, NO_PAGE)
        link_sessions.begin_link_session(self._vault, PAGE_PURPOSE, donation_id, name).set_cookie(
            response, max_age_seconds=_COOKIE_SECONDS
        )
        return response

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show the progress of a donation."""
        donation_id = self._visited(request)
        try:
            async with self._db.read() as tx:
                return self._page(await service.load_status_page_content(tx, donation_id, self._rules))
        except NotFound:  # the thank-you page links here before a worker has issued the receipt
            return self._pages.render_message(
                "gift.soon", self._pages.preferred_language(request), status=200, icon="clock"
            )

    @with_error_pages
    async def download(self, request: Request) -> Response:
        """Download the receipt exactly as it was attached to the email."""
        async with self._db.read() as tx:
            receipt = await service.get(tx, self._visited(request))
        headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="{receipt.file_name}"'}
        return Response(await self._papers.render_pdf(receipt), media_type=PDF, headers=headers)

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page without a valid link or its cookie."""
        return self._pages.render_message(
            "gift.unknown", self._pages.preferred_language(request), status=status, icon="link"
        )

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """The page for an unexpected error."""
        page = self._pages.render_message(
            "give.broken", self._pages.preferred_language(request), status=500, icon="info"
        )
        return ServerErrorResponse(page, error)

    def _visited(self, request: Request) -> UUID:
        """The donation whose link was opened in this browser. Raises NotFound."""
        name = request.path_params["id"]
        donation_id = self._db.deployment.ids.decode("donation", name)
        if (
            donation_id is None
            or link_sessions.find_link_session(request, self._vault, PAGE_PURPOSE, donation_id, name) is None
        ):
            raise NotFound
        return donation_id

    def _page(self, followed: DonationStatusPageContent) -> Response:
        receipt = followed.receipt
        return self._pages.render_page(
            "gift_now.html",
            self._pages.language_for_tag(receipt.language),
            receipt=receipt,
            donation=followed.donation,
            organisation=followed.nonprofit,
            steps=followed.steps,
            waiting=followed.waiting_message_key,
            returned_at=followed.returned_at,
            partner_links=followed.partner_links,
            reference=self._db.deployment.ids.encode("donation", receipt.donation_id),
        )
