"""The page of a bank transfer: where to send it, that the donor has sent it, and that it is waited for (settled 5)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.bank_transfers import service as transfers
from almoner.giving.checkout.bank_transfers.domain import Transfer
from almoner.giving.checkout.donations.domain import Standing
from almoner.giving.checkout.hosted_page.pages import GivePages, Opened, kindly
from almoner.giving.checkout.hosted_page.ports import Checkout
from almoner.giving.checkout.hosted_page.views import Notice, to
from almoner.kit.errors import ServiceUnavailable
from almoner.platform.database.transactions import Database


class TransferPages:
    """Shows details and takes confirmations, beside the pages of gifts."""

    def __init__(self, db: Database, give: GivePages, checkout: Checkout) -> None:
        self._db = db
        self._give = give
        self._accounts = checkout.accounts
        self.views = give.views

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route("/give/{id}/transfer", self.transfer, methods=["GET", "POST"])]

    async def transfer(self, request: Request) -> Response:
        """One address, so that a 405 names all of its methods."""
        return await (self.take if request.method == "POST" else self.show)(request)

    @kindly
    async def show(self, request: Request) -> Response:
        """The details; where the gift stands when there are none any more."""
        opened = await self._give.open(request)
        return opened if isinstance(opened, Response) else await self._page(opened)

    @kindly
    async def take(self, request: Request) -> Response:
        """The donor has sent it: the session is completed, and the details come by e-mail."""
        opened = await self._give.open(request)
        if isinstance(opened, Response):
            return opened
        if await self._give.posted(opened) is None:
            return await self._page(opened, Notice("give.again", alert=True))
        async with self._db.write() as tx:
            await transfers.confirm(tx, opened.id)
        return to(f"/give/{opened.name}/transfer")

    async def _page(self, opened: Opened, notice: Notice | None = None) -> Response:
        if opened.giving.gift.standing is Standing.PAID:
            return to(f"/give/{opened.name}/thanks")
        if (transfer := await self._told(opened)) is None:
            return to(f"/give/{opened.name}")
        action = f"/give/{opened.name}"
        return self.views.transfer(opened.giving, transfer, action=action, csrf=opened.visit.csrf, notice=notice)

    async def _told(self, opened: Opened) -> Transfer | None:
        """What the donor is told, None when no transfer is waited for. Raises ServiceUnavailable without an account."""
        gift = opened.giving.gift
        if gift.donation is None or gift.standing not in (Standing.UNDER_WAY, Standing.AWAITED):
            return None
        async with self._db.read() as tx:
            payment = await transfers.awaited(tx, gift.donation)
        if payment is None:
            return None
        if (pay_to := self._accounts.get(payment.money.currency)) is None:
            raise ServiceUnavailable
        return transfers.told(payment, gift.donation, pay_to)
