"""Pages of giving links, identical for all visitors; nothing is stored until a donor submits the form.

A GET sets no cookie. The form becomes a session when it is submitted; from then on the donor is on the session's pages,
with their limits.
"""

from dataclasses import dataclass, replace
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.giving.checkout.donations.domain import CheckoutState, DonationDetails, SessionDonation
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.giving.checkout.giving_links.domain import FundraisingProgress, GivingLink, is_slug
from almoner.giving.checkout.hosted_page import device_cookie, prefill, service
from almoner.giving.checkout.hosted_page.pages import DonationPages, SessionPageRequest, with_error_pages
from almoner.giving.checkout.hosted_page.ports import CheckoutFunctions, GivingLinkDisclosures
from almoner.giving.checkout.hosted_page.schemas import DonationForm, Problems
from almoner.giving.checkout.hosted_page.service import SessionView
from almoner.giving.checkout.hosted_page.views import FormNotice, GivingLinkContext
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import LIFETIME, PAGE_PURPOSE, DonationSession
from almoner.giving.receipts import service as receipts
from almoner.kit import language as languages
from almoner.kit.errors import NotFound
from almoner.kit.text import clean_text
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.outbound.addresses import client_network_for_rate_limit
from almoner.platform.pages import formats, forms, link_sessions
from almoner.platform.pages.headers import origin_of_url
from almoner.platform.pages.rendering import PageRenderer
from almoner.platform.pages.translations import FALLBACK, Language
from almoner.platform.ratelimit import RateLimit, RateLimiter

_SENDING: Final = RateLimit("giving_link_form", 0.5, 60)
"""How many forms one client network may submit: enough for an event, but not more sessions than allowed card
attempts.
"""
_SEARCHING: Final = RateLimit("giving_link_search", 2, 60)
_PAGE: Final = 25
_LAST_PAGE: Final = 40
_SEARCHED_FROM: Final = 8
"""A list of more nonprofits than this has a search."""
_COOKIE_SECONDS: Final = 49 * 3600
_QR_SECONDS: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class GivingLinkRequest:
    """A giving link opened by a request, with the visitor and the page's language."""

    request: Request
    link: GivingLink
    account: PartnerAccount
    language: str
    issuer_name: str
    page_path: str

    @property
    def partner(self) -> Partner:
        """The partner that owns the link."""
        return Partner(self.link.partner_id)

    def page_url(self, **changed: str) -> str:
        """The page's URL with its prefilled values and some changed parameters."""
        kept = {**prefill.preserved_query_parameters(self.request.query_params), **changed}
        return f"{self.page_path}?{urlencode(kept)}" if kept else self.page_path


class GivingLinkClosed(Exception):
    """The link does not accept donations. ``kind``: the page to show."""

    def __init__(self, kind: str, name: str = "", account: PartnerAccount | None = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.name = name
        self.account = account


class GivingLinkPages:
    """Pages about giving links."""

    def __init__(
        self,
        db: Database,
        pages: PageRenderer,
        give: DonationPages,
        checkout: CheckoutFunctions,
        limiter: RateLimiter,
        disclosures: GivingLinkDisclosures,
    ) -> None:
        self._db = db
        self._pages = pages
        self._give = give
        self._checkout = checkout
        self._limiter = limiter
        self._disclosures = disclosures
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of_url(db.deployment.base_urls.pages)
        self.views = give.views

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/g/{slug}", self.show_or_submit, methods=["GET", "POST"]),
            Route("/g/{slug}/dialog", self.show_in_frame, methods=["GET"]),
            Route("/g/{slug}/qr.{kind}", self.qr_code, methods=["GET"]),
        ]

    def not_found_page(self, request: Request, status: int) -> Response:
        """The page for an unknown link."""
        return self.views.message_page(request, "unknown", status, "link")

    async def show_or_submit(self, request: Request) -> Response:
        """Handle every method of this path."""
        return await (self.submit_donation_form if request.method == "POST" else self.show_donation_form)(request)

    @with_error_pages
    async def show_donation_form(self, request: Request) -> Response:
        """Show the form, or the nonprofits to choose from."""
        return await self._show(request)

    @with_error_pages
    async def show_in_frame(self, request: Request) -> Response:
        """Show the page in a frame, on sites that the link allows. Links open in the whole window."""
        return await self._show(request, framed=True)

    async def _show(self, request: Request, *, framed: bool = False) -> Response:
        try:
            async with self._db.read() as tx:
                opened = await self._open(tx, request)
                if framed and not opened.link.allowed_origins:
                    raise NotFound
                chosen = await self._chosen(tx, opened, request.query_params.get("organisation"))
                if chosen is None:
                    return await self._choice(tx, opened, framed=framed)
                giving = await self._view(tx, opened, chosen, request.query_params.get("currency"))
                context = await self._context(tx, opened, giving, framed=framed)
        except GivingLinkClosed as closed:
            return self._closed(request, closed)
        amounts = self._give.amounts_of(giving)
        language = self.views.language(giving)
        typed = prefill.prefilled_form(request.query_params, amounts, giving.session, language.locale)
        shared = None if prefill.is_prefilled(request.query_params) else request
        return self._form(giving, context, typed, shared=shared)

    @with_error_pages
    async def submit_donation_form(self, request: Request) -> Response:
        """Create the session and proceed to payment, or show the form with its problems."""
        form = await forms.read_form(request)
        typed = DonationForm.from_fields(form)
        try:
            async with self._db.read() as tx:
                opened = await self._open(tx, request)
                chosen = await self._chosen(tx, opened, str(form.get("organisation", "")))
                if chosen is None:
                    return await self._choice(tx, opened)
                giving = await self._view(tx, opened, chosen, str(form.get("currency", "")))
                context = await self._context(tx, opened, giving)
            if not link_sessions.is_same_origin(request, self._origin):
                again = FormNotice("give.again", alert=True)
                return self._form(giving, context, typed, status=403, notice=again)
            gift = self._give.parse_details(giving, typed)
            if not isinstance(gift, DonationDetails):
                return self._form(giving, context, typed, status=422, problems=gift)
            if wait := self._wait(request):
                slow = FormNotice("give.wait.slow", alert=True, seconds=wait)
                return self._form(giving, context, typed, status=429, notice=slow)
            made = await self._make_session(giving, str(form.get("reference", "")))
        except GivingLinkClosed as closed:
            return self._closed(request, closed)
        return await self._proceed(request, made, typed, gift)

    async def qr_code(self, request: Request) -> Response:
        """The link's QR code for printing."""
        async with self._db.read() as tx:
            link = await self._find(tx, request)
        kind = request.path_params["kind"]
        if link is None or kind not in ("svg", "png"):
            return self.not_found_page(request, 404)
        headers = {
            "Cache-Control": f"public, max-age={_QR_SECONDS}",
            "Cross-Origin-Resource-Policy": "cross-origin",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        }
        media_type = "image/png" if kind == "png" else "image/svg+xml"
        return Response(_qr_code(self._url(link), kind), media_type=media_type, headers=headers)

    async def _find(self, tx: Tx, request: Request) -> GivingLink | None:
        slug = request.path_params["slug"].lower()
        return await giving_links.find_by_slug(tx, slug) if is_slug(slug) else None

    async def _open(self, tx: Tx, request: Request) -> GivingLinkRequest:
        """The link of the request's path. Raises NotFound, GivingLinkClosed."""
        if (link := await self._find(tx, request)) is None:
            raise NotFound
        partner = Partner(link.partner_id)
        account = await partners.get(tx, partner)
        offered = self._pages.catalogues.offered_languages
        asked = request.query_params.get("lang") or request.headers.get("accept-language")
        request.state.language = languages.negotiate_language(asked, offered) or FALLBACK
        if not link.is_open(tx.now):
            raise GivingLinkClosed("link_over", account=account)
        if account.is_paused:
            raise GivingLinkClosed("paused", account=account)
        issuer = await receipts.find_issuer_name(tx, partner) or account.name
        return GivingLinkRequest(request, link, account, request.state.language, issuer, request.url.path)

    async def _chosen(self, tx: Tx, opened: GivingLinkRequest, named: str | None) -> UUID | None:
        """The chosen nonprofit; None if the donor still has to choose. Raises NotFound, GivingLinkClosed."""
        link = opened.link
        wanted = self._ids.decode("organisation", named) if named else None
        if wanted is None and len(link.organisation_ids) != 1:
            return None
        ids = [wanted] if link.category_id is not None and wanted is not None else list(link.organisation_ids)
        recipients = await giving_links.list_recipients(tx, opened.partner, ids)
        if wanted is not None:
            recipients = [
                one for one in recipients if wanted in (one.primary_organisation_id, one.listed_organisation_id)
            ]
        if not recipients:
            raise NotFound
        found = recipients[0]
        if link.category_id is not None:
            of = await categories.load_categories_by_organisation(tx, opened.partner, [found.primary_organisation_id])
            if link.category_id not in {one.id for one in of.get(found.primary_organisation_id, [])}:
                raise NotFound
        if found.ineligibility_reason is not None:
            [name] = (
                await organisations.load_display_names_by_id(tx, opened.partner, [found.primary_organisation_id])
            ).values()
            raise GivingLinkClosed("closed", name, opened.account)
        return found.primary_organisation_id

    async def _view(
        self, tx: Tx, opened: GivingLinkRequest, organisation_id: UUID, currency: str | None
    ) -> SessionView:
        """The view of a session that the link would create. Raises GivingLinkClosed."""
        link = opened.link
        cause = await service.load_profile_of_organisation(tx, opened.partner, organisation_id)
        taken = tuple(code for code in cause.receivable_currencies if code in self._checkout.currencies)
        offered = tuple(code for code in link.currencies if code in taken) if link.currencies else taken
        if not offered:
            raise GivingLinkClosed("closed", cause.name, opened.account)
        if currency not in offered:
            header = opened.request.headers.get("accept-language")
            currency = service.default_currency(offered, header)
        session = DonationSession(
            tx.new_id(),
            link.partner_id,
            organisation_id,
            None,
            "open",
            opened.language,
            currency,
            link.success_url,
            link.metadata,
            tx.now,
            tx.now + LIFETIME,
            frequencies=link.frequencies,
            options=link.options,
            giving_link_id=link.id,
        )
        nothing = SessionDonation(CheckoutState.NOT_STARTED, None, None)
        return SessionView(
            session,
            opened.account,
            "open",
            replace(cause, receivable_currencies=offered),
            nothing,
            card_attempts_exhausted=False,
        )

    async def _context(
        self, tx: Tx, opened: GivingLinkRequest, giving: SessionView, *, framed: bool = False
    ) -> GivingLinkContext:
        """The link's details for the form."""
        link, session, query = opened.link, giving.session, opened.request.query_params
        assert session.currency is not None, "it was chosen"
        language = self.views.language(giving)
        progress: FundraisingProgress | None = None
        if link.shows_progress and len(link.currencies) == 1:
            progress = await giving_links.load_fundraising_progress(tx, opened.partner, link.id, session.currency)
        organisation = self._ids.encode("organisation", session.organisation_id)
        hidden = {"organisation": organisation, "currency": session.currency}
        if reference := prefill.clean_partner_reference(query.get("reference", "")):
            hidden["reference"] = reference
        image = link.image_key or giving.nonprofit.logo
        several = link.category_id is not None or len(link.organisation_ids) > 1
        named = {"organisation": organisation} if several else {}
        return GivingLinkContext(
            url=self._url(link),
            action=f"/g/{link.slug}" + (f"?{urlencode({'lang': lang})}" if (lang := query.get("lang")) else ""),
            words=(link.title, link.text),
            partner=opened.account.name,
            issuer=opened.issuer_name,
            image=f"/media/{link.image_key}" if link.image_key else None,
            preview_image=f"{self._db.deployment.base_urls.pages}/media/{image.removeprefix('/media/')}"
            if image
            else None,
            hidden=hidden,
            others=opened.page_url() if several else None,
            currencies=[
                (code, opened.page_url(**named, currency=code))
                for code in giving.nonprofit.receivable_currencies
                if code != session.currency
            ],
            goal_minor=link.goal_minor,
            raised_minor=progress.raised_minor if progress else None,
            donors=progress.donor_count if progress else None,
            days=formats.format_days(self._disclosures.disbursement_days, language.locale),
            notices=self.views.legal_notices(giving, language, for_regular_donations=False),
            frame_ancestors=link.allowed_origins if framed else (),
        )

    def _form(
        self,
        giving: SessionView,
        context: GivingLinkContext,
        form: DonationForm,
        *,
        status: int = 200,
        problems: Problems | None = None,
        notice: FormNotice | None = None,
        shared: Request | None = None,
    ) -> Response:
        return self.views.donation_form_page(
            giving,
            self._give.amounts_of(giving),
            self._checkout.fee_schedule,
            form,
            offers_transfer=(giving.session.currency or "") in self._checkout.own_bank_accounts,
            action=context.action,
            csrf="",
            status=status,
            problems=problems or {},
            notice=notice,
            link=context,
            cacheable_page_request=shared,
        )

    def _wait(self, request: Request) -> int | None:
        """Seconds until the client's network may submit a form again; None if it may now."""
        network = client_network_for_rate_limit(request.client.host) if request.client else ""
        return self._limiter.count_call(
            _SENDING, network, self._db.deployment.clock.real_now().timestamp()
        ).retry_after_seconds

    async def _make_session(self, giving: SessionView, reference: str) -> SessionView:
        """Store the session of the form."""
        named = prefill.clean_partner_reference(reference)
        metadata = {**({"reference": named} if named else {}), **(giving.session.metadata or {})} or None
        async with self._db.write() as tx:
            session = replace(giving.session, created_at=tx.now, expires_at=tx.now + LIFETIME, metadata=metadata)
            await sessions.store_giving_link_session(tx, session)
        return replace(giving, session=session)

    async def _proceed(
        self, request: Request, giving: SessionView, form: DonationForm, details: DonationDetails
    ) -> Response:
        """Continue on the session's pages, as for a session's own link."""
        name = self._ids.encode("donationsession", giving.session.id)
        visit = link_sessions.begin_link_session(self._vault, PAGE_PURPOSE, giving.session.id, name)
        response = await self._give.proceed_to_payment(SessionPageRequest(request, name, visit, giving), form, details)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        device_cookie.ensure_device_cookie(request, response, self._vault)
        return response

    async def _choice(self, tx: Tx, opened: GivingLinkRequest, *, framed: bool = False) -> Response:
        """The page with the nonprofits to choose from."""
        query = opened.request.query_params
        text, number = clean_text(query.get("q", ""))[:200], _page_number(query.get("page", ""))
        if opened.link.category_id is not None:
            found, more = await self._page_of_category(tx, opened, text, number)
        else:
            found, more = await self._list_organisations_by_name(tx, opened, text), False
        allowed = await giving_links.list_recipients(tx, opened.partner, [one.id for one in found])
        open_ids = {one.primary_organisation_id for one in allowed if one.ineligibility_reason is None}
        language = self._pages.language_for_tag(opened.language)
        searched = text or more or number > 1 or len(opened.link.organisation_ids) > _SEARCHED_FROM
        context: dict[str, Any] = {
            "link": opened.link,
            "account": opened.account,
            "image": f"/media/{opened.link.image_key}" if opened.link.image_key else None,
            "url": self._url(opened.link),
            "action": opened.page_path,
            "carried": prefill.preserved_query_parameters(query),
            "query": text,
            "searched": searched or opened.link.category_id is not None,
            "found": [self._card(opened, one, language) for one in found if one.id in open_ids],
            "earlier": opened.page_url(q=text, page=str(number - 1)) if number > 1 else None,
            "further": opened.page_url(q=text, page=str(number + 1)) if more else None,
            "partner_links": opened.account.public_links,
            "comma": formats.list_separator(language.locale),
            "frame_ancestors": opened.link.allowed_origins if framed else (),
            "framed": framed,
        }
        if prefill.is_prefilled(query):
            return self._pages.render_page("choose.html", language, **context)
        return self._pages.render_cacheable_page(opened.request, "choose.html", language, **context)

    async def _list_organisations_by_name(
        self, tx: Tx, opened: GivingLinkRequest, search_text: str
    ) -> list[Organisation]:
        """The link's organisations whose names contain every word of the text."""
        found = await organisations.list_by_ids(tx, opened.partner, opened.link.organisation_ids)
        words = search_text.casefold().split()
        return [one for one in found if all(word in one.effective_display_name.casefold() for word in words)]

    async def _page_of_category(
        self, tx: Tx, opened: GivingLinkRequest, text: str, number: int
    ) -> tuple[list[Organisation], bool]:
        assert opened.link.category_id is not None
        start = (number - 1) * _PAGE
        network = client_network_for_rate_limit(opened.request.client.host) if opened.request.client else ""
        if (
            text
            and self._limiter.count_call(_SEARCHING, network, tx.real_now.timestamp()).retry_after_seconds is not None
        ):
            text = ""
        results = await organisations.list_donatable_organisations_in_category(
            tx, opened.partner, opened.link.category_id, text, start, _PAGE
        )
        return results.organisations, results.total > start + _PAGE and number < _LAST_PAGE

    def _card(self, opened: GivingLinkRequest, one: Organisation, language: Language) -> dict[str, Any]:
        country = formats.country_name(one.country_code, language.locale)
        return {
            "name": one.effective_display_name,
            "place": [part for part in (one.display_city, one.state, country) if part],
            "register": one.registry_code,
            "number": one.registry_number,
            "url": opened.page_url(organisation=self._ids.encode("organisation", one.id)),
        }

    def _closed(self, request: Request, closed: GivingLinkClosed) -> Response:
        links = closed.account.public_links if closed.account else None
        return self._pages.render_message(
            f"give.{closed.kind}",
            self._pages.language_for_tag(getattr(request.state, "language", FALLBACK)),
            status=410 if closed.kind == "link_over" else 409,
            icon="info",
            partner_links=links,
            organisation=closed.name,
        )

    def _url(self, link: GivingLink) -> str:
        return f"{self._db.deployment.base_urls.pages}/g/{link.slug}"


def _page_number(text: str) -> int:
    return min(max(int(text), 1), _LAST_PAGE) if text.isascii() and text.isdigit() and len(text) < 4 else 1


def _qr_code(url: str, kind: str) -> bytes:
    import segno  # imported on first use

    out = BytesIO()
    made = segno.make(url, error="m", micro=False)
    if kind == "png":
        made.save(out, kind="png", scale=20, border=4)
    else:
        made.save(out, kind="svg", unit="mm", border=4, dark="#000", light="#fff")  # a unit adds the viewBox
    return out.getvalue()
