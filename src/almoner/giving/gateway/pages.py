"""The addresses of the hosted page. GET settles a choice not yet made, no more; POST needs cookie, token and origin."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Final
from uuid import UUID

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.donations.domain import Gift, SessionDonation, Standing, TooManyTries
from almoner.giving.gateway import domain, keepsake, service
from almoner.giving.gateway.ports import Checkout
from almoner.giving.gateway.schemas import TypedGift
from almoner.giving.gateway.service import Giving
from almoner.giving.gateway.views import Views
from almoner.giving.sessions.domain import PAGE, SessionCompleted, SessionExpired
from almoner.kit.errors import NotFound, ServiceUnavailable
from almoner.platform.db import Database
from almoner.platform.pages import visits
from almoner.platform.pages.headers import origin_of
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.visits import CSRF_FIELD, Visit
from almoner.platform.ratelimit import Limit, RateLimiter

TEMPLATES: Final = Path(__file__).parent / "templates"

TRIES: Final = (Limit("gifts-per-minute", 6 / 60, 6), Limit("gifts-per-hour", 20 / 3600, 20))
"""What one address may begin (H6): a bot with a list of cards needs far more, a family far less."""
SANDBOX_TRIES: Final = (Limit("gifts-per-second", 10, 500),)
"""No real card is there to be tested, but partners' own tests are."""

_COOKIE_SECONDS: Final = 49 * 3600  # a day of the session, an hour of grace, and a day to look at the thanks
_KEEPSAKE_SECONDS: Final = 2 * 3600  # a donor who comes back later types again: less is kept, and requests stay small
_MAX_FORM: Final = {"max_files": 0, "max_fields": 20, "max_part_size": 8192}

Handler = Callable[["GivePages", Request], Awaitable[Response]]


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


def _kindly(handler: Handler) -> Handler:
    """What may go wrong becomes a page; so does the unexpected, which is raised afterwards."""

    @wraps(handler)
    async def answer(self: "GivePages", request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.views.say(request, "unknown", 404, "link")
        except SessionExpired:
            return self.views.say(request, "expired", 410, "clock")
        except SessionCompleted:
            return _to(f"/give/{request.path_params['id']}/thanks")
        except TooManyTries:
            return self.views.say(request, "tries", 410, "lock")
        except ServiceUnavailable:
            return self.views.say(request, "broken", 503, "clock")
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return self.views.broken(request, error)

    return answer


class GivePages:
    """The pages of gifts. ``tries``: limits of POSTs from one address."""

    def __init__(
        self, db: Database, pages: Pages, checkout: Checkout, limiter: RateLimiter, tries: Sequence[Limit]
    ) -> None:
        self._db = db
        self._pages = pages
        self._checkout = checkout
        self._limiter = limiter
        self._tries = tries
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

    @_kindly
    async def open_link(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        session_id = self._vault.read_page_token(PAGE, request.query_params.get("token", ""))
        if session_id is None:
            raise NotFound
        name = self._db.deployment.ids.text("donationsession", session_id)
        response = _to(f"/give/{name}")
        # A second tab keeps the first one's visit: a new one would void the form that is open there.
        visit = visits.find(request, self._vault, PAGE, session_id, name)
        visit = visit or visits.begin(self._vault, PAGE, session_id, name)
        visit.keep(response, seconds=_COOKIE_SECONDS)
        return response

    async def gift(self, request: Request) -> Response:
        """One address, so that a 405 names all of its methods."""
        return await (self.submit_gift if request.method == "POST" else self.show_gift)(request)

    @_kindly
    async def show_gift(self, request: Request) -> Response:
        """The form, or why there is none."""
        opened = await self._open(request)
        return opened if isinstance(opened, Response) else self._gift(opened)

    @_kindly
    async def submit_gift(self, request: Request) -> Response:
        """The gift: back to the form with every problem, or on to the provider."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        posted = await request.form(**_MAX_FORM)
        if not (visits.from_own_page(request, self._origin) and opened.visit.owns(posted.get(CSRF_FIELD))):
            return self._form(opened, TypedGift(), status=403, notice="give.again", alert=True)
        giving = opened.giving
        if giving.status == "expired" and giving.gift.standing is not Standing.UNDER_WAY:
            raise SessionExpired
        if not giving.cause.receives:
            return self.views.closed(giving)
        typed = TypedGift.posted(posted)
        language = self.views.language(opened.giving)
        gift = typed.read(self._amounts(opened), language.locale)
        if not isinstance(gift, Gift):
            return self._form(opened, typed, status=422, problems=gift)
        if (wait := self._wait(request)) is not None:
            return self.views.slow_down(request, wait)
        try:
            begun = await self._checkout.begin(opened.id, gift)
        except ServiceUnavailable:
            return self._form(opened, typed, status=503, notice="give.busy", alert=True)
        if begun.url is None:
            return self._after(opened, begun)
        response = _to(begun.url)
        keepsake.keep(response, self._vault, opened.id, opened.name, typed, seconds=_KEEPSAKE_SECONDS)
        return response

    @_kindly
    async def come_back(self, request: Request) -> Response:
        """From the provider's page, paid or not: the provider is asked, the browser's word is not enough."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        gift = opened.giving.gift
        if not visits.is_speculative(request):
            try:
                gift = await self._checkout.come_back(opened.id)
            except ServiceUnavailable:
                return self._waiting(opened, gift)
        return self._after(opened, gift)

    @_kindly
    async def show_thanks(self, request: Request) -> Response:
        """The thank-you page of a gift that was paid."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        donation = opened.giving.gift.donation
        if opened.giving.gift.standing is not Standing.PAID or donation is None:
            return _to(f"/give/{opened.name}")
        return self.views.thanks(opened.giving, donation)

    async def _open(self, request: Request) -> Opened | Response:
        """The session of the address, for a browser with its cookie; language and currency are settled on the way."""
        name = request.path_params["id"]
        session_id = self._db.deployment.ids.parse("donationsession", name)
        if session_id is None:
            raise NotFound
        visit = visits.find(request, self._vault, PAGE, session_id, name)
        if visit is None:
            return self.views.say(request, "cookieless", 403, "link")
        async with self._db.read() as tx:
            found = await service.load(tx, session_id)
        undecided = found.session.language is None or found.session.currency is None
        giving = service.chosen(
            found, request.headers.get("accept-language"), self._pages.catalogues, self._clock.now().date()
        )
        if undecided and found.status == "open" and not visits.is_speculative(request):
            async with self._db.write() as tx:
                giving = await service.settle(tx, giving)
        return Opened(request, name, visit, giving)

    def _after(self, opened: Opened, gift: SessionDonation) -> Response:
        """Where a donor goes who has been at the provider."""
        match gift.standing:
            case Standing.PAID:
                response = _to(opened.giving.session.success_url or f"/give/{opened.name}/thanks")
                keepsake.forget(response, opened.name)
                return response
            case Standing.HELD:
                return self.views.tell(opened.giving, "held", 200, "info")
            case Standing.UNDER_WAY:
                return self._waiting(opened, gift)
            case _:
                return _to(f"/give/{opened.name}")

    def _gift(self, opened: Opened) -> Response:
        giving = opened.giving
        if giving.status == "expired" and giving.gift.standing is Standing.UNDER_WAY and self._in_grace(giving):
            return self._waiting(opened, giving.gift)
        if giving.status == "expired":
            return self.views.tell(giving, "expired", 410, "clock")
        if giving.gift.standing is Standing.PAID or giving.status == "completed":
            return self.views.tell(giving, "used", 410, "heart")
        if giving.gift.standing is Standing.HELD:
            return self.views.tell(giving, "held", 200, "info")
        if not giving.cause.receives:
            return self.views.closed(giving)
        typed = keepsake.recall(opened.request, self._vault, opened.id, opened.name) or TypedGift()
        match giving.gift.standing:
            case Standing.UNDER_WAY:
                return self._form(opened, typed, notice="give.paying", pay_url=giving.gift.url)
            case Standing.DECLINED if giving.exhausted:
                return self.views.tell(giving, "tries", 410, "lock")
            case Standing.DECLINED:
                return self._form(opened, typed, notice="give.failed")
            case _:
                return self._form(opened, typed)

    def _form(
        self,
        opened: Opened,
        typed: TypedGift,
        *,
        status: int = 200,
        problems: dict[str, str] | None = None,
        notice: str | None = None,
        alert: bool = False,
        pay_url: str | None = None,
    ) -> Response:
        return self.views.gift(
            opened.giving,
            self._amounts(opened),
            typed,
            action=f"/give/{opened.name}",
            csrf=opened.visit.csrf,
            status=status,
            problems=problems or {},
            notice=notice,
            alert=alert,
            pay_url=pay_url,
        )

    def _waiting(self, opened: Opened, gift: SessionDonation) -> Response:
        if gift.donation is None:
            return _to(f"/give/{opened.name}")
        return self.views.waiting(opened.giving, gift.donation, f"/give/{opened.name}/return", gift.url)

    def _in_grace(self, giving: Giving) -> bool:
        """Whether an attempt that was under way at expiry may still finish (settled 5)."""
        return self._clock.now() < giving.session.grace_ends()

    def _amounts(self, opened: Opened) -> domain.Amounts:
        return domain.amounts(opened.giving.session.currency or service.FALLBACK_CURRENCY)

    def _wait(self, request: Request) -> int | None:
        """Seconds until this address may try again, None when it may now."""
        address = request.client.host if request.client else ""
        now = self._clock.wall().timestamp()
        waits = [self._limiter.admit(limit, address, now).retry_after for limit in self._tries]
        return max((wait for wait in waits if wait is not None), default=None)


def _to(url: str) -> Response:
    return RedirectResponse(
        url,
        303,
        {"Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"},
    )
