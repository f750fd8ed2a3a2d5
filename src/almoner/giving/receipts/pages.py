"""The private page of a gift: where it is now, opened by the link in its receipt (spec 4.8; H1, H3)."""

from pathlib import Path
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.disbursing.disbursements.domain import Rules
from almoner.giving.receipts import service
from almoner.giving.receipts.domain import PAGE
from almoner.giving.receipts.papers import PDF, Papers
from almoner.giving.receipts.service import Followed
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Database
from almoner.platform.pages import link_sessions
from almoner.platform.pages.error_handling import kindly
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.server_error import Broken

TEMPLATES: Final = Path(__file__).parent / "templates"

_COOKIE_SECONDS: Final = 24 * 3600  # the link opens it again


class GiftPages:
    """The pages of gifts that were made."""

    def __init__(self, db: Database, pages: Pages, rules: Rules) -> None:
        self._db = db
        self._rules = rules
        self._pages = pages
        self._papers = Papers(pages)
        self._vault = db.deployment.vault

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/gift", self.open_link, methods=["GET"]),
            Route("/gift/{id}", self.show, methods=["GET"]),
            Route("/gift/{id}/receipt.pdf", self.download, methods=["GET"]),
        ]

    @kindly
    async def open_link(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        donation_id = self._vault.read_page_token(PAGE, request.query_params.get("token", ""))
        if donation_id is None:
            raise NotFound
        name = self._db.deployment.ids.text("donation", donation_id)
        response = RedirectResponse(f"/gift/{name}", 303, NO_PAGE)
        link_sessions.begin(self._vault, PAGE, donation_id, name).keep(response, seconds=_COOKIE_SECONDS)
        return response

    @kindly
    async def show(self, request: Request) -> Response:
        """Where the gift is."""
        async with self._db.read() as tx:
            followed = await service.follow(tx, self._visited(request), self._rules)
        return self._page(followed)

    @kindly
    async def download(self, request: Request) -> Response:
        """The receipt as it was attached to the mail, byte for byte."""
        async with self._db.read() as tx:
            receipt = await service.get(tx, self._visited(request))
        headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="{receipt.file_name}"'}
        return Response(await self._papers.document(receipt), media_type=PDF, headers=headers)

    def unknown(self, request: Request, status: int = 404) -> Response:
        """No link, or no cookie of it."""
        return self._pages.message("gift.unknown", self._pages.preferred(request), status=status, icon="link")

    def broken(self, request: Request, error: Exception) -> Response:
        """Something failed that nobody expected."""
        page = self._pages.message("give.broken", self._pages.preferred(request), status=500, icon="info")
        return Broken(page, error)

    def _visited(self, request: Request) -> UUID:
        """The donation whose link was opened in this browser. Raises NotFound."""
        name = request.path_params["id"]
        donation_id = self._db.deployment.ids.parse("donation", name)
        if donation_id is None or link_sessions.find(request, self._vault, PAGE, donation_id, name) is None:
            raise NotFound
        return donation_id

    def _page(self, followed: Followed) -> Response:
        receipt = followed.receipt
        return self._pages.page(
            "gift_now.html",
            self._pages.language(receipt.language),
            receipt=receipt,
            donation=followed.donation,
            organisation=followed.organisation,
            steps=followed.steps,
            waiting=followed.waiting,
            returned_at=followed.returned_at,
            reference=self._db.deployment.ids.text("donation", receipt.donation_id),
        )
