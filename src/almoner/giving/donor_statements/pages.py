"""The pages of statements: to request the link from a donation's page, and to open the emailed link (H1, H2, H3).

GET changes nothing. Link and visit both expire after a day (real time).
"""

from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.donor_statements import domain, service
from almoner.giving.donor_statements.documents import PDF, StatementRenderer
from almoner.giving.donor_statements.domain import DonationDateRange, DonorStatement, InvalidPeriod, StatementPeriod
from almoner.giving.receipts import domain as receipts_domain
from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database
from almoner.platform.pages import formats, link_sessions
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.forms import read_form
from almoner.platform.pages.headers import NO_PAGE, origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, LinkSession
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.server_error import ServerErrorResponse

TEMPLATES: Final = Path(__file__).parent / "templates"

_COOKIE_SECONDS: Final = int(domain.LINK_LIFETIME.total_seconds())


class StatementPages:
    """The pages of statements."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        self._db = db
        self.pages = pages
        self._papers = StatementRenderer(pages)
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of_url(db.deployment.base_urls.pages)

    def link_request_routes(self) -> list[Route]:
        """Starlette routes below a donation's page."""
        return [Route("/gift/{id}/statement", self.handle_link_request, methods=["GET", "POST"])]

    def routes(self) -> list[Route]:
        """Starlette routes of the statement itself."""
        return [
            Route("/statement", self.open_link, methods=["GET"]),
            Route("/statement/{id}", self.show, methods=["GET"]),
            Route("/statement/{id}/statement.pdf", self.download, methods=["GET"]),
        ]

    async def handle_link_request(self, request: Request) -> Response:
        """Handle every method of this path."""
        return await (self.request_link if request.method == "POST" else self.show_link_request_page)(request)

    @with_error_pages
    async def show_link_request_page(self, request: Request) -> Response:
        """The page that explains the statement, with a button to request the link."""
        donation_id, visit = self._gift(request)
        return await self._offer(donation_id, visit)

    @with_error_pages
    async def request_link(self, request: Request) -> Response:
        """Email the statement link to the donation's address."""
        donation_id, visit = self._gift(request)
        form = await read_form(request)
        if not link_sessions.is_same_origin(request, self._origin) or not visit.matches_csrf_token(
            form.get(CSRF_FIELD)
        ):
            return await self._offer(donation_id, visit, status=403)
        async with self._db.write() as tx:
            receipt = await service.get_receipt(tx, donation_id)
            sent = await service.request_statement_link(tx, donation_id)
            if sent:
                name, where = request.path_params["id"], request.client.host if request.client else None
                await audit.record_entry(
                    tx,
                    receipt.partner_id,
                    Actor("system", "donor"),
                    "donor_statement.requested",
                    name,
                    ip_address=where,
                )
        kind, status, icon = ("statement.sent", 200, "mail") if sent else ("statement.later", 429, "info")
        return self.pages.render_message(kind, self.pages.language_for_tag(receipt.language), status=status, icon=icon)

    @with_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the emailed link: a cookie replaces its token, and the browser is redirected (H1)."""
        read = self._vault.read_expiring_page_token(domain.PAGE_PURPOSE, request.query_params.get("token", ""))
        if read is None or read.expires_at <= self._real_now():
            raise NotFound
        donation_id, until = read
        name = self._ids.encode("donation", donation_id)
        response = RedirectResponse(f"/statement/{name}", 303, NO_PAGE)
        visit = link_sessions.begin_link_session(self._vault, domain.PAGE_PURPOSE, donation_id, name, until)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        return response

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show the donations of a period."""
        donation_id = self._opened(request)
        problem = None
        async with self._db.read() as tx:
            try:
                period = self._period(request, tx.now)
            except InvalidPeriod:
                period, problem = (
                    domain.calendar_year_period(
                        self._db.deployment.date_in_issuer_time_zone(tx.now).year, self._db.deployment.time_zone
                    ),
                    "statement.problem",
                )
            statement = await service.build_statement(tx, donation_id, period)
            span = await service.find_donation_date_range(tx, donation_id)
        return self._page(request, statement, span, problem)

    @with_error_pages
    async def download(self, request: Request) -> Response:
        """Download the statement of a period as PDF."""
        donation_id = self._opened(request)
        async with self._db.read() as tx:
            try:
                period = self._period(request, tx.now)
            except InvalidPeriod:
                raise NotFound from None
            statement = await service.build_statement(tx, donation_id, period)
        name = f"statement-{period.first}-{period.last}.pdf"
        headers = {**NO_PAGE, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(await self._papers.render_pdf(statement), media_type=PDF, headers=headers)

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page without a valid link or its cookie."""
        return self.pages.render_message(
            "statement.unknown", self.pages.preferred_language(request), status=status, icon="link"
        )

    def server_error_page(self, request: Request, error: Exception) -> Response:
        """The page for an unexpected error."""
        page = self.pages.render_message("give.broken", self.pages.preferred_language(request), status=500, icon="info")
        return ServerErrorResponse(page, error)

    def _real_now(self) -> datetime:
        return self._db.deployment.clock.real_now()

    def _gift(self, request: Request) -> tuple[UUID, LinkSession]:
        """The donation whose receipt was opened in this browser. Raises NotFound."""
        return self._visit(request, receipts_domain.PAGE_PURPOSE)

    def _opened(self, request: Request) -> UUID:
        """The donation whose donor's statement was opened in this browser. Raises NotFound."""
        donation_id, visit = self._visit(request, domain.PAGE_PURPOSE)
        if visit.expires_at is None or visit.expires_at <= self._real_now():
            raise NotFound
        return donation_id

    def _visit(self, request: Request, purpose: str) -> tuple[UUID, LinkSession]:
        name = request.path_params["id"]
        donation_id = self._ids.decode("donation", name)
        visit = (
            None
            if donation_id is None
            else link_sessions.find_link_session(request, self._vault, purpose, donation_id, name)
        )
        if donation_id is None or visit is None:
            raise NotFound
        return donation_id, visit

    def _period(self, request: Request, now: datetime) -> StatementPeriod:
        days = request.query_params
        return domain.parse_period(days.get("first"), days.get("last"), now, self._db.deployment.time_zone)

    async def _offer(self, donation_id: UUID, visit: LinkSession, *, status: int = 200) -> Response:
        async with self._db.read() as tx:
            receipt = await service.get_receipt(tx, donation_id)
            issuer = await service.load_issuer_name(tx, receipt)
        return self.pages.render_page(
            "statement_offer.html",
            self.pages.language_for_tag(receipt.language),
            status=status,
            issuer=issuer,
            csrf=visit.csrf,
            reference=self._ids.encode("donation", donation_id),
            alert="give.again" if status == 403 else None,
        )

    def _page(
        self, request: Request, statement: DonorStatement, span: DonationDateRange | None, problem: str | None
    ) -> Response:
        language = self.pages.language_for_tag(statement.receipt_of_opened_link.language)
        years, tax_years = domain.list_available_calendar_and_uk_tax_years(span, self._db.deployment.time_zone)
        called = [(one, formats.localise_digits(str(one.first.year), language.locale)) for one in years]
        taxed = [
            (one, f"{formats.format_day(one.first, language.locale)} – {formats.format_day(one.last, language.locale)}")
            for one in tax_years
        ]
        return self.pages.render_page(
            "statement.html",
            language,
            status=422 if problem else 200,
            statement=statement,
            years=[*called, *taxed],
            problem=problem,
            typed=dict(request.query_params),
            donor=formats.full_name(
                statement.receipt_of_opened_link.first_name, statement.receipt_of_opened_link.last_name, language.locale
            ),
            reference=request.path_params["id"],
        )
