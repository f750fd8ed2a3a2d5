"""The page of the code: when the brakes ask whether a person gives (H6), a code by e-mail shows it (H11).

No picture, no puzzle, no script, nobody else involved: the code may be typed, pasted, or filled in by the browser.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.card_testing import service as brakes
from almoner.giving.checkout.card_testing.domain import Answer, CodesUsedUp
from almoner.giving.checkout.donations.domain import Gift, Standing
from almoner.giving.checkout.hosted_page import device, form_cookie
from almoner.giving.checkout.hosted_page.pages import GivePages, Opened, kindly
from almoner.giving.checkout.hosted_page.schemas import TypedGift
from almoner.giving.checkout.hosted_page.views import Notice, to
from almoner.platform.database.transactions import Database

_PROBLEMS: Final = {
    Answer.MISSING: "give.code.problem.missing",
    Answer.WRONG: "give.code.problem.wrong",
    Answer.OVER: "give.code.problem.over",
}


class CodePages:
    """Shows and takes codes, beside the pages of gifts."""

    def __init__(self, db: Database, give: GivePages) -> None:
        self._db = db
        self._give = give
        self._vault = db.deployment.vault
        self.views = give.views

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route("/give/{id}/code", self.code, methods=["GET", "POST"])]

    async def code(self, request: Request) -> Response:
        """One address, so that a 405 names all of its methods."""
        return await (self.take if request.method == "POST" else self.show)(request)

    @kindly
    async def show(self, request: Request) -> Response:
        """The form for the code; back to the gift when none was asked for."""
        opened = await self._give.open(request)
        typed = self._typed(opened) if isinstance(opened, Opened) else None
        if isinstance(opened, Response) or typed is None:
            return opened if isinstance(opened, Response) else to(f"/give/{opened.name}")
        async with self._db.read() as tx:
            asked = await brakes.was_asked(tx, opened.id, typed.email)
        response = self._page(opened, typed) if asked else to(f"/give/{opened.name}")
        device.ensure(request, response, self._vault)
        return response

    @kindly
    async def take(self, request: Request) -> Response:
        """The code; or the wish for a new one."""
        opened = await self._give.open(request)
        if isinstance(opened, Response):
            return opened
        gift = opened.giving.gift
        if gift.standing is Standing.UNDER_WAY and gift.url is not None:
            return to(gift.url)  # the form was sent twice, and the first time was right
        if (typed := self._typed(opened)) is None:
            return to(f"/give/{opened.name}")
        posted = await self._give.posted(opened)
        if posted is None:
            return self._page(opened, typed, status=403, notice=Notice("give.again", alert=True))
        if "again" in posted:
            return await self._send_again(opened, typed)
        return await self._check(opened, typed, str(posted.get("code", "")))

    async def _send_again(self, opened: Opened, typed: TypedGift) -> Response:
        browser = device.visitor(opened.request, self._vault)
        try:
            async with self._db.write() as tx:
                await brakes.send_code(tx, opened.id, browser, typed.email)
        except CodesUsedUp as wait:
            return self._page(opened, typed, status=429, notice=self.views.too_soon(wait))
        return self._page(opened, typed, notice=Notice("give.code.sent"))

    async def _check(self, opened: Opened, typed: TypedGift, code: str) -> Response:
        gift = self._give.read(opened, typed)
        if not isinstance(gift, Gift):
            return to(f"/give/{opened.name}")  # something has changed since: the form says what
        async with self._db.write() as tx:
            answer = await brakes.check_code(tx, opened.id, typed.email, code)
        if answer is Answer.RIGHT:
            return await self._give.go_on(opened, typed, gift)
        return self._page(opened, typed, status=422, problem=_PROBLEMS[answer])

    def _typed(self, opened: Opened) -> TypedGift | None:
        """The gift that waits for the code, None when the session takes none any more."""
        standing = opened.giving.gift.standing
        if opened.giving.status != "open" or standing in (Standing.PAID, Standing.HELD):
            return None
        return form_cookie.recall(opened.request, self._vault, opened.id, opened.name)

    def _page(
        self,
        opened: Opened,
        typed: TypedGift,
        *,
        status: int = 200,
        problem: str | None = None,
        notice: Notice | None = None,
    ) -> Response:
        return self.views.code(
            opened.giving,
            typed.email,
            action=f"/give/{opened.name}/code",
            back=f"/give/{opened.name}",
            csrf=opened.visit.csrf,
            status=status,
            problem=problem,
            notice=notice,
        )
