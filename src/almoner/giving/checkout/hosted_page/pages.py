"""The routes of the hosted page. POST needs cookie, token and origin.

GET only stores a default language and currency, and refreshes a started payment.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Final, Protocol, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.checkout.card_testing.domain import BrowserFingerprint, EmailCodeRequired, RateLimited
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import (
    CannotAcceptDonations,
    CheckoutState,
    Donation,
    DonationDetails,
    SessionDonation,
    TooManyCardAttempts,
    WrongTargetCurrency,
)
from almoner.giving.checkout.hosted_page import device_cookie, domain, form_cookie, service
from almoner.giving.checkout.hosted_page.ports import CheckoutFunctions, LegalNotice
from almoner.giving.checkout.hosted_page.schemas import MAX_LENGTH, TRANSFER, DonationForm, Problems, email_problem_key
from almoner.giving.checkout.hosted_page.service import SessionView
from almoner.giving.checkout.hosted_page.views import FormNotice, HostedPageViews, ReceiptEmailForm, redirect_to
from almoner.giving.checkout.payments.domain import RETURN_PURPOSE
from almoner.giving.checkout.sessions.domain import PAGE_PURPOSE, SessionAlreadyCompleted, SessionExpired
from almoner.giving.receipts import service as receipts
from almoner.giving.subscriptions.agreements import service as agreements
from almoner.kit.errors import AccountPaused, NotFound, ServiceUnavailable
from almoner.platform.database.transactions import Database
from almoner.platform.outbound.email_addresses import clean_email_address
from almoner.platform.pages import forms, link_sessions
from almoner.platform.pages.headers import origin_of_url
from almoner.platform.pages.link_sessions import CSRF_FIELD, LinkSession
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"

_OVER: Final = (CheckoutState.PAID, CheckoutState.HELD, CheckoutState.AWAITED)
_COOKIE_SECONDS: Final = 49 * 3600  # a day of the session, an hour of grace, and a day for the thank-you page
_FORM_COOKIE_SECONDS: Final = 2 * 3600  # keeps requests small; later the donor types again


class HasHostedPageViews(Protocol):
    """Pages with views that can show errors."""

    views: HostedPageViews


S = TypeVar("S", bound=HasHostedPageViews)
Handler = Callable[[S, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class SessionPageRequest:
    """A request with the cookie of its donation session. ``encoded_session_id``: the session's ID in paths."""

    request: Request
    encoded_session_id: str
    link_session: LinkSession
    session_view: SessionView

    @property
    def id(self) -> UUID:
        """The session's ID."""
        return self.session_view.session.id

    @property
    def session_donation(self) -> SessionDonation:
        """The donation of the session, as far as there is one."""
        return self.session_view.session_donation


def with_error_pages(handler: Handler[S]) -> Handler[S]:
    """Wrap a page handler so that its exceptions become error pages."""

    @wraps(handler)
    async def answer(self: S, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.views.message_page(request, "unknown", 404, "link")
        except SessionExpired:
            return self.views.message_page(request, "expired", 410, "clock")
        except SessionAlreadyCompleted:
            return redirect_to(f"/give/{request.path_params['id']}/thanks")
        except AccountPaused:  # while handling the form
            return self.views.message_page(request, "paused", 409, "info")
        except TooManyCardAttempts:
            return self.views.message_page(request, "tries", 410, "lock")
        except ServiceUnavailable:
            return self.views.message_page(request, "broken", 503, "clock")
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return self.views.unexpected_error_page(request, error)

    return answer


class DonationPages:
    """The hosted donation pages."""

    def __init__(
        self, db: Database, pages: PageRenderer, checkout: CheckoutFunctions, notices: Sequence[LegalNotice] = ()
    ) -> None:
        self._db = db
        self._pages = pages
        self._checkout = checkout
        self._clock = db.deployment.clock
        self._vault = db.deployment.vault
        self._origin = origin_of_url(db.deployment.base_urls.pages)
        self.views = HostedPageViews(pages, checkout.provider_page_origin, notices)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/give", self.open_link, methods=["GET"]),
            Route("/give/{id}", self.show_or_submit_form, methods=["GET", "POST"]),
            Route("/give/{id}/return", self.handle_donor_return, methods=["GET"]),
            Route("/give/{id}/thanks", self.show_thanks, methods=["GET", "POST"]),
        ]

    def not_found_page(self, request: Request, status: int) -> Response:
        """The page for an unknown link."""
        return self.views.message_page(request, "unknown", status, "link")

    @with_error_pages
    async def open_link(self, request: Request) -> Response:
        """Open the link: a cookie replaces its token, and the browser is redirected (H1)."""
        session_id = self._vault.read_page_token(PAGE_PURPOSE, request.query_params.get("token", ""))
        if session_id is None:
            raise NotFound
        name = self._db.deployment.ids.encode("donationsession", session_id)
        response = redirect_to(f"/give/{name}")
        # A second tab reuses the first one's cookie: a new one would invalidate the form that is open there.
        visit = link_sessions.find_link_session(request, self._vault, PAGE_PURPOSE, session_id, name)
        visit = visit or link_sessions.begin_link_session(self._vault, PAGE_PURPOSE, session_id, name)
        visit.set_cookie(response, max_age_seconds=_COOKIE_SECONDS)
        device_cookie.ensure_device_cookie(request, response, self._vault)
        return response

    async def show_or_submit_form(self, request: Request) -> Response:
        """Handle every method of this path."""
        return await (self.submit_form if request.method == "POST" else self.show_form)(request)

    @with_error_pages
    async def show_form(self, request: Request) -> Response:
        """Show the donation form, or a page that says why it is not available."""
        opened = await self.open_session(request)
        response = opened if isinstance(opened, Response) else await self._current_page(opened)
        device_cookie.ensure_device_cookie(request, response, self._vault)
        return response

    @with_error_pages
    async def submit_form(self, request: Request) -> Response:
        """Handle the form: show its problems, or redirect to the payment provider."""
        opened = await self.open_session(request)
        if isinstance(opened, Response):
            return opened
        if (posted := await self.read_form(opened)) is None:
            if opened.session_donation.state in _OVER:  # the form was left open: show the current one instead
                return self._after(opened, opened.session_donation)
            return self._form(opened, DonationForm(), status=403, notice=FormNotice("give.again", alert=True))
        giving = opened.session_view
        if giving.session_status == "expired" and giving.session_donation.state is not CheckoutState.UNDER_WAY:
            raise SessionExpired
        if not giving.accepts_donations:
            return await self._current_page(opened)
        typed = DonationForm.from_fields(posted)
        gift = self.parse_details_of_session(opened, typed)
        if not isinstance(gift, DonationDetails):
            return self._form(opened, typed, status=422, problems=gift)
        return await self.proceed_to_payment(opened, typed, gift)

    async def read_form(self, session_request: SessionPageRequest) -> FormData | None:
        """The posted form; None without a valid CSRF token (H2)."""
        form = await forms.read_form(session_request.request)
        ours = link_sessions.is_same_origin(
            session_request.request, self._origin
        ) and session_request.link_session.matches_csrf_token(form.get(CSRF_FIELD))
        return form if ours else None

    def parse_details_of_session(
        self, session_request: SessionPageRequest, form: DonationForm
    ) -> DonationDetails | Problems:
        """The donation details in the form, or its problems."""
        return self.parse_details(session_request.session_view, form)

    def parse_details(self, view: SessionView, form: DonationForm) -> DonationDetails | Problems:
        """The donation details in a form for this view, with what the donor agreed to, or the form's problems."""
        language = self.views.language(view)
        gift = form.parse(
            self.amounts_of(view),
            language.locale,
            self._checkout.fee_schedule,
            offers_gift_aid=view.offers_gift_aid,
            frequencies=view.session.frequencies,
            designations=view.session.options.designations,
            offers_dedication=view.session.options.dedication,
        )
        if not isinstance(gift, DonationDetails) or gift.frequency == "one_time":
            return gift
        today = self._db.deployment.date_in_issuer_time_zone(self._clock.now())
        agreed = agreements.build_agreement(language, view.nonprofit.name, gift.money, gift.frequency, today)
        return replace(gift, agreement=agreed)

    async def proceed_to_payment(
        self, session_request: SessionPageRequest, form: DonationForm, details: DonationDetails
    ) -> Response:
        """Redirect to the provider, to the email code page, or back with a wait notice (H6)."""
        if not session_request.session_view.accepts_donations:
            return await self._current_page(session_request)
        browser = device_cookie.browser_fingerprint_of(session_request.request, self._vault)
        try:
            asks, code_sent = await self._another_plan(session_request, form, details, browser)
            if asks:
                response = self._form(
                    session_request, form, status=422, problems={"another": "give.problem.another.missing"}
                )
                form_cookie.set_form_cookie(
                    response,
                    self._vault,
                    session_request.id,
                    session_request.encoded_session_id,
                    form,
                    max_age_seconds=_FORM_COOKIE_SECONDS,
                )
                return response
            started = None if code_sent else await self._begin(session_request, form, details, browser)
        except ServiceUnavailable:
            return self._form(session_request, form, status=503, notice=FormNotice("give.busy", alert=True))
        except (CannotAcceptDonations, WrongTargetCurrency):  # since the form was read; the page says what is so now
            return redirect_to(f"/give/{session_request.encoded_session_id}")
        except RateLimited as wait:
            response = self._form(session_request, form, status=429, notice=self.views.rate_limit_notice(wait))
        else:
            if started is not None and started.payment_url is None:
                return self._after(session_request, started)
            response = redirect_to(
                f"/give/{session_request.encoded_session_id}/code" if started is None else str(started.payment_url)
            )
        form_cookie.set_form_cookie(
            response,
            self._vault,
            session_request.id,
            session_request.encoded_session_id,
            form,
            max_age_seconds=_FORM_COOKIE_SECONDS,
        )
        return response

    async def _another_plan(
        self, opened: SessionPageRequest, form: DonationForm, details: DonationDetails, browser: BrowserFingerprint
    ) -> tuple[bool, bool]:
        """Whether to ask the donor about a second subscription for the nonprofit, and whether a code was sent instead.

        Only someone with access to the mailbox learns that a subscription exists. Raises RateLimited.
        """
        if details.frequency == "one_time" or form.another:
            return False, False
        async with self._db.write() as tx:
            if not await service.donor_has_regular_donation(tx, opened.session_view.session, details.email):
                return False, False
            if await card_testing.is_email_verified(tx, opened.id, details.email):
                return True, False
            await card_testing.ensure_email_code_sent(tx, opened.id, browser, details.email)
            return False, True

    async def _begin(
        self, opened: SessionPageRequest, form: DonationForm, details: DonationDetails, browser: BrowserFingerprint
    ) -> SessionDonation | None:
        """Start the payment; None if a code was sent instead. Raises RateLimited, ServiceUnavailable."""
        by_bank = form.way == TRANSFER and details.money.currency in self._checkout.own_bank_accounts
        begin = (self._checkout.start_bank_transfer if by_bank else None) or self._checkout.start_payment
        try:
            return await begin(opened.id, details, browser)
        except EmailCodeRequired:
            async with self._db.write() as tx:
                await card_testing.ensure_email_code_sent(tx, opened.id, browser, details.email)
            return None

    @with_error_pages
    async def handle_donor_return(self, request: Request) -> Response:
        """Handle the donor's return from the provider's page.

        Without the cookie, because a bank's app may open another browser, the token only shows the payment's status,
        not the donor.
        """
        session_id, name, visit = self._visited(request)
        payment_id = await self._returned(request, session_id)
        if visit is None and payment_id is None:
            return self.views.message_page(request, "cookieless", 403, "link")
        giving = await self._load(request, session_id)
        gift = giving.session_donation
        if not link_sessions.is_speculative_request(request):
            try:
                gift = await self._checkout.handle_donor_return(session_id, payment_id)
            except ServiceUnavailable:
                return self._waiting(request, giving, gift)
        if visit is None:
            return await self._reported(request, replace(giving, session_donation=gift))
        return self._after(SessionPageRequest(request, name, visit, giving), gift)

    @with_error_pages
    async def show_thanks(self, request: Request) -> Response:
        """The thank-you page of a paid donation.

        A form on it corrects an address to which the receipt could not be delivered.
        """
        opened = await self.open_session(request)
        if isinstance(opened, Response):
            return opened
        donation = opened.session_donation.donation
        if opened.session_donation.state is not CheckoutState.PAID or donation is None:
            return redirect_to(f"/give/{opened.encoded_session_id}")
        received_at = await self._received_at(donation)
        form = ReceiptEmailForm(f"/give/{opened.encoded_session_id}/thanks", opened.link_session.csrf)
        if request.method == "GET":
            return self.views.thanks_page(opened.session_view, donation, received_at, form)
        if (posted := await self.read_form(opened)) is None:
            return self.views.thanks_page(opened.session_view, donation, received_at, form, status=403)
        typed = clean_email_address(str(posted.get("email", "")))
        if problem := email_problem_key(typed):
            form = replace(form, typed=typed[:MAX_LENGTH], problem=problem)
            return self.views.thanks_page(opened.session_view, donation, received_at, form, status=422)
        async with self._db.write() as tx:
            await donations.correct_receipt_email(tx, donation.id, typed)
        return redirect_to(form.action)

    async def open_session(self, request: Request) -> SessionPageRequest | Response:
        """The opened session of the path, for a browser with its cookie."""
        session_id, name, visit = self._visited(request)
        if visit is not None:
            return SessionPageRequest(request, name, visit, await self._load(request, session_id))
        if await self._returned(request, session_id) is not None:
            return redirect_to(_retry_address(request))
        return self.views.message_page(request, "cookieless", 403, "link")

    def _visited(self, request: Request) -> tuple[UUID, str, LinkSession | None]:
        """The session of the URL, its ID there, and the visit if there is one. Raises NotFound."""
        name = request.path_params["id"]
        session_id = self._db.deployment.ids.decode("donationsession", name)
        if session_id is None:
            raise NotFound
        return session_id, name, link_sessions.find_link_session(request, self._vault, PAGE_PURPOSE, session_id, name)

    async def _returned(self, request: Request, session_id: UUID) -> UUID | None:
        """The session's payment named by the URL's token; None without one."""
        payment_id = self._vault.read_page_token(RETURN_PURPOSE, request.query_params.get("token", ""))
        if payment_id is None:
            return None
        async with self._db.read() as tx:
            return payment_id if await service.is_payment_of_session(tx, session_id, payment_id) else None

    async def _load(self, request: Request, session_id: UUID) -> SessionView:
        """Load the session; chooses its language and currency if they are not set."""
        async with self._db.read() as tx:
            found = service.with_limited_currencies(
                await service.load_session_view(tx, session_id), self._checkout.currencies
            )
        undecided = found.session.language is None or found.session.currency is None
        giving = service.with_default_language_and_currency(
            found, request.headers.get("accept-language"), self._pages.catalogues
        )
        if undecided and found.session_status == "open" and not link_sessions.is_speculative_request(request):
            async with self._db.write() as tx:
                giving = await service.store_language_and_currency(tx, giving)
        request.state.language = giving.session.language  # later errors are shown in this language
        return giving

    async def _reported(self, request: Request, giving: SessionView) -> Response:
        """The status of the donation for anybody with the return link: no form, no name, no address."""
        donation = giving.session_donation.donation
        assert donation is not None, "it has a payment"
        match giving.session_donation.state:
            case CheckoutState.PAID:
                success = self._success_url(giving)
                if success:
                    return redirect_to(success)
                return self.views.thanks_page(giving, donation, await self._received_at(donation))
            case CheckoutState.HELD:
                return await self._held(giving)
            case CheckoutState.AWAITED:
                return self.views.transfer_pending_page(giving, donation, _retry_address(request))
            case CheckoutState.UNDER_WAY if not giving.session_donation.is_reported_unpaid:
                return self._waiting(request, giving, giving.session_donation)
            case _:
                return self.views.payment_pending_page(
                    giving,
                    donation,
                    _retry_address(request),
                    giving.session_donation.payment_url,
                    provider_reports_unpaid=True,
                )

    async def _received_at(self, donation: Donation) -> datetime:
        async with self._db.read() as tx:
            return await receipts.load_payment_received_at(tx, donation)

    def _success_url(self, giving: SessionView) -> str | None:
        session = giving.session
        return session.success_url_with_session_id(self._db.deployment.ids.encode("donationsession", session.id))

    def _after(self, opened: SessionPageRequest, gift: SessionDonation) -> Response:
        """The page for a donor who returns from the provider."""
        match gift.state:
            case CheckoutState.PAID:
                response = redirect_to(
                    self._success_url(opened.session_view) or f"/give/{opened.encoded_session_id}/thanks"
                )
                form_cookie.clear_form_cookie(response, opened.encoded_session_id)
                return response
            case CheckoutState.AWAITED:
                return redirect_to(f"/give/{opened.encoded_session_id}/transfer")
            case CheckoutState.UNDER_WAY:
                return self._waiting(opened.request, opened.session_view, gift)
            case _:
                return redirect_to(f"/give/{opened.encoded_session_id}")

    async def _current_page(self, opened: SessionPageRequest) -> Response:
        """The page that the session's state calls for."""
        if "token" in opened.request.query_params:  # remove the provider's parameters from the URL (H1)
            return redirect_to(f"/give/{opened.encoded_session_id}")
        if (ended := await self._ended_page(opened)) is not None:
            return ended
        giving, state = opened.session_view, opened.session_donation.state
        if not giving.accepts_donations and state is not CheckoutState.UNDER_WAY:
            return self.views.donations_not_accepted_page(giving)
        typed = (
            form_cookie.read_form_cookie(opened.request, self._vault, opened.id, opened.encoded_session_id)
            or DonationForm()
        )
        match state:
            case CheckoutState.UNDER_WAY:
                return await self._started(opened, typed)
            case CheckoutState.DECLINED if giving.card_attempts_exhausted:
                return self.views.session_message_page(giving, "tries", 410, "lock")
            case CheckoutState.DECLINED:
                return self._form(opened, typed, notice=FormNotice("give.failed"))
            case _:
                return self._form(opened, typed)

    async def _ended_page(self, opened: SessionPageRequest) -> Response | None:
        """The page of a session that takes no further form; None if it may take one."""
        giving, gift = opened.session_view, opened.session_donation
        if gift.state is CheckoutState.AWAITED:
            return redirect_to(f"/give/{opened.encoded_session_id}/transfer")
        if gift.state is CheckoutState.HELD:
            return await self._held(giving)
        if giving.session_status == "completed" and gift.state is CheckoutState.NOT_STARTED:
            return self.views.session_message_page(giving, "lapsed", 410, "clock")
        if giving.session_status == "expired":
            if gift.state is CheckoutState.UNDER_WAY and self._in_grace(giving):
                return self._waiting(opened.request, giving, gift)
            return self.views.session_message_page(giving, "expired", 410, "clock")
        if gift.state is CheckoutState.PAID or giving.session_status == "completed":
            return self.views.session_message_page(giving, "used", 410, "heart")
        return None

    async def _held(self, giving: SessionView) -> Response:
        """The page for an unallocated payment: a bank transfer may still be accepted, a card payment is refunded."""
        assert giving.session_donation.donation is not None, "it has a payment"
        async with self._db.read() as tx:
            by_bank = (
                await bank_transfers.find_newest_transfer_payment(tx, giving.session_donation.donation) is not None
            )
        return self.views.session_message_page(giving, "transfer_held" if by_bank else "held", 200, "info")

    async def _started(self, opened: SessionPageRequest, form: DonationForm) -> Response:
        """The form for a started payment; says that nothing was charged only if the provider does."""
        gift, key = opened.session_donation, "give.paying"
        if not link_sessions.is_speculative_request(opened.request):
            with suppress(ServiceUnavailable):
                gift = await self._checkout.handle_donor_return(opened.id, None)
                key = "give.not_paid" if gift.is_reported_unpaid else key
        if gift.state is not CheckoutState.UNDER_WAY:
            return self._after(opened, gift)
        if not opened.session_view.accepts_donations:
            return (
                self.views.donations_not_accepted_page(opened.session_view)
                if gift.is_reported_unpaid
                else self._waiting(opened.request, opened.session_view, gift)
            )
        return self._form(opened, form, notice=FormNotice(key, pay_url=gift.payment_url))

    def _form(
        self,
        opened: SessionPageRequest,
        form: DonationForm,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
        notice: FormNotice | None = None,
    ) -> Response:
        return self.views.donation_form_page(
            opened.session_view,
            self.amounts_of(opened.session_view),
            self._checkout.fee_schedule,
            form,
            offers_transfer=(opened.session_view.session.currency or "") in self._checkout.own_bank_accounts,
            action=f"/give/{opened.encoded_session_id}",
            csrf=opened.link_session.csrf,
            status=status,
            problems=problems or {},
            notice=notice,
        )

    def _waiting(self, request: Request, giving: SessionView, gift: SessionDonation) -> Response:
        if gift.donation is None:
            return redirect_to(f"/give/{request.path_params['id']}")
        return self.views.payment_pending_page(giving, gift.donation, _retry_address(request), gift.payment_url)

    def _in_grace(self, giving: SessionView) -> bool:
        """Whether an attempt that was in progress at expiry may still finish (settled 5)."""
        return self._clock.now() < giving.session.late_payments_accepted_until()

    def amounts_of(self, view: SessionView) -> domain.DonationAmounts:
        """The amounts that a donor can choose."""
        session = view.session
        return domain.donation_amounts_for(session.currency or service.FALLBACK_CURRENCY, session.options)


def _retry_address(request: Request) -> str:
    """The URL to reload, with the token of this one if it has one."""
    token = request.query_params.get("token")
    return f"/give/{request.path_params['id']}/return" + (f"?{urlencode({'token': token})}" if token else "")
