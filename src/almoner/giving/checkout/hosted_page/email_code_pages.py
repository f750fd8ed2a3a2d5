"""The page on which a donor enters the code sent by email (H6, H11).

It needs no image, puzzle, script or third party: the code can be typed, pasted or filled in by the browser.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.giving.checkout.card_testing import service as card_testing
from almoner.giving.checkout.card_testing.domain import EmailCodeCheckResult, EmailCodesExhausted
from almoner.giving.checkout.donations.domain import CheckoutState, DonationDetails
from almoner.giving.checkout.hosted_page import device_cookie, form_cookie
from almoner.giving.checkout.hosted_page.pages import DonationPages, SessionPageRequest, with_error_pages
from almoner.giving.checkout.hosted_page.schemas import DonationForm
from almoner.giving.checkout.hosted_page.views import FormNotice, redirect_to
from almoner.platform.database.transactions import Database

_PROBLEMS: Final = {
    EmailCodeCheckResult.MISSING: "give.code.problem.missing",
    EmailCodeCheckResult.WRONG: "give.code.problem.wrong",
    EmailCodeCheckResult.OVER: "give.code.problem.over",
}


class EmailCodePages:
    """The email code page."""

    def __init__(self, db: Database, give: DonationPages) -> None:
        self._db = db
        self._give = give
        self._vault = db.deployment.vault
        self.views = give.views

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [Route("/give/{id}/code", self.show_or_check_code, methods=["GET", "POST"])]

    async def show_or_check_code(self, request: Request) -> Response:
        """Handle every method of this path."""
        return await (self.submit_code if request.method == "POST" else self.show_code_form)(request)

    @with_error_pages
    async def show_code_form(self, request: Request) -> Response:
        """Show the code form; redirect to the donation form if no code is needed."""
        opened = await self._give.open_session(request)
        typed = self._typed(opened) if isinstance(opened, SessionPageRequest) else None
        if isinstance(opened, Response) or typed is None:
            return opened if isinstance(opened, Response) else redirect_to(f"/give/{opened.encoded_session_id}")
        async with self._db.read() as tx:
            asked = await card_testing.was_email_code_sent(tx, opened.id, typed.email)
        response = self._page(opened, typed) if asked else redirect_to(f"/give/{opened.encoded_session_id}")
        device_cookie.ensure_device_cookie(request, response, self._vault)
        return response

    @with_error_pages
    async def submit_code(self, request: Request) -> Response:
        """Check the entered code, or send a new one."""
        opened = await self._give.open_session(request)
        if isinstance(opened, Response):
            return opened
        gift = opened.session_donation
        if gift.state is CheckoutState.UNDER_WAY and gift.payment_url is not None:
            return redirect_to(gift.payment_url)  # the form was sent twice, and the first code was right
        if (typed := self._typed(opened)) is None:
            return redirect_to(f"/give/{opened.encoded_session_id}")
        posted = await self._give.read_form(opened)
        if posted is None:
            return self._page(opened, typed, status=403, notice=FormNotice("give.again", alert=True))
        if "again" in posted:
            return await self._send_again(opened, typed)
        return await self._check(opened, typed, str(posted.get("code", "")))

    async def _send_again(self, opened: SessionPageRequest, form: DonationForm) -> Response:
        browser = device_cookie.browser_fingerprint_of(opened.request, self._vault)
        try:
            async with self._db.write() as tx:
                await card_testing.send_email_code(tx, opened.id, browser, form.email)
        except EmailCodesExhausted as wait:
            return self._page(opened, form, status=429, notice=self.views.rate_limit_notice(wait))
        return self._page(opened, form, notice=FormNotice("give.code.sent"))

    async def _check(self, opened: SessionPageRequest, form: DonationForm, code: str) -> Response:
        gift = self._give.parse_details_of_session(opened, form)
        if not isinstance(gift, DonationDetails):
            return redirect_to(f"/give/{opened.encoded_session_id}")  # the form shows what has changed
        async with self._db.write() as tx:
            answer = await card_testing.check_email_code(tx, opened.id, form.email, code)
        if answer is EmailCodeCheckResult.RIGHT:
            return await self._give.proceed_to_payment(opened, form, gift)
        return self._page(opened, form, status=422, problem=_PROBLEMS[answer])

    def _typed(self, opened: SessionPageRequest) -> DonationForm | None:
        """The form input that waits for the code; None if the session no longer accepts one."""
        state = opened.session_donation.state
        over = opened.session_view.session_status != "open" or not opened.session_view.accepts_donations
        if over or state in (CheckoutState.PAID, CheckoutState.HELD):
            return None
        return form_cookie.read_form_cookie(opened.request, self._vault, opened.id, opened.encoded_session_id)

    def _page(
        self,
        opened: SessionPageRequest,
        form: DonationForm,
        *,
        status: int = 200,
        problem: str | None = None,
        notice: FormNotice | None = None,
    ) -> Response:
        return self.views.email_code_page(
            opened.session_view,
            form.email,
            action=f"/give/{opened.encoded_session_id}/code",
            back_url=f"/give/{opened.encoded_session_id}",
            csrf=opened.link_session.csrf,
            status=status,
            problem=problem,
            notice=notice,
        )
