"""The page of a bank transfer: its details, the donor's confirmation, and its status (settled 5)."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.bank_transfers.domain import AwaitedTransfer
from almoner.giving.checkout.donations.domain import CheckoutState
from almoner.giving.checkout.hosted_page.pages import DonationPages, SessionPageRequest, with_error_pages
from almoner.giving.checkout.hosted_page.ports import CheckoutFunctions
from almoner.giving.checkout.hosted_page.views import FormNotice, redirect_to
from almoner.kit.errors import ServiceUnavailable
from almoner.platform.database.transactions import Database


class TransferPages:
    """The bank transfer page: details and confirmation."""

    def __init__(self, db: Database, give: DonationPages, checkout: CheckoutFunctions) -> None:
        self._db = db
        self._give = give
        self._accounts = checkout.own_bank_accounts
        self.views = give.views

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route("/give/{id}/transfer", self.show_or_confirm, methods=["GET", "POST"])]

    async def show_or_confirm(self, request: Request) -> Response:
        """Handle every method of this path."""
        return await (self.confirm_transfer_sent if request.method == "POST" else self.show_transfer_details)(request)

    @with_error_pages
    async def show_transfer_details(self, request: Request) -> Response:
        """Show the transfer details, or the status of the donation if there are none any more."""
        opened = await self._give.open_session(request)
        return opened if isinstance(opened, Response) else await self._page(opened)

    @with_error_pages
    async def confirm_transfer_sent(self, request: Request) -> Response:
        """Record that the donor sent the transfer, and email the details."""
        opened = await self._give.open_session(request)
        if isinstance(opened, Response):
            return opened
        if await self._give.read_form(opened) is None:
            return await self._page(opened, FormNotice("give.again", alert=True))
        async with self._db.write() as tx:
            await bank_transfers.confirm_transfer_sent(tx, opened.id)
        return redirect_to(f"/give/{opened.encoded_session_id}/transfer")

    async def _page(self, opened: SessionPageRequest, notice: FormNotice | None = None) -> Response:
        if opened.session_donation.state is CheckoutState.PAID:
            return redirect_to(f"/give/{opened.encoded_session_id}/thanks")
        if (transfer := await self._reported(opened)) is None:
            return redirect_to(f"/give/{opened.encoded_session_id}")
        action = f"/give/{opened.encoded_session_id}"
        return self.views.transfer_instructions_page(
            opened.session_view, transfer, action=action, csrf=opened.link_session.csrf, notice=notice
        )

    async def _reported(self, opened: SessionPageRequest) -> AwaitedTransfer | None:
        """The transfer to show; None if none is awaited. Raises ServiceUnavailable without an account."""
        gift = opened.session_donation
        if gift.donation is None or gift.state not in (CheckoutState.UNDER_WAY, CheckoutState.AWAITED):
            return None
        async with self._db.read() as tx:
            payment = await bank_transfers.find_awaited_transfer_payment(tx, gift.donation)
        if payment is None:
            return None
        if (pay_to := self._accounts.get(payment.money.currency)) is None:
            raise ServiceUnavailable
        return bank_transfers.build_awaited_transfer(payment, gift.donation, pay_to)
