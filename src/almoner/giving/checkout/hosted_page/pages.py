"""The addresses of the hosted page. POST needs cookie, token and origin.

GET settles a choice not yet made and asks the provider about a payment that was begun, no more.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Final, Protocol, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.giving.checkout.card_testing import service as brakes
from almoner.giving.checkout.card_testing.domain import CodeNeeded, TooSoon, Visitor
from almoner.giving.checkout.donations.domain import Gift, SessionDonation, Standing, TooManyTries
from almoner.giving.checkout.hosted_page import device, domain, form_cookie, service
from almoner.giving.checkout.hosted_page.ports import Checkout
from almoner.giving.checkout.hosted_page.schemas import TRANSFER, Problems, TypedGift
from almoner.giving.checkout.hosted_page.service import Giving
from almoner.giving.checkout.hosted_page.views import Notice, Views, to
from almoner.giving.checkout.payments.domain import RETURN
from almoner.giving.checkout.sessions.domain import PAGE, SessionCompleted, SessionExpired
from almoner.kit.errors import NotFound, ServiceUnavailable
from almoner.platform.database.transactions import Database
from almoner.platform.pages import link_sessions
from almoner.platform.pages.headers import origin_of
from almoner.platform.pages.link_sessions import CSRF_FIELD, Visit
from almoner.platform.pages.rendering import Pages

TEMPLATES: Final = Path(__file__).parent / "templates"

_COOKIE_SECONDS: Final = 49 * 3600  # a day of the session, an hour of grace, and a day to look at the thanks
_KEEPSAKE_SECONDS: Final = 2 * 3600  # a donor who comes back later types again: less is kept, and requests stay small
_MAX_FORM: Final = {"max_files": 0, "max_fields": 20, "max_part_size": 8192}


class Shows(Protocol):
    """Pages that can say what went wrong."""

    views: Views


S = TypeVar("S", bound=Shows)
Handler = Callable[[S, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Opened:
    """A request that came with the cookie of its session. ``name``: the session's id in addresses."""

    request: Request
    name: str
    visit: Visit
    giving: Giving

    @property
    def id(self) -> UUID:
        """The session."""
        return self.giving.session.id


def kindly(handler: Handler[S]) -> Handler[S]:
    """What may go wrong becomes a page; so does the unexpected, which is raised afterwards."""

    @wraps(handler)
    async def answer(self: S, request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.views.say(request, "unknown", 404, "link")
        except SessionExpired:
            return self.views.say(request, "expired", 410, "clock")
        except SessionCompleted:
            return to(f"/give/{request.path_params['id']}/thanks")
        except TooManyTries:
            return self.views.say(request, "tries", 410, "lock")
        except ServiceUnavailable:
            return self.views.say(request, "broken", 503, "clock")
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return self.views.broken(request, error)

    return answer


class GivePages:
    """The pages of gifts."""

    def __init__(self, db: Database, pages: Pages, checkout: Checkout) -> None:
        self._db = db
        self._pages = pages
        self._checkout = checkout
        self._clock = db.deployment.clock
        self._vault = db.deployment.vault
        self._origin = origin_of(db.deployment.links.pages)
        self.views = Views(pages, checkout.origin)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/give", self.open_link, methods=["GET"]),
            Route("/give/{id}", self.gift, methods=["GET", "POST"]),
            Route("/give/{id}/return", self.come_back, methods=["GET"]),
            Route("/give/{id}/thanks", self.show_thanks, methods=["GET"]),
        ]

    def unknown(self, request: Request, status: int) -> Response:
        """There is no such page."""
        return self.views.say(request, "unknown", status, "link")

    @kindly
    async def open_link(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        session_id = self._vault.read_page_token(PAGE, request.query_params.get("token", ""))
        if session_id is None:
            raise NotFound
        name = self._db.deployment.ids.text("donationsession", session_id)
        response = to(f"/give/{name}")
        # A second tab keeps the first one's visit: a new one would void the form that is open there.
        visit = link_sessions.find(request, self._vault, PAGE, session_id, name)
        visit = visit or link_sessions.begin(self._vault, PAGE, session_id, name)
        visit.keep(response, seconds=_COOKIE_SECONDS)
        device.ensure(request, response, self._vault)
        return response

    async def gift(self, request: Request) -> Response:
        """One address, so that a 405 names all of its methods."""
        return await (self.submit_gift if request.method == "POST" else self.show_gift)(request)

    @kindly
    async def show_gift(self, request: Request) -> Response:
        """The form, or why there is none."""
        opened = await self.open(request)
        response = opened if isinstance(opened, Response) else await self._gift(opened)
        device.ensure(request, response, self._vault)
        return response

    @kindly
    async def submit_gift(self, request: Request) -> Response:
        """The gift: back to the form with every problem, or on to the provider."""
        opened = await self.open(request)
        if isinstance(opened, Response):
            return opened
        if (posted := await self.posted(opened)) is None:
            return self._form(opened, TypedGift(), status=403, notice=Notice("give.again", alert=True))
        giving = opened.giving
        if giving.status == "expired" and giving.gift.standing is not Standing.UNDER_WAY:
            raise SessionExpired
        if not giving.cause.receives:
            return self.views.closed(giving)
        typed = TypedGift.posted(posted)
        gift = self.read(opened, typed)
        if not isinstance(gift, Gift):
            return self._form(opened, typed, status=422, problems=gift)
        return await self.go_on(opened, typed, gift)

    async def posted(self, opened: Opened) -> FormData | None:
        """The posted form; None when it is not one of ours that this browser was given (H2)."""
        form = await opened.request.form(**_MAX_FORM)
        ours = link_sessions.from_own_page(opened.request, self._origin) and opened.visit.owns(form.get(CSRF_FIELD))
        return form if ours else None

    def read(self, opened: Opened, typed: TypedGift) -> Gift | Problems:
        """The gift that was typed, or what is wrong with it."""
        language = self.views.language(opened.giving)
        aid = opened.giving.offers_gift_aid
        return typed.read(self._amounts(opened), language.locale, self._checkout.tariff, aid=aid)

    async def go_on(self, opened: Opened, typed: TypedGift, gift: Gift) -> Response:
        """On to the provider; to the code, when the brakes ask whether a person gives; or back for a while (H6)."""
        browser = device.visitor(opened.request, self._vault)
        try:
            begun = await self._begin(opened, typed, gift, browser)
        except ServiceUnavailable:
            return self._form(opened, typed, status=503, notice=Notice("give.busy", alert=True))
        except TooSoon as wait:
            response = self._form(opened, typed, status=429, notice=self.views.too_soon(wait))
        else:
            if begun is not None and begun.url is None:
                return self._after(opened, begun)
            response = to(f"/give/{opened.name}/code" if begun is None else str(begun.url))
        form_cookie.keep(response, self._vault, opened.id, opened.name, typed, seconds=_KEEPSAKE_SECONDS)
        return response

    async def _begin(self, opened: Opened, typed: TypedGift, gift: Gift, browser: Visitor) -> SessionDonation | None:
        """The payment; None when a code was sent instead. Raises TooSoon, ServiceUnavailable."""
        by_bank = typed.way == TRANSFER and gift.money.currency in self._checkout.accounts
        begin = (self._checkout.transfer if by_bank else None) or self._checkout.begin
        try:
            return await begin(opened.id, gift, browser)
        except CodeNeeded:
            async with self._db.write() as tx:
                if not await brakes.has_code(tx, opened.id, gift.email):
                    await brakes.send_code(tx, opened.id, browser, gift.email)
            return None

    @kindly
    async def come_back(self, request: Request) -> Response:
        """From the provider's page, paid or not: the provider is asked, the browser's word is not enough.

        Without the cookie, as a bank's app opens another browser, the token tells how the payment stands, not who pays.
        """
        session_id, name, visit = self._visited(request)
        payment_id = await self._returned(request, session_id)
        if visit is None and payment_id is None:
            return self.views.say(request, "cookieless", 403, "link")
        giving = await self._load(request, session_id)
        gift = giving.gift
        if not link_sessions.is_speculative(request):
            try:
                gift = await self._checkout.come_back(session_id, payment_id)
            except ServiceUnavailable:
                return self._waiting(request, giving, gift)
        if visit is None:
            return await self._told(request, replace(giving, gift=gift))
        return self._after(Opened(request, name, visit, giving), gift)

    @kindly
    async def show_thanks(self, request: Request) -> Response:
        """The thank-you page of a gift that was paid."""
        opened = await self.open(request)
        if isinstance(opened, Response):
            return opened
        donation = opened.giving.gift.donation
        if opened.giving.gift.standing is not Standing.PAID or donation is None:
            return to(f"/give/{opened.name}")
        return self.views.thanks(opened.giving, donation)

    async def open(self, request: Request) -> Opened | Response:
        """The session of the address, for a browser with its cookie; language and currency are settled on the way."""
        session_id, name, visit = self._visited(request)
        if visit is not None:
            return Opened(request, name, visit, await self._load(request, session_id))
        if await self._returned(request, session_id) is not None:
            return to(_again(request))
        return self.views.say(request, "cookieless", 403, "link")

    def _visited(self, request: Request) -> tuple[UUID, str, Visit | None]:
        """The session of the address, its id there, and the visit if there is one. Raises NotFound."""
        name = request.path_params["id"]
        session_id = self._db.deployment.ids.parse("donationsession", name)
        if session_id is None:
            raise NotFound
        return session_id, name, link_sessions.find(request, self._vault, PAGE, session_id, name)

    async def _returned(self, request: Request, session_id: UUID) -> UUID | None:
        """The session's payment that the token of the address names, None without such a token."""
        payment_id = self._vault.read_page_token(RETURN, request.query_params.get("token", ""))
        if payment_id is None:
            return None
        async with self._db.read() as tx:
            return payment_id if await service.pays(tx, session_id, payment_id) else None

    async def _load(self, request: Request, session_id: UUID) -> Giving:
        """The session with language and currency, which are settled on the way."""
        async with self._db.read() as tx:
            found = service.taking(await service.load(tx, session_id), self._checkout.currencies)
        undecided = found.session.language is None or found.session.currency is None
        giving = service.chosen(
            found, request.headers.get("accept-language"), self._pages.catalogues, self._clock.now().date()
        )
        if undecided and found.status == "open" and not link_sessions.is_speculative(request):
            async with self._db.write() as tx:
                giving = await service.settle(tx, giving)
        request.state.language = giving.session.language  # what goes wrong later is told in it
        return giving

    async def _told(self, request: Request, giving: Giving) -> Response:
        """How the gift stands, for whoever holds the return link: no form, no name, no address."""
        donation = giving.gift.donation
        assert donation is not None, "it has a payment"
        match giving.gift.standing:
            case Standing.PAID:
                success = giving.session.success_url
                return to(success) if success else self.views.thanks(giving, donation, named=False)
            case Standing.HELD:
                return await self._held(giving)
            case Standing.AWAITED:
                return self.views.awaited(giving, donation, _again(request))
            case Standing.UNDER_WAY if not giving.gift.unpaid:
                return self._waiting(request, giving, giving.gift)
            case _:
                return self.views.waiting(giving, donation, _again(request), giving.gift.url, unpaid=True)

    def _after(self, opened: Opened, gift: SessionDonation) -> Response:
        """Where a donor goes who has been at the provider."""
        match gift.standing:
            case Standing.PAID:
                response = to(opened.giving.session.success_url or f"/give/{opened.name}/thanks")
                form_cookie.forget(response, opened.name)
                return response
            case Standing.HELD:
                return self.views.tell(opened.giving, "held", 200, "info")
            case Standing.AWAITED:
                return to(f"/give/{opened.name}/transfer")
            case Standing.UNDER_WAY:
                return self._waiting(opened.request, opened.giving, gift)
            case _:
                return to(f"/give/{opened.name}")

    async def _gift(self, opened: Opened) -> Response:  # noqa: C901 (one for each state)
        giving = opened.giving
        if "token" in opened.request.query_params:  # back from the provider: it leaves the address (H1)
            return to(f"/give/{opened.name}")
        if giving.gift.standing is Standing.AWAITED:
            return to(f"/give/{opened.name}/transfer")
        if giving.gift.standing is Standing.HELD:
            return await self._held(giving)
        if giving.status == "completed" and giving.gift.standing is Standing.NOT_STARTED:
            return self.views.tell(giving, "lapsed", 410, "clock")
        if giving.status == "expired" and giving.gift.standing is Standing.UNDER_WAY and self._in_grace(giving):
            return self._waiting(opened.request, giving, giving.gift)
        if giving.status == "expired":
            return self.views.tell(giving, "expired", 410, "clock")
        if giving.gift.standing is Standing.PAID or giving.status == "completed":
            return self.views.tell(giving, "used", 410, "heart")
        if not giving.cause.receives and giving.gift.standing is not Standing.UNDER_WAY:
            return self.views.closed(giving)
        typed = form_cookie.recall(opened.request, self._vault, opened.id, opened.name) or TypedGift()
        match giving.gift.standing:
            case Standing.UNDER_WAY:
                return await self._begun(opened, typed)
            case Standing.DECLINED if giving.exhausted:
                return self.views.tell(giving, "tries", 410, "lock")
            case Standing.DECLINED:
                return self._form(opened, typed, notice=Notice("give.failed"))
            case _:
                return self._form(opened, typed)

    async def _held(self, giving: Giving) -> Response:
        """What came by bank may be accepted yet; a card's money goes back."""
        assert giving.gift.donation is not None, "it has a payment"
        async with self._db.read() as tx:
            by_bank = await transfers.named(tx, giving.gift.donation) is not None
        return self.views.tell(giving, "transfer_held" if by_bank else "held", 200, "info")

    async def _begun(self, opened: Opened, typed: TypedGift) -> Response:
        """The form over a payment that was begun; that nothing has been charged is said when its provider says so."""
        gift, key = opened.giving.gift, "give.paying"
        if not link_sessions.is_speculative(opened.request):
            with suppress(ServiceUnavailable):
                gift = await self._checkout.come_back(opened.id, None)
                key = "give.not_paid" if gift.unpaid else key
        if gift.standing is not Standing.UNDER_WAY:
            return self._after(opened, gift)
        if not opened.giving.cause.receives:
            return (
                self.views.closed(opened.giving) if gift.unpaid else self._waiting(opened.request, opened.giving, gift)
            )
        return self._form(opened, typed, notice=Notice(key, pay_url=gift.url))

    def _form(
        self,
        opened: Opened,
        typed: TypedGift,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
        notice: Notice | None = None,
    ) -> Response:
        return self.views.gift(
            opened.giving,
            self._amounts(opened),
            self._checkout.tariff,
            typed,
            transfer=(opened.giving.session.currency or "") in self._checkout.accounts,
            action=f"/give/{opened.name}",
            csrf=opened.visit.csrf,
            status=status,
            problems=problems or {},
            notice=notice,
        )

    def _waiting(self, request: Request, giving: Giving, gift: SessionDonation) -> Response:
        if gift.donation is None:
            return to(f"/give/{request.path_params['id']}")
        return self.views.waiting(giving, gift.donation, _again(request), gift.url)

    def _in_grace(self, giving: Giving) -> bool:
        """Whether an attempt that was under way at expiry may still finish (settled 5)."""
        return self._clock.now() < giving.session.grace_ends()

    def _amounts(self, opened: Opened) -> domain.Amounts:
        return domain.amounts(opened.giving.session.currency or service.FALLBACK_CURRENCY)


def _again(request: Request) -> str:
    """Where to look again: with the token of the address, if it has one."""
    token = request.query_params.get("token")
    return f"/give/{request.path_params['id']}/return" + (f"?{urlencode({'token': token})}" if token else "")
