"""The hosted page on which a nonprofit says whether it wants the gifts, and who says so.

GET and HEAD change nothing, so that programs that open every link of a mail do no harm. POST needs the cookie of the
link, its CSRF token and the page's own origin (house 5).
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from almoner.giving.confirmations import domain, service
from almoner.giving.confirmations.domain import Changed, Page
from almoner.giving.verifications.domain import InvalidState
from almoner.kit.errors import NotFound
from almoner.kit.text import one_line
from almoner.platform import audit
from almoner.platform.audit import Actor
from almoner.platform.db import Database, Tx
from almoner.platform.pages import visits
from almoner.platform.pages.broken import Broken
from almoner.platform.pages.headers import NO_PAGE, origin_of
from almoner.platform.pages.rendering import Pages
from almoner.platform.pages.visits import CSRF_FIELD, Visit

TEMPLATES: Final = Path(__file__).parent / "templates"
PURPOSE: Final = "payee"
"""Of the tokens in the links, and the path that they open."""
_ID: Final = "payeeconfirmation"
_COOKIE_SECONDS: Final = 24 * 3600  # the link opens it again
_MAX_FORM: Final = {"max_files": 0, "max_fields": 10, "max_part_size": 2048}
_ENDED: Final = {"confirmed": (200, "check"), "account_missing": (200, "check"), "declined": (200, "check")}
_OVER: Final = (410, "clock")

Handler = Callable[["ConfirmationPages", Request], Awaitable[Response]]


def _kindly(handler: Handler) -> Handler:
    """What may go wrong becomes a page; so does the unexpected, which is raised afterwards."""

    @wraps(handler)
    async def answer(self: "ConfirmationPages", request: Request) -> Response:
        try:
            return await handler(self, request)
        except NotFound:
            return self.unknown(request)
        except Exception as error:  # noqa: BLE001 (answered as a page, then raised for the log)
            return Broken(self.pages.message("agent.broken", self.pages.preferred(request), status=500), error)

    return answer


class ConfirmationPages:
    """The pages of nonprofits that are asked."""

    def __init__(self, db: Database, pages: Pages) -> None:
        self._db = db
        self.pages = pages
        self._vault = db.deployment.vault
        self._ids = db.deployment.ids
        self._origin = origin_of(db.deployment.links.pages)

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route(f"/{PURPOSE}", self.open, methods=["GET"]),
            Route(f"/{PURPOSE}/{{id}}", self.question, methods=["GET", "POST"]),
        ]

    def unknown(self, request: Request, status: int = 404) -> Response:
        """No such link, or no cookie of it."""
        return self.pages.message("agent.unknown", self.pages.preferred(request), status=status, icon="link")

    @_kindly
    async def open(self, request: Request) -> Response:
        """The link with its token: a cookie takes the token's place, and the address is clean (H1)."""
        confirmation_id = self._vault.read_page_token(PURPOSE, request.query_params.get("token", ""))
        if confirmation_id is None:
            raise NotFound
        name = self._ids.text(_ID, confirmation_id)
        response = RedirectResponse(f"/{PURPOSE}/{name}", 303, NO_PAGE)
        # A second tab keeps the first one's visit: a new one would void the form that is open there.
        visit = visits.find(request, self._vault, PURPOSE, confirmation_id, name)
        visit = visit or visits.begin(self._vault, PURPOSE, confirmation_id, name)
        visit.keep(response, seconds=_COOKIE_SECONDS)
        return response

    async def question(self, request: Request) -> Response:
        """One address, so that a 405 names all of its methods."""
        return await (self.submit if request.method == "POST" else self.show)(request)

    @_kindly
    async def show(self, request: Request) -> Response:
        """The question with two buttons, or what became of it."""
        confirmation_id, visit = self._visited(request)
        async with self._db.read() as tx:
            return self._page(await service.opened(tx, confirmation_id), visit)

    @_kindly
    async def submit(self, request: Request) -> Response:
        """Yes or no, by whom."""
        confirmation_id, visit = self._visited(request)
        form = await self._posted(request, visit)
        given = None if form is None else service.answer_of(form.get("answer"))
        async with self._db.write() as tx:
            if form is None or given is None:
                page = await service.opened(tx, confirmation_id)
                return self._page(page, visit, status=403, notice="give.again")
            typed = {field: one_line(str(form.get(field, ""))).strip() for field in ("name", "role")}
            page = await service.opened(tx, confirmation_id)
            if page.state == "open" and (problems := domain.problems(**typed)):
                return self._page(page, visit, typed, status=422, problems=problems)
            try:
                answered = await service.answer(tx, confirmation_id, given, **typed, seen=str(form.get("seen", "")))
            except Changed:
                return self._page(page, visit, typed, status=409, notice="payee.changed")
            except InvalidState:
                return self._page(await service.opened(tx, confirmation_id), visit)
            await self._record(tx, request, answered)
        return RedirectResponse(request.url.path, 303, NO_PAGE)

    def _visited(self, request: Request) -> tuple[UUID, Visit]:
        """Of a nonprofit that opened its link in this browser. Raises NotFound."""
        name = request.path_params["id"]
        confirmation_id = self._ids.parse(_ID, name)
        visit = None
        if confirmation_id is not None:
            visit = visits.find(request, self._vault, PURPOSE, confirmation_id, name)
        if confirmation_id is None or visit is None:
            raise NotFound
        return confirmation_id, visit

    async def _posted(self, request: Request, visit: Visit) -> FormData | None:
        """The posted form; None when it is not one of ours that this browser was given (H2)."""
        form = await request.form(**_MAX_FORM)
        ours = visits.from_own_page(request, self._origin) and visit.owns(form.get(CSRF_FIELD))
        return form if ours else None

    async def _record(self, tx: Tx, request: Request, answered: Page) -> None:
        name = self._ids.text("monetarydonationverification", answered.verification.id)
        address = request.client.host if request.client else None
        actor = Actor("system", "nonprofit")
        partner = answered.verification.partner_id
        await audit.record(tx, partner, actor, "verification.answered", name, address=address)

    def _page(
        self,
        page: Page,
        visit: Visit,
        typed: Mapping[str, str] | None = None,
        *,
        status: int = 200,
        notice: str | None = None,
        problems: Mapping[str, str] | None = None,
    ) -> Response:
        language = self.pages.language(page.confirmation.language)
        if page.state != "open":
            ended, icon = _ENDED.get(page.state, _OVER)
            return self.pages.message(f"payee.{page.state}", language, status=ended, icon=icon)
        facts: dict[str, Any] = {
            "partner": page.partner,
            "organisation": page.organisation,
            "accounts": page.accounts,
            "seen": page.seen.hex(),
            "until": page.confirmation.expires_at,
            "typed": {"name": "", "role": "", **(typed or {})},
        }
        name = self._ids.text(_ID, page.confirmation.id)
        shown: dict[str, Any] = {
            "notice": notice,
            "problems": problems or {},
            "csrf": visit.csrf,
            "action": f"/{PURPOSE}/{name}",
        }
        return self.pages.page("payee.html", language, status=status, **facts, **shown)
